"""Command lines as people read them: in one line, and without secrets."""

from __future__ import annotations

import pytest

from mcp_jail.core.command_shown import shown_command, without_secret

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
