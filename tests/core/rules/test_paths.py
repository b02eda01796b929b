"""Which paths lie under a directory, in imagined file trees."""

from __future__ import annotations

import pytest

from imagined import HOME, Imagined
from mcp_jail.core.rules.outlook import Space
from mcp_jail.core.rules.paths import LINKS_MAX, expand_home, lies_under, refused_shape, resolve

ROOT = f"{HOME}/projects"
TREE = {
    f"{ROOT}/a.txt": "file",
    f"{ROOT}/sub/deep": "dir",
    f"{ROOT}/key": f"-> {HOME}/.ssh/id_rsa",
    f"{ROOT}/ssh": "-> ../.ssh",
    f"{ROOT}/d": f"-> {HOME}/.ssh/sub",
    f"{ROOT}/one": "-> two",
    f"{ROOT}/two": "-> three",
    f"{ROOT}/three": f"-> {HOME}/.ssh/id_rsa",
    f"{ROOT}/dangling": f"-> {HOME}/.ssh/authorized_keys",
    f"{ROOT}/loop": "-> loop",
    f"{ROOT}/inner": "-> sub/../a.txt",
    f"{ROOT}/slash": "-> a.txt/",
    f"{ROOT}/empty": "-> ",
    f"{ROOT}/odd": "opaque",
    f"{HOME}/projects-evil/x": "file",
    f"{HOME}/.ssh/id_rsa": "file",
    f"{HOME}/.ssh/sub": "dir",
    f"{HOME}/link": f"-> {ROOT}",
    "/proc": "opaque",
}


def under(path: str, *, cwd: str | None = None, outlook: Imagined | None = None) -> bool:
    return lies_under(path, (ROOT,), cwd, outlook or Imagined(TREE))


@pytest.mark.parametrize(
    "path",
    [
        f"{HOME}/projects-evil/x",
        f"{HOME}/projects.bak",
        f"{HOME}/projects/../.ssh/id_rsa",
        f"{ROOT}/nope/../../.ssh/id_rsa",
        f"{ROOT}/nope/..",
        f"{ROOT}/key",
        f"{ROOT}/ssh/id_rsa",
        f"{ROOT}/one",
        f"{ROOT}/dangling",
        f"{ROOT}/d/../k",
        f"{ROOT}/loop",
        f"{ROOT}/empty",
        f"{ROOT}/odd",
        f"{ROOT}/odd/x",
        f"{ROOT}/a.txt/",
        f"{ROOT}/a.txt/.",
        f"{ROOT}/a.txt/x",
        f"{ROOT}/a.txt/../a.txt",
        f"{ROOT}/slash",
        f"/proc/self/root{ROOT}/a.txt",
        "//home//me/./.ssh",
        "/",
        HOME,
    ],
)
def test_a_path_that_leads_out_or_cannot_be_walked_does_not_lie_under(path: str) -> None:
    assert not under(path)


@pytest.mark.parametrize(
    "path",
    [
        ROOT,
        f"{ROOT}/",
        f"{ROOT}/.",
        f"{ROOT}/a.txt",
        "//home//me/./projects//a.txt",
        f"{ROOT}/new.txt",
        f"{ROOT}/new/dir/x",
        f"{ROOT}/new/",
        f"{ROOT}/sub/../a.txt",
        f"{ROOT}/inner",
        f"{ROOT}/..b",
        f"{ROOT}/a\u0301.txt",
        f"{HOME}/link/a.txt",
        f"{ROOT}/file with spaces",
        f"{ROOT}/a:b",
        f"{ROOT}/50%",
        f"{ROOT}/a~",
    ],
)
def test_a_path_that_stays_inside_lies_under(path: str) -> None:
    assert under(path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "~",
        "~/projects/a.txt",
        "~me/projects",
        "$HOME/projects/a.txt",
        f"{ROOT}/$HOME",
        f"{ROOT}/${{HOME}}",
        f"{ROOT}/$(id)",
        "%USERPROFILE%",
        f"{ROOT}/%HOME%/x",
        f"file://{ROOT}/a.txt",
        f"FILE:{ROOT}/a.txt",
        f"file:{ROOT}",
        "C:x",
        "a.txt::$DATA",
        f"{ROOT}/%2e%2e%2f.ssh",
        f"{ROOT}/%252e%252e",
        f"{ROOT}/..%c0%af",
        f"{ROOT}\\..\\.ssh",
        "\\\\?\\C:\\",
        f"{ROOT}/x\x00/../../.ssh/id_rsa",
        f"{ROOT}/x\n",
        f"{ROOT}/\r",
        f"{ROOT}/\x1b[2J",
        f"{ROOT}/\x9b",
        f"{ROOT}/\u2028",
        f"{ROOT}/\ud800",
        f" {ROOT}/a.txt",
        f"{ROOT}/a.txt ",
        f"{ROOT}/a.txt\u00a0",
        f"{ROOT}/" + "x" * 256,
        f"{ROOT}/" + "\u00e9" * 128,
        f"{ROOT}" + "/x" * 2048,
    ],
)
def test_a_shape_that_some_program_expands_is_refused(path: str) -> None:
    assert refused_shape(path)
    assert not under(path)
    assert not under(path, cwd=ROOT)


@pytest.mark.parametrize(
    "path",
    [
        f"{ROOT}/\uff0e\uff0e/.ssh/id_rsa",
        f"{ROOT}/\uff0e\uff0e\uff0f.ssh/id_rsa",
        f"{ROOT}/\u2025/.ssh/id_rsa",
        f"{ROOT}/\uff052e",
        "\uff5e/projects",
        f"{HOME}/projec\u1e6d\u0323s",
    ],
)
def test_a_path_whose_plain_unicode_form_leads_out_is_refused(path: str) -> None:
    assert not under(path, cwd=ROOT)


def test_a_relative_path_needs_a_declared_directory() -> None:
    for path in ("a.txt", ".", "sub/deep", "./a.txt"):
        assert not under(path)
        assert under(path, cwd=ROOT)
    assert not under("../.ssh/id_rsa", cwd=ROOT)
    assert not under("key", cwd=ROOT)
    assert not under("a.txt", cwd=HOME)


def test_a_link_that_only_cleaning_servers_miss_is_judged_both_ways() -> None:
    # The kernel goes through `sub-link` to elsewhere; a server that cleans the text does not.
    tree = {f"{ROOT}/out": "-> /srv/data/sub", "/srv/data/sub": "dir", "/srv/data/x": "file"}
    assert not under(f"{ROOT}/out/../x", outlook=Imagined(tree))
    back = {f"{HOME}/in": f"-> {ROOT}/sub", f"{ROOT}/sub": "dir", f"{HOME}/x": "file"}
    assert not under(f"{HOME}/in/../x", outlook=Imagined(back))


def test_a_path_must_lie_under_in_both_file_trees() -> None:
    inside_elsewhere = {f"{ROOT}/a.txt": "-> /etc/passwd", "/etc/passwd": "file"}
    plain = {f"{ROOT}/a.txt": "file"}
    assert not under(f"{ROOT}/a.txt", outlook=Imagined(plain, inside_elsewhere))
    assert not under(f"{ROOT}/a.txt", outlook=Imagined(inside_elsewhere, plain))
    assert under(f"{ROOT}/a.txt", outlook=Imagined(plain, plain))


def test_roots_are_resolved_in_each_file_tree() -> None:
    host = {ROOT: "-> /data/projects", "/data/projects/a.txt": "file"}
    jail = {f"{ROOT}/a.txt": "file"}
    assert under(f"{ROOT}/a.txt", outlook=Imagined(host, jail))
    assert under("/data/projects/a.txt", outlook=Imagined(host, host))
    assert not under("/data/projects/a.txt", outlook=Imagined(host, jail))


def test_a_root_that_cannot_be_resolved_holds_nothing() -> None:
    assert not under(f"{ROOT}/a.txt", outlook=Imagined({ROOT: "opaque"}))
    assert not lies_under(f"{ROOT}/a.txt", (), None, Imagined(TREE))


def test_a_root_that_is_not_there_yet_holds_what_is_made_below_it() -> None:
    assert under(f"{ROOT}/x", outlook=Imagined({HOME: "dir"}))


def test_a_component_and_a_path_may_be_as_long_as_the_kernels() -> None:
    for fits in (f"{ROOT}/" + "x" * 255, f"{ROOT}/" + "\u00e9" * 127, "/x" * 2047):
        assert refused_shape(fits) is None
    for exceeds in (f"{ROOT}/" + "x" * 256, "/x" * 2048, "/" + "\u00e9/" * 1365):
        assert refused_shape(exceeds) == "is too long"


def test_a_dot_on_the_way_is_no_place() -> None:
    outlook = Imagined(TREE)
    assert resolve(f"{ROOT}/./sub/.", lambda path: outlook.look(Space.HOST, path)) == (
        *ROOT.strip("/").split("/"),
        "sub",
    )


def test_forty_links_resolve_and_one_more_does_not() -> None:
    assert LINKS_MAX == 40  # MAXSYMLINKS of the kernel: with more, its walk ends before ours
    chain = {f"/c/{index}": f"-> {index + 1}" for index in range(LINKS_MAX)}
    chain[f"/c/{LINKS_MAX}"] = "file"
    outlook = Imagined(chain | {"/c/before": "-> 0"})
    assert resolve("/c/0", lambda path: outlook.look(Space.HOST, path)) == ("c", str(LINKS_MAX))
    assert resolve("/c/before", lambda path: outlook.look(Space.HOST, path)) is None


def test_each_component_is_asked_for_once_in_each_tree() -> None:
    outlook = Imagined(TREE)
    assert under(f"{ROOT}/sub/../a.txt", outlook=outlook)
    assert len(outlook.asked) == len(set(outlook.asked))


def test_an_endless_path_is_refused_before_anything_is_made_of_it() -> None:
    outlook = Imagined(TREE)
    for path in ("/" + "\ufdfa" * 5_000_000, "/" + "%a" * 1_000_000, "/x" * 5_000_000):
        assert not under(path, outlook=outlook)
    assert outlook.asked == []


def test_the_home_of_the_user_is_the_only_thing_expanded() -> None:
    assert expand_home("~", HOME) == HOME
    assert expand_home("~/x/y", HOME) == f"{HOME}/x/y"
    assert expand_home("~/x", "/") == "/x"
    assert expand_home("/abs", HOME) == "/abs"
    for path in ("x", "./x", "~me", "~me/x", "", "$HOME"):
        assert expand_home(path, HOME) is None
