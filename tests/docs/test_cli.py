"""The help of each command in the documentation is what the command prints."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from docs.pages import ROOT
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
