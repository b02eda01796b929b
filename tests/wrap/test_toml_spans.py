"""TOML by spans: the values are tomllib's, and each span holds its own."""

from __future__ import annotations

import tomllib

import pytest

from mcp_jail.clients.document import DocumentError, Other, Text, plain
from mcp_jail.clients.toml_spans import read_toml
from wrap.sampled import SAMPLES
from wrap.test_json_spans import nodes

TRICKY = [
    "",
    "# only a comment",
    'a.b."c d".e = 1\na.b.f = [1, 2,]\n',
    "[a]\n[a.b]\n[c]\nx = 1\n[a.d]\ny = 2\n",
    '[[s]]\nname = "x"\n[[s]]\nname = "y"\n[s.env]\nA = 1\n[[s.deep]]\nk = 1\n',
    "a = { b = 1, c = { d = [ { e = 2 } ] } }\n",
    "a = { b.c = 1, b.d = 2 }\n",
    'a = """\nx\\\n   y ""q"" """\nb = \'\'\'\n\'q\' \'\'\'\n',
    'a = \'\'\'x\'\'\'\'\nb = """y"""""\n',
    "d = 1979-05-27T07:32:00Z # c\nt = 07:32:00\nf = -1.5e3\ni = +inf\nh = 0xDEAD_beef\n",
    '"" = 1\n\'q.r\' = 2\n"\\u00e9" = 3\n',
    "[ a . 'b' ]  # c\n c . d = 4 \n",
    "a = [ # c\n  'x', # ]\n\n  \"#\" # y\n]\n",
    "x = 1\r\n[t]\r\ny = '''\r\nz'''\r\n",
    "[a]\n  [a.b]\n  k = true\n[a.b.c]\nz = 1\n",
]


@pytest.mark.parametrize("text", TRICKY, ids=range(len(TRICKY)))
def test_it_reads_what_tomllib_reads(text: str) -> None:
    for content in (text, text.rstrip(), text.replace("\r\n", "\n").replace("\n", "\r\n")):
        assert plain(read_toml(content, "f").root) == tomllib.loads(content)


@pytest.mark.parametrize("name", ["codex-config.toml", "codex-dotted.toml"])
def test_each_span_of_a_sample_holds_its_value(name: str) -> None:
    text = (SAMPLES / name).read_bytes().decode()
    document = read_toml(text, name)
    scalars = [node for node in nodes(document.root) if isinstance(node, Text | Other)]
    assert len(scalars) > 10 or name == "codex-dotted.toml"
    for node in scalars:
        assert tomllib.loads(f"v = {document.raw(node)}")["v"] == plain(node)


@pytest.mark.parametrize("text", ["a = ", "a = 1\na = 2", "[a]\n[a]", "a = 1 b = 2", "\x00", "= 1"])
def test_what_tomllib_refuses_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="not TOML"):
        read_toml(text, "f")


def test_a_mark_of_byte_order_is_kept_out_of_the_values() -> None:
    assert plain(read_toml("\ufeffa = 1\n", "f").root) == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        "x." * 700 + "y = 1\n",
        "x." * 30_000 + "y = 1\n",
        "[" + "x." * 700 + "y]\nz = 1\n",
        "[[" + "x." * 700 + "y]]\nz = 1\n",
        "x = {" + "a." * 700 + "b = 1}\n",
        "[" + "x." * 90 + "y]\n" + "z." * 90 + "a = 1\n",
    ],
    ids=["key", "long key", "table", "list", "inline", "both"],
)
def test_keys_with_very_many_dots_are_refused_in_words(text: str) -> None:
    with pytest.raises(DocumentError, match="nested deeper than 100"):
        read_toml(text, "f.toml")


def test_keys_with_many_dots_are_read() -> None:
    text = "[" + "x." * 60 + "y]\n" + "z." * 30 + "a = {b = [{c = 1}]}\n"
    assert plain(read_toml(text, "f.toml").root) == tomllib.loads(text)
