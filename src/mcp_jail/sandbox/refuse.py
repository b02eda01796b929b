"""What a spec may ask for and never gets, each with the reason in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.errors import JailBuildError
from mcp_jail.sandbox.look import Looks
from mcp_jail.sandbox.probe import Host
from mcp_jail.sandbox.protected import (
    CLIENT_CONFIGS,
    COMMANDING_SOCKETS,
    LOGIN_FILES,
    Guarded,
    below_home,
    lies_in,
    read_only_for_all,
    too_much,
)
from mcp_jail.sandbox.toolchain import Toolchain
from mcp_jail.sandbox.walk import Kind, Seen


def strings(spec: JailSpec) -> None:
    """Refuse what cannot be handed to a process: an empty command, NUL, names with `=`."""
    if not spec.command:
        raise JailBuildError("no command to start")
    words = (*spec.command, *(s.path for s in spec.shares), spec.cwd or "", *spec.env.values())
    if any("\0" in word for word in words):
        raise JailBuildError("a NUL in the command, a path or the environment")
    for name in spec.env:
        if not name or "=" in name or "\0" in name:
            raise JailBuildError(f"'{name!r}' cannot be the name of an environment variable")
    for share in spec.shares:
        if not share.path.startswith("/"):
            raise JailBuildError(f"'{share.path}' is not an absolute path")


def missing(spec: JailSpec, looks: Looks) -> None:
    """Refuse shares that are not there, all in one message; creating them is the user's."""
    paths = [share.path for share in spec.shares]
    paths += [spec.keep_home] if spec.keep_home else []
    gone = [path for path in paths if looks.seen[path].kind is Kind.MISSING]
    if gone:
        names = ", ".join(f"'{path}'" for path in gone)
        raise JailBuildError(
            f"shared but not there: {names}", hint="create them, or take them out of the policy"
        )


def roots(spec: JailSpec, host: Host, guarded: Guarded, looks: Looks) -> None:
    """Refuse what is too much, ours, or somebody's keys."""
    for share in spec.shares:
        seen = looks.seen[share.path]
        _whole(share, seen, host)
        _socket(share, seen)
        _known_sockets(share, seen, looks)
        _credential_files(share, seen, looks)
        if share.access is Access.READ_WRITE:
            _writable(share, seen, guarded, looks)
    if spec.keep_home is not None:
        share = Share(path=spec.keep_home, access=Access.READ_WRITE, why="filesystem.home: keep")
        _whole(share, looks.seen[spec.keep_home], host)
        for link in looks.home_links:
            raise JailBuildError(
                f"'{link}' is a link in the server's kept home, where a share has to be mounted",
                hint="remove it; the server may have put it there",
            )


def _whole(share: Share, seen: Seen, host: Host) -> None:
    for path in (share.path, seen.real):
        reason = too_much(path)
        if reason is not None:
            raise JailBuildError(f"'{share.path}' cannot be shared: {reason}", hint=_NARROW)
        for home in (host.home, host.account_home):
            if home != "/" and lies_in(home, path):
                raise JailBuildError(
                    f"'{share.path}' cannot be shared: it holds the home '{home}'",
                    hint=_NARROW,
                )


_NARROW = "name the directories the server works in"


def _socket(share: Share, seen: Seen) -> None:
    name = seen.real.rpartition("/")[2]
    if seen.kind is Kind.SOCKET:
        power = "commands this host" if name in COMMANDING_SOCKETS else "commands what listens"
        raise JailBuildError(
            f"'{share.path}' is a socket: whoever can speak to it {power}",
            hint="sockets are no part of `filesystem`",
        )
    if seen.kind is Kind.OTHER:
        raise JailBuildError(f"'{share.path}' is a device or a pipe, not a file or directory")


def _known_sockets(share: Share, seen: Seen, looks: Looks) -> None:
    for socket in looks.sockets:
        if lies_in(socket.real, seen.real) or lies_in(socket.path, seen.real):
            raise JailBuildError(
                f"'{share.path}' holds '{socket.path}', and who can speak to it commands this host",
                hint=_NARROW,
            )


def _credential_files(share: Share, seen: Seen, looks: Looks) -> None:
    """A mask over one file falls off when the host replaces the file, so there is none."""
    for credential in looks.credentials:
        hidden = credential.kind is not Kind.DIRECTORY and credential.real != seen.real
        if hidden and lies_in(credential.real, seen.real):
            raise JailBuildError(
                f"'{share.path}' holds '{credential.path}', a file with credentials, "
                "and a single file cannot be hidden for certain",
                hint=f"{_NARROW}, beside that file",
            )


def _writable(share: Share, seen: Seen, guarded: Guarded, looks: Looks) -> None:
    if read_only_for_all(seen.real):
        raise JailBuildError(
            f"'{share.path}' cannot be written: it belongs to what this machine runs",
            hint="share it under filesystem.read_only",
        )
    for path, what in _never_written(guarded, looks):
        if lies_in(path, seen.real) or lies_in(seen.real, path):
            raise JailBuildError(
                f"'{share.path}' cannot be shared for writing: '{path}' is {what}", hint=_NARROW
            )


def _never_written(guarded: Guarded, looks: Looks) -> Iterable[tuple[str, str]]:
    for ours in guarded.ours:
        for path in {ours.path, looks.ours[ours.path].real}:
            yield path, ours.what
    for home in guarded.homes:
        for path in below_home(home, CLIENT_CONFIGS):
            yield path, "the settings of an MCP client, which the host acts on"
        for path in below_home(home, LOGIN_FILES):
            yield path, "run or read by the user's own programs"


def planted_links(spec: JailSpec, toolchain: Toolchain, looks: Looks) -> None:
    """Refuse a path that goes through a link a server could have planted (CVE-2026-87766).

    A link in a writable share may be there because an earlier run of the server made it.
    """
    writable = [looks.seen[s.path].real for s in spec.shares if s.access is Access.READ_WRITE]
    writable += [looks.seen[spec.keep_home].real] if spec.keep_home else []
    for share in spec.shares:
        for link in looks.seen[share.path].links:
            if any(lies_in(link.path, root) for root in writable):
                raise JailBuildError(
                    f"'{share.path}' goes through the link '{link.path}', which it may write",
                    hint="name the place the link leads to",
                )
    shown = [looks.seen[share.path].real for share in spec.shares]
    for found in toolchain.found:
        planted = [p for p in found.through if any(lies_in(p, root) for root in writable)]
        real = looks.seen[found.share.path].real
        if planted and not any(lies_in(real, root) for root in shown):
            raise JailBuildError(
                f"the command leads to '{real}' through '{planted[0]}', which the server may write",
                hint=f"list {real} under filesystem.read_only if the server needs it",
            )
