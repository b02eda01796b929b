"""Files we trust: links, foreign owners and files others can write are refused."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from killing import killed_at_each_step
from mcp_jail.store.files import (
    FileError,
    create_private,
    make_private_folder,
    open_plain,
    read_plain,
    read_private,
    replace_private,
    replace_unchanged,
)
from programs import output, start


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


def test_a_link_is_not_followed(folder: Path) -> None:
    (folder / "real").write_text("x")
    (folder / "link").symlink_to(folder / "real")
    (folder / "dangling").symlink_to(folder / "nowhere")
    for name in ("link", "dangling"):
        with pytest.raises(FileError, match="symbolic link"):
            read_private(str(folder / name))


def test_a_file_that_others_can_write_is_refused(folder: Path) -> None:
    path = folder / "file"
    path.write_text("x")
    path.chmod(0o602)
    with pytest.raises(FileError, match="can be written by others"):
        read_private(str(path))


def test_a_file_in_a_folder_that_others_can_write_is_refused(folder: Path) -> None:
    (folder / "open" / "below").mkdir(parents=True)
    path = folder / "open" / "below" / "file"
    path.write_text("x")
    (folder / "open").chmod(0o777)
    with pytest.raises(FileError, match=r"open.* can be written by others"):
        read_private(str(path))
    (folder / "open").chmod(0o1777)  # sticky: nobody else replaces `below`
    assert read_private(str(path)) == b"x"


def test_a_file_with_a_second_name_is_refused(folder: Path) -> None:
    (folder / "file").write_text("x")
    os.link(folder / "file", folder / "second")
    with pytest.raises(FileError, match="second name"):
        read_private(str(folder / "file"))


@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_what_is_no_plain_file_is_refused_and_does_not_hold_us(folder: Path, kind: str) -> None:
    path = folder / kind
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path = Path("/dev/zero")
    with pytest.raises(FileError, match="not a plain file"):
        open_plain(str(path), os.O_RDONLY)


def test_a_file_of_another_user_is_refused(folder: Path) -> None:
    """Seen from a user namespace in which only we have a name, all others' files are foreign."""
    path = "/etc/passwd"
    if os.geteuid() == 0:
        path = str(folder / "theirs")
        Path(path).write_text("x")
        os.chown(path, 54321, 54321)
    code = (
        "import sys; from mcp_jail.store.files import *\n"
        "try: read_private(sys.argv[1])\n"
        "except FileError as error: print(error.message)"
    )
    jail = ("bwrap", "--unshare-user", "--uid", "4242", "--bind", "/", "/", "--dev", "/dev")
    found = output(start(code, path, before=jail))
    assert "belongs to another user, found uid" in found


def test_a_file_that_should_be_roots_and_is_not_is_refused(folder: Path) -> None:
    path = folder / "file"
    path.write_text("x")
    if os.geteuid() == 0:
        os.chown(path, 54321, 54321)
    with pytest.raises(FileError, match="expected root"):
        read_private(str(path), only_root=True)


def test_a_file_of_roots_that_the_user_can_write_is_not_roots(folder: Path) -> None:
    """Some systems give each user a group alone; a file of root's with that group is the user's."""
    if os.geteuid() != 0:
        return  # only root can be two users
    path = folder / "file"
    path.write_text("x")
    os.chown(path, 0, grp.getgrnam("daemon").gr_gid)
    path.chmod(0o664)
    for above in (folder, *folder.parents):
        if str(above).startswith("/tmp/"):
            above.chmod(0o755)
    assert as_user("daemon", lambda: read_private(str(path)).decode()) == "x"
    said = as_user("daemon", lambda: read_private(str(path), only_root=True).decode())
    assert "can be written by others (mode 0664)" in said


def as_user(name: str, act: Callable[[], str]) -> str:
    """What a process of another user gets, or why it gets nothing."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            user = pwd.getpwnam(name)
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
            os.write(writing, act().encode())
        except FileError as error:
            os.write(writing, error.message.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as said:
        text = said.read()
    os.waitpid(pid, 0)
    return text


def test_a_file_beyond_the_limit_is_refused(folder: Path) -> None:
    path = folder / "file"
    path.write_bytes(b"x" * 11)
    with pytest.raises(FileError, match="larger than 10 bytes"):
        read_private(str(path), limit=10)
    assert read_private(str(path), limit=11) == b"x" * 11


def test_a_missing_file_is_told_apart(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_private(str(folder / "nothing"))
    with pytest.raises(FileNotFoundError):
        read_private(str(folder / "no" / "thing"))


def test_a_file_that_is_not_trusted_yet_can_be_read_through_a_link(folder: Path) -> None:
    (folder / "real").write_text("x")
    (folder / "link").symlink_to(folder / "real")
    assert read_plain(str(folder / "link")) == b"x"


def test_a_replaced_file_is_private_and_leaves_no_draft(folder: Path) -> None:
    path = folder / "file"
    old = os.umask(0)
    try:
        replace_private(str(path), b"one")
        replace_private(str(path), b"two")
    finally:
        os.umask(old)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(folder) == ["file"]


def test_replacing_a_link_replaces_the_link_and_not_what_it_points_to(folder: Path) -> None:
    (folder / "victim").write_text("keep")
    (folder / "file").symlink_to(folder / "victim")
    replace_private(str(folder / "file"), b"new")
    assert (folder / "victim").read_text() == "keep"
    assert not (folder / "file").is_symlink()


def test_a_replacement_that_fails_leaves_the_old_file_and_no_draft(folder: Path) -> None:
    (folder / "place").mkdir()
    with pytest.raises(FileError, match="cannot be replaced"):
        replace_private(str(folder / "place"), b"new")
    assert os.listdir(folder) == ["place"]


def test_readers_see_the_old_or_the_new_content_and_nothing_between(folder: Path) -> None:
    path = str(folder / "file")
    contents = [bytes([65 + number]) * 50_000 for number in range(8)]
    replace_private(path, contents[0])

    def write_all() -> None:
        for content in contents:
            replace_private(path, content)

    writers = [threading.Thread(target=write_all) for _ in range(2)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert read_private(path) in contents
    for writer in writers:
        writer.join()
    assert os.listdir(folder) == ["file"]


def test_a_file_that_has_changed_is_not_replaced(folder: Path) -> None:
    path = folder / "file"
    assert not replace_unchanged(str(path), b"", b"new")
    path.write_bytes(b"old")
    for before in (b"", b"ol", b"olds", b"OLD"):
        assert not replace_unchanged(str(path), before, b"new")
    assert path.read_bytes() == b"old"
    assert replace_unchanged(str(path), b"old", b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(folder) == ["file"]


def test_one_of_many_who_create_a_file_makes_it(folder: Path) -> None:
    path = str(folder / "file")
    made: list[bool] = []
    threads = [
        threading.Thread(target=lambda n=number: made.append(create_private(path, b"%d" % n)))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [False] * 7 + [True]
    assert os.listdir(folder) == ["file"]


def test_creating_does_not_follow_a_link(folder: Path) -> None:
    (folder / "file").symlink_to(folder / "elsewhere")
    assert not create_private(str(folder / "file"), b"x")
    assert not (folder / "elsewhere").exists()


def test_a_folder_is_made_for_us_alone(folder: Path) -> None:
    make_private_folder(str(folder / "a" / "b"))
    assert stat.S_IMODE((folder / "a" / "b").stat().st_mode) == 0o700


def test_a_folder_that_others_can_write_is_not_taken(folder: Path) -> None:
    (folder / "open").mkdir()
    (folder / "open").chmod(0o777)
    with pytest.raises(FileError, match="can be written"):
        make_private_folder(str(folder / "open"))


def test_a_file_in_a_folders_place_is_told(folder: Path) -> None:
    (folder / "file").write_text("x")
    with pytest.raises(FileError, match="cannot be made"):
        make_private_folder(str(folder / "file" / "below"))


def test_a_kill_while_a_file_is_made_leaves_it_whole_or_not_there(folder: Path) -> None:
    path = folder / "deep" / "file"
    found: set[bytes | None] = set()

    def fresh() -> None:
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir(mode=0o700)

    def check() -> None:
        found.add(read_private(str(path)) if path.exists() else None)

    killed_at_each_step(fresh, lambda: create_private(str(path), b"all of it"), check)
    assert found == {None, b"all of it"}
