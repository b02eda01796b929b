"""Which name a ClientHello asks for, however it is cut up; what has two readings is refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.hellos import extension, hello, real_hello, records, server_names, vector
from mcp_jail.gate.first_bytes import Asked, NeedMoreError, UnfitError
from mcp_jail.gate.hello import BYTES_LIMIT, HELLO_LIMIT, RECORDS_LIMIT, read_hello

NAMED = hello(server_names(b"api.example.com"))


def needed(data: bytes) -> bool:
    """Whether the reader waits for more."""
    try:
        read_hello(data)
    except NeedMoreError as error:
        return error.at_least > len(data)
    return False


@pytest.mark.parametrize("name", ["api.github.com", "xn--bcher-kva.example", "a" * 63 + ".example"])
def test_the_name_of_a_real_hello_is_read(name: str) -> None:
    assert read_hello(real_hello(name)) == Asked(name)


def test_case_and_a_last_dot_do_not_make_another_name() -> None:
    assert read_hello(records(hello(server_names(b"API.Example.com.")))) == Asked("api.example.com")


@pytest.mark.parametrize("data", [real_hello(None), records(hello(b"")), records(hello(None))])
def test_a_hello_without_a_name_says_so(data: bytes) -> None:
    assert read_hello(data) == Asked(None)


@pytest.mark.parametrize("data", [real_hello("api.example.com"), records(NAMED, 1, 2, 40)])
def test_every_part_of_a_hello_asks_for_the_rest(data: bytes) -> None:
    assert all(needed(data[:length]) for length in range(len(data)))
    assert read_hello(data) == Asked("api.example.com")


@given(st.sets(st.integers(1, len(NAMED) - 1), max_size=RECORDS_LIMIT - 1))
def test_a_hello_cut_into_records_is_put_together(cuts: set[int]) -> None:
    assert read_hello(records(NAMED, *sorted(cuts))) == Asked("api.example.com")


def test_what_follows_the_hello_is_not_read() -> None:
    assert read_hello(records(NAMED) + b"early data") == Asked("api.example.com")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GET / HTTP/1.1\r\n", "no TLS"),
        (b"SSH-2.0-x\r\n", "no TLS"),
        (b"\x80\x2e\x01\x03\x01", "no TLS"),  # SSLv2 in form
        (b"\x16\x02", "no TLS"),
        (b"\x16\x03\x05\x00\x10", "no TLS"),
        (b"\x16\x03\x01\x00\x00", "no TLS"),  # an empty record
        (b"\x16\x03\x01\x40\x01", "no TLS"),  # longer than a record may be
        (records(NAMED, kind=23), "no TLS"),
        (records(NAMED[:10]) + records(NAMED[10:], kind=21), "no TLS"),
        (records(b"\x02" + NAMED[1:]), "without a ClientHello"),
        (b"\x16\x03\x01\x02\x00\x02", "without a ClientHello"),
        (records(b"\x01\xff\xff\xff"), "too long"),
        (records(b"\x01" + vector(3, bytes(HELLO_LIMIT))[:16000]), "too long"),
        (records(NAMED + b"\0"), "goes on"),
        (records(NAMED + NAMED), "goes on"),
        (records(hello(server_names(b"a.example"), tail=b"\0")), "malformed"),
        (records(hello(server_names(b"a.example")[:-1])), "malformed"),
        (records(hello(b"", session=bytes(33))), "malformed"),
        (records(b"\x01" + vector(3, b"\x03\x03" + bytes(20))), "malformed"),
        (records(hello(server_names(b"a.example") + server_names(b"b.example"))), "twice"),
        (records(hello(extension(10, b"") + extension(10, b""))), "twice"),
        (records(hello(server_names(b"a.example", b"b.example"))), "malformed"),
        (records(hello(server_names())), "malformed"),
        (records(hello(extension(0, b""))), "malformed"),
        (records(hello(extension(0, vector(2, b"\0" + vector(2, b"a.example")) + b"x"))), "malf"),
        (records(hello(server_names(b"a.example", kind=1))), "no host name"),
        (records(hello(server_names(b"a.example\0.evil.example"))), "no host name"),
        (records(hello(server_names(b""))), "no host name"),
        (records(hello(server_names(b"a_b.example"))), "no host name"),
        (records(hello(server_names(b"127.0.0.1"))), "no host name"),
        (records(hello(server_names(b"::1"))), "no host name"),
        (records(hello(server_names("b\u00fccher.example".encode()))), "no host name"),
        (records(hello(server_names(b"a" * 300))), "no host name"),
    ],
)
def test_what_is_no_hello_or_has_two_readings_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(UnfitError, match=words):
        read_hello(data)


def test_a_hello_in_too_many_pieces_is_refused() -> None:
    with pytest.raises(UnfitError, match="too many pieces"):
        read_hello(records(NAMED, *range(1, RECORDS_LIMIT + 1)))


@given(st.binary(max_size=400))
def test_no_bytes_make_the_reader_do_anything_else(data: bytes) -> None:
    for start in (b"", b"\x16\x03\x01", b"\x16\x03\x01\x00\x40\x01\x00\x00\x3c"):
        with contextlib.suppress(NeedMoreError, UnfitError):
            read_hello(start + data)


@given(st.data())
def test_a_hello_with_bytes_changed_names_a_host_or_is_refused(data: st.DataObject) -> None:
    changed = bytearray(records(NAMED))
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(NeedMoreError, UnfitError):
        host = read_hello(bytes(changed)).host
        assert host is None or set(host) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")


@given(st.binary(max_size=64))
def test_no_endless_hello_is_waited_for(data: bytes) -> None:
    endless = (b"\x16\x03\x01" + vector(2, b"\x01\x00\x3f\x00" + data)) * 1000
    with pytest.raises(UnfitError):
        read_hello(endless[:BYTES_LIMIT])
