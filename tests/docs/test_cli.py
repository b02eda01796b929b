"""The help of each command in the documentation is what the command prints."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

from docs.pages import ROOT
from driver import MCP_JAIL
from mcp_jail.cli.commands import COMMANDS
from mcp_jail.errors import ExitCode

PAGE: Final = ROOT / "docs" / "cli.md"


def test_the_page_holds_the_help_of_every_command() -> None:
    written = subprocess.run(
        [sys.executable, ROOT / "scripts" / "cli-reference", "--print"],
        capture_output=True,
        text=True,
        check=True,
    )
    # White space apart: each version of Python folds a help in its own way.
    assert PAGE.read_text().split() == written.stdout.split(), "run scripts/cli-reference"


def test_every_command_stands_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    assert [name for name in COMMANDS if f"`{name}`" not in text] == []


def test_every_exit_code_stands_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    assert [code for code in ExitCode if f"\n| {int(code)} | " not in text] == []


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_a_help_fits_a_narrow_terminal_but_for_what_is_to_be_copied(name: str | None) -> None:
    words = ["--help"] if name is None else [name, "--help"]
    done = subprocess.run(
        [MCP_JAIL, *words],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": "/", "COLUMNS": "80"},
        check=True,
    )
    told = done.stdout.partition("\nExample")[0]
    assert [line for line in told.splitlines() if len(line) > 80] == []
