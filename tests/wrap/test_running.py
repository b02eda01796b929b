"""A client that runs is noticed by the name it was started under."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from driver import wait_until
from mcp_jail.clients.running import running
from wrap.sampled import row


@pytest.mark.parametrize("way", ["program", "script"])
def test_a_running_client_is_found(tmp_path: Path, way: str) -> None:
    name = tmp_path / "claude"
    waits = "import sys; sys.stdin.read()"
    if way == "script":
        name.write_text(waits)
        words = [sys.executable, str(name)]
    else:
        name.symlink_to(sys.executable)
        words = [str(name), "-c", waits]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        wait_until(lambda: process.pid in {each.pid for each in running([row("claude-code")])})
        assert process.pid not in {each.pid for each in running([row("gemini")])}
        assert process.pid not in {each.pid for each in running([row("cursor")])}
        process.communicate(b"")
    assert process.pid not in {each.pid for each in running([row("claude-code")])}
