"""Drafts, places and removal: whole or not there, whoever dies and whoever else is at it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from mcp_jail.core.packages import PackageKind, Pinned
from mcp_jail.errors import PackageError
from mcp_jail.packages import installing
from mcp_jail.packages.installed import check, find, hold
from mcp_jail.packages.installing import Fetched, Phase, Tell, install, remove, sweep, whole
from mcp_jail.store.places import Places, find_places

PACKAGE = Pinned(kind=PackageKind.NPM, name="@s/x", version="1.0.0")


class Files:
    """A maker whose packages are files with a text."""

    def __init__(self, text: str = "one") -> None:
        self.text = text
        self.made = 0

    def newest(self, name: str, spec: str) -> str:
        return "1.0.0"

    def make(self, package: Pinned, folder: str, place: str, tell: Tell) -> Fetched:
        tell(Phase.FETCHING)
        self.made += 1
        os.mkdir(os.path.join(folder, "bin"))
        Path(folder, "bin", "x").write_text(self.text)
        return Fetched(programs={"x": "bin/x"})


class Broken(Files):
    """A maker that fails when something is there already."""

    def make(self, package: Pinned, folder: str, place: str, tell: Tell) -> Fetched:
        super().make(package, folder, place, tell)
        raise PackageError("no")


def quiet(phase: Phase) -> None:
    """Nobody looks."""


@pytest.fixture
def places() -> Places:
    return find_places()


def left(places: Places) -> list[str]:
    return [name for name in os.listdir(places.packages) if name.startswith(".")]


def test_a_package_is_made_once(places: Places) -> None:
    maker = Files()
    done = install(places, PACKAGE, maker, quiet)
    assert install(places, PACKAGE, maker, quiet) == done == find(places, PACKAGE)
    assert maker.made == 1
    assert check(done) is True
    assert Path(done.tree, "bin/x").read_text() == "one"
    assert left(places) == []


def test_a_failure_leaves_nothing(places: Places) -> None:
    with pytest.raises(PackageError):
        install(places, PACKAGE, Broken(), quiet)
    assert find(places, PACKAGE) is None
    assert left(places) == []


@pytest.mark.parametrize("phase", [Phase.FETCHING, Phase.READING])
def test_a_kill_at_any_step_leaves_nothing_that_counts(phase: Phase, places: Places) -> None:
    def die(now: Phase) -> None:
        if now is phase:
            os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if pid == 0:
        install(places, PACKAGE, Files(), die)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert find(places, PACKAGE) is None
    assert len(left(places)) == 1
    assert check(install(places, PACKAGE, Files(), quiet)) is True
    assert left(places) == []


def test_a_draft_of_somebody_who_lives_is_not_swept(places: Places) -> None:
    found: list[list[str]] = []

    class Looks(Files):
        def make(self, package: Pinned, folder: str, place: str, tell: Tell) -> Fetched:
            sweep(places)
            found.append(left(places))
            return super().make(package, folder, place, tell)

    install(places, PACKAGE, Looks(), quiet)
    assert [len(names) for names in found] == [1]


def test_who_comes_second_takes_what_the_first_made(places: Places) -> None:
    class Late(Files):
        def make(self, package: Pinned, folder: str, place: str, tell: Tell) -> Fetched:
            install(places, PACKAGE, Files("first"), quiet)
            return super().make(package, folder, place, tell)

    done = install(places, PACKAGE, Late("second"), quiet)
    assert Path(done.tree, "bin/x").read_text() == "first"
    assert check(done) is True
    assert left(places) == []


def test_a_changed_package_is_made_anew(places: Places) -> None:
    done = install(places, PACKAGE, Files(), quiet)
    script = Path(done.tree, "bin/x")
    script.chmod(0o644)
    script.write_text("eno")
    with pytest.raises(PackageError, match=r"files were changed since: 'bin/x'"):
        check(done)
    assert whole(places, PACKAGE) is None
    assert check(install(places, PACKAGE, Files(), quiet)) is True
    assert left(places) == []


def test_a_package_that_was_only_touched_is_checked_by_its_digest_and_stamped_anew(
    places: Places,
) -> None:
    done = install(places, PACKAGE, Files(), quiet)
    os.utime(Path(done.tree, "bin/x"))
    assert check(done) is False
    again = install(places, PACKAGE, Broken(), quiet)
    assert check(again) is True
    assert again.record.digest == done.record.digest


def test_a_package_in_use_is_not_removed(places: Places) -> None:
    done = install(places, PACKAGE, Files(), quiet)
    descriptor = hold(done)
    assert remove(places, done.folder) is False
    assert check(done) is True
    os.close(descriptor)
    assert remove(places, done.folder) is True
    assert find(places, PACKAGE) is None
    assert left(places) == []
    with pytest.raises(PackageError):
        hold(done)


def test_a_changed_package_in_use_is_not_replaced(places: Places) -> None:
    done = install(places, PACKAGE, Files(), quiet)
    Path(done.tree, "more").write_text("")
    descriptor = hold(done)
    with pytest.raises(PackageError, match="a running server uses it"):
        install(places, PACKAGE, Files(), quiet)
    assert left(places) == []
    os.close(descriptor)
    assert check(install(places, PACKAGE, Files(), quiet)) is True


def test_all_that_is_installed_is_listed(places: Places) -> None:
    assert list(installing.installed(places)) == []
    done = install(places, PACKAGE, Files(), quiet)
    assert list(installing.installed(places)) == [(PackageKind.NPM, done.folder)]


def test_what_takes_its_owners_rights_is_removed_all_the_same(places: Places) -> None:
    done = install(places, PACKAGE, Files(), quiet)
    Path(done.tree, "bin").chmod(0)
    assert remove(places, done.folder) is True
    assert left(places) == []
