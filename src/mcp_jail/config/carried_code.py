"""Commands that carry their code on the command line: `python -c`, `node -e`, `sh -c`, ...

Such a server is no file that somebody could have read or that a digest could pin; all of it stands
in an entry of a client's configuration, which is where attacks put it. It is told, never refused:
the jail holds it as it holds any other.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mcp_jail.config.launchers import Launcher


class _Options(NamedTuple):
    """Options of a program that carry code, and those that load more of it before the server."""

    code: frozenset[str]
    letters: str = ""  # the same as letters among others: the c of `-Ic`
    loads: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()  # options that have their word glued on
    with_word: frozenset[str] = frozenset()  # options whose word is no script


_SHELL: Final = _Options(
    frozenset({"-", "--command", "-Command"}), "c", with_word=frozenset({"-o", "+o", "-O", "+O"})
)
_PYTHON: Final = _Options(frozenset({"-"}), "c", with_word=frozenset({"-X", "-W"}))
_NODE: Final = _Options(
    frozenset({"-", "-e", "-p", "-pe", "--eval", "--print"}),
    loads=frozenset({
        "-r", "--require", "--import", "--preload", "--loader", "--experimental-loader",
    }),
    with_word=frozenset({"-C", "--conditions", "--title", "--env-file", "--input-type"}),
)  # fmt: skip
_EVAL: Final = _Options(frozenset({"-e", "--eval"}))
_CALL: Final = _Options(frozenset({"-c", "--call"}))
_EDITOR: Final = _Options(frozenset({"-c", "--cmd", "--eval"}), prefixes=("+",))

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
    "deno": _Options(frozenset({"eval"})),
    "find": _Options(frozenset({"-exec", "-execdir", "-ok"})),
    "lua": _Options(frozenset({"-e"}), loads=frozenset({"-l"})),
    "luajit": _Options(frozenset({"-e"}), loads=frozenset({"-l"})),
    "perl": _Options(frozenset(), "eE", prefixes=("-m", "-M")),
    "php": _Options(frozenset({"-r", "-B", "-R"})),
    "ruby": _Options(frozenset({"-e"}), prefixes=("-r",)),
}

# Programs that start the one that follows; what stands before it are their options.
_STARTERS: Final = frozenset({
    "busybox", "toybox", "timeout", "nice", "nohup", "setsid", "stdbuf", "xargs", "ionice",
    "chrt", "taskset", "exec", "command", "sudo", "doas", "unshare", "setpriv", "script", "uv",
    "poetry", "pdm", "hatch", "pipenv", "pixi", "bundle", "mise", "asdf",
})  # fmt: skip
_VERBS: Final = frozenset({"run", "exec", "x", "--"})
_AWK: Final = frozenset({"awk", "gawk", "mawk", "nawk"})

# Words of a command that are looked at; a chain of starters is never longer.
_WORDS: Final = 32


def carried_code(command: tuple[str, ...]) -> Launcher | None:
    """What to say of a command that carries its code; None for any other."""
    words = [*command[:_WORDS]]
    while words:
        program = words.pop(0).rpartition("/")[2]
        if program == "env":
            if _takes_apart(words):
                return _said("env -S", "takes code or a command apart")
            continue
        if program in _AWK:
            has_file = {"-f", "--file"} & {*words}
            return None if has_file or not words else _said(program, "runs code")
        found = _option(program, words)
        if found is not None or program not in _STARTERS:
            return found
        while words and (words[0].startswith("-") or words[0][:1].isdigit()):
            words.pop(0)
        while words and words[0] in _VERBS:
            words.pop(0)
    return None


def _option(program: str, words: list[str]) -> Launcher | None:
    """The first option of a program that carries code; what follows its script is the script's."""
    options = _PROGRAMS.get(_without_version(program))
    if options is None:
        return None
    is_value = False
    for word in words:
        if is_value:
            is_value = False
            continue
        is_value = word in options.with_word
        option = word.partition("=")[0]
        is_short = word[:1] == "-" != word[1:2]
        if option in options.code or (is_short and {*options.letters} & {*word}):
            return _said(f"{program} {option}", "runs code")
        if option in options.loads or word.startswith(options.prefixes):
            return _said(f"{program} {option}", "loads other code first: code")
        if not word.startswith(("-", "+")):
            return None
    return None


def _without_version(program: str) -> str:
    """`python` of `python3.13` and of `python3.13t`, which has no global lock."""
    plain = program.removesuffix("t") if program[-2:-1].isdigit() else program
    return plain.rstrip("0123456789.")


def _takes_apart(words: list[str]) -> bool:
    """Take the options and variables of env(1) away; whether `-S` is among them."""
    while words and (words[0].startswith("-") or "=" in words[0]):
        word = words.pop(0)
        is_short = word[:1] == "-" != word[1:2]
        if word.startswith("--split-string") or (is_short and "S" in word):
            return True
        if word in {"-u", "--unset", "-C", "--chdir"} and words:
            words.pop(0)
    return False


def _said(name: str, what: str) -> Launcher:
    return Launcher(
        f"'{name}' {what} that stands in the command itself and not in a program of its own",
        "read all of it before you approve it; a server is a program or a script",
    )
