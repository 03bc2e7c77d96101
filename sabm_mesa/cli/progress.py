"""The progress bar of the command line."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from sabm_mesa.errors import MissingKey, RecordingError, RunDiffers, RunError, one_line
from sabm_mesa.recording.statistics import answers_in
from sabm_mesa.usage import Tally

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel
    from sabm_mesa.runner import Runs


def bar_counting(what: str) -> Bar:
    """A bar on standard error, which goes away at its end; none where that is no terminal.

    Args:
        what: what stands behind the number of those that are done.
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
    """Shows rounds, asks, tokens and dollars on standard error while runs go on.

    Args:
        name: the name of the scenario.
        runs: the number of runs.

    Attributes:
        asks: questions that were answered so far.
    """

    def __init__(self, name: str, runs: int) -> None:
        self.asks = 0
        self._bar = bar_counting("rounds · {task.fields[spent]}")
        label = one_line(f"{name}, {runs} runs" if runs > 1 else name)
        self._task = self._bar.add_task(label, total=None, spent="0 asks")

    def show(self, models: Sequence[SmartModel]) -> None:
        """Show how far the runs are.

        Args:
            models: the models of all runs.
        """
        spent = Tally()
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
    """Do what runs models; when it fails or is stopped, say what is kept and how to go on.

    Args:
        work: what runs the models.
        progress: what counts the answers.
        recording: where they are.

    Raises:
        RunError: when it fails or is interrupted.
    """
    try:
        return work()
    except (RunError, KeyboardInterrupt) as error:
        nothing_played = isinstance(error, RecordingError | MissingKey) and not progress.asks
        if nothing_played or isinstance(error, RunDiffers):
            raise  # to go on would end in the same way
        said = str(error) or "Stopped."
        said += "" if said.endswith((".", "!", "?")) else "."
        if not recording.exists():
            raise RunError(said) from error
        answers = answers_in(recording)
        number = "1 answer is" if answers == 1 else f"{answers:,} answers are"
        raise RunError(
            f"{said} {number} in {recording}; go on with: sabm resume {shlex.quote(str(recording))}"
        ) from error


def in_words(spent: Tally) -> str:
    """Asks, tokens and dollars in a few words."""
    words = [f"{spent.asks:,} asks"]
    if spent.invalid:
        words.append(f"{spent.invalid:,} invalid")
    if tokens := spent.prompt_tokens + spent.completion_tokens:
        words.append(f"{tokens:,} tokens")
        unknown = math.isnan(spent.cost_usd)
        words.append("price unknown" if unknown else f"${spent.cost_usd:.4f}")
    return " · ".join(words)
