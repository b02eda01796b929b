"""A jailed program's connections: what a rule opens gets there, anything else is reset and told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

OnAMachine = Callable[..., Any]


def test_a_program_reaches_what_a_rule_names_and_nothing_else(on_a_machine: OnAMachine) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        tell([
            outcome("api.example.com", 7, b"hello"),
            outcome("API.Example.com.", 7, b"dot"),
            outcome("evil.example.com", 7, b"x"),
            outcome("api.example.com", 9001, b"3"),
            outcome("other.example.com", 9001, b"3"),
            outcome("93.184.216.34", 7, b"x"),
            outcome("93.184.216.35", 7, b"literal"),
            outcome("10.9.0.5", 7, b"x"),
            outcome("169.254.169.254", 7, b"x"),
            outcome("2606:4700::34", 7, b"literal 6"),
            outcome("2606:4700::34", 9001, b"x"),
            outcome("127.0.0.1", 7, b"x"),
            outcome("::1", 7, b"x"),
        ])
    ''', allowlist(
        "api.example.com:7", "other.example.com:9001", "93.184.216.35:7", "[2606:4700::34]:7",
    ))
    tell([run.said, run.told(What.CONNECT), run.told(What.LOOKUP)])
    """
    outcomes, connects, lookups = on_a_machine(code)
    reset = "ConnectionResetError"
    assert outcomes == [
        *("hello", "dot", "gaierror", reset, "\0\0\0", reset, "literal", reset, reset),
        *("literal 6", reset, reset, reset),
    ]
    assert lookups == [["evil.example.com", 0]]
    assert connects == [
        ["api.example.com", 7],
        ["api.example.com", 9001],
        ["other.example.com", 9001],
        ["93.184.216.34", 7],
        ["93.184.216.35", 7],
        ["10.9.0.5", 7],
        ["169.254.169.254", 7],
        ["2606:4700::34", 7],
        ["2606:4700::34", 9001],
        ["127.0.0.1", 7],
        ["::1", 7],
        ["api.example.com", 7],
    ]


def test_an_allowed_name_does_not_lead_to_this_machine_or_its_neighbours(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    names = [name for name in HOSTS if name != "evil.example.com"]
    asked = '''
    tell({name: outcome(name, 7, b"in") for name in names})
    '''
    given = {"names": names}
    rules = allowlist("*.example.com:7", "10.9.0.5:80")
    closed = python_inside(FOLDER, asked, rules, given=given)
    private, literal = (
        python_inside(FOLDER, asked, allow, given=given)
        for allow in (
            allowlist("*.example.com:7", private="allow"),
            allowlist("*.example.com:7", "10.9.0.5:7"),
        )
    )
    why = {attempt.host: attempt.why for attempt in closed.attempts if attempt.why}
    tell([*(run.said for run in (closed, private, literal)), why])
    """
    closed, private, literal, why = on_a_machine(code)
    reset = "ConnectionResetError"
    expected = {
        "api.example.com": "in",
        "other.example.com": "in",
        "both.example.com": "in",
        "dead.example.com": "in",
        "inner.example.com": reset,
        "meta.example.com": reset,
        "own.example.com": reset,
        "loop.example.com": reset,
        "mixed.example.com": "in",
    }
    assert closed == expected
    assert private == literal == {**expected, "inner.example.com": "in"}
    assert why == {
        "inner.example.com": "leads where it may not: 10.9.0.5 is private",
        "meta.example.com": "leads where it may not: 169.254.169.254 is a cloud's metadata service",
        "own.example.com": "leads where it may not: 93.184.216.1 is an address of this machine",
        "loop.example.com": "leads where it may not: 127.0.0.1 is loopback",
    }


def test_a_literal_rule_opens_a_service_of_this_machine_and_no_other(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    import threading, socketserver
    on_a_machine(FOLDER, HOSTS)
    def serve():
        class Named(socketserver.BaseRequestHandler):
            def handle(self): self.request.sendall(b"%d" % self.server.server_address[1])
        for place in (("127.0.0.1", 5432), ("127.0.0.1", 5433), (OWN, 5432)):
            server = socketserver.ThreadingTCPServer(place, Named)
            threading.Thread(target=server.serve_forever, daemon=True).start()
    run = python_inside(FOLDER, '''
        tell([outcome("127.0.0.1", 5432), outcome("127.0.0.1", 5433), outcome("localhost", 5432),
              outcome("127.0.0.2", 5432), outcome("93.184.216.1", 5432), outcome("0.0.0.0", 5432)])
    ''', allowlist("127.0.0.1:5432", "api.example.com:5433"), meanwhile=lambda _gate: serve())
    named = python_inside(FOLDER, '''
        tell([outcome("localhost", 5432), outcome("127.0.0.1", 5432), outcome("localhost", 5433)])
    ''', allowlist("localhost:5432"))
    tell([run.said, named.said])
    """
    reset, refused = "ConnectionResetError", "ConnectionRefusedError"
    assert on_a_machine(code) == [
        ["5432", reset, "5432", reset, reset, "5432"],
        ["5432", "5432", refused],
    ]


def test_what_an_address_was_judged_by_is_what_is_dialled(on_a_machine: OnAMachine) -> None:
    """A name server that changes its answer each time (DNS rebinding)."""
    code = """
    import socketserver, threading
    on_a_machine(FOLDER, {}, resolver=True)
    ANSWERS = [[PUBLIC], ["127.0.0.1"], [METADATA, PRIVATE], ["127.0.0.1", PUBLIC], [OWN]]
    asked = resolve(lambda number: ANSWERS[number % len(ANSWERS)])
    run = python_inside(FOLDER, '''
        tell([outcome("rebind.example", 7, b"x") for _ in range(10)])
    ''', allowlist("rebind.example:7"))
    tell([run.said, len(asked),
          [a.address for a in run.attempts if a.what is What.CONNECT and a.address]])
    """
    outcomes, asked, dialled = on_a_machine(code)
    reset = "ConnectionResetError"
    assert outcomes == ["x", reset, reset, "x", reset] * 2
    assert asked == 10  # each connection resolves once
    assert set(dialled) == {"93.184.216.34"}


def test_variables_of_the_client_s_entry_do_not_choose_what_is_resolved(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    on_a_machine(FOLDER, {}, resolver=True)
    asked = resolve(lambda number: [PUBLIC])
    with open(FOLDER + "/aliases", "w") as file:
        file.write("intranet evil.example\\n")
    os.environ.update(LOCALDOMAIN="evil.example", HOSTALIASES=FOLDER + "/aliases",
                      RES_OPTIONS="ndots:5")
    run = python_inside(FOLDER, '''
        tell([outcome("intranet", 7, b"x"), outcome("api.example", 7, b"x")])
    ''', allowlist("intranet:7", "api.example:7"))
    tell([run.said, sorted(set(asked))])
    """
    assert on_a_machine(code) == [["x", "x"], ["api.example", "intranet"]]


def test_a_program_that_gives_up_early_is_told_as_such_and_one_that_waits_is_served(
    on_a_machine: OnAMachine,
) -> None:
    """The name has a first address that never answers, so the dial takes its time."""
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        hasty = connect("dead.example.com", 7)
        hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        hasty.close()
        tell(outcome("dead.example.com", 7, b"sent and shut down at once"))
    ''', allowlist("dead.example.com:7"))
    tell([run.said, [a.why for a in run.attempts if a.what is What.FAILED]])
    """
    said, failed = on_a_machine(code)
    assert said == "sent and shut down at once"
    assert failed in (["given up before it was open"], [])


TLS_CASES = """
    on_a_machine(FOLDER, HOSTS)
    from gate.hellos import hello, records, server_names
    HELLOS = {
        "same": records(hello(server_names(b"api.example.com"))),
        "pieces": records(hello(server_names(b"api.example.com")), 1, 5, 30),
        "other": records(hello(server_names(b"other.example.com"))),
        "none": records(hello(b"")),
        "garbage": b"GET / HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n",
        "two": records(hello(server_names(b"api.example.com") + server_names(b"b.example"))),
    }
"""


@pytest.mark.parametrize(
    "network",
    [
        'allowlist(HostEntry(host="api.example.com:7"))',
        'allowlist("api.example.com:7", tls=Tls.VERIFY_NAME)',
        'allowlist("*.example.com:7", tls=Tls.VERIFY_NAME)',
    ],
)
def test_a_hello_for_another_name_is_never_led_on(on_a_machine: OnAMachine, network: str) -> None:
    """The server is a plain echo, so what was led on comes back as it was sent."""
    code = (
        TLS_CASES
        + f"    NETWORK = {network}"
        + """
    run = python_inside(FOLDER, '''
        tell({kind: outcome("api.example.com", 7, data) == data.decode("latin-1")
              for kind, data in HELLOS.items()})
    ''', NETWORK, given={"HELLOS": HELLOS})
    tell([run.said, [a.why for a in run.attempts if a.verdict is Verdict.DENY]])
    """
    )
    led_on, why = on_a_machine(code)
    assert led_on == {
        "same": True,
        "pieces": True,
        "other": False,
        "none": False,
        "garbage": False,
        "two": False,
    }
    assert why == [
        "asks for other.example.com",
        "asks for no name",
        "no TLS, where a ClientHello for the name was expected",
        "a ClientHello with an extension twice, where a ClientHello for the name was expected",
    ]


def test_tls_to_a_literal_address_brings_no_name(on_a_machine: OnAMachine) -> None:
    code = (
        TLS_CASES
        + """
    run = python_inside(FOLDER, '''
        tell({kind: outcome("93.184.216.34", 7, data) == data.decode("latin-1")
              for kind, data in HELLOS.items()})
    ''', allowlist(HostEntry(host="93.184.216.34:7")), given={"HELLOS": HELLOS})
    tell(run.said)
    """
    )
    led_on = on_a_machine(code)
    assert [kind for kind, is_led_on in led_on.items() if is_led_on] == ["none"]


def test_any_first_bytes_pass_where_the_entry_says_so(on_a_machine: OnAMachine) -> None:
    code = (
        TLS_CASES
        + """
    run = python_inside(FOLDER, '''
        tell([outcome("api.example.com", 7, data) == data.decode("latin-1")
              for kind, data in HELLOS.items()])
    ''', allowlist(HostEntry(host="api.example.com:7", tls=Tls.ANY)), given={"HELLOS": HELLOS})
    tell(run.said)
    """
    )
    assert on_a_machine(code) == [True] * 6


def test_a_plain_request_for_another_host_is_never_led_on(on_a_machine: OnAMachine) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        def ask(*lines): return (chr(13) + chr(10)).join([*lines, "", ""]).encode()
        get = "GET /who HTTP/1.0"
        answers = [outcome("api.example.com", 80, request) for request in (
            ask(get, "Host: api.example.com"),
            ask(get, "Host: api.example.com:80"),
            ask("GET http://api.example.com/who HTTP/1.0", "Host: api.example.com"),
            ask(get, "Host: evil.example.com"),
            ask(get, "Host: api.example.com:8080"),
            ask(get, "Host: api.example.com", "Host: evil.example.com"),
            ask("GET http://evil.example.com/who HTTP/1.0", "Host: api.example.com"),
            ask("CONNECT evil.example.com:443 HTTP/1.1", "Host: api.example.com"),
            ask(get),
            bytes((0x16, 3, 1)),
            b"GET / HT",
        )]
        tell([answer.startswith("HTTP/1.1") or answer for answer in answers])
    ''', allowlist("api.example.com:80"))
    tell([run.said, [a.why for a in run.attempts if a.verdict is Verdict.DENY]])
    """
    answers, why = on_a_machine(code)
    assert answers == [True] * 3 + ["ConnectionResetError"] * 8
    expected = ", where a request for the name was expected"
    assert set(why) == {
        "asks for evil.example.com",
        "asks for port 8080",
        f"an HTTP request without one Host{expected}",
        f"an HTTP request whose target is for another host than its Host{expected}",
        f"an HTTP request that is malformed, or of another version{expected}",
        f"no HTTP request{expected}",
        "closed before it said whom it is for",
    }


@pytest.mark.parametrize(
    ("name", "port", "why"),
    [
        ("nowhere.example.com", 7, "Name or service not known"),
        ("api.example.com", 1, "Connection refused"),
    ],
)
def test_a_failure_on_the_other_side_is_told_as_one(
    on_a_machine: OnAMachine, name: str, port: int, why: str
) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    name, port = sys.argv[2:]
    run = python_inside(FOLDER, f'tell(outcome("{name}", {port}, b"x"))',
                        allowlist(f"*.example.com:{port}"))
    tell([run.said, [[a.what.value, a.verdict.value, a.why] for a in run.attempts]])
    """
    outcome, attempts = on_a_machine(code, name, str(port))
    assert outcome == "ConnectionResetError"
    ((what, verdict, told),) = attempts
    assert (what, verdict) == ("failed", "allow")
    assert why in told
