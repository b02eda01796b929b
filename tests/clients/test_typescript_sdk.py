"""The TypeScript SDKs' clients, versions 1 and 2, against real servers, with and without us."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from clients.typescript import ERAS, take_steps
from clients.ways import Way

SERVERS: Final = Path(__file__).resolve().parent.parent / "servers"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.usefixtures("npm_tree")
def test_echo_lists_writes_and_reads(way: Way, python: str, tmp_path: Path, era: str) -> None:
    command = [python, "-I", "-S", str(SERVERS / "echo.py")]
    target = tmp_path / "note"
    names, written, read, missing = take_steps(
        era,
        way.command("echo", command, tmp_path),
        way.environment,
        [
            "tools",
            ("write_file", {"path": str(target), "content": "wörds"}),
            ("read_file", {"path": str(target)}),
            ("read_file", {"path": str(tmp_path / "missing")}),
        ],
    )
    assert names == ["echo", "add", "read_file", "write_file", "list_directory", "delete_file"]
    assert written == {"text": "5 characters", "isError": False}
    assert read == {"text": "wörds", "isError": False}
    assert missing["isError"]
    assert target.read_text(encoding="utf-8") == "wörds"


@pytest.mark.parametrize("era", ERAS)
def test_the_everything_server_lists_and_adds(
    way: Way, npm_tree: Path, tmp_path: Path, era: str
) -> None:
    server = npm_tree / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    names, sum_ = take_steps(
        era,
        way.command("everything", ["node", str(server)], tmp_path),
        way.environment,
        ["tools", ("get-sum", {"a": 2, "b": 3})],
    )
    assert {"echo", "get-sum"} <= set(names)
    assert "5" in sum_["text"]
