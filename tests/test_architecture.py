"""The shape of the code, held: sizes, docstrings, names, mirrored tests, purity, small imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from guard_imports import GUARD_SHUNS, foreign_packages

ROOT: Final = Path(__file__).resolve().parent.parent
SRC: Final = ROOT / "src" / "mcp_jail"
TESTS: Final = ROOT / "tests"
MODULES: Final = sorted(SRC.rglob("*.py"))

# Lines; beyond it a module has more than one subject.
MODULE_LIMIT: Final = 350

VAGUE: Final = frozenset(
    "base common data handler handlers helper helpers info manager managers misc obj service "
    "services shared stuff tool tools util utils".split()
)

# Modules without a test file of their own, each with the reason. The list may only shrink.
WITHOUT_TEST_FILE: Final = {
    "errors.py": "kinds of errors with no logic; every test of a refusal names one",
    "core/conversation/events.py": "values only",
    "core/approved/listed.py": "values only; core/approved/test_catalogue.py makes pages of them",
    "core/policy.py": "types only; tests/config reads policies through them",
    "core/spec.py": "values only; tests/sandbox builds plans from them",
    "gate/first_bytes.py": "values only; gate/test_hello.py and test_http_host.py read into them",
}

# Modules that are parts of one mechanism and are tried through it, each with the file that does.
TESTED_THROUGH: Final = {
    "cli/check.py": "cli/test_commands.py",
    "cli/chosen.py": "cli/test_commands.py",
    "cli/client_files.py": "cli/test_wrap.py",
    "cli/comparison.py": "cli/test_diff.py",
    "cli/doctor.py": "cli/test_commands.py",
    "cli/lock_rows.py": "cli/test_show.py",
    "cli/out.py": "cli/test_commands.py",
    "cli/report_page.py": "cli/test_report.py",
    "cli/report_rows.py": "cli/test_report.py",
    "cli/schema.py": "cli/test_commands.py",
    "cli/seeing.py": "cli/test_diff.py",
    "cli/trust.py": "cli/test_commands.py",
    "cli/unwrap.py": "cli/test_wrap.py",
    "cli/wrap_report.py": "cli/test_wrap.py",
    "cli/why.py": "cli/test_commands.py",
    "asks/lineage.py": "asks/test_who.py",
    "asks/calling.py": "asks/test_answering.py",
    "asks/protocol.py": "proxy/test_control.py",
    "cli/agent.py": "asks/test_approving.py",
    "cli/allow.py": "asks/test_answering.py",
    "cli/always.py": "asks/test_answering.py",
    "cli/answering.py": "asks/test_answering.py",
    "cli/ask_rows.py": "cli/test_asks.py",
    "cli/ask_page.py": "cli/test_asks.py",
    "cli/deny.py": "asks/test_answering.py",
    "cli/grants.py": "cli/test_asks.py",
    "cli/pin_offer.py": "cli/test_wrap.py",
    "cli/ps.py": "cli/test_asks.py",
    "config/code_words.py": "proxy/test_launched_code.py",
    "config/program_options.py": "config/test_carried_code.py",
    "config/spans.py": "laws/test_rule_edit_laws.py",
    "config/splices.py": "config/test_rule_edit.py",
    "config/yaml_text.py": "config/test_rule_edit.py",
    "config/starter_text.py": "config/test_starter_policy.py",
    "clients/applying.py": "wrap/test_replacing.py",
    "clients/catalogue.py": "wrap/test_catalogue.py",
    "clients/denied.py": "wrap/test_denied.py",
    "clients/document.py": "wrap/test_json_spans.py",
    "clients/entry_notes.py": "wrap/test_planning.py",
    "clients/marks.py": "wrap/test_health_left.py",
    "clients/variables_files.py": "wrap/test_variables_files.py",
    "clients/used_policies.py": "cli/test_doctor_files.py",
    "clients/elsewhere.py": "wrap/test_elsewhere.py",
    "clients/matching.py": "wrap/test_matching.py",
    "clients/plans.py": "wrap/test_planning.py",
    "clients/health.py": "wrap/test_health.py",
    "clients/json_spans.py": "wrap/test_json_spans.py",
    "clients/known_launch.py": "wrap/test_policy_names.py",
    "clients/launches.py": "wrap/test_planning.py",
    "clients/managed.py": "wrap/test_managed.py",
    "clients/obstacles.py": "wrap/test_obstacles.py",
    "clients/opening.py": "wrap/test_planning.py",
    "clients/our_entries.py": "wrap/test_planning.py",
    "clients/planning.py": "wrap/test_planning.py",
    "clients/policy_names.py": "wrap/test_policy_names.py",
    "clients/reading.py": "wrap/test_wrapping.py",
    "clients/replacing.py": "wrap/test_replacing.py",
    "clients/rows_editors.py": "wrap/test_catalogue.py",
    "clients/rows_first.py": "wrap/test_catalogue.py",
    "clients/rows_more.py": "wrap/test_catalogue.py",
    "clients/running.py": "wrap/test_running.py",
    "clients/servers.py": "wrap/test_planning.py",
    "clients/shortfalls.py": "wrap/test_planning.py",
    "clients/splices.py": "wrap/test_wrapping.py",
    "clients/started_in.py": "wrap/test_started_in.py",
    "clients/targets.py": "wrap/test_catalogue.py",
    "clients/toml_spans.py": "wrap/test_toml_spans.py",
    "clients/unplanning.py": "wrap/test_planning.py",
    "clients/wrapping.py": "wrap/test_wrapping.py",
    "clients/yaml_spans.py": "wrap/test_yaml_spans.py",
    "cli/install.py": "net/test_packages.py",
    "cli/progress.py": "net/test_packages.py",
    "cli/prune.py": "net/test_package_updates.py",
    "cli/update.py": "net/test_package_updates.py",
    "core/conversation/clientside.py": "core/conversation/test_session.py",
    "core/rules/decision.py": "core/rules/test_decide.py",
    "core/conversation/forwarding.py": "core/conversation/test_calls.py",
    "core/conversation/inflight.py": "core/conversation/test_session.py",
    "core/protocol/mcp.py": "core/conversation/test_session.py",
    "core/rules/outlook.py": "core/conversation/test_session.py",
    "core/conversation/passing.py": "core/conversation/test_answers.py",
    "core/conversation/serverside.py": "core/conversation/test_session.py",
    "core/conversation/state.py": "core/conversation/test_session.py",
    "core/conversation/tally.py": "core/conversation/test_session.py",
    "gate/arrived.py": "net/test_by_proxy.py",
    "gate/http_head.py": "gate/test_http_host.py",
    "proxy/arrivals.py": "proxy/test_loop.py",
    "proxy/ending.py": "proxy/test_loop.py",
    "proxy/entries.py": "cli/test_run.py",
    "proxy/guard.py": "cli/test_run.py",
    "proxy/ports.py": "proxy/test_order.py",
    "proxy/persons.py": "asks/test_answering.py",
    "proxy/lister.py": "proxy/test_live.py",
    "packages/makers.py": "net/test_packages.py",
    "packages/failing.py": "net/test_packages.py",
    "packages/npm.py": "net/test_packages.py",
    "packages/npm_tree.py": "net/test_packages.py",
    "packages/pypi.py": "net/test_packages.py",
    "packages/registries.py": "packages/test_npm_settings.py",
    "proxy/command_words.py": "cli/test_run.py",
    "proxy/packaged.py": "net/test_packages.py",
    "proxy/prepare.py": "cli/test_run.py",
    "proxy/server.py": "cli/test_run.py",
    "proxy/talk.py": "proxy/test_live.py",
    "proxy/unknown.py": "cli/test_try.py",
    "proxy/unpinned.py": "net/test_packages.py",
    "sandbox/enter.py": "jail/test_lifecycle.py",
    "sandbox/installations.py": "sandbox/test_toolchain.py",
    "sandbox/keeper.py": "jail/test_lifecycle.py",
    "sandbox/keeping.py": "sandbox/test_keeper.py",
    "sandbox/launch.py": "jail/test_lifecycle.py",
    "sandbox/projects.py": "sandbox/test_toolchain.py",
    "sandbox/scripts.py": "sandbox/test_toolchain.py",
    "sandbox/trial.py": "jail/test_lifecycle.py",
    "store/chains.py": "store/test_approvals.py",
}

# What the guard loads when a client starts `mcp-jail run NAME`.
# `tests/test_guard.py` asks the same of a whole run.
GUARD_ENTRIES: Final = ("mcp_jail.cli.run", "mcp_jail.proxy.prepare", "mcp_jail.proxy.guard")

IMPURE_CALLS: Final = frozenset({"__import__", "compile", "eval", "exec", "input", "open", "print"})


def pure(module: Path) -> bool:
    """Whether a module promises to decide and never to act."""
    return module.is_relative_to(SRC / "core")


def relative(module: Path) -> str:
    return module.relative_to(SRC).as_posix()


def each(modules: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("module", modules, ids=relative)


@each(MODULES)
def test_a_module_has_one_subject_and_so_a_limited_size(module: Path) -> None:
    lines = module.read_text().count("\n")
    assert lines <= MODULE_LIMIT


@each(MODULES)
def test_a_module_says_what_it_is_about(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_text()))


@each(MODULES)
def test_a_module_has_a_name_that_says_something(module: Path) -> None:
    assert not VAGUE.intersection(module.relative_to(SRC).with_suffix("").parts)


@each([module for module in MODULES if module.name != "__init__.py"])
def test_a_module_has_a_test_file_where_one_looks_for_it(module: Path) -> None:
    place = TESTS / module.relative_to(SRC).parent
    tested = bool([*place.glob(f"test_{module.stem}.py"), *place.glob(f"test_{module.stem}_*.py")])
    listed = relative(module) in {*WITHOUT_TEST_FILE, *TESTED_THROUGH}
    assert tested or listed
    assert not (tested and relative(module) in WITHOUT_TEST_FILE), "strike it off the list"


def test_the_lists_of_modules_without_test_files_name_what_there_is() -> None:
    modules = {relative(module) for module in MODULES}
    assert {*WITHOUT_TEST_FILE, *TESTED_THROUGH} <= modules
    assert [name for name in TESTED_THROUGH.values() if not (TESTS / name).is_file()] == []


@each([module for module in MODULES if pure(module)])
def test_a_pure_module_calls_nothing_that_acts(module: Path) -> None:
    called = {
        node.func.id
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & IMPURE_CALLS


# Written in pieces, so that this file does not hold what it looks for.
FORBIDDEN_WORDS: Final = {
    "a path of one machine": ("/wo" + "rk/", "/ro" + "ot/.", "/opt/py" + "pi", "/tmp/br" + "ief"),
    "a host of a registry": (
        "registry.np" + "mjs",
        "py" + "pi.org",
        "pythonho" + "sted",
        "deb.deb" + "ian",
    ),
    "an index in a lock": ("--index" + "-url", "--find" + "-links "),
}
# Where the product itself says what it asks when the user's settings name no registry.
DEFAULTS: Final = frozenset(
    {"src/mcp_jail/packages/npm_settings.py", "src/mcp_jail/packages/indexes.py"}
)
# Made by tools or not text; `requirements` and the npm lock are looked at, this file is too.
NOT_OURS: Final = re.compile(
    r"^\.git$|(^|/)(\.[a-z_]+|node_modules|__pycache__|build|dist)/|\.pyc$|\.png$"
)


def own_files() -> Iterator[Path]:
    for path in ROOT.rglob("*"):
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and (name.startswith(".ci/") or not NOT_OURS.search(name)):
            yield path


@pytest.mark.parametrize("kind", FORBIDDEN_WORDS)
def test_nothing_that_is_committed_names(kind: str) -> None:
    found = [
        (path.relative_to(ROOT).as_posix(), word)
        for path in own_files()
        for word in FORBIDDEN_WORDS[kind]
        if word in path.read_text(errors="replace")
        and path.relative_to(ROOT).as_posix() not in DEFAULTS
    ]
    assert found == []


def loaded_by(entry: str) -> set[str]:
    """The modules that an import adds to a bare interpreter."""
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        f"sys.path.insert(0, {str(SRC.parent)!r})\n"
        f"import {entry}\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("entry", GUARD_ENTRIES)
def test_the_guard_loads_the_standard_library_and_two_packages(entry: str) -> None:
    assert foreign_packages(loaded_by(entry)) == set()


@pytest.mark.parametrize("entry", GUARD_ENTRIES)
def test_the_guard_loads_nothing_slow_to_load(entry: str) -> None:
    assert GUARD_SHUNS & loaded_by(entry) == set()
