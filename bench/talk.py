"""A client that costs next to nothing: prepared lines, plain reads, a nanosecond clock."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

READ = 1 << 20


class Talk:
    """A started server that has been opened and listed, ready for calls."""

    def __init__(self, command: list[str], env: dict[str, str], path: str) -> None:
        before = time.perf_counter_ns()
        self.process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._to, self._from = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._path = path
        self._next = 10
        self.exchange(
            b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
            b'"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}\n'
        )
        os.write(self._to, b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self.exchange(b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n')
        self.start_ns = time.perf_counter_ns() - before

    def exchange(self, line: bytes, lines: int = 1) -> int:
        """Send some bytes and read so many lines; the bytes read."""
        view = memoryview(line)
        while view:
            view = view[os.write(self._to, view) :]
        size = 0
        while lines:
            data = os.read(self._from, READ)
            if not data:
                raise EOFError("the server is gone")
            size += len(data)
            lines -= data.count(b"\n")
        return size

    def call_line(self) -> bytes:
        """A call of some 200 bytes, with a path the policy must look at."""
        self._next += 1
        return (
            b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file",'
            b'"arguments":{"path":"%b","content":"some sixty characters of text, as a model '
            b'would send them"}}}\n' % (self._next, self._path.encode())
        )

    def time_calls(self, count: int) -> list[int]:
        """Nanoseconds of each of some calls, one after the other."""
        taken = []
        for _ in range(count):
            line = self.call_line()
            before = time.perf_counter_ns()
            self.exchange(line)
            taken.append(time.perf_counter_ns() - before)
        return taken

    def time_flight(self, count: int, in_flight: int) -> float:
        """Seconds for some calls with so many always unanswered."""
        lines = b"".join(self.call_line() for _ in range(in_flight))
        before = time.perf_counter_ns()
        for _ in range(count // in_flight):
            self.exchange(lines, in_flight)
        return (time.perf_counter_ns() - before) / 1e9

    def time_flood(self, notes: int) -> float:
        """Seconds for a call that is answered after so many notifications."""
        line = self.call_line()
        before = time.perf_counter_ns()
        self.exchange(line, notes + 1)
        return (time.perf_counter_ns() - before) / 1e9

    def close(self) -> None:
        """Close the input and wait for the end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)

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
        """The processes in between: the family without the server itself."""
        return [pid for pid in self.family() if _executable(pid) != server]


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


@contextmanager
def talking(command: list[str], env: dict[str, str], path: str) -> Iterator[Talk]:
    """A talk that is closed at the end."""
    talk = Talk(command, env, path)
    try:
        yield talk
    finally:
        if talk.process.poll() is None:
            try:
                talk.close()
            except subprocess.TimeoutExpired:
                talk.process.kill()


def _executable(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""
