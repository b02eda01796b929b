"""What a spec may ask for and never gets, each with the reason in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.errors import Fault, JailBuildError, ShareError
from mcp_jail.sandbox.look import Looks
from mcp_jail.sandbox.probe import Host
from mcp_jail.sandbox.protected import (
    CLIENT_CONFIGS,
    COMMANDING_SOCKETS,
    LOGIN_FILES,
    PROJECT_RUNNERS,
    Guarded,
    below_home,
    clients_directory,
    lies_in,
    package_tree,
    read_only_for_all,
    too_much,
)
from mcp_jail.sandbox.toolchain import Toolchain
from mcp_jail.sandbox.unnamed import unnamed
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


def shares(
    spec: JailSpec, host: Host, toolchain: Toolchain, guarded: Guarded, looks: Looks
) -> None:
    """Refuse what is missing, too much, ours, or somebody's keys; ShareError names all of it.

    What is missing is not made: creating it is the user's.
    """
    named = list(spec.shares)
    if spec.keep_home is not None:
        named.append(Share(path=spec.keep_home, access=Access.READ_WRITE, why=_KEPT))
    runs = tuple(_runs(spec, toolchain, looks))
    all_of = [
        chain(_faults(share, spec, host, guarded, looks), _rewritten(share, runs, looks))
        for share in named
    ]
    first = [next(faults, None) for faults in all_of]
    faults = tuple(fault for fault in first if fault is not None)
    refused = {fault.path for fault in faults}
    sound = [share for share in spec.shares if share.path not in refused]
    faults += tuple(_in_writable_ones(sound, looks))
    if not faults:
        faults = tuple(unnamed(spec, toolchain, guarded, looks))
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
    yield from _of_ours(share, seen, guarded, looks)
    yield from _socket(share, seen)
    yield from _known_sockets(share, seen, looks)
    yield from _credential_files(share, seen, looks)
    if share.access is Access.READ_WRITE:
        yield from _writable(share, seen, guarded, looks)
    yield from _drawer(share, seen, looks)
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


def _of_ours(share: Share, seen: Seen, guarded: Guarded, looks: Looks) -> Iterator[Fault]:
    """What is hidden inside of a share is not shared by its own name either."""
    places = [(p, o) for o in guarded.ours for p in (o.path, looks.ours[o.path].real)]
    for name in (share.path, seen.real):
        holding = [(path, ours) for path, ours in places if lies_in(name, path)]
        if holding:
            path, ours = max(holding, key=lambda found: len(found[0]))
            is_open = not ours.mask and looks.ours[ours.path].kind is Kind.DIRECTORY
            if not is_open and any(each.mask for _, each in holding):
                message = f"'{share.path}' cannot be shared: '{path}' is {ours.what}"
                yield Fault(share.path, message, _NARROW)
    if share.path in looks.ours_elsewhere:
        path = looks.ours_elsewhere[share.path]
        message = f"'{share.path}' cannot be shared: it is '{path}' by another name"
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


def _drawer(share: Share, seen: Seen, looks: Looks) -> Iterator[Fault]:
    """A mask covers what is there at the start; what a login makes later would be seen."""
    if any(lies_in(drawer, seen.real) for drawer in looks.drawers):
        message = (
            f"'{share.path}' cannot be shared as a whole: programs keep credentials in it, "
            "and those made later cannot be hidden"
        )
        yield Fault(share.path, message, f"name the directories below it, as in {share.path}/NAME")


def _in_writable_ones(shares: list[Share], looks: Looks) -> Iterator[Fault]:
    """Read-only inside of writable does not hold.

    The server renames the directory around it and makes another one; or the host replaces a file,
    and the mount over it falls off (rename(2) says EBUSY only where the mount is).
    """
    for share in shares:
        real = looks.seen[share.path].real
        over = [o for o in shares if o.access is Access.READ_WRITE and share is not o]
        holding = [o.path for o in over if lies_in(real, looks.seen[o.path].real)]
        if share.access is Access.READ_ONLY and holding:
            how = "is" if looks.seen[holding[0]].real == real else "lies in"
            yield Fault(
                share.path,
                f"'{share.path}' cannot be kept read-only: it {how} '{holding[0]}', "
                "which is shared for writing",
                "name narrower directories under filesystem.read_write, beside what is to stay "
                "as it is",
            )


def _writable(share: Share, seen: Seen, guarded: Guarded, looks: Looks) -> Iterator[Fault]:
    if read_only_for_all(seen.real):
        message = f"'{share.path}' cannot be written: it belongs to what this machine runs"
        yield Fault(share.path, message, "share it under filesystem.read_only")
    for path, what in _never_written(guarded, looks):
        if lies_in(path, seen.real) or lies_in(seen.real, path):
            message = f"'{share.path}' cannot be shared for writing: '{path}' is {what}"
            yield Fault(share.path, message, _NARROW)
    yield from _host_acts_on(share, seen, looks)


def _host_acts_on(share: Share, seen: Seen, looks: Looks) -> Iterator[Fault]:
    """What makes the host run something: a project's client settings, its packages."""
    refused = f"'{share.path}' cannot be shared for writing"
    inside = clients_directory(seen.real)
    configs = [path for path in looks.client_configs if lies_in(path, seen.real)]
    for path in (*([inside] if inside else []), *configs):
        yield Fault(
            share.path,
            f"{refused}: '{path}' has settings of an MCP client, which the host acts on",
            "share narrower directories beside it under filesystem.read_write; "
            "the whole may stand under filesystem.read_only",
        )
    packages = package_tree(seen.real)
    if packages is not None:
        message = f"{refused}: '{packages}' has packages, which the host runs"
        yield Fault(share.path, message, "share it under filesystem.read_only")


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


def _rewritten(share: Share, runs: tuple[str, ...], looks: Looks) -> Iterator[Fault]:
    """What runs the server may not be the server's to write: it would choose the next start."""
    root = looks.seen[share.path].real
    for place in runs if share.access is Access.READ_WRITE else ():
        if lies_in(place, root):
            yield Fault(
                share.path,
                f"'{share.path}' cannot be shared for writing: the command runs '{place}'",
                "keep the program out of what its server may write: name a directory of data "
                f"alone, such as {share.path}/data, under filesystem.read_write",
            )


def _runs(spec: JailSpec, toolchain: Toolchain, looks: Looks) -> Iterator[str]:
    """Every file that decides what the command runs, as it is spelled and where it leads."""
    for path in toolchain.programs:
        yield from (path, looks.seen[path].real)
    for script in looks.scripts:
        yield from (script.path, script.real)
    runs_a_project = spec.command[0].rpartition("/")[2] in PROJECT_RUNNERS
    for found in toolchain.found:
        yield from found.through
        if runs_a_project:
            yield looks.seen[found.share.path].real
