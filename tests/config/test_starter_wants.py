"""What an entry needs: which paths, hosts and variables of it count, and what each means."""

from __future__ import annotations

import pytest

from mcp_jail.config.profile import Arguments, Kind, Marks, Profile, Variables
from mcp_jail.config.starter_wants import Offer, Standing, Wants, wants
from mcp_jail.core.policy import NetworkMode
from mcp_jail.core.spec import Access

HOME = "/home/me"
THERE = frozenset({"/data", "/data/a", "/data/b", "/srv/x", f"{HOME}/p", f"{HOME}/p/in", HOME})
FILES = frozenset({"/data/file.txt", "/data/my,file"})


def offer(path: str, access: Access) -> Offer:
    """A file tree of these directories and files; the home is refused, /srv/x is never written."""
    if path in FILES:
        return Offer(Standing.FILE)
    if path not in THERE:
        return Offer(Standing.NOTHING)
    refused = path == HOME or (path == "/srv/x" and access is Access.READ_WRITE)
    return Offer(Standing.DIRECTORY, f"'{path}' is refused" if refused else None)


def found(
    *words: str,
    env: dict[str, str] | None = None,
    cwd: str | None = None,
    profile: Profile | None = None,
) -> Wants:
    return wants(("server", *words), env or {}, cwd, profile, home=HOME, offers=offer)


def known(**more: object) -> Profile:
    return Profile(name="s", what="it.", marks=Marks(programs=("server",)), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "path"),
    [
        ("/data", "/data"),
        ("/data/", "/data"),
        ("//data", "/data"),
        ("/data/./a", "/data/a"),
        ("~/p", "~/p"),
        ("/home/me/p", "~/p"),
        ("--root=/data", "/data"),
        ("ROOT=/data", "/data"),
        ("file:///data", "/data"),
        ("file:///data/%61", "/data/a"),
        ("/data/file.txt", "/data/file.txt"),
        ("/data/my,file", "/data/my,file"),
    ],
)
def test_a_path_that_is_there_is_shared_for_reading(word: str, path: str) -> None:
    assert found(word).filesystem.read_only == (path,)
    assert found(word).filesystem.read_write == ()


@pytest.mark.parametrize(
    "word",
    [
        "data",
        "./p",
        "/nothing",
        "/data/../data",
        "/data/*",
        "/data\n",
        "$HOME/p",
        "${D}/p",
        "-/data",
    ],
)
def test_what_is_no_such_path_is_not(word: str) -> None:
    assert found(word).filesystem.read_only == ()


def test_the_program_itself_is_no_argument() -> None:
    assert wants(("/data",), {}, None, None, home=HOME, offers=offer) == Wants()


def test_a_list_of_paths_in_a_variable_is_taken_apart() -> None:
    for value in ("/data/a:/data/b", "/data/a,/data/b", "/data/a;/data/b"):
        assert found(env={"DIRS": value}).filesystem.read_only == ("/data/a", "/data/b")


def test_one_that_lies_in_another_is_named_once() -> None:
    assert found("/data/a", "/data", "~/p/in", "~/p").filesystem.read_only == ("/data", "~/p")


def test_what_is_refused_is_told_with_the_reason() -> None:
    seen = found("~")
    assert seen.filesystem.read_only == ()
    assert seen.left == (f"'{HOME}' is refused (an argument)",)


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("${workspaceFolder}", "filled in by the client"),
        ("$HOME/p", "filled in by the client"),
        ("--dir=${userHome}/p", "filled in by the client"),
        ("./docs", "no absolute path"),
        ("../docs", "no absolute path"),
    ],
)
def test_a_directory_that_only_the_client_knows_is_told(word: str, why: str) -> None:
    seen = found(word)
    assert seen.filesystem.read_only == ()
    (told,) = seen.left
    assert why in told


@pytest.mark.parametrize(
    "word", ["${TOKEN}", "Bearer ${TOKEN}", "server.js", "https://${HOST}/x", '{"a": "b/c"}']
)
def test_a_word_that_is_no_directory_is_not(word: str) -> None:
    assert found(word, env={"KEY": word}).left == ()


def test_a_place_that_is_refused_for_reading_too_is_told_once() -> None:
    profile = known(arguments=Arguments(plain=Kind.WORKPLACE))
    seen = found("~", profile=profile)
    assert seen.left == (f"'{HOME}' is refused (an argument)",)
    assert found("docs", profile=profile).left != ()


def test_a_host_is_told_and_only_a_profile_opens_it() -> None:
    url = "https://api.example.com:8443/x?key=1"
    seen = found(url)
    assert seen.network.mode is NetworkMode.NONE
    assert seen.left == (
        "an argument names the host api.example.com:8443; open it in 'network' if needed",
    )
    opened = found(url, profile=known(arguments=Arguments(plain=Kind.URL)))
    assert opened.network.mode is NetworkMode.ALLOWLIST
    assert opened.network.allow == ("api.example.com:8443",)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("postgresql://me:pw@db.example.com/x", "db.example.com:5432"),
        ("postgres://localhost:6543/x", "127.0.0.1:6543"),
        ("postgres://[::1]/x", "[::1]:5432"),
        ("https://example.com", "example.com"),
        ("http://example.com", "example.com:80"),
    ],
)
def test_the_host_of_a_url_is_a_rule(url: str, rule: str) -> None:
    seen = found(url, profile=known(arguments=Arguments(plain=Kind.URL)))
    assert seen.network.allow == (rule,)


@pytest.mark.parametrize(
    "url", ["http://[x", "http://a:b", "x://", "://", "weird://h", "http://a b"]
)
def test_what_is_no_url_opens_nothing(url: str) -> None:
    seen = found(url, profile=known(arguments=Arguments(plain=Kind.URL)))
    assert seen.network.allow == ()


def test_an_option_of_a_known_server_says_what_its_value_is() -> None:
    profile = known(
        arguments=Arguments(
            options={"--work": Kind.WORKPLACE, "--db": Kind.DATA_FILE, "--no": Kind.OTHER}
        )
    )
    seen = found("--work", "~/p", "--db=/data/a/x.db", "--no", "/data/b", profile=profile)
    assert seen.filesystem.read_write == ("~/p", "/data/a")
    assert seen.filesystem.read_only == ()
    assert seen.why["~/p"] == "the value of --work"


def test_what_cannot_be_written_is_shared_for_reading_and_told() -> None:
    seen = found("/srv/x", profile=known(arguments=Arguments(plain=Kind.WORKPLACE)))
    assert seen.filesystem.read_only == ("/srv/x",)
    assert seen.left == ("'/srv/x' is refused; so it is shared for reading",)


def test_read_only_inside_of_writable_is_left_out_for_it_would_not_hold() -> None:
    profile = known(arguments=Arguments(options={"--work": Kind.WORKPLACE}))
    seen = found("/data/a", "--work", "/data", profile=profile)
    assert seen.filesystem.read_only == ()
    assert seen.filesystem.read_write == ("/data",)


def test_a_variable_of_a_profile_is_set_where_the_entry_has_none() -> None:
    profile = known(
        variables=Variables(known={"FILE": Kind.DATA_FILE}, set={"FILE": "~/file", "A": "b"})
    )
    fresh = found(profile=profile)
    assert fresh.env.set == {"FILE": "/home/me/file", "A": "b"}
    assert fresh.env.pass_ == ()
    own = found(env={"FILE": "/data/a/f"}, profile=profile)
    assert own.env.pass_ == ("FILE",)
    assert own.env.set == {"A": "b"}
    assert own.filesystem.read_write == ("/data/a",)


def test_a_name_that_no_variable_can_have_is_told() -> None:
    seen = found(env={"A B": "x", "": "y"})
    assert seen.env.pass_ == ()
    assert seen.left == ("a variable of the entry has a name that no variable can have",)
