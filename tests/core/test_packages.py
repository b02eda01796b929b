"""What pins a package: names, versions, and what is wrong with a policy's key."""

from __future__ import annotations

import pytest

from mcp_jail.core.packages import (
    PackageKind,
    Pinned,
    canonical_name,
    fault_of,
    is_name,
    is_version,
    pinned,
)
from mcp_jail.core.policy import Package, Scripts

NPM, PYPI = PackageKind.NPM, PackageKind.PYPI


@pytest.mark.parametrize(
    ("kind", "name"),
    [(NPM, "a"), (NPM, "@s/a-b"), (NPM, "JSONStream"), (PYPI, "mcp_server.x"), (PYPI, "mcp[cli]")],
)
def test_names_of_registries_are_names(kind: PackageKind, name: str) -> None:
    assert is_name(kind, name)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (NPM, "-y"),
        (NPM, "../a"),
        (NPM, "a/b"),
        (NPM, "@s/../a"),
        (NPM, "@s/.."),
        (NPM, ".."),
        (NPM, "a b"),
        (NPM, "git+https://x"),
        (NPM, "a" * 215),
        (PYPI, "-r"),
        (PYPI, "a/b"),
        (PYPI, "."),
        (PYPI, "a @ https://x"),
        (PYPI, "a[b"),
        (PYPI, ""),
    ],
)
def test_addresses_paths_and_options_are_no_names(kind: PackageKind, name: str) -> None:
    assert not is_name(kind, name)


@pytest.mark.parametrize("version", ["1.2.3", "2026.8.31", "1.0.0-rc.1", "1.0.0+b.1"])
def test_an_npm_version_is_one(version: str) -> None:
    assert is_version(NPM, version)


@pytest.mark.parametrize("version", ["1.0", "2026.10.19", "1!2", "1.0rc1", "1.0.post1", "1.0+l.1"])
def test_a_python_version_is_one(version: str) -> None:
    assert is_version(PYPI, version)


@pytest.mark.parametrize(
    "version",
    [
        "latest",
        "^1.2.3",
        "1.x",
        ">=1",
        "*",
        "",
        "1.2.3 || 2",
        "1.*",
        "1/../..",
        "1.2.3/..",
        "\u0661.2.3",
    ],
)
def test_ranges_tags_and_paths_are_no_version(version: str) -> None:
    assert not is_version(NPM, version)
    assert not is_version(PYPI, version)


def test_spellings_of_one_python_package_have_one_folder() -> None:
    folders = {
        Pinned(kind=PYPI, name=name, version="1").folder
        for name in ("MCP_Server.time", "mcp-server-time", "mcp__server-time")
    }
    assert folders == {"mcp-server-time@1"}
    assert canonical_name(PYPI, "mcp[Cli,ws]") == canonical_name(PYPI, "MCP[ws,cli]")


def test_different_packages_have_different_folders_and_each_is_one_component() -> None:
    packages = [
        Pinned(kind=NPM, name="@s/a", version="1.0.0"),
        Pinned(kind=NPM, name="@s/a", version="1.0.0", scripts=True),
        Pinned(kind=NPM, name="s", version="1.0.0"),
    ]
    folders = [package.folder for package in packages]
    assert folders == ["@s+a@1.0.0", "@s+a@1.0.0+scripts", "s@1.0.0"]


def test_a_policy_pins_what_it_names() -> None:
    assert pinned(Package(npm="a", version="1.0.0", scripts=Scripts.ALLOW)) == Pinned(
        kind=NPM, name="a", version="1.0.0", scripts=True
    )
    assert pinned(Package(npm="a", unpinned=True)) is None
    assert pinned(None) is None


@pytest.mark.parametrize(
    ("package", "said"),
    [
        (Package(), "names no package"),
        (Package(npm="a", pypi="b", version="1.0.0"), "not both"),
        (Package(npm="a"), "names no version"),
        (Package(npm="a", version="^1.0.0"), "not one exact version"),
        (Package(npm="../a", version="1.0.0"), "not the name of a package"),
        (Package(pypi="a", version="1.0", unpinned=True), "lets change"),
    ],
)
def test_what_pins_nothing_is_a_fault(package: Package, said: str) -> None:
    fault = fault_of(package)
    assert fault is not None
    assert said in fault[1]


@pytest.mark.parametrize(
    "package", [Package(npm="a", version="1.0.0"), Package(pypi="a", unpinned=True)]
)
def test_what_says_one_thing_is_no_fault(package: Package) -> None:
    assert fault_of(package) is None
