"""Which policy file a name or a path means, and which are refused."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from mcp_jail.errors import ExitCode, UsageError
from mcp_jail.store.files import FileError
from mcp_jail.store.places import Places, find_places
from mcp_jail.store.policies import PolicyKind, find_policy, policy_names, read_policy
from mcp_jail.store.trust import trust


@pytest.fixture
def places(tmp_path: Path) -> Places:
    found = find_places({"MCP_JAIL_HOME": str(tmp_path / "home")})
    os.makedirs(found.policies, 0o700)
    system = tmp_path / "etc" / "policies"
    system.mkdir(parents=True)
    return msgspec.structs.replace(found, system_policies=str(system))


def write(folder: str, name: str, text: str = "name: files\n") -> Path:
    path = Path(folder, name)
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_a_policy_that_others_can_write_is_refused(places: Places) -> None:
    write(places.policies, "files.yaml").chmod(0o666)
    with pytest.raises(FileError, match="can be written by others"):
        find_policy(places, "files")


def test_a_policy_in_a_folder_that_others_can_write_is_refused(places: Places) -> None:
    write(places.policies, "files.yaml")
    os.chmod(places.policies, 0o777)
    with pytest.raises(FileError, match="can be written by others"):
        find_policy(places, "files")


def test_a_policy_behind_a_link_is_refused(places: Places, tmp_path: Path) -> None:
    real = write(str(tmp_path), "real.yaml")
    Path(places.policies, "files.yaml").symlink_to(real)
    with pytest.raises(FileError, match="symbolic link"):
        find_policy(places, "files")


def test_a_name_does_not_lead_out_of_the_folder(places: Places) -> None:
    with pytest.raises(UsageError, match="not a policy name"):
        find_policy(places, "../policies/files")


def test_a_policy_of_the_system_wins_and_must_be_roots(places: Places) -> None:
    write(places.policies, "files.yaml", "name: mine\n")
    path = write(places.system_policies, "files.yaml", "name: roots\n")
    if os.geteuid() == 0:
        found = find_policy(places, "files")
        assert (found.kind, found.text) == (PolicyKind.SYSTEM, "name: roots\n")
        os.chown(path, 54321, 54321)
    with pytest.raises(FileError, match="expected root"):
        find_policy(places, "files")


def test_the_users_own_policy_is_found_by_name(places: Places) -> None:
    path = write(places.policies, "files.yaml")
    found = find_policy(places, "files")
    assert (found.path, found.text, found.kind) == (str(path), "name: files\n", PolicyKind.OWN)


def test_a_missing_policy_says_where_it_was_looked_for_and_names_near_ones(places: Places) -> None:
    write(places.policies, "filesystem.yaml")
    with pytest.raises(UsageError) as caught:
        find_policy(places, "filesytem")
    error = caught.value
    assert error.exit_code is ExitCode.USAGE
    assert places.policy("filesytem") in error.message
    assert places.system_policy("filesytem") in error.message
    assert "did you mean 'filesystem'? policies here: filesystem." in error.hint
    assert "name: filesytem" in error.hint


def test_a_file_elsewhere_is_refused_until_it_is_trusted(places: Places, tmp_path: Path) -> None:
    path = write(str(tmp_path), "repo.yaml")
    with pytest.raises(UsageError, match="is not trusted") as caught:
        read_policy(places, str(path))
    assert f"mcp-jail trust {path}" in caught.value.hint
    trust(places, str(path), path.read_bytes(), 1)
    assert read_policy(places, str(path)).kind is PolicyKind.TRUSTED
    path.write_text("name: files\nnetwork: {mode: host}\n")
    with pytest.raises(UsageError, match="has changed since it was trusted"):
        read_policy(places, str(path))


def test_a_file_in_our_own_folder_needs_no_trust(places: Places) -> None:
    path = write(places.policies, "files.yaml")
    assert read_policy(places, str(path)).kind is PolicyKind.OWN


def test_a_folder_below_our_own_is_not_our_own(places: Places) -> None:
    os.mkdir(os.path.join(places.policies, "sub"))
    path = write(os.path.join(places.policies, "sub"), "files.yaml")
    with pytest.raises(UsageError, match="not trusted"):
        read_policy(places, str(path))


def test_a_link_from_our_own_folder_outwards_is_not_our_own(places: Places, tmp_path: Path) -> None:
    path = write(str(tmp_path), "repo.yaml")
    link = Path(places.policies, "files.yaml")
    link.symlink_to(path)
    with pytest.raises(UsageError, match="not trusted"):
        read_policy(places, str(link))


def test_a_file_that_is_not_there_is_told(places: Places, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no policy file"):
        read_policy(places, str(tmp_path / "nothing.yaml"))


def test_a_policy_that_is_not_utf_8_or_too_large_is_refused(places: Places) -> None:
    Path(places.policies, "files.yaml").write_bytes(b"name: \xff\n")
    with pytest.raises(FileError, match="not UTF-8: byte 6"):
        find_policy(places, "files")
    Path(places.policies, "files.yaml").write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(FileError, match="larger than"):
        find_policy(places, "files")


def test_the_names_with_a_policy_are_listed(places: Places) -> None:
    write(places.policies, "b.yaml")
    write(places.policies, "Not A Name.yaml")
    write(places.policies, "notes.txt")
    write(places.system_policies, "a.yaml")
    write(places.system_policies, "b.yaml")
    assert policy_names(places) == ["a", "b"]


@pytest.mark.parametrize("name", ["filesystem.yaml", "filesystem.yml"])
def test_a_file_s_name_in_place_of_the_policy_s_is_told(places: Places, name: str) -> None:
    write(places.policies, "filesystem.yaml")
    with pytest.raises(UsageError) as caught:
        find_policy(places, name)
    assert caught.value.hint == "a policy is meant by its name: 'filesystem'"


def test_a_policy_whose_file_has_another_ending_is_told(places: Places) -> None:
    write(places.policies, "other.yaml")
    Path(places.policies, "web.yml").write_text("name: web\n")
    with pytest.raises(UsageError) as caught:
        find_policy(places, "web")
    assert "must end in .yaml: mv" in caught.value.hint


def test_a_policy_behind_a_link_says_how_to_mend_it(places: Places) -> None:
    write(places.policies, "real.yaml")
    Path(places.policies, "linked.yaml").symlink_to(Path(places.policies, "real.yaml"))
    with pytest.raises(FileError) as caught:
        find_policy(places, "linked")
    assert "cp --remove-destination" in caught.value.hint
