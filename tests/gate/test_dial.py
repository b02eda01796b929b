"""The first address that takes a connection gets it; one that does not answer costs 250 ms."""

from __future__ import annotations

import socket

import pytest

from mcp_jail.gate.dial import Dial, in_turns
from mcp_jail.gate.loop import Loop


def dialled(addresses: list[str], port: int) -> tuple[str, socket.socket | None, str]:
    """What comes of a dial."""
    loop, found = Loop(), []

    def done(address: str, made: socket.socket | None, why: str) -> None:
        found.append((address, made, why))
        loop.stop()

    Dial(loop, addresses, port, done)
    loop.run()
    (only,) = found
    return only


@pytest.fixture
def port() -> int:
    """A port on which nobody listens at any loopback address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number: int = taken.getsockname()[1]
    return number


@pytest.mark.parametrize("before", [[], ["127.0.0.2"], ["127.0.0.2", "127.0.0.3", "::1"]])
def test_addresses_are_tried_until_one_takes_it(before: list[str], port: int) -> None:
    with socket.create_server(("127.0.0.9", port)):
        address, made, why = dialled([*before, "127.0.0.9"], port)
        assert (address, why) == ("127.0.0.9", "")
        assert made is not None
        assert made.getpeername() == ("127.0.0.9", port)
        made.close()


def test_an_address_that_does_not_answer_does_not_hold_up_the_next(port: int) -> None:
    # A full backlog: the kernel answers no further SYN.
    with socket.socket() as mute, socket.create_server(("127.0.0.9", port)):
        mute.bind(("127.0.0.8", port))
        mute.listen(0)
        fill = [socket.socket() for _ in range(3)]
        for one in fill:
            one.settimeout(0)
            one.connect_ex(("127.0.0.8", port))
        address, made, _ = dialled(["127.0.0.8", "127.0.0.9"], port)
        assert address == "127.0.0.9"
        assert made is not None
        made.close()
        for one in fill:
            one.close()


def test_where_nobody_takes_it_the_last_reason_is_told(port: int) -> None:
    address, made, why = dialled(["127.0.0.2", "127.0.0.3"], port)
    assert (address, made) == ("", None)
    assert why == "127.0.0.3: Connection refused"


def test_no_address_is_a_failure_and_so_is_one_that_cannot_be_dialled(port: int) -> None:
    assert dialled([], port) == ("", None, "no address")
    _, made, why = dialled(["255.255.255.255"], port)
    assert made is None
    assert why.startswith("255.255.255.255: ")


def test_a_dial_that_was_closed_calls_nobody(port: int) -> None:
    loop = Loop()

    def done(*_what: object) -> None:
        raise AssertionError("called")

    with socket.create_server(("127.0.0.9", port)):
        dial = Dial(loop, ["127.0.0.9"], port, done)
        dial.close()
        loop.after(0.05, loop.stop)
        loop.run()


@pytest.mark.parametrize(
    ("addresses", "order"),
    [
        ([], []),
        (["1.1.1.1"], ["1.1.1.1"]),
        (["::1", "::2", "1.1.1.1", "::3"], ["::1", "1.1.1.1", "::2", "::3"]),
        (["1.1.1.1", "2.2.2.2", "::1"], ["1.1.1.1", "::1", "2.2.2.2"]),
    ],
)
def test_families_take_turns(addresses: list[str], order: list[str]) -> None:
    assert in_turns(addresses) == order
