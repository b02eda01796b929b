"""The key: one for all, and never quietly another."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_jail.errors import AuditError
from mcp_jail.store.places import find_places
from mcp_jail.store.state_key import KEY_BYTES, keep_key, key_to_plan_with, state_key
from programs import output, start

ASK = """
import sys
from mcp_jail.store.places import find_places
from mcp_jail.store.state_key import state_key
print(flush=True)
sys.stdin.readline()
print(state_key(find_places({"MCP_JAIL_HOME": sys.argv[1]})).hex())
"""


def ask(folder: str) -> bytes:
    return state_key(find_places({"MCP_JAIL_HOME": folder}))


def test_all_who_ask_at_once_get_the_same_key(tmp_path: Path) -> None:
    programs = [start(ASK, str(tmp_path)) for _ in range(6)]
    for program in programs:
        assert program.stdout is not None
        program.stdout.readline()
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    keys = {output(program) for program in programs}
    assert len(keys) == 1
    assert len(bytes.fromhex(keys.pop())) == KEY_BYTES
    assert os.listdir(tmp_path / "state") == ["key"]


def test_the_key_is_its_users_alone(tmp_path: Path) -> None:
    ask(str(tmp_path))
    assert stat.S_IMODE((tmp_path / "state" / "key").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_damaged_key_is_an_error_and_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    key = tmp_path / "state" / "key"
    key.parent.mkdir(mode=0o700)
    key.write_bytes(content)
    key.chmod(0o600)
    with pytest.raises(AuditError, match="not a key"):
        ask(str(tmp_path))
    assert key.read_bytes() == content


def test_a_key_behind_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "other").write_bytes(b"x" * KEY_BYTES)
    (tmp_path / "state" / "key").symlink_to(tmp_path / "other")
    with pytest.raises(AuditError, match="symbolic link"):
        ask(str(tmp_path))


def test_a_key_to_plan_with_is_kept_only_if_no_other_was_made(tmp_path: Path) -> None:
    places = find_places({"MCP_JAIL_HOME": str(tmp_path)})
    planned = key_to_plan_with(places)
    assert not os.path.lexists(places.state)
    keep_key(places, planned)
    assert state_key(places) == planned == key_to_plan_with(places)
    keep_key(places, planned)
    with pytest.raises(AuditError, match="was made meanwhile"):
        keep_key(places, b"x" * 32)
