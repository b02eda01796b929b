"""What a client's entry says its server needs: directories, hosts, variables. Pure.

A path counts where it is absolute or begins with `~` and something stands there. What is not given
is told with the reason, for the user may know better.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from posixpath import dirname, normpath
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from mcp_jail.config.profile import Kind, Profile
from mcp_jail.config.recognised import named_by
from mcp_jail.core.loaders import is_loader_variable
from mcp_jail.core.policy import VARIABLE_PATTERN, Env, Filesystem, Home, Network, NetworkMode
from mcp_jail.core.rules.paths import expand_home
from mcp_jail.core.spec import Access
from mcp_jail.core.text.telling import is_telling, shape_spans


class Standing(Enum):
    """What stands at a path."""

    DIRECTORY = "directory"
    FILE = "file"
    NOTHING = "nothing"


class Offer(msgspec.Struct, frozen=True):
    """What stands at a path, why no first policy shares it, and whether the command brings it."""

    standing: Standing
    refusal: str | None = None
    is_brought: bool = False


# Of a path and an access; `sandbox.offers` has one that asks what refuses at a start.
Offers = Callable[[str, Access], Offer]


class Wants(msgspec.Struct, frozen=True):
    """The parts of a policy that an entry asks for; `why` by path, host and variable."""

    filesystem: Filesystem = Filesystem()
    network: Network = Network()
    env: Env = Env()
    why: dict[str, str] = {}
    left: tuple[str, ...] = ()  # sentences on what was not shared


class _Text(NamedTuple):
    """A text of the entry, what it is, and what it means."""

    text: str
    where: str
    kind: Kind | None


def wants(
    command: tuple[str, ...],
    env: Mapping[str, str],
    cwd: str | None,
    profile: Profile | None,
    *,
    home: str,
    offers: Offers,
) -> Wants:
    """What the entry of a server asks for."""
    gathered = _Gathered(home, offers)
    for text in (*_of_arguments(command, profile), *_of_variables(env, profile)):
        gathered.take(text)
    if cwd is not None:
        gathered.path(_Text(cwd, "where the client starts it", Kind.DIRECTORY))
    for place in profile.reads if profile else ():
        gathered.known(place)
    for host in profile.hosts if profile else ():
        gathered.hosts.setdefault(host, "what the server is for")
    return gathered.all(env, profile)


class _Gathered:
    """What was found so far, in the order of the entry."""

    def __init__(self, home: str, offers: Offers) -> None:
        self._home = home
        self._offers = offers
        self.shares: dict[str, tuple[Access, str]] = {}
        self.hosts: dict[str, str] = {}
        self.left: dict[str, None] = {}

    def take(self, found: _Text) -> None:
        """One text of the entry: a path, a list of paths, a host, or nothing of these."""
        if found.kind is Kind.OTHER:
            return
        if _REPLACED.search(found.text):
            if found.kind in _PLACES or _FILLED_PATH.match(found.text):
                self.left[f"{found.where} is filled in by the client; {_NAME_IT}"] = None
            return
        if found.kind is Kind.URL or "://" in found.text:
            self.url(found)
            return
        whole = self._absolute(found.text)
        parts = re.split(r"[:,;]", found.text)
        if whole is not None and self._offers(whole, Access.READ_ONLY).standing is not _NOTHING:
            self.path(found)
        elif len(parts) > 1 and all(self._absolute(part) for part in parts):
            for part in parts:
                self.path(found._replace(text=part))
        elif whole is not None:
            self.path(found)
        elif found.kind in _PLACES or found.text.startswith(("./", "../")):
            self.left[f"{found.where} is no absolute path; {_NAME_IT}"] = None

    def path(self, found: _Text) -> None:
        """Share what a path leads to, or say why not."""
        path = self._absolute(found.text)
        if path is None:
            return
        access = _ACCESS.get(found.kind, Access.READ_ONLY) if found.kind else Access.READ_ONLY
        if found.kind is Kind.DATA_FILE:
            path = dirname(path)
        offer = self._offers(path, access)
        if offer.standing is Standing.NOTHING or offer.is_brought:
            return
        if offer.refusal is not None and access is Access.READ_WRITE:
            why, access = offer.refusal, Access.READ_ONLY
            offer = self._offers(path, access)
            if offer.refusal is None:
                self.left[f"{why}; so it is shared for reading"] = None
        if offer.refusal is not None:
            self.left[f"{offer.refusal} ({found.where})"] = None
            return
        held = self.shares.get(path)
        if held is None or held[0] is Access.READ_ONLY:
            self.shares[path] = (access, found.where)

    def known(self, place: str) -> None:
        """Share a directory that a profile names, where it exists and is given."""
        path = self._absolute(place) or place
        offer = self._offers(path, Access.READ_ONLY)
        if offer.standing is not Standing.NOTHING and offer.refusal is None:
            self.shares.setdefault(path, (Access.READ_ONLY, "the server looks there"))

    def url(self, found: _Text) -> None:
        """The path of a file: URL, the host of another, which only a profile opens."""
        try:
            url = urlsplit(found.text)
            host, port = url.hostname, url.port or _PORTS.get(url.scheme)
        except ValueError:
            return
        if url.scheme == "file":
            self.path(found._replace(text=unquote(url.path)))
        elif host and port and _HOST.fullmatch(host):
            self._host(_LOCAL.get(host, host), port, found)

    def _host(self, host: str, port: int, found: _Text) -> None:
        shown = f"[{host}]" if ":" in host else host
        rule = shown if port == _PORTS["https"] else f"{shown}:{port}"
        if found.kind is Kind.URL:
            self.hosts.setdefault(rule, found.where)
        else:
            self.left[f"{found.where} names the host {rule}; open it in 'network' if needed"] = None

    def _absolute(self, text: str) -> str | None:
        path = expand_home(text, self._home)
        if path is None or not path.isprintable() or _UNNAMEABLE.search(path):
            return None
        return normpath(path).replace("//", "/", 1)

    def all(self, env: Mapping[str, str], profile: Profile | None) -> Wants:
        """The parts of a policy."""
        shares = {path: share for path, share in self.shares.items() if not self._held(path)}
        variables, left = _env_of(env, profile, self._home)
        mode = NetworkMode.ALLOWLIST if self.hosts else NetworkMode.NONE
        return Wants(
            filesystem=Filesystem(
                read_only=self._paths(shares, Access.READ_ONLY),
                read_write=self._paths(shares, Access.READ_WRITE),
                home=profile.home if profile else Home.FRESH,
            ),
            network=Network(mode=mode, allow=tuple(self.hosts)),
            env=variables,
            why={self._shown(path): why for path, (_, why) in shares.items()} | self.hosts,
            left=tuple(dict.fromkeys((*self.left, *left))),
        )

    def _held(self, path: str) -> bool:
        """Whether another share holds it and gives as much; read-only in writable does not hold."""
        access = self.shares[path][0]
        return any(
            path != other and path.startswith(f"{other}/") and (wider is access or access is _READ)
            for other, (wider, _) in self.shares.items()
        )

    def _paths(self, shares: Mapping[str, tuple[Access, str]], access: Access) -> tuple[str, ...]:
        return tuple(self._shown(path) for path, (given, _) in shares.items() if given is access)

    def _shown(self, path: str) -> str:
        inside = path.startswith(f"{self._home}/")
        return "~" + path[len(self._home) :] if inside else path


_NOTHING: Final = Standing.NOTHING
_READ: Final = Access.READ_ONLY
_ACCESS: Final = {Kind.WORKPLACE: Access.READ_WRITE, Kind.DATA_FILE: Access.READ_WRITE}
_PLACES: Final = frozenset({Kind.DIRECTORY, Kind.WORKPLACE, Kind.DATA_FILE})
_NAME_IT: Final = "name the directory below if the server needs it"
# A path that begins with what a client replaces: `${workspaceFolder}`, `$HOME/x`, `%APPDATA%/x`.
_FILLED_PATH: Final = re.compile(
    r"\$\{?(?:workspaceFolder|userHome|HOME|PWD|cwd|pwd)\b|(?:\$[{\w]|%\w+%|\{env:).*/"
)
_REPLACED: Final = re.compile(r"[${}]|%[A-Za-z_]+%")
_UNNAMEABLE: Final = re.compile(r"[$*?]|(?:^|/)\.\.(?:/|$)")  # in a policy's paths
_HOST: Final = re.compile(r"[a-z0-9.:-]+")
_LOCAL: Final = {"localhost": "127.0.0.1"}  # only a literal opens this machine itself
_PORTS: Final = {
    "https": 443, "wss": 443, "http": 80, "ws": 80, "postgres": 5432, "postgresql": 5432,
    "mysql": 3306, "mariadb": 3306, "redis": 6379, "rediss": 6379, "mongodb": 27017,
    "amqp": 5672, "amqps": 5671, "nats": 4222, "bolt": 7687, "neo4j": 7687, "clickhouse": 9000,
}  # fmt: skip


def _of_arguments(command: tuple[str, ...], profile: Profile | None) -> Iterator[_Text]:
    """The words after the program, each with what it means to this server."""
    arguments = named_by(command).arguments if profile else command[1:]
    meanings = profile.arguments.options if profile else {}
    expected: str | None = None
    for word in arguments:
        option, given, value = word.partition("=")
        if word.startswith("-") or (given and option.isidentifier()):
            expected = None if given else word
            if given:
                yield _Text(value, option, meanings.get(option))
            continue
        plain = profile.arguments.plain if profile else None
        if expected in meanings:
            yield _Text(word, f"the value of {expected}", meanings[expected])
        else:
            yield _Text(word, "an argument", plain)
        expected = None


def _of_variables(env: Mapping[str, str], profile: Profile | None) -> Iterator[_Text]:
    known = profile.variables.known if profile else {}
    for name, value in env.items():
        if re.fullmatch(VARIABLE_PATTERN, name) and not is_loader_variable(name):
            yield _Text(value, name, known.get(name))


def _env_of(
    env: Mapping[str, str], profile: Profile | None, home: str
) -> tuple[Env, tuple[str, ...]]:
    """Variables by name; by value those that load code, which no entry may keep."""
    fixed: dict[str, str] = {}
    passed: list[str] = []
    left: list[str] = []
    for name, value in env.items():
        if re.fullmatch(VARIABLE_PATTERN, name) is None:
            left.append("a variable of the entry has a name that no variable can have")
        elif not is_loader_variable(name):
            passed.append(name)
        elif is_secret(name, value) or "\0" in value:
            left.append(f"{name} loads code and looks like a secret; set it yourself if needed")
        else:
            fixed[name] = value
    if profile is not None:
        passed += [name for name in profile.variables.known if name not in env]
        for name, value in profile.variables.set.items():
            if name not in env:
                fixed[name] = value.replace("~", home, 1) if value.startswith("~/") else value
    return Env(pass_=tuple(n for n in passed if n not in fixed), set=fixed), tuple(left)


def is_secret(name: str, value: str) -> bool:
    """Whether a variable is likely a secret, by its name or by the shape of its value."""
    return is_telling(name) or bool(shape_spans(value))
