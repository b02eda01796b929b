"""What a first policy may share: asked of the very functions that refuse at a start, and stricter.

A policy may name a directory of credentials, since its user wrote it. A first policy is made from a
client's entry that anybody may have written, so it never does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from mcp_jail.config.starter_wants import Offer, Offers, Standing
from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.errors import JailError, ShareError
from mcp_jail.sandbox import refuse
from mcp_jail.sandbox.installations import of_the_system
from mcp_jail.sandbox.look import look
from mcp_jail.sandbox.plan import inside_home
from mcp_jail.sandbox.probe import Host, probe
from mcp_jail.sandbox.protected import (
    CREDENTIAL_DIRECTORIES,
    CREDENTIAL_FILES,
    SOCKET_DIRECTORIES,
    Guarded,
    Ours,
    below_home,
    lies_in,
)
from mcp_jail.sandbox.toolchain import Toolchain, discover
from mcp_jail.sandbox.walk import Kind, see
from mcp_jail.store.places import find_places

_SECRET: Final = (*CREDENTIAL_DIRECTORIES, *CREDENTIAL_FILES, *SOCKET_DIRECTORIES)
_STANDING: Final = {Kind.DIRECTORY: Standing.DIRECTORY, Kind.FILE: Standing.FILE}


def offers(
    command: tuple[str, ...],
    *,
    environ: Mapping[str, str] | None = None,
    cwd: str = "/",
) -> Offers:
    """What is offered to the server of a command; it need not be there yet."""
    environ = os.environ if environ is None else environ
    host = probe(environ)
    homes = tuple(dict.fromkeys((host.home, host.account_home)))
    tools = _toolchain(command, environ, host, cwd)
    guarded = Guarded(ours=_ours(environ), homes=homes)
    secrets = tuple(path for home in homes for path in below_home(home, _SECRET))
    words = command if tools.programs else ("true",)

    def offer(path: str, access: Access) -> Offer:
        seen = see(path)
        standing = _STANDING.get(seen.kind, Standing.NOTHING)
        if standing is Standing.NOTHING:
            return Offer(standing)
        if any(_lies_in(path, seen.real, secret) for secret in secrets):
            return Offer(standing, f"'{path}' is where credentials are kept")
        share = Share(path=path, access=access, why="a first policy")
        spec = JailSpec(name="first", command=words, cwd=cwd, shares=(share,), env={})
        brought = of_the_system(seen.real) or any(
            _brings(found.path, path, standing) for found in tools.shares
        )
        return Offer(standing, _refusal(spec, host, tools, guarded), brought)

    return offer


def _lies_in(path: str, real: str, secret: str) -> bool:
    return lies_in(path, secret) or lies_in(real, os.path.realpath(secret))


def _ours(environ: Mapping[str, str]) -> tuple[Ours, ...]:
    places = find_places(environ)
    hidden = (os.path.dirname(places.policies), places.state, places.homes, *places.runtimes)
    of_servers = Ours(path=places.packages, what="mcp-jail's packages")
    return (*(Ours(path=path, what="mcp-jail's own", mask=True) for path in hidden), of_servers)


def _toolchain(
    command: tuple[str, ...], environ: Mapping[str, str], host: Host, cwd: str
) -> Toolchain:
    """What the command needs; nothing where it is not there, for another part tells that."""
    path = environ.get("PATH") or os.defpath
    try:
        return discover(command, path=path, cwd=cwd, home=host.home, account_home=host.account_home)
    except JailError:
        return Toolchain(executable="", programs=(), found=(), path=())


def _brings(found: str, path: str, standing: Standing) -> bool:
    """Whether the command brings a path itself: its script, its project."""
    return found == path or (standing is Standing.FILE and lies_in(path, found))


def _refusal(spec: JailSpec, host: Host, tools: Toolchain, guarded: Guarded) -> str | None:
    looks = look(spec, tools, guarded, home=inside_home(host), uid=host.uid)
    try:
        refuse.shares(spec, host, tools, guarded, looks)
    except ShareError as error:
        named = [fault.message for fault in error.faults if fault.path == spec.shares[0].path]
        return named[0] if named else None
    return None
