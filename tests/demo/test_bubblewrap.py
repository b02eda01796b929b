"""Without bubblewrap the demo says which command installs it on this very system."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mcp_jail.core.spec import Gap
from mcp_jail.demo.bubblewrap import MANAGERS, install_command, refuse_without
from mcp_jail.errors import ExitCode, JailBuildError
from mcp_jail.sandbox.probe import Host, probe


@pytest.fixture
def bare_host(tmp_path: Path) -> Host:
    """This machine, looked at where no bwrap is."""
    return probe(directories=(str(tmp_path),))


def put(folder: Path, *names: str) -> str:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_a_machine_with_all_it_needs_is_not_refused() -> None:
    refuse_without(probe())


@pytest.mark.parametrize(("manager", "command"), MANAGERS, ids=lambda word: word.split()[0])
@pytest.mark.parametrize(("uid", "start"), [(0, "run: "), (1000, "run: sudo ")])
def test_the_exact_command_is_told(
    tmp_path: Path, bare_host: Host, manager: str, command: str, uid: int, start: str
) -> None:
    path = put(tmp_path, manager)
    with pytest.raises(JailBuildError, match="no bwrap in") as refused:
        refuse_without(msgspec.structs.replace(bare_host, uid=uid), path=path)
    assert refused.value.exit_code == ExitCode.JAIL
    assert refused.value.hint == start + command


def test_a_system_without_a_known_manager_is_told_in_words(tmp_path: Path, bare_host: Host) -> None:
    assert install_command(str(tmp_path)) is None
    with pytest.raises(JailBuildError) as refused:
        refuse_without(bare_host, path=str(tmp_path))
    assert "bubblewrap 0.8.0" in refused.value.hint


def test_what_bubblewrap_would_not_mend_keeps_its_own_cure(bare_host: Host) -> None:
    gap = Gap(promise="a jail", cause="user namespaces are switched off", cure="sysctl -w x=1")
    with pytest.raises(JailBuildError, match="switched off") as refused:
        refuse_without(msgspec.structs.replace(bare_host, gaps=(gap,)))
    assert refused.value.hint == "sysctl -w x=1"
