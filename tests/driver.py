"""A client that speaks to `mcp-jail run` line by line, and the home it is started in."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

SERVERS: Final = Path(__file__).resolve().parent / "servers"
MCP_JAIL: Final = Path(sys.executable).parent / "mcp-jail"
PYTHON: Final = "/usr/bin/python3"

# Seconds until a test gives up waiting for something that should come at once.
PATIENCE: Final = 30.0

VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
# The name of the Python SDK's client, which takes lines of any length.
INFO: Final = {"name": "mcp", "version": "1"}
MODERN: Final = {
    VERSION: "2026-07-28",
    CAPABILITIES: {},
    "io.modelcontextprotocol/clientInfo": INFO,
}
ERAS: Final = ("legacy", "modern")


class Home:
    """A throw-away home with a policy directory, a shared project and things to protect."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "home"
        self.projects = self.path / "projects"
        self.scratch = self.projects / "scratch"
        self.secret = self.path / ".ssh" / "id_rsa"
        self.policies = self.path / ".config" / "mcp-jail" / "policies"
        self.state = self.path / ".local" / "state" / "mcp-jail"
        for made in (self.scratch, self.secret.parent, self.policies):
            made.mkdir(parents=True)
        for private in (self.path, self.path / ".config" / "mcp-jail", self.policies):
            private.chmod(0o700)
        self.secret.write_text("CANARY-KEY\n")
        (self.projects / "readme.txt").write_text("hello from inside\n")

    def write_policy(self, text: str, name: str = "fs") -> Path:
        """A policy of this name; `name:` is put before the text.

        Where the text says nothing of the lock, a first contact is trusted.
        """
        path = self.policies / f"{name}.yaml"
        lock = "" if "lock:" in text else "lock: {first: trust}\n"
        path.write_text(f"name: {name}\n{text.rstrip()}\n{lock}")
        path.chmod(0o600)
        return path

    def audit(self, name: str = "fs") -> list[dict[str, Any]]:
        """The entries of an audit file."""
        path = self.state / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def environ(self, **more: str) -> dict[str, str]:
        """What an SDK client passes to a server it starts."""
        path = "/usr/local/bin:/usr/bin:/bin"
        return {"HOME": str(self.path), "PATH": path, "USER": "me", **more}


class Client:
    """A client by hand; every wait has an end."""

    def __init__(self, process: subprocess.Popen[bytes], era: str) -> None:
        self.process = process
        self.era = era
        self.stderr = b""
        self._ids = itertools.count(1)
        self._buffer = b""
        self._errors_open = True
        self._written = 0

    def written(self) -> int:
        """How many bytes were taken from us so far."""
        return self._written

    def write(self, data: bytes) -> None:
        """Write some bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()
        self._written += len(data)

    def send(self, **message: Any) -> None:
        """Send a message; `jsonrpc` is put in."""
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method: str, **params: Any) -> int:
        """Send a request in this client's era; its id."""
        number = next(self._ids)
        if self.era == "modern":
            params["_meta"] = MODERN | params.get("_meta", {})
        self.send(id=number, method=method, params=params)
        return number

    def read(self) -> dict[str, Any]:
        """The next message; AssertionError at the end or when nothing comes."""
        line = self.read_line()
        assert line is not None, f"nothing came; stderr: {self.stderr.decode()}"
        message: dict[str, Any] = json.loads(line)
        return message

    def read_line(self) -> bytes | None:
        """The next line, None at the end of the stream."""
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._buffer:
            if not self._pump(deadline - time.monotonic()):
                return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def answer(self, number: int) -> dict[str, Any]:
        """The answer to a request; what comes before it is thrown away."""
        while True:
            message = self.read()
            if message.get("id") == number and "method" not in message:
                return message

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        return self.answer(self.ask(method, **params))

    def open(self) -> dict[str, Any]:
        """The opening of this client's era."""
        if self.era == "modern":
            return self.request("server/discover")
        answer = self.request(
            "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=INFO
        )
        self.send(method="notifications/initialized")
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        answer = self.request("tools/call", name=tool, arguments=arguments)
        result: dict[str, Any] = answer["result"]
        return result

    def close(self) -> int:
        """Close the input and wait; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        """Read to the end and reap; the exit code."""
        deadline = time.monotonic() + PATIENCE
        while self._pump(deadline - time.monotonic()):
            pass
        while self._errors_open:
            assert self._read_errors(deadline - time.monotonic()), "stderr does not end"
        return self.process.wait(max(0.1, deadline - time.monotonic()))

    def wait_for_stderr(self, text: str) -> None:
        """Read until the error stream has said something."""
        wait_until(lambda: text.encode() in self.stderr or not self._read_errors(0.1))
        assert text.encode() in self.stderr, self.stderr.decode()

    def _pump(self, seconds: float) -> bool:
        """Read a piece of either stream; False at the end of stdout."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        streams = [self.process.stdout] + [self.process.stderr] * self._errors_open
        ready, _, _ = select.select(streams, [], [], max(0.0, seconds))
        assert ready, f"nothing comes; stderr: {self.stderr.decode()}"
        if self.process.stderr in ready:
            self._read_errors(0)
        if self.process.stdout not in ready:
            return True
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        self._buffer += data
        return bool(data)

    def _read_errors(self, seconds: float) -> bool:
        assert self.process.stderr is not None
        ready, _, _ = select.select([self.process.stderr], [], [], max(0.0, seconds))
        if not ready:
            return seconds < PATIENCE and self._errors_open
        data = os.read(self.process.stderr.fileno(), 1 << 16)
        self.stderr += data
        self._errors_open = bool(data)
        return True


@contextmanager
def started(
    home: Home,
    *arguments: str,
    era: str = "legacy",
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    limit_files: int | None = None,
) -> Iterator[Client]:
    """`mcp-jail ARGUMENTS` as a client starts it; killed at the end if it still runs.

    `limit_files` is how many bytes the guard may bring a file to: a disk that fills up.
    """
    words = [str(MCP_JAIL), *arguments]
    if limit_files is not None:
        words = ["prlimit", f"--fsize={limit_files}", *words]
    with running(words, home.environ() if env is None else env, cwd or home.path, era) as client:
        yield client


@contextmanager
def running(
    words: list[str], env: dict[str, str], cwd: Path, era: str = "legacy"
) -> Iterator[Client]:
    """Any command as a client starts it; killed at the end if it still runs."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=cwd,
        start_new_session=True,
    )
    try:
        yield Client(process, era)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue


def command(server: str, *arguments: str) -> tuple[str, ...]:
    """The words after `--` that start one of the servers of the tests."""
    return ("--", PYTHON, "-I", "-S", str(SERVERS / server), *arguments)


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that comes soon; AssertionError when it does not."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.005)


def command_lines() -> dict[int, str]:
    """The command line of every other process that this user can read, with blanks for its NULs.

    Processes of other tests come and go meanwhile: one that has gone is not there, and a zombie's
    is empty.
    """
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        if int(name) != os.getpid():
            with suppress(OSError):
                line = Path(f"/proc/{name}/cmdline").read_bytes()
                found[int(name)] = line.replace(b"\0", b" ").decode(errors="replace")
    return found


def processes_with(text: str) -> list[int]:
    """The processes whose command line holds a text; zombies have none."""
    return [pid for pid, line in command_lines().items() if text in line]


def parent_of(pid: int) -> int:
    """The parent of a process; 0 for one that has gone."""
    return int(_status(pid).get("PPid", "0"))


def relay_of(guard: int) -> int:
    """The relay of a guard: its one child that has put a filter on itself."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        lines = _status(int(name))
        if lines.get("PPid") == str(guard) and lines["Seccomp"] == "2":
            return int(name)
    raise AssertionError("there is no relay")


def _status(pid: int) -> dict[str, str]:
    """The lines of /proc/PID/status; none for a process that has gone."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return dict(line.split(":\t", 1) for line in lines)
    return {}
