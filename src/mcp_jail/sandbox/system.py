"""What of the host's own system a server sees: its programs, harmless settings, a guarded /proc."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from mcp_jail.core.spec import Value
from mcp_jail.sandbox.walk import Kind, Seen, see

DIRECTORIES: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
STORES: Final = ("/nix/store", "/gnu/store")  # programs name each other across the whole store

# What programs read of /etc without any secret in it: no /etc/ssl/private, no /etc/pki/*/private.
ETC: Final = (
    "ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "pki/tls/certs", "pki/tls/cert.pem",
    "pki/tls/openssl.cnf", "pki/ca-trust", "ca-certificates/extracted", "crypto-policies",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone",
    "mime.types", "magic", "protocols", "services", "os-release", "lsb-release", "fonts", "nodejs",
    "perl", "python", "php", "ImageMagick-6", "ImageMagick-7", "locale.conf", "static",
)  # fmt: skip
ETC_PREFIXES: Final = ("java", "python3")
COPY_LIMIT: Final = 256 * 1024  # bytes; a copy costs bwrap a tenth of what a mount costs

# As container runtimes have it. A sysctl asks for the user id and not for a capability, so root
# could write these without one; modes hold everybody else, and bwrap itself covers what it can.
PROC_READ_ONLY: Final = ("sys",)
PROC_READ_ONLY_FOR_ROOT: Final = ("bus", "fs", "irq", "sysrq-trigger")
# Hidden where the user could read them.
PROC_HIDDEN: Final = (
    "acpi", "asound", "scsi", "kcore", "keys", "latency_stats", "timer_list", "timer_stats",
    "sched_debug", "kpagecount", "kpageflags", "kpagecgroup", "kmsg", "mtrr",
)  # fmt: skip


class System(Value, frozen=True):
    """The host's system as it was seen."""

    directories: tuple[Seen, ...]  # /usr and its merged companions, as links where they are links
    etc: tuple[Seen, ...]
    copies: dict[str, bytes]  # of those in `etc`, the small files: content by path
    proc_read_only: tuple[Seen, ...]
    proc_hidden: tuple[Seen, ...]


def look_at_system(uid: int) -> System:
    """Look at /usr, /etc and /proc for this user."""
    etc = tuple(_existing(f"/etc/{name}" for name in _etc_names()))
    read_only = PROC_READ_ONLY + (PROC_READ_ONLY_FOR_ROOT if uid == 0 else ())
    hidden = (f"/proc/{name}" for name in PROC_HIDDEN)
    return System(
        directories=tuple(_existing((*DIRECTORIES, *_stores()))),
        etc=etc,
        copies={seen.path: text for seen in etc if (text := _small(seen)) is not None},
        proc_read_only=tuple(_existing(f"/proc/{name}" for name in read_only)),
        proc_hidden=tuple(_existing(path for path in hidden if os.access(path, os.R_OK))),
    )


def _existing(paths: Iterable[str]) -> Iterable[Seen]:
    return (seen for seen in map(see, paths) if seen.kind is not Kind.MISSING)


def _stores() -> Iterable[str]:
    """The store that even /bin/sh lies in, on NixOS and Guix."""
    shell = os.path.realpath("/bin/sh")
    return (store for store in STORES if shell.startswith(f"{store}/"))


def _etc_names() -> list[str]:
    try:
        listed = os.listdir("/etc")
    except OSError:
        listed = []
    return [*ETC, *sorted(name for name in listed if name.startswith(ETC_PREFIXES))]


def _small(seen: Seen) -> bytes | None:
    """The content of a small file; None for a directory, a big file, one that cannot be read."""
    if seen.kind is not Kind.FILE:
        return None
    try:
        with open(seen.real, "rb") as file:
            text = file.read(COPY_LIMIT + 1)
    except OSError:
        return None
    return text if len(text) <= COPY_LIMIT else None
