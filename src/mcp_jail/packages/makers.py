"""Which maker a kind of package has, with the registries of this user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from mcp_jail.core.packages import PackageKind
from mcp_jail.packages.indexes import python_source
from mcp_jail.packages.installing import Jails, Maker
from mcp_jail.packages.npm import Npm
from mcp_jail.packages.npm_settings import npm_source
from mcp_jail.packages.pypi import Pypi
from mcp_jail.packages.pythons import managed_python


def maker_of(
    kind: PackageKind,
    jails: Jails,
    *,
    environ: Mapping[str, str],
    home: str,
    scripts: bool = False,
    python: str = "",
) -> Maker:
    """The maker of a kind; PackageError for settings of registries that cannot be used.

    With `scripts`, code of the package may run while it fetches, so no login is handed over where
    both cannot be kept apart. `python` is the version an `uvx` command asks for.
    """
    match kind:
        case PackageKind.NPM:
            return Npm(jails, npm_source(environ, home, jails.find))
        case PackageKind.PYPI:
            source = python_source(environ, home, with_logins=not scripts)
            return Pypi(jails, source, python, managed_python(environ, home, python))
        case _:
            assert_never(kind)
