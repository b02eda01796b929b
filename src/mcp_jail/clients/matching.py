"""Which record belongs to which wrapped entry, by what the entry says; pure.

A client writes lists anew and a person renames servers, so neither a number nor a name tells whose
a record is. What the entry says does: its policy and the server's own command.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from mcp_jail.clients.document import KeyPath
from mcp_jail.clients.servers import Server
from mcp_jail.core.text.command_shown import shown_command
from mcp_jail.store.wrapped import Remembered, WrappedEntry, digest_of


class Match(msgspec.Struct, frozen=True):
    """The record of an entry, by its number; `trouble` where it cannot be told.

    `altered` where the entry starts something else than what was wrapped: says what that was.
    """

    number: int | None = None
    remembered: Remembered = Remembered()
    trouble: str = ""
    altered: str = ""


def digest_of_words(policy: str, command: Sequence[str]) -> str:
    """What a wrapped entry says, as its record has it."""
    return digest_of("\0".join([policy, "", *command]).encode())


def matched(servers: Iterable[Server], entries: Sequence[WrappedEntry]) -> dict[KeyPath, Match]:
    """The record of each entry that `wrap` wrote, by the entry's place."""
    said = {each.place: _says(each) for each in servers if each.ours and each.ours.command}
    policies = {each.place: each.ours.policy for each in servers if each.ours}
    alike = {
        place: [number for number, entry in enumerate(entries) if entry.says == says]
        for place, says in said.items()
    }
    claimed = {number for numbers in alike.values() for number in numbers}
    found = {}
    for place, says in said.items():
        if alike[place]:
            same = frozenset(other for other, its in said.items() if its == says)
            found[place] = _of_same(place, same, alike[place], entries)
        else:  # its command was edited; its policy is still its own
            free = [n for n, entry in enumerate(entries) if n not in claimed]
            mine = [n for n in free if entries[n].policy == policies[place]]
            found[place] = _altered(_one_of(mine, entries), entries)
    return found


def _says(server: Server) -> str:
    ours = server.ours
    return "" if ours is None else digest_of_words(ours.policy or "", ours.command)


def _of_same(
    place: KeyPath, same: frozenset[KeyPath], numbers: list[int], entries: Sequence[WrappedEntry]
) -> Match:
    """Entries that say the same may differ in what was taken out of them: then none may be gone."""
    here = [number for number in numbers if entries[number].path == place]
    if {entries[number].path for number in numbers} == same:
        return _one_of(here, entries)
    match = _one_of(numbers, entries)
    return msgspec.structs.replace(match, number=here[0]) if here and not match.trouble else match


def _altered(match: Match, entries: Sequence[WrappedEntry]) -> Match:
    if match.number is None:
        return match
    was = shown_command(entries[match.number].command)
    return msgspec.structs.replace(match, altered=f"'{was}'" if was else "not known word by word")


def _one_of(numbers: list[int], entries: Sequence[WrappedEntry]) -> Match:
    if not numbers:
        return Match()
    first = entries[numbers[0]].remembered
    if any(entries[number].remembered != first for number in numbers):
        return Match(trouble=_UNCLEAR)
    return Match(numbers[0], first)


_UNCLEAR = (
    "several entries that mcp-jail wrapped say the same and were moved since, so which of them had "
    "which variables cannot be told"
)
