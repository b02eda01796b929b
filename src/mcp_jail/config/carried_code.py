"""Commands that carry their code on the command line: `python -c`, `node -e`, `sh -c`, ...

Such a server is no file that somebody could have read or that a digest could pin; all of it stands
in an entry of a client's configuration, which is where attacks put it. It is told, never refused:
the jail holds it as it holds any other.
"""

from __future__ import annotations

from mcp_jail.config.launchers import Launcher
from mcp_jail.config.program_options import (
    AWK,
    STARTERS,
    WORDS,
    behind_env,
    behind_starter,
    is_cluster,
    options_of,
)


def has_code(command: tuple[str, ...]) -> bool:
    """Whether words of a command are code, which whoever approves it has to see."""
    return carried_code(command) is not None


def carried_code(command: tuple[str, ...]) -> Launcher | None:
    """What to say of a command that carries its code; None for any other."""
    words = [*command[:WORDS]]
    while words:
        program = words.pop(0).rpartition("/")[2]
        if program == "env":
            words, is_apart = behind_env(words)
            if is_apart:
                return _said("env -S", "takes code or a command apart")
            continue
        if program in AWK:
            has_file = {"-f", "--file"} & {*words}
            return None if has_file or not words else _said(program, "runs code")
        found = _option(program, words)
        if found is not None or program not in STARTERS:
            return found
        words = behind_starter(words)
    return None


def _option(program: str, words: list[str]) -> Launcher | None:
    """The first option of a program that carries code; what follows its script is the script's."""
    options = options_of(program)
    if options is None:
        return None
    is_value = False
    for word in words:
        if is_value:
            is_value = False
            continue
        is_value = word in options.with_word
        option = word.partition("=")[0]
        if option in options.code or (is_cluster(word) and {*options.letters} & {*word}):
            return _said(f"{program} {option}", "runs code")
        if option in options.loads or word.startswith(options.prefixes):
            return _said(f"{program} {option}", "loads other code first: code")
        if not word.startswith(("-", "+")):
            return None
    return None


def _said(name: str, what: str) -> Launcher:
    return Launcher(
        f"'{name}' {what} that stands in the command itself and not in a program of its own",
        "read all of it before you approve it; a server is a program or a script",
    )
