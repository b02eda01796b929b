"""The pages of the documentation as things that can be tried: files to write, commands to run.

In a page, a fence opened with ```` ```yaml file=PATH ```` is a file below HOME, and one opened with
```` ```console ```` holds commands after `$ ` (continued after `> `) with what they print. There,
`...` stands for anything in a line, and alone for any lines. White space counts once: tables are
as wide as the paths in them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from persons import DESKTOP, controlled, typed

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

# The home that pages are written for; the throw-away one takes its place.
WRITTEN_HOME: Final = "/home/me"

# Commands that take an answer only from a person at a terminal.
AT_A_TERMINAL: Final = ("mcp-jail allow", "mcp-jail deny")

# Seconds one command may take.
PATIENCE: Final = 60


class Fence(NamedTuple):
    """A fenced block: its language and options, its text, the line it begins at."""

    info: str
    text: str
    line: int


class File(NamedTuple):
    """A file a page tells to write, below HOME."""

    path: str
    text: str


class Step(NamedTuple):
    """A command of a page, what it is said to print, and the line it stands in."""

    command: str
    output: str
    line: int


def fences(text: str) -> Iterator[Fence]:
    """The fenced blocks of a page in their order."""
    opened: tuple[str, int] | None = None
    held: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if opened is None:
            if line.startswith("```"):
                opened, held = (line.removeprefix("```").strip(), number), []
        elif line == "```":
            yield Fence(opened[0], "\n".join(held) + "\n", opened[1])
            opened = None
        else:
            held.append(line)
    assert opened is None, f"a fence opened in line {opened} is never closed"


def steps(text: str) -> Iterator[File | Step]:
    """What a page tells its reader to do, in order."""
    for fence in fences(text):
        named = re.search(r"\bfile=(\S+)", fence.info)
        if named is not None:
            yield File(named[1], fence.text)
        elif fence.info == "console":
            yield from _commands(fence)


def _commands(fence: Fence) -> Iterator[Step]:
    command, at = "", 0
    output: list[str] = []
    for number, line in enumerate(fence.text.splitlines(), fence.line + 1):
        if line.startswith("$ "):
            if command:
                yield Step(command, "\n".join(output), at)
            command, output, at = line.removeprefix("$ "), [], number
        elif line.startswith("> ") and not output:
            command += "\n" + line.removeprefix("> ")
        else:
            output.append(line)
    assert command, f"line {fence.line}: a console block without a command"
    yield Step(command, "\n".join(output), at)


class Reader:
    """Somebody with a new home who does what a page says, and remembers the last exit code."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.code = 0
        self._beside: list[subprocess.Popen[bytes]] = []
        home.mkdir(mode=0o700)
        self.environ = {
            "HOME": str(home),
            "PATH": f"{home}/.local/bin:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "USER": "me",
            "COLUMNS": "240",
        }

    def install(self, tree: Path, package: str) -> None:
        """What `npm install --global` leaves below ~/.local, out of a tree that is here already."""
        modules = self.home / ".local" / "lib" / "node_modules"
        programs = self.home / ".local" / "bin"
        programs.mkdir(parents=True)
        shutil.copytree(tree / package, modules / package)
        for needed in _needs(tree, package) - {package}:
            shutil.copytree(tree / needed, modules / package / "node_modules" / needed)
        for name, place in _manifest(tree, package)["bin"].items():
            (programs / name).symlink_to(Path("..", "lib", "node_modules", package, place))

    def write(self, file: File) -> None:
        """Write a file of a page, in a directory the page has made before."""
        path = self.home / file.path
        path.write_text(self._here(file.text))
        path.chmod(0o600)

    def run(self, step: Step) -> str:
        """Run a command as a shell would after the ones before; what it printed.

        An answer to an ask is typed into a terminal; what ends with `&` goes on beside the page.
        """
        if step.command.endswith(" &"):
            words = [*DESKTOP, "bash", "-c", self._here(step.command).removesuffix("&")]
            self._beside.append(
                subprocess.Popen(words, cwd=self.home, env=self.environ, start_new_session=True)
            )
            return ""
        if step.command.startswith(AT_A_TERMINAL):
            words = typed(self._here(step.command))
            with controlled(words, self.environ | {"TERM": "dumb"}, self.home) as screen:
                self.code = screen.end()
            return screen.shown.replace(str(self.home), WRITTEN_HOME)
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.code})\n{self._here(step.command)}"],
            cwd=self.home,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        self.code = done.returncode
        return done.stdout.replace(str(self.home), WRITTEN_HOME)

    def close(self) -> None:
        """End what still goes on beside the page."""
        for process in self._beside:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _here(self, text: str) -> str:
        return text.replace(WRITTEN_HOME, str(self.home))


def fits(output: str, printed: str) -> bool:
    """Whether a command printed what a page says."""
    lines = [_squeezed(line) for line in output.splitlines()]
    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else _loose(line) + "\n" for line in lines if line
    )
    given = "".join(f"{line}\n" for line in map(_squeezed, printed.splitlines()) if line)
    return re.fullmatch(pattern, given) is not None


def _needs(tree: Path, package: str) -> set[str]:
    """A package with all that it needs, as far as the tree has them side by side."""
    found: set[str] = set()
    waiting = [package]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _manifest(tree, name).get("dependencies", {})
    return found


def _manifest(tree: Path, package: str) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((tree / package / "package.json").read_text())
    return manifest


def _loose(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split("..."))


def _squeezed(line: str) -> str:
    return " ".join(line.split())
