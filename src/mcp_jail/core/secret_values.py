"""The values of a run's secrets, which show themselves to nobody. Light: every guard loads this."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

# Characters of a line, of a value that has many, that is looked for by itself.
MIN_LINE_CHARS: Final = 16


class Secrets(dict[str, str]):
    """Values of variables, by name. Printed, also by accident, they are names only."""

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self)})"

    __str__ = __repr__

    def texts(self) -> tuple[str, ...]:
        """What to look for where no secret may stand: the values, and the long lines of each."""
        lines = (line for value in self.values() for line in _lines(value))
        return tuple(dict.fromkeys((*self.values(), *lines)))


def _lines(value: str) -> Iterable[str]:
    lines = [line.strip() for line in value.splitlines()]
    return (line for line in lines if len(line) >= MIN_LINE_CHARS) if len(lines) > 1 else ()
