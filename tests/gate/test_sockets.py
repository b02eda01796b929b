"""The gate's sockets stand in the jail's namespace, and the jail can neither have nor move them."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from mcp_jail.gate.allow import PORTS_LIMIT
from mcp_jail.gate.sockets import DESCRIPTORS_LIMIT, Role, Sockets, receive, send

OnAMachine = Callable[..., Any]


def test_sockets_go_from_one_process_to_another_with_their_roles() -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with one, other, socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        send(one, Sockets(((Role.LISTENER, made), (Role.EYES, made)), has_ipv6=True))
        received = receive(other)
        assert received is not None
        assert [role for role, _ in received.all] == [Role.LISTENER, Role.EYES]
        (listener,) = received.of(Role.LISTENER)
        assert listener.getsockname() == made.getsockname()
        assert listener.gettimeout() == 0
        for _, each in received.all:
            each.close()
        one.close()
        assert receive(other) is None


def test_the_most_ports_fit_into_one_message() -> None:
    assert 2 * (PORTS_LIMIT + 2) + 1 <= DESCRIPTORS_LIMIT <= 253


@pytest.mark.parametrize("has_ipv6", [True, False])
def test_a_machine_without_ipv6_has_its_gate_for_ipv4(
    on_a_machine: OnAMachine, has_ipv6: bool
) -> None:
    code = """
    from gate.world import _unshare, _NEWNET
    from mcp_jail.gate import sockets
    _unshare(_NEWNET)
    if sys.argv[2] == "False":
        for name in ("all", "default", "lo"):
            with open(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6", "w") as file:
                file.write("1")
    made = sockets.make((443, 5432))
    tell([made.has_ipv6, len(made.all)])
    """
    assert on_a_machine(code, str(has_ipv6)) == [has_ipv6, 9 if has_ipv6 else 5]


def test_a_jailed_program_can_take_none_of_it_over(on_a_machine: OnAMachine) -> None:
    code = """
    on_a_machine(FOLDER, HOSTS)
    run = python_inside(FOLDER, '''
        def tried(action, *arguments):
            try: action(*arguments); return "done"
            except OSError as error: return type(error).__name__
        def bound(family, kind, *place):
            s = socket.socket(family, kind)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            s.bind(place); kind == socket.SOCK_STREAM and s.listen()
        four, six = socket.AF_INET, socket.AF_INET6
        stream, packet = socket.SOCK_STREAM, socket.SOCK_DGRAM
        in_front = [tried(bound, *place) for place in (
            (four, stream, "198.18.0.1", 5432), (four, stream, "127.0.0.1", 5432),
            (six, stream, "::", 5432), (six, stream, "2606:4700::34", 5432),
            (four, stream, "198.18.0.1", 443), (four, packet, "198.18.0.1", 53),
            (four, packet, "127.0.0.1", 53), (six, packet, "::1", 53),
        )]
        def route():
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
                # RTM_NEWLINK, lo down; RTM_DELROUTE, the local default
                for kind, body in ((16, struct.pack("=BBHiII", 0, 0, 0, 1, 0, 1)),
                                   (25, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 255, 3, 254, 2, 0))):
                    s.send(struct.pack("=IHHII", 16 + len(body), kind, 5, 1, 0) + body)
                    yield -struct.unpack_from("=i", s.recv(4096), 16)[0]
        fds = sorted(int(name) for name in os.listdir("/proc/self/fd"))
        tell([in_front, list(route()), fds[:3], len(fds), outcome("api.example.com", 5432, b"x")])
    ''', allowlist("api.example.com:5432", "api.example.com:443"))
    tell(run.said)
    """
    in_front, route, fds, count, _ = on_a_machine(code)
    assert set(in_front) <= {"OSError", "PermissionError"}
    assert route == [1, 1]  # EPERM
    assert (fds, count) == ([0, 1, 2], 4)  # and the listing's own
