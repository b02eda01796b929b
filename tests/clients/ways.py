"""The ways from a client to a server: straight, or with mcp-jail in between."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, Protocol

TESTS: Final = Path(__file__).resolve().parent.parent


class Way(Protocol):
    """Gives the command a client starts instead of the server's own."""

    def command(self, name: str, server: list[str], folder: Path) -> list[str]:
        """The command for a server that may read and write `folder`, under a name of its own."""
        ...

    @property
    def environment(self) -> dict[str, str]:
        """Variables that the client's entry sets; the SDK passes little else."""
        ...


class Direct:
    """The server's own command: what a client expects without us."""

    def command(self, name: str, server: list[str], folder: Path) -> list[str]:
        return server

    @property
    def environment(self) -> dict[str, str]:
        return {}


class Jailed:
    """mcp-jail in front, with a policy that allows all that the server is for."""

    POLICY = """\
name: {name}
filesystem:
  read_only: [{servers}]
  read_write: [{folder}]
tools: {{default: allow}}
resources: {{default: allow}}
lock: {{first: trust}}
sampling: allow
elicitation: allow
text: "off"
"""

    def __init__(self, home: Path) -> None:
        self.home = home

    def command(self, name: str, server: list[str], folder: Path) -> list[str]:
        policies = self.home / "policies"
        policies.mkdir(mode=0o700)
        policy = policies / f"{name}.yaml"
        policy.touch(mode=0o600)
        policy.write_text(self.POLICY.format(name=name, servers=TESTS, folder=folder))
        mcp_jail = Path(sys.executable).with_name("mcp-jail")
        return [str(mcp_jail), "run", name, "--", *server]

    @property
    def environment(self) -> dict[str, str]:
        return {"MCP_JAIL_HOME": os.fspath(self.home)}
