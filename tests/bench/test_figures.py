"""What is made of the nanoseconds."""

from __future__ import annotations

import pytest

from figures import interleaved, orders, p50_us, p99_us, started
from lanes import Workshop
from talk import opened


def test_the_p50_is_the_median_of_the_medians_of_rounds() -> None:
    assert p50_us([[1_000, 2_000, 90_000], [4_000, 5_000, 6_000], [3_000, 3_000, 3_000]]) == 3.0


def test_the_p99_is_that_of_all_calls_together() -> None:
    rounds = [[1_000] * 100 for _ in range(9)] + [[1_000] * 89 + [7_000] * 11]
    assert p99_us(rounds) == 7.0
    assert p99_us([[1_000] * 100 for _ in range(9)] + [[1_000] * 91 + [7_000] * 9]) == 1.0


def test_each_round_has_every_lane_once_in_an_order_of_its_own() -> None:
    taken = list(orders("abc", 50))
    rounds = [tuple(taken[at : at + 3]) for at in range(0, 150, 3)]
    assert {"".join(sorted(each)) for each in rounds} == {"abc"}
    assert len(set(rounds)) == 6


def test_a_round_that_warms_up_is_made_and_not_counted(workshop: Workshop) -> None:
    call = b'{"name":"write_file","arguments":{}}'
    with opened([workshop.echo, "16"], workshop.env, call) as talk:
        taken = interleaved({"direct": talk}, rounds=4, calls=5)
        assert [len(each) for each in taken["direct"]] == [5] * 4
        assert talk.calls == 1 + 5 + 4 * 5


@pytest.mark.parametrize("at", [0, 1])
def test_a_start_is_of_a_process_of_its_own(workshop: Workshop, at: int) -> None:
    lane = workshop.lanes[at]
    (talks,) = started({"way": (lane, workshop.echo_server("echo"))}, workshop, 3).values()
    assert len({talk.process.pid for talk in talks}) == 3
    assert [talk.process.poll() for talk in talks] == [0, 0, 0]
