"""What a command needs to run: its link chain, its interpreter, its installation, its project.

All by reading; nothing of the host is run to find out. Each share is as narrow as the layouts of
nvm, fnm, pyenv, uv, mise, volta, asdf, conda, Homebrew and Nix allow: an installation with its own
`lib`, a `node_modules` tree, a project, else the one file. Never a home or what holds one.
"""

from __future__ import annotations

import os
import re
from typing import Final

from mcp_jail.core.spec import Access, Share, Value
from mcp_jail.errors import UsageError
from mcp_jail.sandbox.protected import lies_in, too_much
from mcp_jail.sandbox.shims import behind_shim
from mcp_jail.sandbox.system import DIRECTORIES, STORES
from mcp_jail.sandbox.walk import Kind, see

PROGRAMS_LIMIT: Final = 32  # programs in one chain of links, shebangs and base interpreters
SHALLOWEST: Final = 2  # slashes in the shortest path that is shared unnamed: /opt/node, not /opt
FIRST_LINES: Final = 1024  # bytes read of a script; the kernel reads 256 for a shebang

PREFIX_SIGNS: Final = ("lib", "lib64", "libexec", "share", "pyvenv.cfg", "conda-meta")
# Below a home: they have a bin/ but hold much else.
BROAD: Final = (
    "", ".local", ".local/share", ".cargo", ".config", ".cache", "go", ".go", "Documents",
    "Desktop", "Downloads",
)  # fmt: skip

SCRIPTS: Final = (
    ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".py", ".pyz", ".rb", ".pl", ".php",
    ".jar", ".sh", ".bash", ".lua", ".jl", ".exs", ".wasm", ".dll", ".r", ".R",
)  # fmt: skip
NODE_SCRIPTS: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx")
PROJECT_SIGNS: Final = (
    "package.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "go.mod",
    "Cargo.toml", "deno.json", "deno.jsonc", "composer.json", "Gemfile", "pom.xml",
    "build.gradle", "mix.exs", ".git",
)  # fmt: skip
PROJECT_OPTIONS: Final = ("--directory", "--project", "--prefix", "--cwd", "-C")


class Found(Value, frozen=True):
    """A share a command needs, and the links and files that led to it."""

    share: Share
    through: tuple[str, ...]


class Toolchain(Value, frozen=True):
    """What a command needs: where it starts, what is shared for it, where its helpers lie."""

    executable: str
    programs: tuple[str, ...]  # it and its interpreters, as they are spelled
    found: tuple[Found, ...]
    path: tuple[str, ...]

    @property
    def shares(self) -> tuple[Share, ...]:
        """What is to be shared for it, read only."""
        return tuple(found.share for found in self.found)


def discover(
    command: tuple[str, ...], *, path: str, cwd: str, home: str, account_home: str = ""
) -> Toolchain:
    """Find what a command needs. UsageError when the command is not there or not a program."""
    if not command:
        raise UsageError("no command to start")
    homes = tuple(h for h in (home, account_home) if h and h != "/")
    search = _Search(path, cwd, homes)
    executable = search.program(_find(command[0], path, cwd), f"the command '{command[0]}'")
    for place, what in _projects(command[1:], cwd):
        search.project(place, what)
    return Toolchain(
        executable=executable,
        programs=tuple(search.seen),
        found=tuple(search.found.values()),
        path=tuple(dict.fromkeys(search.directories)),
    )


def _find(name: str, path: str, cwd: str) -> str:
    if "/" in name:
        place = os.path.normpath(os.path.join(cwd, name))
        if not os.path.isfile(place):
            raise UsageError(f"command '{name}' is not there", hint=f"looked at {place}")
        if not os.access(place, os.X_OK):
            raise UsageError(f"command '{name}' is not executable", hint=f"chmod +x {place}")
        return place
    found = _on_path(name, path)
    if found is None:
        raise UsageError(f"command '{name}' not found", hint=f"looked in {path}")
    return found


def _on_path(name: str, path: str) -> str | None:
    """Search PATH as a shell does, but never relative to the working directory."""
    for directory in path.split(os.pathsep):
        place = os.path.join(directory, name)
        if directory.startswith("/") and os.path.isfile(place) and os.access(place, os.X_OK):
            return os.path.normpath(place)
    return None


class _Search:
    """The shares found so far, by path, and the directories PATH needs inside."""

    def __init__(self, path: str, cwd: str, homes: tuple[str, ...]) -> None:
        self.path = path
        self.cwd = cwd
        self.homes = homes
        self.found: dict[str, Found] = {}
        self.directories: list[str] = []
        self.seen: dict[str, None] = {}

    def program(self, place: str, why: str, through: tuple[str, ...] = ()) -> str:
        """Take in a program and all it leads to; where to start it."""
        shim = behind_shim(place, cwd=self.cwd, homes=self.homes)
        if shim is not None:
            through = (*through, place)
            if shim.root is not None:
                self.share(shim.root, f"{shim.manager} keeps its tools there", through)
            if shim.program is None:
                self.directories.append(os.path.dirname(place))
                self.seen[place] = None
                return place
            place = shim.program
        if place in self.seen or len(self.seen) >= PROGRAMS_LIMIT:
            return place
        self.seen[place] = None
        walked = see(place)
        through = (*through, *(link.path for link in walked.links))
        if not any(lies_in(place, tree) for tree in DIRECTORIES):
            self.directories.append(os.path.dirname(place))
        for hop in dict.fromkeys((place, *(link.path for link in walked.links), walked.real)):
            self.installation(hop, why, through)
        self.interpreter(walked.real, through)
        return place

    def installation(self, place: str, why: str, through: tuple[str, ...]) -> None:
        """The narrowest directory that a program at this place can live on."""
        if any(lies_in(place, tree) for tree in DIRECTORIES):
            return
        for store in STORES:
            if lies_in(place, store):
                self.share(store, f"{why} is linked across the store", through)
                return
        whole = _homebrew(place) or _node_modules(place) or self.prefix(place)
        if whole is not None and self.narrow(whole):
            self.share(whole, why, through)
            self.base_python(whole, through)
        elif not os.path.islink(place):
            self.script_or_file(place, why, through)

    def script_or_file(self, place: str, why: str, through: tuple[str, ...]) -> None:
        if os.path.basename(os.path.dirname(place)) in {"bin", "sbin"}:
            self.share(place, why, through)
        else:
            self.project(place, why, through)

    def prefix(self, place: str) -> str | None:
        """P for P/bin/program where P is an installation and not a drawer of many things."""
        directory = os.path.dirname(place)
        prefix = os.path.dirname(directory)
        if os.path.basename(directory) not in {"bin", "sbin"}:
            return None
        signs = (os.path.join(prefix, sign) for sign in PREFIX_SIGNS)
        return prefix if any(os.path.exists(sign) for sign in signs) else None

    def base_python(self, prefix: str, through: tuple[str, ...]) -> None:
        """A virtual environment is nothing without the Python it was made from."""
        config = os.path.join(prefix, "pyvenv.cfg")
        for key in ("home", "executable", "base-executable"):
            value = _configured(config, key)
            if not value or not value.startswith("/"):
                continue
            place = value if key != "home" else os.path.join(value, "python3")
            if os.path.isfile(place):
                self.program(place, f"the Python under '{prefix}'", (*through, config))

    def interpreter(self, place: str, through: tuple[str, ...]) -> None:
        """Whatever runs a script: `#!`, `#!/usr/bin/env X`, and pip's form for long paths."""
        words = _shebang(place)
        if not words:
            return
        through = (*through, place)
        self.named(words[0], place, through)
        if os.path.basename(words[0]) == "env":
            names = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
            if names:
                self.named(names[0], place, through)

    def named(self, name: str, script: str, through: tuple[str, ...]) -> None:
        place: str | None = name if name.startswith("/") else _on_path(name, self.path)
        if place is not None and os.path.isfile(place):
            self.program(place, f"the interpreter of '{script}'", through)

    def project(self, place: str, why: str, through: tuple[str, ...] = ()) -> None:
        """The project around a script, or around nothing: then the script alone."""
        walked = see(place)
        through = (*through, *(link.path for link in walked.links))
        for hop in dict.fromkeys((place, walked.real)):
            modules = _node_modules(hop)
            root = modules or self.project_root(hop)
            self.share(root or hop, why, through)
            if modules is None and (root is None or hop.endswith(NODE_SCRIPTS)):
                self.hoisted(os.path.dirname(root or hop), why, through)

    def project_root(self, place: str) -> str | None:
        directory = place if os.path.isdir(place) else os.path.dirname(place)
        while self.narrow(directory):
            if any(os.path.lexists(os.path.join(directory, sign)) for sign in PROJECT_SIGNS):
                return directory
            directory = os.path.dirname(directory)
        own = place if os.path.isdir(place) else os.path.dirname(place)
        return own if self.narrow(own) and _within_home(own, self.homes) else None

    def hoisted(self, directory: str, why: str, through: tuple[str, ...]) -> None:
        """Node looks for modules in every directory above (workspaces keep them at the top)."""
        while directory != "/":
            modules = os.path.join(directory, "node_modules")
            if os.path.isdir(modules):
                self.share(modules, f"modules for {why}", through)
            directory = os.path.dirname(directory)

    def narrow(self, directory: str) -> bool:
        """Whether a directory is small enough to be shared without being named."""
        real = os.path.realpath(directory)
        drawers = {os.path.normpath(os.path.join(h, name)) for h in self.homes for name in BROAD}
        return not any(
            self.holds_a_home(place) or place.count("/") < SHALLOWEST or place in drawers
            for place in (directory, real)
        )

    def holds_a_home(self, place: str) -> bool:
        """Whether a directory is, or holds, what is never shared as a whole."""
        return too_much(place) is not None or any(lies_in(home, place) for home in self.homes)

    def share(self, place: str, why: str, through: tuple[str, ...]) -> None:
        seen = see(place)
        never = seen.kind is Kind.DIRECTORY and any(map(self.holds_a_home, (place, seen.real)))
        if place not in self.found and seen.kind in {Kind.DIRECTORY, Kind.FILE} and not never:
            share = Share(path=place, access=Access.READ_ONLY, why=why)
            self.found[place] = Found(share=share, through=tuple(dict.fromkeys(through)))


def _within_home(place: str, homes: tuple[str, ...]) -> bool:
    """A directory without any sign of a project counts as one only where a user keeps files."""
    return any(lies_in(place, home) and place != home for home in homes)


def _homebrew(place: str) -> str | None:
    found = re.match(r"(.*/(?:\.linuxbrew|homebrew|linuxbrew/\.linuxbrew))/", place)
    return found[1] if found and os.path.isdir(os.path.join(found[1], "Cellar")) else None


def _node_modules(place: str) -> str | None:
    """The topmost `node_modules` a file lies in."""
    before, found, _ = place.partition("/node_modules/")
    return f"{before}/node_modules" if found else None


def _configured(config: str, key: str) -> str | None:
    try:
        with open(config, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                name, _, value = line.partition("=")
                if name.strip().lower() == key:
                    return value.strip()
    except OSError:
        return None
    return None


def _shebang(place: str) -> list[str]:
    try:
        with open(place, "rb") as file:
            head = file.read(FIRST_LINES)
    except OSError:
        return []
    if not head.startswith(b"#!"):
        return []
    lines = head.decode("utf-8", "surrogateescape").split("\n")
    long_form = (
        re.match(r"'''exec' [\"']?([^\"']+?)[\"']? \"\$0\"", lines[1]) if lines[1:] else None
    )
    return [long_form[1]] if long_form else lines[0][2:].split()


def _projects(arguments: tuple[str, ...], cwd: str) -> list[tuple[str, str]]:
    """Scripts and project directories that arguments name. Data directories are not among them."""
    found: list[tuple[str, str]] = []
    expected = False
    base = cwd
    for argument in arguments:
        option, given, value = argument.partition("=")
        names_project = expected or (given and option in PROJECT_OPTIONS)
        expected = argument in PROJECT_OPTIONS
        text = value if given and option.startswith("-") else argument
        place = os.path.normpath(os.path.join(base, text))
        if names_project and os.path.isdir(place):
            base = place
            found.append((place, f"the project '{text}'"))
        elif not text.startswith("-") and text.endswith(SCRIPTS) and os.path.isfile(place):
            found.append((place, f"the script '{text}'"))
    return found
