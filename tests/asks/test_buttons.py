"""Which notification services may report a yes."""

from __future__ import annotations

import pytest

from mcp_jail.asks.buttons import Service, is_pressed_by_persons


@pytest.mark.parametrize(
    ("name", "vendor", "version"),
    [
        ("gnome-shell", "GNOME", "41.0"),
        ("gnome-shell", "GNOME", "50.beta"),
        ("Notification Daemon", "MATE", "1.26.0"),
        ("Xfce Notify Daemon", "Xfce", "0.9.7"),
    ],
)
def test_a_service_that_takes_no_orders_may(name: str, vendor: str, version: str) -> None:
    assert is_pressed_by_persons(Service(name, vendor, version))


@pytest.mark.parametrize(
    ("name", "vendor", "version"),
    [
        ("Plasma", "KDE", "6.4.0"),
        ("cinnamon", "GNOME", "6.0.0"),
        ("dunst", "knopwob", "1.9.0"),
        ("mako", "emersion", "1.7.1"),
        ("SwayNotificationCenter", "ErikReider", "0.10"),
        ("gnome-shell", "GNOME", "40.9"),
        ("gnome-shell", "GNOME", "3.38.4"),
        ("gnome-shell", "GNOME", ""),
        ("gnome-shell", "GNOME", "\u0664\u0665"),
        ("gnome-shell", "another", "46.1"),
        ("GNOME-Shell", "GNOME", "46.1"),
        ("", "", ""),
    ],
)
def test_one_that_does_and_one_that_is_not_known_may_not(
    name: str, vendor: str, version: str
) -> None:
    assert not is_pressed_by_persons(Service(name, vendor, version))
