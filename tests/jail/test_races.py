"""Whoever exchanges directories of a share while the jail is built gets no mount of anything else.

The attacker is a server of an earlier run: it may write in the shares, and nothing else. bwrap
follows paths in them as it mounts, so an exchanged directory can lead it to another place.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jail.conftest import guard_environment

SECRET = "canary-of-a-race"
ROUNDS = 60

# Exchanges `around/inner`, a share, with links: to the secrets while bwrap finds the source, and to
# a place of the server's own while it finds the destination.
EXCHANGE = """
import ctypes, os, random, sys, time
place, exchanged = sys.argv[1:]
os.chdir(place)
libc = ctypes.CDLL(None, use_errno=True)
chance = random.Random(3)
def exchange(one, other):  # renameat2(2) with RENAME_EXCHANGE
    if libc.renameat2(-100, one.encode(), -100, other.encode(), 2):
        raise OSError(ctypes.get_errno(), one)
def wait(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
while True:
    wait(chance.uniform(0, 0.04))
    exchange(exchanged, "first")
    wait(chance.uniform(0, 0.006))
    exchange(exchanged, "second")
    wait(chance.uniform(0, 0.01))
    exchange(exchanged, "first")
    exchange("first", "second")
"""

# Starts one jail after another and says what came of each.
STARTS = """
import collections, json, os, sys
from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.errors import JailError
from mcp_jail.sandbox import launch
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.probe import probe
top, inner, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
around = top + "/around"
look = "cat {0}/other/* {0}/around/*/* {0}/around/*/*/* 2>/dev/null; echo done".format(top)
ends = collections.Counter()
host = probe({"HOME": top + "/home"})
for _ in range(rounds):
    shares = [(around, Access.READ_WRITE), (around + "/" + inner, Access.READ_WRITE)]
    spec = JailSpec(
        name="t", command=("/bin/sh", "-c", look), cwd=None, env={},
        shares=tuple(Share(path=p, access=a, why="t") for p, a in shares),
    )
    try:
        jail = launch.launch(build(spec, host=host))
        try:
            jail.go()
            text = b""
            while more := os.read(jail.stdout, 65536):
                text += more
            ends[text.decode()] += 1
        finally:
            jail.close()
    except JailError:
        ends["refused"] += 1
print(json.dumps(ends))
"""


@contextmanager
def exchanging(place: Path, name: str) -> Iterator[None]:
    """Exchange a directory of this place with links, all the while."""
    attacker = subprocess.Popen([sys.executable, "-I", "-c", EXCHANGE, str(place), name])
    try:
        yield
        assert attacker.poll() is None
    finally:
        attacker.kill()
        attacker.wait()


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "home/.ssh").mkdir(parents=True)
    (tmp_path / "home/.ssh/key").write_text(SECRET)
    (tmp_path / "around/own").mkdir(parents=True)
    return tmp_path


def outcomes(top: Path, inner: str) -> Counter[str]:
    """How many starts printed what, or were refused."""
    done = subprocess.run(
        [sys.executable, "-c", STARTS, str(top), inner, str(ROUNDS)],
        env=guard_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Counter(json.loads(done.stdout))


def test_a_share_exchanged_with_links_leads_nowhere_else(top: Path) -> None:
    around = top / "around"
    (around / "inner").mkdir()
    (around / "first").symlink_to(top / "home/.ssh")
    (around / "second").symlink_to("own")
    with exchanging(around, "inner"):
        ends = outcomes(top, "inner")
    assert sum(ends.values()) == ROUNDS
    assert not any(SECRET in text for text in ends), ends


def test_a_parent_exchanged_leads_nowhere_else(top: Path) -> None:
    around = top / "around"
    for name in ("parent", "first", "second"):
        (around / name).mkdir()
    (around / "parent/inner").mkdir()
    (around / "first/inner").symlink_to(top / "home/.ssh")
    (around / "second/inner").symlink_to("../own")
    with exchanging(around, "parent"):
        ends = outcomes(top, "parent/inner")
    assert sum(ends.values()) == ROUNDS
    assert not any(SECRET in text for text in ends), ends


def test_without_an_attacker_every_start_works(top: Path) -> None:
    (top / "around/inner").mkdir()
    assert outcomes(top, "inner") == {"done\n": ROUNDS}
    assert os.listdir(top / "around/own") == []
