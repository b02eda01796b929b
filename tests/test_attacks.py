"""The list of known attacks: each is tried by a test that exists, or its limit is said openly."""

from __future__ import annotations

import ast
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from clients.smuggled import LINES
from clients.tricks import ASKS, TRICKS

ROOT: Final = Path(__file__).resolve().parent.parent
GROUPS: Final[dict[str, list[dict[str, Any]]]] = yaml.safe_load(
    (ROOT / "tests" / "attacks.yaml").read_text()
)
ATTACKS: Final = list(chain.from_iterable(GROUPS.values()))

# The keys of an attack that say what tries it, or that nothing does.
TRIES: Final = frozenset({"tests", "tricks", "lines"})
SAYS: Final = TRIES | {"limit"}

# How many attacks are known of each group: none may be dropped unseen.
LEAST: Final = {
    "definitions": 20,
    "messages": 18,
    "files of clients": 2,
    "answers that fool an SDK": 19,
}


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text())
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def named(key: str) -> list[str]:
    return [each for attack in ATTACKS for each in attack.get(key, [])]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["attack"])
def test_each_attack_is_tried_or_its_limit_is_said(attack: dict[str, Any]) -> None:
    assert attack.keys() <= SAYS | {"attack"}
    assert any(attack.get(key) for key in SAYS)
    assert attack["attack"].endswith(".")


@pytest.mark.parametrize("test", sorted(set(named("tests"))))
def test_each_test_that_is_named_exists(test: str) -> None:
    file, _, name = test.partition("::")
    assert name.startswith("test_")
    assert name in names_in(file)


def test_each_limit_that_is_named_is_said_openly() -> None:
    limits = (ROOT / "docs" / "security.md").read_text().partition("## Limits")[2]
    said = [each["limit"] for each in ATTACKS if "limit" in each]
    assert [limit for limit in said if f"**{limit}**" not in limits] == []


def test_each_trick_and_line_that_real_sdks_are_played_is_in_the_list_once() -> None:
    assert sorted(named("tricks")) == sorted(TRICKS | ASKS)
    assert sorted(named("lines")) == sorted(LINES)


def test_no_attack_is_dropped_or_listed_twice() -> None:
    assert {name: len(attacks) for name, attacks in GROUPS.items()} == LEAST
    assert len({each["attack"] for each in ATTACKS}) == len(ATTACKS)
