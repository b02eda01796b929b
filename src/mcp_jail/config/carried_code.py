"""Commands that carry their code on the command line: `python -c`, `node -e`, `sh -c`, ...

Such a server is no file that somebody could have read or that a digest could pin; all of it stands
in an entry of a client's configuration, which is where attacks put it. It is told, never refused:
the jail holds it as it holds any other.
"""

from __future__ import annotations

import re
from typing import Final

from mcp_jail.config.launchers import Launcher

_NODE: Final = r"node|nodejs|tsx|ts-node|bun"

# By the program's name: options that take code, or load more of it before the server.
_CODE: Final = (
    (r"python[0-9.]*t?|pypy[0-9.]*", r"-[A-Za-z]*c|-", "runs code"),
    (_NODE, r"-e|-p|-pe|--eval|--print|-", "runs code"),
    (_NODE, r"-r|--require|--import|--preload|(?:--experimental-|--)loader",
     "loads other code first"),
    (r"deno", r"eval", "runs code"),
    (r"(?:ba|da|z|k|mk|a|fi|c|tc)?sh|pwsh|powershell", r"-[A-Za-z]*c|--command|-Command|-",
     "runs code"),
    (r"perl[0-9.]*", r"-[A-Za-z]*[eE]|-[mM].*", "runs code"),
    (r"ruby[0-9.]*|osascript|Rscript|elixir|julia|guile", r"-e|--eval", "runs code"),
    (r"ruby[0-9.]*", r"-r.*", "loads other code first"),
    (r"php[0-9.]*", r"-r|-B|-R", "runs code"),
    (r"lua(?:jit)?[0-9.]*", r"-e|-l", "runs code"),
    (r"npx|npm|bunx|pnpm", r"-c|--call", "runs code"),
    (r"vim?|nvim|emacs", r"-c|\+.*|--cmd|--eval", "runs code"),
    (r"find", r"-exec|-execdir|-ok", "runs another program"),
)  # fmt: skip

# Programs that start the one that follows; what stands before it are their options.
_STARTERS: Final = frozenset({
    "busybox", "toybox", "timeout", "nice", "nohup", "setsid", "stdbuf", "xargs", "ionice",
    "chrt", "taskset", "exec", "command", "sudo", "doas", "unshare", "setpriv", "script", "uv",
    "poetry", "pdm", "hatch", "pipenv", "pixi", "bundle", "mise", "asdf",
})  # fmt: skip
_AWK: Final = frozenset({"awk", "gawk", "mawk", "nawk"})

# Words of a command that are looked at; a chain of starters is never longer.
_WORDS: Final = 32


def carried_code(command: tuple[str, ...]) -> Launcher | None:
    """What to say of a command that carries its code; None for any other."""
    words = [*command[:_WORDS]]
    while words:
        program = words.pop(0).rpartition("/")[2]
        if program == "env":
            split = _of_env(words)
            if split is not None:
                return _said("env -S", "takes a command apart that stands in one word")
            continue
        if program in _AWK:
            return None if {"-f", "--file"} & {*words} or not words else _said(program, "runs code")
        found = _option(program, words)
        if found is not None or program not in _STARTERS:
            return found
        while words and (words[0].startswith("-") or _NUMBER.fullmatch(words[0])):
            words.pop(0)
        while words and words[0] in {"run", "exec", "x", "--"}:
            words.pop(0)
    return None


_NUMBER: Final = re.compile(r"[0-9.]+[smhd]?")


def _option(program: str, words: list[str]) -> Launcher | None:
    """The first option of a program that carries code; what follows its script is the script's."""
    for word in words:
        if not word.startswith(("-", "+")) and word != "eval":
            return None
        option = word.partition("=")[0]
        for programs, options, what in _CODE:
            if re.fullmatch(programs, program) and re.fullmatch(options, option):
                return _said(f"{program} {option}", what)
    return None


def _of_env(words: list[str]) -> str | None:
    """Take the options and variables of env(1) away; the word of `-S`, if there is one."""
    while words and (words[0].startswith("-") or "=" in words[0]):
        word = words.pop(0)
        if re.match(r"-[A-Za-z0]*S|--split-string", word):
            return word
        if word in {"-u", "--unset", "-C", "--chdir"} and words:
            words.pop(0)
    return None


def _said(name: str, what: str) -> Launcher:
    return Launcher(
        f"'{name}' {what} that stands in the command itself and not in a program of its own",
        "read all of it before you approve it; a server is a program or a script",
    )
