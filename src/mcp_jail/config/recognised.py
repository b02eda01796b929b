"""Which well-known server a command starts, by the place where its name stands, and no other.

A word further on that happens to be a server's name says nothing: it would give another server a
profile that allows tools.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mcp_jail.config.launchers import without_env
from mcp_jail.config.profile import Profile, profiles

# The words a launcher begins with, the options that name its package, those that take a word.
_NPM: Final[tuple[tuple[str, ...], ...]] = (
    ("npx",), ("pnpx",), ("bunx",), ("npm", "exec"), ("npm", "x"), ("pnpm", "dlx"),
    ("yarn", "dlx"), ("bun", "x"),
)  # fmt: skip
_PYPI: Final[tuple[tuple[str, ...], ...]] = (("uvx",), ("uv", "tool", "run"), ("pipx", "run"))
_UV_RUN: Final = ("uv", "run")
_NPM_PACKAGE: Final = frozenset({"--package", "-p"})
_PYPI_PACKAGE: Final = frozenset({"--from", "--spec"})
_WITH_WORD: Final = frozenset({
    "--python", "-p", "--with", "-w", "--default-index", "--directory",
    "--project", "--prefix", "--registry", "--cache", "--loglevel", "--env-file",
})  # fmt: skip
_INTERPRETERS: Final = re.compile(r"(?:node|bun|deno|python[0-9.]*|pypy[0-9.]*|tsx)")
_MODULES: Final = "/node_modules/"


class Named(NamedTuple):
    """What a command starts, and the words that are the server's own arguments."""

    npm: str = ""
    pypi: str = ""
    program: str = ""
    module: str = ""
    arguments: tuple[str, ...] = ()


def profile_of(command: tuple[str, ...]) -> Profile | None:
    """The profile of the server a command starts, if it has one."""
    named = named_by(command)
    return next((each for each in profiles() if _fits(each, named)), None)


def _fits(profile: Profile, named: Named) -> bool:
    marks = profile.marks
    return (
        (bool(named.npm) and named.npm == marks.npm)
        or (bool(named.pypi) and named.pypi == marks.pypi)
        or named.program in marks.programs
        or named.module in marks.modules
    )


def named_by(command: tuple[str, ...]) -> Named:
    """What a command starts: a package, a program or a module; empty where it does not tell."""
    words = without_env(command)
    if not words:
        return Named()
    program = words[0].rpartition("/")[2]
    words = (program, *words[1:])
    for launcher in _NPM:
        if words[: len(launcher)] == launcher:
            package, rest = _package(words[len(launcher) :], _NPM_PACKAGE)
            return Named(npm=_without_version(package), arguments=rest)
    for launcher in _PYPI:
        if words[: len(launcher)] == launcher:
            package, rest = _package(words[len(launcher) :], _PYPI_PACKAGE)
            return Named(pypi=_python_name(package), arguments=rest)
    if words[:2] == _UV_RUN:
        _, rest = _options(words[2:], frozenset())
        return _started(rest[0], rest[1:]) if rest else Named()
    return _started(command[-len(words)], words[1:])


def _started(program: str, arguments: tuple[str, ...]) -> Named:
    """What a program starts: itself, or the module or script it is given."""
    name = program.rpartition("/")[2]
    if not _INTERPRETERS.fullmatch(name):
        return Named(npm=_npm_of(program), program=name, arguments=arguments)
    if arguments[:1] == ("-m",) and len(arguments) > 1:
        return Named(module=arguments[1], arguments=arguments[2:])
    at = next((at for at, word in enumerate(arguments) if not word.startswith("-")), None)
    if at is None or {"-c", "-e", "--eval", "-p", "--print"} & {*arguments[:at]}:
        return Named()
    script = arguments[at]
    in_bin = script.rpartition("/")[0].endswith("/bin")
    return Named(
        npm=_npm_of(script),
        program=script.rpartition("/")[2] if in_bin else "",
        arguments=arguments[at + 1 :],
    )


def _package(words: tuple[str, ...], options: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """The package a launcher is given, and what follows the program's name."""
    package, rest = _options(words, options)
    return package or (rest[0] if rest else ""), rest[1:]


def _options(words: tuple[str, ...], naming: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """A launcher's package option, if there is one, and the words from the first that is none."""
    package = ""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option, given, value = rest.pop(0).partition("=")
        takes_word = option in naming | _WITH_WORD or option.startswith("--index")
        if takes_word and not given and rest:
            value = rest.pop(0)
        if option in naming:
            package = value
        if option == "--":
            break
    return package, tuple(rest)


def _without_version(package: str) -> str:
    """`@scope/name` of `@scope/name@1.2`."""
    scope = package[:1]
    return scope + package[1:].partition("@")[0]


def _python_name(package: str) -> str:
    """`name` of `name[extra]==1.2` and of `name@1.2`, as PyPI compares names (PEP 503)."""
    name = re.split(r"[\[=<>~!@;\s]", package, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def _npm_of(path: str) -> str:
    """The package that the innermost `node_modules` around a file holds it in."""
    _, found, inside = path.rpartition(_MODULES)
    if not found:
        return ""
    parts = inside.split("/")
    return "/".join(parts[: 2 if inside.startswith("@") else 1])
