"""What of the host's system is seen, for root and for everybody else."""

from __future__ import annotations

import os

from mcp_jail.sandbox.system import COPY_LIMIT, look_at_system


def test_the_system_has_programs() -> None:
    assert "/usr" in {seen.path for seen in look_at_system(1000).directories}


def test_root_sees_no_more_of_proc_that_it_could_write() -> None:
    roots = {seen.path for seen in look_at_system(0).proc_read_only}
    others = {seen.path for seen in look_at_system(1000).proc_read_only}
    assert "/proc/sys" in others
    assert others <= roots
    assert {"/proc/irq", "/proc/fs"} & roots


def test_what_the_user_may_read_of_the_machine_is_hidden() -> None:
    hidden = {seen.path for seen in look_at_system(os.getuid()).proc_hidden}
    for name in ("kcore", "keys", "timer_list", "kmsg"):
        assert f"/proc/{name}" in hidden or not os.access(f"/proc/{name}", os.R_OK)


def test_copies_are_small_files_with_their_content() -> None:
    seen = look_at_system(1000)
    for path, content in seen.copies.items():
        assert len(content) <= COPY_LIMIT
        with open(path, "rb") as file:
            assert file.read() == content
