"""The Pythons that uv has installed for a user, which need not be in PATH."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

# `cpython-3.12.7-linux-x86_64-gnu`; no pre-releases and no other builds, which uv takes if asked.
_NAME: Final = re.compile(r"cpython-(\d+)\.(\d+)\.(\d+)-linux-[a-z0-9_]+-(?:gnu|musl)")
# What uv reads as no in a variable that is yes or no.
_NO: Final = frozenset({"", "0", "false", "f", "no", "n", "off"})


def managed_python(environ: Mapping[str, str], home: str, version: str) -> str | None:
    """The newest Python of uv's own for a version such as 3.12, or for none; None without one.

    uv takes one of these before one of PATH, unless it is told not to.
    """
    if is_yes(environ, "UV_NO_MANAGED_PYTHON"):
        return None
    if environ.get("UV_PYTHON_PREFERENCE", "").lower() in {"system", "only-system"}:
        return None
    data = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local/share")
    folder = environ.get("UV_PYTHON_INSTALL_DIR") or os.path.join(data, "uv/python")
    wanted = tuple(version.split(".")) if version else ()
    found = [
        (tuple(map(int, parts)), os.path.join(folder, name, "bin", f"python{parts[0]}.{parts[1]}"))
        for name in _listed(folder)
        if (match := _NAME.fullmatch(name)) and (parts := match.groups())[: len(wanted)] == wanted
    ]
    return next((path for _, path in sorted(found, reverse=True) if os.access(path, os.X_OK)), None)


def is_yes(environ: Mapping[str, str], variable: str) -> bool:
    """Whether a variable of uv's that is yes or no says yes."""
    return environ.get(variable, "").lower() not in _NO


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
