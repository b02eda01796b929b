"""The real servers of other people: the command that starts each, and a policy to start with.

A client gets `mcp-jail run NAME -- COMMAND` for them, in a throw-away home.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from driver import MCP_JAIL, Home

# What the policy of a server must share and set for it to work at all.
NEEDS: Final = {
    "everything": "",
    "fetch": "",
    "filesystem": "filesystem: {read_only: [~/projects], read_write: [~/projects/scratch]}\n",
    "git": "filesystem: {read_write: [~/repo]}\n",
    "memory": """\
filesystem: {read_write: [~/graph]}
env: {set: {MEMORY_FILE_PATH: HOME/graph/memory.jsonl}}
""",
    "sequential-thinking": "",
    "time": "",
}
# A directory of its own that it needs in its home.
FOLDERS: Final = {"git": "repo", "memory": "graph"}
EVERYTHING_ALLOWED: Final = "tools: {default: allow}\nresources: {default: allow}\n"

# Servers made of an SDK that speaks the protocol of 2026-07-28 too.
OF_BOTH_ERAS: Final = frozenset({"fetch", "git", "time"})


class Peers(NamedTuple):
    """Where the servers are installed, and the home they are jailed in."""

    home: Home
    npm: Path
    pypi: Path

    def server(self, name: str) -> list[str]:
        """The server's own command."""
        if name in OF_BOTH_ERAS:
            return [str(self.pypi / f"mcp-server-{name}")]
        script = self.npm / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
        # It refuses what lies outside of the directory it is given. It is given the whole home, so
        # that what is refused inside is refused by us.
        directories = [str(self.home.path)] if name == "filesystem" else []
        return ["node", str(script), *directories]

    def jailed(
        self,
        name: str,
        policy: str = EVERYTHING_ALLOWED,
        *,
        needs: str | None = None,
        options: Iterable[str] = (),
    ) -> list[str]:
        """What a client starts instead: writes a policy of what the server needs and this text."""
        text = (NEEDS[name] if needs is None else needs) + policy
        if name in FOLDERS:
            (self.home.path / FOLDERS[name]).mkdir(exist_ok=True)
        self.home.write_policy(text.replace("HOME", str(self.home.path)), name)
        return [str(MCP_JAIL), "run", name, "--", *self.server(name), *options]
