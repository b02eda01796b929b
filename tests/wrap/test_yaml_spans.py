"""YAML by spans: the values are PyYAML's own, and what stands elsewhere is marked as odd."""

from __future__ import annotations

import pytest
import yaml

from mcp_jail.clients.document import DocumentError, Members, Text, plain
from mcp_jail.clients.yaml_spans import read_yaml
from wrap.sampled import SAMPLES, without
from wrap.test_json_spans import nodes

TRICKY = [
    "a: 1\nb: [x, 'y', \"z\\n\"]\n",
    "a:\n- x\n- y: 1\n  z: 2\n-   - deep\n",
    "a: {b: c, 'd': [e]}\n",
    "a: >-\n  folded\n  text\n\nb: |\n  kept\n  text\n",
    "a: on\nb: yes\nc: 'on'\nd: 2001-01-01\ne: 0x1F\nf: ~\ng:\nh: 1_000\n",
    "? key\n: value\n",
    "--- # doc\na: b # c\n...\n",
    "a: 'it''s'\nb: plain with spaces # c\nc: http://x:1/y#z\n",
    'a: "multi\n  line"\nb: plain\n  goes on\n',
    "1: x\nfalse: y\n",
]


@pytest.mark.parametrize("text", TRICKY, ids=range(len(TRICKY)))
def test_it_reads_what_pyyaml_reads(text: str) -> None:
    for content in (text, text.rstrip("\n"), text.replace("\n", "\r\n"), "\ufeff" + text):
        expected = yaml.safe_load(content)
        found = plain(read_yaml(content, "f").root)
        assert list(found.values()) == list(expected.values())


@pytest.mark.parametrize("name", ["continue-config.yaml", "librechat.yaml"])
def test_each_text_of_a_sample_stands_in_its_span(name: str) -> None:
    text = (SAMPLES / name).read_bytes().decode()
    document = read_yaml(text, name)
    found = [node for node in nodes(document.root) if isinstance(node, Text)]
    assert len(found) > 10
    for node in found:
        assert yaml.safe_load(document.raw(node)) == node.value


def test_a_sample_means_what_pyyaml_says() -> None:
    text = (SAMPLES / "librechat.yaml").read_text()
    assert plain(read_yaml(text, "f").root) == yaml.safe_load(text)


def test_a_merge_key_stays_a_key() -> None:
    text = (SAMPLES / "continue-config.yaml").read_text()
    expected = yaml.safe_load(text)
    first = plain(read_yaml(text, "f").root)["mcpServers"][0]
    assert without(first, "<<") == without(expected["mcpServers"][0], "connectionTimeout")
    assert "<<" in first


@pytest.mark.parametrize(
    ("text", "oddity"),
    [
        ("a: &x 1\n", "an anchor"),
        ("b: &x {}\na: *x\n", "an alias"),
        ("a: &x [1]\n", "an anchor"),
        ("a: !!str 1\n", "a tag"),
    ],
)
def test_what_may_be_written_elsewhere_is_odd(text: str, oddity: str) -> None:
    root = read_yaml(text, "f").root
    assert isinstance(root, Members)
    member = root.get("a")
    assert member is not None
    assert oddity in member.value.oddity


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("# c\n", "empty"),
        ("a: [", "not YAML"),
        ("a: b: c", "not YAML"),
        ("\ta: 1", "not YAML"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("? [a]\n: 1\n", "no plain text"),
        ("a: \x01", "not YAML"),
        ("a: 2001-99-99\n", "has no meaning"),
        ("- " * 200 + "x", "nested deeper"),
    ],
)
def test_what_is_no_yaml_for_us_is_refused(text: str, words: str) -> None:
    with pytest.raises(DocumentError, match=words):
        read_yaml(text, "f")
