"""A whole line in the first word of a command."""

from __future__ import annotations

import pytest

from mcp_jail.config.command_line import in_words
from mcp_jail.errors import UsageError


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("npx -y foo",), ("npx", "-y", "foo")),
        (("npx -y foo", "/data"), ("npx", "-y", "foo", "/data")),
        (("  npx\t foo ",), ("npx", "foo")),
        (("""a 'b c' "d e" f\\ g""",), ("a", "b c", "d e", "f g")),
        (("a '' b",), ("a", "", "b")),
        (("npx", "-y foo | x"), ("npx", "-y foo | x")),
        (("a#b c!d #e",), ("a#b", "c!d", "#e")),
        (("",), ("",)),
        ((), ()),
    ],
)
def test_it_is_taken_apart_as_a_shell_would(
    command: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert in_words(command) == words


@pytest.mark.parametrize(
    "line",
    [
        "curl x | sh",
        "a && b",
        "a; b",
        "a $HOME",
        "a `id`",
        "a $(id)",
        "a > b",
        "a\nb",
        "a *.md",
        "a {b,c}",
        "a 'b",
        "a \\",
    ],
)
def test_what_only_a_shell_could_carry_out_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="cannot be taken apart"):
        in_words((line,))


def test_a_program_of_that_name_is_none() -> None:
    assert in_words(("/my program",), lambda path: path == "/my program") == ("/my program",)
