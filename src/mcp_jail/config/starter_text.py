"""A first policy as text: what its reader may want to change, with the reason beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from mcp_jail.config.profile import Profile
from mcp_jail.config.starter_wants import Wants, is_secret
from mcp_jail.core.policy import Home, NetworkMode, Verdict
from mcp_jail.core.rules.globs import is_glob

# Columns of a comment, and where the one beside a value begins.
WIDTH: Final = 80
BESIDE: Final = 32

HEAD: Final = """\
# yaml-language-server: $schema=./policy.schema.json
# (mcp-jail schema > policy.schema.json, beside this file, lets an editor complete and check it)
#
"""


def is_first_policy(text: str) -> bool:
    """Whether a policy was begun by a command of ours, for a server that some entry starts."""
    return text.startswith(HEAD)


class ToolLine(msgspec.Struct, frozen=True):
    """The verdict on a tool in a first policy, and a word on why."""

    verdict: Verdict
    note: str


def write(
    name: str,
    command: tuple[str, ...] | None,
    profile: Profile | None,
    wants: Wants,
    env: Mapping[str, str],
    rules: Mapping[str, ToolLine],
) -> str:
    """The text of a policy; a `command` of None stays in the client's entry."""
    lines = (
        *_intent(profile),
        f"name: {quoted(name) if name.isdecimal() else name}",
        *_server(command),
        *_network(wants),
        *_filesystem(name, wants),
        *_environment(name, wants, env),
        *_tools(rules),
        *_comment("Nothing the server says of itself reaches a model before you approved it."),
        "lock: {first: review}",
    )
    return HEAD + "".join(f"{line}\n" for line in lines)


def _intent(profile: Profile | None) -> Iterator[str]:
    yield from _comment(
        "A first policy, made from how the server is started. Read it once; open what you need, "
        "close what you do not."
    )
    if profile is not None:
        yield from _comment(f"{profile.name}: {profile.what}")
        for note in profile.notes:
            yield from _comment(note)


def _server(command: tuple[str, ...] | None) -> Iterator[str]:
    if command is not None:
        yield "server:"
        yield f"  command: {_list(command)}"
        return
    yield from _comment(
        "The command stays in the client's file: it has a secret, or words that the client "
        "replaces."
    )


def _network(wants: Wants) -> Iterator[str]:
    yield ""
    if wants.network.mode is NetworkMode.NONE:
        yield from _comment(
            "No network. To open a host: {mode: allowlist, allow: [api.example.com]}"
        )
        yield "network: {mode: none}"
        return
    yield from _comment(
        "These hosts and no others. A name that leads into a private network needs "
        "`private: allow` too."
    )
    yield "network:"
    yield "  mode: allowlist"
    yield "  allow:"
    for host in wants.network.allow:
        yield from _item(str(host), wants.why.get(str(host), ""))


def _filesystem(name: str, wants: Wants) -> Iterator[str]:
    files = wants.filesystem
    yield ""
    yield from _comment(
        "What the server sees of your files. A directory under read_write instead can be written."
    )
    for sentence in wants.left:
        yield from _comment(f"Left out: {sentence}")
    yield "filesystem:"
    for key, paths in (("read_only", files.read_only), ("read_write", files.read_write)):
        yield f"  {key}:" if paths else f"  {key}: []"
        for path in paths:
            yield from _item(path, wants.why.get(path, ""))
    if files.home is Home.KEEP:
        yield from _comment(
            f"Its HOME is a directory of its own that stays: ~/.local/share/mcp-jail/homes/{name}",
            "  ",
        )
        yield "  home: keep"


def _environment(name: str, wants: Wants, env: Mapping[str, str]) -> Iterator[str]:
    passed, fixed = wants.env.pass_, wants.env.set
    if not passed and not fixed:
        return
    yield ""
    yield from _comment("Its variables: by name from the client's entry, or with a value of yours.")
    secrets = [name for name in passed if is_secret(name, env.get(name, ""))]
    if secrets:
        what = "secrets, so their values are" if len(secrets) > 1 else "a secret, so its value is"
        yield from _comment(
            f"{', '.join(secrets)} may be {what} not written here. The keyring "
            f"can keep {secrets[0]} instead of the client's file: take it out of pass, write "
            f"secret: {{{secrets[0]}: keyring:{name}}}, and store it: "
            f"keyring set {name} {secrets[0]}"
        )
    yield "env:"
    if passed:
        yield f"  pass: [{', '.join(passed)}]"
    if fixed:
        yield "  set:"
        yield from (f"    {name}: {quoted(value)}" for name, value in fixed.items())


def _tools(rules: Mapping[str, ToolLine]) -> Iterator[str]:
    yield ""
    yield from _comment("Each call is allowed, asked about, or denied.")
    yield "tools:"
    yield "  default: ask"
    plain = {tool: line for tool, line in rules.items() if not is_glob(tool)}
    if plain:
        yield "  rules:"
        written = {
            f"    {quoted(tool)}: {line.verdict.value}": line for tool, line in plain.items()
        }
        # A name that is longer than a line has its note behind it, and moves no other.
        column = max([BESIDE, *(len(each) for each in written if len(each) <= WIDTH)])
        for text, line in written.items():
            yield _beside(text, line.note if line.note.isprintable() else "", column)
    odd = len(rules) - len(plain)
    if odd:
        yield f"# {odd} more with * or ? in their names, which a rule reads as any name"
    yield ""


def _item(value: str, why: str) -> Iterator[str]:
    yield _beside(f"    - {value if _PLAIN.fullmatch(value) else quoted(value)}", why)


def _beside(line: str, note: str, column: int = BESIDE) -> str:
    return f"{line:<{column}}  # {note}" if note else line


def _comment(sentence: str, indent: str = "") -> Iterator[str]:
    """A sentence behind #, folded; what could end the comment is told apart."""
    line = f"{indent}#"
    for word in _inert(sentence).split():
        if len(line) + 1 + len(word) > WIDTH and line != f"{indent}#":
            yield line
            line = f"{indent}#"
        line += f" {word}"
    yield line


def _inert(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _list(words: Iterable[str]) -> str:
    return f"[{', '.join(map(quoted, words))}]"


def quoted(text: str) -> str:
    """A text between quotes, as YAML reads it back: JSON, with what the reader refuses escaped."""
    return _ESCAPED.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(found: re.Match[str]) -> str:
    return f"\\U{ord(found[0]):08x}"


# What needs no quotes: a path or a host that no reader takes for a number or a mapping.
_PLAIN: Final = re.compile(r"[~/a-z][A-Za-z0-9_./-]*")
# The characters that `config.tree` refuses in the text itself.
_ESCAPED: Final = re.compile(
    "[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff\U000e0000-\U000e0fff]"
)
