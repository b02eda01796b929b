"""`mcp-jail run` on a machine with an internet of its own; `machine` says what there is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from driver import MCP_JAIL, PYTHON, SERVERS, Client, Home, running
from net.user import User

HERE: Final = Path(__file__).resolve().parent
SOURCES: Final = (HERE.parent.parent / "src", HERE.parent)


class Machine(NamedTuple):
    """A running machine: a process in its namespaces, and its folder."""

    pid: int
    folder: Path

    @property
    def certificate(self) -> Path:
        """The certificate of all its web servers, and the authority behind it."""
        return self.folder / "cert.pem"

    @property
    def trusting(self) -> dict[str, str]:
        """The variables by which programs are told to trust it."""
        names = (
            *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"),
            *("GIT_SSL_CAINFO", "npm_config_cafile"),
        )
        return dict.fromkeys(names, str(self.certificate))

    def words(self, *arguments: str) -> list[str]:
        """The command that runs mcp-jail there."""
        if os.geteuid() == 0:
            entered = ["nsenter", f"--target={self.pid}", "--mount", "--net"]
            return [*entered, str(MCP_JAIL), *arguments]
        return [sys.executable, str(HERE / "there.py"), str(self.pid), *arguments]

    def log(self, name: str) -> str:
        """One of its logs, empty where nothing was written down."""
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""


class Jailed:
    """A client of a jailed server whose tool runs lines of shell, and what is told of them."""

    def __init__(self, client: Client, home: Home) -> None:
        self.client = client
        self._home = home

    def sh(self, line: str) -> str:
        """What a line prints."""
        return self.result(line)[0]

    def result(self, line: str) -> list[str]:
        """The texts of a call's result: what the line printed, then what mcp-jail says of it."""
        return [item["text"] for item in self.client.call("sh", line=line)["content"]]

    def python(self, code: str) -> str:
        """What some lines of Python print, run by the server's interpreter."""
        return self.sh(f"exec $PYTHON - <<'END'\n{code}\nEND")

    def tried(self) -> list[dict[str, Any]]:
        """The entries of kind net; the run is ended for it, and all is written by then."""
        assert self.client.close() == 0, self.client.stderr.decode()
        return [entry for entry in self._home.audit() if entry["kind"] == "net"]


Start = Callable[..., AbstractContextManager[Jailed]]


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """The machine, one for all tests of a process."""
    folder = tmp_path_factory.mktemp("machine")
    paths = [*map(str, SOURCES), *(path for path in sys.path if "site-packages" in path)]
    process = subprocess.Popen(
        [sys.executable, str(HERE / "machine.py"), str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield Machine(int(process.stdout.readline()), folder)
        process.stdin.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home for one test."""
    return Home(tmp_path)


@pytest.fixture
def jailed(machine: Machine, home: Home) -> Start:
    """Start a server in a jail with a network: `network` is the policy's key in YAML.

    It is the one that runs shell, unless a command is given.
    """

    @contextmanager
    def start(
        network: str,
        *,
        python: str = PYTHON,
        shows: tuple[object, ...] = (),
        env: dict[str, str] | None = None,
        command: tuple[str, ...] = (),
    ) -> Iterator[Jailed]:
        variables = machine.trusting | (env or {})
        lines = [
            "tools: {default: allow}",
            f"network: {network}",
            f"filesystem: {{read_only: {[str(machine.folder), *map(str, shows)]}}}",
            f"env: {{set: {variables}}}",
        ]
        home.write_policy("\n".join(lines))
        server = command or (python, "-I", str(SERVERS / "shell.py"))
        words = machine.words("run", "fs", "--", *server)
        with running(words, home.environ(), home.path) as client:
            client.open()
            yield Jailed(client, home)

    return start


@pytest.fixture
def user(machine: Machine, home: Home, tmp_path: Path) -> User:
    """Somebody there who installs packages from a registry of this test."""
    return User(machine, home, f"npm-{tmp_path.parent.name}-{tmp_path.name}")
