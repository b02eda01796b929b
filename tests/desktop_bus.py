"""A private bus with a notification service that a test plays, and others on the bus beside it.

The bus is a real dbus-daemon. The service is a connection that owns the name; what it is asked for
is recorded, and it sends the signals that a test wants. A forger is any other connection.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from jeepney import (
    DBusAddress,
    HeaderFields,
    MessageType,
    message_bus,
    new_error,
    new_method_return,
    new_signal,
)
from jeepney.io.blocking import DBusConnection, Proxy, prep_socket

from mcp_jail.asks.notice import PROGRAM, Notice, notice_line

NAME: Final = "org.freedesktop.Notifications"
PATH: Final = "/org/freedesktop/Notifications"
ADDRESS: Final = DBusAddress(PATH, bus_name=NAME, interface=NAME)

# Seconds until a test gives up waiting for something that should come at once.
PATIENCE: Final = 30.0

# Session rules without services to start, so that nothing of the machine answers.
CONFIG: Final = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=%s</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


@contextmanager
def private_bus(daemon: Path, folder: Path) -> Iterator[str]:
    """The socket of a bus of one's own."""
    socket, config = folder / "bus", folder / "bus.conf"
    config.write_text(CONFIG % socket)
    words = [str(daemon), f"--config-file={config}", "--nofork", "--print-address=1"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline()
        yield str(socket)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def joined(bus: str) -> Any:
    """A new connection to a bus."""
    return DBusConnection(prep_socket(bus, timeout=PATIENCE))


@contextmanager
def on(bus: str) -> Iterator[Any]:
    """A connection that is closed at the end."""
    connection = joined(bus)
    try:
        yield connection
    finally:
        connection.close()


def signal_to(destination: str | None, member: str, signature: str, *body: Any) -> Any:
    """A signal as the notification service sends them; to one connection, or to whoever listens."""
    message = new_signal(ADDRESS, member, signature, body)
    if destination:
        message.header.fields[HeaderFields.destination] = destination
    return message


class Service:
    """A notification service: answers by itself what a test does not play."""

    def __init__(self, bus: str, capabilities: tuple[str, ...]) -> None:
        self.shown: list[tuple[str, tuple[Any, ...]]] = []  # by whom, and what
        self.closed: list[int] = []
        # What happens, with the caller's name, just before these are answered.
        self.before: dict[str, Callable[[str], None]] = {}
        self.form: tuple[str, tuple[Any, ...]] = ("as", (list(capabilities),))  # of capabilities
        self.named: tuple[str, ...] = ("gnome-shell", "GNOME", "46.1", "1.2")
        self.connection = joined(bus)
        Proxy(message_bus, self.connection).RequestName(NAME, 1)
        self._thread = threading.Thread(target=self._serve)
        self._stop_reading, self._stop = os.pipe()
        self._thread.start()

    def invoke(self, key: str, number: int = 1) -> None:
        """A person clicks."""
        self.send(signal_to(None, "ActionInvoked", "us", number, key))

    def close_card(self, number: int = 1) -> None:
        """A person dismisses."""
        self.send(signal_to(None, "NotificationClosed", "uu", number, 2))

    def send(self, message: Any) -> None:
        self.connection.send(message)

    def wait_for_card(self) -> tuple[str, tuple[Any, ...]]:
        """Who has asked to show something first, and what."""
        self.wait_until(lambda: bool(self.shown))
        return self.shown[0]

    def wait_until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, "it does not come"
            time.sleep(0.005)

    def leave(self) -> None:
        """Leave the bus."""
        os.write(self._stop, b"x")
        self._thread.join(PATIENCE)
        self.connection.close()
        for descriptor in (self._stop_reading, self._stop):
            os.close(descriptor)

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self.connection.sock, selectors.EVENT_READ)
            selector.register(self._stop_reading, selectors.EVENT_READ)
            while True:
                if any(key.fd == self._stop_reading for key, _ in selector.select()):
                    return
                self._take_in()

    def _take_in(self) -> None:
        try:
            while True:
                message = self.connection.receive(timeout=0)
                if message.header.message_type is MessageType.method_call:
                    self._answer(message)
        except TimeoutError:
            return

    def _answer(self, call: Any) -> None:
        fields = call.header.fields
        self.before.get(fields[HeaderFields.member], str)(fields[HeaderFields.sender])
        match fields[HeaderFields.member]:
            case "GetCapabilities":
                self.send(new_method_return(call, *self.form))
            case "GetServerInformation":
                self.send(new_method_return(call, "ssss", self.named))
            case "Notify":
                self.send(new_method_return(call, "u", (len(self.shown) + 1,)))
                self.shown.append((fields[HeaderFields.sender], call.body))
            case "CloseNotification":
                self.closed.append(call.body[0])
                self.send(new_method_return(call))
            case other:
                self.send(new_error(call, f"{NAME}.Unknown", "s", (other,)))


@contextmanager
def service(bus: str, *capabilities: str) -> Iterator[Service]:
    """A notification service; with buttons and markup, if nothing else is said."""
    made = Service(bus, capabilities or ("actions", "body", "body-markup"))
    try:
        yield made
    finally:
        made.leave()


def notice(bus: str, **more: Any) -> Notice:
    """An ask for this bus."""
    usual: dict[str, Any] = {
        "ticket": "ABC234",
        "server": "filesystem",
        "tool": "write_file",
        "arguments": '{"path":"/home/me/a.txt"}',
        "seconds": 50,
    }
    return Notice(bus=bus, **(usual | more))


@contextmanager
def asking(line: bytes | Notice) -> Iterator[subprocess.Popen[bytes]]:
    """The program as the keeper starts it, with an ask on its stdin; killed if it still runs."""
    process = subprocess.Popen(
        [sys.executable, *PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin"},
    )
    try:
        assert process.stdin is not None
        process.stdin.write(line if isinstance(line, bytes) else notice_line(line))
        process.stdin.flush()
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
