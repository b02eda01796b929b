"""A long audit, and what it costs to check one and to add it up."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import msgspec

from figures import Figures
from lanes import HERE, JAILED, Workshop
from protections import BEFORE

# The name of the audit that is long before its server is started.
LONG = "echo-long-audit"


def write_and_read(workshop: Workshop, entries: int, rounds: int) -> Figures:
    """Write the long audit, check it as it was written, and add it up."""
    write_long(workshop, entries)
    return verify(workshop, entries, rounds) | report(workshop, entries, rounds)


def write_long(workshop: Workshop, entries: int) -> None:
    """Write the long audit, with the mcp-jail that is measured."""
    python = str(Path(workshop.mcp_jail).with_name("python"))
    audit = workshop.state / f"{LONG}.jsonl"
    words = [python, "-I", str(HERE / "long_audit.py"), str(audit), str(entries), BEFORE]
    subprocess.run(words, env=workshop.env, check=True)


def verify(workshop: Workshop, entries: int, rounds: int) -> Figures:
    """Seconds and highest MB of `mcp-jail log --verify` on the long audit."""
    taken = [_verify_once(workshop, entries) for _ in range(rounds)]
    return {
        "log --verify s": {JAILED: median(seconds for seconds, _ in taken)},
        "log --verify MB": {JAILED: max(size for _, size in taken)},
    }


def report(workshop: Workshop, entries: int, rounds: int) -> Figures:
    """Seconds and highest MB of `mcp-jail report` over the whole of the long audit."""
    taken = [_report_once(workshop, entries) for _ in range(rounds)]
    return {
        "report s": {JAILED: median(seconds for seconds, _ in taken)},
        "report MB": {JAILED: max(size for _, size in taken)},
    }


def _verify_once(workshop: Workshop, entries: int) -> tuple[float, float]:
    seconds, size, code, printed = _peak(workshop, "log", LONG, "--verify")
    checked = sum(int(found) for found in re.findall(r": (\d+) entr(?:y|ies) of ", printed))
    if code != 0 or checked != entries:
        raise RuntimeError(f"log --verify checked {checked} of {entries}: exit code {code}")
    return seconds, size


def _report_once(workshop: Workshop, entries: int) -> tuple[float, float]:
    seconds, size, code, printed = _peak(workshop, "report", LONG, "--since", "all", "--json")
    (server,) = msgspec.json.decode(printed)["servers"] if code == 0 else ({"entries": 0},)
    if server["entries"] != entries:
        raise RuntimeError(f"report counted {server['entries']} of {entries}: exit code {code}")
    return seconds, size


def _peak(workshop: Workshop, *words: str) -> tuple[float, float, int, str]:
    """Seconds, highest MB and exit code of a command, and what it printed."""
    peak = [sys.executable, "-I", "-S", str(HERE / "peak.py")]
    done = subprocess.run(
        [*peak, workshop.mcp_jail, *words],
        env=workshop.env,
        check=True,
        capture_output=True,
        text=True,
    )
    first, _, printed = done.stdout.partition("\n")
    seconds, size, code = first.split()
    return float(seconds), float(size), int(code), printed
