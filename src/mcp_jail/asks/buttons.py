"""Notification services whose buttons a person presses, and no program.

Whoever is on the desktop's bus can call what a service offers there, an agent's shell too. Some
offer to press a button (Plasma's InvokeAction, `makoctl invoke`, `dunstctl action`) or to run code
that does (Cinnamon's Eval). A click that such a service reports says nothing about a person, so
only services that were looked through may report a yes; all others, unknown ones too, only a no.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec


class Service(msgspec.Struct, frozen=True):
    """A notification service, as it names itself (GetServerInformation)."""

    name: str
    vendor: str
    version: str


def is_pressed_by_persons(service: Service) -> bool:
    """Whether no method of a service presses a button of a card."""
    least = _LOOKED_THROUGH.get((service.name, service.vendor))
    return least is not None and _major(service.version) >= least


# By the code of each: no interface of its process has a method that invokes an action or runs code.
# The number is the least version, where older ones had such a method.
_LOOKED_THROUGH: Final = {
    ("gnome-shell", "GNOME"): 41,  # before, org.gnome.Shell had Eval for everybody
    ("Notification Daemon", "GNOME"): 0,  # notification-daemon, of GNOME Flashback
    ("Notification Daemon", "MATE"): 0,
    ("Xfce Notify Daemon", "Xfce"): 0,
    ("lxqt-notificationd", "lxqt.org"): 0,
    ("Budgie Notification Server", "Budgie Desktop Developers"): 0,
}


def _major(version: str) -> int:
    found = re.match("[0-9]{1,6}", version, re.ASCII)
    return -1 if found is None else int(found[0])
