"""The steps that stop a server, in order and in time."""

from __future__ import annotations

from mcp_jail.proxy.ladder import CLOSED_SECONDS, HURRIED_SECONDS, TERM_SECONDS, Ladder, Step


class Noted:
    """A jail that notes what is done to it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def close_stdin(self) -> None:
        self.done.append("close")

    def terminate(self) -> None:
        self.done.append("term")

    def kill(self) -> None:
        self.done.append("kill")


def test_a_server_that_ends_by_itself_is_only_closed() -> None:
    jail = Noted()
    ladder = Ladder(jail)
    ladder.begin(0.0)
    ladder.drained()
    ladder.tick(CLOSED_SECONDS - 0.01)
    assert jail.done == ["close"]


def test_a_server_that_does_not_end_is_asked_then_killed() -> None:
    jail = Noted()
    ladder = Ladder(jail)
    ladder.begin(0.0)
    ladder.drained()
    ladder.tick(CLOSED_SECONDS)
    ladder.tick(CLOSED_SECONDS + TERM_SECONDS - 0.01)
    ladder.tick(CLOSED_SECONDS + TERM_SECONDS)
    ladder.tick(100.0)
    assert jail.done == ["close", "term", "kill"]
    assert ladder.step is Step.KILLED
    assert ladder.seconds_left(100.0) is None


def test_a_server_that_does_not_read_is_not_waited_for() -> None:
    jail = Noted()
    ladder = Ladder(jail)
    ladder.begin(0.0)
    ladder.tick(CLOSED_SECONDS)
    ladder.tick(CLOSED_SECONDS + TERM_SECONDS)
    assert jail.done == ["term", "kill"]


def test_the_time_starts_once() -> None:
    ladder = Ladder(Noted())
    ladder.begin(0.0)
    ladder.begin(1.0)
    assert ladder.seconds_left(1.0) == CLOSED_SECONDS - 1.0


def test_all_steps_fit_before_a_client_loses_patience() -> None:
    client_patience = 2.0  # seconds from closing our input to SIGTERM, Python and TypeScript SDK
    steps = CLOSED_SECONDS + TERM_SECONDS
    assert steps < client_patience


def test_a_client_that_signals_again_need_not_kill_us_itself() -> None:
    second_signal, killed = 0.1, 0.5  # seconds from SIGINT to SIGTERM and to SIGKILL, Claude Code
    jail = Noted()
    ladder = Ladder(jail)
    ladder.begin(0.0)
    ladder.drained()
    ladder.hurry(second_signal)
    ladder.tick(second_signal + HURRIED_SECONDS)
    assert jail.done == ["close", "term", "kill"]
    assert second_signal + HURRIED_SECONDS < 0.6 * killed


def test_a_third_signal_gives_no_more_time_and_the_first_starts_no_hurry() -> None:
    jail = Noted()
    ladder = Ladder(jail)
    ladder.hurry(0.0)
    assert ladder.step is Step.RUNNING
    ladder.begin(0.0)
    ladder.hurry(0.1)
    ladder.hurry(0.2)
    ladder.tick(0.1 + HURRIED_SECONDS)
    assert jail.done == ["term", "kill"]
