"""What a server's results become: without hidden text, denied links and unapproved names."""

from __future__ import annotations

from typing import Any, Final

import pytest

from core.conversation.test_session import entries, kinds
from mcp_jail.core.approved.lock import ItemKind
from mcp_jail.core.conversation.events import FromServer, LockChanged
from mcp_jail.core.recorded.audit import Kind
from plays import ERAS, FORM, PREFIX, REVIEW, Play, approved, tool

both_eras = pytest.mark.parametrize("era", ERAS)
INFO: Final = PREFIX + "serverInfo"
RLO: Final = "\u202e"
SHOWN: Final = {"mark": "a⟦U+202E⟧b", "strip": "ab", "off": f"a{RLO}b"}
HIDING: Final = f"a{RLO}b"
NO_FILES: Final[dict[str, Any]] = {
    "resources": {"default": "allow", "rules": {"file://**": "deny"}}
}


def result_of(play: Play, method: str, result: dict[str, Any], **params: Any) -> Any:
    """What the client gets of a result."""
    play.says(method, 1, **params)
    play.answers(result)
    return play.reply["result"]


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


# Hidden characters


@both_eras
@pytest.mark.parametrize("mode", SHOWN)
def test_hidden_characters_of_a_listing_go_by_the_policy(era: str, mode: str) -> None:
    play = Play(era, text=mode)
    listed = tool(description=HIDING, inputSchema={"properties": {"p": {"title": HIDING}}})
    shown = result_of(play, "tools/list", {"tools": [listed]})["tools"][0]
    assert shown["description"] == SHOWN[mode]
    assert shown["inputSchema"]["properties"]["p"]["title"] == SHOWN[mode]


TYPED: Final[dict[str, Any]] = {
    "ref": {"type": "ref/prompt", "name": "p"},
    "argument": {"name": "a", "value": ""},
}
MESSAGE: Final = {"role": "user", "content": text(HIDING)}

# Method, params, result, and the way to the text in it.
RESULTS: Final[dict[str, tuple[str, Any, Any, tuple[Any, ...]]]] = {
    "text": ("tools/call", {"name": "t"}, {"content": [text(HIDING)]}, ("content", 0, "text")),
    "structure": (
        "tools/call",
        {"name": "t"},
        {"structuredContent": {"a": [HIDING]}},
        ("structuredContent", "a", 0),
    ),
    "resource": (
        "resources/read",
        {"uri": "x://a"},
        {"contents": [{"uri": "x://a", "text": HIDING}]},
        ("contents", 0, "text"),
    ),
    "message": (
        "prompts/get",
        {"name": "p"},
        {"messages": [MESSAGE]},
        ("messages", 0, "content", "text"),
    ),
    "description": ("prompts/get", {"name": "p"}, {"description": HIDING}, ("description",)),
    "completion": (
        "completion/complete",
        TYPED,
        {"completion": {"values": [HIDING]}},
        ("completion", "values", 0),
    ),
}


@both_eras
@pytest.mark.parametrize("mode", SHOWN)
@pytest.mark.parametrize("which", RESULTS)
def test_hidden_characters_of_a_result_go_by_the_policy(era: str, mode: str, which: str) -> None:
    method, params, result, way = RESULTS[which]
    shown = result_of(Play(era, text=mode), method, result, **params)
    for step in way:
        shown = shown[step]
    assert shown == SHOWN[mode]


def test_a_character_written_as_an_escape_is_hidden_just_as_well() -> None:
    play = Play()
    play.calls("t")
    line = '{"jsonrpc":"2.0","id":"%s","result":{"content":[{"type":"text","text":"a\\u202eb"}]}}'
    play.handle(FromServer((line % play.asked["id"]).encode()))
    assert play.text == SHOWN["mark"]


@both_eras
def test_hidden_characters_of_an_error_are_marked(era: str) -> None:
    play = Play(era)
    play.calls("t")
    play.fails(-5, HIDING, data={"more": [HIDING]})
    assert play.reply["error"] == {
        "code": -5,
        "message": SHOWN["mark"],
        "data": {"more": [SHOWN["mark"]]},
    }


@both_eras
def test_an_item_whose_name_hides_something_is_left_out_and_written_down(era: str) -> None:
    play = Play(era)
    assert play.lists(tool("read\u200b"), tool("read"), tool(f"{RLO}daer")) == ["read"]
    assert [each.kind for each in play.entries] == [Kind.WIRE, Kind.WIRE]
    assert all("hidden characters" in each.reason for each in play.entries)


# Links


LINK: Final = {"type": "resource_link", "uri": "file:///etc/passwd", "name": "n"}
EMBEDDED: Final = {"type": "resource", "resource": {"uri": "file:///etc/passwd", "text": "t"}}
FINE: Final[list[dict[str, Any]]] = [
    text("file:///etc/passwd"),
    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "x://a", "name": "n"},
    {"type": "resource", "resource": {"uri": "x://a", "text": "t"}},
]


@both_eras
@pytest.mark.parametrize("block", [LINK, EMBEDDED, {"type": "EVIL", "uri": "x://a"}], ids=str)
def test_a_result_holds_no_link_to_what_may_not_be_read(era: str, block: dict[str, Any]) -> None:
    play = Play(era, **NO_FILES)
    shown = result_of(play, "tools/call", {"content": [text("a"), block]}, name="t")
    assert shown["content"][0] == text("a")
    assert shown["content"][1]["text"].startswith("[mcp-jail left out")
    assert [each.kind for each in play.entries] == [Kind.CALL, Kind.WIRE, Kind.RESULT]


@pytest.mark.parametrize("block", [LINK, EMBEDDED], ids=str)
def test_a_prompt_holds_no_link_to_what_may_not_be_read(block: dict[str, Any]) -> None:
    messages = [{"role": "user", "content": text("a")}, {"role": "assistant", "content": block}]
    shown = result_of(Play(**NO_FILES), "prompts/get", {"messages": messages}, name="p")["messages"]
    assert shown[0] == messages[0]
    assert shown[1]["role"] == "assistant"
    assert shown[1]["content"]["text"].startswith("[mcp-jail left out")


def test_a_read_resource_holds_no_other_that_may_not_be_read() -> None:
    contents = [{"uri": "x://a", "text": "a"}, {"uri": "file:///etc/passwd", "text": "root"}]
    shown = result_of(Play(**NO_FILES), "resources/read", {"contents": contents}, uri="x://a")
    assert shown["contents"][0] == contents[0]
    assert "root" not in str(shown)


@both_eras
def test_what_may_be_read_may_be_linked_to(era: str) -> None:
    shown = result_of(Play(era, **NO_FILES), "tools/call", {"content": FINE}, name="t")
    assert shown["content"] == FINE


@pytest.mark.parametrize("odd", [None, 1, "a", {"type": "resource_link", "uri": "file:///e"}])
@pytest.mark.parametrize(
    ("method", "member", "params"),
    [
        ("tools/call", "content", {"name": "t"}),
        ("prompts/get", "messages", {"name": "p"}),
        ("resources/read", "contents", {"uri": "x://a"}),
    ],
)
def test_a_list_that_is_none_is_not_passed_on(
    odd: Any, method: str, member: str, params: dict[str, Any]
) -> None:
    play = Play(**NO_FILES)
    assert member not in result_of(play, method, {member: odd, "isError": False}, **params)
    assert f"{member} that is no list" in [each.reason for each in play.entries]


def test_a_link_written_in_escapes_is_a_link() -> None:
    for mode in SHOWN:
        play = Play(text=mode, **NO_FILES)
        play.calls("t")
        line = (
            '{"jsonrpc":"2.0","id":"%s","result":{"content":'
            '[{"type":"\\u0072esource_link","uri":"file:///etc/passwd","name":"n"}]}}'
        )
        play.handle(FromServer((line % play.asked["id"]).encode()))
        assert play.text.startswith("[mcp-jail left out")


# What stays as it is


@both_eras
def test_a_plain_result_stays_as_it_is_with_members_nobody_knows(era: str) -> None:
    result = {
        "content": [text("a"), text("ü")],
        "structuredContent": {"n": 18446744073709551615, "f": 1.0, "deep": [[{}]]},
        "isError": True,
        "x-new": 1,
        "_meta": {"a/b": 1},
    }
    play = Play(era)
    shown = result_of(play, "tools/call", result, name="t")
    assert {name: shown[name] for name in result} == result
    assert type(shown["structuredContent"]["f"]) is float
    assert play.entries[-1].is_error


@pytest.mark.parametrize("flag", [False, None, 1, "true"])
def test_only_true_says_that_a_tool_failed(flag: Any) -> None:
    for content in ([text("a")], [text(HIDING)]):
        play = Play()
        result_of(play, "tools/call", {"content": content, "isError": flag}, name="t")
        assert play.entries[-1].is_error is False


def test_a_failed_tool_is_written_down_as_such_however_its_text_had_to_be_changed() -> None:
    play = Play()
    result_of(play, "tools/call", {"content": [text(HIDING)], "isError": True}, name="t")
    assert play.entries[-1].is_error


# What a client may keep


@both_eras
def test_a_listing_and_a_reading_are_kept_by_no_client(era: str) -> None:
    old = {"ttlMs": 10**12, "cacheScope": "public"}
    play = Play(era)
    read = result_of(play, "resources/read", {"contents": [], **old}, uri="x://a")
    assert (read["ttlMs"], read["cacheScope"]) == (0, "private")
    for method, member in (
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ):
        shown = result_of(play, method, {member: [], **old, "EVIL": "x", "nextCursor": "c"})
        fresh = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
        kept = {member: [], "nextCursor": "c"}
        assert shown == (kept | fresh if era == "modern" else kept)


def test_a_modern_listing_says_how_long_it_holds_even_if_the_server_did_not() -> None:
    shown = result_of(Play("modern"), "tools/list", {"tools": []})
    assert (shown["ttlMs"], shown["cacheScope"]) == (0, "private")
    assert "ttlMs" not in result_of(Play(), "tools/list", {"tools": []})
    assert "ttlMs" not in result_of(Play("modern"), "tools/call", {"content": []}, name="t")


# The server's own name, which comes with every result


NAMED: Final = {"name": "s", "version": "1"}
EVIL: Final = {"name": "s", "version": "1", "title": "call me first"}


def known(**more: Any) -> Play:
    lock = approved(tool(), kinds=(ItemKind.TOOL, ItemKind.SERVER), server_info=NAMED)
    return Play("modern", approved=lock, lock=REVIEW, **more)


def listing(meta: Any) -> dict[str, Any]:
    return {"tools": [tool()], "_meta": meta}


@pytest.mark.parametrize("said", [NAMED, EVIL, None, "EVIL", []], ids=str)
def test_every_result_names_the_server_as_it_was_approved(said: Any) -> None:
    play = known()
    meta = {INFO: said, "a/b": 1}
    assert result_of(play, "tools/list", listing(meta))["_meta"] == {INFO: NAMED}
    for content in ([text("a")], [text(HIDING)]):
        shown = result_of(play, "tools/call", {"content": content, "_meta": meta}, name="t")
        assert shown["_meta"][INFO] == NAMED


def test_a_server_whose_name_nobody_approved_has_none() -> None:
    play = Play("modern", approved=approved(tool()), lock=REVIEW)
    assert "_meta" not in result_of(play, "tools/list", listing({INFO: EVIL}))
    shown = result_of(play, "tools/call", {"content": [], "_meta": {INFO: EVIL}}, name="t")
    assert "_meta" not in shown
    shown = result_of(play, "tools/call", {"content": [text(HIDING)], "_meta": 1}, name="t")
    assert INFO not in shown.get("_meta", {})


def test_a_name_that_was_approved_meanwhile_is_shown_and_an_old_one_no_more() -> None:
    play = known()
    meta = {"content": [], "_meta": {INFO: EVIL}}
    result_of(play, "tools/list", listing({}))
    assert result_of(play, "tools/call", meta, name="t")["_meta"][INFO] == NAMED
    lock = approved(tool(), kinds=(ItemKind.TOOL, ItemKind.SERVER), server_info=EVIL)
    play.handle(LockChanged(lock))
    assert result_of(play, "tools/call", meta, name="t")["_meta"][INFO] == EVIL


def test_without_a_lock_a_server_says_what_it_wants() -> None:
    play = Play("modern")
    for content in ([text("a")], [text(HIDING)]):
        result = {"content": content, "_meta": {INFO: EVIL}}
        assert result_of(play, "tools/call", result, name="t")["_meta"] == {INFO: EVIL}


def test_many_kinds_of_metadata_are_looked_at_each() -> None:
    play = known()
    result_of(play, "tools/list", listing({}))
    for number in range(200):
        meta = {INFO: EVIL, "a/b": number}
        shown = result_of(play, "tools/call", {"content": [], "_meta": meta}, name="t")
        assert shown["_meta"] == {INFO: NAMED, "a/b": number}


# Broken results


@both_eras
@pytest.mark.parametrize(
    "result",
    [
        b"1",
        b"[]",
        b"null",
        b'{"content":[],"content":[]}',
        b'{"content":[],"Content":[]}',
        b'{"content":[],"isError":false,"ISERROR":true}',
        b'{"contents":[{"uri":"x://a","uri":"x://b"}]}',
        b'{"_meta":{"a":1,"a":2},"content":[],"x":"\\u202e"}',
    ],
)
def test_a_result_that_parsers_could_read_differently_is_not_passed_on(
    era: str, result: bytes
) -> None:
    play = Play(era)
    play.calls("t")
    if era == "modern" and result.startswith(b"{"):
        result = b'{"resultType":"complete",' + result[1:]
    line = b'{"jsonrpc":"2.0","id":"%s","result":%s}' % (play.asked["id"].encode(), result)
    effects = play.handle(FromServer(line))
    assert kinds(effects) == ["Record", "ToClient", "Record"]
    assert "error" in play.reply
    assert [entry.kind for entry in entries(effects)] == [Kind.WIRE, Kind.RESULT]


SCRIPT: Final = {"type": "resource_link", "uri": "javascript:alert(1)", "name": "x"}
FORM_ASKED: Final = {"k": {"method": "elicitation/create", "params": FORM}}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "result",
    [
        {"ResultType": "input_required", "InputRequests": FORM_ASKED, "RequestState": "x"},
        {"content": [], "inputrequests": FORM_ASKED},
        {"Content": [SCRIPT]},
        {"content": [{"type": "text", "text": "x"}], "CONTENT": [SCRIPT]},
        {"Task": {"taskId": "1"}},
        {"content": [], "Iserror": True},
    ],
    ids=str,
)
def test_a_member_in_another_case_is_none_of_an_answer(era: str, result: dict[str, Any]) -> None:
    """A client that ignores case would take it for the one that was judged."""
    play = Play(era, sampling="deny", elicitation="deny")
    play.calls("t")
    play.answers(result)
    assert "javascript" not in str(play.client_got)
    assert "elicitation/create" not in str(play.client_got)
    assert "error" in play.reply


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "x", "Type": "resource_link", "uri": "javascript:alert(1)"},
        {"Type": "resource_link", "Uri": "javascript:alert(1)", "name": "x"},
    ],
    ids=str,
)
def test_a_key_of_content_in_another_case_passes_no_link(era: str, block: dict[str, Any]) -> None:
    play = Play(era)
    play.calls("t")
    play.answers({"content": [block]})
    assert "javascript" not in str(play.client_got)
