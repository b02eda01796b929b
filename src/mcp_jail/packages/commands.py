"""What an `npx` or `uvx` command starts: the package, the version it asks for, the program. Pure.

Every option is known or the command is refused: one that is passed over could name another package
or another registry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from mcp_jail.config.launchers import unpinned_hint
from mcp_jail.core.packages import PackageKind, is_name, is_version
from mcp_jail.errors import PackageError

# Options that change nothing about what is started.
_NPM_PLAIN: Final = frozenset({
    "-y", "--yes", "--no-install", "-q", "--quiet", "-s", "--silent", "--prefer-online",
    "--prefer-offline", "--offline", "--no-update-notifier", "--no-audit", "--no-fund",
    "--ignore-scripts", "--no", "-d", "--verbose",
})  # fmt: skip
_UV_PLAIN: Final = frozenset({
    "-q", "--quiet", "-v", "--verbose", "--isolated", "--no-progress", "--offline", "-U",
    "--upgrade", "--refresh", "-n", "--no-cache", "--no-config", "--native-tls", "--no-env-file",
    "--managed-python", "--no-managed-python", "--no-python-downloads", "--system-certs",
})  # fmt: skip
_PYTHON: Final = frozenset({"--python", "-p"})

_NPM_SPEC: Final = r"[A-Za-z0-9.^~<>=|*+ -]*"
_UV_SPEC: Final = r"(?P<name>[^@=<>~!\s]+)\s*(?P<spec>@\s*[\w.+!-]+|[=<>~!][^@;]*)?"


class CannotPinError(PackageError):
    """A command that looks something up at each start and that no version can be pinned for."""

    def __init__(self, why: str, kind: PackageKind) -> None:
        super().__init__(
            f"this command cannot be pinned: {why}",
            hint=unpinned_hint("uv" if kind is PackageKind.PYPI else "npm"),
        )


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a command asks for. Empty: whatever version is newest, the package's own program."""

    kind: PackageKind
    name: str
    spec: str = ""
    program: str = ""
    arguments: tuple[str, ...] = ()
    python: str = ""

    @property
    def wanted(self) -> str:
        """The range or tag within which it stays: an exact version is none, a policy has that."""
        return "" if self.version is not None else self.spec

    @property
    def version(self) -> str | None:
        """The version, where the command asks for exactly one."""
        text = self.spec.removeprefix("==").strip()
        return text if is_version(self.kind, text) else None


def read_command(words: tuple[str, ...]) -> Asked | None:
    """What a command starts; None for one that is no launcher's, CannotPinError."""
    if not words:
        return None
    plain: tuple[str, ...] = (words[0].rpartition("/")[2].removesuffix(".cmd"), *words[1:])
    for known, read in _READERS:
        if plain[: len(known)] == known:
            return read(plain[len(known) :])
    return None


def is_launcher(words: Iterable[str]) -> bool:
    """Whether a command is one that may look a package up, whatever its options."""
    plain = tuple(words)
    try:
        return read_command(plain) is not None
    except CannotPinError:
        return True


def _npm(words: tuple[str, ...]) -> Asked:
    packages: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option, given, value = rest.pop(0).partition("=")
        if option == "--":
            break
        if option in {"-p", "--package"}:
            packages.append(_value(option, given, value, rest, PackageKind.NPM))
        elif given or option not in _NPM_PLAIN:
            raise CannotPinError(f"the option '{option}' is not known here", PackageKind.NPM)
    if len(packages) > 1:
        raise CannotPinError("it brings more than one package", PackageKind.NPM)
    if not packages and not rest:
        raise CannotPinError("it names no package", PackageKind.NPM)
    name, spec = _npm_spec(packages[0] if packages else rest.pop(0))
    program = ""
    if packages:
        if not rest:
            raise CannotPinError("it names no program to start", PackageKind.NPM)
        program = rest.pop(0)
        rest = rest[1:] if rest[:1] == ["--"] else rest
    return Asked(kind=PackageKind.NPM, name=name, spec=spec, program=program, arguments=tuple(rest))


def _npm_spec(text: str) -> tuple[str, str]:
    at = text.find("@", 1)
    name, spec = (text, "") if at < 0 else (text[:at], text[at + 1 :])
    if not is_name(PackageKind.NPM, name) or re.fullmatch(_NPM_SPEC, spec) is None:
        raise CannotPinError(f"'{text}' is no package of a registry", PackageKind.NPM)
    return name, spec


def _uv(words: tuple[str, ...]) -> Asked:
    source, python = "", ""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option, given, value = rest.pop(0).partition("=")
        if option == "--":
            break
        if option == "--from":
            source = _value(option, given, value, rest, PackageKind.PYPI)
        elif option in _PYTHON:
            python = _value(option, given, value, rest, PackageKind.PYPI)
        elif given or option not in _UV_PLAIN:
            raise CannotPinError(f"the option '{option}' is not known here", PackageKind.PYPI)
    if not rest:
        raise CannotPinError("it names no program to start", PackageKind.PYPI)
    first = rest.pop(0)
    name, spec = _uv_spec(source or first)
    program = first if source else ""
    return Asked(
        kind=PackageKind.PYPI,
        name=name,
        spec=spec,
        program=program,
        arguments=tuple(rest),
        python=python,
    )


def _uv_spec(text: str) -> tuple[str, str]:
    found = re.fullmatch(_UV_SPEC, text)
    if found is None or not is_name(PackageKind.PYPI, found["name"]):
        raise CannotPinError(f"'{text}' is no package of an index", PackageKind.PYPI)
    spec = (found["spec"] or "").strip()
    if spec.startswith("@"):
        version = spec[1:].strip()
        spec = "" if version == "latest" else f"=={version}"
    return found["name"], spec


def _value(option: str, given: str, value: str, rest: list[str], kind: PackageKind) -> str:
    """The value of an option, in the same word or the next."""
    if given:
        return value
    if not rest:
        raise CannotPinError(f"the option '{option}' has no value", kind)
    return rest.pop(0)


# The words a command begins with, and what reads the rest.
_READERS: Final[tuple[tuple[tuple[str, ...], Callable[[tuple[str, ...]], Asked]], ...]] = (
    (("npm", "exec"), _npm),
    (("npm", "x"), _npm),
    (("npx",), _npm),
    (("uv", "tool", "run"), _uv),
    (("uvx",), _uv),
)
