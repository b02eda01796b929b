"""What of a server would be taken for our own question, and what would not."""

from __future__ import annotations

import pytest

from mcp_jail.core.conversation.like_ours import are_choices_like_ours, is_like_ours

OURS = (
    "The jail (AAAA-BBBB): may t run this, with exactly these arguments?",
    "the jail: may it go on?",
    "Please wait.\n  JAIL asks you",
    "Security (K7Q2-PD4X): go on?",
    "Sandbox [k7q2\u2013pd4x]: go on?",
    "May the server run this?",
    "run it, with exactly these arguments",
    "mcp\u30fcjail",  # a vowel mark of Japanese, a letter to Unicode
    "mcp\u4e00jail",  # a numeral of Chinese
    "mcp\u3161jail",  # a vowel of Korean
    "mcp\u2014jail",
    "mcp\u2215jail",
    "mcp\u02c9jail",
    "m\u00b7c\u00b7p jail",
    "\uff4d\uff43\uff50\uff0d\uff4a\uff41\uff49\uff4c",
    "MCP_JA1L",
    "rncp-jail",
    "\u043c\u0441\u0440-j\u0430il",
)
OTHERS = (
    "Which commit (a1b2c3d4): the first or the second?",
    "May I run the tests?",
    "Which branch shall be deleted?",
    "Enter the name of the jailer",
    "How many days in jail, as the court said?",
    "mcp server settings",
)


@pytest.mark.parametrize("text", OURS)
def test_what_speaks_as_we_do_is_known(text: str) -> None:
    assert is_like_ours(text)


@pytest.mark.parametrize("text", OTHERS)
def test_what_a_server_may_ask_is_not_taken_for_ours(text: str) -> None:
    assert not is_like_ours(text)


@pytest.mark.parametrize(
    ("choices", "are_ours"),
    [
        (("allow once", "allow for a while", "deny"), True),
        (("Allow once!", "DENY"), True),
        (("\u0430llow for a while", "no"), True),
        (("allow", "deny"), False),
        (("once", "always"), False),
    ],
)
def test_our_choices_are_known(choices: tuple[str, ...], are_ours: bool) -> None:
    assert are_choices_like_ours(choices) is are_ours
