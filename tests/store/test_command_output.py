"""What a command prints, and commands that print too much, fork, fail or never end."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mcp_jail.store.command_output import CommandError, command_output

LIMIT = 1000
SOON = 0.3  # seconds; for commands that are meant to run into it
PATIENCE = 30.0


def output(*argv: str, seconds: float = PATIENCE) -> bytes:
    return command_output(argv, limit=LIMIT, deadline=time.monotonic() + seconds)


def sh(script: str, *, seconds: float = PATIENCE) -> bytes:
    return output("/bin/sh", "-c", script, seconds=seconds)


def refused(script: str, *, seconds: float = PATIENCE) -> CommandError:
    with pytest.raises(CommandError) as caught:
        sh(script, seconds=seconds)
    return caught.value


def test_a_command_says_what_it_prints() -> None:
    assert output("printf", "%s\\n", "a b", "c") == b"a b\nc\n"
    assert sh("printf x; printf noise >&2") == b"x"
    assert sh(f"head -c {LIMIT} /dev/zero") == b"\0" * LIMIT


def test_no_shell_reads_its_words() -> None:
    assert output("echo", "$HOME; id", "`id`", "*") == b"$HOME; id `id` *\n"


def test_it_has_no_input_and_no_descriptor_of_ours(tmp_path: Path) -> None:
    with open(tmp_path / "held", "w") as held:
        os.set_inheritable(held.fileno(), True)
        names = sh("ls /proc/$$/fd; cat").split()
    assert names == [b"0", b"1", b"2"]


@pytest.mark.parametrize(
    ("script", "message", "said"),
    [
        ("echo no such key >&2; exit 3", "'/bin/sh' ended with 3", ("no such key",)),
        ("printf secret; exit 1", "'/bin/sh' ended with 1", ()),
        ("kill -9 $$", "'/bin/sh' was killed by signal 9", ()),
    ],
)
def test_one_that_fails_gives_nothing(script: str, message: str, said: tuple[str, ...]) -> None:
    error = refused(script)
    assert (error.message, error.said) == (message, said)


def test_megabytes_are_cut_off_and_their_author_ended() -> None:
    assert refused("exec yes").message == f"'/bin/sh' prints more than {LIMIT} bytes"
    error = refused("yes >&2 & exec head -c 1001 /dev/zero")
    assert error.message == f"'/bin/sh' prints more than {LIMIT} bytes"


def test_an_error_stream_without_end_does_not_hold_it_up() -> None:
    assert sh("head -c 3000000 /dev/zero >&2; printf x") == b"x"


def test_one_that_never_ends_is_killed_with_all_of_its_session(tmp_path: Path) -> None:
    pipe = tmp_path / "alive"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    error = refused(f"exec 9>{pipe}; sleep 1000 & sleep 1000", seconds=SOON)
    assert error.message == "'/bin/sh' does not end in time"
    os.set_blocking(held, True)
    assert os.read(held, 1) == b""  # the last one that could write has ended
    os.close(held)


def test_one_that_closed_its_output_is_waited_for() -> None:
    error = refused("printf x; exec >&- 2>&-; sleep 1000", seconds=SOON)
    assert error.message == "'/bin/sh' does not end in time"


def test_what_a_fork_holds_open_does_not_hold_it_up(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    assert sh(f"sleep 1000 & echo $! > {mark}; printf x") == b"x"
    os.kill(int(mark.read_text()), 9)


def test_a_program_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(CommandError) as caught:
        output("no-such-program-here", "x")
    assert "'no-such-program-here' cannot be started: No such file" in caught.value.message
    assert "/usr/bin:/bin" in caught.value.hint
