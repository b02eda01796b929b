"""Where a command is looked for: the client's PATH, then what the user's own terminal would have.

Clients started from a desktop have a short PATH, and the command of an entry is often one that only
a login finds. First the places where tools are installed are read; only then the login shell is
asked, which takes as long as a new terminal. Shell, home and name come from the account database
and nothing of the client's environment reaches the shell: an entry may not choose what runs outside
the jail. Where HOME is another than the account's, no shell is asked.
"""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

# Below a home, where tools are put for one user; `nvm` has one directory for each version.
OF_A_HOME: Final = (
    ".local/bin", "bin", ".volta/bin", ".asdf/shims", ".local/share/mise/shims", ".pyenv/shims",
    ".rbenv/shims", ".nodenv/shims", ".local/share/fnm/aliases/default/bin",
    ".fnm/aliases/default/bin", ".bun/bin", ".deno/bin", ".cargo/bin", "go/bin",
    ".npm-global/bin", ".local/share/pnpm", ".yarn/bin", ".nix-profile/bin",
    ".linuxbrew/bin", ".dotnet/tools", ".local/share/uv/bin",
)  # fmt: skip
OF_THE_MACHINE: Final = (
    "/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/snap/bin",
    "/nix/var/nix/profiles/default/bin", "/run/current-system/sw/bin",
)  # fmt: skip

# Seconds until a login shell is given up; a slow one needs two, clients wait five to thirty.
SHELL_PATIENCE: Final = 4.0
# Bytes of what a login shell prints that are read.
SHELL_LIMIT: Final = 1 << 20
# Links from one alias of nvm to the next.
ALIASES_LIMIT: Final = 5

_MARK: Final = "mcp-jail-asks-for-the-environment"
_NO_SHELLS: Final = frozenset({"nologin", "false", "true", "sync", "halt", "shutdown"})


class Account(NamedTuple):
    """A user as the account database has it."""

    name: str
    home: str
    shell: str


def this_account() -> Account | None:
    """The user's own account; None for one that the database does not know."""
    import pwd  # noqa: PLC0415  # here, so that the module loads where there is none (Windows)

    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_dir, entry.pw_shell)


def search_path(name: str, path: str, home: str, account: Account | None) -> str:
    """The PATH to look a command up in: longer than the client's only where that lacks it."""
    if "/" in name or has_program(path, name):
        return path
    usual = _joined(path, *usual_places(home))
    if has_program(usual, name):
        return usual
    if account is None or os.path.normpath(account.home) != home:
        return usual
    return _joined(usual, login_path(account))


def _joined(*paths: str) -> str:
    """One PATH of several; each directory where it stands first."""
    return ":".join(dict.fromkeys(d for path in paths for d in path.split(":") if d))


def has_program(path: str, name: str) -> bool:
    """Whether an absolute directory of a PATH has a program of this name."""
    places = (os.path.join(d, name) for d in path.split(":") if d.startswith("/"))
    return any(os.path.isfile(place) and os.access(place, os.X_OK) for place in places)


def usual_places(home: str) -> Iterator[str]:
    """The directories with programs of one user and of the machine, those that are there."""
    places = (*(os.path.join(home, name) for name in OF_A_HOME), *OF_THE_MACHINE)
    yield from (place for place in places if os.path.isdir(place))
    node = _of_nvm(os.path.join(home, ".nvm"))
    if node is not None:
        yield node


def login_path(account: Account) -> str:
    """PATH as a new terminal of this user has it; empty where its shell does not tell."""
    shell = account.shell or "/bin/sh"
    if os.path.basename(shell) in _NO_SHELLS or not os.access(shell, os.X_OK):
        return ""
    said = _says(
        [shell, "-l", "-i", "-c", f"echo {_MARK}; /usr/bin/env -0; echo {_MARK}"],
        {
            "HOME": account.home,
            "USER": account.name,
            "LOGNAME": account.name,
            "SHELL": shell,
            "PATH": os.defpath,
            "TERM": "dumb",
        },
    )
    _, _, after = said.partition(f"{_MARK}\n".encode())
    environment = after.rpartition(_MARK.encode())[0]
    for variable in environment.split(b"\0"):
        name, _, value = variable.partition(b"=")
        if name == b"PATH":
            return os.fsdecode(value)
    return ""


def _of_nvm(folder: str) -> str | None:
    """Where nvm's default version of Node.js has its programs; the newest where it names none."""
    versions = os.path.join(folder, "versions", "node")
    try:
        installed = sorted(os.listdir(versions), key=_numbers)
    except OSError:
        return None
    wanted = "default"
    for _ in range(ALIASES_LIMIT):
        alias = _first_word(os.path.join(folder, "alias", wanted))
        if not alias:
            break
        wanted = alias
    prefix = "v" + wanted.removeprefix("v")
    fitting = [v for v in installed if v == prefix or v.startswith(f"{prefix}.")] or installed
    return os.path.join(versions, fitting[-1], "bin") if fitting else None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _first_word(path: str) -> str:
    if ".." in path.split("/") or not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "".join(file.read(256).split()[:1])
    except OSError:
        return ""


def _says(command: list[str], environ: dict[str, str]) -> bytes:
    """What a command prints until it ends or is given up; it has no terminal to take over."""
    reading, writing = os.pipe()
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    actions = [
        (os.POSIX_SPAWN_DUP2, null, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_DUP2, null, 2),
    ]
    try:
        pid = os.posix_spawn(command[0], command, environ, file_actions=actions, setsid=True)
    except OSError:
        os.close(reading)
        return b""
    finally:
        os.close(writing)
        os.close(null)
    try:
        return _read(reading, time.monotonic() + SHELL_PATIENCE)
    finally:
        os.close(reading)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _read(descriptor: int, deadline: float) -> bytes:
    """What comes before the second mark, the end or the deadline.

    A program that the user's settings start in the background may keep the pipe open.
    """
    said = b""
    while said.count(_MARK.encode()) < _BOTH and len(said) < SHELL_LIMIT:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            break
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            break
        said += piece
    return said


_BOTH: Final = 2
