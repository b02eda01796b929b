"""The user's own npm registries and tokens: the environment, ~/.npmrc, the machine's npmrc.

Never a project's `.npmrc`: whoever writes that would say where a server comes from. What npm is
given in the jail is made anew from the few settings that say where and how to fetch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

import msgspec

from mcp_jail.errors import PackageError
from mcp_jail.packages.installing import INSIDE_HOME
from mcp_jail.packages.registries import Source, hosts_of

REGISTRY: Final = "https://registry.npmjs.org/"
SETTINGS_LIMIT: Final = 1 << 20  # bytes of one file; a bundle of certificates has 300 KiB

# Where the machine's npmrc lies, by the ways Node.js is packaged.
MACHINE: Final = ("/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc")

# Below HOME in the jail: the only authorities npm trusts, and those it trusts beside Node's.
_ONLY: Final = ".registry-authorities.pem"
_BESIDE: Final = ".extra-authorities.pem"

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(\?)?\}")
_LOGIN: Final = re.compile(r"//[^:]+(?::\d+)?/?.*:(_authToken|_auth|username|_password|email)")
_PREFIX: Final = "npm_config_"


def npm_source(environ: Mapping[str, str], home: str) -> Source:
    """The registries of a user; PackageError for a setting that cannot be read or used."""
    settings = _settings(environ, home)
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
        files[_ONLY] = certificates_in([settings["cafile"]])
        env["npm_config_cafile"] = f"{INSIDE_HOME}/{_ONLY}"
    if environ.get("NODE_EXTRA_CA_CERTS"):
        files[_BESIDE] = certificates_in([environ["NODE_EXTRA_CA_CERTS"]])
        env["NODE_EXTRA_CA_CERTS"] = f"{INSIDE_HOME}/{_BESIDE}"
    text = "".join(f"{key}={_quoted(value)}\n" for key, value in kept.items())
    files[".npmrc"] = text.encode()
    urls = tuple(dict.fromkeys(url for url, _ in named))
    return Source(urls=urls, hosts=hosts, env=env, files=files)


def read_npmrc(text: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The settings of an npmrc, variables put in, as npm reads them; lists and sections are not."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in ";#[":
            continue
        key, equals, value = stripped.partition("=")
        if not equals or key.rstrip().endswith("[]"):
            continue
        found[_expanded(_unquoted(key.strip()), environ)] = _expanded(
            _unquoted(value.strip()), environ
        )
    return found


def _settings(environ: Mapping[str, str], home: str) -> dict[str, str]:
    """All settings by the order npm takes them in: the machine's, the user's, the environment."""
    own = dict(_of_environment(environ))
    settings: dict[str, str] = {}
    for path in (*MACHINE, own.get("globalconfig", "")):
        settings |= read_npmrc(_text(path), environ)
    settings |= read_npmrc(_text(own.get("userconfig") or os.path.join(home, ".npmrc")), environ)
    return settings | own


def _of_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """`npm_config_x_y` is `x-y`; names that begin with // or @ stay as they are."""
    for name, value in environ.items():
        if name.lower().startswith(_PREFIX) and value:
            key = name[len(_PREFIX) :]
            yield key if key[:1] in {"/", "@"} else key.lower().replace("_", "-"), value


def certificates_in(paths: Iterable[str]) -> bytes:
    """The certificates of some files, and nothing else that may stand in them (keys do)."""
    found: list[str] = []
    for path in paths:
        text = _text(path)
        if not text:
            raise PackageError(f"the certificates '{path}' cannot be read")
        found += _CERTIFICATE.findall(text)
    return "\n".join(found).encode()


_CERTIFICATE: Final = re.compile(
    r"-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]*-----END (?:TRUSTED )?CERTIFICATE-----\n?"
)


def _text(path: str) -> str:
    """What a settings file says; nothing for one that is not there."""
    if not path:
        return ""
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        return file.read(SETTINGS_LIMIT)
    return ""


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        if text[0] == '"':
            with suppress(msgspec.DecodeError):
                return str(msgspec.json.decode(text))
        return text[1:-1]
    return re.split(r"\s[;#]", text, maxsplit=1)[0].rstrip()


def _expanded(text: str, environ: Mapping[str, str]) -> str:
    """`${NAME}` as npm replaces it; one that is not set stays, as with npm."""
    return _VARIABLE.sub(lambda found: environ.get(found[1], "" if found[2] else found[0]), text)


def _quoted(value: str) -> str:
    return msgspec.json.encode(value).decode()
