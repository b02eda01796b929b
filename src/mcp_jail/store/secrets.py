"""The program that gets at secrets, outside the jail: `python -I -m mcp_jail.store.secrets`.

It reads which ones from its input (JSON, a list of `Wanted`) and writes each one's `Found` as a
line of JSON. It is the keeper's, not the guard's, because it loads a keyring's own code and runs
the user's commands; it is over before the server starts.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from typing import Final

import msgspec

from mcp_jail.core.secret_sources import MAX_BYTES, MIN_CHARS, Found, Kind, Source, Wanted
from mcp_jail.errors import JailError
from mcp_jail.store.command_output import command_output
from mcp_jail.store.files import read_hidden

# Seconds for all secrets of one start: a person may have to unlock something. Clients give a
# server 30 (Claude Code) or 60 (the SDKs) to open.
DEADLINE: Final = 25.0

# A keyring may wait for a person and cannot be ended, so it comes last.
_ORDER: Final = (Kind.FILE, Kind.COMMAND, Kind.KEYRING)


class _NoSecretError(JailError):
    """A secret that is not to be had."""


def main() -> None:
    """Answer for each secret that is wanted, as they come."""
    deadline = time.monotonic() + DEADLINE
    answers = os.dup(1)
    os.dup2(2, 1)  # what else is loaded or run may print
    wanted = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Wanted])
    with os.fdopen(answers, "wb") as stream:
        for one in sorted(wanted, key=lambda one: _ORDER.index(one.source.kind)):
            stream.write(msgspec.json.encode(found(one, deadline)) + b"\n")
            stream.flush()


def found(wanted: Wanted, deadline: float) -> Found:
    """The value of one variable, or why there is none."""
    try:
        value = _as_text(_content(wanted.source, deadline))
    except FileNotFoundError:
        path = wanted.source.words[0]
        return Found(name=wanted.name, fault=f"there is no file '{path}'", hint=_WRITE % path)
    except JailError as error:
        said = error.said[0] if error.said else ""
        return Found(name=wanted.name, fault=error.message, hint=error.hint, said=said)
    return Found(name=wanted.name, value=value)


_WRITE: Final = "put the value in it, then chmod 600 %s"


def _content(source: Source, deadline: float) -> bytes:
    match source.kind:
        case Kind.FILE:
            return read_hidden(source.words[0], limit=MAX_BYTES)
        case Kind.COMMAND:
            return command_output(source.words, limit=MAX_BYTES, deadline=deadline)
        case Kind.KEYRING:
            return _from_keyring(*source.words).encode()


def _from_keyring(service: str, user: str) -> str:
    try:
        import keyring  # noqa: PLC0415  # who has no such secret need not have it
        from keyring.errors import KeyringLocked, NoKeyringError  # noqa: PLC0415
    except ImportError:
        raise _NoSecretError(
            "the package 'keyring' is not installed beside mcp-jail",
            hint=f"{shlex.quote(sys.executable)} -m pip install keyring",
        ) from None
    try:
        value = keyring.get_password(service, user)
    except NoKeyringError:
        raise _NoSecretError("this session has no keyring", hint=_WITHOUT) from None
    except KeyringLocked:
        raise _NoSecretError("the keyring is locked", hint="unlock it and start again") from None
    except Exception as error:  # noqa: BLE001  # each backend has errors of its own
        raise _NoSecretError(f"the keyring cannot be read: {error}", hint=_WITHOUT) from None
    if value is None:
        words = shlex.join([sys.executable, "-m", "keyring", "set", service, user])
        raise _NoSecretError(f"the keyring has no entry '{user}' of '{service}'", hint=words)
    return value


_WITHOUT: Final = (
    "a keyring is there where a desktop is logged in (org.freedesktop.secrets on the session bus); "
    "elsewhere write file: or command:"
)


def _as_text(content: bytes) -> str:
    """A value as a variable may have it, without the newline that ends a file or an output."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise _NoSecretError("its value is no text (UTF-8)") from None
    text = text.removesuffix("\n")
    if "\0" in text:
        raise _NoSecretError("its value has a NUL, which no variable can hold")
    if not text:
        raise _NoSecretError("its value is empty")
    if len(text) < MIN_CHARS:
        raise _NoSecretError(
            f"its value has less than {MIN_CHARS} characters",
            hint="one so short cannot be kept out of the audit; if it is none, write env.set",
        )
    if len(content) > MAX_BYTES:
        raise _NoSecretError(f"its value has more than {MAX_BYTES} bytes")
    return text


if __name__ == "__main__":
    main()
