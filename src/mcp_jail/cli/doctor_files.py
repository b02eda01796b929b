"""What `doctor` finds in files: entries of clients that are bare or dangling, weak policies."""

from __future__ import annotations

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
from mcp_jail.clients.used_policies import used_policies
from mcp_jail.config import load
from mcp_jail.config.starter_text import is_first_policy
from mcp_jail.config.weaker import needs_gate, weaker_keys
from mcp_jail.core.packages import Pinned, pinned
from mcp_jail.core.policy import Policy
from mcp_jail.errors import JailError, PackageError, PolicyError, UsageError
from mcp_jail.packages.installed import check, find
from mcp_jail.proxy.prepare import prepare
from mcp_jail.store.places import Places, find_places, home_folder, working_folder
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


def look_at_files(environ: Mapping[str, str], *, has_gate: bool) -> Files:
    """Look at clients' files and policies; `has_gate` where this machine can build one."""
    home = home_folder(environ)
    ground = Ground(home, working_folder(), environ)
    places, program = find_places(environ), own_program(home)
    clients = look_at_clients(places, ground, program)
    used = used_policies(places, ground, program)
    found = [_unless_unused(places, each, used) for each in _weaknesses(environ, has_gate=has_gate)]
    return Files(tuple(clients), tuple(found))


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


def _unless_unused(places: Places, found: Weakness, used: frozenset[str] | None) -> Weakness:
    """A fault, which fails nothing where the policy was made for an entry that is gone.

    One that a person wrote is theirs to start by other ways.
    """
    if not found.fails or used is None or found.policy in used:
        return found
    try:
        file = find_policy(places, found.policy)
    except JailError:
        return found
    if not is_first_policy(file.text):
        return found
    cure = f"no entry goes by it: remove the file {file.path}"
    return msgspec.structs.replace(found, cure=cure, fails=False)


def _weaknesses(environ: Mapping[str, str], *, has_gate: bool) -> Iterator[Weakness]:
    places = find_places(environ)
    for name in policy_names(places):
        try:
            file = find_policy(places, name)
            policy = load(file.text, file.path).policy
        except JailError as error:
            message = f"cannot be used: {error.message}"
            yield Weakness(name, message, f"mcp-jail show {name}", fails=True)
            continue
        for message, key in weaker_keys(policy):
            cure = f"in {file.path}, take out: {key}"
            yield Weakness(name, message, cure, fails=False)
        if not has_gate and needs_gate(policy):
            message = "cannot be started: no gate can be built here"
            cure = f"in {file.path}, say network.via: proxy, which is weaker"
            yield Weakness(name, message, cure, fails=True)
        faults = [*_package_faults(places, name, policy)]
        yield from faults or _start_faults(environ, name, policy)


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


def _start_faults(environ: Mapping[str, str], name: str, policy: Policy) -> Iterator[Weakness]:
    """Why no run of it can start: what it shares, its command or its package is not as it was.

    Not asked of a command that begins where a client stands. A name that is nowhere fails nothing:
    a client's PATH may be longer than ours.
    """
    command = () if policy.server is None else policy.server.command
    is_elsewhere = policy.server is not None and policy.server.cwd is None
    if is_elsewhere and command[:1] and "/" in command[0] and command[0][0] not in "/~":
        return
    try:
        prepare(name=name, policy_file=None, command=(), environ=environ, stand_in=True)
    except PackageError as error:
        yield Weakness(name, error.message, f"mcp-jail install {name}", fails=True)
    except JailError as error:
        message = error.problems[0].message if isinstance(error, PolicyError) else error.message
        is_bare = isinstance(error, UsageError) and policy.name == name and not _has_path(command)
        cure = f"mcp-jail show {name}"
        yield Weakness(name, f"cannot be started: {message}", cure, fails=not is_bare)


def _has_path(command: tuple[str, ...]) -> bool:
    return "/" in "".join(command[:1])
