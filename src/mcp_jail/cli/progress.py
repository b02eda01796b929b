"""How an install goes, on a terminal: what it is at and for how long. Nothing where nobody looks.

Moved by hand, not by a thread: the gate of an install's jail is forked from this process.
"""

from __future__ import annotations

from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from mcp_jail.cli.out import console, is_terminal
from mcp_jail.packages.installing import Phase


class Shown:
    """A line that says what is being done; gone when it is."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TimeElapsedColumn(),  # before what a narrow terminal cuts
            TextColumn("{task.description}", markup=False),
            console=console(),
            auto_refresh=False,
            transient=True,
            disable=is_quiet or not is_terminal(),
        )
        self._task: TaskID | None = None

    def begin(self, what: str) -> None:
        """Begin with something else."""
        self.end()
        self._progress.start()
        self._what = what
        self._task = self._progress.add_task(what, total=None)
        self.tick()

    def phase(self, phase: Phase) -> None:
        """Say what it is at."""
        if self._task is not None:
            self._progress.update(self._task, description=f"{phase.value}: {self._what}")
        self.tick()

    def tick(self) -> None:
        """Move; called some times a second while something is done."""
        self._progress.refresh()

    def end(self) -> None:
        """Take the line away."""
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
        self._progress.stop()
