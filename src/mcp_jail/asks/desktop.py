"""The desktop's notification service, on the user's bus: shows a card, and who answered it.

Any program on that bus can send any signal to us. So the service is asked for its unique name once,
and from then on counts only what the bus says came from that name: replies and signals alike. A
service that is replaced meanwhile has answered nothing, and so has a button that was not offered.
Needs jeepney, which the guard does not load.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import time
from contextlib import suppress
from typing import Any, Final

from jeepney import DBusAddress, HeaderFields, MatchRule, MessageType, message_bus, new_method_call
from jeepney.auth import AuthenticationError
from jeepney.io.blocking import DBusConnection, prep_socket

from mcp_jail.asks.buttons import Service
from mcp_jail.asks.card import Card
from mcp_jail.asks.notice import Said
from mcp_jail.errors import JailError
from mcp_jail.store.files import FileError, refuse_shared_folder

NAME: Final = "org.freedesktop.Notifications"
PATH: Final = "/org/freedesktop/Notifications"
BUS: Final = "org.freedesktop.DBus"

# Seconds for one answer of the bus or of the service, which may have to be started first.
REPLY_SECONDS: Final = 10.0
# Signals of the service that are kept while a reply is waited for; it has others to tell things.
EARLY_LIMIT: Final = 64

# org.freedesktop.Notifications: stays until it is answered, where the desktop has such a thing.
_URGENT: Final = 2
_PEER: Final = struct.Struct("=iII")


class DesktopError(JailError):
    """There is no bus, no notification service, or the card was closed: nobody will answer."""


class Desktop:
    """A connection to one notification service, by the unique name it had when it was found."""

    def __init__(self, path: str, *, starts: bool = True) -> None:
        """Connect to the bus at this socket and find the service; DesktopError.

        Asked by its name it is started where it does not run yet, unless that is not wanted.
        """
        self._early: list[Any] = []
        self._id = 0
        self._owner = ""
        self._offered: tuple[str, ...] = ()
        self._bus = _connected(path)
        try:
            if starts:
                self._ask(_call(NAME, "GetCapabilities"), "as", "")
            (self._owner,) = self._ask(message_bus.GetNameOwner(NAME), "s", BUS)
            (found,) = self._ask(_call(self._owner, "GetCapabilities"), "as", self._owner)
            self.capabilities: frozenset[str] = frozenset(found)
            information = _call(self._owner, "GetServerInformation")
            self.service = Service(*self._ask(information, "ssss", self._owner)[:3])
            pid = message_bus.GetConnectionUnixProcessID(self._owner)
            self.pid: int = self._ask(pid, "u", BUS)[0]
            self._ask(message_bus.AddMatch(_rule(self._owner, PATH, NAME)), "", BUS)
            changed = _rule(BUS, "/org/freedesktop/DBus", BUS)
            changed.add_arg_condition(0, NAME)
            self._ask(message_bus.AddMatch(changed), "", BUS)
        except BaseException:
            self.close()
            raise

    def show(self, card: Card, seconds: float) -> None:
        """Show a card for as long as that; DesktopError."""
        hints = {"urgency": ("y", _URGENT)}
        milliseconds = min(int(seconds * 1000), 2**31 - 1)
        arguments = ("mcp-jail", 0, "", card.title, card.body, list(card.actions))
        notify = _call(self._owner, "Notify", "susssasa{sv}i", (*arguments, hints, milliseconds))
        self._offered = card.actions[::2]
        (self._id,) = self._ask(notify, "u", self._owner)

    def answer(self, seconds: float) -> Said | None:
        """What a person chose on the card; None after so many seconds.

        DesktopError as soon as nobody can choose any more.
        """
        deadline = time.monotonic() + seconds
        while True:
            message = self._early.pop(0) if self._early else self._receive(deadline)
            if message is None:
                return None
            if self._is_ours(message, self._owner, "ActionInvoked", "us"):
                if message.body[1] in self._offered:
                    return Said(answer=message.body[1], pid=self.pid)
            elif self._is_ours(message, self._owner, "NotificationClosed", "uu"):
                raise DesktopError("the notification was closed")
            elif _is_signal(message, BUS, "NameOwnerChanged", "sss") and message.body[0] == NAME:
                raise DesktopError("the notification service has gone or was replaced")

    def take_away(self) -> None:
        """Close the card, without waiting for anything."""
        if self._id:
            with suppress(DesktopError):  # then it is gone already
                self._send(_call(self._owner, "CloseNotification", "u", (self._id,)))

    def close(self) -> None:
        """Leave the bus."""
        self._bus.close()

    def _is_ours(self, message: Any, sender: str, member: str, signature: str) -> bool:
        return _is_signal(message, sender, member, signature) and message.body[0] == self._id

    def _ask(self, message: Any, signature: str, sender: str) -> tuple[Any, ...]:
        """What answers a call, from that sender (any, while nobody is known); DesktopError.

        Only a reply is one: a signal may name the call it pretends to answer.
        """
        serial = next(self._bus.outgoing_serial)
        self._send(message, serial)
        deadline = time.monotonic() + REPLY_SECONDS
        while (reply := self._receive(deadline)) is not None:
            fields = reply.header.fields
            if not _is_reply(reply, serial, sender):
                self._keep(reply)
            elif reply.header.message_type is MessageType.error:
                raise DesktopError(f"refused: {fields.get(HeaderFields.error_name)}")
            elif fields.get(HeaderFields.signature, "") != signature:
                raise DesktopError("an answer of another form than was asked for")
            else:
                return tuple(reply.body)
        raise DesktopError("no answer came in time")

    def _keep(self, message: Any) -> None:
        """Keep what the service or the bus tells before its reply; of others, nothing."""
        sender = message.header.fields.get(HeaderFields.sender)
        if self._owner and sender in {self._owner, BUS} and len(self._early) < EARLY_LIMIT:
            self._early.append(message)

    def _send(self, message: Any, serial: int | None = None) -> None:
        try:
            self._bus.send(message, serial=serial)
        except OSError as error:
            raise DesktopError(f"the bus cannot be written: {error.strerror}") from None

    def _receive(self, deadline: float) -> Any:
        """The next message, None at the deadline; DesktopError when the bus has gone."""
        try:
            return self._bus.receive(timeout=max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            return None
        except (OSError, ValueError) as error:
            raise DesktopError(f"the bus has gone: {error}") from None


def _connected(path: str) -> Any:
    """A connection to the bus at a socket of ours, which nobody else could have put there."""
    try:
        refuse_shared_folder(os.path.dirname(path))
        status = os.stat(path, follow_symlinks=False)
        if not stat.S_ISSOCK(status.st_mode) or status.st_uid not in {os.geteuid(), 0}:
            raise DesktopError(f"'{path}' is not a socket of ours")
        connection = prep_socket(path, timeout=REPLY_SECONDS)
        uid = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if uid not in {os.geteuid(), 0}:
            connection.close()
            raise DesktopError(f"the bus at '{path}' is another user's")
        return DBusConnection(connection)
    except (FileError, OSError, AuthenticationError) as error:
        raise DesktopError(f"there is no bus at '{path}': {error}") from None


def _call(destination: str, method: str, signature: str = "", body: tuple[Any, ...] = ()) -> Any:
    address = DBusAddress(PATH, bus_name=destination, interface=NAME)
    return new_method_call(address, method, signature or None, body)


def _rule(sender: str, path: str, interface: str) -> Any:
    return MatchRule(type="signal", sender=sender, path=path, interface=interface)


def _is_reply(message: Any, serial: int, sender: str) -> bool:
    """Whether a message answers a call of ours to that sender (to any, where it is empty)."""
    fields = message.header.fields
    return (
        message.header.message_type in {MessageType.method_return, MessageType.error}
        and fields.get(HeaderFields.reply_serial) == serial
        and sender in {"", fields.get(HeaderFields.sender)}
    )


def _is_signal(message: Any, sender: str, member: str, signature: str) -> bool:
    """Whether the bus says that a message is this signal from this sender."""
    fields = message.header.fields
    found = (
        message.header.message_type,
        *(fields.get(getattr(HeaderFields, each)) for each in ("sender", "member", "signature")),
    )
    return found == (MessageType.signal, sender, member, signature)
