"""Whether this desktop can ask a person, seen without showing anything or starting a service."""

from __future__ import annotations

import os
import stat
from enum import Enum
from typing import Final

import msgspec

from mcp_jail.asks.buttons import Service, is_pressed_by_persons
from mcp_jail.asks.card import inert

# Characters of a service's name that are shown.
NAME_SHOWN: Final = 60


class Way(Enum):
    """What a notification can be here."""

    NO_BUS = "no bus"
    NO_PACKAGE = "no package"  # jeepney, which speaks to the bus
    NO_SERVICE = "no service"  # none runs now; the bus may know how to start one
    NO_BUTTONS = "no buttons"
    DENY = "deny only"
    ANSWER = "answer"


class Looked(msgspec.Struct, frozen=True):
    """What was found, and how the notification service calls itself where there is one."""

    way: Way
    service: str = ""


def look_at_desktop(bus: str = "") -> Looked:
    """Look at the bus at a socket, by default the user's own."""
    if not bus and not has_bus():
        return Looked(Way.NO_BUS)
    try:
        from mcp_jail.asks.desktop import Desktop, DesktopError  # noqa: PLC0415
    except ImportError:
        return Looked(Way.NO_PACKAGE)
    try:
        desktop = Desktop(bus or user_bus(), starts=False)
    except DesktopError:
        return Looked(Way.NO_SERVICE)
    desktop.close()
    return Looked(_way(desktop.capabilities, desktop.service), _name(desktop.service))


def user_bus() -> str:
    """The socket of the user's own bus, where systemd and every large desktop have it.

    DBUS_SESSION_BUS_ADDRESS does not count: clients do not pass it on, and whoever writes a
    client's entry could name a socket that a jailed server listens at.
    """
    return f"/run/user/{os.geteuid()}/bus"


def has_bus() -> bool:
    """Whether the user has a bus of their own, where their desktop's services are."""
    try:
        status = os.lstat(user_bus())
    except OSError:
        return False
    return stat.S_ISSOCK(status.st_mode) and status.st_uid == os.geteuid()


def _way(capabilities: frozenset[str], service: Service) -> Way:
    if "actions" not in capabilities:
        return Way.NO_BUTTONS
    return Way.ANSWER if is_pressed_by_persons(service) else Way.DENY


def _name(service: Service) -> str:
    return inert(f"{service.name} {service.version}")[:NAME_SHOWN].strip()
