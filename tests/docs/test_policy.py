"""The policy reference is that of the types, and its examples are policies."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

from docs.pages import PAGES, ROOT, Fence, fences
from mcp_jail.config import load
from mcp_jail.config.reference import DESCRIPTIONS

REFERENCE: Final = ROOT / "docs" / "policy.md"
EXAMPLES: Final = [
    pytest.param(fence, id=f"{page.relative_to(ROOT)}:{fence.line}")
    for page in PAGES
    for fence in fences(page.read_text())
    if fence.info.partition(" ")[0] == "yaml"
]


def test_the_reference_is_the_one_of_the_types() -> None:
    written = subprocess.run(
        [sys.executable, ROOT / "scripts" / "policy-reference", "--print"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert REFERENCE.read_text() == written.stdout, "run scripts/policy-reference"


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_policy(example: Fence) -> None:
    text = example.text
    if "name:" not in text.splitlines()[0]:
        text = f"name: example\n{text}"
    assert load(text, "example.yaml").policy.name


@pytest.mark.parametrize("place", DESCRIPTIONS, ids=".".join)
def test_every_key_has_its_row(place: tuple[str, str]) -> None:
    row = f"| {DESCRIPTIONS[place].replace('|', chr(92) + '|')} |"
    assert row in REFERENCE.read_text()
