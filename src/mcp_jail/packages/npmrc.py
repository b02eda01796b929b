"""Where npm's settings lie for a user, and what they say: as npm itself finds and reads them.

Never a project's `.npmrc`: whoever writes that would say where a server comes from.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final

import msgspec

SETTINGS_LIMIT: Final = 1 << 20  # bytes of one file; a bundle of certificates has 300 KiB

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(\?)?\}")
_SECTION: Final = re.compile(r"\[[^\]]*\]")
_PREFIX: Final = "npm_config_"

# Where a program lies that a command names; None where there is none.
Find = Callable[[str], str | None]


def settings_of(environ: Mapping[str, str], home: str, find: Find) -> dict[str, str]:
    """All settings, by the order npm takes them in: its own, the machine's, the user's, variables.

    The machine's file lies below npm's prefix, which is where Node.js is unless another is set.
    """
    own = dict(_of_environment(environ))
    built_in = _read(_beside_npm(find), environ)

    def path(key: str, *settings: Mapping[str, str]) -> str:
        value = next((each[key] for each in settings if each.get(key)), "")
        return at_home(value, home)

    users = path("userconfig", own, built_in) or os.path.join(home, ".npmrc")
    user = _read(users, environ)
    prefix = path("prefix", own, user, built_in) or _around_node(environ, find)
    machines = path("globalconfig", own, user, built_in) or os.path.join(prefix, "etc/npmrc")
    return built_in | _read(machines, environ) | user | own


def read_npmrc(text: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The settings of an npmrc, variables put in, as npm reads them; lists and sections are not."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        stripped = line.strip()
        if _SECTION.fullmatch(stripped):
            break  # what follows belongs to the section, which npm does not ask for
        if not stripped or stripped[0] in ";#":
            continue
        key, equals, value = stripped.partition("=")
        if not equals or key.rstrip().endswith("[]"):
            continue
        found[_expanded(_unquoted(key.strip()), environ)] = _expanded(
            _unquoted(value.strip()), environ
        )
    return found


def at_home(path: str, home: str) -> str:
    """A path of a setting; npm knows `~/` as the user's home."""
    return os.path.join(home, path[2:]) if path.startswith("~/") else path


def text_of(path: str) -> str:
    """What a settings file says; nothing for one that is not there."""
    if not path:
        return ""
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        return file.read(SETTINGS_LIMIT)
    return ""


def _read(path: str, environ: Mapping[str, str]) -> dict[str, str]:
    return read_npmrc(text_of(path), environ)


def _beside_npm(find: Find) -> str:
    """The settings that whoever packaged npm gave it; npm's program lies in its `bin`."""
    npm = find("npm")
    if npm is None:
        return ""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(npm))), "npmrc")


def _around_node(environ: Mapping[str, str], find: Find) -> str:
    """The prefix that npm takes where none is set."""
    if environ.get("PREFIX"):
        return environ["PREFIX"]
    node = os.path.realpath(find("node") or "/usr/bin/node")
    return environ.get("DESTDIR", "") + os.path.dirname(os.path.dirname(node))


def _of_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """`npm_config_x_y` is `x-y`; names that begin with // stay as they are."""
    for name, value in environ.items():
        if name.lower().startswith(_PREFIX) and value:
            key = name[len(_PREFIX) :]
            plain = key[:1] + key[1:].replace("_", "-")
            yield key if key.startswith("//") else plain.lower(), value


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
