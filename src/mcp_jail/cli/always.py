"""The rule behind `allow --for always`: prepared before the answer is given, written after it."""

from __future__ import annotations

import time

import msgspec

from mcp_jail.asks.calling import call
from mcp_jail.asks.protocol import AskView
from mcp_jail.config.rule_edit import rule_yaml, with_rule
from mcp_jail.core.rules.narrow import NoRule, narrowest, section_of
from mcp_jail.errors import NotAnsweredError, UsageError
from mcp_jail.proxy.prepare import Judged, judge
from mcp_jail.store.places import find_places
from mcp_jail.store.policies import PolicyKind, kind_of
from mcp_jail.store.policy_edits import PolicyChangedError, refuse_foreign_policy, replace_policy
from mcp_jail.store.runs import Run

# Times a policy is read again because another command wrote it first.
_TRIES = 10

# Seconds until a run has looked at its policy, which it does a few times a second.
_PATIENCE = 10.0


class Always(msgspec.Struct, frozen=True):
    """What would be written where."""

    run: Run
    view: AskView
    path: str
    yaml: str


def prepared(run: Run, view: AskView) -> Always:
    """The narrowest rule for a call; UsageError or a PolicyEditError where there is none."""
    judged, _, yaml = _edited(run, view)
    return Always(run, view, judged.file.path, yaml)


def write(always: Always) -> None:
    """Write the rule, into the policy as it is by now."""
    for _ in range(_TRIES):
        judged, text, yaml = _edited(always.run, always.view)
        try:
            replace_policy(judged.file, text, by_hand=yaml)
        except PolicyChangedError:
            continue
        return
    raise UsageError(f"'{always.path}' changes all the time", hint="try again later")


def is_taken_up(run: Run, ticket: str) -> bool:
    """Whether a run goes by the rule: the answer that stood in for it counts no more, then."""
    end = time.monotonic() + _PATIENCE
    try:
        while ticket in {each["ticket"] for each in call(run, "grants").get("grants", [])}:
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)
    except NotAnsweredError:
        return True  # it has ended; the next one reads the policy anew
    return True


def _edited(run: Run, view: AskView) -> tuple[Judged, str, str]:
    """The policy of a run, its text with the rule, and the rule alone."""
    section = section_of(view.method)
    if section is None:
        raise UsageError(
            f"no rule of a policy can allow {view.method} for these words only",
            hint="allow it for the session, or write the key into the policy by hand",
        )
    if view.has_secret:
        raise UsageError(
            "the arguments hold a secret, and a rule would write it into the policy",
            hint="allow it for the session, or write a rule without that argument by hand",
        )
    if len(view.arguments) != view.size:
        raise UsageError("the arguments are too long for a rule", hint="write one by hand")
    judged = _judged(run)
    edit = narrowest(judged.book, section, view.name, msgspec.json.decode(view.arguments))
    if isinstance(edit, NoRule):
        raise UsageError(f"there is no rule for exactly this: {edit.reason}", hint=edit.hint)
    yaml = rule_yaml(edit)
    refuse_foreign_policy(judged.file, yaml)
    return judged, with_rule(judged.file.text, judged.source, edit), yaml


def _judged(run: Run) -> Judged:
    """The policy that a run goes by, as it is now; one of root's may have come since it began."""
    is_named = kind_of(find_places(), run.policy) is not PolicyKind.TRUSTED
    if is_named:
        return judge(name=run.name, policy_file=None)
    return judge(name=None, policy_file=run.policy)
