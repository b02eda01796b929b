"""The life of a run: whoever closes, hangs, floods or dies, all ends soon and nothing is left."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from driver import ERAS, Home, command, processes_with, started, wait_until
from mcp_jail.store.places import find_places

POLICY = """\
filesystem: {read_write: [~/projects/scratch]}
tools: {default: allow}
"""

ECHO = command("echo.py")
STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.write_policy(POLICY)
    return made


def is_free(lock: Path) -> bool:
    """Whether nobody holds the lock any more: whoever did is gone."""
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def is_of(note: Path, pid: int) -> bool:
    """Whether a note in the registry is of a guard with this process id."""
    return bool(json.loads(note.read_text())["pid"] == pid)


def nothing_left(home: Home) -> bool:
    """Whether no process of ours or of the jail knows this home any more."""
    return not processes_with(str(home.path))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("number", STOPS)
def test_a_signal_ends_everything(home: Home, number: signal.Signals, era: str) -> None:
    with started(home, "run", "fs", *command("echo.py", str(home.path)), era=era) as client:
        client.open()
        client.process.send_signal(number)
        assert client.wait() == 0
    wait_until(lambda: nothing_left(home))
    assert home.audit()[-1]["reason"] == "a signal"


@pytest.mark.parametrize("number", STOPS)
def test_a_stubborn_server_ends_too(home: Home, number: signal.Signals) -> None:
    marked = command("hang.py", "stubborn", str(home.path))
    with started(home, "run", "fs", *marked) as client:
        client.open()
        client.process.send_signal(number)
        assert client.wait() == 0
    wait_until(lambda: nothing_left(home))
    assert home.audit()[-1]["detail"]["server"] == "killed by SIGKILL"


def test_a_client_that_closes_ends_a_stubborn_server(home: Home) -> None:
    with started(home, "run", "fs", *command("hang.py", "stubborn", str(home.path))) as client:
        client.open()
        assert client.close() == 0
    wait_until(lambda: nothing_left(home))


@pytest.mark.parametrize("keep", [[], ["keep"]], ids=["silent", "holding the streams"])
def test_what_a_server_leaves_behind_ends_with_it(home: Home, keep: list[str]) -> None:
    lock = home.scratch / "lock"
    with started(home, "run", "fs", *command("forks.py", str(lock), *keep)) as client:
        client.open()
        client.call("echo", text="x")
        assert not is_free(lock)
        assert client.close() == 0
    wait_until(lambda: is_free(lock))


def test_a_run_is_noted_while_it_runs_and_not_after_even_a_kill_9(home: Home) -> None:
    with started(home, "run", "fs", *ECHO) as client:
        client.open()
        notes = find_places(home.environ()).runtime
        mine = [note for note in Path(notes).glob("*.json") if is_of(note, client.process.pid)]
        assert len(mine) == 1
        client.process.kill()
        wait_until(lambda: not mine[0].exists())


def test_a_kept_home_is_there_again_and_a_fresh_one_is_not(home: Home) -> None:
    inside = str(home.path / "notes.txt")
    for kept in (True, False):
        what = "keep" if kept else "fresh"
        home.write_policy(POLICY.replace("filesystem: {", f"filesystem: {{home: {what}, "))
        for turn in (1, 2):
            with started(home, "run", "fs", *ECHO) as client:
                client.open()
                found = client.call("read_file", path=inside)
                assert ("remember" in str(found)) == (kept and turn == 2)
                client.call("write_file", path=inside, content="remember")
                client.close()
        assert not Path(inside).exists()


def test_kill_9_of_the_guard_leaves_nothing(home: Home) -> None:
    lock = home.scratch / "lock"
    with started(home, "run", "fs", *command("forks.py", str(lock), "keep")) as client:
        client.open()
        client.call("echo", text="x")
        client.process.kill()
        wait_until(lambda: is_free(lock))
        wait_until(lambda: not processes_with(str(lock)))


def test_kill_9_of_everything_in_the_clients_group_leaves_nothing(home: Home) -> None:
    lock = home.scratch / "lock"
    with started(home, "run", "fs", *command("forks.py", str(lock), "keep")) as client:
        client.open()
        client.call("echo", text="x")
        os.killpg(client.process.pid, signal.SIGKILL)
        wait_until(lambda: is_free(lock))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("status", ["7", "kill"])
def test_a_call_in_flight_gets_an_error_when_the_server_dies(
    home: Home, status: str, era: str
) -> None:
    with started(home, "run", "fs", *command("dies.py", status), era=era) as client:
        client.open()
        answer = client.request("tools/call", name="echo", arguments={"text": "x"})
        assert answer["error"]["code"] == 5030
        assert client.wait() == 1
        how = "killed by SIGKILL" if status == "kill" else "exit status 7"
        assert how in answer["error"]["message"]
        assert how.encode() in client.stderr
    end = home.audit()[-1]
    assert (end["kind"], end["detail"]["server"]) == ("end", how)


def test_half_an_answer_of_a_dying_server_is_no_answer(home: Home) -> None:
    with started(home, "run", "fs", *command("dies.py", "7", "half")) as client:
        client.open()
        answer = client.request("tools/call", name="echo", arguments={"text": "x"})
        assert answer["error"]["code"] == 5030


def test_a_server_that_ends_at_once_is_told(home: Home) -> None:
    with started(home, "run", "fs", *command("dies.py", "3", "start")) as client:
        answer = client.open()
        assert answer["error"]["code"] == 5030
        assert client.wait() == 1


def test_a_command_that_is_no_program_is_told(home: Home) -> None:
    with started(home, "run", "fs", "--", "no-such-server") as client:
        assert client.wait() == 2
        assert b"no-such-server" in client.stderr


def test_a_pattern_that_takes_too_long_denies_its_call_and_ends_nothing(home: Home) -> None:
    rule = '{decision: allow, args: {text: {matches: "(a+)+"}}}'
    home.write_policy(f"tools: {{default: deny, rules: {{echo: {rule}}}}}\n")
    with started(home, "run", "fs", *ECHO) as client:
        client.open()
        for _ in range(3):
            assert "too long" in str(client.call("echo", text="a" * 40 + "!"))
        assert "aaa" in str(client.call("echo", text="aaa"))
        assert client.close() == 0


@pytest.mark.parametrize("stream", ["stderr", "stderr-line", "notifications"])
def test_a_flood_of_the_server_blocks_nothing(home: Home, stream: str) -> None:
    with started(home, "run", "fs", *command("flood.py", stream, "16")) as client:
        client.open()
        result = client.call("echo", text="x")
        assert "x" in str(result)
        assert client.close() == 0
        assert len(client.stderr) < 16 << 20


def test_a_client_that_does_not_read_stops_the_server_and_not_us(home: Home) -> None:
    with started(home, "run", "fs", *command("flood.py", "notifications", "64")) as client:
        client.open()
        number = client.ask("tools/call", name="echo", arguments={"text": "x"})
        before = resident(client.process.pid)
        wait_until(lambda: is_blocked_on_a_pipe(client.process.pid))
        assert resident(client.process.pid) - before < 24 << 20
        assert "x" in str(client.answer(number))


def test_a_server_that_does_not_read_does_not_stop_what_it_says(home: Home) -> None:
    with started(home, "run", "fs", *command("slowread.py", "talking")) as client:
        client.open()
        client.call("echo", text="x")
        padding = "y" * 40_000
        ping = {"jsonrpc": "2.0", "id": "n", "method": "ping", "params": {"_meta": {"x": padding}}}
        arguments = (client.write, json.dumps(ping), 5_000)
        writer = threading.Thread(target=write_much, args=arguments, daemon=True)
        writer.start()
        wait_until(lambda: is_waiting_to_write(writer, client.written))
        for _ in range(50):
            assert client.read()["method"] == "notifications/message"
        assert resident(client.process.pid) < 100 << 20
        client.process.send_signal(signal.SIGTERM)
        assert client.wait() == 0
        writer.join()


def test_a_client_that_does_not_read_is_still_listened_to(home: Home) -> None:
    log = home.scratch / "log"
    talk = command("flood.py", "notifications", "64", "--log", str(log))
    with started(home, "run", "fs", *talk) as client:
        client.open()
        client.ask("tools/call", name="echo", arguments={"text": "x"})
        wait_until(lambda: is_blocked_on_a_pipe(client.process.pid))
        client.send(id="late", method="tools/call", params={"name": "delete_x", "arguments": {}})
        wait_until(lambda: any(e.get("name") == "delete_x" for e in home.audit()))


@pytest.mark.parametrize("how", ["close", "shut"])
def test_a_client_that_leaves_without_reading_is_noticed(home: Home, how: str) -> None:
    with started(home, "run", "fs", *command("flood.py", "notifications", "64")) as client:
        client.open()
        client.ask("tools/call", name="echo", arguments={"text": "x"})
        wait_until(lambda: is_blocked_on_a_pipe(client.process.pid))
        assert client.process.stdin is not None
        client.process.stdin.close()
        if how == "shut":
            assert client.process.stdout is not None
            client.process.stdout.close()
        wait_until(lambda: client.process.poll() is not None)
    assert home.audit()[-1]["reason"] == "the client closed"


@pytest.mark.parametrize(
    "server", [("echo.py",), ("hang.py", "stubborn"), ("slowread.py", "start")]
)
def test_an_sdk_client_never_has_to_kill_us(home: Home, server: tuple[str, ...]) -> None:
    """The Python and TypeScript SDKs close our input and wait two seconds before they signal."""
    patience = 2.0
    with started(home, "run", "fs", *command(*server)) as client:
        client.ask("ping")
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.wait(patience) == 0
    assert home.audit()[-1]["kind"] == "end"


def test_sixteen_mebibytes_pass_whole(home: Home) -> None:
    big = home.scratch / "big"
    big.write_text("0123456789abcdef" * (1 << 20))
    with started(home, "run", "fs", *command("echo.py")) as client:
        client.open()
        assert str(big.read_text()) in str(client.call("read_file", path=str(big)))


def test_an_audit_that_cannot_be_written_stops_calls_with_an_error(home: Home) -> None:
    home.write_policy(POLICY + "audit: {path: /dev/full}\n")
    with started(home, "run", "fs", *command("echo.py")) as client:
        assert client.wait() == 5
        assert b"/dev/full" in client.stderr


def test_an_audit_that_fills_up_stops_calls_and_nothing_is_forwarded(home: Home) -> None:
    log = home.scratch / "log"
    with started(
        home, "run", "fs", *command("echo.py", "--log", str(log)), limit_files=24 * 1024
    ) as client:
        client.open()
        seen_error, told = None, ""
        for number in range(400):
            answer = client.request("tools/call", name="echo", arguments={"text": f"n{number}."})
            if "error" in answer:
                seen_error, told = number, answer["error"]["message"]
                break
        assert seen_error is not None
        assert "audit" in told
        again = client.request("tools/call", name="echo", arguments={"text": "once more"})
        assert "audit" in again["error"]["message"]
        assert client.close() == 5
    assert f"n{seen_error}." not in log.read_text()
    assert "once more" not in log.read_text()
    assert f"n{seen_error - 1}." in log.read_text()


def write_much(write: Callable[[bytes], None], line: str, count: int) -> None:
    """Write until the other side is gone."""
    try:
        for number in range(count):
            write(line.replace('"n"', str(number + 1000)).encode() + b"\n")
    except (BrokenPipeError, ValueError):
        return


def is_waiting_to_write(writer: threading.Thread, written: Callable[[], int]) -> bool:
    """Whether a writer lives and gets nothing written any more."""
    before = written()
    threading.Event().wait(0.3)
    return writer.is_alive() and before > 0 and written() == before


def resident(pid: int) -> int:
    """Bytes of memory a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def is_blocked_on_a_pipe(pid: int) -> bool:
    """Whether a process sleeps in poll and its processor time stands still."""

    def ticks() -> tuple[str, ...]:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (*fields[11:13], fields[0])

    before = ticks()
    threading.Event().wait(0.3)
    return ticks() == before and before[2] == "S"
