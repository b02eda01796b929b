"""`mcp-jail show`: what it prints is what the kernel then has."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from driver import MCP_JAIL, Home, command, processes_with, started
from listing import Listing

POLICY = """\
filesystem: {read_only: [~/projects], read_write: [~/projects/scratch]}
env: {set: {GREETING: hello}}
tools: {default: allow, rules: {"write_*": {decision: allow, args: {path: {under: [~/other]}}}}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    return made


def said(home: Home, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [MCP_JAIL, *arguments],
        capture_output=True,
        text=True,
        env=home.environ(COLUMNS="80"),
        cwd=home.path,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def mountinfo(pid: int) -> dict[str, dict[str, Any]]:
    """The mounts of a running process by mount point (proc(5)); the last on a point shows."""
    found: dict[str, dict[str, Any]] = {}
    for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        fields = line.split()
        kind = fields[fields.index("-") + 1]
        point = fields[4].encode().decode("unicode_escape")
        found[point] = {"read_only": "ro" in fields[5].split(","), "kind": kind}
    return found


def test_the_mounts_shown_are_those_of_the_running_server(home: Home) -> None:
    marked = command("echo.py", f"--marker={home.path}")
    with started(home, "run", "fs", *marked) as client:
        client.open()
        (server,) = [pid for pid in processes_with("--marker") if is_the_server(pid, home)]
        running = mountinfo(server)
        shown = json.loads(said(home, "show", "fs", "--json", *marked))["mounts"]
        for mount in shown:  # files and links of ours lie in the root, which is no mount of its own
            inside = Path(f"/proc/{server}/root{mount['path']}")
            if mount["access"] == "ours":
                assert inside.is_file(), mount
            if mount["access"] == "link":
                assert str(inside.readlink()) == mount["source"]
    mounted = {m["path"]: m["access"] for m in shown if m["access"] not in ("link", "ours")}
    below_dev = {point for point in running if point.startswith("/dev/") and point != "/dev/shm"}
    assert running.keys() - below_dev == mounted.keys() | {"/"}
    for point, access in mounted.items():
        is_writable = access in ("read and write", "private")
        if access not in ("proc", "dev"):
            assert running[point]["read_only"] == (not is_writable), point
        if access in ("private", "masked"):
            assert running[point]["kind"] == "tmpfs", point
    assert running["/"]["read_only"]


def is_the_server(pid: int, home: Home) -> bool:
    """Whether a process is the jailed server itself, not bwrap or the guard."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return words[1:3] == [b"-I", b"-S"] and f"--marker={home.path}".encode() in words


def test_the_environment_shown_is_that_of_the_running_server(home: Home) -> None:
    home.write_policy(POLICY + 'text: "off"\n')  # for the NULs in the answer
    shown = json.loads(said(home, "show", "fs", "--json", *command("echo.py")))
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        text = client.call("read_file", path="/proc/self/environ")["content"][0]["text"]
    names = {entry.partition("=")[0] for entry in text.split("\0") if entry}
    assert set(shown["env"]) == names - {"PWD"}
    assert "GREETING" in names


def test_the_page_says_what_matters_in_eighty_columns(home: Home) -> None:
    page = said(home, "show", "fs", *command("echo.py"))
    for part in (
        "read and write",
        "filesystem.read_write",
        "the kernel holds",
        "the proxy holds",
        "not there yet",
    ):
        assert part in page
    for line in page.splitlines():
        assert line == line.rstrip()
        # A word is never broken; what is longer than the page is one path.
        assert len(line) <= 80 or len(line.strip().split("  ")[-1].split()) <= 2, line
    plan = json.loads(said(home, "show", "fs", "--json", *command("echo.py")))
    for mount in plan["mounts"]:
        if mount["path"].startswith(str(home.path)):
            assert mount["path"] in page


def test_a_rule_for_what_is_not_shared_is_worth_a_look(home: Home) -> None:
    page = said(home, "show", "fs", *command("echo.py"))
    assert "Worth a look" in page
    assert "~/other" in page.partition("Worth a look")[2]


def test_a_rule_that_is_closed_says_so(home: Home) -> None:
    rule = '{decision: allow, args: {x: {equals: "\\e[2J"}}, additional: deny, otherwise: ask}'
    home.write_policy(f"tools: {{rules: {{\n  get: {rule}}}}}\n")
    page = said(home, "show", "fs")
    assert "allow, else ask  line" in page
    assert '    x: equals "\\x1B[2J"\n' in page
    assert "    nothing else\n" in page


def test_a_policy_without_a_command_can_be_shown(home: Home) -> None:
    assert "add -- COMMAND to see what it brings" in said(home, "show", "fs")
    assert json.loads(said(home, "show", "fs", "--json"))["command"] is None


def test_what_is_not_there_yet_is_told_by_its_values(home: Home) -> None:
    page = said(home, "show", "fs")
    missing = " ".join(page.partition("Values not there yet")[2].split())
    assert "sandbox: landlock, container, none;" in missing
    assert "sandbox: auto" not in missing
    assert "defaults of filesystem.autorun hold nothing yet" in missing


@pytest.mark.parametrize("columns", ["", "abc", "0", "-1", "7"])
def test_any_columns_give_a_page(home: Home, columns: str) -> None:
    done = subprocess.run(
        [MCP_JAIL, "show", "fs"],
        capture_output=True,
        text=True,
        env=home.environ(COLUMNS=columns),
        check=False,
    )
    assert done.stderr == ""
    assert "What it sees of yours" in done.stdout


def test_what_stdout_cannot_encode_is_replaced(home: Home) -> None:
    home.write_policy('tools: {rules: {"l\xf6schen": deny}}\n')
    done = subprocess.run(
        [MCP_JAIL, "show", "fs"],
        capture_output=True,
        env=home.environ(PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", LC_ALL="C"),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"tool l?schen" in done.stdout


def test_every_mount_of_the_system_is_named_when_asked_for(home: Home) -> None:
    assert "/etc/resolv.conf" in said(home, "show", "fs", "--all")
    assert "/etc/resolv.conf" not in said(home, "show", "fs")


def test_how_the_lock_stands_is_shown(tmp_path: Path) -> None:
    listing = Listing(tmp_path)

    def lock() -> str:
        page = " ".join(listing.done("show", "fs").stdout.split())
        return page.partition(" lock ")[2].partition("What it sees")[0]

    assert "nothing approved yet; a first contact is shown to no client until" in lock()
    listing.runs()
    assert "items wait: mcp-jail diff fs" in lock()
    listing.approves()
    assert "items approved" in lock()
    assert "wait" not in lock()
    assert listing.files.lock in lock()
    listing.says(tools=[])
    facts = json.loads(listing.done("show", "fs", "--json").stdout)["lock"]
    approved = listing.files.read()
    assert approved is not None
    assert facts["approved"] == len(approved.items)
    assert (facts["enabled"], facts["first"], facts["waiting"]) == (True, "review", 0)
    Path(listing.files.lock).write_text("{")
    assert "cannot be read, so nothing is approved" in lock()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lock: {enabled: false}\n", "none: lock.enabled is false"),
        ("lock: {first: trust}\n", "a first contact is trusted as it is"),
        (
            "lock: {ignore: {tool/t: [title, description]}}\n",
            "tool/t: title, description; whatever it says, clients get what you approved",
        ),
        ("lock: {file: ~/a/lock.json}\n", "a/lock.json (lock.file, a proposal for others)"),
    ],
)
def test_what_a_policy_says_of_its_lock_is_shown(home: Home, text: str, words: str) -> None:
    home.write_policy(POLICY + text)
    assert words in " ".join(said(home, "show", "fs").split())


OURS = (
    ".config/mcp-jail",
    ".config/mcp-jail/policies/fs.yaml",
    ".local/state/mcp-jail",
    ".local/state/mcp-jail/run",
    ".local/state/mcp-jail/key",
    ".local/state/mcp-jail/locks",
    ".local/state/mcp-jail/fs.jsonl",
    ".local/share/mcp-jail/homes",
)


@pytest.mark.parametrize("how", ["read_only", "read_write"])
@pytest.mark.parametrize("name", OURS)
def test_nothing_of_ours_is_shared(home: Home, name: str, how: str) -> None:
    path = home.path / name
    if path.suffix in {".jsonl", ".yaml"} or path.name == "key":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    else:
        path.mkdir(parents=True, exist_ok=True)
    home.write_policy(f"filesystem: {{{how}: [~/{name}]}}\n")
    assert "cannot be shared" in said(home, "show", "fs", "--", "true", code=2)
