"""Names of programs, as /proc tells them."""

from __future__ import annotations

import pytest

from mcp_jail.asks import known_programs as known


@pytest.mark.parametrize(
    "name",
    [
        "gnome-terminal-",
        "systemd",
        "xfce4-panel",
        "gdm-session-wor",
        "io.elementary.f",
        "dbus-broker-lau",
        "tmux: server",
    ],
)
def test_a_name_is_the_first_15_bytes_the_kernel_keeps(name: str) -> None:
    assert name in known.ABOVE | known.TERMINALS


def test_no_name_is_longer_than_the_kernel_keeps() -> None:
    every = known.ABOVE | known.TERMINALS | known.REAPERS | known.SHELLS | known.SWITCHES
    assert [name for name in every if len(name.encode()) > 15] == []


def test_what_starts_one_program_for_another_is_above_nobody() -> None:
    between = known.SHELLS | known.SWITCHES | {"env", "timeout", "script", "node", "python3"}
    assert not between & known.ABOVE


def test_no_agent_variable_is_half_of_one() -> None:
    assert {"CLAUDECODE", "GEMINI_CLI", "QWEN_CODE"} <= known.AGENT_VARIABLES
