"""What we say ourselves: refusals in the shape of their era, words to a person, entries, roots."""

from __future__ import annotations

import re
from typing import Any

from mcp_jail.core.approved.lock import Drift, Lock
from mcp_jail.core.conversation.events import Effect, PolicyChanged, Record, Tell
from mcp_jail.core.conversation.inflight import AskedOfClient, Waiting
from mcp_jail.core.conversation.question_facts import facts_of
from mcp_jail.core.conversation.questions import Question, Refusal
from mcp_jail.core.conversation.state import Describe
from mcp_jail.core.conversation.tally import quoted
from mcp_jail.core.protocol import mcp, wire
from mcp_jail.core.protocol.mcp import Era, Treatment
from mcp_jail.core.protocol.wire import MessageId, Request
from mcp_jail.core.recorded.audit import Entry, Kind
from mcp_jail.core.rules import decide

# The rule of a refusal that the lock made, not the policy.
LOCK_RULE = "lock"

# The rule of what was held and ended without a verdict.
HELD_RULE = "held"


def refusal(request: Request, treatment: Treatment, decision: decide.Decision) -> bytes:
    """The answer that tells a model or client what rule did not hold."""
    text = refusal_text(decision)
    return refusal_in_words(request.id, treatment, mcp.era_of(request.params), text)


def waiting_text(ticket: str) -> str:
    """The words for a call that nobody has allowed or denied in time; it may be made again."""
    return (
        f"waiting for the user ({ticket}): this call has not been answered yet. "
        "Do something else, or make the very same call again later; changed, it is another call."
    )


def refusal_in_words(
    id: MessageId, treatment: Treatment, era: Era, text: str, *, code: int = mcp.DENIED
) -> bytes:
    """A refusal that a model reads, where it called a tool; else an error."""
    if treatment is Treatment.CALL_TOOL:
        return wire.render_result(id, mcp.tool_refusal(text, era))
    return wire.render_error(id, code, text)


def missing_tasks(request: Request) -> bytes:
    """The error for who asks about a task without having said that it knows tasks (2026-07-28)."""
    error = {
        "code": mcp.MISSING_CAPABILITY,
        "message": "mcp-jail: the client did not declare the tasks extension",
        "data": {"requiredCapabilities": {"extensions": {mcp.TASKS_EXTENSION: {}}}},
    }
    return wire.render(wire.Failure(request.id, error))


def refusal_text(decision: decide.Decision) -> str:
    """The words of a refusal: what did not hold, never how to widen it."""
    if decision.ask:
        return DENIED_BY_USER
    by = "lock" if decision.rule == LOCK_RULE else "policy"
    return f"denied by the user's {by}: {decision.reason}"


# What a model is told of a person's "no".
DENIED_BY_USER = "denied by the user: do not call it again"

# Items named in one line; `diff` shows the rest.
DRIFTS_TOLD = 5

# What a call is about, where it is no tool.
_NOUNS = {
    "resources/read": "resource ",
    "resources/subscribe": "resource ",
    "subscriptions/listen": "resource ",
    "prompts/get": "prompt ",
    "completion/complete": "completion of ",
}


def told_to_person(
    method: str, name: str, decision: decide.Decision, *, is_listed: bool = True
) -> str:
    """The line on the error stream about a denied call: what did not hold, and the policy's line.

    Only where no rule names the call, and the server has it, the way to allow it comes too.
    """
    told = f"denied {_NOUNS.get(method, '')}{short(name)}: {decision.reason}"
    where = decision.where or f"{decision.rule}, not written in the policy"
    if not is_listed:
        return f"{told} ({where}); the server has listed no tool of this name"
    is_told = decision.hint and (decision.rule.endswith(".default") or decision.rule == LOCK_RULE)
    return f"{told} ({where}){f'; {decision.hint}' if is_told else ''}"


def short(name: str) -> str:
    """A name of the client's or the model's, quoted where it is more than one plain word."""
    shown = name[:200]
    return shown if _PLAIN.fullmatch(shown) else ascii(shown)


# Anything else could pass for words of ours, be it a blank that does not look like one.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@-]+")


def drifts_told(name: str, drifts: tuple[Drift, ...]) -> str:
    """The line on the error stream about what is not as it was approved."""
    shown = ", ".join(short(drift.key) for drift in drifts[:DRIFTS_TOLD])
    more = f" and {len(drifts) - DRIFTS_TOLD} more" if len(drifts) > DRIFTS_TOLD else ""
    return f"not approved: {shown}{more}; look at it with: mcp-jail diff {name}"


def item_entry(drift: Drift, verdict: str) -> Entry:
    """The entry about an item of the lock: a drift, or what a person said to it."""
    digests = {
        "approved": "" if drift.approved is None else drift.approved.digest,
        "seen": "" if drift.seen is None else drift.seen.digest,
    }
    return Entry(
        kind=Kind.LOCK, name=drift.key, verdict=verdict, reason=drift.change.value, detail=digests
    )


def trusted_entry(first: Lock) -> Entry:
    """The entry about a first contact that the policy trusts."""
    detail = {"items": len(first.items), "kinds": [kind.value for kind in first.kinds]}
    return Entry(kind=Kind.LOCK, name=first.name, verdict="created", detail=detail)


def policy_taken_up(changed: PolicyChanged) -> list[Effect]:
    """What is written down and told of a policy that was changed while its server runs."""
    name = changed.book.policy.name
    detail = {"sha256": changed.sha256, "restart": list(changed.restart)}
    entry = Entry(kind=Kind.POLICY, name=name, verdict="changed", detail=detail)
    keys = ", ".join(changed.restart)
    later = f"; {keys} will hold once the server is started anew" if keys else ""
    return [Record(entry), Tell(f"the policy was changed and holds from now on{later}")]


def policy_refused(name: str, reason: str) -> list[Effect]:
    """What is written down and told of a change that cannot be taken up."""
    entry = Entry(kind=Kind.POLICY, name=name, verdict="refused", reason=reason)
    told = f"the policy was changed, but the one before holds still: {reason}"
    return [Record(entry), Tell(told)]


def policy_restored(name: str) -> list[Effect]:
    """What is written down and told where a refused change was taken back."""
    entry = Entry(kind=Kind.POLICY, name=name, verdict="restored")
    return [Record(entry), Tell("the policy is again as it holds; the change was taken back")]


def question_record(id: str, asked: Question | Refusal, describe: Describe) -> Record:
    """The entry about something a server asks through the client, and what it asked."""
    decision = asked.decision
    said = asked.said if isinstance(asked, Refusal) and asked.said else asked.params
    facts = facts_of(said)
    arguments = describe(facts)[0] if facts else None
    entry = Entry(
        kind=Kind.CALL,
        method=asked.method,
        id=id,
        verdict=decision.verdict.value,
        rule=decision.rule,
        where=decision.place,
        reason=decision.reason,
        arguments=arguments,
        digest=describe(said)[1] if facts else "",
        detail={"from": "server"},
    )
    return Record(entry)


def question_text(refused: Refusal) -> str:
    """The words for a call whose server asks what it may not."""
    return f"denied by the user's policy: {refused.text}"


def question_told(refused: Refusal, tool: str = "") -> Tell:
    """The line on the error stream about a question that was not put, and in which call."""
    where = f" (in {quoted(tool)})" if tool else ""
    return Tell(f"denied: {refused.text}{where}")


def result_entry(
    waiting: Waiting,
    *,
    is_error: bool = False,
    size: int = 0,
    detail: dict[str, Any] | None = None,
) -> Entry:
    """The entry about a judged request that has ended."""
    return Entry(
        kind=Kind.RESULT,
        method=waiting.method,
        name=waiting.tool,
        id=waiting.id,
        is_error=is_error,
        size=size,
        detail=detail or {},
    )


def answer_entry(
    asked: AskedOfClient, *, is_error: bool = False, answer: dict[str, Any] | None = None
) -> Entry:
    """The entry about the client's answer to a question of the server."""
    action = (answer or {}).get("action")
    return Entry(
        kind=Kind.CALL,
        method=asked.question.method,
        id=asked.id,
        verdict=asked.question.decision.verdict.value,
        is_error=is_error,
        detail={"from": "client", "action": action} if type(action) is str else {"from": "client"},
    )


def repeated_entry(id: str, waiting: Waiting, answers: list[str]) -> Entry:
    """The entry about a call that we repeat ourselves, with answers that are ours."""
    return Entry(
        kind=Kind.CALL,
        method=waiting.method,
        name=waiting.tool,
        id=id,
        verdict="allow",
        rule="roots",
        detail={"answers": answers, "from": "mcp-jail"},
    )


def roots_result(roots: tuple[str, ...]) -> dict[str, Any]:
    """The answer to `roots/list`: the policy's own directories, nothing of the client's."""
    return {"roots": [{"uri": "file://" + _percent(path), "name": path} for path in roots]}


def _percent(path: str) -> str:
    kept = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/"
    return "".join(
        chr(byte) if byte in kept else f"%{byte:02X}" for byte in path.encode(errors="replace")
    )
