"""The rule that no skip may pass, tried on a suite of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mcp_jail

SUITE = """
import pytest

def test_passes():
    pass

def test_skips():
    pytest.skip("no reason")

@pytest.mark.xfail(reason="known")
def test_is_expected_to_fail():
    assert False
"""
SKIPPED_MODULE = "import pytest\npytest.skip('no reason', allow_module_level=True)\n"
NEEDS_NPM = "def test_runs_a_server(npm_tree):\n    pass\n"


def outcome(folder: Path, suite: str, *options: str, require: bool) -> tuple[int, str]:
    """Run a suite under our conftest; its exit code and its last two lines."""
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    (folder / "test_suite.py").write_text(suite)
    environment = dict(os.environ, PYTHONPATH=str(Path(mcp_jail.__file__).parent.parent))
    environment["MCP_JAIL_REQUIRE"] = "1" if require else "0"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, "\n".join(done.stdout.strip().splitlines()[-2:])


def test_a_skip_and_an_expected_failure_are_failures_where_all_is_required(tmp_path: Path) -> None:
    code, summary = outcome(tmp_path, SUITE, require=True)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "2 failed, 1 passed" in summary


def test_a_skip_is_a_failure_in_worker_processes_too(tmp_path: Path) -> None:
    code, summary = outcome(tmp_path, SUITE, "-n", "1", require=True)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "2 failed, 1 passed" in summary


def test_a_skipped_module_is_an_error_where_all_is_required(tmp_path: Path) -> None:
    code, summary = outcome(tmp_path, SKIPPED_MODULE, require=True)
    assert code == pytest.ExitCode.INTERRUPTED
    assert "1 error" in summary


def test_a_skip_is_a_skip_elsewhere(tmp_path: Path) -> None:
    code, summary = outcome(tmp_path, SUITE, require=False)
    assert code == pytest.ExitCode.OK
    assert "1 passed, 1 skipped, 1 xfailed" in summary


def test_missing_npm_servers_fail_where_all_is_required(tmp_path: Path) -> None:
    code, summary = outcome(tmp_path, NEEDS_NPM, require=True)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "1 error" in summary


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "in-workers"])
def test_missing_npm_servers_leave_their_tests_out_and_say_so_elsewhere(
    tmp_path: Path, options: list[str]
) -> None:
    suite = NEEDS_NPM + "\ndef test_passes():\n    pass\n"
    code, summary = outcome(tmp_path, suite, *options, require=False)
    assert code == pytest.ExitCode.OK
    assert "left out: the tests that run npm servers" in summary
    assert "1 passed" in summary.splitlines()[-1]
