"""Chromium without a head, in a jail that reaches one host.

It runs as the MCP servers for browsers run it in containers, with `--no-sandbox`: its own needs
user namespaces, which a jail does not have.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from net.conftest import Machine, Start
from net.machine import HELLO

NETWORK: Final = (
    "{mode: allowlist, allow: [api.example.com, {host: 'api.example.com:%d', tls: verify-name}]}"
)
# The extension of encrypted_client_hello (RFC 9849); a browser without a key for it sends noise.
ECH: Final = b"\xfe\x0d"


def browse(browser: Path, url: str) -> str:
    """The line that prints a page as the browser has it."""
    words = ["--no-sandbox", "--ignore-certificate-errors", "--disable-gpu", "--dump-dom"]
    return f"{browser} {' '.join(words)} {url} 2>&1"


def test_a_browser_shows_the_allowed_host_and_no_other(jailed: Start, browser: Path) -> None:
    with jailed(NETWORK % HELLO) as jail:
        assert '"host": "api.example.com"' in jail.sh(
            browse(browser, "https://api.example.com/who")
        )
        said, told = jail.result(browse(browser, "https://other.example.com/who"))
        assert "net::ERR_" in said
        assert "'other.example.com'" in told
        denied = {entry["name"] for entry in jail.tried() if entry["verdict"] == "deny"}
    assert "other.example.com" in denied


def test_a_browser_s_hello_passes_with_what_is_encrypted_in_it(
    jailed: Start, machine: Machine, browser: Path
) -> None:
    with jailed(NETWORK % HELLO) as jail:
        jail.sh(browse(browser, f"https://api.example.com:{HELLO}/"))
        verdicts = {e["verdict"] for e in jail.tried() if e["name"] == f"api.example.com:{HELLO}"}
    assert verdicts == {"allow"}
    hello = (machine.folder / "hello").read_bytes()
    assert b"api.example.com" in hello
    assert ECH in hello
