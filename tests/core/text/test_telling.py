"""What is taken for a secret, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_jail.core.text.telling import (
    _NAME_HINTS,
    _SHAPE_HINTS,
    encodings,
    hinted,
    is_telling,
    is_telling_flag,
    shape_spans,
)

# Made of repeated letters, so that no scanner takes this file for a leak.
A16, A20, A36, A40 = "A1" * 8, "aB" * 10, "a1" * 18, "b2" * 20
SHAPES = [
    "AKIA" + A16,
    "ASIA" + A16,
    "ghp_" + A36,
    "gho_" + A36,
    "github_pat_" + A40,
    "glpat-" + A20,
    "sk-" + A40,
    "sk-ant-" + A40,
    "sk-proj-" + A40,
    "sk_live_" + A20,
    "rk_test_" + A20,
    "xoxb-" + A20,
    "xapp-" + A20,
    "AIza" + "x" * 35,
    "ya29." + A40,
    "npm_" + A36,
    "pypi-" + A40,
    "hf_" + A36,
    "eyJ" + A20 + "." + A20 + "." + A20,
    "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nabc",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----",
]


@pytest.mark.parametrize("secret", SHAPES, ids=[shape[:12] for shape in SHAPES])
@pytest.mark.parametrize("around", [("", ""), ("see\n", " there"), ('x="', '"'), ("=", "&a=b")])
def test_a_token_is_known_by_its_shape(secret: str, around: tuple[str, str]) -> None:
    text = secret.join(around)
    begin = len(around[0])
    assert hinted(text)
    assert any(
        first <= begin and last >= begin + len(secret.rstrip("\n"))
        for first, last in shape_spans(text)
    )


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("https://user:pa@ss@host/x", "user:pa@ss"),
        ("https://token@github.com/a/b", "token"),
        ("postgres://me:s3cret@db:5432/x", "me:s3cret"),
        ("Authorization: Bearer abc.def-ghi", "Bearer abc.def-ghi"),
        ("bearer abcdefghij", "abcdefghij"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Basic dXNlcjpwYXNzd29yZA=="),
        ("curl -u x --password hunter2", "hunter2"),
        ("--api-key=abcdef", "abcdef"),
        ("https://x/y?access_token=abcdef&z=1", "abcdef"),
        ("DB_PASSWORD=hunter2", "hunter2"),
        ('{"client_secret": "abcdef"}', "abcdef"),
        ('{\\"client_secret\\":\\"abcdef\\"}', "abcdef"),
        ("my password: hunter2!", "hunter2!"),
        ("set-cookie: sid=abcdef", "sid=abcdef"),
    ],
)
def test_a_value_is_known_by_what_stands_before_it(text: str, secret: str) -> None:
    assert hinted(text)
    assert secret in [text[begin:end] for begin, end in shape_spans(text)]


@pytest.mark.parametrize(
    "text",
    [
        "/home/me/projects/notes/2026-11-29-minutes.md",
        "http://localhost:4873/@scope/package",
        "basic words about authors",
        "the token",
        "a password is a word",
        "sk-short",
        "SELECT * FROM keys WHERE id = 7",
        "mailto:me@example.org",
    ],
)
def test_plain_text_is_left_alone(text: str) -> None:
    assert shape_spans(text) == []


@pytest.mark.parametrize(
    "name",
    [
        *("password", "PASSWORD", "db_password", "passwd", "passphrase", "token", "access_token"),
        *("secret", "client_secret", "api_key", "apiKey", "x-api-key", "API KEY", "Authorization"),
        *("auth", "basic_auth", "otp", "pin", "cookie", "Set-Cookie", "session_id", "credentials"),
        *("private_key", "AWS_SECRET_ACCESS_KEY", "secretAccessKey", "bearer"),
    ],
)
def test_these_names_tell(name: str) -> None:
    assert is_telling(name)


@pytest.mark.parametrize(
    "name",
    [
        *("path", "key", "author", "max_tokens", "tokens", "tokenize", "passenger", "pinned"),
        *("keyboard", "content", "authority", "compass", "spin"),
    ],
)
def test_these_names_do_not(name: str) -> None:
    assert not is_telling(name)


def test_an_option_that_takes_a_secret_is_known() -> None:
    assert is_telling_flag("--token")
    assert is_telling_flag("-password")
    assert is_telling_flag("--github-api-key")
    assert not is_telling_flag("token")
    assert not is_telling_flag("--tokens")
    assert not is_telling_flag("--verbose")


def test_a_short_value_is_not_looked_for() -> None:
    assert encodings("info") == frozenset()
    assert "infoinfo" in encodings("infoinfo")


_SHAPES_ALL = [hint for group in _SHAPE_HINTS.values() for hint in group]
_NAMES_ALL = [hint for group in _NAME_HINTS.values() for hint in group]
# Hints and what is nearly one: cut, in another case, only the character a group has in common.
PIECES = [
    piece
    for hint in [*_SHAPES_ALL, *_NAMES_ALL, *_SHAPE_HINTS, *_NAME_HINTS]
    for piece in (hint, hint[:-1], hint[1:], hint.upper(), hint.lower())
]


@given(st.lists(st.sampled_from(SHAPES + PIECES) | st.text(max_size=4), max_size=4).map("".join))
@example("")
def test_hints_in_groups_find_what_each_hint_by_itself_finds(text: str) -> None:
    lowered = text.lower()
    each = any(hint in text for hint in _SHAPES_ALL) or any(hint in lowered for hint in _NAMES_ALL)
    assert hinted(text) == each


@pytest.mark.parametrize("hint", [*_SHAPES_ALL, *_NAMES_ALL])
def test_no_hint_is_missed_for_the_group_it_stands_in(hint: str) -> None:
    assert hinted(hint)
