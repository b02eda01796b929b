"""Whatever the texts: nothing of them is lost in a comparison, and nothing is made up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.approved.word_diff import Op, Stretch, diff, word_diff

TEXTS = st.text(st.sampled_from("ab \n\tx"), max_size=60) | st.text(max_size=40)


def side(stretches: tuple[Stretch, ...], op: Op) -> str:
    """One of the two texts, put together again."""
    return "".join("".join(each.pieces) for each in stretches if each.op in (Op.KEPT, op))


@given(TEXTS, TEXTS)
def test_both_texts_can_be_put_together_again(old: str, new: str) -> None:
    found = word_diff(old, new)
    assert side(found, Op.OUT) == old
    assert side(found, Op.IN) == new


@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abc"), max_size=30))
def test_the_same_holds_for_lines(old: list[str], new: list[str]) -> None:
    found = diff(old, new)
    assert side(found, Op.OUT) == "".join(old)
    assert side(found, Op.IN) == "".join(new)


@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert all(each.op is Op.KEPT for each in word_diff(text, text))
