"""Laws of wrapping, on files that nobody has written: any layout, any values around the servers."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.clients.catalogue import Row
from mcp_jail.clients.splices import taken_back
from mcp_jail.clients.wrapping import Change
from wrap.sampled import PROGRAM, Wrapped, row, unwrap, without, wrap
from wrap.test_wrapping import at, parsed

CODEX, GOOSE = row("codex"), row("goose")

words = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\u2028\u2029\x85"),
    max_size=8,
)
names = st.text(st.sampled_from("abAB-_. é\"'\\#"), min_size=1, max_size=5)
spaces = st.text(st.sampled_from(" \t\n\r"), max_size=3)
comments = st.sampled_from(["", " ", "/* , ] } */", "// {\n", "\r\n  "])
strings = words.flatmap(
    lambda word: st.sampled_from([json.dumps(word), json.dumps(word, ensure_ascii=False)])
)
others = st.recursive(
    st.sampled_from(["1", "-0.5e3", "true", "null", '"mcpServers"', '{"command": "x"}']) | strings,
    lambda inner: st.lists(inner, max_size=3).map(lambda items: "[" + ",".join(items) + "]"),
    max_leaves=4,
)


# What may stand between two tokens, for readers that are strict and for those that are not.
STRICT, LOOSE = spaces, comments


@st.composite
def listed(
    draw: st.DrawFn, items: st.SearchStrategy[str], brackets: str, between: st.SearchStrategy[str]
) -> str:
    """Items in brackets, with anything that the language allows between them."""
    found = draw(st.lists(items, max_size=4))
    text = brackets[0] + draw(between)
    for index, item in enumerate(found):
        is_last = index == len(found) - 1
        comma = "," if not is_last else draw(st.sampled_from(["", "," if between is LOOSE else ""]))
        text += draw(between) + item + draw(between) + comma + draw(between)
    return text + brackets[1]


@st.composite
def json_entry(draw: st.DrawFn, between: st.SearchStrategy[str]) -> str:
    command = draw(strings.filter(lambda raw: json.loads(raw).strip() != ""))
    parts = {"command": command}
    if draw(st.booleans()):
        parts["args"] = draw(listed(strings, "[]", between))
    for name in draw(st.lists(st.sampled_from(["env", "timeout", "x"]), unique=True)):
        parts[name] = draw(others) if name != "env" else '{"A": "b", "LD_PRELOAD": "/c"}'
    keys = draw(st.permutations(list(parts)))
    members = [f"{json.dumps(key)}{draw(spaces)}:{draw(between)}{parts[key]}" for key in keys]
    comma = f"{draw(between)},{draw(between)}"
    return "{" + draw(spaces) + comma.join(members) + draw(spaces) + "}"


@st.composite
def json_file(draw: st.DrawFn, between: st.SearchStrategy[str], servers_key: str) -> str:
    servers = draw(st.dictionaries(names, json_entry(between), max_size=3))
    comma = f",{draw(between)}"
    inside = comma.join(f"{json.dumps(name)}: {entry}" for name, entry in servers.items())
    before, after = draw(others), draw(others)
    bom = draw(st.sampled_from(["", "\ufeff"]))
    body = f'"a": {before}, "{servers_key}":{draw(between)}{{{inside}}}, "z": {after}'
    return bom + draw(spaces) + "{" + draw(between) + body + draw(between) + "}" + draw(spaces)


COMMENTED, PLAIN = row("vscode"), row("junie")


@given(text=json_file(LOOSE, "servers"))
def test_json_with_comments_comes_back_to_the_byte_however_it_is_laid_out(text: str) -> None:
    holds(text, COMMENTED)


@given(text=json_file(STRICT, "mcpServers"))
def test_json_comes_back_to_the_byte_however_it_is_laid_out(text: str) -> None:
    holds(text, PLAIN)


toml_strings = words.flatmap(
    lambda word: st.sampled_from(
        [json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")]
        + ([f"'{word}'", f"'''{word}'''"] if "'" not in word and "\x7f" not in word else [])
    )
)
toml_blanks = st.sampled_from(["", " ", "\n", " # ] }\n", "\r\n\t"])


@st.composite
def toml_array(draw: st.DrawFn) -> str:
    items = draw(st.lists(toml_strings, max_size=3))
    text = "[" + draw(toml_blanks)
    for index, item in enumerate(items):
        comma = draw(st.sampled_from(["", ","])) if index == len(items) - 1 else ","
        text += draw(toml_blanks) + item + draw(toml_blanks) + comma + draw(toml_blanks)
    return text + "]"


@st.composite
def toml_server(draw: st.DrawFn, number: int) -> str:
    command = draw(toml_strings.filter(lambda raw: tomllib.loads(f"a = {raw}")["a"].strip() != ""))
    parts = [f"command = {command}"]
    if draw(st.booleans()):
        parts.append(f"args = {draw(toml_array())}")
    env = draw(
        st.sampled_from(["", "env = { A = 'b', LD_PRELOAD = '/c' }", "env.LD_PRELOAD = '/c'"])
    )
    parts += [env] if env else []
    parts = list(draw(st.permutations(parts)))
    note, newline = draw(st.sampled_from(["", " # c"])), draw(st.sampled_from(["\n", "\r\n"]))
    match draw(st.sampled_from(["table", "dotted", "indented"])):
        case "table":
            return newline.join(
                [f"[mcp_servers.s{number}]{note}", *(f"{p}{note}" for p in parts), ""]
            )
        case "dotted":
            lines = [f"mcp_servers . s{number} . {part}{note}" for part in parts]
            return newline.join([*lines, ""])
        case _:
            return newline.join(
                [f" [ mcp_servers.'s{number}' ]", *(f"\t{p}{note}" for p in parts), ""]
            )


@st.composite
def toml_file(draw: st.DrawFn) -> str:
    servers = [draw(toml_server(number)) for number in range(draw(st.integers(0, 3)))]
    dotted = [each for each in servers if each.startswith("mcp")]
    tables = [each for each in servers if not each.startswith("mcp")]
    head = draw(st.sampled_from(["", "# c\n", 'model = "x" # y\n']))
    tail = draw(st.sampled_from(["", "[projects.'/a']\ntrust = true\n", "[[x]]\ny = 1"]))
    return draw(st.sampled_from(["", "\ufeff"])) + head + "".join([*dotted, *tables]) + tail


@given(text=toml_file())
def test_toml_comes_back_to_the_byte_however_it_is_laid_out(text: str) -> None:
    try:
        tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        return  # tables that dotted keys have defined already
    holds(text, CODEX)


@st.composite
def yaml_file(draw: st.DrawFn) -> str:
    safe = st.text(st.sampled_from("abc/.-_@1"), min_size=1, max_size=6)
    scalars = safe.flatmap(
        lambda word: st.sampled_from([f"x{word}", f"'{word}'", f'"{word}"', f"'{word} {word}'"])
    )
    step, newline = draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from(["\n", "\r\n"]))
    indent, lines = " " * step, ["# head", "extensions:"]
    for number in range(draw(st.integers(0, 3))):
        command, args = draw(scalars), draw(st.none() | st.lists(scalars, max_size=3))
        note = draw(st.sampled_from(["", " # c", "   #"]))
        parts = [[f"cmd: {command}{note}"]]
        if args is not None and draw(st.booleans()):
            parts.append([f"args: [{', '.join(args)}]{note}"])
        elif args:
            dash = draw(st.sampled_from(["", indent])) + "-" + " " * draw(st.integers(1, 3))
            parts.append([f"args:{note}", *(f"{dash}{word}{note}" for word in args)])
        if draw(st.booleans()):
            parts.append([f"envs:{note}", f"{indent}LD_PRELOAD: /a.so{note}", f"{indent}A: b"])
        lines.append(f"{indent}s{number}:{note}")
        for part in draw(st.permutations(parts)):
            lines += [f"{indent * 2}{line}" for line in part]
    lines.append(draw(st.sampled_from(["# end", "GOOSE_MODEL: x", "other: {extensions: {}}"])))
    end = draw(st.sampled_from(["", newline, newline * 2]))
    return newline.join(lines) + end


@given(text=yaml_file())
def test_yaml_comes_back_to_the_byte_however_it_is_laid_out(text: str) -> None:
    yaml.safe_load(text)
    holds(text, GOOSE)


def holds(text: str, known: Row) -> None:
    """The laws of one text."""
    wrapped = wrap(text, known)
    if known is not COMMENTED:  # of JSON with comments, no other reader is at hand
        differs_only_in(wrapped, text, known)
    assert taken_back(wrapped.text, wrapped.undo) == text
    assert wrap(wrapped.text, known).changes == []
    assert wrapped.text.count(PROGRAM) == len(wrapped.changes) + text.count(PROGRAM)
    back = unwrap(wrapped.text, known, wrapped.remembered) if wrapped.changes else wrapped.text
    again = wrap(back, known)
    assert meanings(again.changes) == meanings(wrapped.changes)
    if not any(each.variables for each in wrapped.remembered.values()):
        assert back == text


def differs_only_in(wrapped: Wrapped, text: str, known: Row) -> None:
    """Hold by a reader that is not ours that nothing but the parts of the changes differs."""
    before, after = parsed(text, known), parsed(wrapped.text, known)
    for change in wrapped.changes:
        old, new = at(before, change.path), at(after, change.path)
        for key, value in change.values.items():
            assert new.get(key) == value
            old.pop(key, None)
            new.pop(key, None)
    assert before == after


def meanings(changes: list[Change]) -> list[Any]:
    """What is made of each entry; whether an empty map of variables stays is a matter of layout."""
    return [
        (change.path, without(change.values, "env", "envs"), change.remembered.variables)
        for change in changes
    ]
