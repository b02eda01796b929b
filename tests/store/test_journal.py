"""The journal against links, full disks, other writers and kills."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from chains import CALL
from mcp_jail.core.recorded.audit import Anchor, Chain, Entry, Kind
from mcp_jail.core.recorded.verify import RunState
from mcp_jail.errors import AuditError, ExitCode
from mcp_jail.store.history import verify_file
from mcp_jail.store.journal import Journal, open_journal, rotated
from programs import output, start, with_disk

START, END = Entry(kind=Kind.START, name="files"), Entry(kind=Kind.END)

# Writes calls of one run, ten a batch, until told otherwise; says why it stopped.
WRITER = """
import os, resource, sys
from chains import CALL
from mcp_jail.core.recorded.audit import Chain, Entry, Kind
from mcp_jail.errors import AuditError
from mcp_jail.store.journal import open_journal
path, run, batches, limit = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
journal = open_journal(path)
chain = Chain(run, journal.anchor)
journal.write(chain.seal(Entry(kind=Kind.START, name="files"), 1))
print("started", flush=True)
try:
    for batch in range(batches):
        journal.write(b"".join(chain.seal(CALL, batch) for _ in range(10)))
    journal.write(chain.seal(Entry(kind=Kind.END), 2))
    journal.close()
    print("ended")
except AuditError as error:
    print(error.message)
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        journal.write(b"x")
    except AuditError:
        print("still failed")
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "files.jsonl")


def begin(path: str, run: str, *, rotate_bytes: int = 1 << 30) -> tuple[Journal, Chain]:
    journal = open_journal(path, rotate_bytes=rotate_bytes)
    chain = Chain(run, journal.anchor)
    journal.write(chain.seal(START, 1))
    return journal, chain


def whole_run(path: str, run: str, *, rotate_bytes: int = 1 << 30) -> None:
    journal, chain = begin(path, run, rotate_bytes=rotate_bytes)
    journal.write(chain.seal(CALL, 2) + chain.seal(END, 3))
    journal.close()


def states(path: str) -> dict[str, str]:
    report = verify_file(path)
    assert report.broken == 0, report.breaks
    return {run.run: run.state.value for run in report.runs}


def test_a_run_starts_an_audit_file_for_its_user_alone(path: str) -> None:
    whole_run(path, "one")
    assert states(path) == {"one": "ok"}
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


@pytest.mark.parametrize("kind", ["link", "dangling link", "second name", "fifo", "folder", "open"])
def test_a_file_that_is_not_ours_alone_is_refused_and_left_as_it_is(path: str, kind: str) -> None:
    victim = Path(path).parent / "victim"
    victim.parent.mkdir(mode=0o700)
    victim.write_text("keep")
    match kind:
        case "link":
            os.symlink(victim, path)
        case "dangling link":
            os.symlink(victim.parent / "nothing", path)
        case "second name":
            os.link(victim, path)
        case "fifo":
            os.mkfifo(path)
        case "folder":
            os.mkdir(path)
        case _:
            Path(path).touch()
            os.chmod(path, 0o622)
    with pytest.raises(AuditError) as caught:
        open_journal(path)
    assert caught.value.exit_code is ExitCode.AUDIT
    assert victim.read_text() == "keep"
    assert not (victim.parent / "nothing").exists()


def test_a_folder_that_others_can_write_is_refused(path: str) -> None:
    os.mkdir(os.path.dirname(path))
    os.chmod(os.path.dirname(path), 0o777)
    with pytest.raises(AuditError, match="can be written by others"):
        open_journal(path)


def test_a_full_disk_stops_the_run_for_good() -> None:
    """On a real file system of 64 KiB, as root and as anybody."""
    check = (
        "\nfrom mcp_jail.store.history import verify_file\n"
        "print([run.state.value for run in verify_file(path).runs], verify_file(path).broken)"
    )
    disk = with_disk("--perms", "0700", "--size", "65536", "--tmpfs", "/disk")
    program = start(WRITER + check, "/disk/files.jsonl", "one", "1000", "0", before=disk)
    said = output(program).splitlines()
    assert said[0] == "started"
    assert said[1].endswith("cannot be written: No space left on device")
    assert said[2:] == ["still failed", "['open'] 0"]


def test_a_write_that_the_device_refuses_stops_the_run_for_good() -> None:
    journal = Journal("audit", os.open("/dev/full", os.O_WRONLY), Anchor(), 0)
    line = Chain("one").seal(START, 1)
    for _ in range(2):
        with pytest.raises(AuditError, match="No space left on device"):
            journal.write(line)


def test_a_read_only_disk_is_told_at_the_start() -> None:
    disk = with_disk("--perms", "0700", "--tmpfs", "/disk", "--remount-ro", "/disk")
    program = start(WRITER, "/disk/files.jsonl", "one", "1", "0", before=disk)
    _, error = program.communicate(timeout=60)
    assert "AuditError" in error
    assert "Read-only file system" in error


def test_half_a_line_that_a_limit_left_is_ended_by_the_next_run(path: str) -> None:
    said = output(start(WRITER, path, "one", "1000", "20000")).splitlines()
    assert said[-1] == "still failed"
    assert os.stat(path).st_size == 20_000
    assert not Path(path).read_bytes().endswith(b"\n")
    whole_run(path, "two")
    assert states(path) == {"one": "open", "two": "ok"}
    assert verify_file(path).torn == 1


def test_half_a_line_that_a_limit_left_is_ended_by_another_run_that_goes_on(path: str) -> None:
    journal, chain = begin(path, "two")
    output(start(WRITER, path, "one", "1000", "20000"))
    journal.write(chain.seal(CALL, 2))
    journal.write(chain.seal(END, 3))
    assert states(path) == {"one": "open", "two": "ok"}
    assert verify_file(path).torn == 1


def test_two_processes_write_one_file_and_it_verifies(path: str) -> None:
    programs = [start(WRITER, path, run, "200", "0") for run in ("one", "two")]
    for program in programs:
        assert output(program).split() == ["started", "ended"]
    assert states(path) == {"one": "ok", "two": "ok"}
    assert verify_file(path).entries == 2 * 2002


def test_a_killed_writer_leaves_an_open_run_and_the_next_one_is_whole(path: str) -> None:
    program = start(WRITER, path, "one", "1000000000", "0")
    assert program.stdout is not None
    assert program.stdout.readline() == "started\n"
    while os.stat(path).st_size < 100_000:
        assert program.poll() is None
    program.send_signal(signal.SIGKILL)
    program.communicate()
    whole_run(path, "two")
    assert states(path) == {"one": "open", "two": "ok"}


def test_a_batch_is_one_write(path: str) -> None:
    journal, chain = begin(path, "one")
    batch = b"".join(chain.seal(CALL, 1) for _ in range(5_000))
    journal.write(batch)
    assert Path(path).read_bytes().endswith(batch)


def test_a_later_run_anchors_what_stands_before_it(path: str) -> None:
    whole_run(path, "one")
    size = os.stat(path).st_size
    journal = open_journal(path)
    assert journal.anchor.offset == size
    whole_run(path, "two")
    content = Path(path).read_bytes()
    first, rest = content.split(b"\n", 1)
    Path(path).write_bytes(rest)
    assert verify_file(path).state is RunState.BROKEN
    Path(path).write_bytes(first + b"\n" + rest)
    assert verify_file(path).state is RunState.OK


def test_a_file_gets_a_number_at_a_start_and_the_next_one_is_anchored_in_it(path: str) -> None:
    for run in ("one", "two", "three"):
        whole_run(path, run, rotate_bytes=1)
    files = [*rotated(path), path]
    assert [os.path.basename(file) for file in files] == [
        "files.jsonl.1",
        "files.jsonl.2",
        "files.jsonl",
    ]
    assert [states(file) for file in files] == [{"one": "ok"}, {"two": "ok"}, {"three": "ok"}]


def test_a_run_goes_on_in_its_file_when_another_start_gives_that_a_number(path: str) -> None:
    journal, chain = begin(path, "one")
    whole_run(path, "two", rotate_bytes=1)
    journal.write(chain.seal(CALL, 2) + chain.seal(END, 3))
    assert states(f"{path}.1") == {"one": "ok"}
    assert states(path) == {"two": "ok"}


def test_a_change_of_a_numbered_file_is_found_from_the_next_one(path: str) -> None:
    journal, chain = begin(path, "one")
    journal.write(chain.seal(CALL, 2) + chain.seal(CALL, 3))
    whole_run(path, "two", rotate_bytes=1)
    lines = Path(f"{path}.1").read_bytes().splitlines(keepends=True)
    Path(f"{path}.1").write_bytes(b"".join(lines[:-1]))
    assert states(f"{path}.1") == {"one": "open"}
    report = verify_file(path)
    assert "files.jsonl.1) is not what it was" in report.breaks[0].message


def test_a_numbered_file_that_was_taken_away_is_told_and_breaks_nothing(path: str) -> None:
    whole_run(path, "one")
    whole_run(path, "two", rotate_bytes=1)
    os.unlink(f"{path}.1")
    assert states(path) == {"two": "ok"}
    assert verify_file(path).runs[0].archived


def test_many_starts_at_once_that_would_all_turn_the_file_lose_nothing(path: str) -> None:
    code = WRITER.replace("open_journal(path)", "open_journal(path, rotate_bytes=1)")
    programs = [start(code, path, f"run{number}", "1", "0") for number in range(6)]
    for program in programs:
        output(program)
    found: dict[str, str] = {}
    for file in [*rotated(path), path]:
        found |= states(file)
    assert found == {f"run{number}": "ok" for number in range(6)}
