"""Our walk ends where the kernel's does: on the host, and inside a jail."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from hypothesis import given, settings

from file_trees import BATCHES, PATHS, RICH_TREES, STEPS, TOP, TREES, grow
from jailed import plan_for, run_inside
from mcp_jail.core.rules.outlook import Space
from mcp_jail.core.rules.paths import lies_under, refused_shape, resolve
from mcp_jail.core.spec import Access, Plan, Share
from mcp_jail.proxy.patterns import fullmatch
from mcp_jail.sandbox.view import View

# Reads paths as JSON, opens each (makes it where it is not there), and tells where each open ended.
OPENS = """
import json, os, sys
def where(path, flags):
    fd = os.open(path, flags | os.O_CLOEXEC)
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)
ends = []
for path in json.load(sys.stdin):
    try:
        ends.append(["opened", where(path, os.O_PATH)])
    except FileNotFoundError:
        try:
            end = where(path, os.O_CREAT | os.O_WRONLY)
            os.unlink(end)
            ends.append(["made", end])
        except OSError as error:
            ends.append(["failed", error.errno])
    except OSError as error:
        ends.append(["failed", error.errno])
json.dump(ends, sys.stdout)
"""


class Walking(View):
    """A view that offers no shortcut: every component is looked at, in both trees."""

    def is_straight(self, path: str) -> bool:
        del path
        return False


EMPTY = Plan(
    name="none",
    bwrap="",
    mounts=(),
    env={},
    command=(),
    cwd="/",
    uid=0,
    gid=0,
    hostname="",
    seccomp=b"",
    gaps=(),
)
HOST = View(EMPTY, fullmatch)


def placed(paths: list[str], top: Path) -> list[str]:
    return [path.replace(TOP, str(top)) for path in paths]


def opened(path: str) -> str | None:
    """Where the kernel opens a path, following links; None where it does not."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)


def made(path: str) -> str | None:
    """Where the kernel makes a file that was not there; None where it does not."""
    try:
        fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        end = os.readlink(f"/proc/self/fd/{fd}")
        os.unlink(end)
        return end
    finally:
        os.close(fd)


def walked(path: str, space: Space = Space.HOST, view: View = HOST) -> str | None:
    end = resolve(path, lambda one: view.look(space, one))
    return None if end is None else "/" + "/".join(end)


@given(TREES, PATHS)
def test_a_walk_ends_where_the_kernel_opens_or_makes_the_file(
    tree: dict[str, str], paths: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(os.path.realpath(folder)) / "top"
        grow(top, tree)
        for path in placed(paths, top):
            end = opened(path)
            if end is not None:
                assert walked(path) == end
                continue
            new = made(path)
            if new is not None:
                assert walked(path) == new
            elif walked(path) is not None:
                assert not os.path.lexists(walked(path) or "")


@given(TREES, PATHS)
def test_what_lies_under_opens_under_however_a_server_cleans_it(
    tree: dict[str, str], paths: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(os.path.realpath(folder)) / "top"
        grow(top, tree)
        root = str(top / "in")
        mounts = View(_shared(top), fullmatch)
        for path in placed(paths, top):
            if lies_under(path, (root,), None, mounts):
                for reading in (path, os.path.normpath(path)):
                    end = opened(reading) or made(reading)
                    assert end is None or end == root or end.startswith(f"{root}/")


@given(TREES, PATHS)
def test_a_straight_path_is_itself_in_both_trees(tree: dict[str, str], paths: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(os.path.realpath(folder)) / "top"
        grow(top, tree)
        view = View(_shared(top), fullmatch)
        for path in map(os.path.normpath, placed(paths, top)):
            if view.is_straight(path):
                assert [walked(path, space, view) for space in Space] == [path, path]


@given(TREES, PATHS)
def test_the_shortcut_allows_nothing_that_the_walks_do_not(
    tree: dict[str, str], paths: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(os.path.realpath(folder)) / "top"
        grow(top, tree)
        roots = (str(top / "in"),)
        short, long = View(_shared(top), fullmatch), Walking(_shared(top), fullmatch)
        for path in placed(paths, top):
            for cwd in (None, str(top)):
                found = lies_under(path, roots, cwd, short)
                assert found == lies_under(path, roots, cwd, long)


@given(RICH_TREES, BATCHES, STEPS.map("/".join))
@settings(max_examples=25)
def test_what_lies_under_opens_under_inside_a_jail(
    tree: dict[str, str], absolute: list[str], relative: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(os.path.realpath(folder)) / "top"
        grow(top, tree)
        root = str(top / "in")
        plan = _shared(top)
        view = View(plan, fullmatch)
        paths = [path for path in (*placed(absolute, top), relative) if not refused_shape(path)]
        ends = json.loads(run_inside(plan, json.dumps(paths).encode()))
        for path, (what, end) in zip(paths, ends, strict=True):
            if what == "failed":
                continue
            told = walked(path if path.startswith("/") else f"{root}/{path}", Space.JAIL, view)
            assert told in {end, None}
            if lies_under(path, (root,), root, view):
                assert end == root or end.startswith(f"{root}/")


@given(RICH_TREES, BATCHES)
@settings(max_examples=25)
def test_inside_shared_directories_the_view_knows_what_the_jail_shows(
    tree: dict[str, str], absolute: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(os.path.realpath(folder)) / "top"
        grow(top, tree)
        plan = _shared(top)
        view = View(plan, fullmatch)
        paths = placed(absolute, top)
        ends = json.loads(run_inside(plan, json.dumps(paths).encode()))
        shares = [str(top / name) for name in ("in", "also")]
        for path, (what, end) in zip(paths, ends, strict=True):
            if what == "opened" and any(end == one or end.startswith(f"{one}/") for one in shares):
                assert walked(path, Space.JAIL, view) == end


def _shared(top: Path) -> Plan:
    shares = (
        Share(path=str(top / "in"), access=Access.READ_WRITE, why="test"),
        Share(path=str(top / "also"), access=Access.READ_ONLY, why="test"),
    )
    return plan_for(OPENS, shares, str(top / "in"))
