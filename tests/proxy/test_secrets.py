"""The values of a run's secrets come from the keeper's assistant, or the run is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from driver import Home

# Forks are tried in a process of their own: the one that runs the tests has threads.
PREAMBLE = """
import json, os, sys, time
from mcp_jail.errors import JailError, PolicyError
from mcp_jail.proxy import secrets
from mcp_jail.proxy.prepare import prepare
from mcp_jail.sandbox import keeper

def tell(value):
    print(json.dumps(value), flush=True)

def prepared():
    return prepare(name="fs", policy_file=None, command=("/bin/true",))

def faults():
    try:
        secrets.with_secrets(prepared())
    except PolicyError as error:
        return [[str(p.place).rpartition("/")[2], p.message, p.hint] for p in error.problems]
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def policy(home: Home, *secrets: str) -> None:
    home.write_policy("\n".join(["env:", "  secret:", *(f"    {line}" for line in secrets)]))


def run(home: Home, code: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(code)],
        env={**home.environ(), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_values_are_there_and_nothing_shows_them(home: Home) -> None:
    key = home.path / "key"
    key.write_text("hunter-2-in-a-file\n")
    key.chmod(0o600)
    policy(home, "A: file:~/key", 'B: "command:echo hunter-2 of a command"')
    told = run(
        home,
        """
        one = secrets.with_secrets(prepared())
        tell([dict(one.secrets), repr(one)])
        """,
    )
    assert told[0] == {"A": "hunter-2-in-a-file", "B": "hunter-2 of a command"}
    assert "Secrets(A, B)" in told[1]
    assert "hunter-2-in" not in told[1]


def test_a_policy_without_secrets_starts_nobody(home: Home) -> None:
    home.write_policy("tools: {default: deny}")
    code = """
    secrets.keepers.start = None
    one = prepared()
    tell([secrets.with_secrets(one) is one, "mcp_jail.store.secrets" in sys.modules])
    """
    assert run(home, code) == [True, False]


def test_all_that_is_not_to_be_had_is_told_at_its_place(home: Home) -> None:
    shared = home.path / "shared"
    shared.write_text("hunter-2-shared")
    shared.chmod(0o644)
    policy(
        home,
        "A: file:~/none",
        "B: file:~/shared",
        "C: command:no-such-program x",
        "D: command:sh -c \"printf '\\\\33[31mno\\\\n' >&2; exit 4\"",
        "E: command:true",
        "F: command:yes",
        "OK: command:echo good-value",
    )
    told = run(home, "tell(faults())")
    places = [place for place, _, _ in told]
    assert places == [f"fs.yaml:{line}:5" for line in range(4, 10)]
    messages = [message for _, message, _ in told]
    assert messages == [
        f"secret 'A': there is no file '{home.path}/none'",
        f"secret 'B': '{home.path}/shared' can be read by others (mode 0644)",
        "secret 'C': 'no-such-program' cannot be started: No such file or directory",
        "secret 'D': 'sh' ended with 4: no",
        "secret 'E': its value is empty",
        "secret 'F': 'yes' prints more than 65536 bytes",
    ]
    assert told[1][2] == f"chmod 600 {home.path}/shared"


def test_what_waits_for_ever_is_given_up_and_ended(home: Home) -> None:
    place = home.path / ".config" / "python_keyring"
    place.mkdir()
    chosen = "[backend]\nkeyring-path=~/\ndefault-keyring=waiting.Keyring\n"
    (place / "keyringrc.cfg").write_text(chosen)
    (home.path / "waiting.py").write_text("import time; time.sleep(1000)\n")
    policy(home, "A: keyring:x")
    code = """
    secrets.PATIENCE = 2.0
    held = keeper.start()
    try:
        secrets.with_secrets(prepared(), held)
    except PolicyError as error:
        message = error.problems[0].message
    while open(f"/proc/{held.pid}/task/{held.pid}/children").read():
        time.sleep(0.001)
    held.close()
    tell(message)
    """
    assert run(home, code) == "secret 'A': does not come in time"


def test_an_assistant_that_breaks_off_is_told_and_its_noise_left_out(home: Home) -> None:
    policy(home, "A: command:echo good-value")
    code = """
    from mcp_jail.sandbox import keeping
    keeping.ASSISTANTS_BEFORE_THE_JAIL[:] = [b"this"]  # prints lines, and none of them an answer
    secrets.MODULE = "this"
    tell(faults())
    """
    ((place, message, _),) = run(home, code)
    assert (place, message) == (
        "fs.yaml:4:5",
        "secret 'A': the program that fetches it broke off",
    )


def test_a_jail_that_is_there_gets_no_more_secrets(home: Home) -> None:
    policy(home, "A: command:echo good-value")
    code = """
    held = keeper.start()
    null = os.open("/dev/null", os.O_RDWR)
    held.spawn("/bin/sleep", ["sleep", "1000"], [null, null, null])
    try:
        secrets.with_secrets(prepared(), held)
    except JailError as error:
        tell(error.message)
    held.close()
    """
    assert "does not start it now" in run(home, code)


def test_no_jail_is_launched_without_its_secrets(home: Home) -> None:
    policy(home, "A: command:echo good-value")
    code = """
    from mcp_jail.sandbox.launch import launch
    told = []
    for given in (None, {"A": "x", "B": "y"}):
        try:
            launch(prepared().plan, secrets=given)
        except JailError as error:
            told.append(error.message)
    tell(told)
    """
    assert run(home, code) == ["no value for A", "no value for B"]
