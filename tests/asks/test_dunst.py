"""A daemon that takes orders from its bus, and the commands that press its buttons: dunst."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from jeepney import DBusAddress, Properties, new_method_call

from desktop_bus import NAME, PATH, asking, notice, on
from driver import wait_until
from mcp_jail.asks.notice import read_said
from screens import daemon

COMMANDS: Final = DBusAddress(PATH, bus_name=NAME, interface="org.dunstproject.cmd0")


@contextmanager
def dunst(bus: str, folder: Path, choice: str) -> Iterator[dict[str, str]]:
    """dunst, whose menu of actions is a program that chooses the line of one key."""
    menu, config = folder / "menu", folder / "dunstrc"
    menu.write_text(f"#!/bin/sh\nexec grep -m 1 '{choice}'\n")
    menu.chmod(0o700)
    config.write_text(f"[global]\ndmenu = {menu}\nmarkup = full\n")
    with daemon(bus, folder, ["dunst", "-config", config]) as environ:
        yield environ


def displayed(connection: Any) -> int:
    reply = connection.send_and_get_reply(Properties(COMMANDS).get("displayedLength"))
    return int(reply.body[0][1])


@pytest.mark.parametrize("line", ["dunstctl action", "dunstctl context"])
@pytest.mark.usefixtures("dunst_program")
def test_a_command_that_presses_a_button_finds_none_that_allows(
    bus: str, tmp_path: Path, line: str
) -> None:
    """An only button is pressed by `action` without the menu, which would choose the other one."""
    with (
        dunst(bus, tmp_path, "allow") as environ,
        on(bus) as person,
        asking(notice(bus)) as program,
    ):
        wait_until(lambda: displayed(person) == 1)
        for each in (line, "dunstctl action"):
            subprocess.run(each.split(), env=environ, check=True)
        out, err = program.communicate(timeout=30)
    said = read_said(out)
    assert said is not None
    assert (said.answer, err) == ("deny", b"")


@pytest.mark.usefixtures("dunst_program")
def test_a_person_says_no_in_a_real_daemon(bus: str, tmp_path: Path) -> None:
    evil = notice(bus, arguments='{"path":"<b>&amp;</b>"}')
    with dunst(bus, tmp_path, "deny"), on(bus) as person, asking(evil) as program:
        wait_until(lambda: displayed(person) == 1)
        person.send(new_method_call(COMMANDS, "ContextMenuCall"))
        out, err = program.communicate(timeout=30)
        wait_until(lambda: displayed(person) == 0)
    said = read_said(out)
    assert said is not None
    assert (said.answer, err) == ("deny", b"")


@pytest.mark.usefixtures("dunst_program")
def test_a_card_that_is_dismissed_in_a_real_daemon_is_no_answer(bus: str, tmp_path: Path) -> None:
    with dunst(bus, tmp_path, "allow"), on(bus) as person, asking(notice(bus)) as program:
        wait_until(lambda: displayed(person) == 1)
        person.send(new_method_call(COMMANDS, "NotificationCloseLast"))
        out, err = program.communicate(timeout=30)
    assert (out, err) == (b"", b"")


@pytest.mark.usefixtures("dunst_program")
def test_a_real_daemon_takes_the_card_away_when_another_channel_was_first(
    bus: str, tmp_path: Path
) -> None:
    with dunst(bus, tmp_path, "allow"), on(bus) as person, asking(notice(bus)) as program:
        wait_until(lambda: displayed(person) == 1)
        program.terminate()
        assert program.communicate(timeout=30) == (b"", b"")
        wait_until(lambda: displayed(person) == 0)
