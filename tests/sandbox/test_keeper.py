"""The keeper starts one child, knows how it ended, and takes everything away."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

SPAWN = """
def spawn(*argv):
    held = keeper.start()
    reading, writing = os.pipe()
    null = os.open("/dev/null", os.O_RDWR)
    child = held.spawn(argv[0], list(argv), [null, writing, writing])
    os.close(writing)
    return held, child, reading
"""


def test_a_child_has_the_descriptors_it_was_given_and_no_other(run_code: Run) -> None:
    code = """
    leak = os.open("/dev/zero", os.O_RDONLY)
    os.set_inheritable(leak, True)
    os.dup2(leak, 251, inheritable=True)
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))  # 251 lies above it from now on
    held, child, reading = spawn("/bin/sh", "-c", "echo /proc/self/fd/*")
    tell(output(reading).split())
    """
    names = [os.path.basename(path) for path in run_code(SPAWN + _dedent(code))]
    assert names in (["0", "1", "2"], ["0", "1", "2", "3"])  # 3: the shell reading the directory


def test_a_child_has_no_environment(run_code: Run) -> None:
    code = """
    held, child, reading = spawn("/usr/bin/env")
    tell(output(reading))
    """
    assert run_code(SPAWN + _dedent(code)) == ""


# Signals 32 and 33: glibc keeps them for its threads and lets nobody set them, so a child has them
# as whoever started us left them; GNU make leaves them ignored.
OF_THE_C_LIBRARY = 0b11 << 31


def test_a_child_ignores_no_signal(run_code: Run) -> None:
    code = """
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        signal.signal(number, signal.SIG_IGN)
    held, child, reading = spawn("/bin/grep", "-E", "Sig(Ign|Blk)", "/proc/self/status")
    tell(output(reading).split())
    """
    words = run_code(SPAWN + _dedent(code))
    blocked, ignored = (int(word, 16) & ~OF_THE_C_LIBRARY for word in words[1::2])
    assert (blocked, ignored) == (0, 0)


@pytest.mark.parametrize(
    ("script", "expected"), [("exit 3", 3), ("exit 0", 0), ("kill -9 $$", -int(signal.SIGKILL))]
)
def test_how_a_child_ended_is_known(script: str, expected: int, run_code: Run) -> None:
    code = """
    held, child, reading = spawn("/bin/sh", "-c", sys.argv[2])
    tell(os.waitstatus_to_exitcode(held.status(10)))
    """
    assert run_code(SPAWN + _dedent(code), script) == expected


def test_the_status_of_a_child_that_runs_is_not_known_yet(run_code: Run) -> None:
    code = """
    held, child, reading = spawn("/bin/sleep", "1000")
    before = held.status(0)
    held.close()
    tell([before, output(reading)])
    """
    assert run_code(SPAWN + _dedent(code)) == [None, ""]


def test_a_program_that_is_not_there_ends_with_127(run_code: Run) -> None:
    code = """
    held, child, reading = spawn("/nothing/here")
    tell([output(reading), os.waitstatus_to_exitcode(held.status(10))])
    """
    text, status = run_code(SPAWN + _dedent(code))
    assert "/nothing/here" in text
    assert status == 127


def test_a_command_line_too_long_to_hand_over_is_refused(run_code: Run) -> None:
    code = """
    try:
        spawn("/bin/true", "x" * 200_000)
    except JailBuildError as error:
        tell(error.message)
    """
    assert "bytes" in run_code(SPAWN + _dedent(code))


def test_a_keeper_has_one_jail(run_code: Run) -> None:
    code = """
    held, child, reading = spawn("/bin/sleep", "1000")
    try:
        held.spawn("/bin/true", ["true"], [reading])
    except JailBuildError as error:
        tell(error.message)
    held.close()
    """
    assert "one jail" in run_code(SPAWN + _dedent(code))


def test_a_run_file_is_taken_away_when_the_jail_ends(run_code: Run, tmp_path: Path) -> None:
    (tmp_path / "socket").write_text("")
    (tmp_path / "other").write_text("")
    code = """
    held, child, reading = spawn("/bin/true")
    held.forget(sys.argv[2])
    held.forget("/nothing/here")
    held.close()
    tell(os.path.exists(sys.argv[2]))
    """
    assert run_code(SPAWN + _dedent(code), str(tmp_path / "socket")) is False
    assert (tmp_path / "other").exists()


def test_a_keeper_leaves_the_session_of_the_guard(run_code: Run) -> None:
    code = """
    held = keeper.start()
    while os.getsid(held.pid) == os.getsid(0):
        time.sleep(0.001)
    tell(True)
    held.close()
    """
    assert run_code(code) is True


def test_a_killed_keeper_reads_as_a_killed_jail(run_code: Run) -> None:
    code = """
    held, child, reading = spawn("/bin/sleep", "1000")
    os.kill(held.pid, signal.SIGKILL)
    status = held.status(10)
    signal.pidfd_send_signal(child.pidfd, signal.SIGKILL)  # bwrap would have a signal of its own
    tell([output(reading), status])
    """
    assert run_code(SPAWN + _dedent(code)) == ["", int(signal.SIGKILL)]


def test_a_killed_keeper_starts_nothing(run_code: Run) -> None:
    code = """
    held = keeper.start()
    os.kill(held.pid, signal.SIGKILL)
    os.waitid(os.P_PID, held.pid, os.WEXITED | os.WNOWAIT)
    try:
        held.spawn("/bin/true", ["true"], [0, 1, 2])
    except JailBuildError as error:
        tell(error.message)
    """
    assert "keeper" in run_code(_dedent(code))


def _dedent(code: str) -> str:
    import textwrap

    return textwrap.dedent(code)
