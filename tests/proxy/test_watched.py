"""The poll's interest, held against real pipes."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

import pytest

from mcp_jail.proxy.watched import Watched


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_what_is_watched_is_told_and_nothing_else(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    os.write(writes, b"x")
    watched = Watched()
    watched.only({writes: select.POLLOUT})
    assert watched.ready(0) == {writes: select.POLLOUT}
    watched.only({reads: select.POLLIN})
    assert watched.ready(0) == {reads: select.POLLIN}
    watched.only({})
    assert watched.ready(0) == {}


def test_a_changed_mask_counts_for_a_descriptor_that_was_watched(pipe: tuple[int, int]) -> None:
    _, writes = pipe
    watched = Watched()
    watched.only({writes: 0})
    assert watched.ready(0) == {}
    watched.only({writes: select.POLLOUT})
    assert watched.ready(0) == {writes: select.POLLOUT}
