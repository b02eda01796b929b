"""Programs that run the code of others: which of their options carry code, load it or take a word.

Also those that start the program that follows, and those that start what a project's file says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple


class Options(NamedTuple):
    """Options of a program that carry code, and those that load more of it before the server."""

    code: frozenset[str]
    letters: str = ""  # the same as letters among others: the c of `-Ic`
    loads: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()  # options that have their word glued on
    with_word: frozenset[str] = frozenset()  # options whose word is no script
    module: str = ""  # the letter that names a module, looked for in the working directory first


_SHELL: Final = Options(
    frozenset({"-", "--command", "-Command"}), "c", with_word=frozenset({"-o", "+o", "-O", "+O"})
)
_PYTHON: Final = Options(frozenset({"-"}), "c", with_word=frozenset({"-X", "-W"}), module="m")
_NODE: Final = Options(
    frozenset({"-", "-e", "-p", "-pe", "--eval", "--print"}),
    loads=frozenset({
        "-r", "--require", "--import", "--preload", "--loader", "--experimental-loader",
    }),
    with_word=frozenset({"-C", "--conditions", "--title", "--env-file", "--input-type"}),
)  # fmt: skip
_EVAL: Final = Options(frozenset({"-e", "--eval"}))
_CALL: Final = Options(frozenset({"-c", "--call"}))
_EDITOR: Final = Options(frozenset({"-c", "--cmd", "--eval"}), prefixes=("+",))

# By the program's name without the version at its end.
_PROGRAMS: Final = {
    **dict.fromkeys(("python", "pypy"), _PYTHON),
    **dict.fromkeys(("node", "nodejs", "tsx", "ts-node", "bun"), _NODE),
    **dict.fromkeys(
        ("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "pwsh"), _SHELL
    ),
    **dict.fromkeys(("osascript", "Rscript", "elixir", "julia", "guile"), _EVAL),
    **dict.fromkeys(("npx", "npm", "bunx", "pnpm"), _CALL),
    **dict.fromkeys(("vi", "vim", "nvim", "emacs"), _EDITOR),
    "deno": Options(frozenset({"eval"})),
    "find": Options(frozenset({"-exec", "-execdir", "-ok"})),
    "lua": Options(frozenset({"-e"}), loads=frozenset({"-l"})),
    "luajit": Options(frozenset({"-e"}), loads=frozenset({"-l"})),
    "perl": Options(frozenset(), "eE", prefixes=("-m", "-M")),
    "php": Options(frozenset({"-r", "-B", "-R"})),
    "ruby": Options(frozenset({"-e"}), prefixes=("-r",)),
}

# Programs that start the one that follows; what stands before it are their options.
STARTERS: Final = frozenset({
    "busybox", "toybox", "timeout", "nice", "nohup", "setsid", "stdbuf", "xargs", "ionice",
    "chrt", "taskset", "exec", "command", "sudo", "doas", "unshare", "setpriv", "script", "uv",
    "poetry", "pdm", "hatch", "pipenv", "pixi", "bundle", "mise", "asdf",
})  # fmt: skip
VERBS: Final = frozenset({"run", "exec", "x", "--"})
AWK: Final = frozenset({"awk", "gawk", "mawk", "nawk"})

# Programs that start what a file of a project says, and that file; it lies in their directory or
# in one above.
PROJECT_FILES: Final = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), "package.json"),
    **dict.fromkeys(("uv", "poetry", "pdm", "hatch"), "pyproject.toml"),
    "pipenv": "Pipfile",
    "pixi": "pixi.toml",
    "bundle": "Gemfile",
    "rake": "Rakefile",
    "cargo": "Cargo.toml",
    "go": "go.mod",
    "make": "Makefile",
    "just": "justfile",
    "deno": "deno.json",
    "composer": "composer.json",
    "mix": "mix.exs",
    "mvn": "pom.xml",
    "gradle": "build.gradle",
}
# Options that name another directory than the one they are started in.
PROJECT_OPTIONS: Final = ("--directory", "--project", "--prefix", "--cwd", "-C")

# Words of a command that are looked at; a chain of starters is never longer.
WORDS: Final = 32


def options_of(program: str) -> Options | None:
    """The options of a program that runs code; `python` of `python3.13` and `python3.13t`."""
    plain = program.removesuffix("t") if program[-2:-1].isdigit() else program
    return _PROGRAMS.get(plain.rstrip("0123456789."))


def is_cluster(word: str) -> bool:
    """Whether a word has options of one letter each, as `-Ic`."""
    return word[:1] == "-" != word[1:2]


def behind_env(words: Sequence[str]) -> tuple[list[str], bool]:
    """What env(1) starts, and whether an option takes a command apart that stands in one word."""
    rest, is_apart = list(words), False
    while rest and (rest[0].startswith("-") or "=" in rest[0]):
        word = rest.pop(0)
        is_apart |= word.startswith("--split-string") or (is_cluster(word) and "S" in word)
        if word in {"-u", "--unset", "-C", "--chdir"} and rest:
            rest.pop(0)
    return rest, is_apart


def behind_starter(words: Sequence[str]) -> list[str]:
    """What a program of `STARTERS` starts, without its own options and its verb."""
    rest = list(words)
    while rest and (rest[0].startswith("-") or rest[0][:1].isdigit()):
        rest.pop(0)
    while rest and rest[0] in VERBS:
        rest.pop(0)
    return rest
