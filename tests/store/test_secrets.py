"""The program that gets at secrets, run as the keeper runs it: files, commands, keyrings."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from mcp_jail.core.secret_sources import MAX_BYTES, Found, Kind, Source, Wanted
from mcp_jail.store.secrets import found

VALUE = "hunter-2-of-somebody"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    return made


def answers(home: Path, *wanted: Wanted) -> dict[str, Found]:
    """What the program writes, and that it writes nothing else."""
    done = subprocess.run(
        [sys.executable, "-I", "-m", "mcp_jail.store.secrets"],
        env={"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"},
        input=msgspec.json.encode(wanted),
        capture_output=True,
        timeout=60,
        check=True,
        cwd="/",
    )
    lines = [msgspec.json.decode(line, type=Found) for line in done.stdout.splitlines()]
    return {line.name: line for line in lines}


def want(kind: Kind, *words: str, name: str = "API_KEY") -> Wanted:
    return Wanted(name=name, source=Source(kind=kind, words=words))


def of_file(path: Path) -> Found:
    return found(want(Kind.FILE, str(path)), time.monotonic() + 30)


def of_shell(script: str) -> Found:
    return found(want(Kind.COMMAND, "/bin/sh", "-c", script), time.monotonic() + 30)


def keyring(home: Path, backend: str, *more: str) -> None:
    """Choose a backend of the library, as people do."""
    place = home / ".config" / "python_keyring"
    place.mkdir(parents=True, exist_ok=True)
    lines = ["[backend]", f"default-keyring={backend}", *more]
    (place / "keyringrc.cfg").write_text("\n".join(lines) + "\n")


def store(home: Path, service: str, user: str, value: str) -> None:
    subprocess.run(
        [sys.executable, "-I", "-m", "keyring", "set", service, user],
        env={"HOME": str(home), "PATH": os.defpath},
        input=value,
        text=True,
        check=True,
        capture_output=True,
    )


def private(home: Path, text: str, mode: int = 0o600) -> Path:
    path = home / "key"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_private_file_is_read_without_its_last_newline(home: Path) -> None:
    assert of_file(private(home, f"{VALUE}\n")).value == VALUE
    assert of_file(private(home, f"{VALUE}\n\n")).value == f"{VALUE}\n"
    assert of_file(private(home, VALUE, 0o400)).value == VALUE


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601, 0o644])
def test_a_file_that_others_have_rights_to_is_refused(mode: int, home: Path) -> None:
    path = private(home, VALUE, mode)
    answer = of_file(path)
    assert f"(mode {mode:04o})" in answer.fault
    assert str(path) in answer.hint
    assert answer.value == ""


def test_a_file_that_is_a_link_is_refused(home: Path) -> None:
    link = home / "link"
    link.symlink_to(private(home, VALUE))
    assert "is a symbolic link" in of_file(link).fault
    hard = home / "second"
    os.link(private(home, VALUE), hard)
    assert "has a second name" in of_file(hard).fault


def test_what_is_no_file_is_refused(home: Path) -> None:
    pipe = home / "pipe"
    os.mkfifo(pipe)
    assert "not a plain file" in of_file(pipe).fault
    assert "not a plain file" in of_file(home).fault
    missing = of_file(home / "none")
    assert (missing.fault, "chmod 600" in missing.hint) == (f"there is no file '{home}/none'", True)


def test_a_file_in_a_directory_that_others_can_write_is_refused(home: Path) -> None:
    path = private(home, VALUE)
    home.chmod(0o777)
    assert "can be written by others" in of_file(path).fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "its value is empty"),
        ("\n", "its value is empty"),
        ("abc\n", "its value has less than 4 characters"),
        ("ab\0cd", "its value has a NUL, which no variable can hold"),
    ],
)
def test_what_no_variable_should_hold_is_refused(text: str, fault: str, home: Path) -> None:
    assert of_file(private(home, text)).fault == fault


def test_bytes_that_are_no_text_and_too_many_are_refused(home: Path) -> None:
    path = home / "key"
    path.write_bytes(b"\xff\xfe12345678")
    path.chmod(0o600)
    assert of_file(path).fault == "its value is no text (UTF-8)"
    path.write_bytes(b"x" * (MAX_BYTES + 1))
    assert f"larger than {MAX_BYTES} bytes" in of_file(path).fault


def test_a_command_gives_what_it_prints_without_the_last_newline() -> None:
    assert of_shell(f"echo {VALUE}").value == VALUE
    assert of_shell(f"echo noise >&2; printf '{VALUE}\\n\\n'").value == f"{VALUE}\n"


def test_a_command_that_fails_gives_nothing_and_says_why() -> None:
    answer = of_shell(f"echo {VALUE}; echo it is locked >&2; exit 2")
    assert answer == Found(name="API_KEY", fault="'/bin/sh' ended with 2", said="it is locked")
    assert of_shell("true").fault == "its value is empty"


def test_a_command_has_a_built_environment_and_the_root_directory(home: Path) -> None:
    script = want(Kind.COMMAND, "/bin/sh", "-c", "env | sort; pwd")
    lines = answers(home, script)["API_KEY"].value.splitlines()
    assert lines[-1] == "/"
    names = {line.split("=")[0] for line in lines[:-1]}
    assert names <= {"HOME", "PATH", "PWD", "OLDPWD", "_", "LC_CTYPE"}  # the last is Python's own


def test_the_keyring_gives_an_entry(home: Path) -> None:
    keyring(home, "keyrings.alt.file.PlaintextKeyring")
    store(home, "github", "API_KEY", VALUE)
    answer = answers(home, want(Kind.KEYRING, "github", "API_KEY"))
    assert answer == {"API_KEY": Found(name="API_KEY", value=VALUE)}


def test_an_entry_that_is_missing_comes_with_the_command_that_makes_it(home: Path) -> None:
    keyring(home, "keyrings.alt.file.PlaintextKeyring")
    answer = answers(home, want(Kind.KEYRING, "git hub", "me"))["API_KEY"]
    assert answer.fault == "the keyring has no entry 'me' of 'git hub'"
    assert answer.hint.endswith("-m keyring set 'git hub' me")


def test_a_machine_without_a_keyring_is_told(home: Path) -> None:
    keyring(home, "keyring.backends.fail.Keyring")
    answer = answers(home, want(Kind.KEYRING, "github", "me"))["API_KEY"]
    assert answer.fault == "this session has no keyring"
    assert "write file: or command:" in answer.hint


LOCKED = """
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

class Keyring(KeyringBackend):
    priority = 1
    set_password = delete_password = None
    def get_password(self, service, user):
        print("noise on the output")
        if service == "broken":
            raise OSError("the bus is gone")
        raise KeyringLocked("dismissed")
"""


def test_a_locked_or_broken_keyring_is_told(home: Path) -> None:
    (home / "lockedkeyring.py").write_text(LOCKED)
    keyring(home, "lockedkeyring.Keyring", f"keyring-path={home}")
    told = answers(
        home, want(Kind.KEYRING, "x", "y", name="A"), want(Kind.KEYRING, "broken", "y", name="B")
    )
    assert told["A"].fault == "the keyring is locked"
    assert told["B"].fault == "the keyring cannot be read: the bus is gone"


def test_a_machine_without_the_library_is_told(home: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    import mcp_jail

    (packages,) = bare.glob("lib/python3*/site-packages")
    (packages / "mcp_jail").symlink_to(Path(mcp_jail.__file__).parent)
    (packages / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    done = subprocess.run(
        [str(bare / "bin" / "python"), "-I", "-m", "mcp_jail.store.secrets"],
        input=msgspec.json.encode([want(Kind.KEYRING, "github", "me")]),
        env={"HOME": str(home)},
        capture_output=True,
        check=True,
    )
    answer = msgspec.json.decode(done.stdout, type=Found)
    assert answer.fault == "the package 'keyring' is not installed beside mcp-jail"
    assert answer.hint == f"{bare}/bin/python -m pip install keyring"


def test_one_fault_does_not_hide_the_others(home: Path) -> None:
    keyring(home, "keyring.backends.fail.Keyring")
    told = answers(
        home,
        want(Kind.KEYRING, "x", "y", name="A"),
        want(Kind.FILE, str(home / "none"), name="B"),
        want(Kind.COMMAND, "false", name="C"),
        want(Kind.COMMAND, "echo", VALUE, name="D"),
    )
    assert [bool(told[name].fault) for name in "ABCD"] == [True, True, True, False]
    assert list(told) == ["B", "C", "D", "A"]  # what may wait for a person comes last
