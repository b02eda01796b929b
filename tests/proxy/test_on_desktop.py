"""Asks on the desktop: a real keeper starts a real program on a real bus, a service is played."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from desktop_bus import on, private_bus, service, signal_to
from mcp_jail.core.conversation.events import Answered, AskOver, AskPerson, FromPerson, NotAnswered
from mcp_jail.core.policy import Verdict
from mcp_jail.proxy import on_desktop as module
from mcp_jail.proxy.on_desktop import OnDesktop, shown_by
from mcp_jail.proxy.watched import Watched
from mcp_jail.sandbox import keeper as keepers
from plays import Play


class Screen:
    """A session whose asks are shown on a bus of the test's own."""

    def __init__(self, bus: str) -> None:
        self.fault: str | None = None
        self.is_wanted = True
        self.play = Play(tools={"default": "ask"}, tickets=(f"TICK{a}A" for a in "ABCDEFGH"))
        self.keeper = keepers.start()
        self.desktop = OnDesktop(
            self.keeper,
            "notes",
            shown_by(lambda _, encoded: msgspec.Raw(encoded.replace(b"hunter2", b"[secret]"))),
            seconds=lambda: 60.0,
            is_wanted=lambda: self.is_wanted,
            fault_of=lambda _: self.fault,
            bus=bus,
        )
        self.events: list[FromPerson] = []
        self._watched = Watched()

    def calls(self, id: str, **arguments: Any) -> None:
        """The model calls something that is asked about."""
        before = len(self.play.asks)
        self.play.calls("delete", id, arguments=arguments)
        for ask in self.play.asks[before:]:
            self.desktop.show(AskPerson(ask))

    def turn(self, holds: Callable[[], bool]) -> None:
        """Wake up until something is so."""
        deadline = time.monotonic() + 30
        while not holds():
            assert time.monotonic() < deadline
            self._watched.only(self.desktop.wanted())
            for event in self.desktop.serve(self._watched.ready(50)):
                self.events.append(event)
                self.play.handle(event)

    def close(self) -> None:
        self.desktop.close()
        self.keeper.close()


@pytest.fixture
def bus(dbus_daemon: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with private_bus(dbus_daemon, tmp_path_factory.mktemp("bus")) as socket:
        yield socket


@pytest.fixture
def screen(bus: str) -> Iterator[Screen]:
    made = Screen(bus)
    yield made
    made.close()


def forwarded(screen: Screen) -> list[str]:
    calls = [each for each in screen.play.server_got if each.get("method") == "tools/call"]
    return [each["params"]["name"] for each in calls]


def test_a_click_on_allow_lets_the_call_pass_once(screen: Screen, bus: str) -> None:
    with service(bus) as desk:
        screen.calls("one", name="drafts")
        _, card = desk.wait_for_card()
        assert "TICKAA" in str(card)
        assert "drafts" in str(card)
        assert forwarded(screen) == []
        desk.invoke("allow")
        screen.turn(lambda: bool(screen.events))
    (event,) = screen.events
    assert isinstance(event, Answered)
    assert (event.answer.verdict, event.answer.by) == (Verdict.ALLOW, "desktop")
    assert forwarded(screen) == ["delete"]
    assert not screen.desktop.is_busy


def test_a_click_on_deny_is_a_no(screen: Screen, bus: str) -> None:
    with service(bus) as desk:
        screen.calls("one")
        desk.wait_for_card()
        desk.invoke("deny")
        screen.turn(lambda: bool(screen.events))
    assert screen.play.text == "denied by the user: do not call it again"


def test_a_card_that_is_dismissed_answers_nothing(screen: Screen, bus: str) -> None:
    with service(bus) as desk:
        screen.calls("one")
        desk.wait_for_card()
        desk.close_card()
        screen.turn(lambda: not screen.desktop.is_busy)
    assert screen.events == []
    assert len(screen.play.talk.asks.open) == 1


def test_an_answer_given_elsewhere_takes_the_card_away(screen: Screen, bus: str) -> None:
    with service(bus) as desk:
        screen.calls("one")
        desk.wait_for_card()
        screen.desktop.show(AskOver(screen.play.asks[0], "allow"))
        desk.wait_until(lambda: desk.closed == [1])
        screen.turn(lambda: not screen.desktop.is_busy)
    assert screen.events == []


def test_a_service_that_is_not_believed_answers_nothing_and_that_is_told(
    screen: Screen, bus: str
) -> None:
    """An agent that owns the bus's name with a service of its own."""
    screen.fault = "a notification service that an MCP client started"
    with service(bus) as desk:
        screen.calls("one")
        desk.wait_for_card()
        desk.invoke("allow")
        screen.turn(lambda: bool(screen.events))
        desk.wait_until(lambda: len(desk.shown) == 2)
        _, card = desk.shown[1]
        assert card[4].startswith(
            f"Not taken, as it came from {screen.fault}. Answer in a terminal"
        )
        assert card[5] == []
        desk.invoke("allow", 2)
        desk.close_card(2)
        screen.turn(lambda: not screen.desktop.is_busy)
    assert [type(event) for event in screen.events] == [NotAnswered]
    assert forwarded(screen) == []


def test_a_forged_click_answers_nothing(screen: Screen, bus: str) -> None:
    with service(bus) as desk:
        screen.calls("one")
        asker, _ = desk.wait_for_card()
        with on(bus) as forger:
            forger.send(signal_to(asker, "ActionInvoked", "us", 1, "allow"))
            forger.send(signal_to(None, "ActionInvoked", "us", 1, "allow"))
            desk.invoke("deny")
            screen.turn(lambda: bool(screen.events))
    (event,) = screen.events
    assert isinstance(event, Answered)
    assert event.answer.verdict is Verdict.DENY


def test_no_more_than_a_few_cards_at_once_and_the_next_when_one_goes(
    screen: Screen, bus: str
) -> None:
    with service(bus) as desk:
        for number in range(5):
            screen.calls(f"call {number}", n=number)
        desk.wait_until(lambda: len(desk.shown) == module.SHOWN_LIMIT)
        assert len(screen.desktop.wanted()) == module.SHOWN_LIMIT
        desk.close_card(1)
        screen.turn(lambda: len(desk.shown) == module.SHOWN_LIMIT + 1)


def test_secrets_are_taken_out_and_then_allow_is_not_offered(screen: Screen, bus: str) -> None:
    with service(bus) as desk:
        screen.calls("one", password="hunter2")
        _, card = desk.wait_for_card()
    assert "hunter2" not in str(card)
    assert "Allow" not in str(card)


def test_a_policy_without_this_channel_shows_nothing(screen: Screen) -> None:
    screen.is_wanted = False
    screen.calls("one")
    assert not screen.desktop.is_busy


def test_without_a_service_nobody_is_asked_and_nothing_breaks(screen: Screen) -> None:
    screen.calls("one")
    screen.turn(lambda: not screen.desktop.is_busy)
    assert screen.events == []


def test_a_keeper_that_is_gone_shows_nothing(screen: Screen) -> None:
    screen.keeper.close()
    screen.calls("one")
    assert not screen.desktop.is_busy
