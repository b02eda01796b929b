"""A call that waits in a real jail, and everybody who would like to answer it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO

import msgspec
import pytest

from driver import ERAS, MCP_JAIL, Client, Home, command, wait_until
from driver import running as run_client
from mcp_jail.asks import processes
from mcp_jail.asks.lineage import Running, fault_of_lineage
from mcp_jail.asks.processes import ancestors, process
from mcp_jail.asks.protocol import AskView, shown_digest
from mcp_jail.config import load
from mcp_jail.core.policy import Constraint, ToolRule
from mcp_jail.store.places import find_places
from mcp_jail.store.runs import running
from mcp_jail.store.sockets import connect
from persons import DESKTOP, at_terminal, controlled, served, ticket_of, typed, waiting

POLICY = """\
filesystem: {read_only: [~/projects]}
tools:  # all is asked about
  default: ask  # for now
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    return made


@pytest.fixture(params=ERAS)
def client(home: Home, request: pytest.FixtureRequest) -> Iterator[Client]:
    with served(home, "fs", *command("echo.py"), era=request.param) as client:
        yield client


def control_socket(home: Home) -> str:
    places = find_places(home.environ())
    (run,) = running(places)
    return places.socket(run.run)


def answers(home: Home) -> list[str]:
    return [entry["verdict"] for entry in home.audit() if entry["kind"] == "answer"]


def says_audit(home: Home, *verdicts: str) -> None:
    """What became of answers, once it is written down."""
    wait_until(lambda: len(answers(home)) >= len(verdicts))
    assert answers(home) == list(verdicts)


def text_of(answer: dict[str, object]) -> str:
    return str(answer["result"]["content"][0]["text"])  # type: ignore[index]


def yes(home: Home, ticket: str) -> str:
    """The request that allows what is asked, as `mcp-jail allow` sends it."""
    (ask,) = [each for each in waiting(home) if each["ticket"] == ticket]
    shown = shown_digest(msgspec.convert(ask, AskView))
    request = {"v": 1, "id": 1, "op": "answer", "ticket": ticket, "verdict": "allow"}
    return json.dumps(request | {"shown": shown}) + "\n"


def held(client: Client, home: Home) -> tuple[int, str]:
    """A call that waits: its id and its ticket."""
    number = client.ask("tools/call", name="echo", arguments={"text": "hello"})
    return number, ticket_of(home)


def test_a_person_sees_the_exact_call_and_allows_it(client: Client, home: Home) -> None:
    number, ticket = held(client, home)
    with at_terminal(home, "allow", ticket.lower()) as screen:
        screen.wait_for("[N]ot now: ")
        assert '"text": "hello"' in screen.shown
        assert "fs: echo" in screen.shown
        assert waiting(home)
        screen.type("y\n")
        assert screen.end() == 0, screen.shown
    assert text_of(client.answer(number)) == "hello"
    says_audit(home, "allow")


@pytest.mark.parametrize("typed", ["n\n", "\n", "yess\n", "\x04"])
def test_nothing_but_a_yes_allows(client: Client, home: Home, typed: str) -> None:
    _, ticket = held(client, home)
    with at_terminal(home, "allow", ticket) as screen:
        screen.wait_for("[N]ot now: ")
        screen.type(typed)
        assert screen.end() == 1
    assert waiting(home)


def test_a_person_says_no(client: Client, home: Home) -> None:
    number, ticket = held(client, home)
    with at_terminal(home, "deny", ticket) as screen:
        assert screen.end() == 0, screen.shown
    assert text_of(client.answer(number)) == "denied by the user: do not call it again"
    says_audit(home, "deny")


def test_a_yes_to_what_is_refused_all_the_same_says_so(home: Home) -> None:
    rules = "  rules: {echo: {decision: ask, limit: 1/h}}\n"
    home.write_policy(POLICY + rules)
    with served(home, "fs", *command("echo.py")) as client:
        client.ask("tools/call", name="echo", arguments={"text": "one"})
        second = client.ask("tools/call", name="echo", arguments={"text": "two"})
        wait_until(lambda: len(waiting(home)) == 2)
        tickets = [each["ticket"] for each in waiting(home)]
        with at_terminal(home, "allow", tickets[0], "--yes") as screen:
            assert screen.end() == 0, screen.shown
        with at_terminal(home, "allow", tickets[1], "--yes") as screen:
            assert screen.end() == 1
            assert "refused all the same: mcp-jail why fs" in " ".join(screen.shown.split())
        assert "more than 1 an hour" in text_of(client.answer(second))


def test_a_yes_to_several_calls_says_what_became_of_each(home: Home) -> None:
    rules = "  rules: {echo: {decision: ask, limit: 1/h}}\n"
    home.write_policy(POLICY + rules)
    with served(home, "fs", *command("echo.py")) as client:
        for _ in range(2):
            client.ask("tools/call", name="echo", arguments={"text": "one"})
        wait_until(lambda: [each["held"] for each in waiting(home)] == [2])
        with at_terminal(home, "allow", "--for", "session", "--yes") as screen:
            assert screen.end() == 0, screen.shown
        shown = " ".join(screen.shown.split())
        assert "of the calls that waited for it, 1 went on" in shown
        assert "1 of them refused all the same: mcp-jail why fs" in shown


def test_a_yes_for_one_call_leaves_its_twin_waiting(client: Client, home: Home) -> None:
    for _ in range(2):
        client.ask("tools/call", name="echo", arguments={"text": "one"})
    wait_until(lambda: [each["held"] for each in waiting(home)] == [2])
    with at_terminal(home, "allow", "--yes") as screen:
        assert screen.end() == 0, screen.shown
    assert "1 of them waits for another answer: mcp-jail asks" in " ".join(screen.shown.split())
    assert [each["held"] for each in waiting(home)] == [1]


def test_no_can_be_said_at_the_question(client: Client, home: Home) -> None:
    number, ticket = held(client, home)
    with at_terminal(home, "allow", ticket) as screen:
        screen.wait_for("[N]ot now: ")
        screen.type("d\n")
        assert screen.end() == 1, screen.shown
    assert text_of(client.answer(number)) == "denied by the user: do not call it again"
    says_audit(home, "deny")


def test_a_time_that_was_asked_for_takes_a_yes_and_no_other_time(
    client: Client, home: Home
) -> None:
    _, ticket = held(client, home)
    with at_terminal(home, "allow", ticket, "--for", "session") as screen:
        screen.wait_for("[N]ot now: ")
        screen.type("15\n")
        assert screen.end() == 1, screen.shown
    assert waiting(home)
    assert answers(home) == []


def test_a_server_that_ends_while_the_question_stands_is_told(home: Home) -> None:
    with served(home, "fs", *command("echo.py")) as client:
        _, ticket = held(client, home)
        path = Path(control_socket(home))
        with at_terminal(home, "allow", ticket) as screen:
            screen.wait_for("[N]ot now: ")
            client.close()
            wait_until(lambda: not path.exists())
            screen.type("y\n")
            assert screen.end() == 1
            assert "the run of 'fs' has ended" in " ".join(screen.shown.split())


def test_a_session_lasts_until_it_is_taken_back(client: Client, home: Home) -> None:
    number, ticket = held(client, home)
    with at_terminal(home, "allow", ticket, "--for", "session", "--yes") as screen:
        assert screen.end() == 0, screen.shown
    client.answer(number)
    assert client.call("echo", text="hello")["content"][0]["text"] == "hello"
    with at_terminal(home, "grants") as screen:
        assert screen.end() == 0
        assert ticket in screen.shown
    with at_terminal(home, "grants", "--revoke", ticket) as screen:
        assert screen.end() == 0, screen.shown
    held(client, home)
    says_audit(home, "allow", "revoked")


def test_always_writes_the_narrowest_rule_and_the_run_takes_it_up(
    client: Client, home: Home
) -> None:
    number, ticket = held(client, home)
    path = home.policies / "fs.yaml"
    before = path.read_text()
    with at_terminal(home, "allow", ticket) as screen:
        screen.wait_for("[N]ot now: ")
        screen.type("a\n")
        assert screen.end() == 0, screen.shown
    client.answer(number)
    policy = load(path.read_text(), "fs.yaml").policy
    rule = policy.tools.rules["echo"]
    assert isinstance(rule, ToolRule)
    assert rule.args == {"text": Constraint(equals="hello")}
    assert [line for line in before.splitlines() if line not in path.read_text()] == []
    assert client.call("echo", text="hello")["content"][0]["text"] == "hello"
    with at_terminal(home, "grants", "--revoke", ticket) as screen:
        assert screen.end() == 2, screen.shown
        assert "is a rule of the policy: take it out there" in " ".join(screen.shown.split())
    client.ask("tools/call", name="echo", arguments={"text": "other"})
    wait_until(lambda: len(waiting(home)) == 1)


def test_a_rule_that_always_wrote_allows_nothing_once_it_is_taken_out_again(
    client: Client, home: Home
) -> None:
    number, ticket = held(client, home)
    path = home.policies / "fs.yaml"
    before = path.read_text()
    with at_terminal(home, "allow", ticket, "--for", "always", "--yes") as screen:
        assert screen.end() == 0, screen.shown
        assert "has not taken the rule up" not in screen.shown
    client.answer(number)
    path.with_suffix(".new").write_text(before)
    path.with_suffix(".new").chmod(0o600)
    path.with_suffix(".new").replace(path)

    def is_taken_up() -> bool:
        client.request("ping")
        taken = [each["detail"]["sha256"] for each in home.audit() if each["kind"] == "policy"]
        return taken[-1:] == [sha256(before.encode()).hexdigest()]

    wait_until(is_taken_up)
    held(client, home)
    assert subprocess.run([MCP_JAIL, "grants"], env=home.environ(), check=False).returncode == 1


def test_always_without_its_rule_allows_only_what_waited(client: Client, home: Home) -> None:
    number, ticket = held(client, home)
    before = (home.policies / "fs.yaml").read_text()
    line = f"ulimit -f 0; {MCP_JAIL} allow {ticket} --for always --yes"  # no file can be written
    with controlled(typed(line), home.environ(TERM="dumb", COLUMNS="80"), home.path) as screen:
        assert screen.end() == 2, screen.shown
        said = " ".join(screen.shown.split())
    assert "allowed, but only what waited: the rule was not written" in said
    assert client.answer(number)["result"]["content"][0]["text"] == "hello"
    assert (home.policies / "fs.yaml").read_text() == before
    held(client, home)


def test_always_for_what_no_rule_can_say_answers_nothing(client: Client, home: Home) -> None:
    client.ask("tools/call", name="echo", arguments={"text": "x" * 20_000})
    ticket = ticket_of(home)
    before = (home.policies / "fs.yaml").read_text()
    with at_terminal(home, "allow", ticket, "--for", "always", "--yes") as screen:
        assert screen.end() == 2
        assert "read it whole: add --full" in screen.shown
    with at_terminal(home, "allow", ticket, "--for", "always", "--yes", "--full") as screen:
        assert screen.end() == 2
        assert "there is no rule for exactly this" in screen.shown
    assert (home.policies / "fs.yaml").read_text() == before
    assert waiting(home)


def test_always_writes_no_secret_into_the_policy(client: Client, home: Home) -> None:
    client.ask("tools/call", name="echo", arguments={"text": "ghp_" + "a1" * 18})
    ticket = ticket_of(home)
    before = (home.policies / "fs.yaml").read_text()
    with at_terminal(home, "allow", ticket, "--for", "always", "--yes") as screen:
        assert screen.end() == 2
        assert "the arguments hold a secret" in screen.shown
    assert (home.policies / "fs.yaml").read_text() == before
    assert waiting(home)


def refused(home: Home, said: str, reason: str) -> None:
    """Nobody was let answer, it is written down why, and the call still waits."""
    assert f"an answer is not taken from {reason}" in said, said
    says_audit(home, "refused")
    assert waiting(home)


def test_a_program_without_a_terminal_does_not_answer(client: Client, home: Home) -> None:
    _, ticket = held(client, home)
    done = subprocess.run(
        [MCP_JAIL, "allow", ticket, "--yes"],
        capture_output=True,
        text=True,
        env=home.environ(),
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 1
    refused(home, done.stderr, "a process without a terminal")


# The agent's shell starts after its server, and ends with nothing it started waited for.
AGENT = """
import os, subprocess, sys
guard = subprocess.Popen(sys.argv[2:])
while not os.path.exists(os.environ["GO"]):
    pass
subprocess.run(["bash", "-c", sys.argv[1]])
sys.exit(guard.wait())
"""


BELOW = "a process that an MCP client started"
LEFT = "a process that whoever started it has left alone"

# A copy of what runs a program in a terminal of its own, by the name of a terminal.
FOOT = "cp /usr/bin/script $GO.d/foot; setsid --fork $GO.d/foot"

# A program that starts itself again so many times, and then another.
NEST = """
import subprocess, sys
depth, *words = sys.argv[1:]
again = [sys.executable, "-I", "-c", sys.orig_argv[3]]
sys.exit(subprocess.call([*again, str(int(depth) - 1), *words] if int(depth) else words))
"""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{allow}", BELOW),
        ("script -qec {quoted} /dev/null", BELOW),
        ("script -qec {nested} /dev/null", BELOW),
        ("setsid --wait --ctty {allow} < $TERMINAL", BELOW),
        ("setsid {allow} < /dev/null &", LEFT),
        ("setsid --fork script -qec {quoted} /dev/null < /dev/null", LEFT),
        ("setsid --fork script -qec {interactive} /dev/null < /dev/null", LEFT),
        ("(setsid bash -c {quoted} < /dev/null &)", LEFT),
        ("(setsid script -qec {quoted} /dev/null < /dev/null &)", LEFT),
        ("setsid --fork --ctty bash --norc -ic {quoted} < $TERMINAL > $TERMINAL 2>&1", LEFT),
        (f"{FOOT} -qec {{interactive}} /dev/null < /dev/null", LEFT),
    ],
)
@pytest.mark.parametrize("agent", ["CLAUDECODE", "NOTHING"])
def test_an_agents_shell_does_not_answer_for_itself(
    home: Home, tmp_path: Path, line: str, reason: str, agent: str
) -> None:
    go, out = tmp_path / "go", tmp_path / "out"
    allow = f"{MCP_JAIL} allow --yes >> {out} 2>&1"
    script = line.format(
        allow=allow,
        quoted=shlex.quote(allow + "; true"),
        interactive=shlex.quote(f"bash -ic {shlex.quote(allow + '; true')}"),
        nested=shlex.quote(
            f"{shlex.join([sys.executable, '-I', '-c', NEST])} 70 {MCP_JAIL} allow --yes"
        ),
    )
    Path(f"{go}.d").mkdir()
    ours, theirs = os.openpty()
    environ = home.environ(GO=str(go), TERMINAL=os.ttyname(theirs), **{agent: "1"})
    words = [*DESKTOP, sys.executable, "-I", "-c", AGENT, script, str(MCP_JAIL), "run", "fs"]
    with run_client([*words, *command("echo.py")], environ, home.path) as client:
        client.open()
        held(client, home)
        go.touch()
        wait_until(lambda: bool(answers(home)))
    os.close(ours)
    os.close(theirs)
    (entry,) = [each for each in home.audit() if each["kind"] == "answer"]
    assert (entry["verdict"], entry["reason"]) == ("refused", reason)
    assert not [each for each in home.audit() if each["kind"] == "result"]


# A session's manager, to which the kernel gives what those below it leave alone (prctl(2)).
REAPER = """
import ctypes, subprocess, sys
library = ctypes.CDLL(None)
assert library.prctl(36, 1, 0, 0, 0) == 0
assert library.prctl(15, sys.argv[1].encode(), 0, 0, 0) == 0
sys.exit(subprocess.Popen(sys.argv[2:], start_new_session=True).wait())
"""


@pytest.mark.parametrize("name", ["lxqt-session", "Relay(12)"])
def test_an_agent_leaves_nobody_alone_by_a_session_that_takes_orphans_in(
    home: Home, tmp_path: Path, name: str
) -> None:
    """As LXQt, WSL and some containers have one."""
    go = tmp_path / "go"
    allow = shlex.quote(f"bash -ic {shlex.quote(f'{MCP_JAIL} allow --yes; true')}")
    script = f"setsid --fork script -qec {allow} /dev/null < /dev/null > /dev/null"
    environ = home.environ(GO=str(go), TERM="dumb")
    agent = [sys.executable, "-I", "-c", AGENT, script, str(MCP_JAIL), "run", "fs"]
    words = [sys.executable, "-I", "-c", REAPER, name, *agent, *command("echo.py")]
    with run_client(words, environ, home.path) as client:
        client.open()
        held(client, home)
        go.touch()
        wait_until(lambda: bool(answers(home)))
    (entry,) = [each for each in home.audit() if each["kind"] == "answer"]
    assert (entry["verdict"], entry["reason"]) == ("refused", LEFT)


@contextmanager
def terminal_of(program: Path, home: Home, out: Path) -> Iterator[IO[bytes]]:
    """A terminal as a window manager starts one, by a program of any name: what is typed into it.

    `script` holds a terminal for what it runs, and passes on what it reads.
    """
    shutil.copy("/usr/bin/script", program)
    words = ["setsid", "--fork", str(program), "-qfc", "bash --norc --noprofile -i", str(out)]
    environ = home.environ(TERM="dumb", PS1="ready> ")
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ
    ) as starter:
        assert starter.stdin is not None
        wait_until(lambda: out.exists() and b"ready> " in out.read_bytes())
        time.sleep(0.03)  # the kernel tells starts apart by hundredths of a second
        yield starter.stdin
        starter.communicate(b"exit\n", timeout=30)  # all of it has ended when its output has


@pytest.mark.parametrize("name", ["a-terminal", "foot"])
def test_a_persons_terminal_of_any_name_answers_that_ran_before_the_client(
    home: Home, tmp_path: Path, name: str
) -> None:
    """And not one that began after it, as a client could have left it alone."""
    program, out = tmp_path / name, tmp_path / "out"
    with (
        terminal_of(program, home, out) as before,
        served(home, "fs", *command("echo.py")) as client,
    ):
        number, ticket = held(client, home)
        line = f"{MCP_JAIL} allow {ticket} --yes\n".encode()
        program.unlink()
        with terminal_of(program, home, tmp_path / "later") as after:
            after.write(line)
            after.flush()
            says_audit(home, "refused")
        before.write(line)
        before.flush()
        assert text_of(client.answer(number)) == "hello"
        says_audit(home, "refused", "allow")
    (refusal, _) = [each for each in home.audit() if each["kind"] == "answer"]
    assert refusal["reason"] == LEFT


def test_a_chain_that_is_too_long_to_be_seen_whole_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "DEPTH_LIMIT", 1)
    chain = [process(os.getpid()), *ancestors(os.getpid())]
    fault = fault_of_lineage([each for each in chain if each], Running())
    assert fault == "a process whose ancestors are not all to be seen"


@pytest.mark.parametrize("line", ["{allow}", "sh -c {quoted}", "bash -c {quoted}"])
def test_what_nobody_typed_into_a_shell_does_not_answer(
    client: Client, home: Home, line: str
) -> None:
    _, ticket = held(client, home)
    allow = f"{MCP_JAIL} allow {ticket} --yes"
    words = shlex.split(line.format(allow=allow, quoted=shlex.quote(allow + "; true")))
    with controlled(words, home.environ(TERM="dumb", COLUMNS="80"), home.path) as screen:
        screen.end()
    says_audit(home, "refused")
    assert waiting(home)


def test_an_agents_variables_give_it_away_in_a_terminal_of_its_own(
    client: Client, home: Home
) -> None:
    _, ticket = held(client, home)
    with at_terminal(home, "allow", ticket, "--yes", CLAUDECODE="1") as screen:
        assert screen.end() == 1
        shown = " ".join(screen.shown.split())
    refused(home, shown, "a process of an agent (CLAUDECODE is set)")


def test_a_process_in_the_background_of_a_terminal_does_not_answer(
    client: Client, home: Home
) -> None:
    _, ticket = held(client, home)
    script = f"set -m; {MCP_JAIL} allow {ticket} --yes & wait; echo over"
    variables = home.environ(TERM="dumb", COLUMNS="80")
    with controlled(["bash", "-c", script], variables, home.path) as screen:
        screen.wait_for("over")
        screen.end()
        shown = " ".join(screen.shown.split())
    refused(home, shown, "a process in the background of its terminal")


def test_a_peer_that_is_gone_before_it_is_heard_does_not_answer(client: Client, home: Home) -> None:
    _, ticket = held(client, home)
    line = yes(home, ticket).strip()
    send = (
        "import socket,sys,os;os.chdir(os.path.dirname(sys.argv[1]));"
        "s=socket.socket(socket.AF_UNIX);s.connect(os.path.basename(sys.argv[1]));"
        "s.sendall(sys.argv[2].encode()+b'\\n');os._exit(0)"
    )
    words = [sys.executable, "-I", "-c", send, control_socket(home), line]
    (run,) = running(find_places(home.environ()))
    os.kill(run.pid, signal.SIGSTOP)
    with controlled(words, home.environ(), home.path) as screen:
        assert screen.end() == 0
    os.kill(run.pid, signal.SIGCONT)
    assert waiting(home), "the guard has heard all that was sent before"
    assert "allow" not in answers(home)


def test_who_connected_counts_and_not_who_speaks(client: Client, home: Home) -> None:
    """A connection can be handed on, its peer cannot: here the test's own, without a terminal."""
    _, ticket = held(client, home)
    line = yes(home, ticket)
    send = "import os, sys; os.write(int(sys.argv[1]), sys.argv[2].encode())"
    with connect(control_socket(home), timeout=30) as connection:
        os.set_inheritable(connection.fileno(), True)
        words = [sys.executable, "-I", "-c", send, str(connection.fileno()), line]
        script = shlex.join(words)
        done = subprocess.run(
            ["script", "-qec", script, "/dev/null"],
            pass_fds=(connection.fileno(),),
            start_new_session=True,
            capture_output=True,
            check=True,
        )
        assert done.returncode == 0
        assert b"not taken from" in connection.recv(4096)
    says_audit(home, "refused")


def test_the_jailed_server_does_not_find_the_socket(home: Home) -> None:
    home.write_policy(f"{POLICY}  rules: {{sh: allow}}\n")
    with served(home, "fs", *command("shell.py")) as client:
        ticket = "ABCDEF"
        path = control_socket(home)
        request = f'{{"v":1,"id":1,"op":"answer","ticket":"{ticket}","verdict":"allow"}}'
        script = (
            "import os,socket;s=socket.socket(socket.AF_UNIX);"
            f"os.chdir({os.path.dirname(path)!r});s.connect({os.path.basename(path)!r});s.sendall({request!r}.encode());print(s.recv(999))"
        )
        said = client.call("sh", line=f"/usr/bin/python3 -c {shlex.quote(script)}")
        assert "No such file or directory" in str(said)
    assert answers(home) == []


def test_another_user_cannot_connect(client: Client, home: Home) -> None:
    path = Path(control_socket(home))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    if os.geteuid() != 0:
        return  # only root can be two users
    for folder in (*path.parents,):
        if folder != path.parent and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    path.parent.chmod(0o711)
    path.chmod(0o666)
    script = (
        "import os,socket,sys;os.setgid(65534);os.setuid(65534);"
        "os.chdir(os.path.dirname(sys.argv[1]));"
        "s=socket.socket(socket.AF_UNIX);s.connect(os.path.basename(sys.argv[1]));"
        's.sendall(b\'{"v":1,"id":1,"op":"asks"}\\n\');print(s.recv(99))'
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert "connect" not in done.stderr, "nothing but the guard was in its way"
    assert done.stdout in {"", "b''\n"}


def test_nothing_is_left_of_a_run_but_its_audit(home: Home) -> None:
    with served(home, "fs", *command("echo.py")) as client:
        held(client, home)
        path = Path(control_socket(home))
        client.close()
    wait_until(lambda: not path.exists())
