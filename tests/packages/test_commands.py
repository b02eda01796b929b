"""What `npx` and `uvx` commands start, and which of them cannot be pinned."""

from __future__ import annotations

import pytest

from mcp_jail.core.packages import PackageKind
from mcp_jail.packages.commands import Asked, CannotPinError, is_launcher, read_command

NPM, PYPI = PackageKind.NPM, PackageKind.PYPI


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("npx -y x a -b", Asked(kind=NPM, name="x", arguments=("a", "-b"))),
        ("npx x", Asked(kind=NPM, name="x")),
        (
            "/usr/bin/npx --yes @s/x@1.2.3 a",
            Asked(kind=NPM, name="@s/x", spec="1.2.3", arguments=("a",)),
        ),
        ("npx -y x@latest", Asked(kind=NPM, name="x", spec="latest")),
        ("npx -y x@^1.2", Asked(kind=NPM, name="x", spec="^1.2")),
        ("npx -p x bin a", Asked(kind=NPM, name="x", program="bin", arguments=("a",))),
        ("npx --package=x@2.0.0 bin", Asked(kind=NPM, name="x", spec="2.0.0", program="bin")),
        ("npx -y -p x bin -- a", Asked(kind=NPM, name="x", program="bin", arguments=("a",))),
        ("npm exec -y -- x a", Asked(kind=NPM, name="x", arguments=("a",))),
        ("npm x -y x", Asked(kind=NPM, name="x")),
        ("uvx x -a", Asked(kind=PYPI, name="x", arguments=("-a",))),
        ("uvx x@1.0 a", Asked(kind=PYPI, name="x", spec="==1.0", arguments=("a",))),
        ("uvx x@latest", Asked(kind=PYPI, name="x")),
        ("uvx x==1.0", Asked(kind=PYPI, name="x", spec="==1.0")),
        ("uvx --from x bin a", Asked(kind=PYPI, name="x", program="bin", arguments=("a",))),
        (
            "uvx --from x[cli]>=1.0 bin",
            Asked(kind=PYPI, name="x[cli]", spec=">=1.0", program="bin"),
        ),
        ("uvx --python 3.12 x", Asked(kind=PYPI, name="x", python="3.12")),
        ("uv tool run --from=x==2 bin", Asked(kind=PYPI, name="x", spec="==2", program="bin")),
    ],
)
def test_a_command_is_read_as_its_launcher_reads_it(line: str, asked: Asked) -> None:
    assert read_command(tuple(line.split())) == asked


@pytest.mark.parametrize(
    "line",
    [
        "npx -c x",
        "npx --registry=https://evil x",
        "npx --userconfig ./x y",
        "npx -p a -p b bin",
        "npx",
        "npx -y",
        "npx -p",
        "npx -p x",
        "npx -y ./x",
        "npx -y github:a/b",
        "npx -y a/b",
        "npx -y https://evil/x.tgz",
        "npx -y x@npm:y",
        "npx -y x@file:../y",
        "npx -y x@https://evil/x.tgz",
        "npx -y --node-options=--import=x y",
        "uvx --with evil x",
        "uvx --index https://evil x",
        "uvx --default-index=https://evil x",
        "uvx --from git+https://evil/x y",
        "uvx --from ./x y",
        "uvx --config-file x y",
        "uvx ./x",
        "uvx --from",
        "uvx",
        "uvx --directory /x y",
    ],
)
def test_what_brings_more_or_comes_from_elsewhere_cannot_be_pinned(line: str) -> None:
    with pytest.raises(CannotPinError, match="cannot be pinned") as error:
        read_command(tuple(line.split()))
    kind = "npm" if line.startswith("np") else "pypi"
    assert f"package: {{{kind}: NAME, unpinned: true}}" in error.value.hint
    assert is_launcher(line.split())


@pytest.mark.parametrize(
    "line", ["", "node x.js", "npm start", "uv run x", "docker run x", "npxx x"]
)
def test_other_commands_are_none(line: str) -> None:
    assert read_command(tuple(line.split())) is None
    assert not is_launcher(line.split())


def test_a_version_is_one_only_where_it_is_exact() -> None:
    def version(line: str) -> str | None:
        asked = read_command(tuple(line.split()))
        assert asked is not None
        return asked.version

    assert version("npx -y x@1.2.3") == "1.2.3"
    assert version("uvx x@1.0") == "1.0"
    assert version("npx -y x@latest") is None
    assert version("npx -y x@^1.2.3") is None
    assert version("uvx --from x>=1 y") is None
    assert version("uvx x") is None
