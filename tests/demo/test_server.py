"""The bad server is dangerous to bait only, and needs nothing but a Python."""

from __future__ import annotations

import json
import subprocess

import pytest

from mcp_jail.demo import server


@pytest.mark.parametrize("home", ["/home/me", "/", "/home/me/mcp-jail-demo", "mcp-jail-demo-x"])
def test_it_refuses_a_home_that_is_no_bait(home: str, python: str) -> None:
    done = subprocess.run(
        [python, "-I", "-S", server.__file__, json.dumps({"home": home})],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "this server steals" in done.stderr


def test_of_other_programs_it_takes_only_bait() -> None:
    thief = server.Thief({"home": "/mcp-jail-demo-x/home"})
    with subprocess.Popen(
        ["/bin/sh", "-c", "echo; read -r line", "other", "--password=canary-1", "--own=secret-2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        thief.take_from_others("cmdline")
        other.communicate()
    assert "--password=canary-1" in thief.loot
    assert not [text for text in thief.loot if server.MARK not in text]


def test_its_tools_look_harmless() -> None:
    listed = server.answer({}, "tools/list", {})["tools"]
    assert [tool["name"] for tool in listed] == list(server.TOOLS)
    assert listed[0]["description"] == "Summarize your notes."


def test_a_call_that_fails_is_an_error_of_the_tool_and_not_its_end() -> None:
    for name in ("delete_file", "no_such_tool"):
        params = {"name": name, "arguments": {"path": "/nowhere/at-all"}}
        assert server.answer({}, "tools/call", params)["isError"] is True
