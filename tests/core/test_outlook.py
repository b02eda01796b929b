"""The port's values."""

from __future__ import annotations

from imagined import Imagined
from mcp_jail.core.outlook import DIRECTORY, FILE, MISSING, OPAQUE, Outlook, SeenKind, Space


def test_only_a_link_has_a_target() -> None:
    assert [seen.target for seen in (DIRECTORY, FILE, MISSING, OPAQUE)] == [None] * 4
    assert {seen.kind for seen in (DIRECTORY, FILE, MISSING, OPAQUE)} == set(SeenKind) - {
        SeenKind.LINK
    }


def test_a_dictionary_can_answer_for_the_world() -> None:
    outlook: Outlook = Imagined({"/a/b": "file"}, {"/a": "opaque"})
    assert outlook.look(Space.HOST, "/a") == DIRECTORY
    assert outlook.look(Space.HOST, "/a/b") == FILE
    assert outlook.look(Space.JAIL, "/a") == OPAQUE
    assert outlook.look(Space.JAIL, "/a/b") == MISSING
