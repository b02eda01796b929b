"""The parts of an entry that start a process, and where each of them stands."""

from __future__ import annotations

from typing import Final

import msgspec

from mcp_jail.clients.catalogue import (
    ADDRESS_KEYS,
    NAMED_VARIABLES,
    RUN_BY_CLIENT,
    VARIABLES_FILE,
    Row,
    Shape,
)
from mcp_jail.clients.document import Items, KeyPath, Member, Members, Node, Other, Text
from mcp_jail.clients.elsewhere import may_bring, merged_into
from mcp_jail.core.loaders import is_loader_variable


class Launch(msgspec.Struct, frozen=True):
    """The parts of an entry that start a process, with where they stand."""

    shape: Shape
    holder: Members
    path: KeyPath  # of the holder
    command: Member
    args: Member | None
    env: Member | None
    words: tuple[str, ...]
    cwd: str | None
    named: tuple[str, ...] = ()  # variables that the client hands on by name
    variables_file: str = ""

    @property
    def set_names(self) -> tuple[str, ...]:
        """The names of all variables the entry sets."""
        if self.env is None or not isinstance(self.env.value, Members):
            return ()
        return tuple(member.key for member in self.env.value.members)

    @property
    def variables(self) -> dict[str, str]:
        """The variables the entry sets, as far as they are texts."""
        if self.env is None or not isinstance(self.env.value, Members):
            return {}
        found = self.env.value.members
        return {one.key: one.value.value for one in found if isinstance(one.value, Text)}

    @property
    def reaching(self) -> dict[str, str]:
        """The variables that reach the server, each with its value where the entry says one."""
        known = self.variables
        named = [name for name in self.named if not is_loader_variable(name)]
        return {name: known.get(name, "") for name in (*self.set_names, *named)}


def launch_of(entry: Members, path: KeyPath, row: Row) -> Launch | str | None:
    """The parts that start a process; a text says why they cannot be changed."""
    for shape in row.shapes:
        holder = inside(entry, shape)
        command = holder.get(shape.command) if holder else None
        if holder is None or command is None:
            continue
        if (shape.args is None) is not isinstance(command.value, Items) and len(row.shapes) > 1:
            continue
        if holder is not entry and holder.oddity:
            return f"its '{shape.inside}' is {holder.oddity}"
        merged = (*merged_into(entry, row), *merged_into(holder, row))
        if may_bring(merged, _told_keys(holder, shape)):
            return _MERGED
        at = path if shape.inside is None else (*path, shape.inside)
        env = holder.get(shape.env)
        if env is not None and merged_into(env.value, row):
            return f"its '{shape.env}' may have variables merged in from elsewhere (<<)"
        return _read_launch(entry, holder, at, shape, command)
    return _MERGED if merged_into(entry, row) else None


def _told_keys(holder: Members, shape: Shape) -> set[str]:
    """The keys that say what is started, and how, and that an entry does not have itself."""
    ours = {shape.command, shape.args or "", shape.env, shape.cwd, shape.inside or ""}
    more = {*NAMED_VARIABLES, VARIABLES_FILE, *ADDRESS_KEYS, *RUN_BY_CLIENT}
    return {key for key in ours | more if key and holder.get(key) is None}


# Also variables, by which mcp-jail itself would do something else.
_MERGED: Final = "a part of what it starts may be merged in from elsewhere (<<)"


def inside(entry: Members, shape: Shape) -> Members | None:
    """The map of an entry in which a shape's keys stand, if it is there."""
    if shape.inside is None:
        return entry
    deeper = entry.get(shape.inside)
    return deeper.value if deeper and isinstance(deeper.value, Members) else None


def _read_launch(
    entry: Members, holder: Members, path: KeyPath, shape: Shape, command: Member
) -> Launch | str:
    args = None if shape.args is None else holder.get(shape.args)
    env = holder.get(shape.env)
    for member in (command, args, env):
        if member is not None and member.value.oddity:
            return f"its '{member.key}' is {member.value.oddity}"
    for member in (command, args, env):
        if member is not None and isinstance(member.value, Members):
            for twice in member.value.doubled():
                return f"its '{member.key}' has the key '{twice}' twice"
    words = _words(command.value, args, is_list=shape.args is None)
    if isinstance(words, str):
        return words
    cwd = holder.get(shape.cwd) or entry.get(shape.cwd)
    folder = cwd.value.value if cwd and isinstance(cwd.value, Text) else None
    file = holder.get(VARIABLES_FILE) or entry.get(VARIABLES_FILE)
    is_none = file is None or (isinstance(file.value, Other) and file.value.value is None)
    if file is not None and not is_none and not isinstance(file.value, Text):
        return f"its '{VARIABLES_FILE}' is no text"
    variables_file = file.value.value if file and isinstance(file.value, Text) else ""
    return Launch(
        shape, holder, path, command, args, env, words, folder, _named(holder), variables_file
    )


def _named(holder: Members) -> tuple[str, ...]:
    """The variables of an entry's lists of names; an item is a name, or a map that has one."""
    lists = [found.value for key in NAMED_VARIABLES if (found := holder.get(key))]
    items = [item for listed in lists if isinstance(listed, Items) for item in listed.items]
    maps = [item.get("name") for item in items if isinstance(item, Members)]
    nodes = [*items, *(found.value for found in maps if found is not None)]
    return tuple(node.value for node in nodes if isinstance(node, Text))


def _words(command: Node, args: Member | None, *, is_list: bool) -> tuple[str, ...] | str:
    if is_list:
        if not isinstance(command, Items):
            return "its 'command' is no list"
        return _texts(command, "command") if command.items else "its 'command' is empty"
    if not isinstance(command, Text) or not command.value.strip():
        return "its command is no text"
    if args is None:
        return (command.value,)
    if not isinstance(args.value, Items):
        return f"its '{args.key}' is no list"
    rest = _texts(args.value, args.key)
    return rest if isinstance(rest, str) else (command.value, *rest)


def _texts(items: Items, key: str) -> tuple[str, ...] | str:
    texts = []
    for number, item in enumerate(items.items, 1):
        if item.oddity:
            return f"item {number} of its '{key}' is {item.oddity}"
        if not isinstance(item, Text):
            return f"item {number} of its '{key}' is no text"
        texts.append(item.value)
    return tuple(texts)
