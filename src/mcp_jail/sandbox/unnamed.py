"""What a tool chain may not bring unless the policy names it. Pure.

A policy's shares are the user's own words; these come of what lies on the disk, so they pass the
same refusals and stricter ones: a credential that is the share itself is refused too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_jail.core.spec import JailSpec
from mcp_jail.errors import Fault
from mcp_jail.sandbox.look import Looks
from mcp_jail.sandbox.protected import (
    CLIENT_CONFIGS,
    CREDENTIAL_DIRECTORIES,
    CREDENTIAL_FILES,
    PROJECT_CONFIGS,
    SOCKET_DIRECTORIES,
    Guarded,
    below_home,
    lies_in,
    too_much,
)
from mcp_jail.sandbox.toolchain import Found, Toolchain
from mcp_jail.sandbox.walk import Seen


def unnamed(
    spec: JailSpec, toolchain: Toolchain, guarded: Guarded, looks: Looks
) -> Iterator[Fault]:
    """A fault for each thing a command needs that only the policy could give it."""
    named = [looks.seen[share.path].real for share in spec.shares]
    named += [seen.path for seen in looks.system.directories if not seen.links]
    homes = [*guarded.homes, *(looks.seen[home].real for home in guarded.homes)]
    homes = list(dict.fromkeys(homes))
    kept = tuple(_kept(homes, guarded, looks))
    for found in toolchain.found:
        seen = looks.seen[found.share.path]
        if not any(lies_in(seen.real, root) for root in named):
            reasons = _reasons(seen, homes, kept, looks)
            yield from (_fault(found, seen, reason) for reason in tuple(reasons)[:1])
    for one in toolchain.unnamed:
        if not any(lies_in(one.path, root) for root in named):
            message = (
                f"'{one.by}', a file of the server, leads to '{one.path}', "
                "and no tool is known to be installed there"
            )
            yield Fault(one.path, message, _hint(one.path))


def _fault(found: Found, seen: Seen, reason: str) -> Fault:
    by = f", by way of '{found.through[-1]}'" if found.through else ""
    message = f"{found.share.why} needs '{seen.real}'{by}, and {reason}"
    return Fault(found.share.path, message, _hint(seen.real))


def _hint(path: str) -> str:
    return f"name it in filesystem.read_only if you mean it: [{path}]"


def _reasons(
    seen: Seen, homes: list[str], kept: tuple[tuple[str, str], ...], looks: Looks
) -> Iterator[str]:
    """Why no tool chain may have it, the plainest reason first."""
    whole = too_much(seen.real)
    if whole is not None:
        yield f"that is {whole}"
    if any(home != "/" and lies_in(home, seen.real) for home in homes):
        yield "that holds a whole home"
    yield from (f"'{path}' is {what}" for path, what in kept if _touches(seen, path))
    if seen.real.endswith(tuple(f"/{name}" for name in PROJECT_CONFIGS)):
        yield "that is the settings of an MCP client"
    for socket in looks.sockets:
        if lies_in(socket.real, seen.real):
            yield f"'{socket.path}' commands this host"


def _kept(homes: list[str], guarded: Guarded, looks: Looks) -> Iterator[tuple[str, str]]:
    """What is kept from a tool chain wherever it touches it: path, and what it is."""
    for ours in guarded.ours:
        if ours.mask:
            yield from ((path, ours.what) for path in (ours.path, looks.ours[ours.path].real))
    names = (*CREDENTIAL_DIRECTORIES, *CREDENTIAL_FILES, *SOCKET_DIRECTORIES)
    for home in homes:
        yield from ((path, "a place of credentials or sockets") for path in below_home(home, names))
        yield from (
            (path, "settings of an MCP client") for path in below_home(home, CLIENT_CONFIGS)
        )
    yield from ((path, "a place of credentials or sockets") for path in looks.secrets)


_WITHHELD: Final = "a place of credentials or sockets"


def _touches(seen: Seen, path: str) -> bool:
    """Whether one of two is the other or lies in it."""
    return lies_in(seen.real, path) or lies_in(path, seen.real)
