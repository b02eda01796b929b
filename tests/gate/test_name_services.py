"""A relay has UNIX sockets only where names of its policy would not be resolved without."""

from __future__ import annotations

import pytest

from mcp_jail.gate.name_services import needs_unix_sockets

DEBIAN = "passwd: files systemd\nhosts:\tfiles dns\nnetworks: files sss\n"
DEBIAN_DESKTOP = "hosts: files mdns4_minimal [NOTFOUND=return] dns"
FEDORA = "hosts: files myhostname resolve [!UNAVAIL=return] dns # sss"
ARCH = "hosts: mymachines resolve [!UNAVAIL=return] files myhostname dns"
VIRTUAL = "hosts: files libvirt libvirt_guest dns"
COMPANY = "hosts: files sss dns"

PUBLIC = ("api.example.com", "example")


@pytest.mark.parametrize("nsswitch", ["", DEBIAN, DEBIAN_DESKTOP, FEDORA, "#hosts: sss\nhosts:dns"])
def test_public_names_need_none_on_usual_machines(nsswitch: str) -> None:
    assert not needs_unix_sockets(nsswitch, PUBLIC)
    assert not needs_unix_sockets(nsswitch, ())


@pytest.mark.parametrize("nsswitch", [ARCH, VIRTUAL])
def test_names_of_this_machine_s_containers_need_one(nsswitch: str) -> None:
    assert needs_unix_sockets(nsswitch, ["box"])
    assert not needs_unix_sockets(nsswitch, ["api.example.com", "printer.local"])


def test_names_of_the_link_need_one_where_a_daemon_answers_for_them() -> None:
    assert needs_unix_sockets(DEBIAN_DESKTOP, ["homeassistant.local", *PUBLIC])
    assert needs_unix_sockets(DEBIAN_DESKTOP, ["local"])
    assert not needs_unix_sockets(DEBIAN, ["homeassistant.local"])


@pytest.mark.parametrize("service", ["sss", "ldap", "winbind", "wins", "something-new"])
def test_services_of_which_nothing_is_known_may_need_one_for_any_name(service: str) -> None:
    assert needs_unix_sockets(COMPANY.replace("sss", service), PUBLIC)
