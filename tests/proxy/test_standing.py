"""A working directory that was removed: who needs none starts, who names something in it does not.

The directory is removed under a process of its own, so that no other test stands nowhere.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ASKED: Final = """
import os, sys
from mcp_jail.core.policy import Policy, Server
from mcp_jail.errors import UsageError
from mcp_jail.proxy.standing import standing_for
os.chdir(sys.argv[1])
os.rmdir(sys.argv[1])
server = Server(command=("x",), cwd=sys.argv[2]) if sys.argv[2] else None
try:
    print(standing_for(Policy(name="any", server=server), tuple(sys.argv[3:])))
except UsageError as error:
    print(error.message, error.hint, sep="; ")
"""


def standing(tmp_path: Path, *words: str, cwd: str = "") -> str:
    folder = tmp_path / "gone"
    folder.mkdir()
    said = subprocess.run(
        [sys.executable, "-c", ASKED, str(folder), cwd, *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip()


@pytest.mark.parametrize(
    "words", ["", "srv", "/srv/x ~/y", "npx -y @scope/server docs/x", "srv --root=x"]
)
def test_a_command_that_names_nothing_by_its_way_starts(tmp_path: Path, words: str) -> None:
    assert standing(tmp_path, *words.split()) == "/dev/null"


@pytest.mark.parametrize(
    "words", ["./srv", "bin/srv", "../srv", "srv ./x", "srv a/../../x", "srv ."]
)
def test_one_that_does_is_refused_with_a_hint(tmp_path: Path, words: str) -> None:
    said = standing(tmp_path, *words.split())
    assert "the working directory was removed, so '" in said
    assert "a directory that is there" in said


def test_a_policy_that_names_its_own_needs_no_other(tmp_path: Path) -> None:
    assert standing(tmp_path, "./srv", cwd="/srv") == "/dev/null"
