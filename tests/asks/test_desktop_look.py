"""What `show` and `doctor` say of this desktop, without showing anything on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from desktop_bus import service
from mcp_jail.asks.desktop_look import Looked, Way, look_at_desktop
from screens import daemon


@pytest.mark.parametrize(
    ("named", "capability", "way"),
    [
        (("gnome-shell", "GNOME", "46.1"), "actions", Way.ANSWER),
        (("gnome-shell", "GNOME", "46.1"), "body", Way.NO_BUTTONS),
        (("Plasma", "KDE", "6.4.0"), "actions", Way.DENY),
    ],
)
def test_a_service_is_told_by_what_it_says_of_itself(
    bus: str, named: tuple[str, str, str], capability: str, way: Way
) -> None:
    with service(bus, capability) as desktop:
        desktop.named = (*named, "1.2")
        assert look_at_desktop(bus) == Looked(way, f"{named[0]} {named[2]}")
        assert desktop.shown == []


def test_a_name_does_nothing_to_a_terminal(bus: str) -> None:
    with service(bus) as desktop:
        desktop.named = ("\x1b[2J" + "x" * 500, "\u202e", "1\n2", "1.2")
        looked = look_at_desktop(bus)
    assert looked.service == "⟦U+001B⟧[2J" + "x" * 49


def test_without_a_service_or_a_bus_there_is_none(bus: str, tmp_path: Path) -> None:
    assert look_at_desktop(bus) == Looked(Way.NO_SERVICE)
    assert look_at_desktop(str(tmp_path / "bus")) == Looked(Way.NO_SERVICE)


def test_a_real_daemon_that_takes_orders_is_known_as_one(
    bus: str, tmp_path: Path, dunst_program: Path
) -> None:
    with daemon(bus, tmp_path, [dunst_program, "-config", "/dev/null"]):
        looked = look_at_desktop(bus)
    assert looked.way is Way.DENY
    assert looked.service.startswith("dunst ")


def test_a_real_daemon_that_takes_none_is_known_as_well(
    bus: str, tmp_path: Path, notification_daemon: Path
) -> None:
    with daemon(bus, tmp_path, [notification_daemon]):
        assert look_at_desktop(bus).way is Way.ANSWER
