"""The command line: which command it is, and how errors become words and exit codes.

`run` is looked for before anything else is imported, since a client waits for it and its keeper is
a copy of what is there.
"""

from __future__ import annotations

import sys

from mcp_jail.cli import inherited, streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_jail.errors import JailError


def main(argv: list[str] | None = None) -> int:
    """Carry out one command; the process's exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    inherited.put_in_order()
    try:
        exit_code = _carry_out(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 1
    except BrokenPipeError:
        streams.let_go()
        return 0
    except Exception as error:
        from mcp_jail.errors import JailError

        told = error if isinstance(error, JailError) else _of_nowhere(error)
        if told is None:
            raise
        _explain(told)
        return told.exit_code
    return exit_code


def _carry_out(arguments: list[str]) -> int:
    if arguments[:1] == ["run"]:
        from mcp_jail.cli import run

        return run.main(arguments[1:])
    from mcp_jail.cli import commands

    streams.speak_plainly()
    return commands.main(arguments)


def _of_nowhere(error: Exception) -> JailError | None:
    """What to say where a path was meant from a working directory that somebody has removed."""
    from mcp_jail.errors import UsageError
    from mcp_jail.store.places import working_folder

    if not isinstance(error, FileNotFoundError) or working_folder():
        return None
    return UsageError(
        "the working directory was removed, so no path leads on from it",
        hint="name files by their whole paths, or go to a directory that is there",
    )


def _explain(error: JailError) -> None:
    """Say what went wrong on the error stream, the way age does: error, then hints."""
    from mcp_jail.errors import PolicyError

    lines = []
    if isinstance(error, PolicyError) and error.problems:
        from mcp_jail.config.problems import render_all

        lines.append(render_all(error.problems).rstrip())
        count = len(error.problems)
        found = "1 problem" if count == 1 else f"{count} problems"
        lines.append(f"mcp-jail: error: {found} in '{error.problems[0].place.file}', above")
    else:
        where = f"{error.where}: " if error.where is not None else ""
        lines.append(f"mcp-jail: error: {where}{error.message}")
    if error.hint:
        lines += [f"mcp-jail: hint: {hint}" for hint in error.hint.splitlines()]
    if error.said:
        from mcp_jail.cli.inert_text import behind_gutter

        lines += behind_gutter(error.said)
    sys.stderr.write("\n".join(lines) + "\n")
