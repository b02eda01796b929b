"""What a command prints to: a stream that takes any character, and is told in words when full."""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def speak_plainly() -> None:
    """Let stdout replace what its encoding has no character for, and fail with a JailError."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
        if sys.stdout is sys.__stdout__:  # nobody listens in between
            sys.stdout = io.TextIOWrapper(
                io.BufferedWriter(_Stdout(sys.stdout.fileno(), "wb", closefd=False)),
                encoding=sys.stdout.encoding,
                errors="replace",
                line_buffering=sys.stdout.line_buffering,
            )


def let_go() -> None:
    """Nothing more can be written to stdout; the interpreter would try at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


class _Stdout(io.FileIO):
    """Bytes to stdout; UsageError where they cannot be written, as to a disk that is full."""

    def write(self, written: Any, /) -> int:
        try:
            return super().write(written)
        except BrokenPipeError:
            raise
        except OSError as error:
            from mcp_jail.errors import UsageError

            let_go()
            reason = (error.strerror or str(error)).lower()
            raise UsageError(f"what was found cannot be written to stdout: {reason}") from None
