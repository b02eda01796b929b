"""What every test stands on: no skip passes, no test touches the home of who runs it.

- With `MCP_JAIL_REQUIRE=1`, as in CI, a skipped or expected failure is a failure, and so is a
  missing tree of npm servers or whole clients. Without it, tests that need one of these trees are
  left out where it is not installed, and the summary says so.
- Hypothesis has no deadlines (a slow machine is no bug); `MCP_JAIL_EXAMPLES` asks for more examples
  and new random ones.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

ROOT: Final = Path(__file__).resolve().parent.parent
SERVERS: Final = ROOT / "tests" / "servers"
NPM_TREE: Final = ROOT / "tests" / "node" / "node_modules"
APPLICATIONS: Final = ROOT / "tests" / "node" / "applications" / "node_modules"
CONFORMANCE: Final = ROOT / "tests" / "node" / "conformance" / "node_modules"
REDIS_CLIENT, PSQL, BROWSER = (
    Path(shutil.which(name) or f"/usr/bin/{name}")
    for name in ("redis-cli", "psql", "chromium-headless-shell")
)
DBUS_DAEMON, DUNST = (
    Path(shutil.which(name) or f"/usr/bin/{name}") for name in ("dbus-daemon", "dunst")
)
# Where Debian has it, and where others do.
_DAEMONS = [
    Path(f"/usr/{each}/notification-daemon") for each in ("lib/notification-daemon", "libexec")
]
NOTIFICATION_DAEMON: Final = next((each for each in _DAEMONS if each.is_file()), _DAEMONS[0])
PYTHON_SERVERS: Final = ROOT / ".servers"
REQUIRED: Final = os.environ.get("MCP_JAIL_REQUIRE") == "1"

# `make test &` in a script leaves these ignored, and programs that tests interrupt would be deaf.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

EXAMPLES: Final = os.environ.get("MCP_JAIL_EXAMPLES")
settings.register_profile("usual", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("long", deadline=None, max_examples=int(EXAMPLES or 100))
settings.load_profile("long" if EXAMPLES else "usual")

# Fixtures that stand for something which need not be there, and what is left out without it.
TREES: Final = {
    "npm_tree": (NPM_TREE, "run npm servers (install Node.js, then `make test`)"),
    "applications": (APPLICATIONS, "run whole clients (`make clients`)"),
    "conformance_suites": (CONFORMANCE, "run the conformance suites (`make clients`)"),
    "redis_client": (REDIS_CLIENT, "run redis-cli (package redis-tools)"),
    "psql": (PSQL, "run psql (package postgresql-client)"),
    "browser": (BROWSER, "run a browser (package chromium-headless-shell)"),
    "dbus_daemon": (DBUS_DAEMON, "run a bus of their own (package dbus-daemon)"),
    "dunst_program": (DUNST, "run a notification daemon (packages dunst and xvfb)"),
    "notification_daemon": (
        NOTIFICATION_DAEMON,
        "click on a notification (packages notification-daemon, xdotool and xvfb)",
    ),
}
LEFT_OUT: Final = {
    fixture: what for fixture, (tree, what) in TREES.items() if not REQUIRED and not tree.exists()
}


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
    """Leave out what needs a tree that is not installed."""
    if not LEFT_OUT:
        return
    needing = [item for item in items if LEFT_OUT.keys() & set(_fixtures(item))]
    items[:] = [item for item in items if item not in needing]
    config.hook.pytest_deselected(items=needing)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out."""
    if LEFT_OUT:
        terminalreporter.write_line(f"left out: the tests that {', that '.join(LEFT_OUT.values())}")


@pytest.fixture
def npm_tree() -> Path:
    """Where the real npm servers are installed; asked for by the tests that run one."""
    assert NPM_TREE.is_dir(), "tests/node/node_modules is missing: run scripts/make-node-tree"
    return NPM_TREE


@pytest.fixture
def applications() -> Path:
    """Where whole clients and the Node.js for them are installed."""
    assert APPLICATIONS.is_dir(), "tests/node/applications/node_modules is missing: make clients"
    return APPLICATIONS


@pytest.fixture
def conformance_suites() -> Path:
    """Where the public conformance suites are installed; their Node.js is in `applications`."""
    assert CONFORMANCE.is_dir(), "tests/node/conformance/node_modules is missing: make clients"
    return CONFORMANCE


@pytest.fixture
def redis_client() -> Path:
    """Redis's own client."""
    assert REDIS_CLIENT.exists(), "not installed: scripts/install-package redis-tools"
    return REDIS_CLIENT


@pytest.fixture
def psql() -> Path:
    """PostgreSQL's own client."""
    assert PSQL.exists(), "not installed: scripts/install-package postgresql-client"
    return PSQL


@pytest.fixture
def browser() -> Path:
    """A browser without a head."""
    assert BROWSER.exists(), "not installed: scripts/install-package chromium-headless-shell"
    return BROWSER


@pytest.fixture
def dbus_daemon() -> Path:
    """The program of a D-Bus bus."""
    assert DBUS_DAEMON.exists(), "not installed: scripts/install-package dbus-daemon"
    return DBUS_DAEMON


@pytest.fixture
def dunst_program() -> Path:
    """A notification daemon, which needs a screen: Xvfb."""
    assert DUNST.exists(), "not installed: scripts/install-package dunst"
    assert shutil.which("Xvfb"), "not installed: scripts/install-package xvfb"
    return DUNST


@pytest.fixture
def notification_daemon() -> Path:
    """A notification daemon that takes no orders; it needs a screen, and a test a mouse."""
    for program, package in (("Xvfb", "xvfb"), ("xdotool", "xdotool")):
        assert shutil.which(program), f"not installed: scripts/install-package {package}"
    assert NOTIFICATION_DAEMON.exists(), (
        "not installed: scripts/install-package notification-daemon"
    )
    return NOTIFICATION_DAEMON


@pytest.fixture
def python_servers() -> Path:
    """The directory of programs of the real servers of PyPI."""
    assert PYTHON_SERVERS.is_dir(), "not installed: scripts/make-python-servers python3"
    return PYTHON_SERVERS / "bin"


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
