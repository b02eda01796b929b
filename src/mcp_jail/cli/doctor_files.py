"""What `doctor` finds in files: entries of clients that are bare or dangling, weak policies."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mcp_jail.cli.client_files import own_program
from mcp_jail.cli.inert_text import named
from mcp_jail.cli.out import bullet, folded, heading
from mcp_jail.cli.pin_offer import is_unpinned
from mcp_jail.cli.wrap_report import WORD_SHOWN, in_a_line, shown
from mcp_jail.clients.health import Finding, look_at_clients
from mcp_jail.clients.targets import Ground
from mcp_jail.config import load
from mcp_jail.core.packages import Pinned, pinned
from mcp_jail.core.policy import NetworkMode, Policy, Sandbox, Text, Tls, Verdict, Via
from mcp_jail.errors import JailError, PackageError
from mcp_jail.packages.installed import check, find
from mcp_jail.store.places import Places, find_places, home_folder
from mcp_jail.store.policies import find_policy, policy_names


class Weakness(msgspec.Struct, frozen=True):
    """A policy that is weaker than the default, is none at all, or lacks its package."""

    policy: str
    message: str
    cure: str
    fails: bool


class Files(msgspec.Struct, frozen=True):
    """All that was found."""

    clients: tuple[Finding, ...]
    policies: tuple[Weakness, ...]

    def fails(self, *, strict: bool) -> bool:
        """Whether something should be mended; with `strict`, also what a policy says on purpose."""
        return any(each.fails for each in self.clients) or any(
            each.fails or strict for each in self.policies
        )

    def as_values(self) -> dict[str, Any]:
        """For a program."""
        return {
            "clients": [msgspec.to_builtins(each) for each in self.clients],
            "policies": [msgspec.to_builtins(each) for each in self.policies],
        }


def look_at_files(environ: Mapping[str, str]) -> Files:
    """Look at clients' files and policies."""
    home = home_folder(environ)
    ground = Ground(home, os.getcwd(), environ)
    clients = look_at_clients(find_places(environ), ground, own_program(home))
    return Files(tuple(clients), tuple(_weaknesses(environ)))


def print_files(files: Files, home: str) -> None:
    """A line for each, and what mends it."""
    heading("Clients")
    for each in files.clients:
        server = f", {named(each.server)}" if each.server else ""
        where = named(shown(each.path, home), WORD_SHOWN)
        folded(f"{where}{server}: {in_a_line(each.message)}")
        bullet(f"  {in_a_line(each.cure)}")  # in one line, to be copied
    if not files.clients:
        folded("nothing to mend")
    heading("Policies")
    for weak in files.policies:
        folded(f"{weak.policy}: {in_a_line(weak.message)}")
        bullet(f"  {weak.cure}")
    if not files.policies:
        folded("none is weaker than the default")


def _weaknesses(environ: Mapping[str, str]) -> Iterator[Weakness]:
    places = find_places(environ)
    for name in policy_names(places):
        try:
            file = find_policy(places, name)
            policy = load(file.text, file.path).policy
        except JailError as error:
            message = f"cannot be used: {error.message}"
            yield Weakness(name, message, f"mcp-jail show {name}", fails=True)
            continue
        for message, key in _weak_keys(policy):
            cure = f"in {file.path}, take out: {key}"
            yield Weakness(name, message, cure, fails=False)
        yield from _package_faults(places, name, policy)


def _package_faults(places: Places, name: str, policy: Policy) -> Iterator[Weakness]:
    """A pinned package that is not here or not whole, or one that is fetched at each start."""
    cure = f"mcp-jail install {name}"
    package = pinned(policy.package)
    fault = None if package is None else _fault_of(places, package)
    if fault is not None:
        yield Weakness(name, f"its package {fault}", cure, fails=True)
    if is_unpinned(policy):
        message = "its package is fetched at each start, which its jail does not reach"
        yield Weakness(name, message, cure, fails=False)


def _fault_of(places: Places, package: Pinned) -> str | None:
    """Why no run starts a package; None for one that is as it was installed."""
    try:
        found = find(places, package)
        if found is None:
            return f"{package} is not installed"
        check(found)
    except PackageError as error:
        return error.message
    return None


def _weak_keys(policy: Policy) -> Iterator[tuple[str, str]]:
    network, lock = policy.network, policy.lock
    checks = (
        (policy.sandbox is not Sandbox.AUTO, "its jail is a weaker one", "sandbox"),
        (network.mode is NetworkMode.HOST, "it has your whole network", "network.mode"),
        (network.private is not Verdict.DENY, "it reaches your own network", "network.private"),
        (network.tls is Tls.ANY, "the name in TLS is not looked at", "network.tls"),
        (network.via is Via.PROXY, "its network is a proxy's, no gate", "network.via"),
        (not lock.enabled, "its words are not locked", "lock.enabled"),
        (policy.tools.default is Verdict.ALLOW, "every tool may be called", "tools.default"),
        (policy.sampling is Verdict.ALLOW, "it may ask your model", "sampling"),
        (policy.text is Text.OFF, "hidden characters are not marked", "text"),
        (policy.limits.weak, "limits that cannot be held are let go", "limits.weak"),
    )
    return ((message, key) for is_weak, message, key in checks if is_weak)
