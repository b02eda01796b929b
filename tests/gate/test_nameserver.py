"""Every question inside is answered from the policy, whoever is asked; none leaves the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.test_dns import EXAMPLE, asked, labels
from mcp_jail.core.policy import Network, NetworkMode
from mcp_jail.gate.allow import compile_network
from mcp_jail.gate.attempts import Attempt
from mcp_jail.gate.dns import Code
from mcp_jail.gate.loop import Loop
from mcp_jail.gate.names import Names
from mcp_jail.gate.nameserver import HALVES_APART, HALVES_LIMIT, Halves, NameServer

OnAMachine = Callable[..., Any]


def server(*, names: int = 100) -> tuple[NameServer, list[Attempt]]:
    """A name server that allows api.example.com and all below files.example, and its notes."""
    network = Network(mode=NetworkMode.ALLOWLIST, allow=("api.example.com", "*.files.example:80"))
    noted: list[Attempt] = []
    made = NameServer(Loop(), compile_network(network), Names(names), noted.append)
    return made, noted


def code_and_answers(response: bytes | None) -> tuple[int, int]:
    assert response is not None
    return response[3] & 0xF, int.from_bytes(response[6:8], "big")


@pytest.mark.parametrize(
    ("name", "kind", "code", "answers"),
    [
        (EXAMPLE, 1, Code.OK, 1),
        (EXAMPLE, 28, Code.OK, 0),
        (EXAMPLE, 65, Code.OK, 0),
        (EXAMPLE, 64, Code.OK, 0),
        (EXAMPLE, 16, Code.REFUSED, 0),
        (EXAMPLE, 255, Code.REFUSED, 0),
        (labels(b"a", b"files", b"example"), 1, Code.OK, 1),
        (labels(b"files", b"example"), 1, Code.NO_SUCH_NAME, 0),
        (labels(b"evil", b"example"), 1, Code.NO_SUCH_NAME, 0),
        (labels(b"evil", b"example"), 28, Code.NO_SUCH_NAME, 0),
        (labels(b"evil", b"example"), 16, Code.REFUSED, 0),
        (labels(b"evil\0", b"files", b"example"), 1, Code.NO_SUCH_NAME, 0),
        (labels(b"evil.api", b"example", b"com"), 1, Code.NO_SUCH_NAME, 0),
        (labels(b"api.example.com"), 1, Code.NO_SUCH_NAME, 0),
        (labels(b"_x", b"files", b"example"), 1, Code.NO_SUCH_NAME, 0),
        (labels(b"127", b"0", b"0", b"1"), 1, Code.NO_SUCH_NAME, 0),
        (b"\0", 1, Code.NO_SUCH_NAME, 0),
    ],
)
def test_a_question_is_answered_from_the_policy(
    name: bytes, kind: int, code: Code, answers: int
) -> None:
    made, noted = server()
    assert code_and_answers(made.reply(asked(name, kind=kind))) == (code, answers)
    assert len(noted) == (code is not Code.OK)


def test_another_class_is_refused_and_a_response_is_not_answered() -> None:
    made, _ = server()
    assert code_and_answers(made.reply(asked(EXAMPLE, klass=3))) == (Code.REFUSED, 0)
    assert made.reply(asked(EXAMPLE, flags=0x8180)) is None


def test_when_the_addresses_are_used_up_a_question_fails_and_known_names_stay() -> None:
    made, noted = server(names=3)
    for number in range(3):
        name = labels(b"n%d" % number, b"files", b"example")
        assert code_and_answers(made.reply(asked(name))) == (Code.OK, 1)
    more = labels(b"more", b"files", b"example")
    assert code_and_answers(made.reply(asked(more))) == (Code.FAILED, 0)
    assert noted[0].why == "too many names in one run"
    assert code_and_answers(made.reply(asked(labels(b"n0", b"files", b"example")))) == (Code.OK, 1)


def test_the_two_questions_of_one_look_up_are_one_attempt() -> None:
    made, noted = server()
    for _ in range(3):
        for kind in (1, 28):
            made.reply(asked(labels(b"evil", b"example"), kind=kind))
    assert [attempt.host for attempt in noted] == ["evil.example"] * 3


@pytest.mark.parametrize(
    ("kinds", "attempts"),
    [
        ((1, 1, 1, 1, 1), 5),
        ((28, 28, 28), 3),
        ((1, 28, 1, 28), 2),
        ((28, 1, 28, 1), 2),
        ((1, 28, 28), 2),
        ((1, 1, 28), 2),
        ((16, 16), 2),
        ((1, 65, 28), 2),
    ],
)
def test_a_question_is_passed_over_only_as_the_other_half_of_one_look_up(
    kinds: tuple[int, ...], attempts: int
) -> None:
    made, noted = server()
    for kind in kinds:
        made.reply(asked(labels(b"evil", b"example"), kind=kind))
    assert len(noted) == attempts


def test_halves_belong_together_by_name_and_time_and_few_are_remembered() -> None:
    halves = Halves()
    for name in ("a", "b"):
        assert not halves.is_second(name, "", 1, 0.0)
    assert [halves.is_second(name, "", 28, 0.1) for name in ("b", "a", "c")] == [True, True, False]
    assert not halves.is_second("a", "", 1, 1.0)
    assert not halves.is_second("a", "", 28, 1.1 + HALVES_APART)
    for number in range(10 * HALVES_LIMIT):
        halves.is_second(str(number), "", 1, 5.0)
    assert len(halves._firsts) == HALVES_LIMIT


@pytest.mark.parametrize(
    "data",
    [
        b"CANARY-SECRET-DATA",
        b"",
        b"\x12\x34\x81\x80" + bytes(8),
        bytes(2) + b"\x01\x00\x00\x01" + bytes(6) + b"\xc0\x0c\x00\x01\x00\x01",
        b"x" * 5_000,
    ],
    ids=lambda data: str(data[:20]),
)
def test_what_is_no_question_is_an_attempt_too(data: bytes) -> None:
    made, noted = server()
    made.reply(data)
    (attempt,) = noted
    assert (attempt.host, attempt.why) == ("(no name)", "no question that can be read")
    assert b"CANARY" not in str(attempt).encode()


@given(st.binary(max_size=200))
def test_no_bytes_stop_it(data: bytes) -> None:
    made, _ = server()
    for start in (b"", asked(EXAMPLE)[:12], asked(EXAMPLE)):
        made.reply(start + data)
    assert code_and_answers(made.reply(asked(EXAMPLE))) == (Code.OK, 1)


def test_whichever_resolver_is_asked_ours_answers_and_no_question_gets_out(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    from gate.test_dns import asked, EXAMPLE, labels
    on_a_machine(FOLDER, HOSTS)
    questions = {
        "QUESTION": asked(EXAMPLE), "SECRET": asked(labels(b"stolen-secret", b"evil", b"example")),
    }
    run = python_inside(FOLDER, '''
        def over_udp(server, question):
            family = socket.AF_INET6 if ":" in server else socket.AF_INET
            with socket.socket(family, socket.SOCK_DGRAM) as s:
                s.settimeout(10)
                s.connect((server, 53))  # so only an answer from there is heard
                s.send(question)
                return s.recv(512)
        def over_tcp(server, *questions):
            with connect(server, 53) as s:
                for question in questions:
                    s.sendall(len(question).to_bytes(2, "big") + question)
                stream = s.makefile("rb")
                return [stream.read(int.from_bytes(stream.read(2), "big")) for _ in questions]
        servers = ["127.0.0.1", "8.8.8.8", "93.184.216.34", "2606:4700::34", "::1"]
        answers = [over_udp(server, QUESTION) for server in servers]
        answers += over_tcp("1.1.1.1", *[QUESTION] * 500) + over_tcp("2606:4700::34", QUESTION)
        # A message of 64 KiB is a malformed question, and is told so over TCP.
        large = over_tcp("1.1.1.1", QUESTION + bytes(65535 - len(QUESTION)), QUESTION)
        for server in servers:
            over_udp(server, SECRET)
        tell([len(answers), len(set(answers)), answers[0].hex(), large[0][3] & 15,
              large[1] == answers[0]])
    ''', allowlist("api.example.com"), given=questions)
    tell([run.said, os.path.exists(FOLDER + "/datagrams"), run.told(What.LOOKUP)])
    """
    (count, distinct, answer, malformed, goes_on), got_out, lookups = on_a_machine(code)
    assert (count, distinct) == (506, 1)
    assert bytes.fromhex(answer).endswith(bytes((198, 18, 0, 1)))
    assert (malformed, goes_on) == (Code.MALFORMED, True)
    assert not got_out
    assert {host for host, _ in lookups} == {"stolen-secret.evil.example", "(no name)"}


def test_ten_thousand_names_do_not_stop_it_and_what_is_dropped_is_counted(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        def question(name):
            labels = b"".join(bytes((len(p),)) + p for p in name.encode().split(b".")) + bytes(1)
            return bytes((1, 2, 1, 0, 0, 1)) + bytes(6) + labels + bytes((0, 1, 0, 1))
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect(("127.0.0.1", 53)); s.settimeout(10)
        addresses = set()
        for number in range(10000):
            s.send(question(f"n{number}.files.example"))
            addresses.add(s.recv(512)[-4:])
        for number in range(20000):
            s.send(question(f"x{number}.evil.example"))
        answers = iter(lambda: outcome("api.example.com", 7, b"still there"), "still there")
        for _ in answers:
            pass
        tell(len(addresses))
    ''', allowlist("*.files.example", "api.example.com:7"))
    counted = {}
    for attempt in run.attempts:
        what = "lost" if attempt.what is What.LOST else "seen"
        counted[what] = counted.get(what, 0) + attempt.times
        assert what == "seen" or attempt.why == "questions faster than they were answered"
    tell([run.said, counted, len(run.attempts)])
    """
    said, counted, lines = on_a_machine(code)
    assert said == 10_000
    # Each that no rule names is seen or known to be lost; of the others some may be lost, too.
    assert 20_000 <= sum(counted.values()) <= 20_100
    assert lines < 1200


def test_programs_that_ask_only_for_what_this_network_has_are_answered_too(
    on_a_machine: OnAMachine,
) -> None:
    """With AI_ADDRCONFIG getaddrinfo(3) finds nothing where there is no address but 127.0.0.1."""
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        tell([
            [found[4][0] for found in socket.getaddrinfo(
                "api.example.com", 443, family, socket.SOCK_STREAM, 0, flags)]
            for family in (socket.AF_UNSPEC, socket.AF_INET)
            for flags in (0, socket.AI_ADDRCONFIG, socket.AI_V4MAPPED | socket.AI_ADDRCONFIG)
        ])
    ''', allowlist("api.example.com"))
    tell(run.said)
    """
    assert on_a_machine(code) == [["198.18.0.1"]] * 6
