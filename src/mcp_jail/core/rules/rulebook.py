"""A policy made ready to be asked: names in tables, `~` expanded, hosts and items bound.

Done once for a policy, so that a call costs the same with one rule or with a thousand. An exact
name beats a glob; among globs the one with most literal characters wins, and several with as many
are all asked and the strictest answer holds. The order in which rules are written never matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec
from msgspec import UNSET

from mcp_jail.core.policy import (
    Additional,
    Constraint,
    HostEntry,
    Policy,
    ToolRule,
    Verdict,
    strictest,
)
from mcp_jail.core.rules.constraints import Check
from mcp_jail.core.rules.decision import Decision, KeyPath, Places, plainly
from mcp_jail.core.rules.globs import glob_matches, is_glob, literal_count
from mcp_jail.core.rules.hosts import HostRules, compile_hosts
from mcp_jail.core.rules.paths import expand_home
from mcp_jail.core.rules.rates import Limit, limit_of

__all__ = [
    "REMEMBERED_LENGTH",
    "REMEMBERED_NAMES",
    "KeyPath",
    "NameRules",
    "Places",
    "Rule",
    "Rulebook",
    "compile_rules",
]

# Names whose rules are remembered. They come from a hostile model, so the memory is emptied when
# it is full rather than grown.
REMEMBERED_NAMES = 2048

# Characters of such a name; longer ones are looked up anew, so that memory stays below a megabyte.
REMEMBERED_LENGTH = 128


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: `decision` when all checks hold, else `otherwise`, which is never looser.

    `named` are the arguments a call may have, None where it may have any.
    """

    key: str
    path: KeyPath  # where it stands in the policy, such as ("tools", "rules", "read_*")
    decision: Decision
    otherwise: Verdict
    checks: tuple[Check, ...] = ()
    limit: Limit | None = None
    named: frozenset[str] | None = None


class NameRules:
    """The rules of one kind of name (tools, resources, prompts)."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._exact = {rule.key: rule for rule in rules if not is_glob(rule.key)}
        globs = [rule for rule in rules if is_glob(rule.key)]
        self._globs = sorted(globs, key=lambda rule: (-literal_count(rule.key), rule.key))
        self._remembered: dict[str, tuple[Rule, ...]] = {}

    def for_name(self, name: str) -> tuple[Rule, ...]:
        """The rules that decide a name: one, or none, or several globs that tie."""
        exact = self._exact.get(name)
        if exact is not None:
            return (exact,)
        found = self._remembered.get(name)
        if found is None:
            found = self._best_globs(name)
            if len(name) > REMEMBERED_LENGTH:
                return found
            if len(self._remembered) >= REMEMBERED_NAMES:
                self._remembered.clear()
            self._remembered[name] = found
        return found

    def _best_globs(self, name: str) -> tuple[Rule, ...]:
        best: list[Rule] = []
        for rule in self._globs:
            if best and literal_count(rule.key) < literal_count(best[0].key):
                break
            if glob_matches(rule.key, name):
                best.append(rule)
        return tuple(best)


class Rulebook(msgspec.Struct, frozen=True, kw_only=True):
    """All rules of one policy; `places` says where each key stands in its file."""

    policy: Policy
    places: Places
    tools: NameRules
    resources: NameRules
    prompts: NameRules

    def denies_always(self, tool: str) -> bool:
        """Whether a tool is denied whatever its arguments are: then it need not be shown."""
        rules = self.tools.for_name(tool)
        if not rules:
            return self.policy.tools.default is Verdict.DENY
        return any(rule.decision.verdict is Verdict.DENY for rule in rules)


def compile_rules(policy: Policy, places: Places, *, home: str, cwd: str | None) -> Rulebook:
    """A policy's rulebook; raises ValueError for paths and hosts that `config` refuses to load.

    `home` is what `~` means. `cwd` is the server's working directory; relative paths in arguments
    start from it, and only where the policy itself names one.
    """
    declared = policy.server is not None and policy.server.cwd is not None
    binder = _Binder(policy, home, cwd if declared else None)
    return Rulebook(
        policy=policy,
        places=places,
        tools=_name_rules("tools", policy.tools.rules, binder.check, places),
        resources=_name_rules("resources", policy.resources.rules, binder.check, places),
        prompts=_name_rules("prompts", policy.prompts.rules, binder.check, places),
    )


class _Binder:
    """Binds constraints to what they mean for one user and one policy."""

    def __init__(self, policy: Policy, home: str, cwd: str | None) -> None:
        self._home = home
        self._cwd = cwd
        entries = policy.network.allow
        self._allowlist = compile_hosts(
            entry.host if isinstance(entry, HostEntry) else entry for entry in entries
        )

    def check(self, name: str, constraint: Constraint) -> Check:
        return Check(
            name=name,
            constraint=constraint,
            roots=self._roots(constraint),
            cwd=self._cwd,
            hosts=self._hosts(constraint),
            each=None if constraint.each is UNSET else self.check(name, constraint.each),
        )

    def _roots(self, constraint: Constraint) -> tuple[str, ...]:
        if constraint.under is UNSET:
            return ()
        roots = [expand_home(path, self._home) for path in constraint.under]
        if None in roots:
            raise ValueError(f"a directory of 'under' is not absolute: {constraint.under}")
        return tuple(root for root in roots if root is not None)

    def _hosts(self, constraint: Constraint) -> HostRules | None:
        if constraint.host is UNSET:
            return None
        if constraint.host == "allowlist":
            return self._allowlist
        named = constraint.host
        return compile_hosts((named,) if isinstance(named, str) else named)


def _name_rules(
    kind: str,
    rules: Mapping[str, Verdict | ToolRule],
    check: Callable[[str, Constraint], Check],
    places: Places,
) -> NameRules:
    found = [_rule((kind, "rules", key), rule, check, places) for key, rule in rules.items()]
    return NameRules(tuple(found))


def _rule(
    path: KeyPath,
    rule: Verdict | ToolRule,
    check: Callable[[str, Constraint], Check],
    places: Places,
) -> Rule:
    if isinstance(rule, Verdict):
        said = plainly(rule, path, places)
        return Rule(key=path[-1], path=path, decision=said, otherwise=rule)
    return Rule(
        key=path[-1],
        path=path,
        decision=plainly(rule.decision, path, places),
        # A constraint that cannot be evaluated does not hold, so a looser `otherwise` would open.
        otherwise=strictest(rule.decision, rule.otherwise),
        checks=tuple(check(name, rule.args[name]) for name in sorted(rule.args)),
        limit=None if rule.limit is None else limit_of(rule.limit),
        named=_named(rule.args) if rule.additional is Additional.DENY else None,
    )


def _named(args: Iterable[str]) -> frozenset[str]:
    """The arguments that constraints are about: `a.b.c` is also about `a` and about `a.b`."""
    named: set[str] = set()
    for name in args:
        named.add(name)
        while name := name.rpartition(".")[0]:
            named.add(name)
    return frozenset(named)
