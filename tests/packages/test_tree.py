"""The digest and the stamp of a tree: every change of a file is seen; what no package needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_jail.errors import PackageError
from mcp_jail.packages import tree


@pytest.fixture
def top(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    (made / "deep" / "er").mkdir(parents=True)
    (made / "a.js").write_text("one")
    (made / "deep" / "b.js").write_text("two")
    (made / "deep" / "er" / "run").write_text("#!/bin/sh\n")
    (made / "deep" / "er" / "run").chmod(0o755)
    (made / "link").symlink_to("deep/b.js")
    return made


def rewrite_in_place(top: Path) -> None:
    """The same size and times, another content."""
    status = (top / "a.js").stat()
    (top / "a.js").write_text("eno")
    os.utime(top / "a.js", ns=(status.st_atime_ns, status.st_mtime_ns))


def replace(top: Path) -> None:
    (top / "new").write_text("eno")
    status = (top / "a.js").stat()
    os.utime(top / "new", ns=(status.st_atime_ns, status.st_mtime_ns))
    (top / "new").rename(top / "a.js")


def turn_link(top: Path) -> None:
    (top / "link").unlink()
    (top / "link").symlink_to("deep/er/run")


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file is written": (lambda top: (top / "a.js").write_text("three"), "a.js"),
    "a file is rewritten and its times put back": (rewrite_in_place, "a.js"),
    "a file is replaced": (replace, "a.js"),
    "a file is added": (lambda top: (top / "deep" / "c").write_text(""), "deep/c"),
    "a file is removed": (lambda top: (top / "deep" / "b.js").unlink(), "deep/b.js"),
    "a file becomes a program": (lambda top: (top / "a.js").chmod(0o755), "a.js"),
    "a link leads elsewhere": (turn_link, "link"),
    "an empty directory is added": (lambda top: (top / "empty").mkdir(), "empty"),
    "a file is moved": (lambda top: (top / "a.js").rename(top / "deep" / "a.js"), "a.js"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_by_the_stamp_and_named_by_the_digest(change: str, top: Path) -> None:
    before = tree.measure(str(top))
    act, named = CHANGES[change]
    act(top)
    assert tree.stamp_of(str(top)) != before.stamp
    digest, lines = tree.digest_of(str(top))
    assert digest != before.digest
    assert named in tree.changes(before.lines, lines)


def test_a_look_changes_nothing(top: Path) -> None:
    before = tree.measure(str(top))
    assert (top / "a.js").read_text() == "one"
    assert tree.measure(str(top)) == before
    assert (before.files, before.size) == (3, 16)


def test_a_touch_changes_the_stamp_and_not_what_the_tree_is(top: Path) -> None:
    before = tree.measure(str(top))
    os.utime(top / "a.js")
    assert tree.stamp_of(str(top)) != before.stamp
    assert tree.digest_of(str(top))[0] == before.digest


def test_the_digest_is_of_the_content_and_not_of_where_or_when(top: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "deep" / "er").mkdir(parents=True)
    (other / "link").symlink_to("deep/b.js")
    (other / "deep" / "er" / "run").write_text("#!/bin/sh\n")
    (other / "deep" / "er" / "run").chmod(0o755)
    (other / "deep" / "b.js").write_text("two")
    (other / "a.js").write_text("one")
    assert tree.measure(str(other)).digest == tree.measure(str(top)).digest


def test_a_settled_tree_has_nothing_that_can_be_written_or_gives_rights(top: Path) -> None:
    (top / "a.js").chmod(0o6777)
    (top / "deep").chmod(0o777)
    tree.settle(str(top))
    assert (top / "a.js").stat().st_mode & 0o7777 == 0o555
    assert (top / "deep").stat().st_mode & 0o7777 == 0o700
    assert (top / "deep" / "b.js").stat().st_mode & 0o222 == 0


@pytest.mark.parametrize(
    "target",
    ["/etc/passwd", "..", "../x", "../../x", "deep/../../x", "deep/er/../../..", "link/..", "/"],
)
def test_a_link_that_may_lead_out_is_refused(target: str, top: Path) -> None:
    (top / "out").symlink_to(target)
    with pytest.raises(PackageError, match="a link that leads out: 'out'"):
        tree.settle(str(top))


@pytest.mark.parametrize("target", ["../a.js", "er/run", "./b.js", "../deep/er", "nothing"])
def test_a_link_that_stays_inside_is_left(target: str, top: Path) -> None:
    (top / "deep" / "in").symlink_to(target)
    tree.settle(str(top))


def test_only_the_named_interpreter_may_lie_outside(top: Path) -> None:
    (top / "python").symlink_to("/usr/bin/python3")
    tree.settle(str(top), frozenset({"/usr/bin/python3"}))
    with pytest.raises(PackageError):
        tree.settle(str(top), frozenset({"/usr/bin/python"}))


def test_what_is_no_file_is_refused(top: Path) -> None:
    os.mkfifo(top / "pipe")
    with pytest.raises(PackageError, match="no file, directory or link: 'pipe'"):
        tree.settle(str(top))


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31m", "a\u202eb"])
def test_a_name_that_cannot_be_shown_is_refused(name: str, top: Path) -> None:
    (top / name).write_text("")
    with pytest.raises(PackageError, match="cannot be shown"):
        tree.settle(str(top))


def test_a_file_is_not_read_into_memory_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    with open(tmp_path / "top" / "large", "wb") as file:
        file.truncate(256 << 20)  # zeros that take no place, as an archive of a few KB can bring
    code = (
        "import sys; from mcp_jail.packages.tree import digest_of; digest_of(sys.argv[1]);"
        "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
    )
    kibibytes = int(subprocess.check_output([sys.executable, "-c", code, str(tmp_path / "top")]))
    assert kibibytes < 100 << 10
