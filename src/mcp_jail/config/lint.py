"""What is allowed to be written and is probably not meant: warnings, never refusals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import UNSET

from mcp_jail.config.carried_code import carried_code
from mcp_jail.config.launchers import look_up_at_start
from mcp_jail.core.loaders import is_loader_variable
from mcp_jail.core.policy import (
    Additional,
    Constraint,
    NetworkMode,
    Policy,
    ToolRule,
    Verdict,
    Via,
)
from mcp_jail.core.rules.globs import glob_matches, globs_overlap, is_glob, literal_count
from mcp_jail.core.rules.paths import expand_home
from mcp_jail.core.rules.rates import seconds_of
from mcp_jail.core.rules.rulebook import KeyPath
from mcp_jail.core.spec import Access, JailSpec
from mcp_jail.errors import Place

# Parts of a tool's name that say it changes files.
WRITING_WORDS = frozenset(
    {"append", "copy", "create", "delete", "edit", "mkdir", "modify", "move", "patch", "put"}
    | {"remove", "rename", "replace", "rm", "save", "set", "update", "upload", "write"}
)


class Lint(msgspec.Struct, frozen=True):
    """A warning about a key; `place` is None for a policy that came from no file."""

    place: Place | None
    message: str
    hint: str

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        return f"{place}{self.message} ({self.hint})"


def lint(policy: Policy, places: Mapping[KeyPath, Place], spec: JailSpec) -> tuple[Lint, ...]:
    """All warnings about a policy and the jail it makes, from the top of the file to its end."""
    linter = _Linter(policy, places, spec)
    found = [
        *linter.environment(),
        *linter.network(),
        *linter.launcher(),
        *linter.code(),
        *linter.package(),
        *linter.names(("tools", "rules"), policy.tools.rules),
        *linter.names(("resources", "rules"), policy.resources.rules),
        *linter.names(("prompts", "rules"), policy.prompts.rules),
        *linter.constraints(),
        *linter.asks(),
    ]
    return tuple(sorted(found, key=lambda one: one.place or Place("", 0, 0)))


# Seconds after which the SDKs' clients give a call up, less what an answer takes on its way.
CLIENT_PATIENCE = 55.0


class _Linter:
    def __init__(self, policy: Policy, places: Mapping[KeyPath, Place], spec: JailSpec) -> None:
        self._policy = policy
        self._places = places
        self._spec = spec
        self._home = _home_of(policy, spec)

    def environment(self) -> Iterator[Lint]:
        env = self._policy.env
        where: list[tuple[KeyPath, str]] = []
        where += [(("env", "pass", str(index)), name) for index, name in enumerate(env.pass_)]
        where += [(("env", "set", name), name) for name in env.set]
        where += [(("env", "secret", name), name) for name in env.secret]
        for path, name in where:
            if is_loader_variable(name):
                message = f"'{name}' decides which code the server's programs run"
                yield self._lint(path, message, "keep it out unless the server needs it to start")

    def asks(self) -> Iterator[Lint]:
        """A call that is held for longer than its client waits."""
        wait = self._policy.ask.wait
        if seconds_of(wait) > CLIENT_PATIENCE:
            message = f"most clients give a call up after 60 s, before 'wait: {wait}' is over"
            yield self._lint(("ask", "wait"), message, "write 50s; the ask stays open after it")

    def network(self) -> Iterator[Lint]:
        network = self._policy.network
        if network.via is Via.PROXY and network.mode is not NetworkMode.HOST:
            message = "a proxy in the gate's stead: what is tried past it is not seen"
            hint = "take it out unless mcp-jail doctor says that no gate can be built here"
            yield self._lint(("network", "via"), message, hint)
        if network.upstream_proxy is not None and network.mode is not NetworkMode.ALLOWLIST:
            message = f"no proxy is used while network.mode is {network.mode.value}"
            yield self._lint(("network", "upstream_proxy"), message, "write mode: allowlist")
        if network.mode is NetworkMode.HOST:
            message = (
                "the server has this machine's own network: every service that listens on it, "
                "also those without a port (abstract sockets), and every host it reaches"
            )
            yield self._lint(("network", "mode"), message, "name the hosts: {mode: allowlist}")
        elif network.mode is NetworkMode.NONE and network.allow:
            message = "network.allow opens nothing while network.mode is none"
            yield self._lint(("network", "allow"), message, "write mode: allowlist")

    def package(self) -> Iterator[Lint]:
        package = self._policy.package
        if package is not None and package.unpinned:
            message = (
                "each start runs whatever the registry has then: it is reached, and HOME is kept, "
                "which holds the server's own cache"
            )
            hint = f"take the key out; mcp-jail install {self._policy.name} pins one version"
            yield self._lint(("package", "unpinned"), message, hint)

    def launcher(self) -> Iterator[Lint]:
        package = self._policy.package
        if self._policy.network.mode is not NetworkMode.NONE or package is not None:
            return
        is_named = self._policy.server is not None and bool(self._policy.server.command)
        found = look_up_at_start(self._spec.command, self._policy.name, is_named=is_named)
        if found is not None:
            yield self._lint(("server", "command"), found.message, found.hint)

    def code(self) -> Iterator[Lint]:
        found = carried_code(self._spec.command)
        if found is not None:
            yield self._lint(("server", "command"), found.message, found.hint)

    def names(self, path: KeyPath, rules: Mapping[str, Verdict | ToolRule]) -> Iterator[Lint]:
        for name in rules:
            if name != name.strip() or not name.isprintable():
                message = f"{name!r} never matches: such names are always denied"
                yield self._lint((*path, name), message, "take out the white space")
        globs = {name: _verdict(rule) for name, rule in rules.items() if is_glob(name)}
        for one, other in _ties(globs):
            if globs[one] is not globs[other]:
                message = f"'{one}' and '{other}' may match the same name, with equal weight"
                hint = "the stricter one holds; write the longer name you mean"
                yield self._lint((*path, other), message, hint)
        denied = [glob for glob, verdict in globs.items() if verdict is Verdict.DENY]
        for name, rule in rules.items():
            if rule is not Verdict.ALLOW or is_glob(name):
                continue
            for glob in (glob for glob in denied if glob_matches(glob, name)):
                message = f"'{name}: allow' goes before '{glob}: deny'"
                yield self._lint((*path, name), message, "exact names beat globs; is it meant?")

    def constraints(self) -> Iterator[Lint]:
        for name, rule in self._policy.tools.rules.items():
            if not isinstance(rule, ToolRule):
                continue
            yield from self._closed(("tools", "rules", name), rule)
            for argument, constraint in rule.args.items():
                path = ("tools", "rules", name, "args", argument)
                for inner, one in _with_each(path, constraint):
                    yield from self._constraint(inner, one)
                    if rule.decision is not Verdict.DENY:
                        yield from self._under(inner, one, writes=_writes(name))

    def _closed(self, path: KeyPath, rule: ToolRule) -> Iterator[Lint]:
        if rule.additional is Additional.DENY and rule.otherwise is rule.decision:
            message = f"'additional: deny' changes nothing: both ways end in {rule.decision.value}"
            yield self._lint((*path, "additional"), message, "write another 'otherwise'")

    def _constraint(self, path: KeyPath, constraint: Constraint) -> Iterator[Lint]:
        if constraint == Constraint():
            message = f"'{path[-1]}: {{}}' asks for nothing but that the argument is there"
            yield self._lint(path, message, "say what it must be, e.g. {one_of: [a, b]}")
        for key in ("under", "host", "one_of"):
            if getattr(constraint, key) == ():
                yield self._lint((*path, key), f"an empty '{key}' never holds", "name what may be")
        if constraint.host == "allowlist" and not self._policy.network.allow:
            message = "'host: allowlist' never holds, for network.allow is empty"
            yield self._lint((*path, "host"), message, "name the hosts here")
        if constraint.matches is not UNSET:
            yield from self._pattern((*path, "matches"), constraint.matches)

    def _pattern(self, path: KeyPath, pattern: str) -> Iterator[Lint]:
        if pattern.startswith("^") != pattern.endswith("$"):
            message = "the pattern must fit the whole text, not a part of it"
            yield self._lint(path, message, "write .* where anything may stand")
        if _NESTED_QUANTIFIERS.search(pattern):
            message = "a repeat inside a repeat can take very long; it is stopped and does not hold"
            yield self._lint(path, message, "write one of the two")

    def _under(self, path: KeyPath, constraint: Constraint, *, writes: bool) -> Iterator[Lint]:
        for index, shown in enumerate(constraint.under or ()):
            where = (*path, "under", str(index))
            directory = expand_home(shown, self._home or "")
            if directory is None or (shown.startswith("~") and not self._home):
                continue
            if not self._sees(directory):
                message = f"'{shown}' is allowed here, but the server cannot see it"
                yield self._lint(where, message, f"add it to filesystem.read_only: [{shown}]")
            elif writes and not self._sees(directory, Access.READ_WRITE):
                message = f"'{shown}' is allowed here, but the server cannot write there"
                yield self._lint(where, message, f"add it to filesystem.read_write: [{shown}]")

    def _sees(self, path: str, access: Access | None = None) -> bool:
        return any(
            path == share.path or path.startswith(f"{share.path.rstrip('/')}/")
            for share in self._spec.shares
            if access in {None, share.access}
        )

    def _lint(self, path: KeyPath, message: str, hint: str) -> Lint:
        while path and path not in self._places:
            path = path[:-1]
        return Lint(self._places.get(path), message, hint)


def _home_of(policy: Policy, spec: JailSpec) -> str | None:
    """What `~` was expanded to, as the shares show it; None where no share was written with it."""
    files = policy.filesystem
    for text, share in zip((*files.read_only, *files.read_write), spec.shares, strict=False):
        if text.startswith("~"):
            return share.path.removesuffix(text[1:])
    return None if spec.shares else "/"


def _verdict(rule: Verdict | ToolRule) -> Verdict:
    return rule if isinstance(rule, Verdict) else rule.decision


def _ties(globs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of globs of equal weight that some name fits both of."""
    by_head = sorted(globs, key=_head)
    for index, one in enumerate(by_head):
        for other in by_head[index + 1 :]:
            if not other.startswith(_head(one)):
                break  # in this order, no later one can overlap
            if literal_count(one) == literal_count(other) and globs_overlap(one, other):
                yield one, other


def _head(glob: str) -> str:
    return re.split(r"[*?]", glob, maxsplit=1)[0]


def _with_each(path: KeyPath, constraint: Constraint) -> Iterator[tuple[KeyPath, Constraint]]:
    yield path, constraint
    if constraint.each is not UNSET:
        yield from _with_each((*path, "each"), constraint.each)


def _writes(tool: str) -> bool:
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", tool).lower()
    return not WRITING_WORDS.isdisjoint(re.split(r"[^a-z]+", words))


# `(a+)+` and its kin: a group that repeats, holding something that repeats.
_NESTED_QUANTIFIERS = re.compile(r"\([^()]*[+*][^()]*\)[+*{]")
