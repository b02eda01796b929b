"""A client's file is replaced whole or not at all, and keeps what it is beside its content."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from killing import killed_at_each_step
from mcp_jail.clients.applying import apply_unwrap, apply_wrap
from mcp_jail.clients.plans import Group
from mcp_jail.clients.replacing import BACKUP, replace_client_file, why_not_replaceable
from mcp_jail.clients.unplanning import plan_unwrap
from mcp_jail.store.files import FileError
from wrap.homes import CURSOR, ClientHome, made, of

OLD: Final = b'{"mcpServers": {"a": {"command": "x"}}}'


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o660], ids=oct)
def test_its_mode_stays(home: ClientHome, mode: int) -> None:
    path = home.write(CURSOR, OLD, mode=mode)
    home.wrap(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() != OLD


def test_its_owner_stays(home: ClientHome) -> None:
    path = home.write(CURSOR, OLD)
    if os.geteuid() == 0:
        os.chown(path, 54321, 54321)
    before = path.stat()
    home.wrap(path)
    after = path.stat()
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


def test_its_attributes_stay(home: ClientHome) -> None:
    path = home.write(CURSOR, OLD)
    os.setxattr(path, "user.note", b"mine")
    home.wrap(path)
    assert os.getxattr(path, "user.note") == b"mine"


def test_a_link_stays_a_link_and_its_target_is_written(home: ClientHome) -> None:
    target = home.write("dotfiles/mcp.json", OLD)
    link = home.path / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to("../dotfiles/mcp.json")
    home.wrap(link)
    assert os.readlink(link) == "../dotfiles/mcp.json"
    assert target.read_bytes() != OLD
    home.unwrap(link)
    assert target.read_bytes() == OLD


def hard_link(path: Path) -> None:
    os.link(path, path.with_name("second"))


def read_only(path: Path) -> None:
    path.chmod(0o400)


@pytest.mark.parametrize(
    ("made_so", "words"), [(hard_link, "second name"), (read_only, "read-only")]
)
def test_what_cannot_be_replaced_is_refused_before_anything_is_written(
    home: ClientHome, made_so: Callable[[Path], None], words: str
) -> None:
    path = home.write(CURSOR, OLD)
    made_so(path)
    plan = home.wrap(path)
    assert words in of(plan, Group.REFUSED)[""].reason
    assert path.read_bytes() == OLD
    assert not os.path.lexists(home.places.state)
    with pytest.raises(FileError, match=words):
        replace_client_file(str(path), OLD, b"new")


def test_a_file_that_is_not_there_is_told(home: ClientHome) -> None:
    assert why_not_replaceable(str(home.path / "nothing")) == "No such file or directory"


def test_a_file_that_changed_since_it_was_read_is_left(home: ClientHome) -> None:
    path = home.write(CURSOR, OLD)
    with pytest.raises(FileError, match="has changed meanwhile"):
        replace_client_file(str(path), b"what was read", b"new")
    assert path.read_bytes() == OLD
    assert os.listdir(path.parent) == [path.name]


def test_nothing_is_written_where_nothing_changes(home: ClientHome) -> None:
    path = home.write(CURSOR, OLD)
    home.wrap(path)
    before = path.stat()
    home.wrap(path)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_lock_of_its_client_is_respected(home: ClientHome) -> None:
    path = home.write(".cline/data/settings/cline_mcp_settings.json", OLD)
    lock = path.with_name(path.name + ".lock")
    lock.mkdir()
    assert "writing it right now" in of(home.wrap(path), Group.REFUSED)[""].reason
    lock.rmdir()
    plan = home.plan(path)
    lock.mkdir()
    with pytest.raises(FileError, match="writing it right now"):
        apply_wrap(home.places, plan)
    lock.rmdir()
    home.wrap(path)
    lock.mkdir()
    assert "writing it right now" in of(home.unwrap(path), Group.REFUSED)[""].reason


def test_what_a_killed_command_left_beside_a_file_goes_with_the_next(home: ClientHome) -> None:
    path = home.write(CURSOR, OLD)
    home.write(f".cursor/.mcp.json.{'0' * 16}.new", b"half")
    mine = home.write(".cursor/.mcp.json.mine.new", b"")
    home.wrap(path)
    assert sorted(os.listdir(path.parent)) == [mine.name, path.name, path.name + BACKUP]


@pytest.mark.parametrize("is_unwrap", [False, True], ids=["wrap", "unwrap"])
def test_a_kill_at_any_step_loses_nothing(tmp_path: Path, is_unwrap: bool) -> None:
    home = made(tmp_path)
    path = home.write(CURSOR, OLD)
    if is_unwrap:
        home.wrap(path)
    start = tmp_path / "start"
    shutil.copytree(home.path, start)
    plan = plan_unwrap(home.circumstances(), home.target(path)) if is_unwrap else home.plan(path)
    act = apply_unwrap if is_unwrap else apply_wrap
    ends: dict[bytes, set[bytes]] = {}

    def fresh() -> None:
        shutil.rmtree(home.path)
        shutil.copytree(start, home.path)

    def check() -> None:
        content = path.read_bytes()
        assert content in {plan.before, plan.after}
        mark = marked(home.path)
        if mark in ends.setdefault(content, set()):
            return  # this state was looked at already
        ends[content].add(mark)
        done = home.wrap(path)
        assert path.read_bytes() != OLD, done.outcomes
        assert not home.plan(path).changes
        home.unwrap(path)
        assert path.read_bytes() == OLD

    rounds = killed_at_each_step(fresh, lambda: act(home.places, plan), check)
    assert rounds > 50
    assert set(ends) == {plan.before, plan.after}
    assert sum(map(len, ends.values())) > 4


def marked(folder: Path) -> bytes:
    """What lies below a directory, without the random part of the names of drafts."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = re.sub(r"\.[0-9a-f]{16}\.new$", "", str(path))
            found.append(f"{name} {path.read_bytes()!r}")
    return "\n".join(sorted(found)).encode()
