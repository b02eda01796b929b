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
from wrap.sampled import PROGRAM, row, unwrap, without, wrap

CURSOR, CODEX, GOOSE, OPENCODE = row("cursor"), row("codex"), row("goose"), row("opencode")

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


@st.composite
def listed(draw: st.DrawFn, items: st.SearchStrategy[str], brackets: str) -> str:
    """Items in brackets, with anything that JSON with comments allows between them."""
    found = draw(st.lists(items, max_size=4))
    text = brackets[0] + draw(comments)
    for index, item in enumerate(found):
        is_last = index == len(found) - 1
        comma = draw(st.sampled_from(["", ","])) if is_last else ","
        text += draw(comments) + item + draw(comments) + comma + draw(comments)
    return text + brackets[1]


@st.composite
def json_entry(draw: st.DrawFn) -> str:
    command = draw(strings.filter(lambda raw: json.loads(raw).strip() != ""))
    parts = {"command": command}
    if draw(st.booleans()):
        parts["args"] = draw(listed(strings, "[]"))
    for name in draw(st.lists(st.sampled_from(["env", "timeout", "x"]), unique=True)):
        parts[name] = draw(others) if name != "env" else '{"A": "b", "LD_PRELOAD": "/c"}'
    keys = draw(st.permutations(list(parts)))
    members = [f"{json.dumps(key)}{draw(spaces)}:{draw(comments)}{parts[key]}" for key in keys]
    return (
        "{" + draw(spaces) + f"{draw(comments)},{draw(comments)}".join(members) + draw(spaces) + "}"
    )


@st.composite
def json_file(draw: st.DrawFn) -> str:
    servers = draw(st.dictionaries(names, json_entry(), max_size=3))
    inside = f",{draw(comments)}".join(f"{json.dumps(name)}: {e}" for name, e in servers.items())
    before, after = draw(others), draw(others)
    bom = draw(st.sampled_from(["", "\ufeff"]))
    body = f'"a": {before}, "servers":{draw(comments)}{{{inside}}}, "z": {after}'
    return bom + draw(spaces) + "{" + draw(comments) + body + draw(comments) + "}" + draw(spaces)


COMMENTED = row("vscode")  # the same shape, and its reader takes all of this


@given(text=json_file())
def test_json_comes_back_to_the_byte_however_it_is_laid_out(text: str) -> None:

    holds(text, COMMENTED)


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
    """The laws; `wrap` verifies besides that nothing but the entries' parts means another thing."""
    wrapped = wrap(text, known)
    assert taken_back(wrapped.text, wrapped.undo) == text
    assert wrap(wrapped.text, known).changes == []
    assert wrapped.text.count(PROGRAM) == len(wrapped.changes) + text.count(PROGRAM)
    back = unwrap(wrapped.text, known, wrapped.remembered) if wrapped.changes else wrapped.text
    again = wrap(back, known)
    assert meanings(again.changes) == meanings(wrapped.changes)
    if not any(each.variables for each in wrapped.remembered.values()):
        assert back == text


def meanings(changes: list[Change]) -> list[Any]:
    """What is made of each entry; whether an empty map of variables stays is a matter of layout."""
    return [
        (change.path, without(change.values, "env", "envs"), change.remembered.variables)
        for change in changes
    ]
