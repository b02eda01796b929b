"""Every tool of the filesystem server: what it may change changes, everything else does not.

The server itself is given the whole home, so it refuses nothing: the policy and the kernel do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from clients.peers import Peers
from clients.python_client import Step, call_all
from driver import Home

POLICY: Final = """\
tools:
  default: deny
  rules:
    "read_*": allow
    "list_*": allow
    directory_tree: allow
    search_files: allow
    get_file_info: allow
    create_directory: allow
    edit_file: allow
    write_file: {decision: allow, args: {path: {under: [~/projects/scratch]}}}
    move_file:
      decision: allow
      args: {source: {under: [~/projects]}, destination: {under: [~/projects/scratch]}}
"""
BEYOND: Final = "refused:must lie under ~/projects/scratch"
READ_ONLY: Final = "refused:EROFS"
# What Node.js makes of it: its recursive mkdir tells that the directory is not there afterwards.
NOT_MADE: Final = "refused:ENOENT"


@pytest.fixture
def peers(tmp_path: Path, npm_tree: Path) -> Peers:
    return Peers(Home(tmp_path), npm_tree, tmp_path)


def files_below(folder: Path) -> dict[str, str]:
    """Each file and directory below a directory and what it holds, but for our own."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
        if path.relative_to(folder).parts[0] not in {".local", ".config", "stderr"}
    }


def test_every_tool_does_what_it_is_for_where_the_policy_lets_it(peers: Peers) -> None:
    projects, scratch = peers.home.projects, peers.home.scratch
    readme, note, folder = projects / "readme.txt", scratch / "note", scratch / "folder"
    steps: list[Step] = [
        ("read_file", {"path": str(readme)}, "hello from inside"),
        ("read_text_file", {"path": str(readme), "head": 1}, "hello from inside"),
        ("read_media_file", {"path": str(readme)}, ""),
        ("read_multiple_files", {"paths": [str(readme), str(readme)]}, "hello from inside"),
        ("list_directory", {"path": str(projects)}, "[FILE] readme.txt"),
        ("list_directory_with_sizes", {"path": str(projects)}, "readme.txt"),
        ("directory_tree", {"path": str(projects)}, '"readme.txt"'),
        ("search_files", {"path": str(projects), "pattern": "**/readme*"}, str(readme)),
        ("get_file_info", {"path": str(readme)}, "size: 18"),
        ("list_allowed_directories", {}, str(peers.home.path)),
        ("create_directory", {"path": str(folder)}, "Successfully"),
        ("write_file", {"path": str(note), "content": "wörds\n"}, "Successfully"),
        ("edit_file", {"path": str(note), "edits": [{"oldText": "wö", "newText": "Wo"}]}, "+Words"),
        ("move_file", {"source": str(note), "destination": str(folder / "n")}, "Successfully"),
    ]
    listed = call_all(peers.jailed("filesystem", POLICY), peers.home.path, steps)
    assert listed == {tool for tool, _, _ in steps}
    assert files_below(scratch) == {"folder": "", "folder/n": "Words\n"}


def test_no_tool_changes_anything_outside_of_what_the_policy_lets_it(peers: Peers) -> None:
    home, projects, scratch = peers.home.path, peers.home.projects, peers.home.scratch
    readme, own = projects / "readme.txt", scratch / "own"
    own.write_text("own\n")
    (scratch / "way-out").symlink_to(projects)
    edits = [{"oldText": "hello", "newText": "HELLO"}]
    steps: list[Step] = [
        ("write_file", {"path": str(readme), "content": "x"}, BEYOND),
        ("write_file", {"path": str(scratch / "way-out" / "x"), "content": "x"}, BEYOND),
        ("write_file", {"path": f"{scratch}/../x", "content": "x"}, BEYOND),
        ("write_file", {"path": str(home / ".bashrc"), "content": "x"}, BEYOND),
        ("move_file", {"source": str(own), "destination": str(projects / "x")}, BEYOND),
        # A rule that lets it through is no way out: the kernel holds the same wall.
        ("move_file", {"source": str(readme), "destination": str(scratch / "x")}, "refused:E"),
        ("edit_file", {"path": str(readme), "edits": edits}, READ_ONLY),
        ("create_directory", {"path": str(projects / "x")}, NOT_MADE),
    ]
    before = files_below(home)
    call_all(peers.jailed("filesystem", POLICY), home, steps)
    assert files_below(home) == before


def test_no_tool_reads_what_the_policy_does_not_share(peers: Peers) -> None:
    secret = peers.home.secret
    (peers.home.scratch / "link").symlink_to(secret)
    steps: list[Step] = [
        ("read_file", {"path": str(secret)}, "refused:ENOENT"),
        ("read_text_file", {"path": str(peers.home.scratch / "link")}, "refused:does not exist"),
        ("read_media_file", {"path": str(secret)}, "refused:ENOENT"),
        ("read_multiple_files", {"paths": [str(secret)]}, "ENOENT"),
        ("list_directory", {"path": str(secret.parent)}, "refused:ENOENT"),
        ("directory_tree", {"path": str(secret.parent)}, "refused:ENOENT"),
        ("get_file_info", {"path": str(secret)}, "refused:ENOENT"),
        ("search_files", {"path": str(peers.home.path), "pattern": "**/id_rsa"}, "No matches"),
    ]
    call_all(peers.jailed("filesystem", POLICY), peers.home.path, steps)
    told = str(peers.home.audit("filesystem"))
    assert "CANARY" not in told


def test_what_the_kernel_refuses_is_a_call_and_an_error_in_the_audit(peers: Peers) -> None:
    steps: list[Step] = [
        ("create_directory", {"path": str(peers.home.projects / "x")}, NOT_MADE),
        ("write_file", {"path": str(peers.home.projects / "x"), "content": "x"}, BEYOND),
    ]
    call_all(peers.jailed("filesystem", POLICY), peers.home.path, steps)
    entries = [e for e in peers.home.audit("filesystem") if e["kind"] != "lock"]
    told = [(e["kind"], e.get("verdict"), e.get("is_error")) for e in entries]
    assert told == [
        ("start", None, None),
        ("call", "allow", None),
        ("result", None, True),
        ("call", "deny", None),
        ("end", None, None),
    ]
