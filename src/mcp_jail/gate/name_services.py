"""Whether this machine resolves the names of a policy by a UNIX socket. Pure.

getaddrinfo(3) asks the services of nsswitch.conf(5) in turn. Most read files or send packets; those
with a daemon behind a socket are passed over where it cannot be reached, and the next one answers:
systemd-resolved is asked over UDP then (nss-resolve(8)), nscd not at all. So a relay needs no UNIX
socket, but for names that such a daemon alone knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

NSSWITCH: Final = "/etc/nsswitch.conf"

# Services that need no socket, or do without where `dns` follows.
_WITHOUT: Final = frozenset({"files", "dns", "myhostname", "resolve", "compat", "cache"})
# Those that alone know a kind of name, by how they are called at least: the names of the link are
# Avahi's (RFC 6762), those without a dot containers' and virtual machines' of this machine.
_OF_THE_LINK: Final = ("mdns",)
_OF_THIS_MACHINE: Final = ("mymachines", "libvirt")


def needs_unix_sockets(nsswitch: str, names: Iterable[str]) -> bool:
    """Whether one of the canonical names would not be resolved without.

    `nsswitch` is the text of nsswitch.conf; of a rule for all names below one, this one counts.
    """
    services = _services(nsswitch)
    of_the_link = _some(services, _OF_THE_LINK)
    of_this_machine = _some(services, _OF_THIS_MACHINE)
    known = _WITHOUT | of_the_link | of_this_machine
    if services - known:  # sss, ldap, winbind and whatever there is: any name may be theirs
        return True
    ends = {name.rpartition(".")[2] for name in names if "." in name}
    bare = {name for name in names if "." not in name}
    if of_the_link and "local" in ends | bare:
        return True
    return bool(of_this_machine and bare)


def _services(nsswitch: str) -> frozenset[str]:
    """The services for hosts, without the actions in brackets between them."""
    for line in nsswitch.splitlines():
        database, _, rest = line.partition("#")[0].partition(":")
        if database.strip() == "hosts":
            return frozenset(word for word in _without_actions(rest).split())
    return frozenset()


def _without_actions(text: str) -> str:
    while "[" in text:
        before, _, rest = text.partition("[")
        text = f"{before} {rest.partition(']')[2]}"
    return text


def _some(services: frozenset[str], begins: tuple[str, ...]) -> frozenset[str]:
    return frozenset(service for service in services if service.startswith(begins))
