"""In each second as many as may be, and no more."""

from __future__ import annotations

import pytest

from mcp_jail.gate.budget import PerSecond
from mcp_jail.gate.loop import Loop


def test_a_second_has_so_many_and_the_next_as_many_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.25
    monkeypatch.setattr("mcp_jail.gate.loop.time.monotonic", lambda: now)
    budget = PerSecond(Loop(), 3)
    assert [budget.take() for _ in range(5)] == [True, True, True, False, False]
    assert budget.wait == 0.75
    now = 100.75
    assert not budget.take()
    now = 101.0
    assert [budget.take() for _ in range(4)] == [True, True, True, False]
