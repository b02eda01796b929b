"""Where a policy's lock file may lie: nobody has us write over what is ours, or run by the host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from driver import Home, started
from listing import POLICY, Listing
from mcp_jail.errors import PolicyError
from mcp_jail.proxy.lock_place import proposal_path
from mcp_jail.proxy.prepare import judge
from pins import tool

STATE = ".local/state/mcp-jail"

# What a clone names and where it leads: `sub`, `up` and `file.json` are links that it brings.
CLONES_NAMES = (
    f"~/{STATE}/locks/fs.json",
    f"~/{STATE}/locks/new.json",
    "../outside.json",
    "sub/fs.json",
    "sub/new.json",
    "up/outside.json",
    "file.json",
    "~/.config/mcp-jail/policies/new.json",
    "~/.claude.json",
    ".mcp.json",
    ".vscode/mcp.json",
    "run.yaml",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("MCP_JAIL_HOME")
    return Home(tmp_path)


def place_of(home: Home, written: str) -> str | None:
    home.write_policy(f"lock: {{file: {written}}}\n")
    return proposal_path(judge(name="fs", policy_file=None, environ=home.environ()))


def test_a_lock_file_is_named_from_home(home: Home) -> None:
    assert place_of(home, "~/a/lock.json") == str(home.path / "a/lock.json")
    (home.path / "b").symlink_to("projects")
    assert place_of(home, "~/b/lock.json") == str(home.projects / "lock.json")


@pytest.mark.parametrize(
    "written",
    [
        "lock.json",  # beside the policy: among all others
        f"~/{STATE}/locks/other.json",
        "~/.local/share/mcp-jail/homes/x.json",
        "~/.claude/settings.json",
        "~/.ssh/x.json",
        "~/linked/locks/other.json",
        "~/here.json",
    ],
)
def test_no_policy_has_us_write_what_no_server_may(home: Home, written: str) -> None:
    (home.path / STATE / "locks").mkdir(parents=True)
    (home.path / "linked").symlink_to(STATE)
    (home.path / "here.json").symlink_to(f"{STATE}/locks/other.json")
    with pytest.raises(PolicyError, match="cannot be the lock file"):
        place_of(home, written)


@pytest.mark.parametrize("named", CLONES_NAMES)
def test_a_clone_has_us_write_nothing_outside_of_its_directory(tmp_path: Path, named: str) -> None:
    """The whole way that a person goes: trust, diff, approve --write-file, in a clone."""
    listing = Listing(tmp_path)
    listing.runs()
    listing.approves()
    home, clone = listing.home, listing.home.projects / "clone"
    clone.mkdir()
    (clone / "sub").symlink_to(home.path / STATE / "locks")
    (clone / "up").symlink_to("..")
    (clone / "file.json").symlink_to(home.path / STATE / "locks" / "fs.json")
    policy = clone / "mcp-jail.yaml"
    policy.write_text(f"name: shop\n{POLICY}".replace("review}", f"review, file: {named}}}"))
    policy.chmod(0o600)
    listing.says(tools=[tool("echo", "Evil.")])
    before = everything(home, clone)
    listing.done("trust", str(policy), "--yes")
    words = ("--policy", str(policy), *listing.command)
    said = listing.done("approve", "--live", "--write-file", "--policy", str(policy))
    shown = [x for x in listing.done("diff", "--live", *words).stdout.splitlines() if "shown:" in x]
    digest = shown[0].rpartition(" ")[2] if shown else "0" * 32
    yes = ("--write-file", "--live", "--yes", "--seen", digest)
    said = listing.done("approve", *yes, *words)
    assert said.returncode == 2, said.stdout
    assert everything(home, clone) == before
    with started(home, "run", *words) as client:
        assert client.wait() == 2


def test_a_clone_has_its_own_lock_file_written(tmp_path: Path) -> None:
    listing = Listing(tmp_path)
    clone = listing.home.projects / "clone"
    (clone / "ci").mkdir(parents=True)
    policy = clone / "mcp-jail.yaml"
    policy.write_text(f"name: shop\n{POLICY}".replace("review}", "review, file: ci/lock.json}"))
    policy.chmod(0o600)
    assert listing.done("trust", str(policy), "--yes").returncode == 0
    words = ("--live", "--policy", str(policy), *listing.command)
    shown = [x for x in listing.done("diff", *words).stdout.splitlines() if "shown:" in x]
    yes = ("--write-file", "--yes", "--seen", shown[0].rpartition(" ")[2])
    said = listing.done("approve", *yes, *words)
    assert said.returncode == 0, said.stderr
    text = (clone / "ci" / "lock.json").read_text()
    assert '"name": "shop"' in text


def everything(home: Home, clone: Path) -> dict[str, bytes]:
    """What is in a home outside of a clone and of our notes of what happened."""
    found = {}
    for folder, _, files in os.walk(home.path):
        for name in files:
            path = Path(folder) / name
            if not path.is_relative_to(clone) and f"{STATE}/trust" not in folder:
                found[str(path)] = path.read_bytes() if path.suffix == ".json" else b""
    return {path: found[path] for path in found if not path.endswith((".jsonl", "/key"))}
