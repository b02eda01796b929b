"""The looks at the file system that a plan needs, gathered once, so that the plan can be pure."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from mcp_jail.core.spec import JailSpec, Value
from mcp_jail.sandbox.protected import (
    CREDENTIAL_DIRECTORIES,
    CREDENTIAL_FILES,
    SOCKET_DIRECTORIES,
    Guarded,
    below_home,
    lies_in,
)
from mcp_jail.sandbox.toolchain import Toolchain
from mcp_jail.sandbox.walk import Kind, Seen, see

SYSTEM_DIRECTORIES: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
)  # fmt: skip

# What programs read of /etc without any secret in it: no /etc/ssl/private, no /etc/pki/*/private.
ETC: Final = (
    "ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs",
    "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust", "crypto-policies",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone",
    "mime.types", "magic", "protocols", "services", "os-release", "lsb-release",
    "debian_version", "fonts", "nodejs", "perl", "python", "php", "ImageMagick-6",
    "ImageMagick-7", "vulkan", "glvnd", "locale.alias", "locale.conf", "static",
)  # fmt: skip
ETC_PREFIXES: Final = ("java", "python3")

# As container runtimes have it: what root could write or read there without any capability
# (a sysctl asks for the user id, not for a capability), for every user alike.
PROC_READ_ONLY: Final = ("bus", "fs", "irq", "sys", "sysrq-trigger")
PROC_HIDDEN: Final = (
    "acpi", "asound", "scsi", "kcore", "keys", "latency_stats", "timer_list", "timer_stats",
    "sched_debug", "kpagecount", "kpageflags", "kpagecgroup", "kmsg", "mtrr",
)  # fmt: skip

HOME_SIGNS: Final = (".bashrc", ".bash_history", ".profile", ".ssh", ".zshrc", ".gnupg")


class Looks(Value, frozen=True):
    """All that a plan knows of the file system."""

    seen: dict[str, Seen]  # by the path as it was given: shares, homes, cwd, executable
    ours: dict[str, Seen]
    credentials: tuple[Seen, ...]  # those that exist, directories and files
    system: tuple[Seen, ...]  # /usr and its merged companions, as links where they are links
    etc: tuple[Seen, ...]
    proc_read_only: tuple[Seen, ...]
    proc_hidden: tuple[Seen, ...]


def look(spec: JailSpec, toolchain: Toolchain, guarded: Guarded, homes: tuple[str, ...]) -> Looks:
    """Look at everything the plan of this spec depends on."""
    paths = [share.path for share in (*spec.shares, *toolchain.shares)]
    paths += [path for path in (spec.cwd, spec.keep_home, toolchain.executable, *homes) if path]
    seen = {path: see(path) for path in paths}
    roots = [s.real for s in seen.values() if s.kind is Kind.DIRECTORY and s.path not in homes]
    return Looks(
        seen=seen,
        ours={ours.path: see(ours.path) for ours in guarded.ours},
        credentials=tuple(_credentials(guarded.homes, roots)),
        system=tuple(_existing(SYSTEM_DIRECTORIES)),
        etc=tuple(_existing(f"/etc/{name}" for name in _etc_names())),
        proc_read_only=tuple(_existing(f"/proc/{name}" for name in PROC_READ_ONLY)),
        proc_hidden=tuple(_existing(f"/proc/{name}" for name in PROC_HIDDEN)),
    )


def _existing(paths: Iterable[str]) -> Iterable[Seen]:
    return (seen for seen in map(see, paths) if seen.kind is not Kind.MISSING)


def _etc_names() -> list[str]:
    try:
        listed = os.listdir("/etc")
    except OSError:
        listed = []
    return [*ETC, *sorted(name for name in listed if name.startswith(ETC_PREFIXES))]


def _credentials(homes: Iterable[str], roots: list[str]) -> Iterable[Seen]:
    """Known credentials below a shared root: of these homes, and of roots that look like one."""
    likely = [root for root in roots if _looks_like_a_home(root)]
    names = (*CREDENTIAL_DIRECTORIES, *CREDENTIAL_FILES, *SOCKET_DIRECTORIES)
    found: dict[str, Seen] = {}
    for home in dict.fromkeys((*homes, *likely)):
        for path in below_home(home, names):
            if os.path.lexists(path):
                seen = see(path)
                if any(lies_in(place, root) for root in roots for place in (seen.real, path)):
                    found[path] = seen
    return found.values()


def _looks_like_a_home(root: str) -> bool:
    return any(os.path.lexists(os.path.join(root, name)) for name in HOME_SIGNS)
