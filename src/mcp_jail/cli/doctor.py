"""`mcp-jail doctor`: whether this machine can build jails, and whether wrapped clients still are.

Looks at what a jail needs from this machine, starts a small one to be sure, and says how to mend
what is missing. Then at the files of clients: entries that came back bare or were added, programs
and commands that are gone, policies from elsewhere; and at policies that no run can start, or that
are weaker than the default. Ends with 4 when a jail cannot be built, with 1 when a
client's file or a policy should be mended, so that cron and CI can ask.
"""

from __future__ import annotations

import argparse
import os
import sys

import msgspec

from mcp_jail.asks.desktop_look import Looked, look_at_desktop
from mcp_jail.cli.ask_rows import desktop_words
from mcp_jail.cli.doctor_files import Files, look_at_files, print_files
from mcp_jail.cli.for_programs import json_page
from mcp_jail.cli.out import folded, heading
from mcp_jail.demo.bubblewrap import install_command
from mcp_jail.errors import ExitCode
from mcp_jail.proxy.gate_trial import try_a_gate, try_a_proxy
from mcp_jail.sandbox.probe import INSTALL, Host, probe
from mcp_jail.sandbox.trial import Trial, try_a_jail

EXAMPLE = """\
  mcp-jail doctor
  mcp-jail doctor --strict --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how strictly to look and what to print."""
    parser.add_argument(
        "--strict", action="store_true", help="end with 1 also when a policy is a weaker one"
    )
    parser.add_argument("--json", action="store_true", help="print the findings for a program")


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; 4 when no jail can be built here, 1 when a file should be mended."""
    host = probe()
    not_tried = Trial(works=False, found="not tried")
    trial = not_tried if host.gaps else try_a_jail(host)
    gate = try_a_gate(host) if trial.works else not_tried
    proxy = try_a_proxy(host) if trial.works and not gate.works else not_tried
    files = look_at_files(os.environ, has_gate=gate.works or not trial.works)
    desktop = look_at_desktop()
    if arguments.json:
        sys.stdout.write(_as_json(host, trial, gate, proxy, files, desktop))
    else:
        _for_people(host, trial, gate, proxy)
        heading("The desktop")
        folded(desktop_words(desktop))
        print_files(files, host.home)
    if not trial.works:
        return ExitCode.JAIL
    return ExitCode.NEGATIVE if files.fails(strict=arguments.strict) else ExitCode.OK


def _for_people(host: Host, trial: Trial, gate: Trial, proxy: Trial) -> None:
    heading("This machine")
    for fact in host.facts:
        folded(f"{fact.name}: {fact.value}", note=f"by {fact.found_by}")
    heading("A jail")
    if trial.works:
        folded(f"works: {trial.found}")
        heading("A gate, for policies that name hosts")
        if gate.works:
            folded(f"works: {gate.found}")
        else:
            folded(f"cannot be built: {gate.found}", note=gate.cure)
            heading("A proxy in its stead, by network.via: proxy")
            folded(f"{'works' if proxy.works else 'does not work'}: {proxy.found}")
        return
    for gap in host.gaps:
        folded(f"no jail can be built: {gap.cause}", note=_cure(host, gap.cure))
    if not host.gaps:
        folded(f"no jail can be built: {trial.found}", note=trial.cure)


def _cure(host: Host, cure: str) -> str:
    """A gap's cure; the very command where this machine's package manager is known."""
    command = install_command() if cure == INSTALL else None
    if command is None:
        return cure
    return f"run: {command}" if host.uid == 0 else f"run: sudo {command}"


def _as_json(
    host: Host, trial: Trial, gate: Trial, proxy: Trial, files: Files, desktop: Looked
) -> str:
    findings = {
        "facts": [msgspec.to_builtins(fact) for fact in host.facts],
        "gaps": [msgspec.to_builtins(gap) for gap in host.gaps],
        "jail": msgspec.to_builtins(trial),
        "gate": msgspec.to_builtins(gate),
        "proxy": msgspec.to_builtins(proxy),
        "desktop": msgspec.to_builtins(desktop),
        **files.as_values(),
    }
    return json_page(findings)
