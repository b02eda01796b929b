"""What the text of a script, of a virtual environment and of a command line names. Reads only."""

from __future__ import annotations

import os
import re
from typing import Final

from mcp_jail.config.program_options import PROJECT_OPTIONS

FIRST_LINES: Final = 1024  # bytes read of a script; the kernel reads 256 for a shebang
SETTINGS_LINES: Final = 200  # lines of a pyvenv.cfg; Python's own has less than ten

SCRIPTS: Final = (
    ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".py", ".pyz", ".rb", ".pl", ".php",
    ".jar", ".sh", ".bash", ".lua", ".jl", ".exs", ".wasm", ".dll", ".r", ".R",
)  # fmt: skip

# Options of env(1) that take nothing, and those whose next word is theirs and no program.
_ENV_PLAIN: Final = frozenset(
    {"-", "-i", "--ignore-environment", "-S", "-v", "-vS", "--split-string", "--debug"}
)
_ENV_WITH_WORD: Final = frozenset({"-u", "--unset"})

_LONG_FORM: Final = re.compile(r"'''exec' [\"']?([^\"']+?)[\"']? \"\$0\"")


def interpreters(place: str) -> list[str]:
    """Whatever runs a script: `#!`, what `env` is told to start, and pip's form for long paths.

    A name without a slash is to be looked up in PATH. One with a slash that is not absolute depends
    on where the script is started; it is left out.
    """
    words = _shebang(place)
    if words and os.path.basename(words[0]) == "env":
        words = [words[0], *_started_by_env(words[1:])]
    else:
        words = words[:1]
    return [word for word in words if word.startswith("/") or "/" not in word]


def configured(config: str, key: str) -> str | None:
    """The value of a key in a `pyvenv.cfg`."""
    if not os.path.isfile(config):
        return None
    try:
        with open(config, encoding="utf-8", errors="surrogateescape") as file:
            for line in file.readlines(SETTINGS_LINES * FIRST_LINES):
                name, _, value = line.partition("=")
                if name.strip().lower() == key:
                    return value.strip()
    except OSError:
        return None
    return None


def named_by(arguments: tuple[str, ...], cwd: str) -> list[tuple[str, str]]:
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


def _started_by_env(words: list[str]) -> list[str]:
    """The program `env` starts, as a list of one; of none where an option is not known.

    The word of `-u` is no program: taken for one, it would be shared (and it is the server's to
    choose).
    """
    rest = iter(words)
    for word in rest:
        if word in _ENV_WITH_WORD:
            next(rest, None)
        elif word.startswith(("-u", "--unset=")) or word in _ENV_PLAIN:
            continue
        elif word.startswith("-S") and len(word) > len("-S"):
            return [word[len("-S") :]]
        elif word.startswith("-"):
            return []
        elif "=" not in word:
            return [word]
    return []


def _shebang(place: str) -> list[str]:
    if not os.path.isfile(place):
        return []
    try:
        with open(place, "rb") as file:
            head = file.read(FIRST_LINES)
    except OSError:
        return []
    if not head.startswith(b"#!"):
        return []
    lines = head.decode("utf-8", "surrogateescape").split("\n")
    long_form = _LONG_FORM.match(lines[1]) if lines[1:] else None
    return [long_form[1]] if long_form else lines[0][2:].split()
