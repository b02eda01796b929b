"""What a server may ask a person, and what may be answered."""

# ruff: noqa: RUF001  (letters that look like others are refused)

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mcp_jail.core.conversation import elicitation
from mcp_jail.core.conversation.elicitation import (
    fault_of_answer,
    fault_of_form,
    fault_of_url,
    shown_host,
)


def form(message: str = "Which one?", /, **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields}
    return {"mode": "form", "message": message, "requestedSchema": schema}


def with_schema(**members: Any) -> dict[str, Any]:
    return form(a={"type": "boolean"}) | {
        "requestedSchema": {"type": "object", "properties": {"a": {"type": "boolean"}}} | members
    }


def link(url: Any, **more: Any) -> dict[str, Any]:
    return {"mode": "url", "message": "Please sign in", "url": url, "elicitationId": "e1"} | more


def large_fields(size: int) -> dict[str, Any]:
    """Fields of a form whose schema has so many bytes."""
    fields = {
        f"f{at:02}": {"type": "string", "enum": [f"{n:03}" * 20 for n in range(100)]}
        for at in range(5)
    }
    fields["last"] = {"type": "string", "enum": [""]}
    missing = size - len(msgspec.json.encode(form(**fields)["requestedSchema"]))
    choices = [f"{n:03}".ljust(100, "x") for n in range(missing // 103)]
    fields["last"]["enum"] = [*choices, "x" * (missing - 103 * len(choices))]
    return fields


TEXT = {"type": "string"}
YES_OR_NO = {"type": "boolean"}

PYDANTIC = {
    "message": "Book a table?",
    "requestedSchema": {
        "title": "Booking",
        "description": "A table",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {"title": "Name", "type": "string", "default": "Ann"},
            "people": {"title": "People", "type": "integer", "minimum": 1},
            "day": {"type": "string", "format": "date"},
            "menu": {"type": "string", "enum": ["meat", "fish"]},
        },
        "required": ["people", "day"],
    },
    "_meta": {},
}


@pytest.mark.parametrize(
    "params",
    [
        PYDANTIC,
        form(),
        form("Delete it?", sure=YES_OR_NO),
        form("Which repository?", repository={"type": "string", "title": "Repository"}),
        form("x" * 2_000),
        form("\n".join("x" * 30)),
        form(**{f"f{number}": TEXT for number in range(20)}),
        form(**{"x" * 64: TEXT}),
        form(**large_fields(32_768)),
        form("می\u200cخواهم 👩\u200d👩"),
    ],
)
def test_an_honest_form_is_passed_on(params: dict[str, Any]) -> None:
    assert fault_of_form(params) is None


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({}, "requestedSchema"),
        (form() | {"mode": "url"}, "the mode is 'url'"),
        (form() | {"mode": None}, "the mode is null"),
        (form() | {"task": {"ttl": 1}}, "'task' is not passed on"),
        (form() | {"url": "https://a.example.com"}, "'url' is not passed on"),
        (form() | {"_meta": []}, "_meta is not an object"),
        ({"message": "a"}, "requestedSchema"),
        ({"message": "a", "requestedSchema": []}, "requestedSchema"),
        ({"requestedSchema": form()["requestedSchema"]}, "the message is empty"),
        (form(" \n"), "the message is empty"),
        (form() | {"message": ["a"]}, "the message is empty or no text"),
        (form("x" * 2_001), "the message has more than 2000 characters"),
        (form("\n".join("x" * 31)), "the message has too many lines"),
        (form("\r".join("x" * 31)), "the message has too many lines"),
        (form("a\u202eb"), "the message has hidden characters"),
        (with_schema(type="array"), "an object with properties"),
        (with_schema(properties=[]), "an object with properties"),
        (with_schema(allOf=[]), "no 'allOf'"),
        (with_schema(patternProperties={}), "no 'patternProperties'"),
        (with_schema(**{"$defs": {}}), "no '$defs'"),
        (with_schema(title="a\u200b"), "the title of the form has hidden"),
        (with_schema(description="x" * 1_001), "the description of the form has more"),
        (with_schema(required="a"), "required is not a list of names"),
        (with_schema(required=[1]), "required is not a list of names"),
        (with_schema(required=["a", "b"]), "that the form does not have"),
        (
            form(**{f"f{number}": TEXT for number in range(21)}),
            "more than 20 fields or 32768 bytes",
        ),
        (form(**large_fields(32_769)), "more than 20 fields or 32768 bytes"),
        (form(a=TEXT, A=TEXT), "differ only in case"),
        (form(**{"": TEXT}), "'' is no name of a field"),
        (form(__proto__=TEXT), "'__proto__' is no name"),
        (form(constructor=TEXT), "'constructor' is no name"),
        (form(prototype=TEXT), "'prototype' is no name"),
        (form(**{"a\nb": TEXT}), "is no name of a field"),
        (form(**{"x" * 65: TEXT}), "has more than 64 characters"),
        (form(**{"a b\ufe0f": TEXT}), "has hidden characters"),
        (form(a={"type": "object", "properties": {"b": TEXT}}), "the field 'a' has the type"),
        (form(a=TEXT, b={"type": "string", "title": "\u200b"}), "the title of the field 'b'"),
        (form(a=None), "the field 'a' is not described"),
    ],
)
def test_a_form_that_no_era_has_is_refused(params: dict[str, Any], told: str) -> None:
    fault = fault_of_form(params)
    assert fault is not None
    assert told in fault


@pytest.mark.parametrize(
    ("params", "told"),
    [
        (form(password=TEXT), "the field 'password' asks for a secret (password)"),
        (form(userAPIKey=TEXT), "the field 'userAPIKey' asks"),
        (form(pin={"type": "integer"}), "the field 'pin' asks"),
        (form(a=TEXT, card_number={"type": "number"}), "the field 'card_number' asks"),
        (form(value={"type": "string", "title": "PIN"}), "the field 'value' asks"),
        (form(value={"type": "string", "title": "Db pass"}), "the field 'value' asks"),
        (form(value={"type": "string", "description": "your token"}), "the field 'value' asks"),
        (form(value={"type": "string", "default": "<password>"}), "the field 'value' asks"),
        (form("Enter your GitHub password", value=TEXT), "the form asks for a secret (password)"),
        (
            form(a=TEXT, b={"type": "boolean", "title": "Write the password above"}),
            "the field 'b' asks",
        ),
        (
            form(a=TEXT, b={"type": "string", "enum": ["Write the password above"]}),
            "the field 'b' asks",
        ),
        (
            form(a=TEXT, b={"type": "string", "enum": ["x"], "enumNames": ["password above"]}),
            "the field 'b' asks",
        ),
        (
            form(a=TEXT, b={"type": "string", "oneOf": [{"const": "x", "title": "OTP above"}]}),
            "the field 'b' asks",
        ),
        (
            form(a=TEXT, b={"type": "string", "oneOf": [{"const": "OTP above", "title": "x"}]}),
            "the field 'b' asks",
        ),
        (
            form(
                a=TEXT,
                b={"type": "array", "items": {"anyOf": [{"const": "x", "title": "OTP above"}]}},
            ),
            "the field 'b' asks",
        ),
    ],
)
def test_a_form_that_asks_for_a_secret_is_refused(params: dict[str, Any], told: str) -> None:
    fault = fault_of_form(params)
    assert fault is not None
    assert told in fault


@pytest.mark.parametrize("member", ["title", "description"])
def test_the_texts_of_the_form_itself_are_read(member: str) -> None:
    params = form(value=TEXT)
    params["requestedSchema"][member] = "Your password"
    assert fault_of_form(params) == "the form asks for a secret (password)"


def test_a_form_that_can_take_no_secret_may_speak_of_one() -> None:
    choice = {"type": "string", "enum": ["token", "password"]}
    assert fault_of_form(form("Rotate the token?", rotate_token=YES_OR_NO, by=choice)) is None
    assert fault_of_form(form("Rotate the token?", rotate_token=YES_OR_NO, by=TEXT)) is not None


def test_texts_of_other_words_than_those_shown_are_not_read() -> None:
    assert fault_of_form(form(a={"type": "string", "pattern": "token"})) is None


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "boolean", "title": "Use auth"},
        {"type": "string", "enum": ["none", "basic", "oauth"], "title": "Authorization"},
    ],
)
@pytest.mark.parametrize("name", ["auth", "http_auth", "authorization"])
def test_what_is_chosen_beside_a_text_is_no_secret(choice: dict[str, Any], name: str) -> None:
    assert fault_of_form(form(host={"type": "string"}, **{name: choice})) is None
    assert fault_of_form(form(host={"type": "string"}, **{name: {"type": "string"}})) is not None


def test_a_choice_that_asks_for_a_secret_beside_it_is_refused() -> None:
    choice = {"type": "boolean", "title": "Type your password below"}
    assert fault_of_form(form(host={"type": "string"}, ok=choice)) is not None


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/login/device",
        "HTTPS://GitHub.com/login?next=%2Fa%20b&x=1#top",
        "https://auth.example.com:8443/@user",
        "https://example.com",
        "https://a-b.example.co.uk./x?y=z@w",
        "https://local.example.com/",
        "https://internal.dev",
        "https://3com.com/",
        "https://notlocalhost.com/",
    ],
)
def test_an_https_url_with_a_readable_host_is_passed_on(url: str) -> None:
    assert fault_of_url(link(url)) is None


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (None, "the url is no text"),
        (["https://example.com"], "the url is no text"),
        ("", "is empty"),
        ("https://example.com/" + "x" * 2_029, "more than 2048 characters"),
        ("http://example.com/", "not https://"),
        ("ftp://example.com/", "not https://"),
        ("javascript://example.com/%0aalert(1)", "not https://"),
        ("javascript:alert(1)", "not https://"),
        ("data:text/html,x", "not https://"),
        ("https:example.com", "not https://"),
        ("https:/example.com", "not https://"),
        ("//example.com", "not https://"),
        ("example.com", "not https://"),
        ("https:///example.com", "different ways"),
        ("https://", "different ways"),
        ("https://?a.example.com", "different ways"),
        (" https://example.com", "must be encoded"),
        ("https://example.com/\n", "must be encoded"),
        ("https://exam\tple.com/", "hidden|encoded"),
        ("https://example.com\\@evil.com/", "must be encoded"),
        ("https://example.com/a b", "must be encoded"),
        ("https://example.com/\x00", "hidden characters"),
        ("https://example.com/\u202e", "hidden characters"),
        ("https://example.com/é", "must be encoded"),
        ("https://ex\u0430mple.com/", "must be encoded"),
        ("https://пример.рф/", "must be encoded"),
        ("https://example。com/", "must be encoded"),
        ("https://github.com@evil.com/", "a user name before its host"),
        ("https://user:pw@example.com/", "a user name before its host"),
        ("https://@example.com/", "a user name before its host"),
        ("https://good.com?@evil.com/", "different ways"),
        ("https://good.com#@evil.com/", "different ways"),
        ("https://good.com%2eevil.com/", "different ways"),
        ("https://good.com;evil.com/", "different ways"),
        ("https://example.com:99999/", "different ways"),
        ("https://example.com:/", "different ways"),
        ("https://exa_mple.com/", "different ways"),
        ("https://xn--80ak6aa92e.com/", "xn--80ak6aa92e.com is shown in other letters"),
        ("https://login.XN--80ak6aa92e.com/", "is shown in other letters"),
        ("https://127.0.0.1/", "is an address, not a name"),
        ("https://10.0.0.1:8443/", "is an address, not a name"),
        ("https://169.254.169.254/latest", "is an address, not a name"),
        ("https://93.184.216.34/", "is an address, not a name"),
        ("https://127.1/", "different ways"),
        ("https://2130706433/", "different ways"),
        ("https://0x7f000001/", "different ways"),
        ("https://0x7f.0.0.1/", "different ways"),
        ("https://0177.0.0.1/", "different ways"),
        ("https://0/", "different ways"),
        ("https://[::1]/", "::1 is an address, not a name"),
        ("https://[fe80::1]/", "is an address, not a name"),
        ("https://[2606:4700::1]/", "is an address, not a name"),
        ("https://[::ffff:127.0.0.1]/", "different ways"),
        ("https://[::ffff:7f00:1]/", "different ways"),
        ("https://[fe80::1%25eth0]/", "different ways"),
        ("https://localhost/", "localhost is a name of this machine"),
        ("https://LOCALHOST./", "localhost is a name of this machine"),
        ("https://a.localhost:8080/", "is a name of this machine"),
        ("https://printer.local/", "is a name of this machine"),
        ("https://wiki.corp.internal/", "is a name of this machine"),
        ("https://router.lan/", "is a name of this machine"),
        ("https://nas.home.arpa/", "is a name of this machine"),
        ("https://router/", "is a name of this machine"),
        ("https://127.0.0.1.nip.io/", "is a name of this machine"),
        ("https://app.localtest.me/", "is a name of this machine"),
        ("https://lvh.me/", "is a name of this machine"),
    ],
)
def test_any_other_url_is_refused(url: Any, told: str) -> None:
    fault = fault_of_url(link(url))
    assert fault is not None
    assert any(part in fault for part in told.split("|"))


@pytest.mark.parametrize(
    "name",
    """
    localhost localdomain local internal intranet lan home corp private test invalid onion arpa
    nip.io sslip.io xip.io localtest.me lvh.me traefik.me svc svc.cluster.local fritz.box
    home.arpa service.consul speedport.ip ts.net alt mail
    """.split(),
)
def test_no_name_that_is_near_is_a_url_to_open(name: str) -> None:
    assert fault_of_url(link(f"https://{name}/")) is not None
    assert fault_of_url(link(f"https://a.b.{name}:444/")) is not None
    assert fault_of_url(link(f"https://a{name}.com/")) is None


def test_a_url_of_the_longest_kind_is_passed_on() -> None:
    assert fault_of_url(link("https://example.com/" + "x" * 2_028)) is None


@pytest.mark.parametrize(
    ("params", "told"),
    [
        (link("https://a.com", mode="form"), "the mode is 'form'"),
        ({"message": "a", "url": "https://a.com"}, "the mode is null"),
        (link("https://a.com", task={}), "'task' is not passed on"),
        (link("https://a.com", requestedSchema={}), "'requestedSchema' is not passed on"),
        (link("https://a.com", _meta=1), "_meta is not an object"),
        (link("https://a.com", message=""), "the message is empty"),
        (link("https://a.com", message="a\x1b[8m"), "the message has hidden characters"),
        (link("https://a.com", elicitationId=1), "the elicitationId is empty or no text"),
        (link("https://a.com", elicitationId=""), "the elicitationId is empty or no text"),
        (link("https://a.com", elicitationId=None), "the elicitationId is empty or no text"),
        (link("https://a.com", elicitationId="x" * 257), "more than 256"),
        (link("https://a.com", elicitationId="a\u200b"), "hidden characters"),
        (link("http://a.com", elicitationId="x" * 256), "not https://"),
    ],
)
def test_what_stands_beside_a_url_is_looked_at_too(params: dict[str, Any], told: str) -> None:
    fault = fault_of_url(params)
    assert fault is not None
    assert told in fault


def test_a_url_needs_no_id_since_2026() -> None:
    params = link("https://a.com", message="Sign in with your password")
    assert fault_of_url(params) is None
    del params["elicitationId"]
    assert fault_of_url(params) is None
    assert fault_of_url(params | {"url": "http://a.com"}) is not None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://GitHub.com/login", "github.com"),
        ("https://github.com:443/login", "github.com"),
        ("https://github.com:8443/login", "github.com:8443"),
        ("http://github.com/", "github.com:80"),
        ("https://[2606:4700::1]:444/", "[2606:4700::1]:444"),
        ("https://github.com@evil.com/", "a host that cannot be told"),
        ("javascript:alert(1)", "a host that cannot be told"),
    ],
)
def test_a_person_is_told_the_host_and_an_unusual_port(url: str, shown: str) -> None:
    assert shown_host(url) == shown


FORM = form(
    name=TEXT,
    age={"type": "integer"},
    sure=YES_OR_NO,
    day={"type": "string", "enum": ["mon", "tue"]},
    days={"type": "array", "items": {"enum": ["mon", "tue"]}},
)
FORM["requestedSchema"]["required"] = ["name"]
FULL = {"name": "Ann", "age": 3, "sure": False, "day": "tue", "days": ["mon"]}


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "decline"},
        {"action": "cancel", "content": {}},
        {"action": "cancel", "content": None},
        {"action": "accept", "content": FULL},
        {"action": "accept", "content": {"name": ""}, "_meta": {}, "resultType": "complete"},
        {"action": "accept", "content": {"name": "Ann", "age": None}},
    ],
)
def test_an_answer_to_what_was_asked_goes_to_the_server(answer: dict[str, Any]) -> None:
    assert fault_of_answer(FORM, answer) is None


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({}, "the action is null"),
        ({"action": "Accept"}, "the action is 'Accept'"),
        ({"action": ["accept"]}, 'the action is ["accept"]'),
        ({"action": "decline", "content": {"name": "Ann"}}, "only an accepted form has content"),
        ({"action": "cancel", "content": "x"}, "only an accepted form has content"),
        ({"action": "accept", "content": []}, "the content is not an object"),
        ({"action": "accept"}, "the field 'name' is required"),
        ({"action": "accept", "content": {"name": None}}, "the field 'name' is required"),
        ({"action": "accept", "content": {"age": 3}}, "the field 'name' is required"),
        ({"action": "accept", "content": FULL | {"extra": 1}}, "the form has no field 'extra'"),
        ({"action": "accept", "content": FULL | {"Name": "x"}}, "the form has no field 'Name'"),
        ({"action": "accept", "content": FULL | {"age": "3"}}, "the field 'age' is not one"),
        ({"action": "accept", "content": FULL | {"name": {"a": 1}}}, "the field 'name' is not"),
        ({"action": "accept", "content": FULL | {"day": "sun"}}, "the field 'day' is not one"),
        ({"action": "accept", "content": FULL | {"days": ["sun"]}}, "the field 'days' is not one"),
        ({"action": "decline", "file": "x"}, "an answer has no 'file'"),
        ({"action": "decline", "resultType": "input_required"}, "an answer is complete"),
    ],
)
def test_an_answer_with_more_or_else_is_held_back(answer: dict[str, Any], told: str) -> None:
    fault = fault_of_answer(FORM, answer)
    assert fault is not None
    assert told in fault


def test_consent_to_a_url_carries_nothing() -> None:
    asked = link("https://a.com")
    assert fault_of_answer(asked, {"action": "accept"}) is None
    assert fault_of_answer(asked, {"action": "accept", "content": {}}) is None
    assert fault_of_answer(asked, {"action": "accept", "content": {"a": 1}}) is not None


@pytest.mark.parametrize("schema", [None, [], {}, {"properties": []}])
def test_an_answer_to_no_form_is_held_back(schema: Any) -> None:
    asked = {"message": "a", "requestedSchema": schema}
    answer = {"action": "accept", "content": {"a": 1}}
    assert fault_of_answer(asked, answer) == "no form was asked for"


def test_the_limits_are_those_that_are_named() -> None:
    assert fault_of_form(form("x" * (elicitation.MESSAGE_LIMIT + 1))) is not None
    assert fault_of_url(link("https://a.com", elicitationId="x" * elicitation.ID_LIMIT)) is None
