"""Small Python programs in processes of their own, which see the project as the tests do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SRC = TESTS.parent / "src"


def start(code: str, *arguments: str, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start a program; `before` is a command that starts it in its turn. Pipes on all sides."""
    path = os.pathsep.join([str(SRC), str(TESTS), *filter(None, sys.path)])
    return subprocess.Popen(
        [*before, sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def with_disk(*options: str) -> tuple[str, ...]:
    """A command that starts a program where every directory above its disks is ours.

    In a user namespace other users' directories belong to nobody, which the store refuses.
    """
    shown = {
        "/usr",
        "/lib",
        "/lib64",
        "/bin",
        "/etc",
        sys.prefix,
        sys.base_prefix,
        str(TESTS.parent),
    }
    shared = [part for path in sorted(shown) for part in ("--ro-bind-try", path, path)]
    return ("bwrap", "--unshare-user", *shared, "--dev", "/dev", "--proc", "/proc", *options)


def output(program: subprocess.Popen[str]) -> str:
    """What a program printed, once it has ended well."""
    out, err = program.communicate(timeout=60)
    assert program.returncode == 0, err
    return out
