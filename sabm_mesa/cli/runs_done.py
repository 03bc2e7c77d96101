"""Commands that count runs: their progress bar, and what they say when they end early."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from sabm_mesa.cli.progress import bar_counting
from sabm_mesa.errors import BudgetExceeded, RunError, one_line


class RunsDone:
    """Shows on standard error how many runs are done, while the block goes on.

    Args:
        name: the name of what is run.
        folder: where the runs are kept.

    Attributes:
        done: the runs that are done.
        total: all runs; 0 as long as none can begin.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.done = self.total = 0
        self._folder = folder
        self._bar = bar_counting("runs")
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

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        """Remove the bar.

        Raises:
            RunError: when the runs failed or were stopped: why, what is kept, and how to go on.
        """
        self._bar.stop()
        if not isinstance(error, RunError | KeyboardInterrupt):
            return
        said = str(error) or "Stopped."
        if self.total:
            wider = " with a larger budget" if isinstance(error, BudgetExceeded) else ""
            raise RunError(
                f"{said} {self.done} of {self.total} runs are done; they, and all that was "
                f"answered, are kept in {self._folder}, and the same command{wider} goes on from "
                "there."
            ) from error
        if isinstance(error, KeyboardInterrupt):
            raise RunError(said) from error
