"""The indexes of uv for a user: its variables and settings files, as `uvx` itself takes them.

Never a project's `uv.toml` or `pyproject.toml`. What names packages that no index has is refused:
leaving it out would take another package than uv would.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from mcp_jail.errors import PackageError
from mcp_jail.packages.pythons import is_yes

SYSTEM: Final = "/etc/uv/uv.toml"  # where no directory of XDG_CONFIG_DIRS has one

# Settings that say which version is taken, by the variable that says the same.
_BY_SETTING: Final = {"index-strategy": "UV_INDEX_STRATEGY", "exclude-newer": "UV_EXCLUDE_NEWER"}
CHOOSING: Final = tuple(_BY_SETTING.values())
_NO_INDEX: Final = {"find-links": "UV_FIND_LINKS", "no-index": "UV_NO_INDEX"}


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """One index, with the login that a variable has for its name."""

    url: str
    name: str = ""
    login: tuple[str, str] | None = None


class UvSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What of uv's settings counts: its indexes, and variables for what chooses among versions."""

    default: Index | None
    others: tuple[Index, ...]
    choosing: dict[str, str]
    proxy: dict[str, str]  # what is set of proxies


def uv_settings(environ: Mapping[str, str], home: str) -> UvSettings:
    """The settings of a user; PackageError for one that cannot be read or followed."""
    files = [_toml(path) for path in _files(environ, home)]
    _refuse_others(environ, files)
    listed = [*_of_variables(environ), *_of_files(files)]
    seen: set[str] = set()
    default: Index | None = None
    others: list[Index] = []
    for entry in listed:
        name = str(entry.get("name") or "")
        if name and name in seen:
            continue  # the first of a name counts
        seen.add(name)
        index = Index(url=entry["url"], name=name, login=_login(environ, name))
        if entry.get("default"):
            default = default or index
        elif not entry.get("explicit"):  # for a project that names it, and no other package
            others.append(index)
    return UvSettings(
        default=default,
        others=tuple(dict.fromkeys(others)),
        choosing=dict(_choosing(environ, files)),
        proxy=_proxy(files),
    )


def _files(environ: Mapping[str, str], home: str) -> list[str]:
    """The settings files, the strongest first: the one that is named alone, or the user's."""
    if environ.get("UV_CONFIG_FILE"):
        path = environ["UV_CONFIG_FILE"]
        if not os.path.isfile(path):
            raise PackageError(f"uv's settings '{path}', which UV_CONFIG_FILE names, are not there")
        return [path]
    if is_yes(environ, "UV_NO_CONFIG"):
        return []
    own = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    machines = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    wider = [*(os.path.join(folder, "uv/uv.toml") for folder in machines if folder), SYSTEM]
    return [os.path.join(own, "uv/uv.toml"), *[path for path in wider if os.path.isfile(path)][:1]]


def _refuse_others(environ: Mapping[str, str], files: list[dict[str, Any]]) -> None:
    for key, variable in _NO_INDEX.items():
        for settings in files:
            if settings.get(key):
                raise _unknown(f"'{key}' in uv's settings", "UV_NO_CONFIG=1")
        if is_yes(environ, variable):
            raise _unknown(variable, f"{variable}=")
    for entry in _entries(files):
        if entry.get("format", "simple") != "simple":
            raise _unknown(f"the index '{entry.get('name', entry['url'])}'", "UV_NO_CONFIG=1")


def _unknown(what: str, without: str) -> PackageError:
    return PackageError(
        f"{what} names packages that no index lists, which an install cannot take",
        hint=f"{without} before mcp-jail install leaves it out, then the index alone counts",
    )


def _of_variables(environ: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Indexes of variables, each `URL` or `NAME=URL`."""
    default = environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL")
    if default:
        yield _named(default) | {"default": True}
    for variable in ("UV_INDEX", "UV_EXTRA_INDEX_URL"):
        yield from map(_named, environ.get(variable, "").split())


def _named(text: str) -> dict[str, Any]:
    name, equals, url = text.partition("=")
    is_named = bool(equals) and "://" not in name
    return {"name": name, "url": url} if is_named else {"url": text}


def _of_files(files: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield from _entries(files)
    for settings in files:
        extra = settings.get("extra-index-url")
        yield from ({"url": url} for url in _list(extra) if isinstance(url, str))
    for settings in files:
        if isinstance(settings.get("index-url"), str):
            yield {"url": settings["index-url"], "default": True}


def _entries(files: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for settings in files:
        for entry in _list(settings.get("index")):
            if isinstance(entry, dict) and isinstance(entry.get("url"), str):
                yield entry


def _choosing(environ: Mapping[str, str], files: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for key, variable in _BY_SETTING.items():
        said = [environ.get(variable), *(settings.get(key) for settings in files)]
        value = next((each for each in said if isinstance(each, str) and each), None)
        if value is not None:
            yield variable, value


def _proxy(files: list[dict[str, Any]]) -> dict[str, str]:
    """The proxies of settings files, by the names that npm has for them."""
    found: dict[str, str] = {}
    for settings in reversed(files):
        for key in ("https-proxy", "http-proxy"):
            if isinstance(settings.get(key), str):
                found[key] = settings[key]
        excepted = _list(settings.get("no-proxy"))
        if excepted:
            found["noproxy"] = ",".join(map(str, excepted))
    return found


def _login(environ: Mapping[str, str], name: str) -> tuple[str, str] | None:
    """The name and password that variables have for an index by its name."""
    key = "".join(sign if sign.isalnum() else "_" for sign in name).upper()
    user, password = (environ.get(f"UV_INDEX_{key}_{what}") for what in ("USERNAME", "PASSWORD"))
    return (user or "", password or "") if name and (user or password) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _toml(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PackageError(f"uv's settings '{path}' cannot be read: {error}") from None
