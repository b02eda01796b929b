"""A home with a policy whose server lists what a test writes, and the commands that look at it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from driver import MCP_JAIL, Home, command, started
from mcp_jail.core.approved.lock import Lock
from mcp_jail.store.locks import LockFiles, lock_files
from mcp_jail.store.places import find_places
from pins import tool

POLICY = """\
filesystem: {read_only: [~/projects]}
tools: {default: allow}
lock: {first: review}
"""


class Listing:
    """The server and its home."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        self.home.write_policy(POLICY)
        self.file = self.home.projects / "catalogue.json"
        self.command = command("catalogue.py", str(self.file))
        self.says(tools=[tool("echo", "Give it back."), tool("send", "Send it.")])

    @property
    def files(self) -> LockFiles:
        """The lock and what waits."""
        return lock_files(find_places(self.home.environ()), "fs")

    def says(self, **listed: Any) -> None:
        """What the server says from its next start on."""
        self.file.write_text(json.dumps(listed))

    def runs(self, *, era: str = "legacy") -> None:
        """A client that lists all there is and leaves."""
        with started(self.home, "run", "fs", *self.command, era=era) as client:
            client.open()
            for method in ("tools/list", "prompts/list", "resources/list"):
                client.request(method)
            client.request("resources/templates/list")
            client.close()

    def greets(self, *, era: str = "legacy") -> None:
        """A client that opens the server, sees that it lives, and leaves."""
        with started(self.home, "run", "fs", *self.command, era=era) as client:
            client.open()
            client.request("ping")
            client.close()

    def done(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """`mcp-jail WORDS`, and what it printed."""
        return subprocess.run(
            [MCP_JAIL, *words],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.home.environ(COLUMNS="80"),
            cwd=self.home.path,
            check=False,
        )

    def digest(self, *words: str) -> str:
        """The digest that `diff` shows."""
        said = self.done("diff", "fs", *words)
        found = [line for line in said.stdout.splitlines() if line.startswith("What is shown: ")]
        assert found, said.stdout + said.stderr
        return found[0].removeprefix("What is shown: ")

    def approves(self, *words: str) -> Lock:
        """Approve all that differs, as a script does that somebody read for."""
        digest = self.digest(*words)
        said = self.done("approve", "fs", *words, "--yes", "--seen", digest)
        assert said.returncode == 0, said.stderr
        lock = self.files.read()
        assert lock is not None
        return lock
