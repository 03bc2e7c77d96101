"""Progress bars, and the line that ends a command early."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from sabm_mesa.cli.app import say
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import (
    BudgetExceeded,
    ContextTooSmall,
    MissingKey,
    OutputError,
    RecordingError,
    ReplayMismatch,
    RunError,
    one_line,
)
from sabm_mesa.llm import close_all
from sabm_mesa.models.registry import option_for
from sabm_mesa.recording.statistics import answers_in

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel
    from sabm_mesa.runs.run import Runs


def bar_counting(what: str) -> Bar:
    """Return a progress bar on standard error that disappears at the end; none in a file.

    Args:
        what: the words after the number of finished items.
    """
    console = Console(stderr=True)
    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn(what, markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


class Progress:
    """Shows rounds, asks, tokens and dollars on standard error during runs.

    Args:
        name: the name of the scenario.
        runs: the number of runs.

    Attributes:
        asks: the number of answered questions.
    """

    def __init__(self, name: str, runs: int) -> None:
        self.name, self.asks = name, 0
        self._bar = bar_counting("rounds · {task.fields[spent]}")
        label = one_line(f"{name}, {runs} runs" if runs > 1 else name)
        self._task = self._bar.add_task(label, total=None, spent="0 asks")

    def show(self, models: Sequence[SmartModel]) -> None:
        """Show the progress of the runs.

        Args:
            models: the models of all runs.
        """
        spent = Usage()
        for model in models:
            spent.add(model.spent())
        self.asks = spent.asks
        done = sum(model.round + (not model.playing) for model in models if model.round >= 0)
        ahead = sum(model.n_rounds if model.running else model.round + 1 for model in models)
        self._bar.update(self._task, completed=done, total=ahead, spent=in_words(spent))

    def __enter__(self) -> Progress:
        """Start the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        self._bar.stop()


def guarded(work: Callable[[], Runs], progress: Progress, recording: Path) -> Runs:
    """Run models; on failure or a stop, name the recordings and the next command.

    Args:
        work: the work that runs the models.
        progress: the counter of the answers.
        recording: their recording.

    Raises:
        RunError: when it fails or is interrupted.
    """
    try:
        return work()
    except (RunError, KeyboardInterrupt) as error:
        nothing_played = isinstance(error, RecordingError | MissingKey) and not progress.asks
        if nothing_played or isinstance(error, ReplayMismatch):
            raise  # continuing would end in the same way
        reason = str(error) or "Stopped."
        reason += "" if reason.endswith((".", "!", "?")) else "."
        if not recording.exists():
            raise RunError(reason) from error
        if isinstance(error, ContextTooSmall):  # continuing would end in the same way
            raise RunError(f"{reason} {answers_are([recording])} in {recording}.") from error
        go_on = f"sabm resume {shlex.quote(str(recording))}{option_for(progress.name)}"
        raise RunError(
            f"{reason} {answers_are([recording])} in {recording}; continue with: {go_on}"
        ) from error


def stopped_early(
    error: BaseException,
    name: str,
    recordings: Iterable[Path],
    asks: int,
) -> RunError:
    """Return why a study ended early, where its answers are, and the next command.

    Args:
        error: the error that ended it.
        name: the name of the study.
        recordings: the recordings of its answers; missing ones are not named.
        asks: the number of answers of this command.
    """
    reason = f"{name}: {str(error) or 'Stopped.'}"
    there = [path for path in recordings if path.exists()]
    early = isinstance(error, RecordingError | MissingKey | OutputError) and not asks
    if early or not there:
        return RunError(reason)
    more = " with a larger budget" if isinstance(error, BudgetExceeded) else ""
    where = " and ".join(map(str, there))
    if isinstance(error, ContextTooSmall):
        return RunError(f"{reason} {answers_are(there)} in {where}.")
    return RunError(
        f"{reason} {answers_are(there)} in {where}; the same command{more} continues from there."
    )


def answers_are(recordings: Iterable[Path]) -> str:
    """Return the number of answers in recordings: ``"2 answers are"``.

    Args:
        recordings: the recordings; a missing one has none.
    """
    close_all()  # connections use file descriptors, and each recording needs some
    counts = [answers_in(path) for path in recordings if path.exists()]
    if None in counts:
        return "All answers so far are"
    n = sum(filter(None, counts))
    return "1 answer is" if n == 1 else f"{n:,} answers are"


def in_words(spent: Usage) -> str:
    """Return asks, tokens and dollars in a few words."""
    words = [f"{spent.asks:,} asks"]
    if spent.invalid:
        words.append(f"{spent.invalid:,} invalid")
    if tokens := spent.prompt_tokens + spent.completion_tokens:
        words.append(f"{tokens:,} tokens")
        words.append(dollars(spent.cost_usd, 4))
    return " · ".join(words)


def dollars(usd: float, decimals: int) -> str:
    """Format an amount of money; models on this machine, for example, cost nothing.

    Args:
        usd: dollars; NaN when unknown.
        decimals: its decimals.
    """
    if math.isnan(usd):
        return "price unknown"
    return f"${usd:.{decimals}f}" if usd else "no cost"


class RunsDone:
    """Shows the number of finished runs on standard error during the block.

    Args:
        name: the name of the study.
        folder: the folder of the runs.
        first: returns a text to print before the first run begins, ``""`` for none.

    Attributes:
        done: the number of finished runs.
        total: the number of all runs; 0 until the first one can begin.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        first: Callable[[], str] = str,
    ) -> None:
        self.done = self.total = 0
        self._folder, self._first = folder, first
        self._bar = bar_counting("runs")
        self._task = self._bar.add_task(one_line(name), total=None)

    def show(self, done: int, total: int) -> None:
        """Show the number of finished runs.

        Args:
            done: the number of finished runs.
            total: all runs.
        """
        if not self.total and (line := self._first()):
            self._bar.stop()
            say(line, err=True)
            self._bar.start()
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
            RunError: when the runs failed or were stopped; it names the next command.
        """
        self._bar.stop()
        if not isinstance(error, RunError | KeyboardInterrupt):
            return
        reason = str(error) or "Stopped."
        if self.total:
            wider = " with a larger budget" if isinstance(error, BudgetExceeded) else ""
            raise RunError(
                f"{reason} {self.done} of {self.total} runs are done. They and all other answers "
                f"are kept in {self._folder}; the same command{wider} continues from there."
            ) from error
        if isinstance(error, KeyboardInterrupt):
            raise RunError(reason) from error
