"""Wrapped and unwrapped: to the byte, and by value after the client wrote the file anew."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any, Final

import pytest
import yaml

from mcp_jail.clients.catalogue import Row, Syntax
from mcp_jail.clients.document import DocumentError, plain
from mcp_jail.clients.reading import read
from mcp_jail.clients.servers import State, servers_in
from mcp_jail.clients.splices import taken_back
from mcp_jail.clients.wrapping import unwrap_entry, wrap_entry
from mcp_jail.store.wrapped import Remembered
from wrap.sampled import ALL, PROGRAM, Sample, bare, file_of, is_ours, row, unwrap, wrap

each_sample = pytest.mark.parametrize(
    "sample", ALL, ids=lambda sample: f"{sample.file}-{sample.row.client}"
)

# How a text may have been saved; all are bytes that must survive.
SAVED: Final[dict[str, Callable[[str], str]]] = {
    "as it is": lambda text: text,
    "CRLF": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n"),
    "no last line end": lambda text: text.rstrip("\r\n"),
    "two last line ends": lambda text: text + "\n\n",
    "mark of byte order": lambda text: "\ufeff" + text,
}


@each_sample
@pytest.mark.parametrize("saved", SAVED)
def test_unwrapped_is_as_before_to_the_byte(sample: Sample, saved: str) -> None:
    text = SAVED[saved](sample.text)
    wrapped = wrap(text, sample.row)
    assert len(wrapped.changes) == sample.bare
    assert wrapped.text != text
    assert taken_back(wrapped.text, wrapped.undo) == text


@each_sample
@pytest.mark.parametrize("saved", SAVED)
def test_a_second_wrap_changes_nothing(sample: Sample, saved: str) -> None:
    wrapped = wrap(SAVED[saved](sample.text), sample.row)
    assert wrap(wrapped.text, sample.row).changes == []


@each_sample
def test_what_the_entries_say_is_enough_to_unwrap_to_the_byte(sample: Sample) -> None:
    """No step is known, only what no entry can say."""
    wrapped = wrap(sample.text, sample.row)
    back = unwrap(wrapped.text, sample.row, wrapped.remembered)
    if sample.file == "librechat.yaml":  # its folded command cannot stand in a list
        back = back.replace('command: "python"', "command: >-\n            python")
    assert back == sample.text


@each_sample
def test_only_the_parts_that_start_a_process_differ(sample: Sample) -> None:
    """Judged by readers that are not ours."""
    wrapped = wrap(sample.text, sample.row)
    before, after = parsed(sample.text, sample.row), parsed(wrapped.text, sample.row)
    for change in wrapped.changes:
        old, new = at(before, change.path), at(after, change.path)
        command = new["cmd" if "cmd" in new else "command"]
        words = command if isinstance(command, list) else [command, *new["args"]]
        assert words[:2] == [PROGRAM, "run"]
        assert words[3] == "--"
        for key in {*change.values}:
            old.pop(key, None)
            new.pop(key, None)
    assert before == after


@each_sample
@pytest.mark.parametrize("way", ["two", "four", "tabs", "sorted and compact"])
def test_a_file_that_its_client_wrote_anew_is_unwrapped_by_value(sample: Sample, way: str) -> None:
    wrapped = wrap(sample.text, sample.row)
    anew = written_anew(wrapped.text, sample.row, way)
    back = unwrap(anew, sample.row, {} if sample.row.name_key else wrapped.remembered)
    assert parsed(back, sample.row) == parsed(sample.text, sample.row)


@each_sample
def test_nothing_is_unwrapped_that_was_not_wrapped(sample: Sample) -> None:
    document = read(sample.text, sample.file, sample.row.syntax)
    servers = servers_in(document, sample.row, is_ours)
    assert [each for each in servers if each.state is State.BARE]
    for server in servers:
        if server.ours is None or not server.ours.command:
            with pytest.raises(DocumentError):
                unwrap_entry(document, server, Remembered())


CURSOR: Final = row("cursor")
CODEX: Final = row("codex")
GOOSE: Final = row("goose")


def entries(*entry: str) -> str:
    return file_of(**{f"s{number}": text for number, text in enumerate(entry)})


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (entries('{"command": "npx"}'), CURSOR),
        (entries('{"command": "npx", /* why */ "env": {}}'), CURSOR),
        (entries('{"command": "npx",\n  // note\n  "type": "stdio"}'), CURSOR),
        (entries('{"args": [ ], "command": "npx"}'), CURSOR),
        (entries('{"args": [\n], "command": "npx"}'), CURSOR),
        (entries('{"command": "npx -y \'a b\' c"}'), CURSOR),
        (entries('{"command": "npx -y a", "args": []}'), CURSOR),
        (entries('{"command": "\\u006e\\/px", "args": ["\\ud83d\\ude00"]}'), CURSOR),
        ("mcp_servers.a.command = 'x'\n", CODEX),
        ("[mcp_servers.a]\n  command = 'C:\\x'  # c\n\n[b]\n", CODEX),
        ('[mcp_servers.a]\ncommand = """x"""', CODEX),
        ("mcp_servers = { a = { command = 'x' } }\n", CODEX),
        ("[mcp_servers]\na.command = 'x'\na.args = ['y']\n", CODEX),
        ("extensions:\n  a:\n    cmd: npx # c\n    type: stdio\n", GOOSE),
        ("extensions:\n  a: {cmd: npx, args: []}\n", GOOSE),
        ("extensions:\n  a:\n    args:\n    - x\n    cmd: 'npx'\n", GOOSE),
        ('extensions: {a: {cmd: npx, args: [x, "y"]}}', GOOSE),
    ],
    ids=range(17),
)
def test_odd_ways_to_write_an_entry_come_back_to_the_byte(text: str, known: Row) -> None:
    for saved in SAVED.values():
        content = saved(text)
        wrapped = wrap(content, known)
        assert len(wrapped.changes) == 1
        assert taken_back(wrapped.text, wrapped.undo) == content
        assert unwrap(wrapped.text, known, wrapped.remembered) == content


@pytest.mark.parametrize("line", ["a, b", "x: y", "npx -y", "'a, b'", '"a, b"', "a # b", "{a"])
@pytest.mark.parametrize("is_flow", [True, False], ids=["flow", "block"])
def test_a_command_comes_back_in_a_style_that_its_client_chose_anew(
    line: str, is_flow: bool
) -> None:
    command = yaml.safe_load(f"[{line}]")[0] if line[0] in "'\"" else line
    text = f"extensions:\n  a:\n    cmd: {line if line != 'x: y' else json.dumps(line)}\n"
    if line == "{a":
        text, command = text.replace("{a", "'{a'"), "{a"
    if line == "a # b":
        command = "a"
    wrapped = wrap(text, GOOSE)
    values = yaml.safe_load(wrapped.text)
    anew = yaml.safe_dump(values, default_flow_style=is_flow)
    back = yaml.safe_load(unwrap(anew, GOOSE, wrapped.remembered))
    assert back == {"extensions": {"a": {"cmd": command}}}


LOADED: Final = [
    ('{"command": "x", "env": {"LD_PRELOAD": "/a.so"}}', CURSOR),
    ('{"command": "x", "env": {"LD_PRELOAD": "/a.so", "A": "1"}}', CURSOR),
    ('{"command": "x", "env": {"A": "1", "LD_PRELOAD": "/a.so"}}', CURSOR),
    ('{"command": "x", "env": {"PYTHONPATH": "b", "A": "1", "LD_PRELOAD": "/a.so"}}', CURSOR),
    ('{"command": "x", "env": {"A": "1", /* c */ "LD_PRELOAD": "/a.so", "B": "2"}}', CURSOR),
    ("env = { LD_PRELOAD = '/a.so', A = '1' }", CODEX),
    ("env.LD_PRELOAD = '/a.so'\nenv.A = '1'\n", CODEX),
    ("[mcp_servers.s0.env]\nLD_PRELOAD = '/a.so' # c\nA = '1'", CODEX),
    ("[mcp_servers.s0.env]\nLD_PRELOAD = '/a.so'\n", CODEX),
    ("[mcp_servers.s0.env]\nLD_PRELOAD = '/a.so'\nPYTHONPATH = 'b'", CODEX),
    ("env.A = '1'\nenv.PYTHONPATH = 'b'\nenv.LD_PRELOAD = '/a.so'", CODEX),
    ("    envs:\n      PYTHONPATH: b\n      LD_PRELOAD: /a.so", GOOSE),
    ("    envs:\n      LD_PRELOAD: /a.so\n      A: '1'\n", GOOSE),
    ("    envs:\n      A: '1'\n      LD_PRELOAD: /a.so\n", GOOSE),
    ("    envs:\n      LD_PRELOAD: /a.so\n", GOOSE),
    ("    envs: {LD_PRELOAD: /a.so, A: '1'}\n", GOOSE),
]


def loaded(part: str, known: Row) -> str:
    match known.syntax:
        case Syntax.TOML:
            return f"[mcp_servers.s0]\ncommand = 'x'\n{part}"
        case Syntax.YAML:
            return f"extensions:\n  s0:\n    cmd: x\n{part}"
        case _:
            return entries(part)


@pytest.mark.parametrize(("part", "known"), LOADED, ids=range(len(LOADED)))
def test_variables_that_load_code_are_taken_out_and_come_back(part: str, known: Row) -> None:
    text = loaded(part, known)
    for saved in SAVED.values():
        content = saved(text)
        wrapped = wrap(content, known)
        assert "LD_PRELOAD" not in wrapped.text
        assert "PYTHONPATH" not in wrapped.text
        (change,) = wrapped.changes
        assert change.remembered.variables["LD_PRELOAD"] == "/a.so"
        assert taken_back(wrapped.text, wrapped.undo) == content
        back = unwrap(wrapped.text, known, wrapped.remembered)
        assert parsed(back, known) == parsed(content, known)


@pytest.mark.parametrize(
    "line", ["a && b", "a | b", "a; b", "a > b", "a $(b) c", "a `b`", "a 'b"], ids=str
)
def test_a_line_that_only_a_shell_understands_is_refused(line: str) -> None:
    document = read(entries(json.dumps({"command": line})), "f", CURSOR.syntax)
    (server,) = bare(document, CURSOR)
    with pytest.raises(DocumentError, match="its command is a line"):
        wrap_entry(document, server, program=PROGRAM, policy="p")


def test_a_path_with_blanks_is_no_line() -> None:
    text = entries('{"command": "/opt/my tools/server"}')
    document = read(text, "f", CURSOR.syntax)
    (server,) = bare(document, CURSOR)
    change = wrap_entry(document, server, program=PROGRAM, policy="p", is_file=lambda _path: True)
    assert change.values["args"] == ["run", "p", "--", "/opt/my tools/server"]


def test_an_entry_that_somebody_else_pointed_at_us_is_not_taken_for_ours() -> None:
    text = entries('{"command": "/tmp/mcp-jail", "args": ["run", "--policy", "/tmp/any.yaml"]}')
    document = read(text, "f", CURSOR.syntax)
    (server,) = servers_in(document, CURSOR, is_ours)
    assert server.state is State.FOREIGN
    assert "which is not this mcp-jail" in server.reason
    assert server.ours is not None
    assert server.ours.command == ()


def parsed(text: str, known: Row) -> Any:
    """The values of a text by a reader that is not ours."""
    text = text.removeprefix("\ufeff")
    match known.syntax:
        case Syntax.TOML:
            return tomllib.loads(text)
        case Syntax.YAML:
            return yaml.safe_load(text)
        case Syntax.JSON:
            return json.loads(text)
        case _:  # nothing else here reads comments; a space in place of each is plain JSON
            return plain(read(text, "f", known.syntax).root)


def at(values: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        values = values[key]
    return values


def written_anew(text: str, known: Row, way: str) -> str:
    """A text as a client would write its values: indented by two or four, by tabs, or compact."""
    values = parsed(text, known)
    if known.syntax is Syntax.TOML:
        return as_toml(values, " " * {"two": 2, "four": 4, "tabs": 1}.get(way, 0), way)
    if known.syntax is Syntax.YAML:
        is_flow = None if way != "tabs" else True
        return yaml.safe_dump(
            values,
            indent={"two": 2, "four": 4}.get(way, 8),
            sort_keys=way == "sorted and compact",
            default_flow_style=is_flow or False,
        )
    indents: dict[str, int | str] = {"two": 2, "four": 4, "tabs": "\t"}
    indent = indents.get(way)
    if indent is None:
        return json.dumps(values, separators=(",", ":"), sort_keys=True)
    return json.dumps(values, indent=indent, ensure_ascii=way == "four")


def as_toml(values: Any, indent: str, way: str) -> str:
    """Values as TOML; `sorted and compact` puts each server on a line of its own."""

    def value(each: Any) -> str:
        match each:
            case dict():
                pairs = (f"{json.dumps(key)} = {value(inner)}" for key, inner in each.items())
                return "{" + ", ".join(pairs) + "}"
            case list() if way in {"four", "tabs"}:
                return "[\n" + "".join(f"{indent}{value(one)},\n" for one in each) + "]"
            case list():
                return "[" + ", ".join(map(value, each)) + "]"
            case _:
                return json.dumps(each)

    tables = {key: each for key, each in values.items() if isinstance(each, dict)}
    lines = [f"{key} = {value(each)}" for key, each in values.items() if key not in tables]
    for name, table in tables.items():
        for key, inner in table.items():
            if way == "sorted and compact" or not isinstance(inner, dict):
                lines += [f"[{name}]"] if f"[{name}]" not in lines else []
                lines += [f"{indent}{json.dumps(key)} = {value(inner)}"]
            else:
                lines += [f"[{name}.{json.dumps(key)}]"]
                ordered = sorted(inner) if way == "tabs" else list(inner)
                lines += [f"{indent}{json.dumps(each)} = {value(inner[each])}" for each in ordered]
    return "\n".join(lines) + "\n"
