"""The throw-away ground of one run: a home with bait in it, listeners, a program to spy on.

All of it is made here and removed here; the real home is never named. What a run has done is read
off the ground from outside: `received`, `changed`, `left_behind`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from mcp_jail.demo import server
from mcp_jail.demo.listeners import Listeners
from mcp_jail.sandbox.protected import too_much

SECRETS: Final = ("ssh-key", "cloud-keys", "own-environment", "command-lines", "environments")

# Bytes of a socket's address with its NUL (sockaddr_un, unix(7)), and what stands after the place:
# mkdtemp's eight letters, the socket's own name and the slashes between.
_ADDRESS: Final = 108
_BELOW: Final = len(f"/{server.PLACE}12345678/agent.sock") + 1

# The mark that a project begins here, so that nothing around the server's file is shared with it.
_PROJECT_SIGN: Final = "pyproject.toml"


class Ground:
    """One run's directories, bait and listeners; made by `lay_out`."""

    def __init__(self, place: str, listeners: Listeners) -> None:
        self.place = place
        self.home = os.path.join(place, "home")
        self.project = os.path.join(self.home, "project")
        self.scratch = os.path.join(self.project, "scratch")
        self.listeners = listeners
        self.nonce = secrets.token_hex(4)
        self.secrets = {name: f"{server.MARK}{name}-{self.nonce}" for name in SECRETS}
        self._files = {
            "shell-start": (os.path.join(self.home, ".bashrc"), b"# yours\n"),
            "git-hook": (os.path.join(self.project, ".git/hooks/pre-commit"), None),
            "write-outside": (os.path.join(self.project, "README.md"), b"# Project\n"),
            "delete": (os.path.join(self.scratch, "draft.txt"), b"A draft.\n"),
        }

    @property
    def environ(self) -> dict[str, str]:
        """What a client hands to a server it starts; the token is bait."""
        return {
            "HOME": self.home,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "GITHUB_TOKEN": self.secrets["own-environment"],
            "SSH_AUTH_SOCK": self.listeners.agent,
        }

    @property
    def bait(self) -> str:
        """What the server is told, as JSON: where everything lies that it goes for."""
        ports = {name.lower(): self.listeners.port(name) for name in ("TCP", "UDP", "DNS")}
        told = {"home": self.home, "project": self.project, "agent": self.listeners.agent}
        return msgspec.json.encode({**told, **ports, "nonce": self.nonce}).decode()

    @property
    def server(self) -> str:
        """This run's copy of the server, in a directory with nothing else to see."""
        return os.path.join(self.place, "server", "notes.py")

    def path(self, name: str) -> str:
        """The file that an attempt is after."""
        return self._files[name][0]

    def changed(self) -> frozenset[str]:
        """The attempts whose file is not as it was laid out."""
        return frozenset(
            name for name, (path, content) in self._files.items() if _content(path) != content
        )

    def left_behind(self) -> list[int]:
        """The processes that the server started to outlive it, wherever they run."""
        mark = f"left-behind-{self.nonce}".encode()
        return [pid for pid in _pids() if _last_word(pid) == mark]

    @property
    def errors(self) -> str:
        """Where the error stream of what the client starts goes."""
        return os.path.join(self.place, "stderr")

    def fill(self) -> None:
        """Lay out the files."""
        ssh, aws = (os.path.join(self.home, name) for name in (".ssh", ".aws"))
        for folder in (ssh, aws, os.path.join(self.project, ".git/hooks"), self.scratch):
            os.makedirs(folder, mode=0o700)
        write(os.path.join(ssh, "id_ed25519"), f"{self.secrets['ssh-key']}\n".encode())
        write(os.path.join(aws, "credentials"), f"{self.secrets['cloud-keys']}\n".encode())
        for path, content in self._files.values():
            if content is not None:
                write(path, content)
        os.mkdir(os.path.dirname(self.server), mode=0o700)
        write(os.path.join(os.path.dirname(self.server), _PROJECT_SIGN), b"")
        shutil.copyfile(server.__file__, self.server)

    def end_left_behind(self) -> None:
        """Kill what was left behind; a number given anew in between is not hit (pidfd_open(2))."""
        for pid in self.left_behind():
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            try:
                if pid in self.left_behind():
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            except ProcessLookupError:
                continue
            finally:
                os.close(descriptor)


@contextmanager
def lay_out() -> Iterator[Ground]:
    """A ground for one run; nothing is left of it afterwards."""
    with _directory() as place, Listeners(os.path.join(place, "agent.sock")) as listeners:
        ground = Ground(place, listeners)
        ground.fill()
        try:
            with _another_program(ground):
                yield ground
        finally:
            ground.end_left_behind()


@contextmanager
def _directory() -> Iterator[str]:
    """A new directory where a project may lie and a socket's address has room."""
    folder = os.path.realpath(tempfile.gettempdir())
    too_long = len(os.fsencode(folder)) + _BELOW > _ADDRESS
    if too_long or too_much(os.path.join(folder, server.PLACE)) is not None:
        folder = "/tmp"  # noqa: S108 - mkdtemp makes a directory of ours alone there
    with tempfile.TemporaryDirectory(prefix=server.PLACE, dir=folder) as place:
        yield place


@contextmanager
def _another_program(ground: Ground) -> Iterator[None]:
    """A program of the user's with a password on its command line and one in its environment."""
    password = f"--password={ground.secrets['command-lines']}"
    waiting = subprocess.Popen(  # noqa: S603 - the words are ours
        ["/bin/sh", "-c", "echo ready; read -r line", "backup", password],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"DATABASE_PASSWORD": ground.secrets["environments"]},
    )
    try:
        if waiting.stdout is not None:
            waiting.stdout.readline()  # only now does /proc tell its words (execve(2) has returned)
        yield
    finally:
        waiting.communicate()  # closes its input, so it ends


def write(path: str, content: bytes) -> None:
    """Write a file of the ground, for this user alone."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _last_word(pid: int) -> bytes:
    """The last argument of a process; empty for one that is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().rstrip(b"\0").rpartition(b"\0")[2]
    except OSError:
        return b""
