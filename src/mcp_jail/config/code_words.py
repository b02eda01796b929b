"""Which words of a command are code of the server's own: scripts, modules, what a project names.

`python3 server`, `bash run`, `node dist`, `node --import=./hook.mjs app.js`, `python3 -m server`,
`npm start`, `npx server`: what these start lies where a relative word leads, and no ending tells it
from data.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from mcp_jail.config.program_options import (
    AWK,
    PROJECT_FILES,
    STARTERS,
    VERBS,
    WORDS,
    Options,
    behind_env,
    behind_starter,
    is_cluster,
    options_of,
)


class Role(Enum):
    """What a word is to the program that it is given to."""

    SCRIPT = "script"  # the first of these that is there is run; the others are its arguments
    LOADED = "loaded"  # is run before the script
    MODULE = "module"  # of Python, which looks in the working directory first
    PACKAGE = "package"  # of npm, which looks in `node_modules` of the working directory first
    PROJECT = "project"  # the file that says what is started
    CARRIED = "carried"  # code in the command itself, which may read anything beside it


class CodeWord(NamedTuple):
    """A word with its role."""

    role: Role
    text: str


def code_words(command: tuple[str, ...]) -> Iterator[CodeWord]:
    """The code that the words of a command name, from the program on that runs it."""
    words = [*command[:WORDS]]
    while words:
        program = words.pop(0).rpartition("/")[2]
        if program == "env":
            words, is_apart = behind_env(words)
            if is_apart:
                yield CodeWord(Role.CARRIED, program)
            continue
        yield from _of_npm(program, words)
        if program in PROJECT_FILES and (program not in _NPM or _starts_a_script(program, words)):
            yield CodeWord(Role.PROJECT, PROJECT_FILES[program])
        options = _AWK_OPTIONS if program in AWK else options_of(program)
        if options is not None and program not in _NO_INTERPRETERS:
            has_verb = program in PROJECT_FILES and words[:1] and words[0] in VERBS
            yield from _interpreted(options, words[1:] if has_verb else words)
            return
        if program not in STARTERS:
            return
        words = _runner(words) if program in PROJECT_FILES else behind_starter(words)


def _interpreted(options: Options, words: list[str]) -> Iterator[CodeWord]:
    """What an interpreter runs, up to its script; words behind that may be the script."""
    looks_here = True  # Python, for a module
    rest = iter(words)
    for word in rest:
        option, given, value = word.partition("=")
        letters = word[1:] if is_cluster(word) else ""
        before, is_module, module = letters.partition(options.module or "=")
        looks_here = looks_here and not (set(before) & _ISOLATING)
        if option in options.loads:
            yield CodeWord(Role.LOADED, (value if given else next(rest, "")).removeprefix(_FILE))
        elif option in options.code or set(before) & {*options.letters}:
            yield CodeWord(Role.CARRIED, option)
            return
        elif is_module:
            name = module or next(rest, "")
            if looks_here:
                yield CodeWord(Role.MODULE, name)
            return
        elif option == "--run":
            yield CodeWord(Role.PROJECT, PROJECT_FILES["npm"])
            return
        elif word in options.with_word:
            next(rest, None)
        elif not word.startswith(("-", "+")):
            yield CodeWord(Role.SCRIPT, word)


_FILE: Final = "file://"
# Letters by which Python looks for no module in the working directory.
_ISOLATING: Final = frozenset("IP")
_AWK_OPTIONS: Final = Options(frozenset(), loads=frozenset({"-f", "--file"}))
_NPM: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
# They have options that carry code, and what follows is no script.
_NO_INTERPRETERS: Final = frozenset({"npx", "npm", "bunx", "pnpm", "find"})
_SCRIPT_VERBS: Final = frozenset({"run", "run-script", "start", "test", "restart"})
_PACKAGE_VERBS: Final = frozenset({"exec", "x", "dlx"})


def _of_npm(program: str, words: list[str]) -> Iterator[CodeWord]:
    """The package that `npx NAME` and the like start, without its version."""
    plain = [word for word in words if not word.startswith("-")]
    if program in _NPM and plain[:1] and plain[0] in _PACKAGE_VERBS:
        del plain[0]
    elif program not in {"npx", "bunx", "pnpx"}:
        return
    if plain:
        yield CodeWord(Role.PACKAGE, plain[0].rpartition("@")[0] or plain[0])


def _starts_a_script(program: str, words: list[str]) -> bool:
    """Whether npm or one of its kind starts what `package.json` says."""
    verb = next((word for word in words if not word.startswith("-")), "")
    return verb in _SCRIPT_VERBS or (program == "yarn" and verb not in _PACKAGE_VERBS)


def _runner(words: list[str]) -> list[str]:
    """From the interpreter on that `uv run` and the like start; nothing where they start none."""
    for at, word in enumerate(words):
        if options_of(word.rpartition("/")[2]) is not None:
            return words[at:]
    return []
