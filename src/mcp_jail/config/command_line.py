"""A command whose first word is a whole line, as some clients write it: into words, with no shell.

Quotes count as in a shell; nothing is replaced and nothing is run. A line that only a shell could
carry out (pipes, variables, redirections) is refused, for what it would start is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mcp_jail.core.text.command_shown import without_secret
from mcp_jail.errors import UsageError

_SHELLS: Final = frozenset("|&;<>()$`\n\r*?[]{}")


def in_words(
    command: tuple[str, ...], is_program: Callable[[str], bool] = lambda _: False
) -> tuple[str, ...]:
    """The command word by word; UsageError for a line that needs a shell.

    `is_program` says whether a path with blanks in it is a program's own.
    """
    line = command[0] if command else ""
    if len(line.split()) < _MORE_THAN_ONE or is_program(line):
        return command
    found = next((character for character in line if character in _SHELLS), None)
    if found is not None:
        raise _refused(line, f"{found!r} is a shell's")
    from shlex import split  # noqa: PLC0415  # few commands need it, and the guard starts without

    try:
        words = split(line)
    except ValueError as error:
        raise _refused(line, str(error).lower()) from None
    return (*words, *command[1:])


def at_home(command: tuple[str, ...], home: str) -> tuple[str, ...]:
    """The command with `~` of its words expanded, which no shell does for a client."""
    return tuple(
        home + word[1:] if word == "~" or word.startswith("~/") else word for word in command
    )


_MORE_THAN_ONE: Final = 2


def _refused(line: str, why: str) -> UsageError:
    return UsageError(
        f"'{without_secret(line)}' is a line, not a program, and cannot be taken apart: {why}",
        hint="write program and arguments apart; what needs a shell goes into a script of yours",
    )
