"""The profiles: each can be read, and says something of one server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from mcp_jail.config.profile import FOLDER, Profile, profiles
from mcp_jail.config.starter_policy import ServerEntry, starter_policy
from mcp_jail.config.starter_wants import Offer, Standing
from mcp_jail.core.rules.globs import is_glob
from mcp_jail.core.rules.hosts import compile_hosts

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "profiles.md"

each = pytest.mark.parametrize("profile", profiles(), ids=lambda profile: profile.name)


def test_each_file_is_a_profile_of_its_own_name() -> None:
    assert [f"{profile.name}.yaml" for profile in profiles()] == sorted(os.listdir(FOLDER))


@each
def test_it_is_recognised_by_something(profile: Profile) -> None:
    marks = profile.marks
    assert marks.npm or marks.pypi
    assert marks.programs


@each
def test_its_tools_are_names_and_each_is_said_once(profile: Profile) -> None:
    tools = (*profile.tools.reading, *profile.tools.acting)
    assert tools
    assert len(set(tools)) == len(tools)
    assert not any(map(is_glob, tools))


@each
def test_its_words_are_sentences(profile: Profile) -> None:
    for sentence in (profile.what, *profile.notes):
        assert sentence.endswith(".")
        assert sentence.isprintable()


@each
def test_its_hosts_can_be_rules(profile: Profile) -> None:
    compile_hosts(profile.hosts)


@each
def test_its_first_policy_can_be_read_wherever_nothing_is(profile: Profile) -> None:
    entry = ServerEntry(profile.name, (profile.marks.programs[0],))
    text = starter_policy(entry, home="/home/me", offers=lambda *_: Offer(Standing.NOTHING))
    assert f"# {profile.name}: " in text


@each
def test_its_page_names_it(profile: Profile) -> None:
    package = f"npm `{profile.marks.npm}`" if profile.marks.npm else f"PyPI `{profile.marks.pypi}`"
    assert f"| `{profile.name}` | {package} | " in PAGE.read_text()
