"""An entry wrapped and unwrapped again, as splices; pure.

The command's own characters move to the head of the arguments, and back. What that cannot undo by
itself (an entry without arguments, a command line in one text, variables that load code) is
remembered beside the file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

import msgspec

from mcp_jail.clients.catalogue import Row, Syntax
from mcp_jail.clients.document import (
    Document,
    DocumentError,
    Items,
    KeyPath,
    Members,
    Node,
    Style,
    Text,
    plain,
    quoted,
)
from mcp_jail.clients.launches import Launch
from mcp_jail.clients.our_entries import HEAD, OUR_HOME, wrapped_words
from mcp_jail.clients.servers import Server
from mcp_jail.clients.splices import (
    Splice,
    drop_first,
    drop_members,
    put_all,
    put_first,
    put_member,
    replaced,
)
from mcp_jail.core.loaders import is_loader_variable
from mcp_jail.store.wrapped import Remembered


class Change(msgspec.Struct, frozen=True):
    """The splices of one entry, and what its holder then means."""

    path: KeyPath  # of the holder
    splices: tuple[Splice, ...]
    values: dict[str, Any]  # key -> value; None: the key is gone
    remembered: Remembered = Remembered()


def wrap_entry(
    document: Document,
    server: Server,
    *,
    program: str,
    policy: str,
    is_file: Callable[[str], bool] = lambda _path: False,
) -> Change:
    """The change that puts mcp-jail before a server; DocumentError where it cannot be."""
    launch = _launch(server)
    if moving := sorted(OUR_HOME & launch.variables.keys()):
        raise DocumentError(
            f"it sets {moving[0]}, so mcp-jail would look for its policy elsewhere",
            hint=f"take {moving[0]} out of the entry; in the jail HOME is one of its own anyway",
        )
    ours = wrapped_words(policy)
    remembered, splices, values = _without_loaders(document, launch)
    if launch.shape.args is None:
        raws = [quoted(word) for word in (program, *ours)]
        head = put_first(document, _items(launch.command.value), raws)
        values[launch.shape.command] = [program, *ours, *launch.words]
        return Change(launch.path, (head, *splices), values, remembered)
    words = command_words(server, is_file=is_file)
    raws, remembered = _moved(document, launch, words, remembered)
    raws = [*(quoted(word) for word in ours), *raws]
    splices.append(replaced(launch.command.value, quoted(program)))
    if launch.args is None:
        listed, key = f"[{', '.join(raws)}]", launch.shape.args
        splices.append(put_member(document, launch.holder, key, listed, launch.command))
        remembered = msgspec.structs.replace(remembered, without_args=True)
    else:
        splices.append(put_first(document, _items(launch.args.value), raws))
    values |= {launch.shape.command: program, launch.shape.args: [*ours, *words]}
    return Change(launch.path, tuple(splices), values, remembered)


def _moved(
    document: Document, launch: Launch, words: tuple[str, ...], remembered: Remembered
) -> tuple[list[str], Remembered]:
    """The command as items of a list, and what of its writing they do not keep."""
    raw = document.raw(launch.command.value)
    if words == launch.words:
        items, moved = [_movable(document, launch.command.value)], words[:1]
    else:
        items, moved = [quoted(word) for word in words], words
    if items == [raw] or "\n" in raw:  # of several lines, the step back to the byte knows
        return items, remembered
    meant = launch.words[0]
    return items, msgspec.structs.replace(remembered, line=raw, meant=meant, words=moved)


def command_words(
    server: Server, *, is_file: Callable[[str], bool] = lambda _path: False
) -> tuple[str, ...]:
    """The server's command in words; a whole line in one text is split as its client would."""
    words = _launch(server).words
    is_line = server.row.takes_lines and len(words) == 1 and len(words[0].split()) > 1
    if not is_line or is_file(words[0]):
        return words
    if re.search(r"[|&;<>`\n]|\$\(", words[0]):
        raise DocumentError(
            "its command is a line for a shell",
            hint="put the line into a script, and name the script as the command",
        )
    try:
        return tuple(shlex.split(words[0]))
    except ValueError:
        raise DocumentError("its command is a line with an open quote") from None


def loaders_of(server: Server) -> dict[str, str]:
    """The variables of an entry that would run code in our own process."""
    variables = _launch(server).variables
    return {name: value for name, value in variables.items() if is_loader_variable(name)}


def unwrap_entry(document: Document, server: Server, remembered: Remembered) -> Change:
    """The change that takes mcp-jail out again, by what the entry says now."""
    launch, ours = _launch(server), server.ours
    if ours is None or not ours.command:
        raise DocumentError("mcp-jail did not write this entry as it is")
    splices, values = _loaders_back(document, launch, remembered)
    if launch.shape.args is None:
        splices.append(drop_first(document, _items(launch.command.value), HEAD + 1))
        values[launch.shape.command] = list(ours.command)
        return Change(launch.path, tuple(splices), values)
    if launch.args is None:
        raise DocumentError("mcp-jail did not write this entry as it is")
    args = _items(launch.args.value)
    gone = HEAD + 1
    raw = _movable(document, args.items[HEAD])
    values[launch.shape.command] = ours.command[0]
    if remembered.line and ours.command[: len(remembered.words)] == remembered.words:
        gone, raw = HEAD + len(remembered.words), _line_again(launch, server.row, remembered)
        values[launch.shape.command] = remembered.meant
    splices.append(replaced(launch.command.value, raw))
    if remembered.without_args and gone == len(args.items):
        splices += drop_members(document, launch.holder, frozenset({launch.args.key}))
        values[launch.shape.args] = None
    else:
        splices.append(drop_first(document, args, gone))
        values[launch.shape.args] = list(ours.command[gone - HEAD :])
    return Change(launch.path, tuple(splices), values)


def _line_again(launch: Launch, row: Row, remembered: Remembered) -> str:
    """The command as it stood in the file; anew where a client has put it between brackets since.

    There a text without quotes means something else in YAML.
    """
    is_tight = row.syntax is Syntax.YAML and launch.holder.style is Style.FLOW
    if is_tight and remembered.line[0] not in "'\"":
        return quoted(remembered.meant)
    return remembered.line


def _launch(server: Server) -> Launch:
    if server.launch is None:
        raise DocumentError(server.reason or "it starts no command")
    return server.launch


def _items(node: Node) -> Items:
    if not isinstance(node, Items):
        raise DocumentError("its arguments are no list")
    return node


def _movable(document: Document, node: Node) -> str:
    """A text as it can stand elsewhere: its own characters, or the same value in quotes."""
    if not isinstance(node, Text):
        raise DocumentError("its command is no text")
    return document.raw(node) if node.is_movable else quoted(node.value)


def _without_loaders(
    document: Document, launch: Launch
) -> tuple[Remembered, list[Splice], dict[str, Any]]:
    """Variables that would run code in our own process, taken out of the entry."""
    if launch.env is None or not isinstance(launch.env.value, Members):
        return Remembered(), [], {}
    env = launch.env.value
    taken = {member.key for member in env.members if is_loader_variable(member.key)}
    if not taken:
        return Remembered(), [], {}
    known = launch.variables
    missing = sorted(taken - known.keys())
    if missing:
        raise DocumentError(f"its variable '{missing[0]}' is no text")
    variables = {name: known[name] for name in known if name in taken}
    splices = drop_members(document, env, frozenset(taken))
    left = {name: value for name, value in _values(env).items() if name not in taken}
    # A map that is there only by the dotted keys of its members goes with the last of them.
    is_gone = not left and env.style is Style.TABLE and document.text[env.start] != "["
    return Remembered(variables=variables), splices, {launch.shape.env: None if is_gone else left}


def _loaders_back(
    document: Document, launch: Launch, remembered: Remembered
) -> tuple[list[Splice], dict[str, Any]]:
    """The variables that were taken out, at the end of those that are there."""
    known, before = launch.variables, remembered.variables
    back = {name: value for name, value in before.items() if name not in known}
    raws = {name: quoted(value) for name, value in back.items()}
    if not back:
        return [], {}
    key = launch.shape.env
    if launch.env is None:
        pairs = ", ".join(f"{quoted(name)}{document.colon}{raw}" for name, raw in raws.items())
        put = put_member(document, launch.holder, key, f"{{{pairs}}}", launch.command)
        return [put], {key: back}
    env = launch.env.value
    if not isinstance(env, Members):
        raise DocumentError(f"its '{key}' is no map")
    values = {key: _values(env) | back}
    if not env.members:
        return [put_all(document, env, raws)], values
    last = env.members[-1]
    return [put_member(document, env, name, raw, last) for name, raw in raws.items()], values


def _values(env: Members) -> dict[str, Any]:
    value: dict[str, Any] = plain(env)
    return value
