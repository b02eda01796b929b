"""The user's own npm registries and tokens, made anew for an npm in a jail.

It is given the few settings that say where and how to fetch, and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec

from mcp_jail.errors import PackageError
from mcp_jail.packages.installing import INSIDE_HOME
from mcp_jail.packages.npmrc import Find, at_home, settings_of, text_of
from mcp_jail.packages.proxies import proxy_for
from mcp_jail.packages.registries import Source, hosts_of, without_login

REGISTRY: Final = "https://registry.npmjs.org/"

# Below HOME in the jail: the only authorities npm trusts, and those it trusts beside Node's.
_ONLY: Final = ".registry-authorities.pem"
_BESIDE: Final = ".extra-authorities.pem"

_LOGIN: Final = re.compile(r"//[^:]+(?::\d+)?/?.*:(_authToken|_auth|username|_password|email)")


def npm_source(environ: Mapping[str, str], home: str, find: Find) -> Source:
    """The registries of a user; PackageError for a setting that cannot be read or used.

    `find` finds the user's npm and Node.js, beside which there may be settings too.
    """
    settings = settings_of(environ, home, find)
    registry = settings.get("registry", REGISTRY)
    scopes = {
        key: value
        for key, value in settings.items()
        if key.startswith("@") and key.endswith(":registry")
    }
    named = [(registry, "npm's registry"), *((url, f"npm's {key}") for key, url in scopes.items())]
    hosts = hosts_of(named)
    places = {urlsplit(url).netloc for url, _ in named}
    logins = {
        key: value
        for key, value in settings.items()
        if _LOGIN.fullmatch(key) and key[2:].partition("/")[0] in places
    }
    kept = {"registry": registry, **scopes, **logins}
    files: dict[str, bytes] = {}
    if settings.get("strict-ssl") == "false":
        kept["strict-ssl"] = "false"
    env = {"npm_config_registry": registry}
    if settings.get("cafile"):
        files[_ONLY] = certificates_in([at_home(settings["cafile"], home)])
        env["npm_config_cafile"] = f"{INSIDE_HOME}/{_ONLY}"
    if environ.get("NODE_EXTRA_CA_CERTS"):
        files[_BESIDE] = certificates_in([environ["NODE_EXTRA_CA_CERTS"]])
        env["NODE_EXTRA_CA_CERTS"] = f"{INSIDE_HOME}/{_BESIDE}"
    text = "".join(f"{key}={_quoted(value)}\n" for key, value in kept.items())
    files[".npmrc"] = text.encode()
    return Source(
        urls=tuple(dict.fromkeys(without_login(url) for url, _ in named)),
        hosts=hosts,
        proxy=proxy_for(hosts, environ, settings),
        env=env,
        files=files,
        scopes={key.partition(":")[0]: without_login(url) for key, url in scopes.items()},
    )


def certificates_in(paths: Iterable[str]) -> bytes:
    """The certificates of some files, and nothing else that may stand in them (keys do)."""
    found: list[str] = []
    for path in paths:
        text = text_of(path)
        if not text:
            raise PackageError(f"the certificates '{path}' cannot be read")
        found += _CERTIFICATE.findall(text)
    return "\n".join(found).encode()


_CERTIFICATE: Final = re.compile(
    r"-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----\n?"
)


def _quoted(value: str) -> str:
    return msgspec.json.encode(value).decode()
