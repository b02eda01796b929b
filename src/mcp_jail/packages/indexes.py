"""The user's own Python indexes and logins: uv's settings, else pip's, and ~/.netrc.

uv gets in the jail what is found here and no settings file.
"""

from __future__ import annotations

import configparser
import netrc
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import quote, urlsplit

from mcp_jail.errors import PackageError
from mcp_jail.packages.installing import INSIDE_HOME
from mcp_jail.packages.npm_settings import certificates_in
from mcp_jail.packages.proxies import proxy_for
from mcp_jail.packages.registries import Source, hosts_of, without_login
from mcp_jail.packages.uv_settings import Index, uv_settings

INDEX: Final = "https://pypi.org/simple"
# Where PyPI's files lie; mirrors of its index lead there too.
FILES: Final = "https://files.pythonhosted.org/"

_CERTIFICATES: Final = ".registry-certificates.pem"
_AUTHORITIES: Final = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")


def python_source(environ: Mapping[str, str], home: str, *, with_logins: bool) -> Source:
    """The indexes of a user; PackageError for a setting that cannot be read or used."""
    uv = uv_settings(environ, home)
    default, others = uv.default, uv.others
    if default is None and not others:
        default, others = _of_pip(environ, home)
    default = default or Index(url=INDEX)
    named = [(default.url, "the Python index"), *((each.url, "a Python index") for each in others)]
    hosts = hosts_of([*named, (FILES, "PyPI's files")])
    given = [
        _with_login(index, environ, home) if with_logins else without_login(index.url)
        for index in (default, *others)
    ]
    env = {"UV_DEFAULT_INDEX": given[0], "UV_INDEX": " ".join(given[1:])} | uv.choosing
    files: dict[str, bytes] = {}
    paths = dict.fromkeys(environ[name] for name in _AUTHORITIES if environ.get(name))
    certificates = certificates_in(paths)
    if certificates:
        files[_CERTIFICATES] = certificates
        env["SSL_CERT_FILE"] = f"{INSIDE_HOME}/{_CERTIFICATES}"
    return Source(
        urls=tuple(without_login(url) for url, _ in named),
        hosts=hosts,
        proxy=proxy_for(hosts, environ, uv.proxy),
        env={name: value for name, value in env.items() if value},
        files=files,
    )


def _of_pip(environ: Mapping[str, str], home: str) -> tuple[Index | None, tuple[Index, ...]]:
    """The index of pip and the others, from its variables and settings, the machine's and own."""
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    own = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    machines = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    paths = [
        *(os.path.join(folder, "pip/pip.conf") for folder in machines if folder),
        "/etc/pip.conf",
        os.path.join(home, ".pip/pip.conf"),
        os.path.join(own, "pip/pip.conf"),
        environ.get("PIP_CONFIG_FILE", ""),
    ]
    try:
        settings.read([path for path in paths if path])
    except configparser.Error as error:
        raise PackageError(f"pip's settings cannot be read: {error}") from None

    def setting(key: str) -> str:
        in_files = settings.get("global", key, fallback="")
        in_files = settings.get("install", key, fallback=in_files)
        return environ.get("PIP_" + key.upper().replace("-", "_"), in_files)

    more = [Index(url=url) for url in setting("extra-index-url").split() if _is_remote(url)]
    default = setting("index-url")
    return Index(url=default) if default else None, tuple(more)


def _with_login(index: Index, environ: Mapping[str, str], home: str) -> str:
    """An index's URL with the name and password that the user keeps for it or for its host."""
    parts = urlsplit(index.url)
    if parts.username is not None or not parts.hostname:
        return index.url
    login = index.login or _in_netrc(parts.hostname, environ, home)
    if login is None:
        return index.url
    name, password = login
    return parts._replace(
        netloc=f"{quote(name, safe='')}:{quote(password, safe='')}@{parts.netloc}"
    ).geturl()


def _in_netrc(host: str, environ: Mapping[str, str], home: str) -> tuple[str, str] | None:
    path = environ.get("NETRC") or os.path.join(home, ".netrc")
    found = None
    with suppress(OSError, netrc.NetrcParseError, UnicodeDecodeError):
        found = netrc.netrc(path).authenticators(host)
    if found is None or not any(found):
        return None
    return found[0], found[2] or ""


def _is_remote(url: str) -> bool:
    """Directories of this machine are no registry that a jail could reach."""
    return urlsplit(url).scheme in {"http", "https"}
