"""What a program asks of a proxy is read in one way or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.gate.first_bytes import NeedMoreError, UnfitError
from mcp_jail.gate.http_head import read_head
from mcp_jail.gate.http_host import read_host
from mcp_jail.gate.proxy_request import Wanted, read_request

GET = b"GET http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\n"


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", ("a.example", 443)),
        (b"CONNECT A.Example.:8443 HTTP/1.0\r\n\r\n", ("a.example", 8443)),
        (b"CONNECT [2001:DB8::1]:443 HTTP/1.1\r\n\r\n", ("2001:db8::1", 443)),
        (b"CONNECT 93.184.216.34:22 HTTP/1.1\r\n\r\n", ("93.184.216.34", 22)),
    ],
)
def test_a_connect_names_a_place(data: bytes, wanted: tuple[str, int]) -> None:
    assert read_request(data) == Wanted(*wanted, is_tunnel=True)
    assert read_request(data + b"more") == Wanted(*wanted, is_tunnel=True, first=b"more")


def test_a_request_is_made_as_it_came_but_for_what_is_the_proxy_s() -> None:
    data = (
        b"POST http://a.example:8080/x?y HTTP/1.1\r\nHost: a.example:8080\r\nX-Y:  1 \r\n"
        b"Connection: keep-alive, X-Y\r\nProxy-Connection: keep-alive\r\n"
        b"Proxy-Authorization: Basic eDp5\r\nContent-Length: 2\r\n\r\nab"
    )
    assert read_request(data) == Wanted(
        host="a.example",
        port=8080,
        is_tunnel=False,
        first=b"POST /x?y HTTP/1.1\r\nhost: a.example:8080\r\nx-y: 1\r\ncontent-length: 2\r\n"
        b"connection: close\r\n\r\nab",
    )


@pytest.mark.parametrize(
    ("target", "path"), [(b"", b"/"), (b"/", b"/"), (b"?q", b"/?q"), (b"/a#b", b"/a")]
)
def test_a_url_becomes_a_path(target: bytes, path: bytes) -> None:
    wanted = read_request(b"GET http://a.example%b HTTP/1.1\r\nHost: a.example\r\n\r\n" % target)
    assert wanted.port == 80
    assert wanted.first.startswith(b"GET %b HTTP/1.1\r\n" % path)


@pytest.mark.parametrize(
    "data",
    [
        b"CONNECT a.example HTTP/1.1\r\n\r\n",
        b"CONNECT a.example: HTTP/1.1\r\n\r\n",
        b"CONNECT a.example:0 HTTP/1.1\r\n\r\n",
        b"CONNECT b@a.example:443 HTTP/1.1\r\n\r\n",
        b"CONNECT a%00.example:443 HTTP/1.1\r\n\r\n",
        b"CONNECT a\0.example:443 HTTP/1.1\r\n\r\n",
        b"CONNECT a#.example:443 HTTP/1.1\r\n\r\n",
        b"CONNECT 2130706433:443 HTTP/1.1\r\n\r\n",
        b"CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n",
        b"CONNECT [::ffff:127.0.0.1]:443 HTTP/1.1\r\n\r\n",
        b"CONNECT [fe80::1%25lo]:443 HTTP/1.1\r\n\r\n",
        b"CONNECT %b.example:443 HTTP/1.1\r\n\r\n" % (b"a" * 300),
        b"CONNECT http://a.example:443 HTTP/1.1\r\n\r\n",
        b"CONNECT a.example:443 HTTP/2.0\r\n\r\n",
        b"CONNECT a.example:443\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http://b@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
        b"GET http://a.example/ HTTP/1.1\r\n\r\n",
        GET + b"Host: b.example\r\n\r\n",
        GET + b" folded\r\n\r\n",
        GET + b"X : 1\r\n\r\n",
        GET + b"X: \x00\r\n\r\n",
        b"\x05\x01\x00",  # SOCKS
        b"\x16\x03\x01",  # TLS to the proxy itself
    ],
)
def test_what_has_two_readings_or_none_is_refused(data: bytes) -> None:
    with pytest.raises(UnfitError):
        read_request(data)


def test_every_part_of_a_request_asks_for_the_rest() -> None:
    whole = GET + b"\r\n"
    for size in range(1, len(whole)):
        with pytest.raises(NeedMoreError):
            read_request(whole[:size])


pieces = st.sampled_from(
    [
        *(b"GET ", b"CONNECT ", b"http://", b"a.example", b":443", b"/", b" HTTP/1.1", b"\r\n"),
        *(b"Host: ", b"\r\n\r\n", b"\0", b"@", b"[::1]", b"Connection: x", b"#", b"?"),
    ]
)


@given(st.binary(max_size=200) | st.lists(pieces, max_size=14).map(b"".join))
def test_no_bytes_make_the_reader_do_anything_else(data: bytes) -> None:
    try:
        wanted = read_request(data)
    except (NeedMoreError, UnfitError):
        return
    if not wanted.is_tunnel:
        # What is led on names the very place that was judged.
        assert read_host(wanted.first).host == wanted.host
        assert read_head(wanted.first).all(b"connection") == [b"close"]
