"""`mcp-jail check NAME TOOL [ARGUMENTS]`: what the policy says to one call.

Asks the very code that enforces, on the files as they are now. Ends with 0 for allow and 1 for ask
and deny, so that a script can hold a policy to its intentions.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from mcp_jail.cli.chosen import add_policy_arguments, policy_of
from mcp_jail.cli.for_programs import json_line
from mcp_jail.cli.out import bullet, heading
from mcp_jail.core.policy import Verdict
from mcp_jail.core.protocol import wire
from mcp_jail.core.rules.decide import Decision, ToolCall, decide, decide_prompt, decide_resource
from mcp_jail.errors import ExitCode, UsageError
from mcp_jail.proxy.patterns import fullmatch
from mcp_jail.proxy.prepare import prepare
from mcp_jail.sandbox.view import View

EXAMPLE = """\
  mcp-jail check filesystem write_file '{"path": "/home/me/projects/scratch/a.txt"}'
  mcp-jail check filesystem --resource file:///etc/passwd"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a call."""
    add_policy_arguments(parser)
    parser.add_argument("tool", nargs="?", metavar="TOOL", help="the tool that would be called")
    parser.add_argument(
        "arguments", nargs="?", metavar="ARGUMENTS", default="{}", help="its arguments, as JSON"
    )
    parser.add_argument("--resource", metavar="URI", help="judge the reading of a resource")
    parser.add_argument("--prompt", metavar="PROMPT", help="judge the getting of a prompt")
    parser.add_argument("--json", action="store_true", help="print the decision for a program")


def run(arguments: argparse.Namespace) -> int:
    """Print the decision."""
    if arguments.policy is not None and arguments.name is not None:
        # With --policy there is no NAME, so the first word is the tool.
        arguments.tool, arguments.arguments = arguments.name, arguments.tool or "{}"
        arguments.name = None
    decision = _decision(arguments)
    if arguments.json:
        sys.stdout.write(_as_json(decision))
    else:
        _for_people(decision)
        for name in _relative(arguments.arguments, decision):
            bullet(
                f"'{name}' is a relative path, which counts from where the server starts",
                note="give the whole path, or write server.cwd into the policy",
            )
    return ExitCode.OK if decision.verdict is Verdict.ALLOW else ExitCode.NEGATIVE


def _decision(arguments: argparse.Namespace) -> Decision:
    name, file = policy_of(arguments)
    asked = [arguments.tool, arguments.resource, arguments.prompt]
    if sum(each is not None for each in asked) != 1:
        raise UsageError("give one of TOOL, --resource URI and --prompt PROMPT")
    prepared = prepare(name=name, policy_file=file, command=(), stand_in=True)
    book = prepared.judged.book
    if arguments.resource is not None:
        return decide_resource(arguments.resource, book)
    if arguments.prompt is not None:
        return decide_prompt(arguments.prompt, book)
    given = _arguments(arguments.arguments)
    call = ToolCall(arguments.tool, given, frozenset(given))
    return decide(call, book, View(prepared.plan, fullmatch))


def _arguments(text: str) -> dict[str, Any]:
    """The arguments as the wire would read them, so that what it refuses is refused here too."""
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + text.encode() + b"}"
    message = wire.parse(line.replace(b"\n", b" "))
    if isinstance(message, wire.Request):
        return message.params
    example = """e.g. '{"path": "/home/me/a.txt"}'"""
    if not text.lstrip().startswith("{"):
        raise UsageError(f"the arguments must be a JSON object, {example}")
    reason = message.reason if isinstance(message, wire.BadLine) else "not an object"
    raise UsageError(f"the arguments are not what a call can have: {reason}", hint=example)


def _relative(text: str, decision: Decision) -> list[str]:
    """The arguments that were refused for their place and do not say where that is."""
    if " must lie under " not in decision.reason:
        return []
    given = _arguments(text)
    return [
        name
        for name, value in given.items()
        if isinstance(value, str) and not value.startswith("/") and f"'{name}'" in decision.reason
    ]


def _for_people(decision: Decision) -> None:
    heading(decision.verdict.value)
    where = "" if decision.where is None else f" ({decision.where})"
    bullet(f"by {decision.rule}{where}")
    if decision.verdict is not Verdict.ALLOW:
        bullet(f"because {decision.reason}", note=decision.hint)


def _as_json(decision: Decision) -> str:
    shown = {
        "verdict": decision.verdict.value,
        "rule": decision.rule,
        "where": None if decision.where is None else str(decision.where),
        "reason": decision.reason,
        "hint": decision.hint,
    }
    return json_line(shown)
