"""`asks`, `grants` and `ps`: what waits, what counts and what runs, for people and programs."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from driver import MCP_JAIL, Home, command, wait_until
from mcp_jail.asks.desktop_look import Looked, Way, look_at_desktop
from mcp_jail.cli.ask_rows import desktop_words
from mcp_jail.store.places import find_places
from persons import at_terminal, served, ticket_of

POLICY = """\
filesystem: {read_only: [~/projects]}
tools: {default: ask, rules: {add: allow}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    made.write_policy(POLICY, name="other")
    return made


def done(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MCP_JAIL, *words],
        capture_output=True,
        text=True,
        env=home.environ(COLUMNS="80"),
        check=False,
    )


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("asks", "nothing waits for an answer"),
        ("grants", "no answer counts any more"),
        ("ps", "no server runs in a jail now"),
    ],
)
def test_where_nothing_runs_that_is_said(home: Home, word: str, said: str) -> None:
    shown = done(home, word)
    assert (shown.returncode, shown.stderr) == (1, "")
    assert said in shown.stdout
    assert done(home, word, "--json").stdout == ""


def test_what_waits_is_shown_with_exact_arguments_and_hidden_characters(home: Home) -> None:
    with served(home, "fs", *command("echo.py")) as client:
        arguments = {"text": "safe\u200b\u202egnp.exe", "\x1b[2J": "\x1b]0;x\x07"}
        client.ask("tools/call", name="echo", arguments=arguments)
        ticket = ticket_of(home)
        shown = done(home, "asks")
        assert shown.returncode == 0
        assert f"{ticket}  fs: echo" in shown.stdout
        for hidden in ("\u200b", "\u202e", "\x1b", "\x07"):
            assert hidden not in shown.stdout
        (line,) = done(home, "asks", "--json").stdout.splitlines()
        assert json.loads(json.loads(line)["arguments"]) == arguments


def test_what_is_not_shown_whole_is_said_to_be_cut_and_shown_if_asked_for(home: Home) -> None:
    with served(home, "fs", *command("echo.py")) as client:
        arguments = {"pad": "B" * 50_000, "text": "rm -rf /"}
        client.ask("tools/call", name="echo", arguments=arguments)
        ticket_of(home)
        with at_terminal(home, "allow") as screen:
            screen.wait_for("[N]ot now: ")
            assert "are left out here" in screen.shown
            assert "not all of it is shown; --full shows the rest" in screen.shown
            screen.type("n\n")
            screen.end()
        with at_terminal(home, "allow", "--full") as screen:
            screen.wait_for("[N]ot now: ")
            assert "left out" not in screen.shown
            assert screen.shown.count("B") >= 50_000
            screen.type("n\n")
            screen.end()


def test_what_is_too_long_to_be_shown_whole_is_never_allowed(home: Home) -> None:
    with served(home, "fs", *command("echo.py")) as client:
        arguments = {"pad": "B" * 300_000, "z_cmd": "rm -rf /"}
        client.ask("tools/call", name="echo", arguments=arguments)
        ticket_of(home)
        for words in ([], ["--yes"], ["--yes", "--full"]):
            with at_terminal(home, "allow", *words) as screen:
                assert screen.end() == 2
                assert "too many to be shown whole" in screen.shown
        with at_terminal(home, "deny") as screen:
            assert screen.end() == 0


def test_which_of_several_asks_must_be_said(home: Home) -> None:
    with served(home, "fs", *command("echo.py")) as client:
        for text in ("one", "two"):
            client.ask("tools/call", name="echo", arguments={"text": text})
        client.request("ping")
        with at_terminal(home, "allow") as screen:
            assert screen.end() == 2
            assert "more than one ask waits" in screen.shown
        shown = done(home, "deny", "NOSUCH")
        assert shown.returncode == 2
        assert "no ask 'NOSUCH' waits" in shown.stderr


def test_what_runs_is_listed_with_what_holds_it(home: Home) -> None:
    with (
        served(home, "fs", *command("echo.py")) as client,
        served(home, "other", *command("echo.py")),
    ):
        client.call("add", a=1, b=2)
        client.ask("tools/call", name="echo", arguments={"text": "x"})
        ticket_of(home)
        shown = done(home, "ps")
        assert shown.returncode == 0
        head, first, second = shown.stdout.splitlines()
        assert head.split() == (
            "NAME PID SANDBOX NETWORK TOOLS PROOF ASKS CALLS DENIED SINCE".split()
        )
        assert first.split()[0] == "fs"
        assert first.split()[2:9] == ["bubblewrap", "none", "ask", "held", "1", "2", "0"]
        assert second.split()[0] == "other"
        assert all(len(line) <= 80 for line in shown.stdout.splitlines())
        told = [json.loads(line) for line in done(home, "ps", "--json").stdout.splitlines()]
        assert [each["name"] for each in told] == ["fs", "other"]


def test_a_long_name_takes_no_number_away(home: Home) -> None:
    name = "a-very-long-name-of-a-policy-" + "x" * 35
    home.write_policy(POLICY, name=name)
    with served(home, name, *command("echo.py")):
        lines = done(home, "ps").stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "".join(line.split()[0] for line in lines[1:]) == name
    assert lines[1].split()[2:9] == ["bubblewrap", "none", "ask", "held", "0", "0", "0"]
    assert lines[1].split()[1].isdecimal()


def test_what_of_a_policy_does_not_hold_yet_is_told(home: Home) -> None:
    with served(home, "fs", *command("echo.py")) as client:
        home.write_policy(POLICY + "network: {mode: host}\n")

        def is_told() -> bool:
            client.request("ping")
            return "started before a change of network" in done(home, "ps").stdout

        wait_until(is_told)
        assert "started before a change of network" in done(home, "show", "fs").stdout
        (running,) = json.loads(done(home, "show", "fs", "--json").stdout)["running"]
        assert (running["restart"], running["network"]) == (["network"], "none")
        home.write_policy(POLICY + "tools: {default: alow}\n")

        def is_refused() -> bool:
            client.request("ping")
            return "the change was refused: " in done(home, "ps").stdout

        wait_until(is_refused)
        home.write_policy(POLICY)
        wait_until(lambda: bool(client.request("ping")) and "fs: " not in done(home, "ps").stdout)


def test_a_time_or_a_word_it_cannot_be_is_refused(home: Home) -> None:
    for wrong in ("ever", "0m", "25h", "15", "-1m"):
        shown = done(home, "allow", f"--for={wrong}")
        assert shown.returncode == 2
        assert "expected once, session, always or a time" in shown.stderr
    shown = done(home, "deny", "--for", "always")
    assert "a 'no' for always is a rule of the policy" in shown.stderr


def test_without_a_terminal_nobody_is_asked(home: Home) -> None:
    with served(home, "fs", *command("echo.py")) as client:
        client.ask("tools/call", name="echo", arguments={"text": "x"})
        ticket_of(home)
        shown = done(home, "allow")
        assert shown.returncode == 2
        assert "this is no terminal" in shown.stderr


def test_show_says_how_asks_come_and_what_marks_ours(home: Home) -> None:
    before = " ".join(done(home, "show", "fs").stdout.split())
    assert "held 50s, then a ticket; shown by the client, where it shows questions" in before
    assert "ours say" not in before
    with served(home, "fs", *command("echo.py")):
        pass
    assert re.search(
        r"ours say [A-Z2-7]{4}-[A-Z2-7]{4} in a client", done(home, "show", "fs").stdout
    )


@pytest.mark.parametrize("word", ["ps", "asks", "grants"])
def test_a_directory_of_runs_that_cannot_be_listed_is_told(home: Home, word: str) -> None:
    (home.state / "run").mkdir(parents=True, exist_ok=True)
    folder = Path(find_places(home.environ()).runtime)
    for path in (home.state / "run", folder):
        if path.is_dir():
            path.rmdir()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("no directory")
    shown = done(home, word)
    assert shown.returncode == 2
    assert "Traceback" not in shown.stderr
    assert f"'{folder}' cannot be listed" in shown.stderr


@pytest.mark.parametrize("words", [("log",), ("report",), ("why", "fs"), ("log", "--json")])
def test_a_state_that_is_no_directory_is_told(home: Home, words: tuple[str, ...]) -> None:
    state = Path(find_places(home.environ()).state)
    state.parent.mkdir(parents=True, exist_ok=True)
    if state.is_dir():
        state.rmdir()
    state.write_text("no directory")
    shown = done(home, *words)
    assert shown.returncode != 0
    assert "Traceback" not in shown.stderr
    assert str(state) in shown.stderr


@pytest.mark.parametrize("way", Way)
def test_of_a_desktop_is_said_what_it_can_do_and_what_not(way: Way) -> None:
    words = desktop_words(Looked(way, "dunst 1.9.0"))
    says = {
        Way.NO_BUS: "your session has no bus",
        Way.NO_PACKAGE: "jeepney, which mcp-jail needs for it, is not installed",
        Way.NO_SERVICE: "once a notification service runs",
        Way.NO_BUTTONS: "dunst 1.9.0 shows none",
        Way.DENY: "Deny only, as other programs may press the buttons of dunst 1.9.0",
        Way.ANSWER: "asks are shown as notifications",
    }
    assert says[way] in words
    assert ("(" in words) is (way not in {Way.NO_BUS, Way.ANSWER})


def test_doctor_says_what_this_desktop_can_do(home: Home) -> None:
    here = look_at_desktop()
    assert desktop_words(here) in " ".join(done(home, "doctor").stdout.split())
    assert json.loads(done(home, "doctor", "--json").stdout)["desktop"]["way"] == here.way.value
