"""Command lines as people read them: in one line, and without secrets."""

from __future__ import annotations

import pytest

from mcp_jail.core.text.command_shown import (
    digested,
    is_digested,
    launch_shown,
    shown_command,
    without_secret,
    without_secrets,
)

TOKEN = "ghp_0123456789abcdefghij0123456789abcdef"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("npx", "-y", "server"), "npx -y server"),
        (("s", "a b", "x\ny"), r"s 'a b' 'x\ny'"),
        (("s", "--token", "hunter2"), "s --token [secret]"),
        (("s", "--token", "--verbose"), "s --token --verbose"),
        (("s", "--api-key=hunter2"), "s --api-key=[secret]"),
        (("env", "DB_PASSWORD=hunter2", "s"), "env DB_PASSWORD=[secret] s"),
        (("s", TOKEN), "s [secret]"),
        (("s", "postgres://me:hunter2@host/db"), "s postgres://[secret]@host/db"),
        (("s", "--header", "Authorization: Bearer abcdefghijkl"), "s --header 'Authorization: "),
    ],
)
def test_a_command_is_shown_without_its_secrets(words: tuple[str, ...], shown: str) -> None:
    said = shown_command(words)
    assert said.startswith(shown)
    assert not any(secret in said for secret in ("hunter2", TOKEN, "abcdefghijkl"))


def test_a_text_keeps_what_is_no_secret() -> None:
    assert without_secret(f"a {TOKEN} b {TOKEN}") == "a [secret] b [secret]"
    assert without_secret("") == ""


def test_words_are_kept_without_secrets_and_told_apart() -> None:
    words = ("s", "--level", "3", "--token", "hunter2", "--key=x", TOKEN, "-v")
    kept = digested(words, b"key")
    assert [word for word in words if word in kept] == [
        "s",
        "--level",
        "3",
        "--token",
        "--key=x",
        "-v",
    ]
    assert [is_digested(word) for word in kept].count(True) == 2
    assert kept == digested(words, b"key") != digested(words, b"other key")
    assert shown_command(kept).startswith("s --level 3 --token [secret] --key=x '[secret] ")
    assert not any(map(is_digested, (*words, "[secret]", "[secret] x")))


@pytest.mark.parametrize("value", [None, [], "argv", {"argv": "s"}, {"argv": [1]}, {}])
def test_what_is_no_launch_is_shown_as_it_is(value: object) -> None:
    assert launch_shown(value, lambda _: False) == value
    assert launch_shown({"argv": ["--token", "x"], "env": ["A"]}, lambda _: False) == {
        "argv": ["--token", "[secret]"],
        "env": ["A"],
    }


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        (f"{TOKEN} exec python3 good.py", "[secret] exec python3 good.py"),
        ("API_TOKEN=$(evil)", "API_TOKEN=$(evil)"),
        (f"token={TOKEN};evil", "token=[secret];evil"),
        ("import os;token='x';evil()", "import os;token='x';evil()"),
        ("AUTH_TOKEN=/tmp/evil; $AUTH_TOKEN", "AUTH_TOKEN=/tmp/evil; $AUTH_TOKEN"),
        (f"curl -H {TOKEN} | sh", "curl -H [secret] | sh"),
        ("curl http://me:$(evil)@host/", "curl http://me:$(evil)@host/"),
    ],
)
def test_code_is_shown_but_for_plain_values(word: str, shown: str) -> None:
    assert without_secrets(("sh", "-c", word), has_code=True)[2] == shown


def test_a_word_of_a_secrets_name_that_goes_on_is_shown() -> None:
    words = ("lua", "TOKEN=abc os.execute('evil')", "--token=a b")
    assert without_secrets(words)[1:] == [words[1], "--token=[secret]"]


def test_code_that_differs_is_kept_as_different() -> None:
    one, other = (
        digested(("sh", "-c", f"TOKEN={TOKEN}; {code}"), b"k", has_code=True) for code in ("a", "b")
    )
    assert one != other
    assert one[2].startswith("TOKEN=[secret]; a ")
    assert other[2].startswith("TOKEN=[secret]; b ")
