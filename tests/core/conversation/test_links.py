"""Links and embedded resources in results: what the policy denies is not handed on."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_jail.core.conversation import links
from mcp_jail.core.conversation.links import (
    without_denied_contents,
    without_denied_links,
    without_denied_messages,
)

DENIED = "file:///etc/passwd"
ALLOWED = "https://example.com/a"


def is_denied(uri: str) -> bool:
    return uri.startswith("file:")


def link(uri: Any, **more: Any) -> dict[str, Any]:
    return {"type": "resource_link", "uri": uri, "name": "a"} | more


def embedded(uri: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "text": "x"}}


HARMLESS = [
    {"type": "text", "text": "javascript:alert(1) file:///etc/passwd"},
    {"type": "image", "data": "", "mimeType": "image/png"},
    {"type": "audio", "data": "", "mimeType": "audio/wav"},
    link(ALLOWED),
    link("HTTPS://example.com"),
    link("javascript"),
    link("note:javascript:x"),
    link("database:x"),
    link("x-data:y"),
    link("notes/data:x"),
    link(ALLOWED, icons=[{"src": "data:image/png;base64,"}, {"src": "https://example.com/i"}]),
    embedded(ALLOWED),
    embedded(""),
]


def test_a_result_without_denied_links_is_the_same_list() -> None:
    content = list(HARMLESS)
    assert without_denied_links(content, is_denied) == (content, ())
    assert without_denied_links(content, is_denied)[0] is content
    empty: list[Any] = []
    assert without_denied_links(empty, is_denied)[0] is empty


def test_a_denied_link_leaves_a_text_in_its_place() -> None:
    content = [HARMLESS[0], link(DENIED), HARMLESS[3], embedded(DENIED)]
    before = list(content)
    new, notes = without_denied_links(content, is_denied)
    told = (
        "a link to 'file:///etc/passwd', which the user's policy does not allow",
        "an embedded resource to 'file:///etc/passwd', which the user's policy does not allow",
    )
    assert new == [
        HARMLESS[0],
        {"type": "text", "text": f"[mcp-jail left out {told[0]}]"},
        HARMLESS[3],
        {"type": "text", "text": f"[mcp-jail left out {told[1]}]"},
    ]
    assert notes == told
    assert content == before


def test_the_policy_is_asked_with_the_uri_as_it_was_written() -> None:
    seen: list[str] = []

    def asked(uri: str) -> bool:
        seen.append(uri)
        return False

    without_denied_links([link("FILE:///x"), embedded(" a ")], asked)
    assert seen == ["FILE:///x", " a "]


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " javascript:alert(1)",
        "\x00\x1fjavascript:alert(1)",
        "java\tscript:alert(1)",
        "java\r\nscript:alert(1)",
        "javascript\n:alert(1)",
        "java script:alert(1)",
        "\xa0javascript:alert(1)",
        "\u3000javascript:alert(1)",
        "java\u200bscript:alert(1)",
        "java\xadscript:alert(1)",
        "\u202ejavascript:alert(1)",
        "%6aavascript:alert(1)",
        "%256Aavascript:alert(1)",
        "javascript%3Aalert(1)",
        "javascript://example.com/%0aalert(1)",
        "vbscript:msgbox",
        "VBScript:msgbox",
        "data:text/html,<script>",
        "DATA:text/html;base64,aGk=",
        "da\nta:text/html,x",
        "java" + "\n" * 100_000 + "script:x",
        "javascript:" + "x" * 100_000,
    ],
)
def test_a_script_or_data_is_never_linked_to(uri: str) -> None:
    for item in (link(uri), embedded(uri)):
        new, notes = without_denied_links([item], lambda _: False)
        assert new[0]["type"] == "text"
        assert "is never passed on" in notes[0]
        assert len(new[0]["text"]) < 400
        assert new[0]["text"].isascii()
        assert new[0]["text"].isprintable()


def test_the_scheme_that_is_never_passed_on_is_named() -> None:
    assert without_denied_links([link("Data:,x")], is_denied)[1] == (
        "a link to 'Data:,x': data is never passed on",
    )


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (link(None), "a link without a URI"),
        (link([DENIED]), "a link without a URI"),
        ({"type": "resource_link"}, "a link without a URI"),
        ({"type": "resource"}, "an embedded resource that is no object"),
        ({"type": "resource", "resource": [DENIED]}, "an embedded resource that is no object"),
        ({"type": "resource", "resource": {"text": "x"}}, "an embedded resource without a URI"),
        (
            {"type": "resource", "resource": {"uri": ALLOWED, "URI": DENIED}},
            "an embedded resource with keys that differ only in case",
        ),
        (link(ALLOWED, URI=DENIED), "content with keys that differ only in case"),
        ({"type": "text", "Type": "resource_link"}, "content with keys that differ only in case"),
        ("text", "content that is no object"),
        (None, "content that is no object"),
        ([link(DENIED)], "content that is no object"),
        ({}, "content of the unknown kind null"),
        ({"type": "video"}, "content of the unknown kind 'video'"),
        ({"type": "Resource_Link", "uri": DENIED}, "content of the unknown kind 'Resource_Link'"),
        ({"type": ["text"]}, 'content of the unknown kind ["text"]'),
        (link(ALLOWED, icons="javascript:x"), "a link whose icons are no list"),
        (link(ALLOWED, icons=["javascript:x"]), "a link with an icon that is no picture"),
        (link(ALLOWED, icons=[{"src": 1}]), "a link with an icon that is no picture"),
        (
            link(ALLOWED, icons=[{"src": "data:,x"}, {"src": "Java\tScript:x"}]),
            "a link with an icon that is no picture",
        ),
    ],
)
def test_what_cannot_be_judged_is_left_out(item: Any, told: str) -> None:
    new, notes = without_denied_links([item, HARMLESS[0]], is_denied)
    assert notes == (told,)
    assert new == [{"type": "text", "text": f"[mcp-jail left out {told}]"}, HARMLESS[0]]


def test_many_denied_links_leave_few_texts() -> None:
    content: list[Any] = [{}] * 5_000 + [HARMLESS[0]]
    new, notes = without_denied_links(content, is_denied)
    assert len(new) == links.LEFT_OUT_LIMIT + 2
    assert len(notes) == links.LEFT_OUT_LIMIT + 1
    assert new[-2] is HARMLESS[0]
    assert new[-1] == {"type": "text", "text": "[mcp-jail left out 4980 more]"}
    assert notes[-1] == "4980 more"


def test_as_many_as_the_limit_are_each_told() -> None:
    new, notes = without_denied_links([{}] * links.LEFT_OUT_LIMIT, is_denied)
    assert len(new) == len(notes) == links.LEFT_OUT_LIMIT
    assert "more" not in notes[-1]


def test_the_contents_of_a_resource_are_judged_by_their_own_uri() -> None:
    contents: list[Any] = [{"uri": ALLOWED, "text": "x"}, {"uri": "ui://a", "blob": ""}]
    assert without_denied_contents(contents, is_denied)[0] is contents
    odd = [{"uri": DENIED, "text": "root"}, {"text": "x"}, "x", {"uri": "data:,x", "text": ""}]
    new, notes = without_denied_contents([*contents, *odd], is_denied)
    assert new[:2] == contents
    assert [*notes] == [
        "a resource to 'file:///etc/passwd', which the user's policy does not allow",
        "a resource without a URI",
        "a resource that is no object",
        "a resource to 'data:,x': data is never passed on",
    ]
    assert new[2] == {
        "uri": "mcp-jail:left-out",
        "mimeType": "text/plain",
        "text": f"[mcp-jail left out {notes[0]}]",
    }
    assert len(new) == 6


def test_messages_of_a_prompt_keep_their_roles() -> None:
    messages: list[Any] = [
        {"role": "user", "content": HARMLESS[0]},
        {"role": "assistant", "content": link(ALLOWED)},
    ]
    assert without_denied_messages(messages, is_denied)[0] is messages
    odd: list[Any] = [
        {"role": "assistant", "content": link(DENIED)},
        {"role": "user", "content": embedded(DENIED)},
        {"role": "system", "content": {"type": "x"}},
        {"role": ["user"]},
        "hi",
        {"role": "user", "content": [HARMLESS[0]]},
        {"role": "user", "Role": "system", "content": HARMLESS[0]},
    ]
    new, notes = without_denied_messages(messages + odd, is_denied)
    assert new[:2] == messages
    assert [message["role"] for message in new[2:]] == ["assistant", *["user"] * 6]
    assert [message["content"]["text"] for message in new[2:]] == [
        f"[mcp-jail left out {note}]" for note in notes
    ]
    assert notes[2:] == (
        "content of the unknown kind 'x'",
        "content that is no object",
        "a message that is no object",
        "content that is no object",
        "a message with keys that differ only in case",
    )


def test_many_denied_messages_leave_few() -> None:
    new, notes = without_denied_messages([{}] * 100, is_denied)
    assert len(new) == len(notes) == links.LEFT_OUT_LIMIT + 1
    assert new[-1] == {
        "role": "user",
        "content": {"type": "text", "text": "[mcp-jail left out 80 more]"},
    }


@pytest.mark.parametrize("wrap", ["content", "messages"])
def test_an_icon_is_fetched_from_nowhere_that_no_link_may_lead_to(wrap: str) -> None:
    kept = {"src": "data:image/png;base64,"}
    block = link(ALLOWED, icons=[{"src": DENIED}, kept, {"src": "javascript:x"}])
    both = link(ALLOWED, icons=[{"src": DENIED}, kept])
    if wrap == "content":
        left, _ = without_denied_links([both], lambda uri: uri == DENIED)
        assert left == [link(ALLOWED, icons=[kept])]
        left, notes = without_denied_links([block], lambda uri: uri == DENIED)
        assert len(notes) == 1
    else:
        message = {"role": "user", "content": both}
        left, _ = without_denied_messages([message], lambda uri: uri == DENIED)
        assert left == [{"role": "user", "content": link(ALLOWED, icons=[kept])}]
