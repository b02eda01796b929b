"""Patterns fit whole texts and are stopped when they take too long."""

from __future__ import annotations

import re
import signal
import threading
from types import FrameType

import pytest

from mcp_jail.proxy.patterns import fullmatch


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("(a+)+$", "a" * 50_000 + "b"), ("(a|a)*b", "a" * 5_000), ("(.*a){25}b", "a" * 200)],
)
def test_a_pattern_that_takes_too_long_is_stopped(pattern: str, text: str) -> None:
    assert fullmatch(pattern, text) is None


def test_a_pattern_must_fit_the_whole_text() -> None:
    assert fullmatch("[a-z]+", "abc") is True
    assert fullmatch("[a-z]+", "abc\n") is False
    assert fullmatch("b", "abc") is False
    assert fullmatch("^a$", "a\nb") is False


def test_the_handler_and_the_timer_are_as_before() -> None:
    caught: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        caught.append(number)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        assert fullmatch("(a+)+$", "a" * 50_000 + "b") is None
        assert fullmatch("a", "a") is True
        assert signal.getsignal(signal.SIGALRM) is handler
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert caught == []
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_pattern_that_cannot_be_read_leaves_the_handler_alone() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(re.error):
        fullmatch("(", "x")
    assert signal.getsignal(signal.SIGALRM) is before


def test_it_works_in_the_main_thread_only() -> None:
    raised: list[BaseException] = []

    def attempt() -> None:
        try:
            fullmatch("a", "a")
        except ValueError as error:
            raised.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert len(raised) == 1
