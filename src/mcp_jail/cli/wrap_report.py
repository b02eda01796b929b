"""What `wrap` and `unwrap` would do or have done, in four groups."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from mcp_jail.cli.for_programs import json_page
from mcp_jail.cli.inert_text import inert, named
from mcp_jail.cli.out import bullet, counted, folded, heading
from mcp_jail.clients.plans import FilePlan, Group, Outcome
from mcp_jail.clients.running import Running
from mcp_jail.config.carried_code import has_code
from mcp_jail.core.text.command_shown import without_secrets
from mcp_jail.errors import UsageError

# Characters of one word of a command.
WORD_SHOWN: Final = 400


class Words:
    """What the groups are called by one of the two commands."""

    def __init__(self, verb: str, already: str, moved: str) -> None:
        self.verb, self.already, self.moved = verb, already, moved


WRAP: Final = Words("wrap", "Already wrapped", "would load code into mcp-jail; now in the policy")
UNWRAP: Final = Words("unwrap", "Not wrapped", "back in the entry")


def print_plans(plans: Sequence[FilePlan], words: Words, home: str) -> None:
    """The preview: each entry in its group, with its lines before and after."""
    names = {
        Group.DONE: f"To {words.verb}",
        Group.ALREADY: words.already,
        Group.SKIPPED: "Skipped",
        Group.REFUSED: "Refused",
    }
    for group, name in names.items():
        found = [(plan, each) for plan in plans for each in plan.outcomes if each.group is group]
        if found:
            heading(f"{name}: {len(found)}")
        for plan, outcome in found:
            _print_outcome(plan, outcome, words, home)


def print_notes(notes: Iterable[str]) -> None:
    """What a person has to know or do."""
    found = list(dict.fromkeys(notes))
    if found:
        heading("Mind")
    for note in found:
        folded(in_a_line(note))


def notes_of(plans: Iterable[FilePlan], running: Sequence[Running], home: str) -> list[str]:
    """What there is to know of the clients whose files change."""
    found: list[str] = []
    for plan in plans:
        for row in plan.rows if plan.changes else ():
            program = next((each for each in running if each.program in row.processes), None)
            if row.rewrites and program is not None:
                found.append(
                    f"{row.name} is running ({program.program}, process {program.pid}) and writes "
                    f"{shown(plan.path, home)} itself, {row.rewrites}; quit it first, or the "
                    "change may be lost (mcp-jail doctor tells)"
                )
            elif row.rewrites:
                found.append(f"{row.name} writes its file itself, {row.rewrites}")
            if row.note:
                found.append(f"{row.name}: {row.note}")
        found += plan.notes
    return found


def agreed(plans: Sequence[FilePlan], words: Words) -> bool:
    """Ask a person; UsageError where there is no terminal."""
    if not sys.stdin.isatty():
        raise UsageError(
            f"{words.verb} asks a person, and this is no terminal",
            hint="--dry-run shows and writes nothing; --yes does not ask",
        )
    files = sum(plan.changes for plan in plans)
    sys.stdout.write(f"\nWrite {counted(files, 'file', 'files')}? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def as_json(plans: Sequence[FilePlan], notes: Sequence[str], *, is_written: bool) -> str:
    """The report for a program."""
    report: dict[str, Any] = {
        "written": is_written,
        "files": [
            {"path": plan.path, "changes": plan.changes, "servers": [*map(_row, plan.outcomes)]}
            for plan in plans
        ],
        "notes": list(dict.fromkeys(notes)),
    }
    return json_page(report)


def shown(path: str, home: str) -> str:
    """A path as people write it."""
    return "~" + path[len(home) :] if path.startswith(home + "/") else path


def _row(outcome: Outcome) -> dict[str, Any]:
    return {
        "group": outcome.group.value,
        "server": outcome.server,
        "client": outcome.client,
        "within": outcome.within,
        "reason": outcome.reason,
        "hint": outcome.hint,
        "before": _without_secrets(outcome.before),
        "after": _without_secrets(outcome.after),
        "policy": outcome.policy,
        "policy_is_new": outcome.policy_is_new,
        "policy_is_unclaimed": outcome.policy_is_unclaimed,
        "opens": outcome.opens,
        "moved": list(outcome.moved),
    }


def _print_outcome(plan: FilePlan, outcome: Outcome, words: Words, home: str) -> None:
    path = f", {in_a_line(shown(plan.path, home))}" if plan.path else ""
    where = f"{outcome.client}{path}"
    if outcome.within:
        where += f", for {named(outcome.within, WORD_SHOWN)}"
    bullet(f"{named(outcome.server)} ({where})" if outcome.server else where)
    if outcome.before:
        bullet(f"  - {_line(outcome.before)}")
        bullet(f"  + {_line(outcome.after)}")
    if outcome.policy:
        made = "a new policy" if outcome.policy_is_new else "the same policy"
        if outcome.policy_is_unclaimed:
            made = "yours, which names no command: this one gets all that it shares"
        folded(f"  policy {outcome.policy}: {made}", note=f"  {in_a_line(outcome.opens)}")
    if outcome.moved:
        folded(f"  {', '.join(outcome.moved)}: {words.moved}")
    if outcome.reason:
        note = f"  {in_a_line(outcome.hint)}" if outcome.hint else ""
        folded(f"  {in_a_line(outcome.reason)}", note=note)


def in_a_line(text: str) -> str:
    """Words of ours that may quote a file, in which nothing acts on a terminal."""
    return " ".join(inert(text).split("\n"))


def _line(words: Sequence[str]) -> str:
    return " ".join(named(word, WORD_SHOWN) for word in _without_secrets(words))


def _without_secrets(words: Sequence[str]) -> list[str]:
    """A command with what may be a secret blotted out: a report is pasted and kept in logs."""
    return without_secrets(words, has_code=has_code(tuple(words)))
