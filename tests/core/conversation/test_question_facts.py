"""The audit says what a server asked: enough to trace a decision by, and not what a model read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mcp_jail.core.conversation.question_facts import MESSAGE_KEPT, NAMES_KEPT, facts_of
from mcp_jail.core.recorded.audit import Entry
from plays import ERAS, FORM, PAGE, PROMPTED, Play

ELICITED = "elicitation/create"
SAMPLING = "sampling/createMessage"
eras = pytest.mark.parametrize("era", ERAS)
verdicts = pytest.mark.parametrize("verdict", ["allow", "deny"])


def asked(era: str, method: str, params: dict[str, Any], **keys: Any) -> Entry:
    """The entry about a question that a server puts in a call."""
    play = Play(era, **keys)
    play.calls("t")
    if era == "legacy":
        play.sends(id=1, method=method, params=params)
    else:
        request = {"method": method, "params": params}
        play.answers({"resultType": "input_required", "inputRequests": {"q": request}})
    (entry,) = [each for each in play.entries if each.method == method]
    return entry


def told(entry: Entry) -> Any:
    assert entry.arguments is not None
    return msgspec.json.decode(entry.arguments)


@eras
@verdicts
def test_of_a_form_its_words_and_fields_are_told(era: str, verdict: str) -> None:
    entry = asked(era, ELICITED, FORM, elicitation=verdict)
    assert entry.verdict == verdict
    assert told(entry) == {"message": "How many?", "fields": ["x"]}
    assert entry.digest == "digest"


@eras
@verdicts
def test_of_a_page_its_words_and_host_are_told(era: str, verdict: str) -> None:
    entry = asked(era, ELICITED, PAGE, elicitation=verdict)
    assert told(entry) == {"message": "Sign in", "host": "example.com"}


@eras
@verdicts
def test_of_what_a_model_is_asked_size_and_digest_are_told(era: str, verdict: str) -> None:
    entry = asked(era, SAMPLING, PROMPTED, sampling=verdict)
    size = len(msgspec.json.encode(PROMPTED))
    assert told(entry) == {"messages": 1, "bytes": size}
    assert entry.digest == "digest"
    assert "hello" not in str(entry)


@eras
def test_a_form_that_asks_for_a_password_is_told_as_it_was(era: str) -> None:
    form = {"message": "Log in", "requestedSchema": {"properties": {"password": {}}}}
    entry = asked(era, ELICITED, form)
    assert entry.verdict == "deny"
    assert told(entry) == {"message": "Log in", "fields": ["password"]}


def test_facts_are_few_and_short_whatever_is_asked() -> None:
    fields = {f"field {number}" * 100: 1 for number in range(100)}
    form = {"message": "x" * 10_000, "requestedSchema": {"properties": fields}}
    facts = facts_of(form | {"url": "https://" + "a" * 10_000})
    assert len(facts["message"]) == MESSAGE_KEPT
    assert len(facts["fields"]) == NAMES_KEPT
    assert len(msgspec.json.encode(facts)) < 4_000


@pytest.mark.parametrize("odd", [None, 1, [], {}, {"properties": []}, {"properties": None}, "x"])
def test_facts_are_told_of_members_of_any_shape(odd: Any) -> None:
    names = ("message", "url", "requestedSchema", "messages")
    for name in names:
        facts_of({name: odd})
    assert facts_of(dict.fromkeys(names)) == {}
