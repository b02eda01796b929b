"""`network.via: proxy`: programs that know of a proxy reach what is named, and nothing else does.

Nothing of ours is in the jail but one listening socket, whose other side is outside.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from gate.internet import METADATA, OTHER, PRIVATE, PUBLIC
from gate.world import OWN
from net.conftest import Jailed, Machine, Start
from net.test_attacks import INSIDE, NOTHING, PACKETS, PLACES, run
from net.test_programs import CLIENTS, FETCH, TELL, denied, make_repository, newer_node, reached

ALLOWED: Final = (
    *("api.example.com", "api.example.com:80", "api.example.com:7", "api.example.com:2222"),
    *("meta.example.com:7", "own.example.com:7", "loop.example.com:7", f"{OTHER}:7"),
)
NETWORK: Final = f"{{mode: allowlist, via: proxy, allow: {list(ALLOWED)}}}"

# `asked` is what the proxy says to a request, `through` what comes back by a tunnel.
PROXY: Final = (
    INSIDE
    + """
def asked(request, then=b""):
    with socket.create_connection(("127.0.0.1", 3128), 20) as raw:
        try:
            raw.sendall(request)
            if then: raw.sendall(then)
            say_no_more(raw)
            return b"".join(iter(lambda: raw.recv(65536), b"")).decode("latin-1")
        except OSError as error:
            return type(error).__name__
def through(place, send, server_name=None):
    with socket.create_connection(("127.0.0.1", 3128), 20) as raw:
        raw.sendall(f"CONNECT {place} HTTP/1.1\\r\\nHost: {place}\\r\\n\\r\\n".encode())
        answer = ""
        while not answer.endswith("\\r\\n\\r\\n"):  # and nothing of what comes behind it
            byte = raw.recv(1).decode("latin-1")
            if not byte: return answer
            answer += byte
        if " 200 " not in answer: return answer
        try:
            if server_name is not None:
                context = ssl.create_default_context()
                context.check_hostname = False
                raw = context.wrap_socket(raw, server_hostname=server_name or None)
            raw.sendall(send)
            if server_name is None: say_no_more(raw)
            return b"".join(iter(lambda: raw.recv(65536), b"")).decode("latin-1")
        except OSError as error:
            return type(error).__name__
"""
)


def asked(jail: Jailed, code: str, **given: object) -> Any:
    """What some lines tell that speak to the proxy by hand."""
    return run(jail, PROXY + code, **given)


def check(jail: Jailed, said: list[str], refusal: str) -> None:
    """Both schemes reached the allowed host; the other was refused, and the model is told."""
    secure, plain, other = said
    assert (secure, plain) == ("api.example.com", "api.example.com")
    assert refusal in other
    tried = jail.tried()
    assert {"api.example.com:443", "api.example.com:80"} <= reached(tried)
    assert denied(tried) == {"other.example.com:443"}


def test_curl(jailed: Start) -> None:
    urls = [f"{name}.example.com" for name in ("https://api", "http://api", "https://other")]
    with jailed(NETWORK) as jail:
        lines = [jail.result(f"curl -sS -m 20 {url}/who") for url in urls]
        assert lines[2][1] == (
            "mcp-jail: refused by the user's policy: "
            "a connection to 'other.example.com:443' was not made"
        )
        check(
            jail,
            [json.loads(lines[0][0])["host"], json.loads(lines[1][0])["host"], lines[2][0]],
            "403",
        )
        assert b'to allow it: network: {mode: allowlist, allow: ["other.example.com"]}' in (
            jail.client.stderr
        )


@pytest.mark.parametrize("client", [name for name in CLIENTS if name != "asyncio"])
def test_python_s_clients(jailed: Start, python_servers: Path, client: str) -> None:
    with jailed(NETWORK, python=str(python_servers / "python")) as jail:
        code = "\n".join(line.removeprefix(" " * 8) for line in CLIENTS[client].splitlines())
        check(jail, json.loads(jail.python(code + TELL)), "403")


def test_a_newer_node_s_fetch(jailed: Start, applications: Path) -> None:
    node = newer_node(applications)
    with jailed(NETWORK, shows=(node.parent,)) as jail:
        code = FETCH.replace(
            "(error.cause ?? error).code ??", "error.cause ? String(error.cause) :"
        )
        said = json.loads(jail.sh(f"NODE_NO_WARNINGS=1 {node} -e '{code}'"))
        check(jail, said, "cancelled")


def test_git_over_https(jailed: Start, machine: Machine) -> None:
    make_repository(machine.folder)
    with jailed(NETWORK) as jail:
        url = "https://api.example.com/repository.git"
        assert jail.sh(f"cd /tmp && git clone -q {url} here && cat here/file") == "content"
        assert reached(jail.tried()) == {"api.example.com:443"}


def test_a_program_that_asks_no_proxy_reaches_nothing(jailed: Start, machine: Machine) -> None:
    before = machine.log("questions"), machine.log("datagrams")
    given = {"PUBLIC": PUBLIC, "PUBLIC6": "2606:4700::34", "METADATA": METADATA, "OWN": OWN}
    names = ["api.example.com", "evil.example.com", "localhost"]
    with jailed(NETWORK) as jail:
        code = "tell([got(host, port) for host, port in PLACES + [(n, 80) for n in NAMES]])"
        assert set(run(jail, code, PLACES=PLACES, NAMES=names)) <= NOTHING
        assert not [said for said in run(jail, PACKETS, **given) if said.startswith("b'")]
    assert (machine.log("questions"), machine.log("datagrams")) == before


def test_a_tunnel_leads_where_a_rule_says_and_is_held_to_the_name(jailed: Start) -> None:
    code = """
who = b"GET /who HTTP/1.0\\r\\nHost: api.example.com\\r\\n\\r\\n"
tell([
    through("api.example.com:443", who, "api.example.com"),
    through("api.example.com:80", who),
    through("API.example.com.:7", b"x"),
    through(f"{OTHER}:7", b"x"),
    through("api.example.com:2222", b"me"),
    through("api.example.com:443", who, "evil.example.com"),  # SNI of another
    through("api.example.com:443", who, ""),
    through("api.example.com:443", b"SSH-2.0-x\\r\\n"),
    through("api.example.com:80", who.replace(b"api", b"evil")),
    *(through(place, who) for place in PLACES),
])
"""
    places = [
        *("api.example.com:22", "api.example.com:9001", "evil.example.com:443", f"{PUBLIC}:443"),
        *(f"{METADATA}:80", f"{PRIVATE}:7", "127.0.0.1:80", "[::1]:80", "127.1:7", "0x7f000001:7"),
        *("2130706433:7", "[::ffff:a9fe:a9fe]:80", "localhost:7", "api.example.com@evil:443"),
        *("meta.example.com:7", "own.example.com:7", "loop.example.com:7"),
    ]
    with jailed(NETWORK) as jail:
        said = asked(jail, code, OTHER=OTHER, PLACES=places)
        secure, plain, echo, literal, banner = said[:5]
        assert '"host": "api.example.com"' in secure
        assert '"port": 80' in plain
        assert (echo, literal, banner) == ("x", "x", "220 hello\r\nyou said me")
        held, refused = said[5:9], said[9:]
        assert set(held) <= NOTHING
        # Of an allowed name it is known only later that it leads inside.
        assert {one[9:12] for one in refused[:-3]} <= {"403", "400"}
        assert set(refused[-3:]) <= NOTHING
        tried = jail.tried()
    reasons = {entry.get("reason", "") for entry in tried if entry["verdict"] == "deny"}
    assert {"asks for evil.example.com", "asks for no name", "no rule opens it"} <= reasons
    assert sum("leads where it may not" in reason for reason in reasons) == 3


def test_one_request_is_made_and_no_second_goes_elsewhere(jailed: Start) -> None:
    code = """
def get(host, url): return f"GET {url} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode()
api, evil = "api.example.com", "evil.example.com"
good = get(api, f"http://{api}/who")
smuggling = good.replace(b"GET", b"POST", 1)[:-2] + (
    b"Content-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n")
tell([asked(good), asked(good, get(evil, f"http://{evil}/who")),
    asked(smuggling, get(evil, f"http://{evil}/who")),
    asked(get(evil, f"http://{api}/who")), asked(get(api, f"http://{evil}/who")),
    asked(get(api, "/who")), asked(get(evil, f"http://{evil}/who")), asked(b"\\5\\1\\0"),
    asked(b"GET http://" + b"a" * (16384 - 11)), asked(b"")])
"""
    with jailed(NETWORK) as jail:
        said = asked(jail, code)
        good, second, smuggled, *refused, socks, long, nothing = said
        for one in (good, second):
            assert one.count('"host": "api.example.com"') == 1
            assert one.startswith("HTTP/1.1 200 ")
        assert OTHER not in "".join(said)
        assert "evil" not in smuggled
        assert [one[9:12] for one in refused] == ["400", "400", "400", "403"]
        assert (socks[9:12], long[9:12], nothing) == ("400", "400", "")


def test_nothing_of_ours_runs_inside(jailed: Start) -> None:
    with jailed(NETWORK) as jail:
        listening = jail.sh("grep ' 0A ' /proc/net/tcp /proc/net/tcp6").splitlines()
        assert len(listening) == 1
        assert "0100007F:0C38" in listening[0]
        processes = jail.sh("cat /proc/[0-9]*/comm").split()
        assert set(processes) <= {"python3", "sh", "cat"}
        # Nobody inside can take the port over, or take its connections.
        code = """
def taken(host, option):
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, option, 1)
        try: sock.bind((host, 3128)); sock.listen(); return True
        except OSError: return False
options = socket.SO_REUSEADDR, socket.SO_REUSEPORT
tell([taken(host, option) for host in ("127.0.0.1", "0.0.0.0") for option in options])
"""
        assert run(jail, code) == [False] * 4


def test_a_service_of_the_jail_s_own_is_reached_without_the_proxy(jailed: Start) -> None:
    line = (
        "cd /tmp && echo own > page && { $PYTHON -m http.server 8123 --bind 127.0.0.1 >/dev/null "
        "2>&1 & } && curl -sS --retry 9 --retry-connrefused http://127.0.0.1:8123/page; kill $!"
    )
    with jailed(NETWORK) as jail:
        assert jail.sh(line).endswith("own\n")


def test_where_nothing_is_named_there_is_no_proxy(jailed: Start) -> None:
    with jailed("{mode: none, via: proxy}") as jail:
        assert run(jail, 'tell(got("127.0.0.1", 3128))') == "ConnectionRefusedError"
        assert "proxy" not in jail.sh("env").lower()
        assert jail.tried() == []


def test_the_policy_s_own_variables_go_before(jailed: Start) -> None:
    with jailed(NETWORK, env={"HTTPS_PROXY": "http://127.0.0.1:9"}) as jail:
        assert "http://127.0.0.1:9\n" in jail.sh("echo $HTTPS_PROXY")
