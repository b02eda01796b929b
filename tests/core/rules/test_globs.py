"""Which names a glob fits, and which globs share a name."""

from __future__ import annotations

import pytest

from mcp_jail.core.rules.globs import glob_matches, globs_overlap, is_glob, literal_count


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("read_*", "read_"),
        ("read_*", "read_file"),
        ("*", ""),
        ("**", "anything"),
        ("*_file", "read_file"),
        ("read_?", "read_x"),
        ("a*b*c", "a-b-b-c"),
        ("*ab?*", "xxaabz"),
        ("a*a", "aa"),
        ("?*?", "xy"),
        ("exact", "exact"),
        ("a[b]", "a[b]"),
        ("a.c", "a.c"),
        ("*é", "café"),
    ],
)
def test_a_glob_fits(pattern: str, name: str) -> None:
    assert glob_matches(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("read_*", "Read_file"),
        ("read_*", "xread_file"),
        ("read_?", "read_"),
        ("read_?", "read_xy"),
        ("a*a", "a"),
        ("a*b*c", "a-c-b"),
        ("a.c", "abc"),
        ("[ab]", "a"),
        ("", "x"),
        ("exact", "exact "),
        ("read_file", "read_f\u0456le"),
        ("?*?", "x"),
    ],
)
def test_a_glob_does_not_fit(pattern: str, name: str) -> None:
    assert not glob_matches(pattern, name)


def test_a_hostile_name_costs_no_more_than_its_length_times_the_pattern() -> None:
    assert not glob_matches("*a" * 30 + "b", "a" * 20_000)
    assert not glob_matches("*?a" * 10 + "b", "a" * 2_000)


def test_more_letters_weigh_more() -> None:
    assert literal_count("read_*") == 5
    assert literal_count("**") == literal_count("?") == 0


def test_a_name_without_wildcards_is_no_glob() -> None:
    assert is_glob("a*")
    assert is_glob("a?")
    assert not is_glob("a[b]")


@pytest.mark.parametrize(
    ("one", "other"),
    [("read_*", "*_file"), ("a*", "ab"), ("?b", "a?"), ("*", ""), ("a*c", "ab*"), ("**", "*")],
)
def test_globs_overlap(one: str, other: str) -> None:
    assert globs_overlap(one, other)
    assert globs_overlap(other, one)


@pytest.mark.parametrize(
    ("one", "other"), [("read_*", "write_*"), ("*a", "*b"), ("?", ""), ("a?", "a"), ("ab*", "ac?")]
)
def test_globs_do_not_overlap(one: str, other: str) -> None:
    assert not globs_overlap(one, other)
    assert not globs_overlap(other, one)
