"""What this machine offers for a jail, each fact with how it was found, each lack with its cure.

Looks only where root decides what lies there: a bwrap found by PATH could be anybody's program.
A gap is never worked around; a plan that carries one is not started.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from typing import Final

from mcp_jail.core.spec import Gap, Value
from mcp_jail.sandbox.seccomp import ARCHES

BWRAP_DIRECTORIES: Final = (
    "/usr/bin",
    "/bin",
    "/usr/local/bin",
    "/run/current-system/sw/bin",  # NixOS
    "/nix/var/nix/profiles/default/bin",  # Nix on another system
)
BWRAP_OLDEST: Final = (0, 8, 0)  # --disable-userns and --size; Debian 12 has it
PROGRAM_LIMIT: Final = 4 << 20  # bytes of bwrap that are read; it has 0.1 MB
INSTALL: Final = (
    "install bubblewrap 0.8.0 or newer from your distribution, e.g. apt install bubblewrap"
)


class Fact(Value, frozen=True):
    """Something found out about this machine, and by which look."""

    name: str
    value: str
    found_by: str


class Host(Value, frozen=True):
    """This machine and this user, as far as a jail depends on them."""

    bwrap: str | None
    bwrap_version: tuple[int, int, int] | None
    arch: str
    uid: int
    gid: int
    user: str
    home: str
    account_home: str  # from the account database; differs from `home` where HOME was set by hand
    facts: tuple[Fact, ...]
    gaps: tuple[Gap, ...]
    resolv: str | None = None  # resolv.conf of the host, where a jail is to have its network


def probe(
    environ: Mapping[str, str] | None = None,
    *,
    directories: tuple[str, ...] = BWRAP_DIRECTORIES,
    trusted_owner: int = 0,
    sysctls: str = "/proc/sys",
    apparmor_profiles: str = "/etc/apparmor.d",
) -> Host:
    """Look at this machine. Never raises for what is missing: that is in `gaps`.

    `directories`, `trusted_owner`, `sysctls` and `apparmor_profiles` exist for tests.
    """
    environ = os.environ if environ is None else environ
    uid, gid = os.getuid(), os.getgid()
    user, account_home = _account(uid)
    home = environ.get("HOME", "")
    home = home if os.path.isabs(home) else account_home
    bwrap, version, bwrap_gap = _find_bwrap(directories, trusted_owner)
    arch = os.uname().machine
    gaps = (bwrap_gap, _namespace_gap(uid, sysctls, apparmor_profiles), _arch_gap(arch))
    return Host(
        bwrap=bwrap,
        bwrap_version=version,
        arch=arch,
        uid=uid,
        gid=gid,
        user=user,
        home=os.path.normpath(home),
        account_home=account_home,
        facts=(
            Fact(name="bwrap", value=bwrap or "none", found_by=", ".join(directories)),
            Fact(name="bwrap version", value=_dotted(version), found_by="bwrap --version"),
            Fact(name="architecture", value=arch, found_by="uname"),
            Fact(name="user", value=f"{user} ({uid}:{gid})", found_by="getuid, account database"),
            Fact(name="home", value=home, found_by="HOME, else the account database"),
        ),
        gaps=tuple(gap for gap in gaps if gap is not None),
    )


def _account(uid: int) -> tuple[str, str]:
    """Name and home of a user; a user without an account gets a name of its number."""
    import pwd  # noqa: PLC0415  # here, so that the module loads where there is none (Windows)

    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return f"user{uid}", "/"
    return entry.pw_name, os.path.normpath(entry.pw_dir or "/")


def _find_bwrap(
    directories: tuple[str, ...], owner: int
) -> tuple[str | None, tuple[int, int, int] | None, Gap | None]:
    refused: dict[tuple[int, int], tuple[str, str]] = {}  # /bin is /usr/bin on most systems
    for directory in directories:
        path = os.path.join(directory, "bwrap")
        try:
            status = os.stat(path)
        except OSError:
            continue
        fault = _untrusted(path, status, owner)
        if fault is None:
            version = bwrap_version(path)
            if version is not None and version >= BWRAP_OLDEST:
                return path, version, None
            cause = f"'{path}' has version {_dotted(version)}, needed is {_dotted(BWRAP_OLDEST)}"
            fault = (cause, f"{INSTALL}, or build 0.8.0 or later into /usr/local/bin")
        refused.setdefault((status.st_dev, status.st_ino), fault)
    causes, cures = zip(*refused.values(), strict=True) if refused else ((), ())
    cause = "; ".join(causes) or f"no bwrap in {', '.join(directories)}"
    cure = "; or ".join(dict.fromkeys(cures)) or INSTALL
    return None, None, Gap(promise="a jail around the server", cause=cause, cure=cure)


def _untrusted(path: str, status: os.stat_result, owner: int) -> tuple[str, str] | None:
    """Why a bwrap is not to be used, and the cure; None when it may be used.

    A privileged bwrap is refused: CVE-2026-41163 and firejail's history; user namespaces do the
    same without privilege.
    """
    if not stat.S_ISREG(status.st_mode) or not os.access(path, os.X_OK):
        return f"'{path}' is not a program", INSTALL
    if status.st_uid != owner or status.st_mode & 0o022:
        return (
            f"'{path}' does not belong to root alone, so anybody could have put it there",
            INSTALL,
        )
    if status.st_mode & (stat.S_ISUID | stat.S_ISGID):
        return f"'{path}' runs with raised rights (setuid)", f"sudo chmod u-s,g-s {path}"
    if _has_file_capabilities(path):
        return f"'{path}' runs with raised rights (file capabilities)", f"sudo setcap -r {path}"
    return None


def _has_file_capabilities(path: str) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def bwrap_version(path: str) -> tuple[int, int, int] | None:
    """The version a bwrap says it has, None when it says nothing like one.

    What `bwrap --version` prints stands in the program as one string; reading it there takes 0.1 ms
    and running it 2 to 6. A program without that string is run.
    """
    try:
        with open(path, "rb") as file:
            found = set(_VERSION.findall(file.read(PROGRAM_LIMIT)))
    except OSError:
        found = set()
    texts = found if len(found) == 1 else set(_VERSION.findall(_says(path) + b"\0"))
    if len(texts) != 1:
        return None
    major, minor, patch = texts.pop()
    return int(major), int(minor), int(patch or 0)


_VERSION: Final = re.compile(rb"bubblewrap (\d+)\.(\d+)(?:\.(\d+))?\s?\0")


def _says(path: str) -> bytes:
    """What a program prints when asked for its version."""
    reading, writing = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0),
    ]
    try:
        pid = os.posix_spawn(path, [path, "--version"], {}, file_actions=actions)
    except OSError:
        return b""
    finally:
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            text = file.read(256)
    os.waitpid(pid, 0)
    return text


def _namespace_gap(uid: int, sysctls: str, apparmor_profiles: str) -> Gap | None:
    """Why an ordinary program may not make a user namespace here, as far as the kernel says.

    A container's own filter cannot be read; there the start itself fails and says so.
    """
    promise = "a jail around the server"
    if _sysctl(sysctls, "user/max_user_namespaces") == 0:
        return Gap(
            promise=promise,
            cause="user namespaces are switched off (user.max_user_namespaces = 0)",
            cure="sudo sysctl -w user.max_user_namespaces=15000",
        )
    if uid != 0 and _sysctl(sysctls, "kernel/unprivileged_userns_clone") == 0:
        return Gap(
            promise=promise,
            cause="user namespaces are kept to root (kernel.unprivileged_userns_clone = 0)",
            cure="sudo sysctl -w kernel.unprivileged_userns_clone=1",
        )
    restricted = _sysctl(sysctls, "kernel/apparmor_restrict_unprivileged_userns") == 1
    if uid != 0 and restricted and not _apparmor_lets_bwrap(apparmor_profiles):
        return Gap(
            promise=promise,
            cause="AppArmor keeps user namespaces to programs with a profile, and bwrap has none "
            "(kernel.apparmor_restrict_unprivileged_userns = 1)",
            cure="sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
            "/etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict "
            "(package apparmor-profiles)",
        )
    return None


def _sysctl(root: str, name: str) -> int | None:
    """A sysctl's number, None where the kernel has no such switch."""
    try:
        with open(os.path.join(root, name), "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _apparmor_lets_bwrap(directory: str) -> bool:
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    return any("bwrap" in name for name in names)


def _arch_gap(arch: str) -> Gap | None:
    if arch in ARCHES:
        return None
    return Gap(
        promise="a system-call filter",
        cause=f"no filter is written for this machine's architecture '{arch}'",
        cure=f"run mcp-jail on one of {', '.join(ARCHES)}",
    )


def _dotted(version: tuple[int, int, int] | None) -> str:
    return "unknown" if version is None else ".".join(map(str, version))
