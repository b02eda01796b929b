"""What the documentation names is there: files of the code, pages, headings, commands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from docs.pages import PAGES, ROOT
from mcp_jail.cli.commands import COMMANDS

SRC: Final = ROOT / "src" / "mcp_jail"
ALL: Final = (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")

LINK: Final = re.compile(r"\]\((?!https?:)(?P<path>[^)#]*)(?:#(?P<heading>[^)]+))?\)")
MODULE: Final = re.compile(r"`((?:[a-z_]+/)*[a-z_]+\.py)`")
COMMAND: Final = re.compile(r"`mcp-jail ([a-z]+)")


def relative(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def headings(page: Path) -> set[str]:
    """The anchors that headings of a page have, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in found}


@pytest.mark.parametrize("page", ALL, ids=relative)
def test_every_link_leads_somewhere(page: Path) -> None:
    for found in LINK.finditer(page.read_text()):
        target = (page.parent / found["path"]).resolve() if found["path"] else page
        assert target.exists(), found[0]
        if found["heading"]:
            assert found["heading"] in headings(target), found[0]


@pytest.mark.parametrize("page", ALL, ids=relative)
def test_every_module_that_is_named_exists(page: Path) -> None:
    ours = {path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py")}
    short = {name.rpartition("/")[2] for name in ours}
    named = set(MODULE.findall(page.read_text())) - {"conftest.py"}
    tests = {name for name in named if (ROOT / name).exists()}
    assert named - ours - short - tests - {"ask.py"} == set()


@pytest.mark.parametrize("page", ALL, ids=relative)
def test_every_command_that_is_named_exists(page: Path) -> None:
    assert set(COMMAND.findall(page.read_text())) <= {*COMMANDS, "COMMAND"}


def test_every_module_of_a_layer_is_below_a_layer_that_is_told() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    layers = {path.parent.name for path in SRC.glob("*/__init__.py")}
    assert [layer for layer in layers if f"`{layer}/`" not in text] == []
