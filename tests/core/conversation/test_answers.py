"""How answers end: pages to open, answers too large, the server's last words, news of the lock."""

from __future__ import annotations

from typing import Any, Final

import pytest

from core.conversation.test_session import entries, kinds
from mcp_jail.core.conversation.events import (
    CutOff,
    FromServer,
    Oversize,
    ServerGone,
    ToClient,
    TrustFirst,
)
from mcp_jail.core.conversation.opening import CLIENT_LIMIT
from mcp_jail.core.conversation.replies import DRIFTS_TOLD
from mcp_jail.core.protocol import mcp
from mcp_jail.core.recorded.audit import Kind
from plays import ERAS, FORM, OFFERS, PAGE, REVIEW, TRUST, Play, approved, tool

both_eras = pytest.mark.parametrize("era", ERAS)
WANTED: Final = mcp.URL_ELICITATION_REQUIRED
DONE: Final = "notifications/elicitation/complete"


def sent_to(play: Play, pages: Any, **more: Any) -> dict[str, Any]:
    """The error a client gets when a call needs these pages opened first."""
    play.calls("t")
    play.fails(WANTED, "Sign in first", **{"data": {"elicitations": pages}, **more})
    error: dict[str, Any] = play.reply["error"]
    return error


# An error that sends a person to web pages (2025-11-25)


def test_pages_that_may_be_opened_are_passed_on_cut_to_what_is_known() -> None:
    play = Play()
    other = PAGE | {"url": "https://example.org/b", "elicitationId": "page-2"}
    error = sent_to(play, [PAGE | {"_meta": {"EVIL": 1}}, other], data_more=1)
    assert error == {
        "code": WANTED,
        "message": "Sign in first",
        "data": {"elicitations": [PAGE, other]},
    }
    for id in ("page-1", "page-2"):
        assert kinds(play.notifies(DONE, elicitationId=id)) == ["ToClient"]


def test_pages_to_open_are_written_down_before_a_client_is_sent_there() -> None:
    play = Play()
    play.calls("t")
    effects = play.fails(WANTED, data={"elicitations": [PAGE]})
    assert kinds(effects) == ["Record", "ToClient", "Record"]
    first, last = entries(effects)
    assert (first.method, first.verdict, first.detail) == (
        "elicitation/create",
        "allow",
        {"from": "server"},
    )
    assert (last.kind, last.detail) == (Kind.RESULT, {"code": WANTED})


@both_eras
@pytest.mark.parametrize(
    ("keys", "page"),
    [
        ({"elicitation": "deny"}, PAGE),
        ({"offers": {"elicitation": {"form": {}}}}, PAGE),
        ({"offers": {}}, PAGE),
        ({}, PAGE | {"url": "http://example.com/"}),
        ({}, PAGE | {"url": "https://localhost/"}),
        ({}, PAGE | {"url": "https://user@example.com/"}),
        ({}, PAGE | {"url": "javascript:alert(1)"}),
        ({}, FORM),
        ({}, {}),
        ({}, None),
        ({}, "https://example.com/"),
        ({}, PAGE | {"EVIL": 1}),
    ],
)
def test_one_page_that_may_not_be_opened_ends_the_call(
    era: str, keys: dict[str, Any], page: Any
) -> None:
    play = Play(era, **keys)
    fine = PAGE | {"elicitationId": "page-2"}
    error = sent_to(play, [fine, page])
    assert error["code"] == mcp.DENIED
    assert error["message"].startswith("denied by the user's policy: the server asked for input")
    assert "data" not in error
    assert play.talk.tally.denials == 1
    assert [entry.verdict for entry in play.entries if entry.detail == {"from": "server"}] in (
        ["deny"],
        ["ask"],
    )
    assert len(play.told) == 1
    for id in ("page-1", "page-2"):
        assert kinds(play.notifies(DONE, elicitationId=id)) == ["Record"], "nobody was sent there"


@pytest.mark.parametrize("pages", [[], None, {}, "https://example.com/"], ids=str)
def test_an_error_that_sends_to_no_page_is_one_of_ours(pages: Any) -> None:
    assert "names no page" in sent_to(Play(), pages)["message"]
    assert "names no page" in sent_to(Play(), pages, data="EVIL")["message"]


def test_more_pages_than_anybody_opens_are_not_passed_on() -> None:
    play = Play()
    many = [PAGE | {"elicitationId": f"page-{number}"} for number in range(101)]
    assert sent_to(play, many)["code"] == mcp.DENIED
    assert len(play.entries) < 10
    assert len(sent_to(Play(), many[:100])["data"]["elicitations"]) == 100


@pytest.mark.parametrize("code", ["-32042", -32042.0, True, None])
def test_an_error_whose_code_is_no_integer_is_none(code: Any) -> None:
    play = Play()
    play.calls("t")
    play.sends(id=play.asked["id"], error={"code": code, "message": "m", "data": {"x": PAGE}})
    assert play.reply["error"]["code"] == mcp.INTERNAL_ERROR


# Too large


@both_eras
def test_an_answer_that_a_client_would_choke_on_is_an_error_for_its_call(era: str) -> None:
    play = Play(era)
    play.calls("t", 0)
    effects = play.answers({"content": [{"type": "text", "text": "x" * CLIENT_LIMIT}]})
    assert play.reply["id"] == 0
    assert play.reply["error"]["code"] == mcp.TOO_LARGE
    assert kinds(effects) == ["ToClient", "Record"]
    assert entries(effects)[0].is_error
    assert kinds(play.answers({"content": []}, "ours-2")) == ["Record"]


def test_an_answer_may_be_as_large_as_a_client_takes_and_no_larger() -> None:
    play = Play()
    sizes: list[int] = []
    for length in (0, CLIENT_LIMIT):
        play.calls("t", 0)
        result = {"content": [], "structuredContent": {"x": "x" * (length - sum(sizes))}}
        (effect, *_) = play.answers(result)
        assert isinstance(effect, ToClient)
        sizes.append(len(effect.line))
    assert sizes[1] == CLIENT_LIMIT
    assert "result" in play.reply
    play.calls("t", 0)
    play.answers({"content": [], "structuredContent": {"x": "x" * (CLIENT_LIMIT - sizes[0] + 1)}})
    assert play.reply["error"]["code"] == mcp.TOO_LARGE


def test_questions_that_a_client_would_choke_on_are_an_error_for_their_call() -> None:
    play = Play("modern")
    play.calls("t", 0)
    image = {"type": "image", "data": "x" * CLIENT_LIMIT, "mimeType": "image/png"}
    prompt = {"messages": [{"role": "user", "content": image}], "maxTokens": 1}
    asked = {"a": {"method": "sampling/createMessage", "params": prompt}}
    play.answers({"resultType": "input_required", "inputRequests": asked})
    assert (play.reply["id"], play.reply["error"]["code"]) == (0, mcp.TOO_LARGE)
    assert play.talk._state.rounds._waiting == {}, "nobody can answer them"


def test_a_question_that_a_client_would_choke_on_is_refused() -> None:
    play = Play()
    image = {"type": "image", "data": "x" * CLIENT_LIMIT, "mimeType": "image/png"}
    prompt = {"messages": [{"role": "user", "content": image}], "maxTokens": 1}
    before = len(play.client_got)
    play.sends(id=1, method="sampling/createMessage", params=prompt)
    assert play.server_got[-1]["error"]["code"] == mcp.TOO_LARGE
    assert len(play.client_got) == before
    assert play.talk._state.asked.take("ours-2") is None


@both_eras
def test_an_error_that_a_client_would_choke_on_is_one_of_ours(era: str) -> None:
    play = Play(era)
    play.calls("t", 0)
    assert kinds(play.fails(-5, "no", data="x" * CLIENT_LIMIT)) == ["ToClient", "Record"]
    assert (play.reply["id"], play.reply["error"]["code"]) == (0, mcp.TOO_LARGE)
    assert len(play.talk._state.in_flight) == 0


def test_news_that_a_client_would_choke_on_is_dropped() -> None:
    play = Play()
    news = {"level": "info", "data": "x" * CLIENT_LIMIT}
    assert kinds(play.notifies("notifications/message", **news)) == ["Record"]


def test_an_oversize_line_ends_the_request_it_names_and_no_other() -> None:
    play = Play()
    for id in (1, 2):
        play.calls("t", id)
    play.handle(Oversize(10**9, b'{"jsonrpc":"2.0","id":"ours-3","result":{', from_client=False))
    assert (play.reply["id"], play.reply["error"]["code"]) == (2, mcp.TOO_LARGE)
    play.answers({"content": []}, "ours-2")
    assert play.reply["id"] == 1


# News of the lock


def test_what_was_found_is_written_down_before_the_answer_is_passed_on() -> None:
    play = Play(lock=REVIEW)
    play.says("tools/list", 1)
    effects = play.answers({"tools": [tool()]})
    assert kinds(effects) == ["Record", "Tell", "AwaitReview", "ToClient"]
    (entry,) = entries(effects)
    assert (entry.kind, entry.name, entry.verdict, entry.reason) == (
        Kind.LOCK,
        "tool/t",
        "drift",
        "added",
    )
    assert entry.detail["approved"] == ""
    assert len(entry.detail["seen"]) == 64


def test_a_trusted_first_contact_is_written_down_with_its_entry() -> None:
    play = Play(lock=TRUST)
    play.says("tools/list", 1)
    effects = play.answers({"tools": [tool("a"), tool("b")]})
    assert kinds(effects) == ["Record", "TrustFirst", "ToClient"]
    (entry,) = entries(effects)
    assert (entry.kind, entry.name, entry.verdict) == (Kind.LOCK, "x", "created")
    assert entry.detail == {"items": 2, "kinds": ["tool"]}
    assert isinstance(effects[-2], TrustFirst)


def test_a_person_is_told_a_few_names_and_how_many_more_there_are() -> None:
    play = Play(lock=REVIEW)
    play.lists(*(tool(f"t{number}") for number in range(DRIFTS_TOLD + 2)))
    told = play.told[-1]
    assert "tool/t0, tool/t1" in told
    assert "and 2 more; look at it with: mcp-jail diff x" in told
    play.lists(tool("a; run mcp-jail approve --all"))
    assert "'tool/a; run mcp-jail approve --all'" in play.told[-1]


def test_a_listing_that_fails_on_our_own_walk_still_tells_what_was_found() -> None:
    play = Play(lock=REVIEW, approved=approved(tool()))
    play.calls("t")
    play.answers({"tools": [tool("u")], "nextCursor": "2"})
    assert "tool/u" not in "".join(play.told)
    play.fails()
    assert any("tool/u" in told for told in play.told)
    assert "did not say" in play.text


# Ends


def test_an_answer_of_the_server_that_is_too_late_is_no_violation_once() -> None:
    play = Play()
    play.calls("t", 1)
    play.says("notifications/cancelled", requestId=1)
    assert play.answers({"content": []}) == []
    assert kinds(play.answers({"content": []})) == ["Record"]


def test_a_broken_line_ends_the_request_it_names() -> None:
    play = Play()
    play.calls("t", 1)
    effects = play.handle(
        FromServer(b'{"jsonrpc":"2.0","id":"ours-2","result":{},"error":{"code":1,"message":""}}')
    )
    assert [type(effect) for effect in effects].count(ToClient) == 1
    assert [entry.detail for entry in entries(effects)] == [
        {"from": "server"},
        {"code": mcp.INTERNAL_ERROR},
    ]
    assert (play.reply["id"], play.reply["error"]["code"]) == (1, mcp.INTERNAL_ERROR)


@both_eras
def test_the_error_of_a_call_is_written_down_with_its_code_and_passed_on(era: str) -> None:
    play = Play(era, offers=OFFERS)
    play.calls("t", 1)
    (entry,) = entries(play.fails(-7, "no"))
    assert (entry.kind, entry.name, entry.is_error, entry.detail) == (
        Kind.RESULT,
        "t",
        True,
        {"code": -7},
    )


@both_eras
@pytest.mark.parametrize("is_first", [True, False])
def test_an_answer_that_is_nested_beyond_reading_ends_its_call(era: str, is_first: bool) -> None:
    play = Play(era)
    play.calls("t")
    id = b'"id":"' + play.asked["id"].encode() + b'"'
    deep = b'"result":{"a":' + b"[" * 500_000 + b"]" * 500_000 + b"}"
    members = (id, deep) if is_first else (deep, id)
    play.handle(FromServer(b'{"jsonrpc":"2.0",' + b",".join(members) + b"}"))
    assert play.reply["id"] == "call"
    assert "error" in play.reply


def test_an_unreadable_line_with_an_id_that_is_none_of_ours_ends_nothing() -> None:
    play = Play()
    play.calls("t")
    play.handle(FromServer(b'{"jsonrpc":"2.0","id":"call","result":' + b"[" * 100_000))
    assert play.reply["id"] != "call"


def test_the_half_of_an_answer_ends_nothing_so_that_the_end_of_the_server_is_told() -> None:
    play = Play()
    play.calls("t")
    id = play.asked["id"].encode()
    effects = play.handle(CutOff(b'{"jsonrpc":"2.0","id":"' + id + b'","result":{"con'))
    assert kinds(effects) == ["Record"]
    play.handle(ServerGone("exit status 7"))
    assert (play.reply["id"], play.reply["error"]["code"]) == ("call", mcp.SERVER_GONE)


def test_a_whole_answer_without_its_newline_is_passed_on() -> None:
    play = Play()
    play.calls("t")
    id = play.asked["id"].encode()
    play.handle(CutOff(b'{"jsonrpc":"2.0","id":"' + id + b'","result":{"content":[]}}'))
    assert play.reply["result"] == {"content": []}
