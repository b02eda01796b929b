"""The readings of a resource's URI."""

from __future__ import annotations

import pytest

from mcp_jail.core.uris import readings_of_uri


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
