"""The secrets of a run: fetched by an assistant of the keeper's, before there is a jail.

The guard loads no keyring and runs no command. It says what is wanted, reads the answers, and hands
the values to bwrap alone; beside that they are known only to be left out of everything else.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from typing import Final

import msgspec

from mcp_jail.config.problems import Problems, refusal
from mcp_jail.core.secret_sources import (
    MAX_BYTES,
    Found,
    Wanted,
    at_home,
    secret_source,
)
from mcp_jail.core.secret_values import Secrets
from mcp_jail.proxy.prepare import Judged, Prepared
from mcp_jail.proxy.stderr import clean
from mcp_jail.sandbox import keeper as keepers

MODULE: Final = "mcp_jail.store.secrets"
# Seconds until the assistant is killed. It gives up by itself after 25, but a keyring it waits for
# may not let it.
PATIENCE: Final = 27.0
# Characters of what others say of a failure.
SAID: Final = 200


def with_secrets(prepared: Prepared, keeper: keepers.Keeper | None = None) -> Prepared:
    """A run with the values of its secrets; PolicyError that names each one that is not to be had.

    Without a keeper, one of its own is started. A policy without secrets costs nothing.
    """
    wanted = _wanted(prepared.judged)
    if not wanted:
        return prepared
    held = keeper or keepers.start()
    try:
        answers, is_whole = _ask(held, wanted)
    finally:
        if keeper is None:
            held.close()
    missing = _BROKEN if is_whole else _LATE
    faults = [(one.name, *_fault(answers.get(one.name) or missing)) for one in wanted]
    _refuse(prepared.judged, [fault for fault in faults if fault[1]])
    secrets = Secrets({one.name: answers[one.name].value for one in wanted})
    return msgspec.structs.replace(prepared, secrets=secrets)


# In place of an answer that does not come.
_LATE: Final = Found(
    name="", fault="does not come in time", hint="is something waiting for you to unlock it?"
)
_BROKEN: Final = Found(
    name="", fault="the program that fetches it broke off", hint="what it says stands above"
)


def _wanted(judged: Judged) -> list[Wanted]:
    return [
        Wanted(name=name, source=at_home(secret_source(text, name), judged.home))
        for name, text in judged.policy.env.secret.items()
    ]


def _ask(keeper: keepers.Keeper, wanted: list[Wanted]) -> tuple[dict[str, Found], bool]:
    """What the assistant answers, and whether it has ended by itself."""
    questions = os.memfd_create("mcp-jail")
    reading, writing = os.pipe()
    try:
        os.write(questions, msgspec.json.encode(wanted))
        os.lseek(questions, 0, os.SEEK_SET)
        assistant = keeper.assist(MODULE, stdin=questions, stdout=writing)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(questions)
        os.close(writing)
    try:
        # As JSON, a byte of a value may become six.
        text, is_whole = _read(reading, limit=len(wanted) * (MAX_BYTES * 6 + 1024))
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(assistant.pidfd, signal.SIGKILL)
        os.close(assistant.pidfd)
        os.close(reading)
    answers = {}
    for line in text.split(b"\n")[:-1]:
        with suppress(msgspec.MsgspecError):  # what an interpreter of some machine prints first
            answer = msgspec.json.decode(line, type=Found)
            answers[answer.name] = answer
    return answers, is_whole


def _read(fd: int, *, limit: int) -> tuple[bytes, bool]:
    """All that comes until the limit or the last of our patience, and whether it is all."""
    deadline = time.monotonic() + PATIENCE
    text = b""
    while len(text) < limit:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            break
        more = os.read(fd, MAX_BYTES)
        if not more:
            return text, True
        text += more
    return text, False


def _fault(found: Found) -> tuple[str, str]:
    """Why a value is not to be had, and what to do; both empty for one that is there."""
    said = f": {found.said}" if found.said else ""
    return clean(found.fault + said)[: len(found.fault) + SAID], clean(found.hint)


def _refuse(judged: Judged, faults: list[tuple[str, str, str]]) -> None:
    problems = Problems(judged.source, judged.file.text)
    for name, fault, hint in faults:
        judged.problem(problems, ("env", "secret", name), f"secret '{name}': {fault}", hint)
    found = problems.in_order()
    if found:
        raise refusal(judged.source, found)
