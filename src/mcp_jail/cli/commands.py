"""The table of commands and the parser of the one that was asked for.

Each command is a module with an `EXAMPLE`, `add_arguments(parser)` and `run(arguments)`; one with
`TAKES_COMMAND` finds the words after `--` in `arguments.command`. Only the asked-for one is
imported.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from textwrap import fill
from typing import NoReturn

from mcp_jail import __version__
from mcp_jail.errors import ExitCode, UsageError

COMMANDS = {
    "run": "start a server in its jail; what a client starts in its place",
    "show": "what a server may touch and be told to do, and which wall holds it",
    "check": "what the policy says to one call; the very code that enforces",
    "why": "the last denials of a server, with the policy line that made them",
    "asks": "the calls that wait for your answer",
    "allow": "let a call pass that waits for you",
    "deny": "say no to a call that waits for you",
    "grants": "the answers that still count, and taking one back",
    "ps": "the servers that run in jails now",
    "log": "the audit: what was called, allowed, denied",
    "report": "what servers did over some days, added up by server and tool",
    "diff": "what a server says now against what you approved, word by word",
    "approve": "let a client see what you have read",
    "install": "fetch the package of a policy, once, in a jail, and pin it",
    "update": "a newer version of a pinned package, and what it changes",
    "prune": "remove installed packages that no policy pins any more",
    "try": "look at an unknown server in the tightest jail, without a client",
    "wrap": "put mcp-jail before the servers of your clients",
    "unwrap": "take it out again, to the byte",
    "trust": "let a policy file outside your own directory be used, as it is now",
    "schema": "the JSON Schema of the policy file, for editors",
    "doctor": "whether jails can be built and clients are wrapped, and the cures",
    "demo": "watch a hostile server without a jail and in one",
}

# Columns of a help: what the narrowest terminals have.
WIDTH = 79

USAGE = "usage: mcp-jail COMMAND [ARGUMENTS]"


def main(arguments: list[str]) -> int:
    """Carry out one command but `run`; its exit code."""
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        sys.stdout.write(overview())
        return ExitCode.OK if arguments else ExitCode.USAGE
    if arguments[0] in {"-V", "--version"}:
        sys.stdout.write(f"mcp-jail {__version__}\n")
        return ExitCode.OK
    name, *rest = arguments
    if name not in COMMANDS:
        raise UsageError(f"unknown command '{name}'", hint=_nearest(name))
    module = import_module(f"mcp_jail.cli.{name}")
    parser = _Parser(
        usage=getattr(module, "USAGE", None),
        prog=f"mcp-jail {name}",
        description=_folded((module.__doc__ or "").partition("\n\n")[2] or COMMANDS[name]),
        epilog=f"Example:\n{module.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    takes_command = getattr(module, "TAKES_COMMAND", False)
    own, command = _cut(rest) if takes_command else (rest, ())
    given, more = parser.parse_known_intermixed_args(own, argparse.Namespace(command=command))
    if more:
        hint = f"see mcp-jail {name} --help"
        if takes_command and not more[0].startswith("-"):
            policy = f"--policy {given.policy} " if given.policy else ""
            which = f"{given.name} " if given.name else policy
            hint = f"put -- before the server's command: mcp-jail {name} {which}-- {more[0]} ..."
        raise UsageError(f"unexpected '{more[0]}'", hint=hint)
    return int(module.run(given))


def overview() -> str:
    """The text of `mcp-jail --help`."""
    lines = [USAGE, "", "Start MCP servers in a jail and hold every message against a policy.", ""]
    lines += [f"  {name:<8} {text}" for name, text in COMMANDS.items()]
    lines += ["", "`mcp-jail COMMAND --help` says more, with an example."]
    return "\n".join(lines) + "\n"


def _folded(text: str) -> str:
    """Paragraphs folded for any terminal; what is laid out (indented, a list) is left as it is."""
    paragraphs = [each.strip("\n") for each in text.split("\n\n")]
    return "\n\n".join(each if _is_laid_out(each) else fill(each, WIDTH) for each in paragraphs)


def _is_laid_out(paragraph: str) -> bool:
    return any(line[:1] in {" ", "-", "*"} for line in paragraph.splitlines())


def _cut(words: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Our words and the server's, which come after `--` and are not ours to read."""
    if "--" not in words:
        return words, ()
    place = words.index("--")
    return words[:place], tuple(words[place + 1 :])


class _Parser(argparse.ArgumentParser):
    """argparse that reports mistakes the way all of mcp-jail does."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see {self.prog} --help")


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name, COMMANDS, n=1)
    return f"did you mean 'mcp-jail {found[0]}'?" if found else "see mcp-jail --help"
