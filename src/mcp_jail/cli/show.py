"""`mcp-jail show NAME`: what a server may touch and be told to do.

Prints the very plan that `run` carries out, with the reason of every mount, and which wall holds
what: the kernel, which no server gets around, or the proxy, which sees only what is said.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import msgspec

from mcp_jail.cli.ask_rows import ask_rows
from mcp_jail.cli.chosen import add_policy_arguments, policy_of
from mcp_jail.cli.for_programs import json_page
from mcp_jail.cli.lock_rows import lock_facts, lock_rows
from mcp_jail.cli.network_words import network_facts, network_words
from mcp_jail.cli.out import folded, heading, rows, side_by_side
from mcp_jail.cli.rule_words import constraint_words, rule_words
from mcp_jail.cli.running_rows import running_now, running_rows
from mcp_jail.config.later import idle_defaults, not_yet
from mcp_jail.core.policy import Additional, ToolRule
from mcp_jail.core.rules.rulebook import KeyPath
from mcp_jail.core.spec import Mount, MountKind, Plan
from mcp_jail.errors import ExitCode, Place
from mcp_jail.proxy.command_words import STAND_IN
from mcp_jail.proxy.gating import network_of
from mcp_jail.proxy.locking import called
from mcp_jail.proxy.prepare import Prepared, prepare

EXAMPLE = """\
  mcp-jail show filesystem
  mcp-jail show filesystem -- mcp-server-filesystem ~/projects"""

TAKES_COMMAND = True
USAGE = "mcp-jail show [--all] [--json] NAME|--policy FILE [-- COMMAND...]"

# Where every jail has the same: programs, settings without secrets, private places.
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/etc", "/proc", "/dev", "/run", "/var"),
    *("/nix", "/gnu"),
)

# What each wall holds. The kernel's is true of every server; the proxy's of what is said.
KERNEL = (
    "files that are not named above do not exist",
    "read only is read only",
    "no network but what is named above, no sockets of the host",
    "no process, memory or terminal of yours",
    "only the environment named above",
    "no new rights, no kernel interfaces beyond a list",
)
PROXY = (
    "which tools may be called",
    "with which arguments, where a rule says so",
    "which resources and prompts are read",
    "sampling, elicitation: by the policy; roots: its own",
    "what is no clean message of the protocol",
    "a record of every call before it is made",
)

_ORDER = (
    MountKind.BIND_READ_WRITE,
    MountKind.BIND_READ_ONLY,
    MountKind.TMPFS,
    MountKind.TMPFS_READ_ONLY,
    MountKind.DATA,
    MountKind.SYMLINK,
    MountKind.PROC,
    MountKind.DEV,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a policy, and the command where the policy does not."""
    add_policy_arguments(parser)
    parser.add_argument("--all", action="store_true", help="name each mount of the system too")
    parser.add_argument("--json", action="store_true", help="print the plan for a program")


def run(arguments: argparse.Namespace) -> int:
    """Print the plan; 4 when this machine cannot keep it."""
    name, file = policy_of(arguments)
    prepared = prepare(name=name, policy_file=file, command=arguments.command, stand_in=True)
    if arguments.json:
        sys.stdout.write(as_json(prepared))
    else:
        for_people(prepared, everything=arguments.all)
    return ExitCode.JAIL if prepared.plan.gaps else ExitCode.OK


def for_people(prepared: Prepared, *, everything: bool = False) -> None:
    """The whole page; with `everything`, each mount of the system too."""
    plan, policy = prepared.plan, prepared.policy
    heading(policy.name)
    command = "given by the client; add -- COMMAND to see what it brings"
    rows(
        [
            ("policy", f"{prepared.judged.file.path} ({prepared.judged.file.kind.value})"),
            ("command", command if _is_stand_in(prepared) else " ".join(plan.command)),
            *_package_rows(prepared),
            ("directory", plan.cwd),
            ("network", network_words(policy, network_of(prepared.judged))),
            ("environment", ", ".join(sorted({*plan.env, *plan.secrets}))),
            *(("secret", f"{name} from {source}") for name, source in plan.secrets.items()),
            ("audit", f"{prepared.audit} (arguments {policy.audit.arguments.value})"),
            *lock_rows(prepared.judged),
            *ask_rows(prepared.judged),
            *running_rows(prepared.judged),
        ]
    )
    heading("What it sees of yours")
    yours, system = divided(plan)
    rows([mount_row(mount) for mount in yours])
    heading("What it sees of the system")
    if everything:
        rows([mount_row(mount) for mount in system])
    else:
        folded(_summary(system), note="mcp-jail show --all names each, with its reason")
    heading("What it may be told to do (with the policy's line)")
    rows(_rules(prepared))
    heading("Which wall holds what")
    side_by_side(("the kernel holds", "the proxy holds"), list(zip(KERNEL, PROXY, strict=True)))
    _warnings(prepared)


def _package_rows(prepared: Prepared) -> list[tuple[str, str]]:
    """The package that is started, and what it is held to."""
    found = prepared.package
    if found is None:
        return []
    if found.installed is None:
        missing = f"not installed: mcp-jail install {called(prepared.judged)}"
        return [("package", f"{found.package}\n{missing}")]
    scripts = "ran in a jail" if found.package.scripts else "were not run"
    held = f"read only, sha256 {found.installed.record.digest}; its install scripts {scripts}"
    return [("package", f"{found.package}\n{held}")]


def _is_stand_in(prepared: Prepared) -> bool:
    """Whether the command is none but ours, in place of the client's."""
    return prepared.spec.command == STAND_IN


def as_json(prepared: Prepared) -> str:
    """The plan, the rules and what is wrong with them, for programs."""
    plan = prepared.plan
    shown: dict[str, Any] = {
        "name": prepared.policy.name,
        "policy": prepared.judged.file.path,
        "policy_kind": prepared.judged.file.kind.value,
        "command": None if _is_stand_in(prepared) else list(plan.command),
        "cwd": plan.cwd,
        "network": network_facts(prepared.policy),
        "env": sorted({*plan.env, *plan.secrets}),
        "secrets": plan.secrets,
        "package": None if prepared.package is None else prepared.package.identity,
        "audit": prepared.audit,
        "lock": lock_facts(prepared.judged),
        "running": running_now(prepared.judged),
        "mounts": [
            {
                "access": mount.kind.value,
                "path": mount.destination,
                "source": mount.source,
                "why": mount.why,
            }
            for mount in plan.mounts
        ],
        "tools": msgspec.to_builtins(prepared.policy.tools),
        "lints": [str(lint) for lint in prepared.lints],
        "not_yet": list(not_yet()),
        "gaps": [msgspec.to_builtins(gap) for gap in plan.gaps],
    }
    return json_page(shown)


def divided(plan: Plan) -> tuple[list[Mount], list[Mount]]:
    """The mounts that show something of the user's, and those every jail has."""
    mounts = sorted(plan.mounts, key=lambda mount: (_ORDER.index(mount.kind), mount.destination))
    yours = [mount for mount in mounts if not mount.destination.startswith(SYSTEM)]
    return yours, [mount for mount in mounts if mount not in yours]


def _summary(system: list[Mount]) -> str:
    """The system's mounts in a line: trees by name, files counted."""
    trees = [m.destination for m in system if m.destination.count("/") == 1]
    files = len(system) - len(trees)
    return f"{', '.join(sorted(trees))}, and {files} places in them"


def mount_row(mount: Mount) -> tuple[str, str]:
    """A mount with its reason, as a row of two columns."""
    is_elsewhere = mount.source is not None and mount.source != mount.destination
    path = f"{mount.destination} -> {mount.source}" if is_elsewhere else mount.destination
    return mount.kind.value, f"{path}\n  {mount.why}"


def _rules(prepared: Prepared) -> list[tuple[str, str, str]]:
    policy, places = prepared.policy, prepared.judged.places
    table: list[tuple[str, str, str]] = []
    for kind in ("tools", "resources", "prompts"):
        section = getattr(policy, kind)
        for key, rule in section.rules.items():
            path = (kind, "rules", key)
            table.append((rule_words(rule), _where(places, path), f"{kind[:-1]} {key}"))
            if isinstance(rule, ToolRule):
                table += [
                    (
                        "",
                        _where(places, (*path, "args", name)),
                        f"  {name}: {constraint_words(constraint)}",
                    )
                    for name, constraint in rule.args.items()
                ]
                if rule.additional is Additional.DENY:
                    table.append(("", _where(places, (*path, "additional")), "  nothing else"))
        table.append(
            (section.default.value, _where(places, (kind, "default")), f"any other {kind[:-1]}")
        )
    return table


def _where(places: dict[KeyPath, Place], path: KeyPath) -> str:
    """The line of the policy file, which is named at the top of the page."""
    return f"line {places[path].line}" if path in places else "default"


def _warnings(prepared: Prepared) -> None:
    if prepared.lints:
        heading("Worth a look")
        for lint in prepared.lints:
            folded(
                str(lint.place) + ": " + lint.message if lint.place else lint.message,
                note=lint.hint,
            )
    heading("Values not there yet (a policy that asks for them is refused)")
    folded("; ".join(not_yet()))
    folded(f"The defaults of {', '.join(idle_defaults())} hold nothing yet.")
    if prepared.plan.gaps:
        heading("What this machine cannot keep; the server will not be started")
        for gap in prepared.plan.gaps:
            folded(f"{gap.promise}: {gap.cause}", note=gap.cure)
