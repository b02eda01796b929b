"""A long audit, and what it costs to check one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from statistics import median

from figures import Figures
from lanes import HERE, JAILED, Workshop
from protections import BEFORE

# The name of the audit that is long before its server is started.
LONG = "echo-long-audit"


def write_and_verify(workshop: Workshop, entries: int, rounds: int) -> Figures:
    """Write the long audit and check it as it was written."""
    write_long(workshop, entries)
    return verify(workshop, entries, rounds)


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


def _verify_once(workshop: Workshop, entries: int) -> tuple[float, float]:
    peak = [sys.executable, "-I", "-S", str(HERE / "peak.py")]
    done = subprocess.run(
        [*peak, workshop.mcp_jail, "log", LONG, "--verify"],
        env=workshop.env,
        check=True,
        capture_output=True,
        text=True,
    )
    first, _, printed = done.stdout.partition("\n")
    seconds, size, code = first.split()
    checked = sum(int(found) for found in re.findall(r": (\d+) entr(?:y|ies) of ", printed))
    if code != "0" or checked != entries:
        raise RuntimeError(f"log --verify checked {checked} of {entries}: exit code {code}")
    return float(seconds), float(size)
