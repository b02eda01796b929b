"""The program itself: what it takes, and what it says where it cannot ask."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

from desktop_bus import asking, notice
from mcp_jail.asks.notice import BROKEN, LINE_LIMIT, PROGRAM, UNAVAILABLE, notice_line

ROOT: Final = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "line",
    [b"\n", b"[]\n", b"{}\n", b"\xff\n", b"x" * (LINE_LIMIT + 10) + b"\n"],
    ids=lambda line: str(line[:10]),
)
def test_a_line_that_is_no_ask_is_refused_in_one_line(line: bytes) -> None:
    with asking(line) as program:
        out, err = program.communicate(timeout=30)
    assert (out, program.returncode) == (b"", BROKEN)
    assert err.startswith(b"mcp-jail: this is no ask: ")
    assert err.count(b"\n") == 1


def test_nothing_at_all_is_no_ask() -> None:
    done = subprocess.run(
        [sys.executable, *PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (BROKEN, b"")


def test_what_people_are_told_to_install_brings_all_it_needs() -> None:
    packages = (ROOT / "requirements" / "run.txt").read_text()
    assert re.search(r"^jeepney==", packages, re.MULTILINE)
    with (ROOT / "pyproject.toml").open("rb") as file:
        needs = tomllib.load(file)["project"]["dependencies"]
    assert any(each.startswith("jeepney") for each in needs)


def test_what_is_missing_is_said_with_the_way_to_get_it() -> None:
    code = (
        "import runpy, sys; sys.modules['jeepney'] = None; "
        "runpy.run_module('mcp_jail.asks.notify', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        input=notice_line(notice("/nowhere")),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (UNAVAILABLE, b"")
    cure = f"{sys.executable} -m pip install jeepney"
    assert done.stderr.decode() == f"mcp-jail: jeepney is not installed beside mcp-jail: {cure}\n"
