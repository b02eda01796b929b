"""Every tool of the git server: one repository may change, others do not, no hook gets out."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from clients.peers import Peers
from clients.python_client import Step, call_all
from driver import Home

POLICY: Final = """\
tools:
  default: allow
  rules:
    git_commit: {decision: allow, args: {repo_path: {under: [~/repo]}}}
"""
IDENTITY: Final = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")


@pytest.fixture
def peers(tmp_path: Path, python_servers: Path) -> Peers:
    return Peers(Home(tmp_path), tmp_path, python_servers)


def git(repository: Path, *arguments: str) -> str:
    """Run git outside; what it says."""
    words = ["git", "-C", str(repository), *IDENTITY, *arguments]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def made(repository: Path) -> Path:
    """A repository with one commit of one file, and one change that is not staged."""
    repository.mkdir(exist_ok=True)
    git(repository, "init", "--quiet", "--initial-branch=main")
    (repository / "file").write_text("one\n")
    git(repository, "add", "file")
    git(repository, "commit", "--quiet", "--message=first")
    (repository / "file").write_text("two\n")
    return repository


def test_every_tool_works_in_a_repository_that_may_be_written(peers: Peers) -> None:
    repo = made(peers.home.path / "repo")

    def step(tool: str, expected: str, **arguments: Any) -> Step:
        return tool, {"repo_path": str(repo), **arguments}, expected

    steps = [
        step("git_status", "modified:   file"),
        step("git_diff_unstaged", "+two"),
        step("git_add", "staged", files=["file"]),
        step("git_diff_staged", "+two"),
        step("git_reset", "reset"),
        step("git_add", "staged", files=["file"]),
        step("git_create_branch", "topic", branch_name="topic"),
        step("git_checkout", "topic", branch_name="topic"),
        step("git_commit", "committed", message="second"),
        step("git_log", "second", max_count=1),
        step("git_show", "+two", revision="HEAD"),
        step("git_diff", "+two", target="main"),
        step("git_branch", "main", branch_type="local"),
    ]
    listed = call_all(peers.jailed("git", POLICY), peers.home.path, steps)
    assert listed == {tool for tool, _, _ in steps}
    assert git(repo, "log", "--format=%s", "topic") == "second\nfirst"
    assert git(repo, "log", "--format=%s", "main") == "first"


def test_no_tool_changes_a_repository_that_may_only_be_read(peers: Peers) -> None:
    other = made(peers.home.path / "other")
    at = {"repo_path": str(other)}
    steps: list[Step] = [
        ("git_status", at, "modified:   file"),
        ("git_log", at, "first"),
        ("git_commit", {**at, "message": "x"}, "refused:must lie under ~/repo"),
        ("git_add", {**at, "files": ["file"]}, "refused:Read-only file system"),
        ("git_create_branch", {**at, "branch_name": "x"}, "refused:could not be obtained"),
        ("git_reset", at, "refused:Read-only file system"),
    ]
    needs = "filesystem: {read_write: [~/repo], read_only: [~/other]}\n"
    call_all(peers.jailed("git", POLICY, needs=needs), peers.home.path, steps)
    assert git(other, "log", "--format=%s") == "first"
    assert git(other, "diff", "--cached") == ""
    assert git(other, "branch", "--format=%(refname:short)") == "main"


def test_a_repository_that_is_not_shared_is_not_there(peers: Peers) -> None:
    other = made(peers.home.path / "other")
    (peers.home.path / "repo").mkdir()
    (peers.home.path / "repo" / ".git").write_text(f"gitdir: {other}/.git\n")
    steps: list[Step] = [
        ("git_log", {"repo_path": str(other)}, "refused:other"),
        ("git_log", {"repo_path": str(peers.home.path / "repo")}, "refused:repo"),
    ]
    call_all(peers.jailed("git", POLICY), peers.home.path, steps)


def test_a_hook_of_the_repository_runs_in_the_jail(peers: Peers) -> None:
    repo, home = made(peers.home.path / "repo"), peers.home.path
    git(repo, "commit", "--quiet", "--all", "--message=second")
    git(repo, "branch", "topic")
    hook = repo / ".git" / "hooks" / "post-checkout"
    hook.write_text(
        f"#!/bin/sh\ncat {peers.home.secret} > seen 2>&1\ntouch {home}/escaped 2>>seen\n"
    )
    hook.chmod(0o755)
    at = {"repo_path": str(repo), "branch_name": "topic"}
    call_all(peers.jailed("git", POLICY), home, [("git_checkout", at, "topic")])
    seen = (repo / "seen").read_text()
    assert "CANARY" not in seen
    assert "No such file" in seen
    assert not (home / "escaped").exists()
