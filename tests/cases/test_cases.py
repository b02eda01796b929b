"""Policies with calls and the verdicts they must get, each a row of the attacks we know.

A case is a tool with its arguments (`read_file: {path: x}`), or `resource: URI`. The policy is
loaded, its jail is planned, and the calls are judged with the very parts a run uses.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from mcp_jail import config
from mcp_jail.config.jailspec import jail_spec
from mcp_jail.core.rules.decide import Rulebook, ToolCall, compile_rules, decide, decide_resource
from mcp_jail.core.rules.paths import expand_home
from mcp_jail.proxy.patterns import fullmatch
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.view import View

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.yaml"))
VERDICTS = ("allow", "ask", "deny")


class Case(NamedTuple):
    file: str
    row: str
    verdict: str
    tool: str
    arguments: Any


class Bench(NamedTuple):
    """What calls of one file are judged with."""

    top: str
    book: Rulebook
    view: View
    declared: dict[str, list[str]]


def read(file: Path, top: str = "TOP") -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(file.read_text().replace("TOP", top))
    return content


def cases(content: dict[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    for group in content["cases"]:
        for verdict in VERDICTS:
            for call in group.get(verdict, ()):
                ((tool, arguments),) = call.items()
                yield str(group["row"]), verdict, tool, arguments


CASES = [Case(file.name, *case) for file in FILES for case in cases(read(file))]


@pytest.fixture(scope="module")
def benches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Bench]:
    return {file.name: _bench(file, tmp_path_factory.mktemp("case")) for file in FILES}


def _bench(file: Path, folder: Path) -> Bench:
    top = os.path.realpath(folder)
    _furnish(Path(top))
    content = read(file, top)
    policy_text = yaml.safe_dump(content["policy"], sort_keys=False)
    loaded = config.load(policy_text, file.name)
    home = f"{top}/home"
    spec = jail_spec(loaded.policy, ("/bin/sh",), home=home, environ={}, client_cwd="/")
    plan = build(spec, environ={"HOME": home, "PATH": os.defpath})
    declared_cwd = loaded.policy.server and loaded.policy.server.cwd
    cwd = expand_home(declared_cwd, home) if declared_cwd else None
    book = compile_rules(loaded.policy, loaded.places, home=home, cwd=cwd)
    return Bench(top, book, View(plan, fullmatch), content["declared"])


def _furnish(top: Path) -> None:
    home = top / "home"
    for directory in ("projects/scratch", "projects/sub/deep", "projects-evil", ".ssh/sub"):
        (home / directory).mkdir(parents=True)
    for file in ("projects/a.txt", "projects/.env", "projects-evil/x", ".ssh/id_rsa"):
        (home / file).write_text("x")
    for link, target in {
        "key": "../.ssh/id_rsa",
        "chain1": "chain2",
        "chain2": "key",
        "ssh": f"{home}/.ssh",
        "d": "../.ssh/sub",
        "scratch/dangling": f"{home}/.ssh/authorized_keys",
        "inner": "sub/../a.txt",
    }.items():
        (home / "projects" / link).symlink_to(target)


def name_of(case: Case) -> str:
    return f"{case.row}-{case.verdict}-{case.tool}-{case.arguments}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_call_gets_the_verdict_its_row_asks_for(benches: dict[str, Bench], case: Case) -> None:
    bench = benches[case.file]
    arguments = placed(case.arguments, bench.top)
    if case.tool == "resource":
        decision = decide_resource(arguments, bench.book)
    else:
        declared = bench.declared.get(case.tool)
        names = None if declared is None else frozenset(declared)
        decision = decide(ToolCall(case.tool, arguments, names), bench.book, bench.view)
    assert decision.verdict.value == case.verdict, decision


def placed(value: Any, top: str) -> Any:
    """A value with `TOP` in all its texts replaced."""
    match value:
        case str():
            return value.replace("TOP", top)
        case list():
            return [placed(item, top) for item in value]
        case dict():
            return {key: placed(item, top) for key, item in value.items()}
        case _:
            return value


def test_the_rows_are_all_there() -> None:
    rows = {case.row for case in CASES}
    assert {str(row) for row in (1, 2, 3, 4, *range(7, 20), 28, 29, 31, 34, 47, 85)} <= rows
