"""The journal against links, full disks, other writers and kills."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_jail.core.audit import Chain, Entry, Kind
from mcp_jail.store.journal import open_journal


def test_a_run_starts_an_audit_file_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "files.jsonl"
    journal = open_journal(str(path))
    chain = Chain("run1", journal.anchor)
    journal.write(chain.seal(Entry(kind=Kind.START), 1) + chain.seal(Entry(kind=Kind.END), 2))
    journal.close()
    assert path.read_bytes().count(b"\n") == 2
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(path.parent).st_mode & 0o777 == 0o700
