"""Progress bars, lost answers, and the line that ends a command early."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from sabm_mesa.cli.app import say
from sabm_mesa.core import engine
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import (
    BudgetExceeded,
    ContextTooSmall,
    MindError,
    MissingKey,
    OutputError,
    RecordingError,
    ReplayMismatch,
    RunError,
    ScenarioError,
    one_line,
)
from sabm_mesa.llm import close_all
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.statistics import answers_in
from sabm_mesa.runs.rerun import lost_before

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


class Progress:
    """Shows rounds, asks, tokens and dollars on standard error during runs; nothing in a file.

    Attributes:
        asks: the number of answered questions.
        paid: whether an agent has a paid mind, whose answers are worth keeping.
        notice: returns a line to print before the first of many runs, ``""`` for none.
    """

    def __init__(self, name: str, runs: int) -> None:
        self.asks, self.paid = 0, False
        self.notice: Callable[[], str] = str
        console = Console(stderr=True)
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[what]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.file.isatty(),  # rich takes FORCE_COLOR for one, as in Jupyter
        )
        label = one_line(f"{name}, {runs} runs" if runs > 1 else name)
        self._task = self._bar.add_task(label, total=None, what="rounds · 0 asks")

    def show(self, models: Sequence[SmartModel]) -> None:
        """Show the progress of the runs."""
        spent = Usage()
        for model in models:
            spent.add(model.spent())
        self.asks = spent.asks
        self.paid = any(agent.paid for model in models for agent in model.population)
        done = sum(model.round + (not model.playing) for model in models if model.round >= 0)
        ahead = sum(model.n_rounds if model.running else model.round + 1 for model in models)
        what = f"rounds · {in_words(spent)}"
        self._bar.update(self._task, completed=done, total=ahead, what=what)

    def show_runs(self, done: int, total: int) -> None:
        """Show the number of finished runs, and before the first one the notice."""
        if line := self.notice():
            self._bar.stop()
            say(line, err=True)
            self._bar.start()
        self.notice = str
        self._bar.update(self._task, completed=done, total=total, what="runs")

    def __enter__(self) -> Progress:
        """Start the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        self._bar.stop()


@contextmanager
def session(
    name: str,
    recordings: Sequence[Path],
    prices: str | Path | None = None,
    *,
    runs: int = 1,
    resume: str = "",
    lost: bool = True,
) -> Iterator[Progress]:
    """Runs in recordings: progress, lost answers, and after a stop the next command.

    The command that continues is `resume`; ``""`` is the same one.
    """
    with (
        engine.heap_frozen(),
        reporting_lost(recordings if lost else (), prices),
        Progress(name, runs) as progress,
    ):
        try:
            yield progress
        except (RunError, KeyboardInterrupt) as error:
            early = isinstance(error, RecordingError | MissingKey | OutputError)
            if (early and not progress.asks) or isinstance(error, ReplayMismatch):
                raise  # continuing would end in the same way
            reason = str(error) or "Stopped."
            reason += "" if reason.endswith((".", "!", "?")) else "."
            there = [path for path in recordings if path.exists()]
            folder = recordings[0].parent  # processes have recordings of their own
            if not there and (resume or not folder.exists()):
                raise RunError(reason) from error
            there = there or [folder]
            reason += f" {answers_are(there)} in {' and '.join(map(str, there))}"
            if isinstance(error, ContextTooSmall):  # continuing would end in the same way
                raise RunError(f"{reason}.") from error
            go_on = f"continue with: {resume}"
            if isinstance(error, ScenarioError | MindError):
                go_on = f"correct the file, then {go_on if progress.paid else 'run it again'}"
            if resume:
                raise RunError(f"{reason}; {go_on}") from error
            more = " with a larger budget" if isinstance(error, BudgetExceeded) else ""
            raise RunError(f"{reason}; the same command{more} continues from there.") from error


@contextmanager
def reporting_lost(recordings: Iterable[Path], prices: str | Path | None = None) -> Iterator[None]:
    """Report lost answers on standard error, even when the block fails.

    Every command that continues recordings, or reads their decisions, uses such a block.
    """
    try:
        yield
    except BaseException:
        close_all()  # connections use file descriptors, and each recording needs some
        with suppress(RecordingError):
            _report_lost(recordings, prices)
        raise
    _report_lost(recordings, prices)


def _report_lost(recordings: Iterable[Path], prices: str | Path | None) -> None:
    lost = Usage()
    for path in recordings:
        if runs := load_runs(path, missing_ok=True):
            lost.add(lost_before(runs, prices))
    for line in lost_in_words(lost):
        say(f"{line}.", err=True)


def lost_in_words(lost: Usage) -> list[str]:
    """Return the line on lost answers; none without losses."""
    if not lost.asks or lost.cost_usd == 0:  # such as answers of a model on this machine
        return []
    worth = "of unknown price" if math.isnan(lost.cost_usd) else f"at most ${lost.cost_usd:.4f}"
    return [f"Requests whose answers were lost: {lost.asks:,}, {worth}; caps count them"]


def answers_are(recordings: Iterable[Path]) -> str:
    """Return the number of answers in recordings: ``"2 answers are"``."""
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
    """Format an amount of money; models on this machine, for example, cost nothing."""
    if math.isnan(usd):
        return "price unknown"
    return f"${usd:.{decimals}f}" if usd else "no cost"
