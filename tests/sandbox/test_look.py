"""Only what lies below a share is looked for."""

from __future__ import annotations

from pathlib import Path

from mcp_jail.core.spec import Access, JailSpec, Share
from mcp_jail.sandbox.look import Looks, look
from mcp_jail.sandbox.protected import Guarded
from mcp_jail.sandbox.toolchain import Toolchain

NO_TOOLS = Toolchain(executable="/bin/sh", programs=("/bin/sh",), found=(), path=())


def looks(home: Path, *paths: Path, keep_home: Path | None = None) -> Looks:
    shares = tuple(Share(path=str(p), access=Access.READ_ONLY, why="test") for p in paths)
    spec = JailSpec(
        name="t", command=("/bin/sh",), cwd=str(home), shares=shares, env={},
        keep_home=str(keep_home) if keep_home else None,
    )  # fmt: skip
    guarded = Guarded(ours=(), homes=(str(home),))
    return look(spec, NO_TOOLS, guarded, home=str(home), uid=1000)


def test_credentials_beside_a_share_are_not_looked_for(home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / "project").mkdir()
    assert looks(home, home / "project").credentials == ()


def test_credentials_below_a_share_are_found(home: Path) -> None:
    (home / ".config/gh").mkdir(parents=True)
    found = looks(home, home / ".config").credentials
    assert [seen.path for seen in found] == [str(home / ".config/gh")]


def test_a_project_with_an_npmrc_is_no_home(home: Path) -> None:
    (home / "project").mkdir()
    (home / "project/.npmrc").write_text("x")
    assert looks(home, home / "project").credentials == ()


def test_a_link_in_a_kept_home_is_found_only_where_a_share_passes(
    home: Path, tmp_path: Path
) -> None:
    (home / "a/b").mkdir(parents=True)
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "other").symlink_to("/etc")
    assert looks(home, home / "a/b", keep_home=kept).home_links == ()
    (kept / "a").symlink_to("/etc")
    assert looks(home, home / "a/b", keep_home=kept).home_links == (str(kept / "a"),)
