"""Versions in the order that semver and PEP 440 give them."""

from __future__ import annotations

from itertools import combinations

import pytest

from mcp_jail.core.packages import PackageKind, is_version
from mcp_jail.core.versions import is_newer

# As https://semver.org and PEP 440 list them, the oldest first.
IN_ORDER = {
    PackageKind.NPM: (
        *("0.9.10", "1.0.0-0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta"),
        *("1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.2", "1.0.10", "2.1.0"),
        *("2.1.1", "10.0.0", "2026.8.31"),
    ),
    PackageKind.PYPI: (
        *("0.9", "1.dev0", "1.0.dev456", "1.0a1", "1.0a2.dev456", "1.0a12.dev456", "1.0a12"),
        *("1.0b1.dev456", "1.0b2", "1.0b2.post345.dev456", "1.0b2.post345", "1.0rc1.dev456"),
        *("1.0rc1", "1.0", "1.0+abc.5", "1.0+abc.7", "1.0+5", "1.0.post456.dev34", "1.0.post456"),
        *("1.0.15", "1.1.dev1", "1.1", "1.10", "2026.8.31", "1!0.5"),
    ),
}
SAME = (
    (PackageKind.NPM, "1.0.0+one", "1.0.0+two"),
    (PackageKind.PYPI, "1.0", "1.0.0"),
    (PackageKind.PYPI, "1", "1.0"),
)


@pytest.mark.parametrize("kind", PackageKind)
def test_later_versions_are_newer_and_no_earlier_one_is(kind: PackageKind) -> None:
    for older, newer in combinations(IN_ORDER[kind], 2):
        assert is_version(kind, older)
        assert is_newer(kind, newer, older), (newer, older)
        assert not is_newer(kind, older, newer), (older, newer)


@pytest.mark.parametrize(("kind", "one", "other"), SAME)
def test_what_is_spelled_in_two_ways_is_not_newer(kind: PackageKind, one: str, other: str) -> None:
    assert not is_newer(kind, one, other)
    assert not is_newer(kind, other, one)
