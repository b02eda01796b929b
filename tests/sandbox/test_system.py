"""What of the host's system is seen, for root and for everybody else."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_jail.sandbox.protected import lies_in
from mcp_jail.sandbox.system import (
    COPY_LIMIT,
    PROC_HIDDEN,
    PROC_READ_ONLY,
    PROC_READ_ONLY_FOR_ROOT,
    look_at_system,
)


def test_the_system_has_programs() -> None:
    assert "/usr" in {seen.path for seen in look_at_system(1000).directories}


# What container runtimes hide and close of /proc, and what else a user could read there. Said here
# again, so that a mask that is taken away is missed.
HIDDEN = """acpi asound scsi kcore keys latency_stats timer_list timer_stats sched_debug kpagecount
kpageflags kpagecgroup kmsg mtrr""".split()
PRIVATE_KEY = re.compile(rb"^-----BEGIN .*PRIVATE KEY", re.MULTILINE)
CLOSED_FOR_ROOT = "bus fs irq sysrq-trigger".split()


def test_the_masks_over_proc_are_all_there() -> None:
    assert sorted(PROC_HIDDEN) == sorted(HIDDEN)
    assert PROC_READ_ONLY == ("sys",)
    assert sorted(PROC_READ_ONLY_FOR_ROOT) == CLOSED_FOR_ROOT


def test_root_sees_no_more_of_proc_that_it_could_write() -> None:
    closed = {seen.path for seen in look_at_system(0).proc_read_only}
    there = {f"/proc/{n}" for n in CLOSED_FOR_ROOT if os.path.lexists(f"/proc/{n}")}
    assert closed == {"/proc/sys", *there}
    assert {seen.path for seen in look_at_system(1000).proc_read_only} == {"/proc/sys"}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_the_user_may_read_of_the_machine_is_hidden(name: str) -> None:
    hidden = {seen.path for seen in look_at_system(os.getuid()).proc_hidden}
    assert (f"/proc/{name}" in hidden) == os.access(f"/proc/{name}", os.R_OK)


def test_nothing_that_is_shown_of_the_settings_is_a_secret() -> None:
    for shown in look_at_system(os.getuid()).etc:
        for file in files_of(shown.real):
            status = os.stat(file)
            assert status.st_mode & stat.S_IROTH, f"{file} is closed to other users"
            assert not PRIVATE_KEY.search(Path(file).read_bytes()), file


def files_of(path: str) -> Iterator[str]:
    """The files at and below a path; what links lead to is shown elsewhere or not at all."""
    places = [path, *(os.path.join(top, name) for top, _, names in os.walk(path) for name in names)]
    yield from (place for place in places if stat.S_ISREG(os.lstat(place).st_mode))


@pytest.mark.parametrize(
    "name", ["shadow", "gshadow", "ssl/private", "ssh", "sudoers", "machine-id"]
)
def test_a_secret_of_the_system_is_not_shown(name: str) -> None:
    shown = {seen.path for seen in look_at_system(os.getuid()).etc}
    assert not any(lies_in(f"/etc/{name}", path) for path in shown)


def test_copies_are_small_files_with_their_content() -> None:
    seen = look_at_system(1000)
    for path, content in seen.copies.items():
        assert len(content) <= COPY_LIMIT
        with open(path, "rb") as file:
            assert file.read() == content
