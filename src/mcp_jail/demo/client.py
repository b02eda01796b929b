"""A client as small as can be: starts a server, asks, waits, and keeps every byte it is told."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

# Seconds for one answer, and for a server to end once it is left; then it is killed.
PATIENCE: Final = 15.0

_VERSION: Final = "2025-11-25"
_INFO: Final = {"name": "mcp-jail-demo", "version": "1"}
_PIECE: Final = 1 << 16


class Client:
    """A conversation with one server over its stdio; never raises for what the server does."""

    def __init__(
        self, command: Sequence[str], *, environ: Mapping[str, str], cwd: str, errors: str
    ) -> None:
        """Start a server; its error stream goes to the file `errors`."""
        with open(errors, "wb") as stream:
            self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                env=dict(environ),
                cwd=cwd,
                bufsize=0,
                start_new_session=True,  # an interrupt is ours alone, and we end it properly
            )
        self.received = b""
        self._read_to = 0
        self._ids = 0

    def open(self) -> bool:
        """The opening of the protocol; whether the server answered."""
        opened = self.request(
            "initialize", protocolVersion=_VERSION, capabilities={}, clientInfo=_INFO
        )
        self._send({"method": "notifications/initialized"})
        return opened is not None

    def request(self, method: str, **params: Any) -> dict[str, Any] | None:
        """The answer to a request; None if the server ends or says nothing for too long."""
        self._ids += 1
        self._send({"id": self._ids, "method": method, "params": params})
        deadline = time.monotonic() + PATIENCE
        while (line := self._line(deadline)) is not None:
            try:
                message = msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.DecodeError:
                continue
            if message.get("id") == self._ids:
                return message
        return None

    def call(self, tool: str, **arguments: Any) -> dict[str, Any] | None:
        """The result of a tool call; None if none comes."""
        message = self.request("tools/call", name=tool, arguments=arguments)
        result = None if message is None else message.get("result")
        return result if isinstance(result, dict) else None

    def close(self) -> int:
        """Leave the server and wait for its end; its exit code, negative for a signal."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is not None:
            stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if stdout is not None:
            while self._more(time.monotonic()):
                pass
            stdout.close()
        return self._process.returncode

    def _send(self, message: dict[str, Any]) -> None:
        if self._process.stdin is None:
            return
        try:
            self._process.stdin.write(msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n")
        except BrokenPipeError:
            return  # it has ended; the answer that does not come says so

    def _line(self, deadline: float) -> bytes | None:
        while (end := self.received.find(b"\n", self._read_to)) < 0:
            if not self._more(deadline):
                return None
        line, self._read_to = self.received[self._read_to : end], end + 1
        return line

    def _more(self, deadline: float) -> bool:
        """Take in what comes; False at the end, or when nothing comes in time."""
        if self._process.stdout is None:
            return False
        descriptor = self._process.stdout.fileno()
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(descriptor, _PIECE) if ready else b""
        self.received += piece
        return bool(piece)
