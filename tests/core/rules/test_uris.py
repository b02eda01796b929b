"""The readings of a resource's URI."""

from __future__ import annotations

import pytest

from mcp_jail.core.rules.uris import readings_of_uri


@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "file:/etc/passwd",
        "File:/etc/passwd",
        "file://localhost/etc/passwd",
        "file://LOCALHOST/etc/passwd",
        "file://127.0.0.1/etc/passwd",
        "file:///srv/../etc/passwd",
        "file:////etc//./passwd",
        "file:///%65tc/passwd",
        "file:///srv/%2e%2e/etc/passwd",
        "file:///srv/%252e%252e/etc/passwd",
        "%66ile:///etc/passwd",
    ],
)
def test_every_spelling_of_a_file_is_read_as_that_file(uri: str) -> None:
    assert "file:///etc/passwd" in readings_of_uri(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        " ",
        " file:///x",
        "file:///x ",
        "file:///x\n",
        "fi\tle:///x",
        "file:\\\\x",
        "file:///x%00",
        "file:///x%0a",
        "file:///..%c0%af",
        "file:///%ff",
        "file:///%5c",
        "file:///\ud800",
        "file:///%25252525252e",
        "x:" + "a" * 9000,
    ],
)
def test_a_uri_that_programs_read_in_different_ways_has_no_readings(uri: str) -> None:
    assert readings_of_uri(uri) == ()


def test_a_plain_uri_has_one_reading() -> None:
    assert readings_of_uri("note://today/1") == ("note://today/1",)
    assert readings_of_uri("memo") == ("memo",)
    assert readings_of_uri("urn:isbn:0451450523") == ("urn:isbn:0451450523",)


DENIED_FILE = "file:///etc/passwd"
DENIED_HOST = "http://intranet/a"


@pytest.mark.parametrize(
    ("uri", "denied"),
    [
        *(
            (uri, DENIED_FILE)
            for uri in (
                "file://x/etc/passwd",
                "file://[::1]/etc/passwd",
                "file://user@localhost/etc/passwd",
                "file://localhost:80/etc/passwd",
                "file://0/etc/passwd",
                "file:/etc/passwd",
                "file:etc/passwd",
                "file:////etc/passwd",
                "/etc/passwd",
                "//etc/passwd",
                "file:///etc/passwd?a",
                "file:///etc/passwd#a",
                "file:///etc/passwd;x",
                "file:///etc/passwd/",
                "FILE://X/etc/./x/../passwd",
                "file:///%2565tc/passwd",
                "file:///etc%2fpasswd",
                "file:///etc/passwd%3fa",
            )
        ),
        *(
            (uri, DENIED_HOST)
            for uri in (
                "http://intranet:80/a",
                "http://intranet./a",
                "http://u:p@intranet/a",
                "http:/intranet/a",
                "http:intranet/a",
                "http:///intranet/a",
                "HTTP://INTRANET/a?b",
            )
        ),
    ],
)
def test_what_some_parser_takes_for_a_denied_uri_has_that_reading(uri: str, denied: str) -> None:
    assert denied in readings_of_uri(uri)


@pytest.mark.parametrize(
    ("uri", "readings"),
    [
        ("ui://x/y", ("ui://x/y",)),
        ("urn:isbn:0451450523", ("urn:isbn:0451450523",)),
        ("file:///a/b.txt", ("file:///a/b.txt",)),
        ("https://example.com/a", ("https://example.com/a",)),
        ("test://a/{id}/data", ("test://a/{id}/data",)),
    ],
)
def test_a_plain_uri_is_not_made_into_others(uri: str, readings: tuple[str, ...]) -> None:
    assert readings_of_uri(uri) == readings
