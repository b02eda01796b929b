"""What a command needs to run: its link chain, its interpreter, its installation, its project.

All by reading; nothing of the host is run to find out. Each share is as narrow as the layouts of
nvm, fnm, pyenv, uv, mise, volta, asdf, conda, Homebrew and Nix allow: an installation with its own
`lib`, a `node_modules` tree, a project, else the one file.

The command is the user's; what its files name is the server's. A `#!`, a `pyvenv.cfg` or a link
among these files brings only what is known to be an installation of a tool; anything else is noted
in `unnamed`, and the start is refused unless the policy itself shares it.
"""

from __future__ import annotations

import os
from typing import Final

from mcp_jail.core.spec import Access, Share, Value
from mcp_jail.errors import UsageError
from mcp_jail.sandbox import installations
from mcp_jail.sandbox.installations import homebrew, node_modules, of_the_system
from mcp_jail.sandbox.projects import SHALLOWEST, Breadth
from mcp_jail.sandbox.protected import lies_in
from mcp_jail.sandbox.scripts import SCRIPTS, configured, interpreters, named_by
from mcp_jail.sandbox.shims import Shim, behind_shim
from mcp_jail.sandbox.system import STORES
from mcp_jail.sandbox.walk import Kind, Link, Seen, see

__all__ = ["SCRIPTS", "Found", "Toolchain", "Unnamed", "discover"]

PROGRAMS_LIMIT: Final = 32  # programs in one chain of links, shebangs and base interpreters

PREFIX_SIGNS: Final = ("lib", "lib64", "libexec", "share", "pyvenv.cfg", "conda-meta")
# Below a home: where users keep links to programs, beside the directories of PATH.
LINK_DRAWERS: Final = ("bin", ".local/bin", ".bin")

NODE_SCRIPTS: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx")
ALONE: Final = "alone, for nothing around it is the sign of a project"


class Found(Value, frozen=True):
    """A share a command needs, and the links and files that led to it."""

    share: Share
    through: tuple[str, ...]


class Unnamed(Value, frozen=True):
    """What a file of the server names and no installation that is known holds."""

    path: str  # as the host resolves it
    by: str


class Toolchain(Value, frozen=True):
    """What a command needs: where it starts, what is shared for it, where its helpers lie."""

    executable: str
    programs: tuple[str, ...]  # it and its interpreters, as they are spelled
    found: tuple[Found, ...]
    path: tuple[str, ...]
    unnamed: tuple[Unnamed, ...] = ()
    from_path: tuple[str, ...] = ()  # interpreters that PATH chose, as `#!/usr/bin/env node`

    @property
    def shares(self) -> tuple[Share, ...]:
        """What is to be shared for it, read only."""
        return tuple(found.share for found in self.found)


def discover(
    command: tuple[str, ...],
    *,
    path: str,
    cwd: str,
    home: str,
    account_home: str = "",
    declared_cwd: str | None = None,
) -> Toolchain:
    """Find what a command needs. UsageError when the command is not there or not a program.

    `cwd` is where relative words of the command begin. Settings of version managers are read in
    `declared_cwd` alone: a client may stand in anybody's repository.
    """
    if not command:
        raise UsageError("no command to start")
    homes = tuple(h for h in (home, account_home) if h and h != "/")
    search = _Search(path, declared_cwd, homes)
    executable = search.program(_find(command[0], path, cwd), f"the command '{command[0]}'")
    for place, what in named_by(command[1:], cwd):
        search.project(place, what)
    return Toolchain(
        executable=executable,
        programs=tuple(search.seen),
        found=tuple(search.found.values()),
        path=tuple(dict.fromkeys(search.directories)),
        unnamed=tuple(Unnamed(path=p, by=by) for p, by in search.unnamed.items()),
        from_path=tuple(search.from_path),
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
    """Search PATH as a shell does, but never relative to the working directory.

    `/bin` is `/usr/bin` on most systems; where it stands in a PATH makes no other program.
    """
    for directory in path.split(os.pathsep):
        is_old = directory.rstrip("/") in {"/bin", "/sbin"}
        place = os.path.join(os.path.realpath(directory) if is_old else directory, name)
        if directory.startswith("/") and os.path.isfile(place) and os.access(place, os.X_OK):
            return os.path.normpath(place)
    return None


class _Named(Value, frozen=True):
    """By which of the server's files something is named, and whether PATH was asked for it."""

    by: str
    from_path: bool = False


class _Search:
    """The shares found so far, by path, and the directories PATH needs inside."""

    def __init__(self, path: str, declared_cwd: str | None, homes: tuple[str, ...]) -> None:
        self.path = path
        self.declared_cwd = declared_cwd
        self.homes = homes
        self.found: dict[str, Found] = {}
        self.roots: list[str] = []  # the real directories among them
        self.unnamed: dict[str, str] = {}
        self.directories: list[str] = []
        self.seen: dict[str, None] = {}
        self.from_path: dict[str, None] = {}
        self.managed: list[str] = []  # where version managers of PATH keep their versions
        self.breadth = Breadth(homes)
        drawers = (os.path.join(h, name) for h in homes for name in LINK_DRAWERS)
        self.links_of_the_user = frozenset([*homes, *drawers, *path.split(os.pathsep)])

    def program(
        self, place: str, why: str, through: tuple[str, ...] = (), named: _Named | None = None
    ) -> str:
        """Take in a program and all it leads to; where to start it."""
        of_the_user = named is None or named.from_path
        shim = behind_shim(place, cwd=self.declared_cwd, homes=self.homes) if of_the_user else None
        if shim is not None:
            through = (*through, place)
            self.managed.append(os.path.realpath(shim.root))
            place = self.behind(shim, place)
        if place in self.seen or len(self.seen) >= PROGRAMS_LIMIT:
            return place
        self.seen[place] = None
        walked = see(place)
        through = (*through, *(link.path for link in walked.links))
        if not of_the_system(place):
            self.directories.append(os.path.dirname(place))
        self.installation(place, why, through, named)
        for at, link in enumerate(walked.links):
            led = named or self.led_out(link.path, walked.links[:at])
            self.installation(link.path, why, through, led)
        led = named or self.led_out(walked.real, walked.links)
        self.installation(walked.real, why, through, led)
        self.interpreter(walked.real, through)
        return place

    def behind(self, shim: Shim, place: str) -> str:
        """The program a shim stands for. UsageError where only running the shim would tell."""
        directory, name = os.path.split(place)
        if shim.program is not None:
            return shim.program
        others = (d for d in self.path.split(os.pathsep) if os.path.normpath(d) != directory)
        other = _on_path(name, os.pathsep.join(others)) if shim.passes else None
        if other is not None:
            return other
        raise UsageError(
            f"which '{name}' {shim.manager} would run cannot be told from its own settings",
            hint=f"name the program itself, such as {shim.root}/.../bin/{name}, or choose a "
            f"version for all of your directories with {shim.manager}",
        )

    def installation(
        self, place: str, why: str, through: tuple[str, ...], named: _Named | None
    ) -> None:
        """The narrowest directory that a program at this place can live on."""
        if of_the_system(place):
            return
        for store in STORES:
            if lies_in(place, store):
                self.share(store, f"{why} is linked across the store", through)
                return
        if named is not None:
            self.foreign(place, why, through, named)
            return
        whole = homebrew(place) or node_modules(place) or self.prefix(place)
        if whole is not None and self.breadth.narrow(whole):
            self.share(whole, why, through)
            self.base_python(whole, through)
        elif not os.path.islink(place):
            self.script_or_file(place, why, through)

    def foreign(self, place: str, why: str, through: tuple[str, ...], named: _Named) -> None:
        """What the server's files name: a known installation, a bare binary, or nothing."""
        real = os.path.realpath(place)
        if of_the_system(real) or self.is_covered(real):
            return
        root = self.known(real) or (installations.unpacked(real) if named.from_path else None)
        if root is not None and installations.is_program(real) and self.breadth.narrow(root):
            self.share(root, why, through)
            self.base_python(root, through)
        elif installations.is_binary(real):
            self.share(real, why, through)
        else:
            self.unnamed.setdefault(real, named.by)

    def known(self, real: str) -> str | None:
        """The installation a real path lies in; also of a manager that PATH led to."""
        for tree in self.managed:
            if lies_in(real, tree) and real.count("/") > tree.count("/") + 1:
                return self.prefix(real) or installations.installation(real)
        return installations.installation(real)

    def is_covered(self, real: str) -> bool:
        """Whether a directory that is shared already holds it."""
        return any(lies_in(real, root) for root in self.roots)

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
            value = configured(config, key)
            if not value or not value.startswith("/"):
                continue
            place = os.path.normpath(value if key != "home" else os.path.join(value, "python3"))
            if os.path.isfile(place):
                why = f"the Python under '{prefix}'"
                self.program(place, why, (*through, config), _Named(by=config))

    def interpreter(self, place: str, through: tuple[str, ...]) -> None:
        """Whatever runs a script."""
        for name in interpreters(place):
            asked = not name.startswith("/")
            program = _on_path(name, self.path) if asked else os.path.normpath(name)
            if program is not None and os.path.isfile(program):
                named = _Named(by=place, from_path=asked)
                why = f"the interpreter of '{place}'"
                program = self.program(program, why, (*through, place), named)
                if asked:
                    self.from_path[program] = None

    def project(self, place: str, why: str, through: tuple[str, ...] = ()) -> None:
        """The project around a script, or around nothing: then the script alone."""
        walked = see(place)
        through = (*through, *(link.path for link in walked.links))
        self.around(place, why, through)
        led = self.led_out(walked.real, walked.links)
        if led is not None:
            self.foreign(walked.real, why, through, led)
        elif walked.real != place:
            self.around(walked.real, why, through)

    def around(self, place: str, why: str, through: tuple[str, ...]) -> None:
        modules = node_modules(place)
        root = modules or self.breadth.project(place)
        if root is not None:
            self.share(root, why, through)
        elif os.path.isfile(place):
            self.share(place, f"{why}, {ALONE}", through)
        if modules is None and (root is None or place.endswith(NODE_SCRIPTS)):
            self.hoisted(os.path.dirname(root or place), why, through)

    def hoisted(self, directory: str, why: str, through: tuple[str, ...]) -> None:
        """Node looks for modules in every directory above (workspaces keep them at the top)."""
        while directory != "/":
            modules = os.path.join(directory, "node_modules")
            real = os.path.realpath(modules)
            if os.path.isdir(modules) and os.path.basename(real) == "node_modules":
                self.share(modules, f"modules for {why}", through)
            elif os.path.isdir(modules):
                self.unnamed.setdefault(real, modules)
            directory = os.path.dirname(directory)

    def share(self, place: str, why: str, through: tuple[str, ...]) -> None:
        """Note a share, unless a link that the server's files may have planted leads there."""
        seen = see(place)
        led = self.led_out(seen.real, seen.links)
        if led is not None and not self.may_lead_to(seen):
            self.unnamed.setdefault(seen.real, led.by)
        elif place not in self.found and seen.kind in {Kind.DIRECTORY, Kind.FILE}:
            share = Share(path=place, access=Access.READ_ONLY, why=why)
            self.found[place] = Found(share=share, through=tuple(dict.fromkeys(through)))
            if seen.kind is Kind.DIRECTORY:
                self.roots.append(seen.real)

    def may_lead_to(self, seen: Seen) -> bool:
        inner = f"{seen.real}/bin/" if seen.kind is Kind.DIRECTORY else seen.real
        return (
            of_the_system(seen.real)
            or self.is_covered(seen.real)
            or (self.known(inner) is not None and self.breadth.narrow(seen.real))
        )

    def led_out(self, real: str, links: tuple[Link, ...]) -> _Named | None:
        """The first link among the server's own files that leads out of these, if one does."""
        for link in links:
            tree = self.tree_of(link.path)
            if tree is not None and not lies_in(real, tree):
                return _Named(by=link.path)
        return None

    def tree_of(self, link: str) -> str | None:
        """The server's files that a link lies among; None for a link of the user or the system."""
        directory = os.path.dirname(link)
        own = node_modules(link) or self.breadth.project(link)
        own = own or next((root for root in self.roots if lies_in(link, root)), None)
        if own is not None:
            return own
        of_the_user = directory in self.links_of_the_user
        if of_the_user or of_the_system(directory) or self.breadth.holds_a_home(directory):
            return None
        return None if directory.count("/") < SHALLOWEST else directory
