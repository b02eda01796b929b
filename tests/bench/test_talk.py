"""The client that measures: it counts what it did, and measures no answer but the right one."""

from __future__ import annotations

import os

import pytest

from lanes import Workshop
from talk import LostError, Talk, cpu_seconds, is_refused, opened, pss_kib

CALL = b'{"name":"write_file","arguments":{}}'


@pytest.fixture
def environ(workshop: Workshop) -> dict[str, str]:
    return workshop.env


def test_every_call_that_was_answered_is_counted(workshop: Workshop) -> None:
    with opened([workshop.echo, "200"], workshop.env, CALL) as talk:
        talk.try_call()
        assert len(talk.time_calls(3)) == 3
        talk.time_flight(16, 4)
        assert talk.calls == 1 + 3 + 16


def test_every_notification_is_waited_for(workshop: Workshop) -> None:
    with opened([workshop.echo, "16", "5000"], workshop.env, CALL) as talk:
        talk.time_flood(5000)
        talk.time_flood(5000)
        assert talk.calls == 2


def test_an_answer_to_something_else_is_no_figure(workshop: Workshop) -> None:
    with (
        opened([workshop.echo, "16", "1"], workshop.env, CALL) as talk,
        pytest.raises(LostError, match="out of step"),
    ):
        talk.time_calls(1)


def test_an_answer_that_comes_in_pieces_is_one(workshop: Workshop) -> None:
    with opened([workshop.echo, str(3 << 20)], workshop.env, CALL) as talk:
        talk.try_call()
        talk.time_calls(2)
        assert talk.calls == 3


def test_the_start_is_over_when_the_tools_are_listed(workshop: Workshop) -> None:
    with opened([workshop.echo, "16"], workshop.env, CALL) as talk:
        assert 0 < talk.initialize_ns < talk.start_ns


@pytest.mark.parametrize("command", [["true"], ["echo", "no JSON, but a line"]])
def test_a_server_that_ends_at_once_is_no_server(
    environ: dict[str, str], command: list[str]
) -> None:
    with pytest.raises(LostError, match="the server is gone"):
        Talk(command, environ, CALL)


def test_a_server_that_does_not_end_with_its_input_is_ended(environ: dict[str, str]) -> None:
    opening = "read a; echo initialized; read b; read c; echo listed"
    with opened(["sh", "-c", f"{opening}; exec sleep 600"], environ, CALL) as talk:
        pass
    assert talk.process.returncode == -9


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ({"id": 1, "result": {"content": []}}, False),
        ({"id": 1, "result": {"content": [], "isError": False}}, False),
        ({"id": 1, "result": {"content": [], "isError": True}}, True),
        ({"id": 1, "error": {"code": -32602, "message": "x"}}, True),
    ],
)
def test_an_error_and_a_result_that_is_one_are_refusals(
    answer: dict[str, object], refused: bool
) -> None:
    assert is_refused(answer) is refused


def test_what_is_ours_is_all_but_the_server(workshop: Workshop) -> None:
    server = workshop.echo_server("echo")
    direct, pump, jailed = workshop.lanes
    with workshop.talking(direct, server) as talk:
        assert talk.ours(workshop.echo) == []
    with workshop.talking(pump, server) as talk:
        assert talk.ours(workshop.echo) == [talk.process.pid]
        assert len(talk.family()) == 2
    with workshop.talking(jailed, server) as talk:
        ours = talk.ours(workshop.echo)
        assert len(talk.family()) == len(ours) + 1
        programs = {os.path.basename(os.readlink(f"/proc/{pid}/exe")) for pid in ours}
        assert "bwrap" in programs
        assert "echo" not in programs


def test_memory_and_processor_time_are_those_of_the_processes_that_are_named() -> None:
    block = bytearray(b"x" * (64 << 20))
    assert pss_kib([os.getpid()]) > 64 << 10
    before = cpu_seconds([os.getpid()])
    while cpu_seconds([os.getpid()]) == before:
        block.count(b"y")
    assert cpu_seconds([]) == pss_kib([]) == 0
