"""Names are resolved as this machine does it, beside the loop; one that hangs holds up nobody."""

from __future__ import annotations

import os

from mcp_jail.gate.loop import Loop
from mcp_jail.gate.resolvers import PROCESSES, WAITING_LIMIT, Resolved, Resolvers


def resolved(*names: str) -> dict[str, list[Resolved]]:
    """All answers to some names."""
    loop = Loop()
    asked = Resolvers(loop)
    found: dict[str, list[Resolved]] = {}

    def heard(name: str, answer: Resolved) -> None:
        found.setdefault(name, []).append(answer)
        if sum(map(len, found.values())) == len(names):
            loop.stop()

    for name in names:
        asked.ask(name, lambda answer, name=name: heard(name, answer))  # type: ignore[misc]
    loop.run()
    asked.close()
    return found


def children(but: frozenset[str] = frozenset()) -> frozenset[str]:
    """The processes we have begun; other tests may have left some, which are to be left out."""
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children", encoding="ascii") as file:
        return frozenset(file.read().split()) - but


def test_names_are_resolved_and_failures_have_a_reason() -> None:
    found = resolved("localhost", "no-such-name.invalid")
    assert "127.0.0.1" in found["localhost"][0].addresses
    (failed,) = found["no-such-name.invalid"]
    assert failed.addresses == ()
    assert failed.error


def test_a_name_that_is_being_asked_for_is_not_asked_for_twice() -> None:
    loop = Loop()
    asked = Resolvers(loop)
    answers: list[Resolved] = []
    before = children()
    for _ in range(50):
        asked.ask("localhost", answers.append)
    assert len(children(before)) == 1
    asked.ask("localhost", lambda _answer: loop.stop())
    loop.run()
    assert len(answers) == 50
    asked.close()


def test_there_are_never_more_than_a_few_processes_and_none_is_left() -> None:
    loop = Loop()
    asked = Resolvers(loop)
    count = 100
    most, heard = 0, 0
    before = children()

    def answered(_answer: Resolved) -> None:
        nonlocal most, heard
        most, heard = max(most, len(children(before))), heard + 1
        if heard == count:
            loop.stop()

    for number in range(count):
        asked.ask(f"n{number}.invalid", answered)
    loop.run()
    assert 1 <= most <= PROCESSES
    asked.close()
    assert children(before) == frozenset()


def test_more_names_than_can_wait_are_turned_away_at_once() -> None:
    loop = Loop()
    asked = Resolvers(loop)
    answers: list[Resolved] = []
    count = WAITING_LIMIT + PROCESSES + 10
    for number in range(count):
        asked.ask(f"n{number}.invalid", answers.append)
    loop.soon(loop.stop)
    loop.run()
    assert sum("too many" in answer.error for answer in answers) == 10
    asked.close()


def test_a_process_that_dies_costs_the_name_it_had_and_no_other() -> None:
    loop = Loop()
    asked = Resolvers(loop)
    answers: list[Resolved] = []
    asked.ask("localhost", lambda _answer: loop.stop())
    loop.run()
    (process,) = asked._free
    os.kill(process._pid, 9)
    os.waitpid(process._pid, 0)

    def second(answer: Resolved) -> None:
        answers.append(answer)
        asked.ask("localhost", third)

    def third(answer: Resolved) -> None:
        answers.append(answer)
        loop.stop()

    asked.ask("localhost", second)
    loop.run()
    assert answers[0].error
    assert "127.0.0.1" in answers[1].addresses
    asked.close()
