"""The demo itself: the same server, the same client, once without a jail and once in one."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from mcp_jail.core.policy import Verdict
from mcp_jail.core.recorded.audit import Kind
from mcp_jail.demo.attempts import ATTEMPTS, TOOLS, Attempt, Evidence, Finding, Outcome, judge
from mcp_jail.demo.bubblewrap import refuse_without
from mcp_jail.demo.client import Client
from mcp_jail.demo.ground import Ground, lay_out, write
from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox.probe import probe
from mcp_jail.store.history import read_records
from mcp_jail.store.places import HOME_VARIABLE, find_places

NAME: Final = "mcp-jail-demo"

# The whole policy of the demo's jail.
POLICY: Final = f"""\
name: {NAME}
filesystem:
  read_only: [~/project]
  read_write: [~/project/scratch]
tools:
  default: deny
  rules:
    summarize_notes: allow
    "delete_*": deny
    write_file:
      decision: allow
      args: {{path: {{under: [~/project/scratch]}}}}
lock: {{enabled: false}}  # the walls are shown, so the calls must come as far as them
"""

# Seconds to see a process begin, and to see it gone after its jail.
_APPEARS: Final = 3.0
_GOES: Final = 3.0
_LOOKS: Final = 0.01

# Where the model reads what a tool answers.
_ANSWER: Final = "answer to the model"

# Under this name the answer of the harmless-looking tool is kept.
_SUMMARY: Final = "summary"


class Row(msgspec.Struct, frozen=True):
    """One attempt in both runs."""

    attempt: Attempt
    bare: Finding
    jailed: Finding

    @property
    def proves(self) -> bool:
        """Whether it got out without a jail and was held in one."""
        return self.bare.outcome is Outcome.OUT and self.jailed.outcome is Outcome.HELD


class Comparison(msgspec.Struct, frozen=True):
    """All rows, and how long both runs took together, in seconds."""

    rows: tuple[Row, ...]
    seconds: float

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows that prove nothing, or that the jail did not hold."""
        return tuple(row for row in self.rows if not row.proves)


def play(policy: str = POLICY) -> Comparison:
    """Run both; JailBuildError when the jail cannot be built. `policy` exists for tests."""
    begun = time.monotonic()
    refuse_without(probe())
    jailed = run_jailed(policy)
    bare = run_bare()
    rows = [Row(each, judge(each, bare), judge(each, jailed)) for each in ATTEMPTS]
    return Comparison(tuple(rows), time.monotonic() - begun)


def run_bare() -> Evidence:
    """What is seen when the server is started as clients start servers."""
    with lay_out() as ground:
        talk = _talk(ground, _server(ground), ground.environ)
        return _evidence(ground, talk, process_lives_on=bool(ground.left_behind()))


def run_jailed(policy: str) -> Evidence:
    """What is seen when `mcp-jail run` is started in the server's place; JailBuildError."""
    with lay_out() as ground:
        environ = {**ground.environ, HOME_VARIABLE: os.path.join(ground.place, "mcp-jail")}
        places = find_places(environ)
        os.makedirs(places.policies, mode=0o700)
        write(places.policy(NAME), policy.encode())
        talk = _talk(ground, (*_mcp_jail(), "run", NAME, "--", *_server(ground)), environ)
        if not talk.opened:
            raise _not_started(talk.code, ground.errors)
        lives_on = not _soon(lambda: not ground.left_behind(), _GOES)
        evidence = _evidence(ground, talk, process_lives_on=lives_on)
        return msgspec.structs.replace(evidence, refused=_refused(places.audit(NAME)))


class _Talk(msgspec.Struct):
    """What came of one conversation."""

    received: bytes = b""
    opened: bool = False
    results: dict[str, dict[str, Any]] = {}  # by attempt, of the calls that got a result
    process_was_seen: bool = False
    code: int = 0


def _talk(ground: Ground, words: tuple[str, ...], environ: dict[str, str]) -> _Talk:
    """Call the harmless-looking tool, then be talked into two more calls."""
    client = Client(words, environ=environ, cwd=ground.home, errors=ground.errors)
    talk = _Talk()
    try:
        talk.opened = client.open()
        if talk.opened:
            client.request("tools/list")
            _call(talk, client, _SUMMARY, "summarize_notes")
            if talk.results:
                talk.process_was_seen = _soon(lambda: bool(ground.left_behind()), _APPEARS)
            for name, tool in TOOLS.items():
                _call(talk, client, name, tool, path=ground.path(name), content="Oops.\n")
    finally:
        talk.code = client.close()
    talk.received = client.received
    return talk


def _call(talk: _Talk, client: Client, name: str, tool: str, **arguments: str) -> None:
    result = client.call(tool, **arguments)
    if result is not None:
        talk.results[name] = result


def _evidence(ground: Ground, talk: _Talk, *, process_lives_on: bool) -> Evidence:
    return Evidence(
        secrets=ground.secrets,
        received={_ANSWER: talk.received, **ground.listeners.taken()},
        changed=ground.changed(),
        process_was_seen=talk.process_was_seen,
        process_lives_on=process_lives_on,
        answered=frozenset(talk.results),
        refused={},
        told=_told(talk.results.get(_SUMMARY, {})),
    )


def _told(result: dict[str, Any]) -> dict[str, str]:
    """What the system said to the server's attempts, as it tells it in its last text.

    Behind that may stand a text of ours, about what was refused.
    """
    for item in reversed(result.get("content", [])):
        try:
            return msgspec.json.decode(item["text"], type=dict[str, str])
        except (LookupError, TypeError, msgspec.DecodeError):
            continue
    return {}


def _refused(audit: str) -> dict[str, str]:
    """The policy line that refused a call, by attempt, out of the audit of the run."""
    lines = {}
    for record in read_records(audit):
        if record.kind is Kind.CALL and record.verdict == Verdict.DENY.value:
            place = record.where.rsplit(":", 2)
            lines[record.name] = f"policy line {place[1]}" if len(place) > 1 else "policy default"
    return {name: lines[tool] for name, tool in TOOLS.items() if tool in lines}


def _server(ground: Ground) -> tuple[str, ...]:
    """The server on the Python we run on, outside of any virtual environment."""
    return (os.path.realpath(sys.executable), "-I", "-S", ground.server, ground.bait)


def _mcp_jail() -> tuple[str, ...]:
    """This very mcp-jail, wherever it was imported from, in a process of its own."""
    paths = [path for path in sys.path if os.path.isabs(path)]
    code = f"import sys; sys.path[:] = {paths!r}; from mcp_jail.cli import main; sys.exit(main())"
    return (sys.executable, "-I", "-c", code)


def _not_started(code: int, errors: str) -> JailBuildError:
    """The guard's own words why it did not start the server, a policy's problems too."""
    with open(errors, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    said, hints = (
        [line.partition(word)[2] for line in lines if line.startswith(f"mcp-jail: {word}")]
        for word in ("error: ", "hint: ")
    )
    problems = [line for line in lines if line and not line.startswith(("mcp-jail: ", "["))]
    message = said[0] if said else f"the jailed run ended with {code} before it answered"
    if said and problems:
        message = "\n".join([message.removesuffix(", above"), *problems])
    return JailBuildError(message, hint="\n".join(hints) or "\n".join(lines[-5:]))


def _soon(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether something comes to hold in some seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOKS)
    return True
