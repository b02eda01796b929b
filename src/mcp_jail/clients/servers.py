"""The servers in a client's file: where each stands, and whether its entry can be wrapped.

Only the very key paths of the client's row are looked at, so a text such as `mcpServers` in a
history, a cache or another client's settings is no server.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from enum import Enum

import msgspec

from mcp_jail.clients.catalogue import (
    ADDRESS_KEYS,
    NOT_WITH_A_COMMAND,
    RUN_BY_CLIENT,
    Row,
    Syntax,
)
from mcp_jail.clients.document import (
    Document,
    DocumentError,
    Items,
    KeyPath,
    Members,
    Node,
    Other,
    Text,
)
from mcp_jail.clients.elsewhere import anchored, leads_elsewhere, merged_into, unknown_servers
from mcp_jail.clients.launches import Launch, inside, launch_of
from mcp_jail.clients.our_entries import IsOurs, Ours, ours_in
from mcp_jail.clients.variables_files import HINT, why_steering
from mcp_jail.clients.yaml_spans import MERGE


class State(Enum):
    """What `wrap` makes of an entry."""

    BARE = "starts its server itself"
    WRAPPED = "starts mcp-jail"
    FOREIGN = "starts something of our name that is not this mcp-jail"
    LEFT = "nothing to wrap"
    REFUSED = "cannot be wrapped"


class Server(msgspec.Struct, frozen=True):
    """One entry of a client's file."""

    row: Row
    path: KeyPath
    name: str
    state: State
    reason: str = ""
    launch: Launch | None = None
    ours: Ours | None = None
    node: Node | None = None
    is_inert: bool = False  # certainly starts nothing here, as it stands
    hint: str = ""  # what a person does about the reason
    elsewhere: tuple[Node, ...] = ()  # what its words for other places may stand for
    is_unknown: bool = False  # no entry, but a place at which its client may find any number

    @property
    def place(self) -> KeyPath:
        """Where it stands, by its name: a number in a list is another's once one is taken out."""
        return (*self.path[:-1], self.name)

    @property
    def within(self) -> str:
        """The project an entry is for, where its client keeps all projects in one file."""
        for keys in self.row.servers:
            if "*" in keys and len(self.path) == len(keys) + 1:
                return str(self.path[keys.index("*")])
        return ""


def servers_in(document: Document, row: Row, is_ours: IsOurs) -> list[Server]:
    """All entries of a client's file, in its order; DocumentError where it reads in two ways."""
    found = [*_unknown(document.root, row)]
    for path, holder in _holders(document.root, row):
        entries = list(_entries(holder, path, row))
        names = Counter(name for _, name, _ in entries)
        for place, name, node in entries:
            if names[name] > 1:
                why = "it stands twice under one name"
                server = Server(row, place, name, State.REFUSED, why)
            elif isinstance(holder, Items) and row.name_key is None:
                why = f"it stands in a list, which is not how {row.name} is known to keep servers"
                server = Server(row, place, name, State.REFUSED, why)
            else:
                server = _judged(row, place, name, node, is_ours)
            found.append(msgspec.structs.replace(server, node=node))
    others = anchored(document.root)
    return [
        msgspec.structs.replace(each, elsewhere=others)
        if each.node is not None and leads_elsewhere(each.node)
        else each
        for each in found
    ]


def _unknown(root: Node, row: Row) -> Iterator[Server]:
    """Servers of which only the place is known: told as one entry for each such place."""
    for path, (node, why) in unknown_servers(root, row).items():
        yield Server(
            row,
            path,
            str(path[-1]),
            State.REFUSED,
            why,
            node=node,
            hint="write the servers themselves here, without aliases and merge keys",
            is_unknown=True,
        )


def _holders(root: Node, row: Row) -> Iterator[tuple[KeyPath, Node]]:
    found = False
    for keys in row.servers:
        for path, node in _walk(root, (), keys):
            if not (_is_nested(path, row) and _is_entry(node, row)):
                found = True
                yield path, node
    if row.flat and not found and isinstance(root, Members):
        yield (), root


def _walk(node: Node, path: KeyPath, keys: tuple[str, ...]) -> Iterator[tuple[KeyPath, Node]]:
    if not keys:
        if isinstance(node, Members | Items):
            yield path, node
        return
    if not isinstance(node, Members):
        return
    twice = [key for key in node.doubled() if keys[0] in {"*", key}]
    if twice:
        raise DocumentError(
            f"'{twice[0]}' stands twice in one map, and programs differ in which counts"
        )
    for member in node.members:
        if keys[0] in {"*", member.key}:
            yield from _walk(member.value, (*path, member.key), keys[1:])


def _entries(holder: Node, path: KeyPath, row: Row) -> Iterator[tuple[KeyPath, str, Node]]:
    if isinstance(holder, Members):
        nested = {keys[-1] for keys in row.servers if keys[:-1] == path and len(keys) > 1}
        lists = {
            member.key
            for member in holder.members
            if member.key in nested and not _is_entry(member.value, row)
        }
        for member in holder.members:
            # Beside a list of servers stand other servers, and settings, which are no maps.
            is_setting = bool(lists) and not isinstance(member.value, Members)
            is_merge = member.key == MERGE and bool(merged_into(holder, row))
            if member.key in lists or is_merge or is_setting:
                continue
            yield (*path, member.key), member.key, member.value
    elif isinstance(holder, Items):
        for index, item in enumerate(holder.items):
            named = item.get(row.name_key or "name") if isinstance(item, Members) else None
            is_text = named is not None and isinstance(named.value, Text)
            name = named.value.value if is_text else f"number {index + 1}"  # type: ignore[union-attr]
            yield (*path, index), name, item


def _is_nested(path: KeyPath, row: Row) -> bool:
    """Whether a list of servers lies in a map that may be one itself."""
    return any(keys == path[:-1] for keys in row.servers)


def _is_entry(node: Node, row: Row) -> bool:
    """Whether what stands where a list of servers would is a server of that name."""
    if not isinstance(node, Members):
        return False
    addresses = (node.get(key) for key in ADDRESS_KEYS)
    is_address = any(found is not None and isinstance(found.value, Text) for found in addresses)
    return is_address or isinstance(launch_of(node, (), row), Launch)


def _judged(row: Row, path: KeyPath, name: str, node: Node, is_ours: IsOurs) -> Server:
    why = _why_unreadable(node)
    if why or not isinstance(node, Members):
        return Server(row, path, name, State.REFUSED, why)
    is_address = any(_deep(node, row, key) for key in ADDRESS_KEYS)
    found = launch_of(node, path, row)
    if isinstance(found, Launch) and not _is_whole(path, found):
        name = repr(name) if _HALF.search(name) else name
        return Server(row, path, name, State.REFUSED, "it has half a character in it")
    if found is None:
        return _without_command(row, path, name, node, is_address=is_address)
    if isinstance(found, str):
        return Server(row, path, name, State.REFUSED, found)
    is_mixed = row.syntax is Syntax.TOML and any(node.get(key) for key in NOT_WITH_A_COMMAND)
    if is_address or is_mixed:
        why = "its entry has both a command and a URL"
        return Server(row, path, name, State.REFUSED, why)
    if own := next((key for key in RUN_BY_CLIENT if node.get(key)), None):
        why = f"its entry has both a command and '{own}', which its client may run itself"
        return Server(row, path, name, State.REFUSED, why)
    steered = why_steering(found.variables_file)
    hint = HINT if steered else ""
    ours, why = ours_in(found.words, found.set_names, is_ours), _not_for_a_jail(found)
    if ours is None and row.takes_lines and len(found.words) == 1:
        ours = ours_in(tuple(found.words[0].split()), found.set_names, is_ours)
        ours = None if ours is None else msgspec.structs.replace(ours, command=())
    if ours is not None:
        ours = msgspec.structs.replace(ours, why_not=ours.why_not or steered)
        state = State.FOREIGN if ours.why_not else State.WRAPPED
        return Server(row, path, name, state, ours.why_not, found, ours, hint=hint)
    if steered and not why:
        return Server(row, path, name, State.REFUSED, steered, found, hint=hint)
    is_off = _is_switched_off(node, row)
    state = State.LEFT if why else State.BARE
    hint = _INSTALL if why else ""
    return Server(row, path, name, state, why, found, is_inert=is_off, hint=hint)


def _without_command(
    row: Row, path: KeyPath, name: str, node: Members, *, is_address: bool
) -> Server:
    """An entry that names no program: reached elsewhere, or built into its client."""
    why = "it is reached at a URL, nothing is started here" if is_address else NO_COMMAND
    runs = next((key for key in RUN_BY_CLIENT if node.get(key)), None)
    if runs is None:
        return Server(row, path, name, State.LEFT, why, is_inert=True)
    why = f"its client itself runs its '{runs}', which no jail of ours would hold"
    return Server(row, path, name, State.LEFT, why, is_inert=_is_switched_off(node, row))


def _is_switched_off(node: Members, row: Row) -> bool:
    """Whether its client says that the entry is off: by `disabled`, or by another key's no."""
    member = node.get(row.disabled) if row.disabled else None
    if member is None or not isinstance(member.value, Other):
        return False
    return member.value.value is (row.disabled == "disabled")


def _is_whole(path: KeyPath, launch: Launch) -> bool:
    """Whether all texts are characters; half of a pair of them can stand in no other file."""
    variables = launch.reaching
    texts = (*map(str, path), *launch.words, *variables, *variables.values(), launch.cwd or "")
    return all(text.isascii() or not _HALF.search(text) for text in texts)


_HALF = re.compile("[\ud800-\udfff]")

NO_COMMAND = "it starts no command"


def _why_unreadable(node: Node) -> str:
    if node.oddity:
        return f"its entry is {node.oddity}"
    if not isinstance(node, Members):
        return "its entry is no map of keys"
    twice = _doubled(node)
    return "" if twice is None else f"its entry has the key '{twice}' twice"


def _deep(node: Members, row: Row, key: str) -> bool:
    holders = [node, *(inside(node, shape) for shape in row.shapes)]
    return any(holder is not None and holder.get(key) for holder in holders)


def _doubled(node: Members) -> str | None:
    for twice in node.doubled():
        return twice
    deeper = (member.value for member in node.members)
    found = (_doubled(value) for value in deeper if isinstance(value, Members))
    return next((key for key in found if key is not None), None)


# Programs that only speak to a daemon, which starts the server somewhere else.
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})


def _not_for_a_jail(launch: Launch) -> str:
    """Why an entry would be dead behind us; by its name alone, wherever the program lies."""
    program = os.path.basename((launch.words[0].split() or [""])[0])
    if program.removesuffix(".exe") not in _CONTAINERS:
        return ""
    return f"'{program}' has a daemon start it, which no jail of ours would hold"


_INSTALL = "install the server itself and name its program"
