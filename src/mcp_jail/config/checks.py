"""What a policy's types cannot say: paths that are absolute, hosts and patterns that can be read.

Each check adds a problem at the value's place. Nothing here knows the machine or the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import UNSET, UnsetType

from mcp_jail.config.problems import Problems
from mcp_jail.core.approved.lock import ItemKind
from mcp_jail.core.packages import fault_of
from mcp_jail.core.policy import Constraint, HostEntry, Policy, ToolRule, strictest
from mcp_jail.core.rules.hosts import compile_hosts
from mcp_jail.core.rules.paths import expand_home
from mcp_jail.core.rules.rates import seconds_of
from mcp_jail.core.rules.rulebook import KeyPath
from mcp_jail.core.rules.upstream import read_upstream
from mcp_jail.errors import Place

# Parts of a dotted argument name: each dot doubles the readings of `a.b.c`.
DOTTED_LIMIT = 8

# Seconds that an answer may hold: for less it is over before the call it allows is made again, and
# no notification stays for longer, nor does an answer that counts for a time.
REMEMBER_LEAST, REMEMBER_MOST = 1, 24 * 3600

Values = Mapping[KeyPath, Place]


def check(policy: Policy, values: Values, problems: Problems) -> None:
    """Add all problems of a policy that was read; `values` tells where each value stands."""
    checker = _Checker(values, problems)
    checker.launch(policy)
    checker.paths(policy)
    checker.variables(policy)
    checker.secrets(policy)
    checker.hosts(("network", "allow"), map(_host_of, policy.network.allow))
    checker.ignored(policy.lock.ignore)
    checker.upstream(policy)
    checker.remembered(policy)
    for name, rule in policy.tools.rules.items():
        if isinstance(rule, ToolRule):
            checker.rule(("tools", "rules", name), rule)


class _Checker:
    def __init__(self, values: Values, problems: Problems) -> None:
        self._values = values
        self._problems = problems

    def launch(self, policy: Policy) -> None:
        if policy.server is not None and policy.remote is not None:
            self._add(("remote",), "a policy has either 'server' or 'remote', not both")
        if policy.package is not None and policy.remote is not None:
            self._add(("package",), "a server that is reached over HTTP has no package here")
        fault = None if policy.package is None else fault_of(policy.package)
        if fault is not None:
            key, message, hint = fault
            self._add(("package", *key), message, hint)

    def paths(self, policy: Policy) -> None:
        files = policy.filesystem
        for path, texts in (
            (("filesystem", "read_only"), files.read_only),
            (("filesystem", "read_write"), files.read_write),
        ):
            self._directories(path, texts)
        for path, text in (
            (("server", "cwd"), policy.server.cwd if policy.server else None),
            (("audit", "path"), policy.audit.path),
        ):
            if text is not None:
                self._one(path, text, _fault_of_path)
        if policy.lock.file is not None:
            self._one(("lock", "file"), policy.lock.file, _fault_of_lock_file)

    def variables(self, policy: Policy) -> None:
        for name in policy.env.set:
            if name in policy.env.pass_:
                self._add(("env", "set", name), f"{name!r} stands in 'pass' and in 'set'")

    def secrets(self, policy: Policy) -> None:
        env = policy.env
        if not env.secret:
            return
        from mcp_jail.core.secret_sources import Kind, secret_source  # noqa: PLC0415  # few need it

        for name, text in env.secret.items():
            where = ("env", "secret", name)
            for key, others in (("pass", env.pass_), ("set", env.set)):
                if name in others:
                    self._add(where, f"{name!r} stands in {key!r} and in 'secret'")
            try:
                source = secret_source(text, name)
            except ValueError as error:
                self._add(where, f"{text!r} {error}")
                continue
            if source.kind is Kind.FILE:
                self._one(where, source.words[0], _fault_of_path)

    def hosts(self, path: KeyPath, texts: Iterable[str]) -> None:
        for index, text in enumerate(texts):
            self._one((*path, str(index)), text, _fault_of_host)

    def ignored(self, ignored: Mapping[str, tuple[str, ...]]) -> None:
        for item, members in ignored.items():
            path = ("lock", "ignore", item)
            self._one(path, item, _fault_of_item)
            if not members:
                self._add(path, f"{item!r} has no member here, so nothing of it is ignored")
            for index, member in enumerate(members):
                self._one((*path, str(index)), member, _fault_of_member)

    def remembered(self, policy: Policy) -> None:
        self._one(("ask", "remember"), policy.ask.remember, _fault_of_remember)

    def upstream(self, policy: Policy) -> None:
        if policy.network.upstream_proxy is not None:
            path = ("network", "upstream_proxy")
            self._one(path, policy.network.upstream_proxy, _fault_of_upstream)

    def rule(self, path: KeyPath, rule: ToolRule) -> None:
        if strictest(rule.decision, rule.otherwise) is not rule.otherwise:
            self._add(
                (*path, "otherwise"),
                f"'otherwise: {rule.otherwise.value}' is looser than "
                f"'decision: {rule.decision.value}'",
                "a constraint that cannot be checked does not hold, so this would let calls "
                "through; write the rule the other way round",
            )
        for name, constraint in rule.args.items():
            where = (*path, "args", name)
            if name.count(".") >= DOTTED_LIMIT:
                self._add(where, f"{name!r} has more than {DOTTED_LIMIT} parts")
            for inner, each in _with_each(where, constraint):
                self._constraint(inner, each)

    def _constraint(self, path: KeyPath, constraint: Constraint) -> None:
        self._directories((*path, "under"), _given(constraint.under))
        if isinstance(constraint.host, str) and constraint.host != "allowlist":
            message = "'host' must be 'allowlist' or a list"
            self._add((*path, "host"), message, f"write [{constraint.host}]")
        elif isinstance(constraint.host, tuple):
            self.hosts((*path, "host"), constraint.host)
        if constraint.matches is not UNSET:
            self._one((*path, "matches"), constraint.matches, _fault_of_pattern)
        low, high = constraint.min, constraint.max
        if low is not UNSET and high is not UNSET and low > high:
            self._add((*path, "max"), f"'max' {high} is below 'min' {low}")

    def _directories(self, path: KeyPath, texts: Iterable[str]) -> None:
        for index, text in enumerate(texts):
            self._one((*path, str(index)), text, _fault_of_directory)

    def _one(self, path: KeyPath, text: str, fault_of: Callable[[str], str | None]) -> None:
        fault = fault_of(text)
        if fault is not None:
            self._add(path, fault)

    def _add(self, path: KeyPath, message: str, hint: str = "") -> None:
        # A value the reader has refused has left a gap in its list; then an item's neighbour or
        # the key itself is near enough.
        while path and path not in self._values:
            path = path[:-1]
        self._problems.add(self._values.get(path) or self._problems.at(1, 1), message, hint)


def _with_each(path: KeyPath, constraint: Constraint) -> Iterator[tuple[KeyPath, Constraint]]:
    yield path, constraint
    if constraint.each is not UNSET:
        yield from _with_each((*path, "each"), constraint.each)


def _given(value: tuple[Any, ...] | UnsetType) -> tuple[Any, ...]:
    return () if value is UNSET else value


def _host_of(entry: str | HostEntry) -> str:
    return entry.host if isinstance(entry, HostEntry) else entry


def _fault_of_path(text: str) -> str | None:
    if "$" in text:
        return f"{text!r} has a variable, which is not replaced; write the path out"
    if expand_home(text, "/") is None:
        return f"{text!r} is not absolute; begin with '/' or '~/'"
    if ".." in text.split("/"):
        return f"{text!r} goes up; write the path without '..'"
    return None


def _fault_of_lock_file(text: str) -> str | None:
    """Why a text names no lock file; what is relative lies beside the policy file."""
    if not text.endswith(".json"):
        return f"{text!r} does not end in .json, as a lock file does"
    if text.startswith(("/", "~")):
        return _fault_of_path(text)
    if "$" in text or ".." in text.split("/"):
        return f"{text!r} is no plain path below the directory of the policy file"
    return None


def _fault_of_directory(text: str) -> str | None:
    if "*" in text or "?" in text:
        return f"{text!r} is a glob; directories are named one by one"
    return _fault_of_path(text)


def _fault_of_host(text: str) -> str | None:
    try:
        compile_hosts([text])
    except ValueError as error:
        return f"{text!r}: {error}"
    return None


def _fault_of_upstream(text: str) -> str | None:
    try:
        read_upstream(text)
    except ValueError as error:
        return str(error)
    return None


def _fault_of_remember(text: str) -> str | None:
    if not REMEMBER_LEAST <= seconds_of(text) <= REMEMBER_MOST:
        return f"{text!r} is no time that an answer can hold: from 1s to 24h"
    return None


def _fault_of_pattern(text: str) -> str | None:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        return f"{text!r} is no regular expression: {error}"
    return None


def _fault_of_item(text: str) -> str | None:
    """Why a text is no item by the key that `diff` shows; in braces a URI has marks of its own."""
    kind, _, name = text.partition("/")
    if kind not in _IGNORABLE or not name:
        kinds = ", ".join(f"{each}/..." for each in _IGNORABLE)
        return f"{text!r} is no item as `diff` names it: {kinds}"
    is_named = kind in {ItemKind.TOOL.value, ItemKind.PROMPT.value}
    if "*" in _BRACED.sub("", name) or (is_named and "?" in name):
        return f"{text!r} is a glob; what the lock ignores is named one by one"
    return None


def _fault_of_member(text: str) -> str | None:
    parts = text.split(".")
    if "" in parts:
        return f"{text!r} has an empty part"
    if "*" in text or "?" in text:
        return f"{text!r} is a glob; members are named one by one"
    if text in {"name", "uri", "uriTemplate"}:
        return f"{text!r} is what the item goes by"
    if len(parts) > DOTTED_LIMIT:
        return f"{text!r} has more than {DOTTED_LIMIT} parts"
    return None


# The items of which a member may be ignored. What a server says of itself blocks nothing anyway.
_IGNORABLE: Final = tuple(
    kind.value for kind in ItemKind if kind not in {ItemKind.LAUNCH, ItemKind.SERVER}
)
_BRACED: Final = re.compile(r"\{[^{}]*\}")
