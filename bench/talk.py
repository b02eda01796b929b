"""A client that costs next to nothing: prepared lines, plain reads, a nanosecond clock."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

READ = 1 << 20
# Seconds until a server that does not open is given up; npx may have to fetch its package.
PATIENCE = 60.0

_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"mcp","version":"1"}}}\n'
)
_INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
_LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n'
_CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%b}\n'


class LostError(Exception):
    """The server is gone, or gives another answer than the one that was measured."""


class Talk:
    """A started server that has been opened and listed, ready for calls.

    `initialize_ns` and `start_ns` are the nanoseconds from before the start of the process to the
    answers of initialize and tools/list; `calls` counts the calls that were answered.
    """

    def __init__(self, command: list[str], env: dict[str, str], call: bytes) -> None:
        """Start a command; `call` holds the params of the call that is made."""
        before = time.perf_counter_ns()
        self.process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._to, self._from = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._call = call
        self._next = 10
        self.calls = 0
        try:
            self._ask(_INITIALIZE)
            self.initialize_ns = time.perf_counter_ns() - before
            self._ask(_INITIALIZED + _LIST)
            self.start_ns = time.perf_counter_ns() - before
        except BaseException:
            self._kill()
            self.close()
            raise

    def exchange(self, line: bytes, lines: int = 1) -> bytes:
        """Send some bytes and read so many lines; what was read last."""
        view = memoryview(line)
        while view:
            view = view[os.write(self._to, view) :]
        data = b""
        while lines > 0:
            data = os.read(self._from, READ)
            if not data:
                raise LostError("the server is gone")
            lines -= data.count(b"\n")
        if lines:
            raise LostError("the answers are out of step")
        return data

    def answer(self, params: bytes) -> dict[str, Any]:
        """The whole answer to one call, which has to come in one line."""
        line = self._line(params)
        answer: dict[str, Any] = msgspec.json.decode(self._ask(line))
        if answer.get("id") != self._next:
            raise LostError(f"something else came than the answer: {answer}")
        return answer

    def try_call(self) -> None:
        """Make the call once; LostError if it does not give a result."""
        answer = self.answer(self._call)
        if is_refused(answer):
            raise LostError(f"the call that is to be measured fails: {answer}")
        self.calls += 1

    def time_calls(self, count: int) -> list[int]:
        """Nanoseconds of each of some calls, one after the other."""
        taken = []
        last = b""
        for _ in range(count):
            line = self._line(self._call)
            before = time.perf_counter_ns()
            last = self.exchange(line)
            taken.append(time.perf_counter_ns() - before)
        self.calls += count
        # One line too many, and every figure after it would be of the answer before.
        in_one_read = last.startswith(b"{")
        if in_one_read and not re.search(rb'"id":%d\b' % self._next, last):
            raise LostError("the answers are out of step")
        return taken

    def time_flight(self, count: int, in_flight: int) -> float:
        """Seconds for some calls with so many always unanswered."""
        lines = b"".join(self._line(self._call) for _ in range(in_flight))
        before = time.perf_counter_ns()
        for _ in range(count // in_flight):
            self.exchange(lines, in_flight)
        self.calls += count
        return (time.perf_counter_ns() - before) / 1e9

    def time_flood(self, notes: int) -> float:
        """Seconds for a call that is answered after so many notifications."""
        line = self._line(self._call)
        before = time.perf_counter_ns()
        self.exchange(line, notes + 1)
        self.calls += 1
        return (time.perf_counter_ns() - before) / 1e9

    def close(self) -> None:
        """Close the input and wait for the end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self._kill()
        self.process.stdout.close()

    def family(self) -> list[int]:
        """The process and its descendants."""
        children: dict[int, list[int]] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                        parent = int(file.read().rpartition(")")[2].split()[1])
                except OSError:
                    continue
                children.setdefault(parent, []).append(int(name))
        found, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            todo += children.get(pid, [])
        return found

    def ours(self, server: str) -> list[int]:
        """The processes in between: the family without the server's program itself."""
        return [pid for pid in self.family() if not _runs(pid, server)]

    def _kill(self) -> None:
        """End it and what it started in its session."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _line(self, params: bytes) -> bytes:
        self._next += 1
        return _CALL % (self._next, params)

    def _ask(self, lines: bytes) -> bytes:
        """Send some lines and read one; LostError when none comes in time."""
        with suppress(BrokenPipeError):  # the read says that it is gone
            os.write(self._to, lines)
        parts = [b""]
        while not parts[-1].endswith(b"\n"):
            if not select.select([self._from], [], [], PATIENCE)[0]:
                raise LostError("the server does not answer")
            parts.append(os.read(self._from, READ))
            if not parts[-1]:
                raise LostError("the server is gone")
        return b"".join(parts)


@contextmanager
def opened(command: list[str], env: dict[str, str], call: bytes) -> Iterator[Talk]:
    """A talk that is closed at the end."""
    talk = Talk(command, env, call)
    try:
        yield talk
    finally:
        talk.close()


def is_refused(answer: dict[str, Any]) -> bool:
    """Whether an answer to a call is an error or a result that is one."""
    return "result" not in answer or bool(answer["result"].get("isError"))


def pss_kib(pids: list[int]) -> int:
    """The memory of some processes, shared pages counted in shares (proc_pid_smaps(5))."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    return total


def cpu_seconds(pids: list[int]) -> float:
    """Processor time of some processes so far."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _runs(pid: int, program: str) -> bool:
    """Whether a process runs this very file, by whatever path it sees it."""
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False
