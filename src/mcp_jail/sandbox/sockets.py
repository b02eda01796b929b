"""Socket files in what a policy shares. connect(2) does not ask whether a mount is read-only."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final

# Entries looked at, over all shares of a policy: as many take 30 to 60 ms, a project less than 5.
# What lies beyond is not found; docs/security.md says so.
ENTRIES_LIMIT: Final = 10_000
DEPTH_LIMIT: Final = 4  # directories below a share; sockets lie near the top of what uses them

# Full of files, and nothing listens there.
SKIPPED: Final = frozenset({
    "node_modules", ".git", "site-packages", "dist-packages", "__pycache__", ".venv", "target",
})  # fmt: skip


def sockets_below(roots: Iterable[str]) -> Iterator[str]:
    """Socket files in these directories, breadth first, on the file system each root lies on."""
    left = ENTRIES_LIMIT
    level = [(root, _device(root)) for root in dict.fromkeys(roots)]
    for _ in range(DEPTH_LIMIT):
        below: list[tuple[str, int]] = []
        for directory, device in level:
            for entry in _entries(directory):
                left -= 1
                if left < 0:
                    return
                if entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    continue
                if not entry.is_dir(follow_symlinks=False):
                    if _is_socket(entry):
                        yield entry.path
                elif entry.name not in SKIPPED and _device(entry.path) == device:
                    below.append((entry.path, device))
        level = below


def _entries(directory: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            yield from entries
    except OSError:
        return  # closed to us, and so to the server


def _is_socket(entry: os.DirEntry[str]) -> bool:
    try:
        return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return False


def _device(path: str) -> int:
    try:
        return os.lstat(path).st_dev
    except OSError:
        return -1
