"""What a spec may ask for and never gets, each with the reason in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.errors import Fault, JailBuildError, ShareError
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


def shares(spec: JailSpec, host: Host, guarded: Guarded, looks: Looks) -> None:
    """Refuse what is missing, too much, ours, or somebody's keys; ShareError names all of it.

    What is missing is not made: creating it is the user's.
    """
    named = list(spec.shares)
    if spec.keep_home is not None:
        named.append(Share(path=spec.keep_home, access=Access.READ_WRITE, why=_KEPT))
    first = [next(_faults(share, spec, host, guarded, looks), None) for share in named]
    faults = tuple(fault for fault in first if fault is not None)
    if faults:
        raise ShareError(faults)
    for link in looks.home_links if spec.keep_home is not None else ():
        raise JailBuildError(
            f"'{link}' is a link in the server's kept home, where a share has to be mounted",
            hint="remove it; the server may have put it there",
        )


_KEPT = "filesystem.home: keep"
_NARROW = "name the directories the server works in"


def _faults(
    share: Share, spec: JailSpec, host: Host, guarded: Guarded, looks: Looks
) -> Iterator[Fault]:
    """Why a share is refused, the plainest reason first."""
    seen = looks.seen[share.path]
    if seen.kind is Kind.MISSING:
        yield Fault(
            share.path, f"'{share.path}' is not there", "create it, or take it out of the policy"
        )
        return
    yield from _whole(share, seen, host)
    if share.why == _KEPT:  # a directory of ours, which no policy names
        return
    yield from _socket(share, seen)
    yield from _known_sockets(share, seen, looks)
    yield from _credential_files(share, seen, looks)
    if share.access is Access.READ_WRITE:
        yield from _writable(share, seen, guarded, looks)
    yield from _through_planted(share, seen, spec, looks)


def _whole(share: Share, seen: Seen, host: Host) -> Iterator[Fault]:
    for path in (share.path, seen.real):
        reason = too_much(path)
        if reason is not None:
            yield Fault(share.path, f"'{share.path}' cannot be shared: {reason}", _NARROW)
        for home in (host.home, host.account_home):
            if home != "/" and lies_in(home, path):
                message = f"'{share.path}' cannot be shared: it holds the home '{home}'"
                yield Fault(share.path, message, _NARROW)


def _socket(share: Share, seen: Seen) -> Iterator[Fault]:
    name = seen.real.rpartition("/")[2]
    if seen.kind is Kind.SOCKET:
        power = "commands this host" if name in COMMANDING_SOCKETS else "commands what listens"
        message = f"'{share.path}' is a socket: whoever can speak to it {power}"
        yield Fault(share.path, message, "sockets are no part of 'filesystem'")
    if seen.kind is Kind.OTHER:
        message = f"'{share.path}' is a device or a pipe, not a file or directory"
        yield Fault(share.path, message, _NARROW)


def _known_sockets(share: Share, seen: Seen, looks: Looks) -> Iterator[Fault]:
    for socket in looks.sockets:
        if lies_in(socket.real, seen.real) or lies_in(socket.path, seen.real):
            message = (
                f"'{share.path}' holds '{socket.path}', and who can speak to it commands this host"
            )
            yield Fault(share.path, message, _NARROW)


def _credential_files(share: Share, seen: Seen, looks: Looks) -> Iterator[Fault]:
    """A mask over one file falls off when the host replaces the file, so there is none."""
    for credential in looks.credentials:
        hidden = credential.kind is not Kind.DIRECTORY and credential.real != seen.real
        if hidden and lies_in(credential.real, seen.real):
            message = (
                f"'{share.path}' holds '{credential.path}', a file with credentials, "
                "and a single file cannot be hidden for certain"
            )
            yield Fault(share.path, message, f"{_NARROW}, beside that file")


def _writable(share: Share, seen: Seen, guarded: Guarded, looks: Looks) -> Iterator[Fault]:
    if read_only_for_all(seen.real):
        message = f"'{share.path}' cannot be written: it belongs to what this machine runs"
        yield Fault(share.path, message, "share it under filesystem.read_only")
    for path, what in _never_written(guarded, looks):
        if lies_in(path, seen.real) or lies_in(seen.real, path):
            message = f"'{share.path}' cannot be shared for writing: '{path}' is {what}"
            yield Fault(share.path, message, _NARROW)


def _never_written(guarded: Guarded, looks: Looks) -> Iterable[tuple[str, str]]:
    for ours in guarded.ours:
        for path in {ours.path, looks.ours[ours.path].real}:
            yield path, ours.what
    for home in guarded.homes:
        for path in below_home(home, CLIENT_CONFIGS):
            yield path, "the settings of an MCP client, which the host acts on"
        for path in below_home(home, LOGIN_FILES):
            yield path, "run or read by the user's own programs"


def _through_planted(share: Share, seen: Seen, spec: JailSpec, looks: Looks) -> Iterator[Fault]:
    """A link in a writable share may be there because an earlier run made it (CVE-2026-87766)."""
    for link in seen.links:
        if any(lies_in(link.path, root) for root in _written(spec, looks)):
            message = f"'{share.path}' goes through the link '{link.path}', which it may write"
            yield Fault(share.path, message, "name the place the link leads to")


def _written(spec: JailSpec, looks: Looks) -> list[str]:
    """Where the server may write, and so put links."""
    roots = [looks.seen[s.path].real for s in spec.shares if s.access is Access.READ_WRITE]
    return roots + ([looks.seen[spec.keep_home].real] if spec.keep_home else [])


def planted_links(spec: JailSpec, toolchain: Toolchain, looks: Looks) -> None:
    """Refuse a command that is found through a link a server could have planted."""
    writable = _written(spec, looks)
    shown = [looks.seen[share.path].real for share in spec.shares]
    for found in toolchain.found:
        planted = [p for p in found.through if any(lies_in(p, root) for root in writable)]
        real = looks.seen[found.share.path].real
        if planted and not any(lies_in(real, root) for root in shown):
            raise JailBuildError(
                f"the command leads to '{real}' through '{planted[0]}', which the server may write",
                hint=f"list {real} under filesystem.read_only if the server needs it",
            )
