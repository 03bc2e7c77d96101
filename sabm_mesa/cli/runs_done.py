"""The progress bar of commands that count runs."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sabm_mesa.errors import one_line


class RunsDone:
    """Shows on standard error how many runs are done.

    Args:
        name: the name of what is run.

    Attributes:
        done: the runs that are done.
        total: all runs; 0 as long as none can begin.
    """

    def __init__(self, name: str) -> None:
        self.done = self.total = 0
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("runs", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(one_line(name), total=None)

    def show(self, done: int, total: int) -> None:
        """Show how many runs are done.

        Args:
            done: the runs that are done.
            total: all runs.
        """
        self.done, self.total = done, total
        self._bar.update(self._task, completed=done, total=total)

    def __enter__(self) -> RunsDone:
        """Start the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        self._bar.stop()
