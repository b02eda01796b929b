"""Which server a command starts."""

from __future__ import annotations

import pytest

from mcp_jail.config.profile import profiles
from mcp_jail.config.recognised import named_by, profile_of


@pytest.mark.parametrize(
    "command",
    [
        "npx -y @modelcontextprotocol/server-filesystem ~/p",
        "npx @modelcontextprotocol/server-filesystem@2026.8.31 ~/p",
        "npx --yes --package=@modelcontextprotocol/server-filesystem mcp-server-filesystem ~/p",
        "npx -p @modelcontextprotocol/server-filesystem@latest mcp-server-filesystem ~/p",
        "npm exec -y @modelcontextprotocol/server-filesystem ~/p",
        "pnpm dlx @modelcontextprotocol/server-filesystem ~/p",
        "bunx @modelcontextprotocol/server-filesystem ~/p",
        "/usr/bin/env A=b npx -y @modelcontextprotocol/server-filesystem ~/p",
        "mcp-server-filesystem ~/p",
        "/opt/x/bin/mcp-server-filesystem ~/p",
        "node /x/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js ~/p",
        "node --no-warnings /x/node_modules/@modelcontextprotocol/server-filesystem/i.js ~/p",
        "node /x/node_modules/a/node_modules/@modelcontextprotocol/server-filesystem/i.js ~/p",
        "uv run mcp-server-filesystem ~/p",
        "python3 /venv/bin/mcp-server-filesystem ~/p",
    ],
)
def test_a_command_of_the_filesystem_server_is_recognised(command: str) -> None:
    words = tuple(command.split())
    profile = profile_of(words)
    assert profile is not None
    assert profile.name == "filesystem"
    assert named_by(words).arguments[-1:] == ("~/p",)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "env",
        "npx",
        "npx -y other-server mcp-server-filesystem",
        "npx -y other @modelcontextprotocol/server-filesystem",
        "npx -y --package other @modelcontextprotocol/server-filesystem",
        "npx -y @evil/server-filesystem",
        "npx -y @modelcontextprotocol/server-filesystem2",
        "npx -y @modelcontextprotocol",
        "uvx @modelcontextprotocol/server-filesystem",
        "other mcp-server-filesystem",
        "bash -c mcp-server-filesystem",
        "python3 -c mcp-server-filesystem x",
        "node -e x /x/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
        "node /x/@modelcontextprotocol/server-filesystem/dist/index.js",
        "node /x/node_modules/@modelcontextprotocol/server-filesystem/node_modules/evil/i.js",
    ],
)
def test_another_command_is_not(command: str) -> None:
    assert profile_of(tuple(command.split())) is None


@pytest.mark.parametrize(
    ("command", "pypi"),
    [
        ("uvx mcp-server-git --repository .", "mcp-server-git"),
        ("uvx mcp_server_git@latest", "mcp-server-git"),
        ("uvx --from mcp-server-git==1.2 mcp-server-git", "mcp-server-git"),
        ("uvx --python 3.12 --with x MCP-Server-Git[extra]", "mcp-server-git"),
        ("uvx -p 3.12 --index https://x/ mcp-server-git", "mcp-server-git"),
        ("uv tool run mcp-server-git", "mcp-server-git"),
        ("pipx run --spec mcp-server-git==1 x", "mcp-server-git"),
    ],
)
def test_a_package_of_pypi_is_named_as_pypi_compares_names(command: str, pypi: str) -> None:
    assert named_by(tuple(command.split())).pypi == pypi


def test_a_module_is_named_by_python() -> None:
    named = named_by(("python3.12", "-m", "mcp_server_git", "-r", "x"))
    assert named.module == "mcp_server_git"
    assert named.arguments == ("-r", "x")


def test_no_two_profiles_fit_one_command() -> None:
    marks = [
        mark
        for each in profiles()
        for mark in (
            each.marks.npm,
            each.marks.pypi,
            *each.marks.programs,
            *(f"-m {module}" for module in each.marks.modules),
        )
        if mark is not None and not mark.startswith("mcp-server-")
    ]
    assert len(set(marks)) == len(marks)
    programs = [program for each in profiles() for program in each.marks.programs]
    assert len(set(programs)) == len(programs)
