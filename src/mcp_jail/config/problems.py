"""All that is wrong with a file, gathered and shown: place, words, source line, caret, hint."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcp_jail.errors import Place, PolicyError, Problem

# Characters of a source line that are shown; the caret must stay in view of an 80-column terminal.
SHOWN_WIDTH = 76

# Problems that are shown; a file that is wrong in more ways is another kind of file.
PROBLEM_LIMIT = 50


# The login in a URL is not repeated: a client may keep what stands on our error stream.
# One without a scheme has a colon, which no host before a port would have on both sides of an `@`.
_LOGIN = re.compile(r"(?<=://)[^\s/@]+(?=@)|[^\s/@'\"\[{,]+:[^\s/@]+(?=@)")


class Problems:
    """Gathers what is wrong with one text, so that a user sees it all at once."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines = [line.rstrip("\r") for line in text.split("\n")]
        self._found: dict[tuple[Place, str], Problem] = {}

    def add(self, place: Place, message: str, hint: str = "") -> None:
        """Note a problem; the same words at the same place count once."""
        line = self._lines[place.line - 1] if place.line <= len(self._lines) else ""
        self._found.setdefault((place, message), Problem(place, message, hint, line))

    def at(self, line: int, column: int) -> Place:
        """A place of this file."""
        return Place(self._file, line, column)

    def in_order(self) -> tuple[Problem, ...]:
        """The problems from the top of the file to its end."""
        return tuple(sorted(self._found.values(), key=lambda problem: problem.place))


def refusal(file: str, problems: tuple[Problem, ...]) -> PolicyError:
    """The error of a file that has problems."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return PolicyError(f"{count} in '{file}': {problems[0].message}", problems)


def render(problem: Problem) -> str:
    """A problem as a person reads it; what the file holds cannot reach the terminal as control."""
    lines = [f"{problem.place}: {problem.message}"]
    if problem.source.strip():
        source = _LOGIN.sub(lambda found: "*" * len(found[0]), problem.source)
        shown, column = _window(source, problem.place.column - 1)
        number = str(problem.place.line)
        lines.append(f"  {number} | {shown}")
        lines.append(f"  {' ' * len(number)} | {' ' * column}^")
    if problem.hint:
        lines.append(f"  hint: {problem.hint}")
    return "\n".join(lines)


def render_all(problems: Iterable[Problem]) -> str:
    """Problems one below the other."""
    known = list(problems)
    lines = [render(problem) for problem in known[:PROBLEM_LIMIT]]
    if len(known) > PROBLEM_LIMIT:
        lines.append(f"and {len(known) - PROBLEM_LIMIT} more")
    return "\n".join(lines)


def _window(source: str, column: int) -> tuple[str, int]:
    """The part of a line around a column, printable, and where the column is in it."""
    start = 0 if column < SHOWN_WIDTH else column - SHOWN_WIDTH // 2
    before, after = source[start:column], source[column : start + SHOWN_WIDTH]
    shown_before = "".join(map(_printable, before))
    return shown_before + "".join(map(_printable, after)), len(shown_before)


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character == "\t" else ascii(character)[1:-1]
