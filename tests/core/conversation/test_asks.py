"""Asks and grants as values; what a session makes of them is in test_asking."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mcp_jail.core.conversation import asks as asks_module
from mcp_jail.core.conversation.asks import (
    NEW_PER_MINUTE,
    Answer,
    Ask,
    Asks,
    Held,
    Lasts,
    binding_of,
)
from mcp_jail.core.policy import Verdict
from mcp_jail.core.protocol.mcp import Treatment
from mcp_jail.core.protocol.wire import Request

YES = Answer(verdict=Verdict.ALLOW, lasts=Lasts.ONCE, by="x")


def ask(ticket: str = "T", since: float = 0.0) -> Ask:
    return Ask(
        ticket=ticket,
        binding=f"binding of {ticket}",
        method="tools/call",
        name="t",
        arguments={},
        rule="tools.default",
        where="",
        reason="",
        since=since,
    )


def held(id: Any, until: float = 50.0, treatment: Treatment | None = Treatment.CALL_TOOL) -> Held:
    return Held(Request(id, "tools/call", {}), treatment, until)


@pytest.mark.parametrize(
    "other",
    [
        ("tools/call", "t", "d", {"a": 2}),
        ("tools/call", "t", "e", {"a": 1}),
        ("tools/call", "u", "d", {"a": 1}),
        ("prompts/get", "t", "d", {"a": 1}),
        ("tools/call", "td", "", {"a": 1}),
    ],
)
def test_a_binding_tells_method_name_item_and_arguments_apart(
    other: tuple[str, str, str, dict[str, Any]],
) -> None:
    assert binding_of("tools/call", "t", "d", {"a": 1}) != binding_of(*other)


def test_ids_of_another_type_or_side_are_other_requests() -> None:
    asks, one = Asks(900), ask()
    asks.begin(one)
    asks.hold(one, held(1))
    asks.hold(one, held("q", treatment=None))
    assert asks.holds(1, from_client=True)
    assert not asks.holds(1.0, from_client=True)  # type: ignore[arg-type]
    assert not asks.holds(True, from_client=True)
    assert not asks.holds("1", from_client=True)
    assert not asks.holds(1, from_client=False)
    assert asks.holds("q", from_client=False)
    assert asks.drop("q", from_client=True) is None
    assert asks.drop("q", from_client=False) == (one, held("q", treatment=None))
    assert len(asks) == 1


def test_what_is_due_next_is_the_earliest_of_all() -> None:
    asks = Asks(900)
    assert Asks(900).due is None
    first, second = ask("A"), ask("B", since=10)
    asks.begin(first)
    assert asks.due == 900
    asks.begin(second)
    asks.hold(second, held(1, until=60))
    assert asks.due == 60
    assert asks.late(59.9) == []
    assert [each.request.id for _, each in asks.late(60)] == [1]
    assert asks.due == 900


def test_a_retry_keeps_an_ask_open() -> None:
    asks, one = Asks(900), ask()
    asks.begin(one)
    asks.hold(one, held(1, until=850))
    asks.late(850)
    assert asks.expired(900) == []
    assert asks.expired(1750) == [one]
    assert asks.of_binding(one.binding) is None


def test_a_grant_for_one_call_is_used_up_and_ends_by_itself() -> None:
    asks, one = Asks(900), ask()
    asks.begin(one)
    asks.end(one)
    asks.grant(one, YES, 0)
    grant = asks.take_grant(one.binding, 1)
    assert grant is not None
    assert grant.answer is YES
    assert asks.take_grant(one.binding, 1) is None
    asks.grant(one, YES, 0)
    assert asks.take_grant(one.binding, 900) is None
    asks.expired(900)
    assert asks.grants(0) == ()


def test_a_later_answer_takes_the_place_of_an_earlier() -> None:
    asks, one = Asks(900), ask()
    asks.grant(one, YES, 0)
    no = Answer(verdict=Verdict.DENY, lasts=Lasts.SESSION, by="x")
    asks.grant(one, no, 1)
    assert [grant.answer for grant in asks.grants(0)] == [no]
    assert asks.revoke("T", 1) is not None
    assert asks.revoke("T", 1) is None


def test_an_answer_whose_time_is_over_is_neither_listed_nor_taken_back() -> None:
    asks, one = Asks(900), ask()
    asks.grant(one, YES, 0)
    assert len(asks.grants(899)) == 1
    assert asks.grants(900) == ()
    assert asks.revoke("T", 900) is None


def test_answers_whose_time_is_over_take_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asks_module, "GRANTS_LIMIT", 1)
    asks, one = Asks(900), ask("A")
    asks.grant(ask("B"), YES, 0)
    assert not asks.grant(one, YES, 899)
    assert asks.grant(one, YES, 900)


def test_what_has_no_end_outlives_what_has() -> None:
    asks, first, second = Asks(900), ask("A"), ask("B")
    asks.grant(first, YES, 0)
    asks.grant(second, Answer(verdict=Verdict.ALLOW, lasts=Lasts.SESSION, by="x"), 0)
    asks.expired(1e9)
    assert [grant.ask.ticket for grant in asks.grants(0)] == ["B"]


def test_who_waits_for_an_answer_is_counted() -> None:
    asks, one = Asks(900), ask()
    asks.begin(one)
    assert asks.held_by("T") == 0
    asks.hold(one, held(1))
    asks.hold(one, held(2))
    assert (asks.held_by("T"), asks.held_by("none")) == (2, 0)


def test_a_minute_later_as_many_may_begin_again() -> None:
    asks = Asks(9_000)
    for number in range(NEW_PER_MINUTE):
        assert asks.may_begin("tools/call", 0)
        asks.begin(ask(f"T{number}"))
    assert not asks.may_begin("tools/call", 59.9)
    assert asks.may_begin("tools/call", 60)


def test_a_server_that_asks_without_end_leaves_room_for_the_models_calls() -> None:
    asks = Asks(900)
    for number in range(asks_module.SERVERS_PER_MINUTE):
        assert asks.may_begin("elicitation/create", 0)
        asks.begin(msgspec.structs.replace(ask(str(number)), method="elicitation/create"))
    assert not asks.may_begin("sampling/createMessage", 59.9)
    assert asks.may_begin("tools/call", 0)
    assert asks.may_begin("elicitation/create", 60)
    for number in range(100, 100 + asks_module.SERVERS_PER_MINUTE):
        later = msgspec.structs.replace(ask(str(number), 60.0), method="elicitation/create")
        asks.begin(later)
    assert not asks.may_begin("elicitation/create", 120)
    assert asks.may_begin("tools/call", 120)
