"""Signals become bytes while a run goes on, and are given back after it."""

from __future__ import annotations

import fcntl
import os
import select
import signal

import pytest

from mcp_jail.proxy.patterns import fullmatch
from mcp_jail.proxy.signals import Signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_a_byte_and_ends_nothing(number: signal.Signals) -> None:
    signals = Signals()
    try:
        assert select.select([signals.fd], [], [], 0)[0] == []
        os.kill(os.getpid(), number)
        assert select.select([signals.fd], [], [], 5)[0] == [signals.fd]
        assert signals.drain()
        assert select.select([signals.fd], [], [], 0)[0] == []
    finally:
        signals.close()


def test_the_handlers_from_before_are_back_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    Signals().close()
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


def test_a_flood_of_signals_blocks_nothing() -> None:
    signals = Signals()
    try:
        fcntl.fcntl(signals.fd, fcntl.F_SETPIPE_SZ, 4096)
        for _ in range(5_000):
            os.kill(os.getpid(), signal.SIGHUP)
        signals.drain()
    finally:
        signals.close()


def test_the_alarm_of_a_slow_pattern_ends_nothing() -> None:
    signals = Signals()
    try:
        assert fullmatch("(a+)+", "a" * 40 + "!") is None
        if select.select([signals.fd], [], [], 0)[0]:
            assert not signals.drain()
    finally:
        signals.close()
