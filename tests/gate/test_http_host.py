"""Which host a request is for; what two servers read differently is refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.gate.first_bytes import Asked, NeedMoreError, UnfitError
from mcp_jail.gate.http_head import HEAD_LIMIT
from mcp_jail.gate.http_host import read_host

GET = b"GET / HTTP/1.1\r\n"


@pytest.mark.parametrize(
    ("data", "asked"),
    [
        (GET + b"Host: a.example\r\n\r\n", Asked("a.example", 80)),
        (GET + b"hOsT:a.example\r\nX: y\r\n\r\n", Asked("a.example", 80)),
        (GET + b"X: y\r\nHost: \t A.Example.:8080 \r\n\r\nbody", Asked("a.example", 8080)),
        (b"POST /x?y=http://b/ HTTP/1.0\r\nHost: a.example\r\n\r\n", Asked("a.example", 80)),
        (b"OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n", Asked("a.example", 80)),
        (b"GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n", Asked("a.example", 80)),
        (b"GET HTTP://a.example:80 HTTP/1.1\r\nHost: a.example\r\n\r\n", Asked("a.example", 80)),
        (GET + b"Host: 10.0.0.1\r\n\r\n", Asked("10.0.0.1", 80)),
        (GET + b"Host: [2001:DB8::1]:8080\r\n\r\n", Asked("2001:db8::1", 8080)),
    ],
)
def test_the_host_of_a_request_is_read(data: bytes, asked: Asked) -> None:
    assert read_host(data) == asked


def test_every_part_of_a_request_asks_for_the_rest() -> None:
    data = GET + b"Accept: */*\r\nHost: a.example\r\n\r\n"
    for length in range(len(data)):
        with pytest.raises(NeedMoreError):
            read_host(data[:length])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x16\x03\x01", "no HTTP"),
        (b"SSH-2.0-x\r\n", "no HTTP"),
        (b"get / HTTP/1.1\r\nHost: a.example\r\n\r\n", "no HTTP"),
        (b" GET / HTTP/1.1\r\n", "no HTTP"),
        (b"\r\n" + GET, "no HTTP"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "another version"),
        (b"GET /\r\nHost: a.example\r\n\r\n", "another version"),
        (b"GET  / HTTP/1.1\r\nHost: a.example\r\n\r\n", "malformed"),
        (b"GET /a b HTTP/1.1\r\nHost: a.example\r\n\r\n", "malformed"),
        (b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", "malformed"),
        (GET + b"\r\n", "one Host"),
        (GET + b"Host: a.example\r\nHost: a.example\r\n\r\n", "one Host"),
        (GET + b"Host: a.example\r\nhost: b.example\r\n\r\n", "one Host"),
        (GET + b"Host : a.example\r\n\r\n", "malformed header"),
        (GET + b" Host: a.example\r\n\r\n", "malformed header"),
        (GET + b"Host: a.example\r\n b.example\r\n\r\n", "malformed header"),
        (GET + b"X: y\nHost: b.example\r\nHost: a.example\r\n\r\n", "malformed header"),
        (GET + b"X: y\rHost: b.example\r\nHost: a.example\r\n\r\n", "malformed header"),
        (GET + b"X: y\0\r\nHost: a.example\r\n\r\n", "malformed header"),
        (GET + b"X\r\nHost: a.example\r\n\r\n", "malformed header"),
        (GET + b"Host: a.example, b.example\r\n\r\n", "no host"),
        (GET + b"Host: a.example/b\r\n\r\n", "no host"),
        (GET + b"Host: b@a.example\r\n\r\n", "no host"),
        (GET + b"Host: a.example:\r\n\r\n", "no host"),
        (GET + b"Host: a.example:80:80\r\n\r\n", "no host"),
        (GET + b"Host: 127.1\r\n\r\n", "no host"),
        (GET + b"Host:\r\n\r\n", "no host"),
        (b"GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "another host"),
        (b"GET http://a.example:81/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "another host"),
        (b"GET http://a.example@b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "no host"),
        (b"GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "another host"),
        (b"GET a.example HTTP/1.1\r\nHost: a.example\r\n\r\n", "another host"),
        (b"GET /" + b"x" * HEAD_LIMIT, "too long"),
    ],
)
def test_a_request_with_two_readings_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(UnfitError, match=words):
        read_host(data)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_do_anything_else(data: bytes) -> None:
    for start in (b"", b"GET ", GET, GET + b"Host: "):
        for end in (b"", b"\r\n\r\n"):
            with contextlib.suppress(NeedMoreError, UnfitError):
                read_host(start + data + end)
