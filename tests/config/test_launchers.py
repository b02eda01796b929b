"""Commands that need the network at each start."""

from __future__ import annotations

import pytest

from mcp_jail.config.launchers import look_up_at_start


@pytest.mark.parametrize(
    ("command", "name", "cure"),
    [
        ("npx -y @scope/server ~/projects", "npx", "mcp-jail install fs"),
        ("/usr/bin/npx server", "npx", "mcp-jail install fs"),
        ("env npx server", "npx", "mcp-jail install fs"),
        ("/usr/bin/env -i A=1 npx server", "npx", "mcp-jail install fs"),
        ("npm exec server", "npm exec", "mcp-jail install fs"),
        ("uvx mcp-server-git", "uvx", "mcp-jail install fs"),
        ("uv tool run server", "uv tool run", "mcp-jail install fs"),
        ("pipx run server", "pipx run", "pipx install"),
        ("bunx server", "bunx", "npm install"),
        ("pnpm dlx server", "pnpm dlx", "npm install"),
        ("pnpm --silent dlx server", "pnpm dlx", "npm install"),
        ("yarn dlx server", "yarn dlx", "npm install"),
        ("docker run -i --rm mcp/server", "docker run", "install the server itself"),
        ("sudo docker run -i mcp/server", "docker run", "install the server itself"),
        ("sudo -u me /usr/bin/podman run mcp/server", "podman run", "install the server itself"),
        ("timeout 600 docker container run x", "docker run", "install the server itself"),
    ],
)
def test_a_command_that_looks_its_package_up_is_told(command: str, name: str, cure: str) -> None:
    found = look_up_at_start(tuple(command.split()), "fs")
    assert found is not None
    assert found.message.startswith(f"'{name}' ")
    assert cure in found.hint


@pytest.mark.parametrize(
    "line", ["docker run -i x", "cd /srv && exec docker run x", "A=1 /usr/bin/docker run x"]
)
def test_a_container_that_a_shells_line_starts_is_told(line: str) -> None:
    found = look_up_at_start(("bash", "-lc", line), "fs")
    assert found is not None
    assert found.message.startswith("'docker run' ")


@pytest.mark.parametrize(
    "command",
    [("bash", "run.sh", "docker run"), ("bash", "-c", "node docker.js run"), ("sudo", "x")],
)
def test_what_only_names_one_is_not_told(command: tuple[str, ...]) -> None:
    assert look_up_at_start(command, "fs") is None


def test_the_cure_has_the_command_where_the_policy_does_not() -> None:
    found = look_up_at_start(("npx", "-y", "server"), "fs", is_named=False)
    assert found is not None
    assert "mcp-jail install fs -- COMMAND... fetches it once" in found.hint


@pytest.mark.parametrize(
    ("command", "registry"),
    [
        ("npx -y https://example.com/x.tgz", "npm"),
        ("npx -y owner/repository", "npm"),
        ("npx -y z@npm:evil", "npm"),
        ("npx -y ./server", "npm"),
        ("npx -p git+ssh://git@example.com/x.git server", "npm"),
        ("npm exec @scope/name/more", "npm"),
        ("uvx --from git+https://example.com/x/y z", "pypi"),
        ("uv tool run --from ~/src/server server", "pypi"),
    ],
)
def test_what_no_registry_has_is_told_with_what_to_write(command: str, registry: str) -> None:
    found = look_up_at_start(tuple(command.split()), "fs")
    assert found is not None
    assert "no package of a registry" in found.message
    assert f"package: {{{registry}: NAME, unpinned: true}}" in found.hint
    assert "mcp-jail install" not in found.hint


@pytest.mark.parametrize(
    "command",
    [
        "mcp-server-git npx",
        "node npx.js",
        "npx --no-install server",
        "uv run s",
        "docker ps",
        "env",
    ],
)
def test_a_command_that_is_here_is_not(command: str) -> None:
    assert look_up_at_start(tuple(command.split()), "fs") is None
