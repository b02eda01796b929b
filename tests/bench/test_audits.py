"""A long audit is one that runs could have left; it was checked and added up as a whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import audits
from audits import LONG, write_and_read, write_long
from lanes import HERE, JAILED, Workshop

PEAK = [sys.executable, "-I", "-S", str(HERE / "peak.py")]


def entries_of(paths: list[Path], kind: str) -> list[dict[str, Any]]:
    lines = [line for path in paths for line in path.read_bytes().splitlines()]
    return [each for each in map(msgspec.json.decode, lines) if each["kind"] == kind]


@pytest.mark.parametrize("entries", [2_500, 23_000])
def test_a_long_audit_is_whole_and_as_long_as_it_is_said_to_be(
    workshop: Workshop, entries: int
) -> None:
    figures = write_and_read(workshop, entries, rounds=1)
    assert set(figures) == {"log --verify s", "log --verify MB", "report s", "report MB"}
    assert figures["log --verify MB"][JAILED] > 5
    assert figures["report MB"][JAILED] > 5


def test_an_audit_that_is_not_whole_gives_no_figure(workshop: Workshop) -> None:
    write_long(workshop, 2_500)
    (audit,) = workshop.audits(LONG)
    audit.write_bytes(audit.read_bytes().replace(b'"size":255', b'"size":254', 1))
    with pytest.raises(RuntimeError, match="checked 2500 of 2500: exit code 1"):
        audits.verify(workshop, 2_500, rounds=1)


def test_an_audit_of_another_length_gives_no_figure(workshop: Workshop) -> None:
    write_long(workshop, 2_500)
    with pytest.raises(RuntimeError, match="checked 2500 of 3000"):
        audits.verify(workshop, 3_000, rounds=1)
    with pytest.raises(RuntimeError, match="counted 2500 of 3000"):
        audits.report(workshop, 3_000, rounds=1)


@pytest.mark.parametrize("kind", ["call", "result"])
def test_the_entries_of_a_long_audit_are_those_of_a_run(workshop: Workshop, kind: str) -> None:
    write_long(workshop, 100)
    with workshop.talking(workshop.lane, workshop.echo_server("echo")) as talk:
        talk.try_call()
    written = entries_of(workshop.audits(LONG), kind)[0]
    (run,) = [
        each for each in entries_of(workshop.audits("echo"), kind) if each.get("verdict") != "deny"
    ]
    assert list(written) == list(run)
    sizes = [len(msgspec.json.encode(each)) for each in (written, run)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.3)


def test_the_highest_size_is_that_of_the_command_alone() -> None:
    block = bytearray(b"x" * (200 << 20))  # of this process, which is not the one that is asked for
    code = "block = bytearray(b'x' * (60 << 20)); print('done', len(block)); raise SystemExit(3)"
    words = [*PEAK, sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    first, printed = done.stdout.splitlines()
    _, size, exit_code = first.split()
    assert 60 < float(size) < 150 < len(block) >> 20
    assert exit_code == "3"
    assert printed == f"done {60 << 20}"
