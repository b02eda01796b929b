"""The servers of `tests/servers`, alone: they are as honest and as rogue as they claim."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

SERVERS: Final = Path(__file__).resolve().parent / "servers"
MODERN: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t"}},
}


def call(id: int | str, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def in_modern_form(request: dict[str, Any]) -> dict[str, Any]:
    return request | {"params": request.get("params", {}) | {"_meta": MODERN}}


def exchange(
    python: str, server: str, *argv: str, say: list[dict[str, Any]]
) -> subprocess.CompletedProcess[bytes]:
    """Say it all, close, and collect what comes back."""
    return subprocess.run(
        [python, "-I", "-S", str(SERVERS / server), *argv],
        input="".join(json.dumps(message) + "\n" for message in say).encode(),
        capture_output=True,
        check=False,
    )


def answers(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def rogue_modes(python: str) -> list[str]:
    done = exchange(python, "rogue.py", "--modes", say=[])
    return done.stdout.decode().split()


def test_echo_answers_in_the_legacy_era_with_the_ids_it_was_given(python: str) -> None:
    say = [INITIALIZE, call("word", "add", a=1, b=2)]
    hello, sum_ = answers(exchange(python, "echo.py", say=say))
    assert hello["id"] == 0
    assert hello["result"]["protocolVersion"] == "2025-06-18"
    assert sum_ == {
        "jsonrpc": "2.0",
        "id": "word",
        "result": {"content": [{"type": "text", "text": "3"}], "isError": False},
    }


def test_echo_answers_in_the_modern_era_without_a_handshake(python: str) -> None:
    (sum_,) = answers(exchange(python, "echo.py", say=[in_modern_form(call(7, "add", a=1, b=2))]))
    assert sum_["result"]["resultType"] == "complete"
    assert sum_["result"]["content"] == [{"type": "text", "text": "3"}]


def test_echo_keeps_to_the_era_of_its_first_request(python: str) -> None:
    discover = {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}
    mixed = [INITIALIZE, in_modern_form(discover)]
    assert answers(exchange(python, "echo.py", say=mixed))[1]["error"]["code"] == -32600
    assert answers(exchange(python, "echo.py", say=mixed[::-1]))[1]["error"]["code"] == -32022


def test_echo_really_writes_and_logs_what_reached_it(python: str, tmp_path: Path) -> None:
    target, log = tmp_path / "target", tmp_path / "log"
    say = [INITIALIZE, call(1, "write_file", path=str(target), content="written")]
    exchange(python, "echo.py", "--log", str(log), say=say)
    assert target.read_text() == "written"
    assert [json.loads(line) for line in log.read_text().splitlines()] == say


def test_echo_falls_for_a_call_smuggled_behind_a_bare_carriage_return(python: str) -> None:
    inner = json.dumps(call(2, "echo", text="smuggled"))
    line = json.dumps(INITIALIZE) + '\n{"a":\r' + inner + "\r}\n"
    done = subprocess.run(
        [python, "-I", "-S", str(SERVERS / "echo.py")],
        input=line.encode(),
        capture_output=True,
        check=True,
    )
    assert b"smuggled" in done.stdout


@pytest.mark.parametrize("modern", [False, True], ids=["legacy", "modern"])
def test_every_rogue_still_gives_the_honest_answer(python: str, modern: bool) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    say = [listing, listing | {"id": 2}, call(3, "echo", text="honest")]
    say = [in_modern_form(message) for message in say] if modern else [INITIALIZE, *say]
    for mode in rogue_modes(python):
        done = exchange(python, "rogue.py", mode, say=say)
        if modern and mode.startswith("asks-"):
            assert b'"input_required"' in done.stdout, mode
        else:
            assert b'"honest"' in done.stdout, mode
        assert done.returncode == 0, mode


def test_dies_ends_with_its_status_and_the_call_unanswered(python: str) -> None:
    done = exchange(python, "dies.py", "7", say=[INITIALIZE, call(1, "echo", text="x")])
    assert done.returncode == 7
    assert [answer["id"] for answer in answers(done)] == [0]


def test_dies_can_leave_half_an_answer_or_be_killed(python: str) -> None:
    say = [INITIALIZE, call(1, "echo", text="x")]
    half = exchange(python, "dies.py", "7", "half", say=say).stdout
    assert not half.endswith(b"\n")
    assert exchange(python, "dies.py", "kill", say=say).returncode == -signal.SIGKILL


def test_hang_answers_all_but_calls(python: str) -> None:
    done = exchange(python, "hang.py", "calls", say=[INITIALIZE, call(1, "echo", text="x")])
    assert [answer["id"] for answer in answers(done)] == [0]
    assert exchange(python, "hang.py", "silent", say=[INITIALIZE]).stdout == b""


def test_hang_can_ignore_a_closed_stdin_and_sigterm(python: str) -> None:
    command = [python, "-I", "-S", str(SERVERS / "hang.py"), "stubborn"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.close()
        server.stdout.readline()
        server.send_signal(signal.SIGTERM)
        server.send_signal(signal.SIGINT)
        assert server.poll() is None
        server.kill()
    assert server.returncode == -signal.SIGKILL


def test_flood_writes_what_it_was_told_and_answers(python: str) -> None:
    say = [INITIALIZE, call(1, "echo", text="x")]
    noisy = exchange(python, "flood.py", "stderr", "1", say=say)
    assert len(noisy.stderr) >= 1024 * 1024
    assert [answer["id"] for answer in answers(noisy)] == [0, 1]
    notes = answers(exchange(python, "flood.py", "notifications", "1", say=say))
    assert {note["method"] for note in notes[1:-1]} == {"notifications/message"}
    assert notes[-1]["id"] == 1


@pytest.mark.parametrize("keep", [[], ["keep"]], ids=["lets-go", "keeps-streams"])
def test_forks_leaves_somebody_behind_who_holds_the_lock(
    python: str, tmp_path: Path, keep: list[str]
) -> None:
    path = tmp_path / "lock"
    command = [python, "-I", "-S", str(SERVERS / "forks.py"), str(path), *keep]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in (INITIALIZE, call(1, "echo", text="x")):
            server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.close()
        assert b'"id": 0' in server.stdout.readline()
        assert b'"id": 1' in server.stdout.readline()
        server.wait()
        lock = os.open(path, os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.kill(int(path.read_text()), signal.SIGKILL)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.close(lock)


def test_slowread_reads_nothing_after_the_first_call(python: str) -> None:
    command = [python, "-I", "-S", str(SERVERS / "slowread.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in (INITIALIZE, call(1, "echo", text="x")):
            server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        server.stdout.readline()
        assert b'"id": 1' in server.stdout.readline()
        os.set_blocking(server.stdin.fileno(), False)
        more_than_a_pipe_holds = b" " * (4 * 1024 * 1024)
        assert os.write(server.stdin.fileno(), more_than_a_pipe_holds) < len(more_than_a_pipe_holds)
        with pytest.raises(BlockingIOError):
            os.write(server.stdin.fileno(), more_than_a_pipe_holds)
        server.kill()
