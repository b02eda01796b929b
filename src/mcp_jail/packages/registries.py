"""Where an install may connect: hosts of registries, and what a step is given for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

import msgspec

from mcp_jail.errors import PackageError

_PORTS: Final = {"https": 443, "http": 80}


class Reach(msgspec.Struct, frozen=True, order=True):
    """A host as a policy's network.allow has it, and whether TLS must be spoken there."""

    host: str
    is_tls: bool = True


class Proxy(msgspec.Struct, frozen=True):
    """A proxy as `network.upstream_proxy` has it, and the hosts that are reached without it."""

    url: str  # may hold a login
    direct: tuple[str, ...] = ()


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The registries of one user: where they are, and what makes a jailed program use them.

    `env` and `files` (content by the path below HOME) may hold logins.
    """

    urls: tuple[str, ...]  # without logins; npm's first is for all that no scope has
    scopes: dict[str, str] = {}  # of npm: the registry of a scope, as "@mine"
    hosts: tuple[Reach, ...]
    proxy: Proxy | None = None  # by which they are reached
    env: dict[str, str] = {}
    files: dict[str, bytes] = {}


def reach(url: str, whose: str) -> Reach:
    """What a URL needs; PackageError, which names its setting, for one that is none."""
    parts = urlsplit(url)
    try:
        port = parts.port or _PORTS[parts.scheme]
    except (KeyError, ValueError):
        raise PackageError(
            f"{whose} is no http or https address: '{without_login(url)}'",
            hint="an install reaches registries by network only",
        ) from None
    if not parts.hostname:
        raise PackageError(f"{whose} names no host: '{without_login(url)}'")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    shown = host if port == _PORTS["https"] else f"{host}:{port}"
    return Reach(shown, is_tls=parts.scheme == "https")


def without_login(url: str) -> str:
    """A URL without the name and password in it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def hosts_of(urls: Iterable[tuple[str, str]]) -> tuple[Reach, ...]:
    """What some URLs need, each with the setting it comes from."""
    return tuple(sorted({reach(url, whose) for url, whose in urls}))
