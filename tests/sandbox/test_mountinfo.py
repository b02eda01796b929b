"""The kernel's list is read as it is written, and every difference from a plan is told."""

from __future__ import annotations

from mcp_jail.core.spec import Mount, MountKind
from mcp_jail.sandbox.mountinfo import differences, parse

TEXT = r"""65 42 0:40 /newroot / ro,nosuid,nodev,relatime - tmpfs tmpfs rw
66 65 254:0 /usr /usr ro,nosuid,nodev,relatime - ext4 /dev/vda rw,discard
67 65 0:41 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
70 65 0:42 / /dev ro,nosuid,nodev,relatime shared:1 master:2 - tmpfs tmpfs rw,mode=755
71 70 0:6 /null /dev/null rw,nosuid,relatime - devtmpfs devtmpfs rw
79 65 0:45 / /with\040space\011tab\134 rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=1024k
"""


def mount(kind: MountKind, destination: str) -> Mount:
    return Mount(kind=kind, destination=destination, why="test", source="/x")


PLAN = (
    mount(MountKind.BIND_READ_ONLY, "/usr"),
    mount(MountKind.PROC, "/proc"),
    mount(MountKind.DEV, "/dev"),
    mount(MountKind.TMPFS, "/with space\ttab\\"),
    mount(MountKind.SYMLINK, "/bin"),
    mount(MountKind.DATA, "/etc/hosts"),
)


def test_a_line_is_read_as_the_kernel_writes_it() -> None:
    points = parse(TEXT)
    assert [point.place for point in points] == [
        "/", "/usr", "/proc", "/dev", "/dev/null", "/with space\ttab\\",
    ]  # fmt: skip
    assert [point.kind for point in points][:3] == ["tmpfs", "ext4", "proc"]
    assert points[1].read_only
    assert not points[2].read_only


def test_mounts_as_planned_have_no_difference() -> None:
    assert differences(PLAN, parse(TEXT)) == ()


def test_a_mount_that_is_gone_is_told() -> None:
    text = TEXT.replace("66 65 254:0 /usr /usr", "66 65 254:0 /usr /other")
    assert differences(PLAN, parse(text)) == (
        "'/usr' is not mounted",
        "'/other' is mounted and was not planned",
    )


def test_a_mount_that_became_writable_is_told() -> None:
    text = TEXT.replace("/usr /usr ro,", "/usr /usr rw,")
    assert differences(PLAN, parse(text)) == ("'/usr' is not read-only",)


def test_a_mount_on_top_of_another_is_told() -> None:
    text = TEXT + "80 66 0:9 / /usr rw,nosuid - tmpfs tmpfs rw\n"
    assert differences(PLAN, parse(text)) == ("'/usr' is not read-only",)


def test_a_mount_that_honours_set_user_id_programs_is_told() -> None:
    text = TEXT.replace("/usr /usr ro,nosuid,", "/usr /usr ro,")
    assert differences(PLAN, parse(text)) == ("'/usr' honours set-user-id programs",)


def test_a_writable_root_is_told() -> None:
    text = TEXT.replace("/newroot / ro", "/newroot / rw")
    assert differences(PLAN, parse(text)) == ("'/' is not read-only",)
    assert "'/' is not mounted" in differences(PLAN, ())


def test_a_mount_of_the_host_inside_a_share_keeps_the_shares_rules() -> None:
    inside = "81 66 0:9 / /usr/disk {},nosuid - ext4 /dev/vdb rw\n"
    assert differences(PLAN, parse(TEXT + inside.format("ro"))) == ()
    told = differences(PLAN, parse(TEXT + inside.format("rw")))
    assert told == ("'/usr/disk' is not read-only",)
