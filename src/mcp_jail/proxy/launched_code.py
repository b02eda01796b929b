"""The code that a command names, as it lies on disk: digests of files, and where they lie.

Held are the files themselves: a script, what is loaded before it, the file of a project that says
what is started. Not what these read in turn; of a tree of thousands of files a start would take
longer than the server's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import msgspec

from mcp_jail.config.code_words import CodeWord, Role, code_words
from mcp_jail.config.program_options import PROJECT_OPTIONS
from mcp_jail.core.sha256 import sha256
from mcp_jail.sandbox.scripts import SCRIPTS

# Bytes of a script that is hashed at each start; bundled servers have a few MiB.
SCRIPT_LIMIT: Final = 16 * 1024 * 1024

# What Node.js and Python start of a directory that they are given.
_OF_A_DIRECTORY: Final = ("package.json", "index.js", "index.json", "index.node", "__main__.py")


class LaunchedCode(msgspec.Struct, frozen=True):
    """Digests by the names that the command gives; `places` are those to which links led.

    `cwd` is the working directory, where what is started depends on it.
    """

    scripts: dict[str, str]
    places: dict[str, str]
    cwd: str | None


def launched_code(
    command: tuple[str, ...], cwd: str, known: tuple[str, ...], *, is_shared: bool
) -> LaunchedCode:
    """Read what a command names, but for what lies in `known`, whose digests are held elsewhere.

    `is_shared` says whether the working directory is one of the host's.
    """
    words = tuple(code_words(command))
    looking = _Looking(cwd, _bases(command, cwd), is_shared=is_shared)
    names = {command[0]: None} if _has_shebang(command[0]) else {}
    names |= dict.fromkeys(looking.scripts(command[1:]))
    names |= dict.fromkeys(looking.code(words))
    scripts: dict[str, str] = {}
    places: dict[str, str] = {}
    depends = looking.depends or any(word.role is Role.CARRIED and is_shared for word in words)
    for name in names:
        path = os.path.normpath(os.path.join(cwd, name))
        if any(path.startswith(f"{folder}/") for folder in known):
            continue
        content = _content(path)
        if content is None:
            continue
        scripts[name] = sha256(content).hexdigest()
        depends |= not os.path.isabs(name)
        real = os.path.realpath(path)
        straight = os.path.normpath(os.path.join(os.path.realpath(cwd), name))
        if real != straight and name != command[0]:
            places[name] = real
    return LaunchedCode(scripts, places, os.path.realpath(cwd) if depends else None)


class _Looking:
    """Where names of a command begin: its working directory, and what it names in its stead."""

    def __init__(self, cwd: str, bases: tuple[str, ...], *, is_shared: bool) -> None:
        self._cwd, self._bases = cwd, bases
        # Where a project is named, that of the working directory is none of the command's.
        self._projects = bases[1:] or (bases if is_shared else ())
        self._own = bases if is_shared else bases[1:]
        self.depends = False  # on the working directory, by more than the names of files

    def scripts(self, words: tuple[str, ...]) -> Iterator[str]:
        """Words, and values of options, that are scripts by their ending or their first bytes."""
        for word in words:
            option, given, value = word.partition("=")
            text = value if given and option.startswith("-") else word
            for base in self._bases:
                name = os.path.join(base, text)
                path = os.path.join(self._cwd, name)
                if os.path.isfile(path) and (text.endswith(SCRIPTS) or _has_shebang(path)):
                    yield name

    def code(self, words: tuple[CodeWord, ...]) -> Iterator[str]:
        """The files that are code by what the program does with a word."""
        has_script = False
        where = {
            Role.MODULE: self._own,
            Role.PACKAGE: self._projects,
            Role.PROJECT: self._projects,
        }
        for role, text in words:
            found: list[str] = []
            for base in where.get(role, self._bases):
                match role:
                    case Role.SCRIPT if not has_script:
                        found += self._script(base, text)
                    case Role.LOADED:
                        found += self._script(base, text) or self._package(base, text)
                    case Role.MODULE:
                        found += self._module(base, text)
                    case Role.PACKAGE:
                        found += self._package(base, text)
                    case Role.PROJECT:
                        found += self._above(base, text)
                    case Role.SCRIPT | Role.CARRIED:
                        pass  # an argument of the script; code that is no file
            has_script |= role is Role.SCRIPT and bool(found)
            yield from found

    def _is_file(self, name: str) -> bool:
        return os.path.isfile(os.path.join(self._cwd, name))

    def _script(self, base: str, text: str) -> list[str]:
        """A file, with the ending that Node.js may leave out, or what a directory starts."""
        name = os.path.join(base, text)
        if os.path.isdir(os.path.join(self._cwd, name)):
            inside = [os.path.join(name, each) for each in _OF_A_DIRECTORY]
            found = [each for each in inside if self._is_file(each)]
            return [*found, *self._main(name)]
        return [each for each in (name, f"{name}.js") if self._is_file(each)][:1]

    def _main(self, directory: str) -> list[str]:
        """The file that a `package.json` names as the one to start."""
        content = _content(os.path.join(self._cwd, directory, "package.json"))
        main = ""
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            main = msgspec.json.decode(content or b"{}", type=_Manifest).main
        name = os.path.join(directory, main)
        spelled = (name, f"{name}.js", os.path.join(name, "index.js")) if main else ()
        return [each for each in spelled if self._is_file(each)][:1]

    def _module(self, base: str, module: str) -> list[str]:
        """A module of Python; one that is not read can stand there in other ways, too."""
        first, *inner = module.split(".")
        with suppress(OSError):
            here = os.listdir(os.path.join(self._cwd, base))
            self.depends |= any(each.partition(".")[0] == first for each in here)
        path = os.path.join(first, *inner)
        names = (
            f"{path}.py",
            os.path.join(path, "__main__.py"),
            os.path.join(path, "__init__.py"),
            os.path.join(first, "__init__.py"),
        )
        return [name for each in names if self._is_file(name := os.path.join(base, each))]

    def _package(self, base: str, text: str) -> list[str]:
        """A package of npm's in the nearest `node_modules`, which goes before any registry's."""
        words = text.split("/")
        name = "/".join(words[: 2 if text.startswith("@") else 1])
        if text.startswith((".", "/")) or not name:
            return []
        return self._above(base, os.path.join("node_modules", name, "package.json"))

    def _above(self, base: str, name: str) -> list[str]:
        """The nearest file of this name, in a directory or in one above."""
        start = os.path.normpath(os.path.join(self._cwd, base))
        directory = start
        while not os.path.isfile(os.path.join(directory, name)):
            if directory == os.path.dirname(directory):
                return []
            directory = os.path.dirname(directory)
        found = os.path.join(directory, name)
        return [found if os.path.isabs(base) else os.path.relpath(found, self._cwd)]


class _Manifest(msgspec.Struct):
    """What is asked of a `package.json`."""

    main: str = ""


def _bases(command: tuple[str, ...], cwd: str) -> tuple[str, ...]:
    """Where relative words may begin: the working directory, and what `--directory` names."""
    found = [""]
    for word, after in zip(command, (*command[1:], ""), strict=True):
        option, given, value = word.partition("=")
        text = value if given else after
        if option in PROJECT_OPTIONS and text and os.path.isdir(os.path.join(cwd, text)):
            found.append(text)
    return tuple(dict.fromkeys(found))


def _content(path: str) -> bytes | None:
    """The text of a script, None for what is none, cannot be read or is too large."""
    with suppress(OSError):
        if os.path.isfile(path) and os.path.getsize(path) <= SCRIPT_LIMIT:
            with open(path, "rb") as file:
                return file.read()
    return None


def _has_shebang(path: str) -> bool:
    with suppress(OSError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read(2) == b"#!"
    return False
