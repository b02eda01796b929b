"""The desktop as a channel, attacked from other programs on its bus."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jeepney import HeaderFields, message_bus
from jeepney.io.blocking import Proxy

from desktop_bus import NAME, asking, joined, notice, on, service, signal_to
from mcp_jail.asks.desktop_look import user_bus
from mcp_jail.asks.notice import NOT_ANSWERED, PROGRAM, Said, notice_line, read_said


def done(process: subprocess.Popen[bytes]) -> tuple[Said | None, bytes, int]:
    """What the program answered, its words to people, its exit code."""
    out, err = process.communicate(timeout=30)
    return read_said(out), err, process.returncode


SILENT = (None, b"", NOT_ANSWERED)


def processed(connection: Any) -> None:
    """Wait until the bus has passed on all that this connection sent."""
    Proxy(message_bus, connection).GetId()


@pytest.mark.parametrize("key", ["allow", "deny"])
def test_what_a_person_chooses_is_the_answer(bus: str, key: str) -> None:
    with service(bus) as desktop, asking(notice(bus)) as program:
        _, (name, replaces, icon, title, body, actions, hints, milliseconds) = (
            desktop.wait_for_card()
        )
        assert (name, replaces, icon) == ("mcp-jail", 0, "")
        assert title == "filesystem asks to use write_file (ABC234)"
        assert "mcp-jail allow ABC234" in body
        assert actions == ["allow", "Allow", "deny", "Deny"]
        assert hints == {"urgency": ("y", 2)}
        assert milliseconds == 50_000
        desktop.invoke(key)
        said, err, code = done(program)
    assert said is not None
    assert (said.answer, said.pid) == (key, os.getpid())
    assert (err, code) == (b"", 0)


def test_a_click_that_another_program_on_the_bus_says_it_saw_is_none(bus: str) -> None:
    """Sent to us alone it arrives, whatever we subscribed to."""
    with service(bus) as desktop, on(bus) as forger, asking(notice(bus)) as program:
        asker, _ = desktop.wait_for_card()
        for destination in (asker, None):
            for number in (0, 1, 2):
                forger.send(signal_to(destination, "ActionInvoked", "us", number, "allow"))
                forger.send(signal_to(destination, "NotificationClosed", "uu", number, 2))
        processed(forger)
        desktop.invoke("deny")
        said, _, _ = done(program)
    assert said is not None
    assert said.answer == "deny"


def test_a_signal_that_names_a_call_of_ours_is_no_answer_to_it(bus: str) -> None:
    """A bus checks that an answer was asked for, but not of a signal that says it is one."""
    with service(bus) as desktop, on(bus) as forger:

        def forge(asker: str) -> None:
            for serial in range(1, 12):
                for signature, body in (("s", forger.unique_name), ("u", 1), ("", None)):
                    parts = (body,) if signature else ()
                    pretended = signal_to(asker, "ActionInvoked", signature, *parts)
                    pretended.header.fields[HeaderFields.reply_serial] = serial
                    forger.send(pretended)
            forger.send(signal_to(asker, "ActionInvoked", "us", 1, "allow"))
            processed(forger)

        desktop.before = {"GetCapabilities": forge, "Notify": forge}
        with asking(notice(bus)) as program:
            desktop.wait_for_card()
            desktop.invoke("deny")
            said, _, _ = done(program)
    assert said is not None
    assert said.answer == "deny"


def test_a_program_that_takes_the_services_place_answers_nothing(bus: str) -> None:
    with service(bus) as desktop, on(bus) as usurper, asking(notice(bus)) as program:
        asker, _ = desktop.wait_for_card()
        replace_existing = 2
        Proxy(message_bus, usurper).RequestName(NAME, replace_existing)
        usurper.send(signal_to(asker, "ActionInvoked", "us", 1, "allow"))
        assert done(program) == SILENT


def test_a_click_on_another_card_or_another_place_is_no_answer(bus: str) -> None:
    with service(bus) as desktop, asking(notice(bus)) as program:
        desktop.wait_for_card()
        for number, key in ((2, "allow"), (0, "allow"), (1, "default"), (1, ""), (1, "Allow")):
            desktop.invoke(key, number)
        desktop.send(signal_to(None, "ActionInvoked", "ss", "1", "allow"))
        desktop.invoke("deny")
        said, _, _ = done(program)
    assert said is not None
    assert said.answer == "deny"


@pytest.mark.parametrize(
    "named", [("dunst", "knopwob", "1.9.0"), ("Plasma", "KDE", "6.4.0"), ("gnome-shell", "x", "9")]
)
def test_a_service_that_takes_orders_is_offered_no_button_that_allows(
    bus: str, named: tuple[str, str, str]
) -> None:
    """And what it says of one that it was not offered is no answer."""
    with service(bus) as desktop:
        desktop.named = (*named, "1.2")
        with asking(notice(bus)) as program:
            _, card = desktop.wait_for_card()
            assert card[5] == ["deny", "Deny"]
            assert "mcp-jail allow ABC234" in card[4]
            desktop.invoke("allow")
            desktop.invoke("deny")
            said, _, _ = done(program)
    assert said is not None
    assert said.answer == "deny"


def test_a_yes_to_what_could_not_be_shown_whole_is_no_answer(bus: str) -> None:
    with service(bus) as desktop, asking(notice(bus, whole=False)) as program:
        desktop.wait_for_card()
        desktop.invoke("allow")
        desktop.invoke("deny")
        said, _, _ = done(program)
    assert said is not None
    assert said.answer == "deny"


def test_a_click_that_is_told_before_the_card_has_its_number_counts(bus: str) -> None:
    with service(bus) as desktop:
        desktop.before = {"Notify": lambda _: desktop.invoke("allow")}
        with asking(notice(bus)) as program:
            said, _, _ = done(program)
    assert said is not None
    assert said.answer == "allow"


def test_a_card_that_is_dismissed_is_no_answer(bus: str) -> None:
    with service(bus) as desktop, asking(notice(bus)) as program:
        desktop.wait_for_card()
        desktop.close_card(2)
        desktop.close_card()
        assert done(program) == SILENT


def test_when_the_time_is_over_the_card_is_taken_away(bus: str) -> None:
    with service(bus) as desktop, asking(notice(bus, seconds=0.1)) as program:
        assert done(program) == SILENT
        desktop.wait_until(lambda: desktop.closed == [1])


def test_when_another_channel_was_first_the_card_is_taken_away(bus: str) -> None:
    with service(bus) as desktop, asking(notice(bus)) as program:
        desktop.wait_for_card()
        program.send_signal(signal.SIGTERM)
        assert done(program) == SILENT
        desktop.wait_until(lambda: desktop.closed == [1])


def test_a_signal_that_comes_while_the_card_is_being_shown_takes_it_away_too(bus: str) -> None:
    with service(bus) as desktop, asking(b"") as program:
        desktop.before = {"Notify": lambda _: program.send_signal(signal.SIGTERM)}
        assert program.stdin is not None
        program.stdin.write(notice_line(notice(bus)))
        program.stdin.flush()
        assert done(program) == SILENT
        desktop.wait_until(lambda: desktop.closed == [1])


def test_when_the_keeper_is_killed_the_card_is_taken_away(bus: str) -> None:
    code = "import subprocess, sys\nsubprocess.run(sys.argv[1:])"
    words = [sys.executable, "-c", code, sys.executable, *PROGRAM]
    with service(bus) as desktop:
        keeper = subprocess.Popen(words, stdin=subprocess.PIPE)
        assert keeper.stdin is not None
        keeper.stdin.write(notice_line(notice(bus)))
        keeper.stdin.close()
        desktop.wait_for_card()
        keeper.kill()
        keeper.wait()
        desktop.wait_until(lambda: desktop.closed == [1])


def test_a_service_or_a_bus_that_goes_away_ends_it(bus: str) -> None:
    with asking(notice(bus)) as program:
        with service(bus) as desktop:
            desktop.wait_for_card()
        assert done(program) == SILENT


def test_without_buttons_the_person_is_told_where_to_answer(bus: str) -> None:
    with service(bus, "body") as desktop, asking(notice(bus, seconds=0.5)) as program:
        _, card = desktop.wait_for_card()
        said, err, code = done(program)
    body, actions = card[4], card[5]
    assert actions == []
    assert body.startswith("Answer in a terminal: mcp-jail allow ABC234")
    assert err == b"mcp-jail: the notification service of this desktop shows no buttons\n"
    assert (said, code) == (None, NOT_ANSWERED)


def test_markup_is_escaped_only_for_a_service_that_reads_it(bus: str) -> None:
    evil = notice(bus, tool="<b>x</b>", arguments="<img src='http://a.example/'> & more")
    for capabilities, shown in ((("body", "body-markup"), "&lt;img"), (("body",), "<img")):
        with service(bus, *capabilities) as desktop, asking(evil):
            body = desktop.wait_for_card()[1][4]
            assert shown in body


def test_without_a_service_it_ends_without_a_word(bus: str) -> None:
    with asking(notice(bus)) as program:
        assert done(program) == SILENT


@pytest.mark.parametrize("place", ["missing", "a plain file", "deaf", "open to others", "a link"])
def test_without_a_bus_of_ours_it_ends_without_a_word(
    tmp_path_factory: pytest.TempPathFactory, bus: str, place: str
) -> None:
    folder = tmp_path_factory.mktemp("place")
    path = folder / "bus"
    with socket.socket(socket.AF_UNIX) as deaf, service(bus):
        if place == "a plain file":
            path.write_text("")
        elif place == "deaf":
            deaf.bind(str(path))
        elif place == "open to others":
            path = Path(bus)
            path.parent.chmod(0o777)
        elif place == "a link":
            path.symlink_to(bus)
        with asking(notice(str(path))) as program:
            assert done(program) == SILENT


def test_a_service_that_answers_in_another_form_is_none(bus: str) -> None:
    with service(bus) as desktop:
        desktop.form = ("s", ("actions",))
        with asking(notice(bus)) as program:
            assert done(program) == SILENT


def test_the_bus_of_a_variable_is_not_asked(bus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client's entry could name a socket that the jailed server listens at."""
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={bus}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", os.path.dirname(bus))
    assert user_bus() == f"/run/user/{os.geteuid()}/bus"


def test_two_asks_do_not_answer_each_other(bus: str) -> None:
    with (
        service(bus) as desktop,
        asking(notice(bus)) as first,
        asking(notice(bus, ticket="XYZ765")) as second,
    ):
        desktop.wait_until(lambda: len(desktop.shown) == 2)
        titles = [card[3] for _, card in desktop.shown]
        number = 1 + next(at for at, title in enumerate(titles) if "ABC234" in title)
        desktop.invoke("allow", number)
        desktop.invoke("deny", 3 - number)
        said = [done(program)[0] for program in (first, second)]
    assert [each.answer for each in said if each is not None] == ["allow", "deny"]


def test_a_connection_that_listens_to_all_is_not_the_service(bus: str) -> None:
    """The test of the tests: what the forger sends does arrive."""
    receiver = joined(bus)
    with on(bus) as forger:
        forger.send(signal_to(receiver.unique_name, "ActionInvoked", "us", 1, "allow"))
        processed(forger)
        while True:
            message = receiver.receive(timeout=30)
            if message.body == (1, "allow"):
                break
    receiver.close()
