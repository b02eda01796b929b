"""Attacks on files with a policy that allows every call: the kernel alone must hold them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from driver import ERAS, Home, command, started

POLICY = """\
filesystem: {read_only: [~/projects], read_write: [~/projects/scratch]}
tools: {default: allow}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    sibling = made.path / "projects-evil"
    sibling.mkdir()
    (sibling / "x").write_text("CANARY-SIBLING")
    (made.path / "projects.bak").write_text("CANARY-BACKUP")
    return made


def links(home: Home) -> dict[str, Path]:
    """Ways from inside the project to the key outside, as a hostile checkout may bring them."""
    first, second, third = (home.projects / f"chain{number}" for number in (1, 2, 3))
    made = {
        "a link": home.projects / "link",
        "a chain of three": first,
        "a linked directory": home.projects / "dir" / "id_rsa",
        "a relative link": home.projects / "relative",
        "a link through proc": home.projects / "proc",
    }
    made["a link"].symlink_to(home.secret)
    first.symlink_to(second)
    second.symlink_to(third)
    third.symlink_to(home.secret)
    (home.projects / "dir").symlink_to(home.secret.parent)
    made["a relative link"].symlink_to("../.ssh/id_rsa")
    made["a link through proc"].symlink_to(f"/proc/self/root{home.secret}")
    return made


PATHS = {
    "outside": "{home}/.ssh/id_rsa",
    "a sibling with the same beginning": "{home}/projects-evil/x",
    "a backup beside it": "{home}/projects.bak",
    "dot dot": "{home}/projects/../.ssh/id_rsa",
    "dot dot through what is not there": "{home}/projects/nope/../../.ssh/id_rsa",
    "proc root": "/proc/self/root{home}/.ssh/id_rsa",
    "proc of the first process": "/proc/1/root{home}/.ssh/id_rsa",
    "proc cwd": "/proc/self/cwd/../.ssh/id_rsa",
    "an inherited descriptor": "/dev/fd/3",
    "doubled slashes": "/{home}//.ssh/./id_rsa",
    "our policy": "{home}/.config/mcp-jail/policies/fs.yaml",
    "our audit": "{home}/.local/state/mcp-jail/fs.jsonl",
    "our key": "{home}/.local/state/mcp-jail/key",
    "shadow": "/etc/shadow",
    "the machine's id": "/etc/machine-id",
    "the parent's environment": "/proc/1/environ",
}


@pytest.mark.parametrize("era", ERAS)
def test_no_path_leads_out_of_the_jail(home: Home, era: str) -> None:
    with started(
        home, "run", "fs", *command("echo.py"), era=era, env=home.environ(SECRET="CANARY-ENV")
    ) as client:
        client.open()
        for what, path in PATHS.items():
            said = str(client.call("read_file", path=path.format(home=home.path)))
            assert "CANARY" not in said, what
            assert "tools:" not in said, what
            assert "isError" in said or "\\x00" in said or what == "the parent's environment", what


def test_no_link_leads_out_of_the_jail(home: Home) -> None:
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        for what, path in links(home).items():
            assert "CANARY" in path.read_text(), "the attack must work outside"
            assert "CANARY" not in str(client.call("read_file", path=str(path))), what


def test_a_write_through_a_dangling_link_makes_nothing_outside(home: Home) -> None:
    target = home.path / "made"
    (home.scratch / "dangling").symlink_to(target)
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        client.call("write_file", path=str(home.scratch / "dangling"), content="x")
    assert not target.exists()


@contextmanager
def flipping(path: Path, secret: Path) -> Iterator[None]:
    """A file that is a plain one and a link to the secret by turns, as fast as it goes."""
    plain, link = path.with_name("plain"), path.with_name("flip-link")
    plain.write_text("plain")
    over = threading.Event()

    def flip() -> None:
        while not over.is_set():
            link.symlink_to(secret)
            os.replace(link, path)
            plain.write_text("plain")
            os.replace(plain, path)

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_race_between_check_and_use_gives_nothing(home: Home) -> None:
    home.write_policy(
        """\
filesystem: {read_write: [~/projects/scratch]}
tools: {rules: {read_file: {decision: allow, args: {path: {under: [~/projects/scratch]}}}}}
"""
    )
    flipped = home.scratch / "flipped"
    flipped.write_text("plain")
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        with flipping(flipped, home.secret):
            answers = [str(client.call("read_file", path=str(flipped))) for _ in range(1000)]
    assert not any("CANARY" in answer for answer in answers)
    assert any("plain" in answer for answer in answers)
    assert any("must lie under" in answer or "No such file" in answer for answer in answers)


def test_the_policy_and_the_kernel_agree_on_the_root_itself(home: Home) -> None:
    home.write_policy(
        """\
filesystem: {read_only: [~/projects]}
tools: {rules: {list_directory: {decision: allow, args: {path: {under: [~/projects]}}}}}
"""
    )
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        for path in (f"{home.projects}", f"{home.projects}/"):
            assert "readme.txt" in str(client.call("list_directory", path=path))
        for path in (f"{home.path}/projects-evil", f"{home.path}", "/"):
            assert "must lie under" in str(client.call("list_directory", path=path))
