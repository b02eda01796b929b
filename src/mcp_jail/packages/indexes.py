"""The user's own Python indexes and logins: uv's settings, else pip's, and ~/.netrc.

Never a project's `uv.toml` or `pyproject.toml`. uv gets in the jail what is found here and no
settings file.
"""

from __future__ import annotations

import configparser
import netrc
import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote, urlsplit

from mcp_jail.errors import PackageError
from mcp_jail.packages.installing import INSIDE_HOME
from mcp_jail.packages.npm_settings import certificates_in
from mcp_jail.packages.registries import Source, hosts_of, without_login

INDEX: Final = "https://pypi.org/simple"
# Where PyPI's files lie; mirrors of its index lead there too.
FILES: Final = "https://files.pythonhosted.org/"

_CERTIFICATES: Final = ".registry-certificates.pem"
_AUTHORITIES: Final = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")


def python_source(environ: Mapping[str, str], home: str, *, with_logins: bool) -> Source:
    """The indexes of a user; PackageError for a setting that cannot be read or used."""
    default, more = _of_uv(environ, home)
    if default is None and not more:
        default, more = _of_pip(environ, home)
    urls = [(default or INDEX, "the Python index"), *((url, "a Python index") for url in more)]
    hosts = hosts_of([*urls, (FILES, "PyPI's files")])
    given = [
        _with_login(url, environ, home) if with_logins else without_login(url) for url, _ in urls
    ]
    env = {"UV_DEFAULT_INDEX": given[0], "UV_INDEX": " ".join(given[1:])}
    files: dict[str, bytes] = {}
    paths = dict.fromkeys(environ[name] for name in _AUTHORITIES if environ.get(name))
    certificates = certificates_in(paths)
    if certificates:
        files[_CERTIFICATES] = certificates
        env["SSL_CERT_FILE"] = f"{INSIDE_HOME}/{_CERTIFICATES}"
    return Source(
        urls=tuple(without_login(url) for url, _ in urls),
        hosts=hosts,
        env={name: value for name, value in env.items() if value},
        files=files,
    )


def _of_uv(environ: Mapping[str, str], home: str) -> tuple[str | None, list[str]]:
    """The default index of uv and those before it, from its variables and ~/.config/uv/uv.toml."""
    settings = _toml(os.path.join(home, ".config/uv/uv.toml"))
    listed = settings.get("index")
    named = [each for each in (listed if isinstance(listed, list) else []) if _is_index(each)]
    default = environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL")
    default = default or next((each["url"] for each in named if each.get("default")), None)
    default = default or _text(settings.get("index-url"))
    more = environ.get("UV_INDEX", "").split() + environ.get("UV_EXTRA_INDEX_URL", "").split()
    more = [url.partition("=")[2] if "=" in url.partition("://")[0] else url for url in more]
    more += [each["url"] for each in named if not each.get("default")]
    extra = settings.get("extra-index-url")
    more += [url for url in (extra if isinstance(extra, list) else []) if isinstance(url, str)]
    return default, list(dict.fromkeys(more))


def _of_pip(environ: Mapping[str, str], home: str) -> tuple[str | None, list[str]]:
    """The index of pip and the others, from its variables and the user's settings."""
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    own = environ.get("PIP_CONFIG_FILE", "")
    paths = [os.path.join(home, ".pip/pip.conf"), os.path.join(home, ".config/pip/pip.conf"), own]
    try:
        settings.read([path for path in paths if path])
    except configparser.Error as error:
        raise PackageError(f"pip's settings cannot be read: {error}") from None

    def setting(key: str) -> str:
        in_file = settings.get("global", key, fallback="")
        return environ.get("PIP_" + key.upper().replace("-", "_"), in_file)

    more = [url for url in setting("extra-index-url").split() if _is_remote(url)]
    default = setting("index-url")
    return default or None, more


def _with_login(url: str, environ: Mapping[str, str], home: str) -> str:
    """A URL with the name and password that the user keeps for its host."""
    parts = urlsplit(url)
    if parts.username is not None or not parts.hostname:
        return url
    path = environ.get("NETRC") or os.path.join(home, ".netrc")
    found = None
    with suppress(OSError, netrc.NetrcParseError, UnicodeDecodeError):
        found = netrc.netrc(path).authenticators(parts.hostname)
    if found is None or not any(found):
        return url
    name, _, password = found
    return parts._replace(
        netloc=f"{quote(name, safe='')}:{quote(password or '', safe='')}@{parts.netloc}"
    ).geturl()


def _is_index(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("url"), str)


def _is_remote(url: str) -> bool:
    """Directories of this machine are no registry that a jail could reach."""
    return urlsplit(url).scheme in {"http", "https"}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _toml(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PackageError(f"uv's settings '{path}' cannot be read: {error}") from None
