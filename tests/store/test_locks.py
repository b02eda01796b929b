"""Lock files: read whole or refused, never lost between several writers."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from mcp_jail.core.approved.lock import ItemKind, Lock, write_lock
from mcp_jail.store.locks import LockError, LockFiles, lock_files, read_proposal, write_proposal
from mcp_jail.store.places import find_places
from pins import lock_of, tool
from programs import output, start, with_disk

LOCK = lock_of(tool("echo"))


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture
def files(folder: str) -> LockFiles:
    return lock_files(find_places({"MCP_JAIL_HOME": folder}), "fs")


def written(files: LockFiles, lock: Lock = LOCK) -> Path:
    files.change(lambda _: lock)
    return Path(files.lock)


def test_before_anything_is_approved_there_is_no_lock(files: LockFiles) -> None:
    assert files.read() is None
    assert files.read_pending() is None
    assert files.version() is None


def test_a_lock_is_read_as_it_was_written_by_its_user_alone(files: LockFiles) -> None:
    path = written(files)
    assert files.read() == LOCK
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_policy_called_pending_has_files_of_its_own(folder: str, files: LockFiles) -> None:
    written(files)
    files.write_pending(lock_of(tool("new")))
    other = lock_files(find_places({"MCP_JAIL_HOME": folder}), "fs.pending")
    assert other.read() is None
    assert other.read_pending() is None
    written(other, lock_of(tool("other"), name="fs.pending"))
    assert files.read() == LOCK
    assert files.read_pending() == lock_of(tool("new"))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"v":1}',
        '{"v":2,"name":"fs"}',
        '{"v":1,"name":"fs","more":1}',
        '{"v":1,"name":"fs","items":{"what/x":[]}}',
        '{"v":1,"name":"fs","items":{"tool/x":[]}}',
        '{"v":1,"name":"fs","items":{"tool/x":[{"digest":"00","era":"legacy","value":{}}]}}',
        "[" * 100_000,
        "\udcff",
    ],
    ids=lambda text: ascii(text[:40]),
)
def test_a_damaged_lock_is_refused(files: LockFiles, content: str) -> None:
    path = written(files)
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(LockError, match="cannot be read") as caught:
        files.read()
    assert "move it away" in caught.value.hint


def test_a_text_that_was_exchanged_below_its_digest_is_refused(files: LockFiles) -> None:
    path = written(files)
    path.write_text(path.read_text().replace("Does it.", "Does evil."))
    with pytest.raises(LockError, match="digest of 'tool/echo' is not that of its object"):
        files.read()


@pytest.mark.parametrize("kind", ["link", "hard link", "fifo", "folder", "writable by others"])
def test_a_lock_that_is_no_plain_file_of_ours_is_refused(files: LockFiles, kind: str) -> None:
    path = written(files)
    elsewhere = path.parent.parent / "elsewhere"
    match kind:
        case "link":
            path.rename(elsewhere)
            path.symlink_to(elsewhere)
        case "hard link":
            elsewhere.hardlink_to(path)
        case "fifo":
            path.unlink()
            os.mkfifo(path)
        case "folder":
            path.unlink()
            path.mkdir()
        case _:
            path.chmod(0o666)
    with pytest.raises(LockError):
        files.read()


def test_a_lock_of_another_user_is_refused(tmp_path: Path, files: LockFiles) -> None:
    """Seen from a user namespace in which only we have a name, all others' files are foreign."""
    path = written(files)
    if os.geteuid() == 0:
        os.chown(path, 54321, 54321)
    else:
        path.unlink()
        path.symlink_to("/etc/passwd")
    code = (
        "import sys; from mcp_jail.store.locks import *\n"
        "try: print(LockFiles(sys.argv[1], '/nowhere').read())\n"
        "except LockError as error: print('refused')"
    )
    jail = ("bwrap", "--unshare-user", "--uid", "4242", "--bind", "/", "/", "--dev", "/dev")
    assert output(start(code, str(path), before=jail)).strip() == "refused"


def test_a_first_contact_does_not_take_the_place_of_another(files: LockFiles) -> None:
    files.trust_first(LOCK)
    holds = files.trust_first(lock_of(tool("echo", "Other."), tool("more")))
    assert holds == files.read() == LOCK


def test_a_first_contact_adds_the_kinds_that_are_new(files: LockFiles) -> None:
    files.trust_first(LOCK)
    prompts = Lock(name="fs", kinds=(ItemKind.PROMPT,))
    assert set(files.trust_first(prompts).kinds) == {ItemKind.TOOL, ItemKind.PROMPT}


def test_another_file_in_its_place_is_another_version(files: LockFiles) -> None:
    written(files)
    before = files.version()
    assert before == files.version()
    written(files)
    assert files.version() not in {None, before}


def test_a_proposal_may_be_anybodys_and_must_be_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "mcp-jail.lock.json"
    assert read_proposal(str(path)) is None
    write_proposal(str(path), LOCK)
    path.chmod(0o666)
    assert read_proposal(str(path)) == LOCK
    path.write_text("{}")
    with pytest.raises(LockError, match=r"lock\.file proposes cannot be read"):
        read_proposal(str(path))
    with pytest.raises(LockError, match=r"lock\.file proposes cannot be read"):
        write_proposal(str(path), LOCK)
    assert path.read_text() == "{}"


def test_a_proposal_is_not_written_where_there_is_no_directory(tmp_path: Path) -> None:
    path = str(tmp_path / "nodir" / "mcp-jail.lock.json")
    assert read_proposal(path) is None
    with pytest.raises(LockError, match="is not there"):
        write_proposal(path, LOCK)


def test_a_proposal_is_text_that_versions_can_be_compared_of(tmp_path: Path) -> None:
    path = tmp_path / "lock.json"
    write_proposal(str(path), LOCK)
    assert path.read_bytes() == write_lock(LOCK)
    assert len(path.read_text().splitlines()) > 10


CHANGE = """
import sys
from mcp_jail.store.locks import lock_files
from mcp_jail.store.places import find_places
from mcp_jail.core.approved.lock import approve
from pins import lock_of, tool
files = lock_files(find_places({"MCP_JAIL_HOME": sys.argv[1]}), "fs")
for number in range(20):
    seen = lock_of(tool(f"{sys.argv[2]}-{number}"))
    files.change(lambda lock: approve(lock, seen))
    files.write_pending(seen)
"""


def test_several_writers_never_lose_each_others_words(files: LockFiles, folder: str) -> None:
    programs = [start(CHANGE, folder, name) for name in ("a", "b", "c", "d")]
    for program in programs:
        output(program)
    lock = files.read()
    assert lock is not None
    assert set(lock.items) == {f"tool/{who}-{number}" for who in "abcd" for number in range(20)}
    assert files.read_pending() is not None
    assert sorted(os.listdir(os.path.dirname(files.lock))) == ["fs.json"]


def test_a_full_disk_leaves_the_old_lock(tmp_path: Path, files: LockFiles, folder: str) -> None:
    code = """
import sys
from mcp_jail.store.files import FileError
from mcp_jail.store.locks import lock_files
from mcp_jail.store.places import find_places
from pins import lock_of, tool
files = lock_files(find_places({"MCP_JAIL_HOME": sys.argv[1]}), "fs")
files.change(lambda _: lock_of(tool("echo")))
try:
    files.change(lambda _: lock_of(tool("echo", "x" * 2_000_000)))
except FileError as error:
    print("refused:", "No space" in error.message, files.read() == lock_of(tool("echo")))
"""
    disk = with_disk("--perms", "0700", "--size", str(1 << 20), "--tmpfs", "/disk")
    assert output(start(code, "/disk/home", before=disk)).strip() == "refused: True True"


def test_a_large_lock_is_read_and_one_without_end_is_not(files: LockFiles) -> None:
    many = lock_of(*(tool(f"t{number}") for number in range(10_000)))
    path = written(files, many)
    assert files.read() == many
    with path.open("ab") as file:
        file.truncate(65 * 1024 * 1024)
    with pytest.raises(LockError, match="larger than"):
        files.read()


def test_nothing_of_a_lock_is_lost_on_the_way_through_its_file(files: LockFiles) -> None:
    value = tool("n", "\u202e\x1b\u2028", big=2**63 - 1, real=1.0, none=None, odd={"ключ": [True]})
    lock = msgspec.structs.replace(lock_of(value), peers={"legacy": {"version": "2025-11-25"}})
    written(files, lock)
    assert files.read() == lock
