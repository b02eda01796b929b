"""What a line of `env.secret` means."""

from __future__ import annotations

import pytest

from mcp_jail.core.secret_sources import (
    Kind,
    Source,
    at_home,
    paths_of,
    secret_source,
)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("keyring:github", Kind.KEYRING, ("github", "API_KEY")),
        ("keyring:github/me", Kind.KEYRING, ("github", "me")),
        ("keyring:https://a.b/me", Kind.KEYRING, ("https://a.b", "me")),
        ("file:~/.secrets/key", Kind.FILE, ("~/.secrets/key",)),
        ("file:/a b:c", Kind.FILE, ("/a b:c",)),
        ("command:pass show foo", Kind.COMMAND, ("pass", "show", "foo")),
        ("command:op read 'op://a b/c' \"$x\"", Kind.COMMAND, ("op", "read", "op://a b/c", "$x")),
        ("command:/usr/bin/x; y | z", Kind.COMMAND, ("/usr/bin/x;", "y", "|", "z")),
        ("command:~/bin/key", Kind.COMMAND, ("~/bin/key",)),
    ],
)
def test_a_source_is_read(text: str, kind: Kind, words: tuple[str, ...]) -> None:
    assert secret_source(text, "API_KEY") == Source(kind=kind, words=words)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("ghp_0123456789", "neither"),
        ("KEYRING:x", "neither"),
        ("keyring:", "names no entry"),
        ("keyring:/me", "names no entry"),
        ("keyring:github/", "names no entry"),
        ("command:", "names no program"),
        ("command:''", "names no program"),
        ("command:pass 'show", "cannot be split into words: no closing quotation"),
        ("command:./key", "relative path"),
        ("command:bin/key", "relative path"),
    ],
)
def test_what_means_nothing_is_refused_in_words(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        secret_source(text, "API_KEY")


def test_only_paths_and_words_of_commands_begin_at_home() -> None:
    command = Source(kind=Kind.COMMAND, words=("~/bin/key", "~", "x~/y", "~/z"))
    assert at_home(command, "/home/me").words == ("/home/me/bin/key", "~", "x~/y", "/home/me/z")
    entry = Source(kind=Kind.KEYRING, words=("~/x", "~/y"))
    assert at_home(entry, "/home/me") == entry


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("keyring:/a/b", ()),
        ("file:/a/key", ("/a/key",)),
        ("command:pass show /", ()),
        ("command:/opt/x --file=/a/b -C /c d/e", ("/opt/x", "/a/b", "/c", "/d/e")),
        ("command:make -s -C/a/b", ("/a/b",)),
        ("command:sh -c '. /a/get.sh; cat <~/b|$HOME/c'", ("/a/get.sh", "/me/b", "/me/c")),
        ("command:sh -c 'x=(${HOME}/d \"/e f/g\")'", ("/me/d", "/e", "/f/g")),
        ("command:~/bin/x a:/b,/c", ("/me/bin/x", "/b", "/c")),
        ("file:~/a b", ("/me/a b",)),
    ],
)
def test_the_paths_that_decide_a_value_are_known(text: str, paths: tuple[str, ...]) -> None:
    assert tuple(paths_of(secret_source(text, "A"), "/me")) == paths
