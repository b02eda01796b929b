"""A package as a policy pins it: which names and versions mean exactly one. Pure."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

import msgspec

from mcp_jail.core.policy import Package, Scripts

# Texts, compiled when a policy has a package: names as the registries take them
# (validate-npm-package-name; PEP 508 with its extras), and one version, no range and no tag
# (semver 2.0; PEP 440).
_NPM_NAME: Final = r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[A-Za-z0-9~][A-Za-z0-9._~-]*"
_PYPI_NAME: Final = (
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9._-]+(?:,[A-Za-z0-9._-]+)*\])?"
)
_NPM_VERSION: Final = r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"
_PYPI_VERSION: Final = (
    r"(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*(?:(?:a|b|rc)[0-9]+)?(?:\.post[0-9]+)?(?:\.dev[0-9]+)?"
    r"(?:\+[a-z0-9]+(?:[._-][a-z0-9]+)*)?"
)

NAME_LIMIT: Final = 214  # characters; npm's own limit
VERSION_LIMIT: Final = 128


class PackageKind(Enum):
    """Where a package comes from."""

    NPM = "npm"
    PYPI = "pypi"


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """One version of one package, and whether its install scripts ran."""

    kind: PackageKind
    name: str
    version: str
    scripts: bool = False

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name} {self.version}"

    @property
    def folder(self) -> str:
        """The name of the directory it lies in, below its kind: one component of a path."""
        name = canonical_name(self.kind, self.name).replace("/", "+")
        return f"{name}@{self.version}{'+scripts' if self.scripts else ''}"


def pinned(package: Package | None) -> Pinned | None:
    """What a policy's `package` pins; None where it pins nothing."""
    if package is None or package.unpinned or package.version is None:
        return None
    kind = PackageKind.NPM if package.npm is not None else PackageKind.PYPI
    name = package.npm or package.pypi or ""
    scripts = package.scripts is Scripts.ALLOW
    return Pinned(kind=kind, name=name, version=package.version, scripts=scripts)


def is_name(kind: PackageKind, text: str) -> bool:
    """Whether a text is a package's name, and no address, path or option."""
    pattern = _NPM_NAME if kind is PackageKind.NPM else _PYPI_NAME
    return len(text) <= NAME_LIMIT and re.fullmatch(pattern, text) is not None


def is_version(kind: PackageKind, text: str) -> bool:
    """Whether a text is exactly one version."""
    pattern = _NPM_VERSION if kind is PackageKind.NPM else _PYPI_VERSION
    return len(text) <= VERSION_LIMIT and re.fullmatch(pattern, text) is not None


def canonical_name(kind: PackageKind, name: str) -> str:
    """The name by which two spellings of one package are the same (PEP 503)."""
    if kind is PackageKind.NPM:
        return name
    plain, bracket, extras = name.partition("[")
    sorted_extras = ",".join(sorted(filter(None, re.split(r"[\],]", extras)))) if bracket else ""
    canonical = re.sub(r"[-_.]+", "-", plain).lower()
    return f"{canonical}[{sorted_extras.lower()}]" if sorted_extras else canonical


def fault_of(package: Package) -> tuple[tuple[str, ...], str, str] | None:
    """What is wrong with a policy's `package`: the key below it, the message, the hint."""
    if package.npm is not None and package.pypi is not None:
        return (), "a package is either 'npm' or 'pypi', not both", ""
    if package.npm is None and package.pypi is None:
        return (), "'package' names no package", "write npm: NAME or pypi: NAME"
    kind = PackageKind.NPM if package.npm is not None else PackageKind.PYPI
    name = package.npm or package.pypi or ""
    if not is_name(kind, name):
        return (kind.value,), f"'{name}' is not the name of a package", ""
    if package.unpinned:
        if package.version is None:
            return None
        return ("version",), "'version' pins what 'unpinned: true' lets change", "leave one out"
    if package.version is None:
        hint = "mcp-jail install finds the newest and says the line; or unpinned: true"
        return (), "'package' names no version", hint
    if not is_version(kind, package.version):
        message = f"'{package.version}' is not one exact version"
        return ("version",), message, "no range, no tag: 1.2.3"
    return None
