"""The kernel's list is read as it is written, and every difference from a plan is told."""

from __future__ import annotations

import pytest

from mcp_jail.core.spec import Mount, MountKind
from mcp_jail.sandbox.mountinfo import differences, parse, strangers

TEXT = r"""65 42 0:40 /newroot / ro,nosuid,nodev,relatime - tmpfs tmpfs rw
66 65 254:0 /usr /usr ro,nosuid,nodev,relatime - ext4 /dev/vda rw,discard
67 65 0:41 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
70 65 0:42 / /dev ro,nosuid,nodev,relatime shared:1 master:2 - tmpfs tmpfs rw,mode=755
71 70 0:6 /null /dev/null rw,nosuid,relatime - devtmpfs devtmpfs rw
79 65 0:45 / /with\040space\011tab\134 rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=1024k
82 65 254:1 /u/share /home/u/share rw,nosuid,nodev,relatime - ext4 /dev/vdb rw
"""
HOST = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
28 27 254:1 / /home rw,relatime - ext4 /dev/vdb rw
"""
DISK = "29 28 8:1 /sub /home/u/share/disk rw,relatime - vfat /dev/sdb1 rw\n"
DISK_INSIDE = "83 82 8:1 /sub /home/u/share/disk rw,nosuid,nodev,relatime - vfat /dev/sdb1 rw\n"


def mount(kind: MountKind, destination: str, source: str | None = None) -> Mount:
    return Mount(kind=kind, destination=destination, why="test", source=source)


PLAN = (
    mount(MountKind.BIND_READ_ONLY, "/usr", "/usr"),
    mount(MountKind.PROC, "/proc"),
    mount(MountKind.DEV, "/dev"),
    mount(MountKind.TMPFS, "/with space\ttab\\"),
    mount(MountKind.SYMLINK, "/bin"),
    mount(MountKind.DATA, "/etc/hosts"),
    mount(MountKind.BIND_READ_WRITE, "/home/u/share", "/home/u/share"),
)


def told(text: str, host: str = HOST, plan: tuple[Mount, ...] = PLAN) -> tuple[str, ...]:
    """What is told of a jail's list, by both looks."""
    points = parse(text)
    return differences(plan, points) + strangers(plan, points, parse(host))


def test_a_line_is_read_as_the_kernel_writes_it() -> None:
    points = parse(TEXT)
    assert [point.place for point in points] == [
        "/", "/usr", "/proc", "/dev", "/dev/null", "/with space\ttab\\", "/home/u/share",
    ]  # fmt: skip
    assert [point.kind for point in points][:3] == ["tmpfs", "ext4", "proc"]
    assert (points[1].number, points[1].parent, points[1].device) == (66, 65, "254:0")
    assert points[1].root == "/usr"
    assert points[1].read_only
    assert not points[2].read_only


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r"])
def test_no_sign_in_a_name_ends_a_line(sign: str) -> None:
    (point,) = parse(f"1 2 0:1 / /a{sign}b rw,nosuid - tmpfs tmpfs rw\n")
    assert point.place == f"/a{sign}b"


def test_mounts_as_planned_have_no_difference() -> None:
    assert told(TEXT) == ()


def test_a_mount_that_is_gone_is_told() -> None:
    text = TEXT.replace("66 65 254:0 /usr /usr", "66 65 254:0 /usr /other")
    assert differences(PLAN, parse(text)) == (
        "'/usr' is not mounted",
        "'/other' is mounted and was not planned",
    )


def test_a_mount_that_became_writable_is_told() -> None:
    text = TEXT.replace("/usr /usr ro,", "/usr /usr rw,")
    assert told(text) == ("'/usr' is not read-only",)


@pytest.mark.parametrize(
    ("option", "words"), [("nosuid,", "set-user-id programs"), ("nodev,", "device files")]
)
def test_a_mount_that_honours_what_it_should_not_is_told(option: str, words: str) -> None:
    line = "/usr /usr ro,nosuid,nodev,"
    text = TEXT.replace(line, line.replace(option, ""))
    assert told(text) == (f"'/usr' honours {words}",)


def test_a_writable_root_is_told() -> None:
    text = TEXT.replace("/newroot / ro", "/newroot / rw")
    assert differences(PLAN, parse(text)) == ("'/' is not read-only",)
    assert "'/' is not mounted" in differences(PLAN, ())


# What somebody gains who exchanges directories while bwrap mounts.
ATTACKS = {
    "a secret at a place nobody planned": (
        "90 82 254:1 /u/.ssh /home/u/share/b rw,nosuid,nodev - ext4 /dev/vdb rw\n",
        "'/home/u/share/b' is mounted and was not planned",
    ),
    "a secret over what was planned": (
        "90 82 254:1 /u/.ssh /home/u/share rw,nosuid,nodev - ext4 /dev/vdb rw\n",
        "'/home/u/share' is not the host's '/home/u/share'",
    ),
    "a secret under what was planned": (
        "90 65 254:1 /u/.ssh /home/u/share rw,nosuid,nodev - ext4 /dev/vdb rw\n",
        "'/home/u/share' is mounted and was not planned",
    ),
    "a secret where bwrap mounts a device": (
        "90 70 254:1 /u/.ssh /dev/zero rw,nosuid - ext4 /dev/vdb rw\n",
        "'/dev/zero' is mounted and was not planned",
    ),
    "a secret where bwrap covers proc": (
        "90 67 254:1 /u/.ssh /proc/sys ro,nosuid,nodev - ext4 /dev/vdb rw\n",
        "'/proc/sys' is mounted and was not planned",
    ),
    "a second root": (
        "90 65 254:1 /u/.ssh / ro,nosuid,nodev - ext4 /dev/vdb rw\n",
        "'/' is mounted and was not planned",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_whatever_was_not_planned_is_told(name: str) -> None:
    line, expected = ATTACKS[name]
    text = TEXT + line
    if name.endswith("under what was planned"):
        text = text.replace("82 65 254:1", "82 90 254:1")
    assert expected in told(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("82 65 254:1 /u/share", "82 65 254:1 /u/.ssh"),
        ("82 65 254:1 /u/share", "82 65 254:1 /u/shareholders"),
        ("82 65 254:1 /u/share", "82 65 254:1 /"),
        ("82 65 254:1 /u/share", "82 65 254:0 /u/share"),
    ],
)
def test_a_bind_of_something_else_is_told(before: str, after: str) -> None:
    assert told(TEXT.replace(before, after)) == (
        "'/home/u/share' is not the host's '/home/u/share'",
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [("79 65 0:45 /", "79 65 254:1 /"), ("0:45 / ", "0:45 /part "), ("0:41 / ", "0:21 / ")],
)
def test_a_file_system_that_is_not_the_jails_own_is_told(before: str, after: str) -> None:
    (words,) = told(TEXT.replace(before, after))
    assert words.endswith("is not a file system of the jail's own")


def test_a_mount_that_another_one_hides_is_told() -> None:
    text = TEXT.replace("82 65", "82 66")
    assert told(text) == ("'/home/u/share' lies below another mount",)


def test_a_disk_of_the_host_inside_a_share_comes_along() -> None:
    assert told(TEXT + DISK_INSIDE, HOST + DISK) == ()


def test_a_disk_of_the_host_inside_a_share_keeps_the_shares_rules() -> None:
    text = TEXT + DISK_INSIDE.replace("disk rw,", "disk ro,")
    assert told(text, HOST + DISK) == ("'/home/u/share/disk' is read-only",)


@pytest.mark.parametrize(
    ("before", "after"),
    [("8:1 /sub", "8:1 /"), ("8:1 /sub", "8:2 /sub"), ("share/disk", "share/dusk")],
)
def test_a_disk_that_the_host_has_not_there_is_told(before: str, after: str) -> None:
    (words,) = told(TEXT + DISK_INSIDE.replace(before, after), HOST + DISK)
    assert words.endswith("is mounted and was not planned")


def test_a_disk_that_the_host_hides_is_told() -> None:
    hidden = DISK + "30 28 0:99 / /home/u/share rw - tmpfs tmpfs rw\n"
    text = TEXT.replace("254:1 /u/share", "0:99 /") + DISK_INSIDE
    assert told(text, HOST + hidden) == ("'/home/u/share/disk' is mounted and was not planned",)


def test_a_share_on_a_disk_inside_another_share_lies_on_the_disks_mount() -> None:
    plan = (*PLAN, mount(MountKind.BIND_READ_ONLY, *["/home/u/share/disk"] * 2))
    inside = DISK_INSIDE.replace("83 82", "84 83").replace("disk rw", "disk ro")
    assert told(TEXT + DISK_INSIDE + inside, HOST + DISK, plan) == ()
    assert told(TEXT + inside + DISK_INSIDE, HOST + DISK, plan) == ()  # listed in any order


def test_a_share_on_nfs_is_known_by_its_device() -> None:
    host = HOST.replace("28 27 254:1 / /home rw,relatime - ext4", "28 27 0:7 / /home rw - nfs4")
    assert told(TEXT.replace("254:1 /u/share", "0:7 /"), host) == ()
    assert told(TEXT.replace("254:1 /u/share", "0:8 /"), host) != ()


def test_what_bwrap_mounts_over_proc_lies_under_what_was_planned() -> None:
    plan = (*PLAN, mount(MountKind.BIND_READ_ONLY, "/proc/sys", "/proc/sys"))
    text = TEXT + (
        "90 67 0:41 /sys /proc/sys ro,nosuid,nodev - proc proc rw\n"
        "91 90 0:21 /sys /proc/sys ro,nosuid,nodev - proc proc rw\n"
    )
    assert told(text, plan=plan) == ()
