"""What the probe takes for a usable machine, tried with real files in the place of real ones."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from mcp_jail.core.spec import JailSpec
from mcp_jail.errors import ExitCode, JailBuildError
from mcp_jail.sandbox import launch
from mcp_jail.sandbox import probe as probing
from mcp_jail.sandbox.build import build
from mcp_jail.sandbox.probe import Host, bwrap_version, probe

REAL = next(p for d in probing.BWRAP_DIRECTORIES if os.path.exists(p := f"{d}/bwrap"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that stands for /usr/bin, and a kernel that forbids nothing."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "sysctls").mkdir()
    (tmp_path / "apparmor").mkdir()
    return tmp_path


def look(place: Path) -> Host:
    return probe(
        {"HOME": str(place)},
        directories=(str(place / "bin"),),
        trusted_owner=os.getuid(),
        sysctls=str(place / "sysctls"),
        apparmor_profiles=str(place / "apparmor"),
    )


def copy(place: Path, mode: int = 0o755) -> Path:
    target = place / "bin/bwrap"
    shutil.copyfile(REAL, target)
    target.chmod(mode)
    return target


def script(place: Path, version: str) -> Path:
    target = place / "bin/bwrap"
    target.write_text(f"#!/bin/sh\necho bubblewrap {version}\n")
    target.chmod(0o755)
    return target


def only_cause(host: Host) -> str:
    assert host.bwrap is None or host.gaps
    (gap,) = host.gaps
    assert gap.cure
    assert gap.promise
    return gap.cause


def test_a_good_bwrap_is_taken(place: Path) -> None:
    copy(place)
    host = look(place)
    assert host.gaps == ()
    assert host.bwrap == str(place / "bin/bwrap")
    assert host.bwrap_version == bwrap_version(REAL)


def test_the_version_in_the_file_is_the_one_it_prints(place: Path) -> None:
    assert probing._says(REAL).split()[1].decode() == ".".join(map(str, bwrap_version(REAL) or ()))


def test_a_missing_bwrap_is_a_gap(place: Path) -> None:
    assert "no bwrap in" in only_cause(look(place))


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6755])
def test_a_privileged_bwrap_is_refused(mode: int, place: Path) -> None:
    copy(place, mode)
    found = look(place)
    assert "raised rights" in only_cause(found)
    assert found.gaps[0].cure == f"sudo chmod u-s,g-s {place / 'bin' / 'bwrap'}"


def test_one_program_in_two_directories_is_told_once(place: Path, tmp_path: Path) -> None:
    copy(place, 0o4755)
    (tmp_path / "same").symlink_to(place / "bin")
    found = probe(
        directories=(str(place / "bin"), str(tmp_path / "same")), trusted_owner=os.getuid()
    )
    (gap,) = found.gaps
    assert gap.cause.count("raised rights") == 1


@pytest.mark.parametrize("mode", [0o757, 0o775, 0o777])
def test_a_bwrap_that_others_may_write_is_refused(mode: int, place: Path) -> None:
    copy(place, mode)
    assert "does not belong to root alone" in only_cause(look(place))


def test_a_bwrap_that_is_not_roots_is_refused(place: Path) -> None:
    copy(place)
    host = probe(
        {"HOME": str(place)}, directories=(str(place / "bin"),), trusted_owner=os.getuid() + 1
    )
    assert "does not belong to root alone" in only_cause(host)


@pytest.mark.parametrize("version", ["0.7.0", "0.3.3", "0.7.99"])
def test_an_old_bwrap_is_refused(version: str, place: Path) -> None:
    script(place, version)
    assert f"version {version}" in only_cause(look(place))


@pytest.mark.parametrize("version", ["0.8.0", "0.8", "0.11.0", "1.0.0", "0.10.0"])
def test_a_new_enough_bwrap_is_taken(version: str, place: Path) -> None:
    script(place, version)
    assert look(place).gaps == ()


@pytest.mark.parametrize("version", ["", "unknown", "-1"])
def test_a_bwrap_without_a_version_is_refused(version: str, place: Path) -> None:
    script(place, version)
    assert "unknown" in only_cause(look(place))


def test_a_bwrap_that_is_no_program_is_refused(place: Path) -> None:
    copy(place, 0o644)
    assert "not a program" in only_cause(look(place))


def test_the_bwrap_of_path_is_never_taken(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy(place)
    monkeypatch.setenv("PATH", f"{place}/bin")
    monkeypatch.chdir(place / "bin")
    assert probe({"HOME": str(place), "PATH": f"{place}/bin:."}).bwrap != str(place / "bin/bwrap")


def sysctl(place: Path, name: str, value: int) -> None:
    file = place / "sysctls" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{value}\n")


def test_user_namespaces_switched_off_are_a_gap(place: Path) -> None:
    copy(place)
    sysctl(place, "user/max_user_namespaces", 0)
    assert "user.max_user_namespaces" in only_cause(look(place))


# Root may always make them; for everybody else these two decide.
KEPT_TO_ROOT = [
    ("kernel/unprivileged_userns_clone", 0, "unprivileged_userns_clone"),
    ("kernel/apparmor_restrict_unprivileged_userns", 1, "AppArmor"),
]


@pytest.mark.parametrize(("name", "value", "word"), KEPT_TO_ROOT)
def test_user_namespaces_kept_to_root_are_a_gap_for_everybody_else(
    name: str, value: int, word: str, place: Path
) -> None:
    sysctl(place, name, value)
    gap = probing._namespace_gap(1000, str(place / "sysctls"), str(place / "apparmor"))
    assert gap is not None
    assert word in gap.cause
    assert gap.cure.startswith("sudo ")
    assert probing._namespace_gap(0, str(place / "sysctls"), str(place / "apparmor")) is None


def test_apparmor_with_a_profile_for_bwrap_is_no_gap(place: Path) -> None:
    sysctl(place, "kernel/apparmor_restrict_unprivileged_userns", 1)
    (place / "apparmor/bwrap-userns-restrict").write_text("")
    gap = probing._namespace_gap(1000, str(place / "sysctls"), str(place / "apparmor"))
    assert gap is None


def test_an_architecture_without_a_filter_is_a_gap() -> None:
    gap = probing._arch_gap("riscv64")
    assert gap is not None
    assert "riscv64" in gap.cause
    assert probing._arch_gap("x86_64") is None
    assert probing._arch_gap("aarch64") is None


def test_every_fact_says_how_it_was_found(place: Path) -> None:
    assert all(fact.found_by for fact in look(place).facts)


@pytest.mark.parametrize("home", ["", "relative/home"])
def test_a_home_that_is_none_is_that_of_the_account(home: str) -> None:
    host = probe({"HOME": home})
    assert host.home == host.account_home


def test_a_plan_with_a_gap_is_not_started(place: Path) -> None:
    spec = JailSpec(name="t", command=("/bin/true",), cwd=None, shares=(), env={})
    plan = build(spec, host=look(place))
    with pytest.raises(JailBuildError, match="no bwrap in") as caught:
        launch.launch(plan)
    assert caught.value.exit_code is ExitCode.JAIL
    assert "install bubblewrap" in caught.value.hint
