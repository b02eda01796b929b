"""A real notification daemon, dunst, on a private bus and a screen without a monitor."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from jeepney import DBusAddress, Properties, new_method_call

from desktop_bus import NAME, PATH, asking, notice, on
from driver import wait_until
from mcp_jail.asks.desktop import Desktop, DesktopError
from mcp_jail.asks.notice import read_said

COMMANDS: Final = DBusAddress(PATH, bus_name=NAME, interface="org.dunstproject.cmd0")


@contextmanager
def screen() -> Iterator[str]:
    """An X server without a monitor; its display."""
    reading, writing = os.pipe()
    words = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "640x480x24", "-nolisten", "tcp"]
    process = subprocess.Popen(words, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            yield f":{told.readline().strip()}"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def dunst(bus: str, folder: Path, choice: str) -> Iterator[None]:
    """dunst, whose menu of actions is a program that chooses the line of one key."""
    menu, config = folder / "menu", folder / "dunstrc"
    menu.write_text(f"#!/bin/sh\nexec grep -m 1 '{choice}'\n")
    menu.chmod(0o700)
    config.write_text(f"[global]\ndmenu = {menu}\nmarkup = full\n")
    with screen() as display:
        env = {
            "DISPLAY": display,
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={bus}",
            "HOME": str(folder),
            "PATH": "/usr/bin:/bin",
        }
        process = subprocess.Popen(["dunst", "-config", str(config)], env=env)
        try:
            wait_until(lambda: answers(bus))
            yield
        finally:
            process.terminate()
            process.wait()


def answers(bus: str) -> bool:
    try:
        Desktop(bus).close()
    except DesktopError:
        return False
    return True


def displayed(connection: Any) -> int:
    reply = connection.send_and_get_reply(Properties(COMMANDS).get("displayedLength"))
    return int(reply.body[0][1])


@pytest.mark.parametrize("choice", ["allow", "deny"])
@pytest.mark.usefixtures("dunst_program")
def test_what_a_person_chooses_in_a_real_daemon_is_the_answer(
    bus: str, tmp_path: Path, choice: str
) -> None:
    evil = notice(bus, arguments='{"path":"<b>&amp;</b>"}')
    with dunst(bus, tmp_path, choice), on(bus) as person, asking(evil) as program:
        wait_until(lambda: displayed(person) == 1)
        person.send(new_method_call(COMMANDS, "ContextMenuCall"))
        out, err = program.communicate(timeout=30)
        wait_until(lambda: displayed(person) == 0)
    said = read_said(out)
    assert said is not None
    assert (said.answer, err) == (choice, b"")


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
