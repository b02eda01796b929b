"""The starter becomes the server when it is told to, and ends when nobody can tell it any more."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from mcp_jail.sandbox import starter
from mcp_jail.sandbox.seccomp import ARCHES

ENVIRONMENT = {"npm_config_//host:key": "1", "A": "2"}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    place = tmp_path / "starter"
    place.write_bytes(starter.program(os.uname().machine))
    place.chmod(0o755)
    return place


def started(program: Path, word: bytes, *command: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command by the starter, which gets a word after it said that it is there."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        # A shell puts the descriptor in its place: it may be taken in this process.
        line = f'exec "$@" {starter.DESCRIPTOR}<&{theirs.fileno()}'
        if theirs.fileno() != starter.DESCRIPTOR:
            line += f" {theirs.fileno()}<&-"
        process = subprocess.Popen(
            ["/bin/bash", "-c", line, "sh", "/usr/bin/env", "-i", *_words(), program, *command],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        assert ours.recv(1) == starter.HERE
        ours.sendall(word)
        ours.close()
        output, errors = process.communicate(timeout=30)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _words() -> list[str]:
    return [f"{name}={value}" for name, value in ENVIRONMENT.items()]


def test_it_becomes_the_command_with_the_very_environment(program: Path) -> None:
    done = started(program, b"g", "/usr/bin/env")
    assert done.stdout.decode().splitlines() == _words()
    assert (done.returncode, done.stderr) == (0, b"")


def test_it_leaves_no_descriptor_to_the_command(program: Path) -> None:
    done = started(program, b"g", "/bin/ls", "/proc/self/fd")
    assert done.stdout.split() == [b"0", b"1", b"2", b"3"]  # 3: ls reading the directory


def test_an_end_of_file_starts_nothing(program: Path, tmp_path: Path) -> None:
    done = started(program, b"", "/bin/touch", str(tmp_path / "mark"))
    assert (done.returncode, done.stdout, done.stderr) == (127, b"", b"")
    assert not (tmp_path / "mark").exists()


def test_arguments_are_handed_on_as_they_are(program: Path) -> None:
    done = started(program, b"g", "/usr/bin/printf", "%s|", "", "a b", "--", "\udcff")
    assert done.stdout == b"|a b|--|\xff|"


def test_a_script_that_names_no_interpreter_is_the_shells(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$0" "$1"\n')
    script.chmod(0o755)
    done = started(program, b"g", str(script), "x")
    assert done.stdout.decode() == f"{script} x\n"


def test_a_program_that_cannot_be_executed_is_told_with_its_error(
    program: Path, tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("x")
    for place, number in (("missing", "02"), ("plain", "13")):
        done = started(program, b"g", str(tmp_path / place))
        assert done.returncode == 127
        assert done.stderr.decode().endswith(f"cannot be executed: error {number}\n")


@pytest.mark.parametrize("arch", ARCHES)
def test_there_is_one_for_every_architecture_that_has_a_filter(arch: str) -> None:
    program = starter.program(arch)
    assert program.startswith(b"\x7fELF")
    assert len(program) < 512
