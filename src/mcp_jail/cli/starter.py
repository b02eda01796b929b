"""A first policy for a server that was looked at: its command, its tools, nothing allowed.

What a tool says of itself (`readOnlyHint`, `destructiveHint`) is the server's word, so it may close
a tool and never open one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from mcp_jail.cli.inert_text import inert
from mcp_jail.config import load
from mcp_jail.core.lock import ItemKind, Lock, kind_of
from mcp_jail.core.policy import Verdict
from mcp_jail.errors import JailError, PolicyError

# Characters of a tool's own description that stand beside its rule.
SAID: Final = 60

HEAD: Final = """\
# yaml-language-server: $schema=./policy.schema.json
# (mcp-jail schema > policy.schema.json, beside this file, lets an editor complete and check it)
#
# A first policy, made by `mcp-jail try`. It shares nothing and allows no call. Open what you need.
name: {name}
server:
  command: {command}
# Directories the server may see, such as ~/projects.
filesystem:
  read_only: []
  read_write: []
# A rule is allow, ask or deny. What stands behind # are the server's own words about itself.
tools:
  default: ask
"""


def starter_policy(name: str, command: tuple[str, ...], seen: Lock) -> str:
    """The text of a policy; JailError where the server's names cannot be written as rules."""
    tools = {
        key.partition("/")[2]: pins[-1].value
        for key, pins in sorted(seen.items.items())
        if kind_of(key) is ItemKind.TOOL
    }
    text = HEAD.format(name=name, command=_yaml(list(command)))
    plain = {tool: each for tool, each in tools.items() if not {"*", "?"} & {*tool}}
    if plain:
        text += "  rules:\n" + "".join(f"    {line}\n" for line in _rules(plain))
    odd = len(tools) - len(plain)
    if odd:
        text += f"# {odd} more with * or ? in their names, which a rule reads as any name\n"
    _check(text, {tool: _verdict(each) for tool, each in plain.items()})
    return text


def _rules(tools: dict[str, Any]) -> Iterator[str]:
    for tool, value in tools.items():
        said = " ".join(inert(str(value.get("description", ""))).split())
        cut = said[:SAID] + ("…" if len(said) > SAID else "")
        line = f"{_yaml(tool)}: {_verdict(value).value}"
        note = _hint(value) + (f"; {cut}" if cut and cut.isprintable() else "")
        yield f"{line:<28}  # {note}"


def _verdict(tool: dict[str, Any]) -> Verdict:
    return Verdict.DENY if _hint(tool) == _DESTROYS else Verdict.ASK


_READS: Final = "only reads"
_DESTROYS: Final = "may destroy"
_SILENT: Final = "no hint"


def _hint(tool: dict[str, Any]) -> str:
    notes = tool.get("annotations")
    hints = notes if type(notes) is dict else {}
    if hints.get("destructiveHint") is True:
        return _DESTROYS
    return _READS if hints.get("readOnlyHint") is True else _SILENT


def _yaml(value: Any) -> str:
    """A value as YAML: JSON is a part of it."""
    return json.dumps(value, ensure_ascii=False)


def _check(text: str, rules: dict[str, Verdict]) -> None:
    """Read the policy as a run would: a name may not have become another rule."""
    try:
        loaded = load(text, "the first policy").policy
    except PolicyError as error:
        raise JailError(f"a policy cannot be written for this server: {error.message}") from None
    if loaded.tools.rules != rules:
        raise JailError("a policy cannot be written for this server: its tools have odd names")
