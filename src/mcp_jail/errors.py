"""What a user can get wrong, each kind with the exit code it ends in.

A `JailError` is a user's mistake or a machine's limit and is told in words. Any other exception is
a bug of ours and shows a traceback. Imports nothing of the project.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class ExitCode(IntEnum):
    """The exit codes of every command, as README lists them."""

    OK = 0
    NEGATIVE = 1
    USAGE = 2
    DRIFT = 3
    JAIL = 4
    AUDIT = 5
    PACKAGE = 6


class Place(NamedTuple):
    """A spot in a file a user wrote; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Problem(NamedTuple):
    """One thing wrong with a file, with the source line it stands in."""

    place: Place
    message: str
    hint: str = ""
    source: str = ""


class JailError(Exception):
    """A message in words, a hint at what to do, and the exit code the command ends with.

    What a server wrote stands in `said`, by lines, and never in our own words.
    """

    exit_code = ExitCode.USAGE

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        where: Place | None = None,
        said: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where
        self.said = said


class UsageError(JailError):
    """The command line asks for something that does not exist or does not fit."""


class PolicyError(JailError):
    """A policy file that cannot be taken as it is; carries all its problems at once."""

    def __init__(self, message: str, problems: tuple[Problem, ...] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint, where=problems[0].place if problems else None)
        self.problems = problems


class Fault(NamedTuple):
    """One shared path that no jail gives, and why."""

    path: str
    message: str
    hint: str = ""


class ShareError(JailError):
    """The policy shares what is not there or what no jail gives; carries all of it at once."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__(
            "; ".join(fault.message for fault in faults),
            hint="\n".join(dict.fromkeys(fault.hint for fault in faults if fault.hint)),
        )
        self.faults = faults


class LaunchMismatchError(JailError):
    """The client asks to start something else than the policy names."""

    exit_code = ExitCode.DRIFT


class NotAnsweredError(JailError):
    """A guard does not take an answer, or is not there any more."""

    exit_code = ExitCode.NEGATIVE


class JailBuildError(JailError):
    """This machine cannot build the jail the policy asks for; the server was not started."""

    exit_code = ExitCode.JAIL


class PackageError(JailError):
    """A package that cannot be installed, or is not as it was installed; nothing is started."""

    exit_code = ExitCode.PACKAGE


class AuditError(JailError):
    """The audit file cannot be written or read; nothing is forwarded without it."""

    exit_code = ExitCode.AUDIT
