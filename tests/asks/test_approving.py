"""Approving and trusting are a person's: not an agent's shell's, whatever it adds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from driver import MCP_JAIL, running, wait_until
from listing import Listing
from persons import DESKTOP, served

# A client that starts its server, runs a line beside it, and tells what came of that.
CLIENT = """
import os, subprocess, sys
guard = subprocess.Popen(sys.argv[2:])
while not os.path.exists(os.environ["GO"]):
    pass
with open(os.environ["GO"] + ".out", "w") as out:
    done = subprocess.run(sys.argv[1], shell=True, stdout=out, stderr=out)
os.rename(os.environ["GO"] + ".out", os.environ["GO"] + ".told")
sys.exit(guard.wait())
"""


@pytest.fixture
def listing(tmp_path: Path) -> Listing:
    made = Listing(tmp_path)
    made.runs()
    return made


def as_agent(listing: Listing, line: str, folder: Path) -> str:
    """What a line prints that a client's own shell runs while its server runs."""
    go = folder / "go"
    words = [*DESKTOP, sys.executable, "-I", "-c", CLIENT, line, str(MCP_JAIL), "run", "fs"]
    environ = listing.home.environ(GO=str(go))
    with running([*words, *listing.command], environ, listing.home.path) as client:
        client.open()
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            client.request(method)
        go.touch()
        told = Path(f"{go}.told")
        wait_until(told.exists)
        return " ".join(told.read_text().split())


def test_an_agents_shell_does_not_approve_what_it_has_read(
    listing: Listing, tmp_path: Path
) -> None:
    line = f"{MCP_JAIL} approve fs --yes --seen {listing.digest()}"
    said = as_agent(listing, line, tmp_path)
    assert "approve is not taken from a process that an MCP client started" in said
    assert listing.files.read() is None


def test_who_leaves_its_client_does_not_approve_or_trust(listing: Listing, tmp_path: Path) -> None:
    cloned = listing.home.projects / "jail.yaml"
    cloned.write_text("name: cloned\n")
    out = tmp_path / "out"
    lines = (
        f"setsid --fork {MCP_JAIL} trust {cloned} --yes >> {out} 2>&1",
        f"setsid --fork sh -c '{MCP_JAIL} trust {cloned} --yes; true' >> {out} 2>&1",
        f"setsid --fork {MCP_JAIL} approve fs --yes --seen {listing.digest()} >> {out} 2>&1",
        f"until [ $(grep -c 'not taken from' {out}) = 3 ]; do sleep 0.1; done",
    )
    as_agent(listing, "; ".join(lines), tmp_path)
    assert out.read_text().count("a process that whoever started it has left alone") == 3
    assert listing.files.read() is None


def test_an_agents_shell_does_not_trust_a_policy(listing: Listing, tmp_path: Path) -> None:
    cloned = listing.home.projects / "jail.yaml"
    cloned.write_text("name: cloned\n")
    said = as_agent(listing, f"{MCP_JAIL} trust {cloned} --yes", tmp_path)
    assert "trust is not taken from a process that an MCP client started" in said


def test_an_agent_is_known_by_its_variables_when_it_has_left_its_client(listing: Listing) -> None:
    words = [str(MCP_JAIL), "approve", "fs", "--yes", "--seen", listing.digest()]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=listing.home.environ(CLAUDECODE="1"),
        check=False,
    )
    assert done.returncode == 1
    assert "a process of an agent (CLAUDECODE is set)" in done.stderr


def test_rejecting_is_everybodys(listing: Listing, tmp_path: Path) -> None:
    line = f"{MCP_JAIL} approve fs --reject --yes --seen {listing.digest()}"
    assert "rejected" in as_agent(listing, line, tmp_path)


def test_a_script_of_nobodys_approves_while_a_client_runs(listing: Listing) -> None:
    """As in CI, with a digest that somebody has read."""
    with served(listing.home, "fs", *listing.command):
        listing.approves()
    assert listing.files.read() is not None
