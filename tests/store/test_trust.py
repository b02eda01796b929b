"""Trust in a policy file: this path, this content, until either changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_jail.store.places import Places, find_places
from mcp_jail.store.trust import is_trusted, trust, trusted_content, withdraw_trust
from programs import output, start


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return find_places({"MCP_JAIL_HOME": str(tmp_path / "home")})


def test_nothing_is_trusted_that_was_not_said_to_be(places: Places, tmp_path: Path) -> None:
    assert not is_trusted(places, str(tmp_path / "p.yaml"), b"name: a")


def test_a_changed_content_is_not_trusted(places: Places, tmp_path: Path) -> None:
    path = str(tmp_path / "p.yaml")
    trust(places, path, b"name: a", 1)
    assert is_trusted(places, path, b"name: a")
    assert not is_trusted(places, path, b"name: b")
    assert not is_trusted(places, str(tmp_path / "other.yaml"), b"name: a")


def test_trusting_again_takes_the_place_of_the_earlier_trust(places: Places) -> None:
    trust(places, "/x/p.yaml", b"one", 1)
    trust(places, "/x/p.yaml", b"two", 2)
    assert not is_trusted(places, "/x/p.yaml", b"one")
    assert is_trusted(places, "/x/p.yaml", b"two")
    found = trusted_content(places, "/x/p.yaml")
    assert found is not None
    assert found.t == 2


def test_trust_taken_back_is_gone(places: Places) -> None:
    trust(places, "/x/p.yaml", b"one", 1)
    assert withdraw_trust(places, "/x/p.yaml")
    assert not is_trusted(places, "/x/p.yaml", b"one")
    assert not withdraw_trust(places, "/x/p.yaml")


def test_a_link_is_the_file_it_points_to(places: Places, tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text("x")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "real.yaml")
    trust(places, str(tmp_path / "link.yaml"), b"x", 1)
    assert is_trusted(places, str(tmp_path / "real.yaml"), b"x")


@pytest.mark.parametrize("content", ["", "{}", "null", '{"v":2,"path":"/x","sha256":"","t":1}'])
def test_a_damaged_record_means_no_trust(places: Places, content: str) -> None:
    trust(places, "/x", b"one", 1)
    (record,) = os.listdir(places.trust)
    Path(places.trust, record).write_text(content)
    assert not is_trusted(places, "/x", b"one")


def test_a_record_that_others_can_write_means_no_trust(places: Places) -> None:
    trust(places, "/x", b"one", 1)
    (record,) = os.listdir(places.trust)
    os.chmod(os.path.join(places.trust, record), 0o666)
    assert not is_trusted(places, "/x", b"one")


TRUST = """
import sys
from mcp_jail.store.places import find_places
from mcp_jail.store.trust import trust
places = find_places({"MCP_JAIL_HOME": sys.argv[1]})
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 10):
    trust(places, f"/x/{number}", b"%d" % number, number)
"""


def test_many_who_trust_at_once_lose_nothing(places: Places, tmp_path: Path) -> None:
    programs = [start(TRUST, str(tmp_path / "home"), begin) for begin in ("0", "5", "10")]
    for program in programs:
        output(program)
    assert all(is_trusted(places, f"/x/{number}", b"%d" % number) for number in range(20))
    assert len(os.listdir(places.trust)) == 20
