"""Arguments as the audit keeps them: no secret, no novel, still JSON."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from mcp_jail.core.policy import AuditArguments
from mcp_jail.core.recorded.redact import (
    MAX_ARGUMENTS_BYTES,
    MAX_TEXT,
    Redactor,
    arguments_digest,
    known_values,
)

SECRET = "hunter2 and/or ünter3"
REDACTOR = Redactor(known=[SECRET], key=b"key")


def shown(value: Any) -> Any:
    return msgspec.json.decode(bytes(REDACTOR.arguments(value) or b""))


@pytest.mark.parametrize("length", range(MAX_TEXT - 40, MAX_TEXT + 3))
def test_a_known_value_that_straddles_the_cut_leaves_no_beginning(length: int) -> None:
    text = shown({"a": "." * length + SECRET + "." * 5000})["a"]
    assert "hunter2" not in text
    assert "hun" not in text
    assert len(text) < MAX_TEXT + 100


@pytest.mark.parametrize("length", range(MAX_TEXT - 60, MAX_TEXT))
def test_a_token_that_straddles_the_cut_leaves_no_beginning(length: int) -> None:
    text = shown({"a": "." * length + "ghp_" + "a1" * 18 + " " + "." * 5000})["a"]
    assert "ghp_" not in text


def test_a_private_key_longer_than_the_cut_is_gone_whole() -> None:
    body = "QUJD" * 5000
    text = shown({"a": f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"})["a"]
    assert text.startswith("[redacted][cut: ")
    assert "QUJD" not in text


def test_secrets_that_overlap_are_gone_together() -> None:
    redactor = Redactor(known=["abcdefgh", "efghijkl"], key=b"k")
    assert redactor.text("xabcdefghijklx") == "x[redacted]x"


def test_a_known_value_is_found_in_a_key_and_deep_inside() -> None:
    value = {"a": [{"b": {f"x {SECRET}": [f"say {SECRET}!"]}}]}
    assert shown(value) == {"a": [{"b": {"x [redacted]": ["say [redacted]!"]}}]}


def test_a_known_value_with_quotes_and_newlines_is_found() -> None:
    secret = 'line "one"\nline two\\'
    redactor = Redactor(known=[secret], key=b"k")
    assert bytes(redactor.arguments({"a": secret}) or b"") == b'{"a":"[redacted]"}'


def test_base64_of_a_text_with_a_known_value_inside_is_found() -> None:
    for lead in ("", "u", "us", "user:"):
        packed = base64.b64encode(f"{lead}{SECRET}".encode()).decode()
        assert "[redacted]" in shown({"a": f"x {packed} y"})["a"]


def test_values_under_telling_names_are_gone_whatever_they_are() -> None:
    assert shown({"password": "x", "Token": ["a", {"b": 1}], "pin": 1234, "secret": None}) == {
        "password": "[redacted]",
        "Token": "[redacted]",
        "pin": "[redacted]",
        "secret": None,
    }


def test_a_pair_written_as_an_object_and_an_option_are_understood() -> None:
    assert shown({"env": [{"name": "API_KEY", "value": "x"}]}) == {
        "env": [{"name": "API_KEY", "value": "[redacted]"}]
    }
    assert shown({"args": ["--token", "x", "--verbose", "y"]}) == {
        "args": ["--token", "[redacted]", "--verbose", "y"]
    }


def test_plain_arguments_are_kept_as_they_are() -> None:
    value = {"path": "/home/me/notes.txt", "lines": [1, 2], "deep": {"a": None, "b": True}}
    assert shown(value) == value


def test_a_long_text_is_cut_and_says_its_length_and_digest() -> None:
    text = shown({"content": "x" * 100_000})["content"]
    assert text.startswith("x" * MAX_TEXT + "[cut: 100000 characters, hmac ")
    other = shown({"content": "x" * 99_999 + "y"})["content"]
    assert text != other


@pytest.mark.parametrize(
    "value",
    [
        {"a": list(range(1_000_000))},
        {str(number): "x" * 400 for number in range(5_000)},
        {"a": ["x" * 5_000] * 1_000},
        {"a" * 1_000_000: 1},
        [[[["x" * 50] * 30] * 30] * 30],
    ],
    ids=["numbers", "keys", "texts", "long key", "nested"],
)
def test_arguments_of_any_size_become_small(value: Any) -> None:
    encoded = bytes(REDACTOR.arguments(value) or b"")
    assert len(encoded) <= MAX_ARGUMENTS_BYTES
    msgspec.json.decode(encoded)


@pytest.mark.parametrize(
    "text",
    [
        *("-" * 3_000, "token" * 600, "--token" * 500, "://a:" * 600, "-----BEGIN " * 300),
        *("eyJ" + "a." * 1500, "password " * 400, "bearer " * 400, '"' * 3_000),
        "--" + "token" * 200_000 + "!",
    ],
    ids=lambda text: text[:12],
)
def test_no_text_makes_the_search_endless(text: str) -> None:
    shown({"a": [text] * (3_000_000 // len(text)), text: text, "name": text})


def test_a_text_that_is_not_searched_is_not_shown() -> None:
    value = {"a": ["." * 4_000] * 30 + [SECRET]}
    assert SECRET not in str(shown(value))


def test_arguments_nested_deeper_than_is_looked_into_are_cut() -> None:
    value: Any = "x"
    for _ in range(200):
        value = [value]
    assert "nested deeper" in str(shown({"a": value, "password": "x"}))


def test_a_cut_of_all_arguments_does_not_bring_a_secret_back() -> None:
    value = {str(number): f"{SECRET} " + "x" * 400 for number in range(500)}
    assert "hunter2" not in str(shown(value))


def test_mode_none_keeps_nothing_and_mode_full_everything() -> None:
    none = Redactor(mode=AuditArguments.NONE, known=[SECRET], key=b"k")
    full = Redactor(mode=AuditArguments.FULL, known=[SECRET], key=b"k")
    assert none.arguments({"a": 1}) is None
    assert bytes(full.arguments({"a": SECRET}) or b"") == msgspec.json.encode({"a": SECRET})


def test_arguments_are_told_apart_by_a_digest_that_needs_the_key() -> None:
    digest = arguments_digest(b"k" * 32, b'{"a":1}')
    assert digest == arguments_digest(b"k" * 32, b'{"a":1}')
    assert digest != arguments_digest(b"k" * 32, b'{"a":2}')
    assert digest != arguments_digest(b"j" * 32, b'{"a":1}')


def test_of_the_shared_environment_only_what_may_be_a_secret_is_looked_for() -> None:
    shared = {
        "API_KEY": "plainwords",
        "LOG_LEVEL": "information",
        "PROJECT": "/home/me/project1",
        "SERVICE": "https://example.org/v1",
        "DATABASE_URL": "postgres://me:word@db/x",
        "SOMETHING": "a8f7c6d5e4",
        "DB_PASSWORD": "correct horse",
    }
    assert set(known_values(shared, ["/a/secret/value"])) == {
        "plainwords",
        "postgres://me:word@db/x",
        "a8f7c6d5e4",
        "correct horse",
        "/a/secret/value",
    }


@pytest.mark.parametrize("secret", ["qx7z", "12345", "a b/c+", 'qu"te', "ünter"])
def test_a_short_secret_is_found_where_a_short_value_of_a_variable_is_not(secret: str) -> None:
    value = {"a": f"x {secret} y", secret: [secret], "f": f"a%20{secret}"}
    encoded = msgspec.json.encode(value)
    shared = Redactor(known=[secret], key=b"k").arguments(value)
    assert bytes(shared or b"") == encoded
    shown = bytes(Redactor(known=(), secrets=[secret], key=b"k").arguments(value) or b"").decode()
    assert secret not in shown
    assert secret not in str(msgspec.json.decode(shown))


def test_a_secret_of_digits_is_found_as_a_number_too() -> None:
    redactor = Redactor(known=(), secrets=["48151623"], key=b"k")
    shown = bytes(redactor.arguments({"n": [48151623, 48151623.0, 4815, True, None]}) or b"")
    assert shown == b'{"n":["[redacted]","[redacted]",4815,true,null]}'


def test_known_values_alone_are_blotted_out_of_a_line() -> None:
    redactor = Redactor(known=["hunter2-hunter2"], secrets=["qx7z"], key=b"k")
    line = "hunter2-hunter2 qx7z ghp_" + "a1" * 18 + "." * 1000
    assert redactor.known(line) == "[redacted] [redacted] ghp_" + "a1" * 18 + "." * 1000
    assert redactor.known("nothing of it") == "nothing of it"


@pytest.mark.parametrize(
    ("arguments", "is_found"),
    [
        ({"a": [{"b": f"Bearer {SECRET}"}]}, True),
        ({SECRET: 1}, True),
        ({"a": "ghp_" + "a1" * 18}, True),
        ({"api_key": "correct horse"}, True),
        ({"n": 48151623}, True),
        ({"a": "." * 5 * MAX_TEXT + SECRET}, True),
        ({"a": "x" * 5 * MAX_TEXT}, False),
        ({"a": "[redacted]", "path": "/tmp/a", "n": 5}, False),
    ],
)
def test_it_can_be_asked_whether_arguments_hold_a_secret(arguments: Any, is_found: bool) -> None:
    redactor = Redactor(known=[SECRET], secrets=["48151623"], key=b"k")
    assert redactor.finds_in(arguments) is is_found
