"""Runs the public conformance suite, straight against our server and with mcp-jail in between.

    suite  --HTTP-->  gateway  --stdio-->                              server    DIRECT
    suite  --HTTP-->  gateway  --stdio-->  mcp-jail  --stdio, jail-->  server    JAILED

What comes of it is the worst status of each check of each scenario, under the name by which the
suite itself lets one be named: `scenario:check-id`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import IO, Final, NamedTuple

from driver import MCP_JAIL, Home, wait_until

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
SUITES: Final = ROOT / "tests" / "node" / "conformance" / "node_modules"
APPLICATIONS: Final = ROOT / "tests" / "node" / "applications" / "node_modules"
SERVER: Final = (str(ROOT / ".servers" / "bin" / "python"), str(HERE / "serve.py"))

# Everything is allowed, so that what does not arrive is what mcp-jail cannot pass on.
POLICY: Final = f"""\
filesystem: {{read_only: [{HERE}]}}
tools: {{default: allow}}
resources: {{default: allow}}
prompts: {{default: allow}}
sampling: allow
elicitation: allow
lock: {{first: trust}}
"""

# The newest revision that opens with a handshake; the next one needs none.
NEWEST_HANDSHAKE: Final = "2025-11-25"
# Seconds for all scenarios of a run, on a machine that does much else.
PATIENCE: Final = 600


class Way(Enum):
    """How the suite gets to the server."""

    DIRECT = "without mcp-jail"
    JAILED = "with mcp-jail"


class Run(NamedTuple):
    """One of the suites, for one revision of the protocol.

    `checks` is how many checks hold at least where nothing is in between, so that a suite that
    finds nothing to do is no success.
    """

    suite: str
    version: str
    checks: int

    def __str__(self) -> str:
        return f"{self.suite}@{self.version}"

    def options(self) -> list[str]:
        """What makes this suite run all it has for this revision, extensions included."""
        if self.version > NEWEST_HANDSHAKE:
            return ["--requirements", self.version]
        return ["--suite", "all", "--spec-version", self.version]


# The suite as it is released, and the next one, which alone knows 2026-07-28.
RUNS: Final = (
    Run("0.1", "2025-06-18", 26),
    Run("0.1", "2025-11-25", 43),
    Run("0.2", "2025-06-18", 56),
    Run("0.2", "2025-11-25", 80),
    Run("0.2", "2026-07-28", 179),
)


class Status(Enum):
    """What a suite says of a check, the worst first."""

    FAILURE = "FAILURE"
    WARNING = "WARNING"
    SKIPPED = "SKIPPED"
    INFO = "INFO"
    SUCCESS = "SUCCESS"


class Found(NamedTuple):
    """What was found out by a check, and what the suite says about it."""

    status: Status
    words: str = ""


Findings = dict[str, Found]


def holding(found: Findings) -> int:
    """How many checks hold."""
    return sum(each.status is Status.SUCCESS for each in found.values())


def both_ways(run: Run, folder: Path) -> dict[Way, Findings]:
    """What a run finds on each way, both at the same time."""
    with ThreadPoolExecutor(len(Way)) as pool:
        going = {way: pool.submit(findings, run, way, folder / way.name.lower()) for way in Way}
        return {way: future.result() for way, future in going.items()}


def findings(run: Run, way: Way, folder: Path) -> Findings:
    """What a run finds on one way; leaves results and error streams in the folder."""
    home = Home(folder)
    home.write_policy(POLICY, "conformance")
    results = folder / "results"
    with (
        (folder / "errors.log").open("w") as log,
        _servers(way, home, log) as command,
        _gateway(run, command, home, log) as url,
    ):
        script = SUITES / f"conformance-{run.suite}" / "dist" / "index.js"
        where = ["server", "--url", url, "--output-dir", str(results)]
        done = subprocess.run(
            [_node(), str(script), *where, *run.options()],
            capture_output=True,
            text=True,
            cwd=folder,
            env=home.environ(),
            timeout=PATIENCE,
            check=False,
        )
    assert "=== SUMMARY ===" in done.stdout, done.stdout + done.stderr
    return {
        f"{scenario}:{check}": found
        for scenario in re.findall(r"^=== Running scenario: (\S+) ===$", done.stdout, re.MULTILINE)
        for check, found in _of_scenario(results, scenario).items()
    }


@contextmanager
def _servers(way: Way, home: Home, log: IO[str]) -> Iterator[list[str]]:
    """What the gateway is told to start or reach: mcp-jail, or a process that forks servers."""
    if way is Way.JAILED:
        yield [str(MCP_JAIL), "run", "conformance", "--", *SERVER]
        return
    path = home.path / "socket"
    with subprocess.Popen(
        [*SERVER, str(path)], stdin=subprocess.PIPE, stderr=log, env=home.environ()
    ) as forks:
        try:
            wait_until(path.exists)
            yield [str(path)]
        finally:
            forks.communicate(timeout=PATIENCE)


@contextmanager
def _gateway(run: Run, command: list[str], home: Home, log: IO[str]) -> Iterator[str]:
    """The URL of a gateway to this command, which ends with the block."""
    newest = min(run.version, NEWEST_HANDSHAKE)
    with subprocess.Popen(
        [sys.executable, "-m", "conformance.gateway", newest, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        cwd=HERE.parent,
        env=home.environ(),
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.communicate(timeout=PATIENCE)


def _of_scenario(results: Path, scenario: str) -> Findings:
    """The worst of each check; a scenario that left no results has failed as a whole."""
    [*folders] = results.glob(f"server-{scenario}-[0-9][0-9][0-9][0-9]-*")
    if len(folders) != 1:
        return {"results": Found(Status.FAILURE, "the scenario could not be run")}
    worst: Findings = {}
    for check in json.loads((folders[0] / "checks.json").read_text()):
        found = Found(Status(check["status"]), str(check.get("errorMessage", "")))
        order = [*Status].index
        known = worst.setdefault(check["id"], found)
        worst[check["id"]] = min(known, found, key=lambda each: order(each.status))
    return worst


def _node() -> str:
    """A Node.js that is new enough for the suites, whatever the machine has."""
    return os.fspath(next(APPLICATIONS.glob("node-linux-*")) / "bin" / "node")
