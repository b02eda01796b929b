"""What every test stands on: no skip passes, no test touches the home of who runs it.

- With `MCP_JAIL_REQUIRE=1`, as in CI, a skipped or expected failure is a failure, and so is a
  missing tree of npm servers. Without it, tests that need the npm servers are left out where those
  are not installed, and the summary says so.
- Hypothesis has no deadlines (a slow machine is no bug); `MCP_JAIL_EXAMPLES` asks for more examples
  and new random ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

ROOT: Final = Path(__file__).resolve().parent.parent
SERVERS: Final = ROOT / "tests" / "servers"
NPM_TREE: Final = ROOT / "tests" / "node" / "node_modules"
REQUIRED: Final = os.environ.get("MCP_JAIL_REQUIRE") == "1"

EXAMPLES: Final = os.environ.get("MCP_JAIL_EXAMPLES")
settings.register_profile("usual", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("long", deadline=None, max_examples=int(EXAMPLES or 100))
settings.load_profile("long" if EXAMPLES else "usual")

LEAVES_OUT_NPM: Final = not REQUIRED and not NPM_TREE.is_dir()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one where everything is required."""
    report = yield
    if REQUIRED and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"not run, and nothing may be left out here: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a skipped module into a failed one where everything is required."""
    report = yield
    if REQUIRED and report.outcome == "skipped":
        report.outcome = "failed"
        report.longrepr = f"not run, and nothing may be left out here: {report.longrepr}"
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs the npm servers where they are not installed."""
    if not LEAVES_OUT_NPM:
        return
    needing = [item for item in items if "npm_tree" in _fixtures(item)]
    items[:] = [item for item in items if item not in needing]
    config.hook.pytest_deselected(items=needing)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out."""
    if LEAVES_OUT_NPM:
        terminalreporter.write_line(
            "left out: the tests that run npm servers; install Node.js, then `make test`"
        )


@pytest.fixture
def npm_tree() -> Path:
    """Where the real npm servers are installed; asked for by the tests that run one."""
    assert NPM_TREE.is_dir(), "tests/node/node_modules is missing: run scripts/make-node-tree"
    return NPM_TREE


@pytest.fixture
def python() -> str:
    """The interpreter itself, outside of any virtual environment: what runs `tests/servers`."""
    return os.path.realpath(sys.executable)


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep state, locks and policies of a test out of the home of who runs it."""
    monkeypatch.setenv("MCP_JAIL_HOME", str(tmp_path_factory.mktemp("mcp-jail-home")))


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else ()
