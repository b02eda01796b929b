"""A proxy is written in one way, and its password is never repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_jail.core.rules.upstream import Upstream, read_upstream


@pytest.mark.parametrize(
    ("text", "upstream"),
    [
        ("http://proxy.example:3128", Upstream("proxy.example", 3128)),
        ("HTTP://Proxy.Example.:8080/", Upstream("proxy.example", 8080)),
        ("http://127.0.0.1:3128", Upstream("127.0.0.1", 3128)),
        ("http://[::1]:3128", Upstream("::1", 3128)),
        ("http://me:pass@p.example:80", Upstream("p.example", 80, b"me:pass")),
        ("http://me@p.example:80", Upstream("p.example", 80, b"me:")),
        ("http://me:a%40%3A%2F%C3%A4@p.example:80", Upstream("p.example", 80, b"me:a@:/\xc3\xa4")),
    ],
)
def test_what_is_written_is_read(text: str, upstream: Upstream) -> None:
    assert read_upstream(text) == upstream


@pytest.mark.parametrize(
    "text",
    [
        *("", "proxy.example:3128", "http://proxy.example", "http://proxy.example:0"),
        *("http://proxy.example:65536", "https://proxy.example:3128", "socks5://p.example:1080"),
        *("http://*.example:3128", "http://127.1:3128", "http://0x7f000001:3128"),
        *("http://p.example:3128/path", "http://p.example:3128?q", "http://a@b@p.example:3128"),
        *("http://me:pa%0d%0ass@p.example:3128", "http://me:pa ss@p.example:3128", "http://:3128"),
        *("http://me:pa%00@p.example:3128", "http://[::1%lo]:3128", "http://[p.example]:3128"),
    ],
)
def test_what_is_no_proxy_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read_upstream(text)
    assert "me:" not in str(caught.value)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=20))
def test_a_password_arrives_as_it_is_and_stands_nowhere_else(password: str) -> None:
    encoded = "".join(f"%{byte:02x}" for byte in password.encode())
    upstream = read_upstream(f"http://mcp:{encoded}@p.example:3128")
    assert upstream.credentials == b"mcp:" + password.encode()
    assert (repr(upstream), upstream.place) == ("Upstream(p.example:3128)", "p.example:3128")
    assert password in upstream.secrets
    assert upstream.authorization.startswith(b"Basic ")
