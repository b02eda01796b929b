"""The kernel's word on addresses, and a namespace in which every address is local."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OnAMachine = Callable[..., Any]


def test_the_kernel_knows_its_own_addresses_however_they_are_reached(
    on_a_machine: OnAMachine,
) -> None:
    code = """
    from mcp_jail.gate.netlink import Routes
    on_a_machine(FOLDER, HOSTS)
    routes = Routes()
    asked = [OWN, OWN6, "127.0.0.1", "127.9.9.9", "::1", "255.255.255.255", "224.0.0.1",
             PUBLIC, PUBLIC6, PRIVATE, METADATA, "8.8.8.8", "no address", "fe80::1%2"]
    tell([address for address in asked if routes.is_own(address)])
    """
    own = on_a_machine(code)
    assert own == [
        *("93.184.216.1", "2606:4700::1", "127.0.0.1", "127.9.9.9", "::1", "255.255.255.255"),
        *("224.0.0.1", "no address", "fe80::1%2"),
    ]


def test_an_address_without_a_route_is_nobody_s(on_a_machine: OnAMachine) -> None:
    code = """
    from gate.world import _unshare, _NEWNET
    from mcp_jail.gate.netlink import Routes
    _unshare(_NEWNET)
    tell(Routes().is_own("8.8.8.8"))
    """
    assert on_a_machine(code) is False


def test_every_address_becomes_local_also_when_it_is_said_twice(on_a_machine: OnAMachine) -> None:
    code = """
    from gate.world import _unshare, _NEWNET
    from mcp_jail.gate.netlink import make_every_address_local
    import socket
    _unshare(_NEWNET)
    first, second = make_every_address_local(), make_every_address_local()
    reached = []
    for family, wild, address in ((socket.AF_INET, "0.0.0.0", "8.8.8.8"),
                                  (socket.AF_INET6, "::", "2001:4860:4860::8888")):
        listener = socket.create_server((wild, 7777), family=family)
        client = socket.create_connection((address, 7777), 5)
        accepted, _ = listener.accept()
        reached.append(accepted.getsockname()[0])
    tell([first, second, reached])
    """
    assert on_a_machine(code) == [True, True, ["8.8.8.8", "2001:4860:4860::8888"]]


def test_lo_is_waited_for_and_not_for_ever(on_a_machine: OnAMachine) -> None:
    code = """
    import threading
    from gate.world import _link_up, _unshare, _NEWNET
    from mcp_jail.gate import netlink
    _unshare(_NEWNET)
    netlink._DEADLINE = 0.1
    told = []
    for _ in range(2):
        try:
            told.append(netlink.wait_for_loopback())
        except OSError as error:
            told.append(error.strerror)
        netlink._DEADLINE = 10.0
        _link_up(1)
    tell(told)
    """
    assert on_a_machine(code) == ["lo does not come up", None]


def test_without_the_right_it_is_refused(on_a_machine: OnAMachine) -> None:
    code = """
    from gate.world import _unshare, _LIBC, _NEWNET, _NEWUSER
    from mcp_jail.gate.netlink import make_every_address_local
    _unshare(_NEWNET)
    _LIBC.unshare(_NEWUSER)  # every right in a new user namespace, none over the network one
    try:
        tell(make_every_address_local())
    except OSError as error:
        tell(type(error).__name__)
    """
    assert on_a_machine(code) == "PermissionError"
