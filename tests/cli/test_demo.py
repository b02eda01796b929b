"""`mcp-jail demo` as people run it, and what it prints when the jail does not hold."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mcp_jail
from driver import MCP_JAIL, Home
from mcp_jail.cli import demo
from mcp_jail.cli.commands import COMMANDS
from mcp_jail.demo.attempts import ATTEMPTS, Finding, Outcome, judge
from mcp_jail.demo.play import POLICY, Comparison, Row, run_bare, run_jailed

# What the page and its colours are made of where everything is as it should be.
GOOD = Comparison(
    tuple(
        Row(each, Finding(Outcome.OUT, ("TCP",)), Finding(Outcome.HELD, held_by="not there"))
        for each in ATTEMPTS
    ),
    seconds=0.5,
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def said(home: Home, *words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=home.environ(**more),
        cwd=home.path,
        check=False,
    )


def test_the_table_shows_both_runs_side_by_side_and_fits_anywhere(home: Home) -> None:
    before = files(home.path)
    done = said(home, MCP_JAIL, "demo", GITHUB_TOKEN="the-real-token", TERM="xterm-256color")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for attempt in ATTEMPTS:
        (row,) = [line for line in lines if line.startswith(f"  {attempt.tried} ")]
        assert re.search(rf" {attempt.success.upper()} +held  \S", row), row
    count = len(ATTEMPTS)
    assert f"{count} of {count} got out without a jail, 0 with mcp-jail" in done.stdout
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line != line.rstrip()]
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert files(home.path) == before, "the home of who runs it was touched"


def test_its_last_lines_name_commands_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    demo.report(GOOD, as_json=False)
    last = capsys.readouterr().out.splitlines()[-2:]
    named = [re.findall(r"mcp-jail ([a-z]+)", line) for line in last]
    assert all(names and set(names) <= set(COMMANDS) for names in named)


def test_a_program_gets_every_row_with_where_it_was_seen(home: Home) -> None:
    done = said(home, MCP_JAIL, "demo", "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode, found["ok"], found["failed"]) == (0, True, [])
    assert [row["name"] for row in found["rows"]] == [attempt.name for attempt in ATTEMPTS]
    for row in found["rows"]:
        assert row["without_a_jail"]["outcome"] == "out"
        assert row["without_a_jail"]["seen"]
        assert row["with_mcp_jail"]["outcome"] == "held"
        assert row["with_mcp_jail"]["held_by"]
    assert "canary" not in done.stdout


def test_a_jail_with_a_hole_is_told_and_ends_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    holed = POLICY.replace("read_only: [~/project]", "read_only: [~/project, ~/.ssh]")
    bare, jailed = run_bare(), run_jailed(holed)
    rows = [Row(each, judge(each, bare), judge(each, jailed)) for each in ATTEMPTS]
    comparison = Comparison(tuple(rows), seconds=0.5)
    assert demo.report(comparison, as_json=False) == 1
    page = capsys.readouterr().out
    assert re.search(r"read an SSH key .* STOLEN +STOLEN$", page, re.MULTILINE)
    assert "1 with mcp-jail" in page
    assert "NOT HELD: read an SSH key (~/.ssh/id_ed25519) (seen from outside: answer to" in page
    assert page.count("NOT HELD") == 1
    assert demo.report(comparison, as_json=True) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["failed"]) == (False, ["ssh-key"])


def test_no_jail_at_all_fails_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    bare = run_bare()
    rows = [Row(each, judge(each, bare), judge(each, bare)) for each in ATTEMPTS]
    assert demo.report(Comparison(tuple(rows), seconds=0.5), as_json=False) == 1
    page = capsys.readouterr().out
    assert page.count("NOT HELD") == len(ATTEMPTS)
    assert "held " not in page


@pytest.mark.parametrize(
    ("bare", "jailed", "told"),
    [
        (Outcome.HELD, Outcome.HELD, "PROVES NOTHING: "),
        (Outcome.UNTRIED, Outcome.HELD, "PROVES NOTHING: "),
        (Outcome.OUT, Outcome.UNTRIED, "NOT TRIED in the jail: "),
    ],
)
def test_a_row_that_proves_nothing_is_a_failure(
    capsys: pytest.CaptureFixture[str], bare: Outcome, jailed: Outcome, told: str
) -> None:
    row = Row(ATTEMPTS[0], Finding(bare), Finding(jailed))
    assert demo.report(msgspec.structs.replace(GOOD, rows=(row,)), as_json=False) == 1
    assert told + ATTEMPTS[0].tried in capsys.readouterr().out


def test_without_bubblewrap_it_says_how_to_install_it_and_starts_nothing(home: Home) -> None:
    hidden = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", "/dev/null"]
    done = said(home, *hidden, str(shutil.which("bwrap")), "--", MCP_JAIL, "demo")
    assert done.returncode == 4
    assert done.stdout == ""
    assert done.stderr.startswith("mcp-jail: error: ")
    assert re.search(r"^mcp-jail: hint: (run: |install )\S+.*bubblewrap", done.stderr, re.MULTILINE)


def test_it_runs_isolated_from_wherever_the_package_lies(home: Home) -> None:
    place = home.path / "somewhere" / "lib"
    package = Path(mcp_jail.__file__).parent
    shutil.copytree(package, place / "mcp_jail", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        f"import sys; sys.path.insert(0, {str(place)!r}); from mcp_jail.cli import main\n"
        "import mcp_jail; assert sys.argv[2] in mcp_jail.__file__; sys.exit(main(sys.argv[1:2]))"
    )
    done = said(home, sys.executable, "-I", "-c", code, "demo", str(place))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("no_color", [False, True])
def test_colours_are_for_terminals_that_want_them(home: Home, no_color: bool) -> None:
    ours, its = pty.openpty()
    more = {"TERM": "xterm-256color", **({"NO_COLOR": "1"} if no_color else {})}
    with subprocess.Popen(
        [MCP_JAIL, "demo"], stdin=its, stdout=its, stderr=its, env=home.environ(**more)
    ) as running:
        os.close(its)
        page = read_to_the_end(ours)
    assert running.returncode == 0
    assert ("\x1b[1;31mSTOLEN" in page) != no_color
    assert ("\x1b[1;32mheld" in page) != no_color


def read_to_the_end(terminal: int) -> str:
    """All that comes from a terminal; its end is an error to Linux (pty(7))."""
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:
            piece = b""
        if not piece:
            os.close(terminal)
            return b"".join(pieces).decode()
        pieces.append(piece)
