"""A first policy for one server: what its client's entry says it needs, and nothing allowed.

Directories come from the arguments and the variables of the entry, hosts and tools from the
server's profile where there is one. What a tool says of itself may close it and never open it. The
text is read back as a run would read it, so that no name in it can have become another rule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Final

import msgspec

from mcp_jail.config.command_line import in_words
from mcp_jail.config.loading import load
from mcp_jail.config.profile import Profile
from mcp_jail.config.recognised import profile_of
from mcp_jail.config.starter_text import ToolLine, write
from mcp_jail.config.starter_wants import Offers, Standing, wants
from mcp_jail.core.policy import Policy, Server, Tools, Verdict
from mcp_jail.core.rules.globs import is_glob
from mcp_jail.core.spec import Access
from mcp_jail.core.text.telling import is_telling_flag, shape_spans
from mcp_jail.errors import JailError, PolicyError, UsageError

__all__ = ["ServerEntry", "ToolLine", "starter_policy"]


class ServerEntry(msgspec.Struct, frozen=True):
    """A server as a client's configuration has it; `name` is what the policy will be called."""

    name: str
    command: tuple[str, ...]
    env: dict[str, str] = {}
    cwd: str | None = None


def starter_policy(
    entry: ServerEntry,
    *,
    home: str,
    offers: Offers,
    tools: Mapping[str, ToolLine] | None = None,
) -> str:
    """The text of a policy; JailError where the entry or the tools cannot be written as one.

    `offers` says what stands at a path and whether a jail gives it (`sandbox.offers`). `tools` are
    those a look at the server found, which are then each named.
    """
    words = _in_words(entry.command, offers)
    profile = profile_of(words)
    wanted = wants(words, entry.env, entry.cwd, profile, home=home, offers=offers)
    rules = _rules(profile, tools)
    command = None if _is_unwritable(words) else words
    text = write(entry.name, command, profile, wanted, entry.env, rules)
    verdicts = {tool: line.verdict for tool, line in rules.items() if not is_glob(tool)}
    meant = Policy(
        name=entry.name,
        server=None if command is None else Server(command=command),
        network=wanted.network,
        filesystem=wanted.filesystem,
        env=wanted.env,
        tools=Tools(rules={**verdicts}),
    )
    _check(text, meant)
    return text


def _in_words(command: tuple[str, ...], offers: Offers) -> tuple[str, ...]:
    """The command word by word, as it is where it cannot be taken apart: a start tells that."""

    def is_program(path: str) -> bool:
        return offers(path, Access.READ_ONLY).standing is Standing.FILE

    with suppress(UsageError):
        return in_words(command, is_program)
    return command


def _rules(profile: Profile | None, seen: Mapping[str, ToolLine] | None) -> dict[str, ToolLine]:
    """A rule for each tool that is known; the stricter one where the server itself closes it."""
    known: dict[str, ToolLine] = {}
    if profile is not None:
        known = {name: ToolLine(Verdict.ALLOW, "reads") for name in profile.tools.reading}
        known |= {name: ToolLine(Verdict.ASK, "acts") for name in profile.tools.acting}
    if seen is None:
        return known
    return {name: _closed(known.get(name), line) for name, line in seen.items()}


def _closed(known: ToolLine | None, seen: ToolLine) -> ToolLine:
    if known is None or seen.verdict is Verdict.DENY:
        return seen
    # The profile's word, not the server's own, is what opens a tool.
    return ToolLine(known.verdict, f"{known.note}; {seen.note}")


def _is_unwritable(command: tuple[str, ...]) -> bool:
    """Whether a command has what is no policy's to keep: a secret, or words the client replaces."""
    pairs = pairwise(command)
    return (
        not command
        or any(_REPLACED.search(word) or shape_spans(word) for word in command)
        or any(is_telling_flag(flag) and not word.startswith("-") for flag, word in pairs)
        or any(is_telling_flag(word.partition("=")[0]) for word in command if "=" in word)
    )


# `${V}`, `$V`, `{env:V}`, `{file:p}`, `{{V}}`, `%V%`: clients put values in their place.
_REPLACED: Final = re.compile(r"\$\{|\$[A-Za-z_]|\{(?:env|file|input):|\{\{|%[A-Za-z_]+%")


def _check(text: str, meant: Policy) -> None:
    """Read the policy as a run would; it must say what was meant and no more."""
    try:
        said = load(text, "the first policy").policy
    except PolicyError as error:
        raise JailError(f"a policy cannot be written for this server: {error.message}") from None
    if said != meant:
        raise JailError("a policy cannot be written for this server: it has odd names")
