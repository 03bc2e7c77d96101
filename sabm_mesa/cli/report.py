"""Messages of the command line after runs."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from numbers import Real
from pathlib import Path
from typing import Any

from sabm_mesa.cli.app import say
from sabm_mesa.cli.progress import in_words
from sabm_mesa.core.scheduler import orders
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import RecordingError
from sabm_mesa.llm import close_all
from sabm_mesa.minds.specs import describe_minds, language_model
from sabm_mesa.recording import export, load_runs
from sabm_mesa.recording.statistics import FrequentReason
from sabm_mesa.recording.store import log_is_cut
from sabm_mesa.runs.rerun import lost_before
from sabm_mesa.runs.run import Runs

UNUSABLE = 1 / 3
"""The share of unusable answers above which a trial is recommended."""

_WRITTEN = {".csv", ".png", ".pdf", ".svg", ".gif", ".mp4"}
"""The file endings of tables and pictures."""
SAMPLE = 120
"""The maximum printed length of an unusable answer."""


def deliver(
    runs: Runs,
    out: Path,
    recording: Path | None,
    *,
    as_json: bool,
    movies: Mapping[str, Any] | None = None,
    first_lines: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write tables, plots and summary into a folder, and print a report.

    Pictures and plots that cannot be drawn are reported on standard error, after all other output.

    Args:
        runs: the runs.
        out: the folder.
        recording: the recording, if it is in that folder.
        as_json: whether to print one JSON object.
        movies: file name → animation.
        first_lines: the lines before the report.
        more: further content of the summary.

    Raises:
        OutputError: when a file cannot be written.
    """
    export.make_folder(out)
    summary = {**runs.summary(), **(more or {})}
    faults: list[str] = []
    pictures = runs.pictures(faults)
    files = export.write_outputs(
        out, runs.model_frame(), runs.agent_frame(), summary, pictures, movies
    )
    files = [recording, *files] if recording else files
    if as_json:
        say(export.readable_json({**summary, "files": [str(path) for path in files]}))
    else:
        say(
            "\n".join(
                [
                    *first_lines,
                    report(runs, files),
                    *older_files(out, files),
                    *advice(runs, recording),
                ]
            )
        )
    for line in faults:
        say(line, err=True)


def report(runs: Runs, files: Sequence[Path]) -> str:
    """Return a few lines: the runs, their end, their cost, the files.

    Args:
        runs: the runs.
        files: the files that were written.
    """
    first = runs.models[0]
    total = runs.total()
    seeds = (
        f"seed {runs.seeds[0]}"
        if len(runs.seeds) == 1
        else f"seeds {runs.seeds[0]}–{runs.seeds[-1]}"
    )
    minds = describe_minds(first.minds_in_use())
    number = _count(len(runs.models), "run")
    ends = [model.end_measures() for model in runs.models]
    lines = [
        f"{first.title}: {number}, {first.condition}, minds {minds}, {seeds}",
        *([f"Each round: {orders(first.phases)}"] if first.phases else []),
        "At the end" + (" (mean over runs): " if len(runs.models) > 1 else ": ") + _measures(ends),
        *_end_reasons(runs),
        f"Spent: {in_words(total)}, {runs.wall_s:.1f} s",
    ]
    if repeated := sum(runs.answers_repeated()):
        dollars = sum(runs.dollars_repeated())
        worth = ", of unknown price" if math.isnan(dollars) else f", worth ${dollars:.4f}"
        worth = worth if dollars else ""
        lines.append(f"Of that, {_count(repeated, 'answer')} came from the recording{worth}")
    lines += _cautions(ends) + warnings(total, runs.frequent_reason())
    if math.isnan(total.cost_usd):
        lines.append("The price of a model is not known: list it in a price file (--prices).")
    folder = files[0].parent
    lines.append(f"Written to {folder}: {', '.join(sorted(path.name for path in files))}")
    return "\n".join(lines)


def _end_reasons(runs: Runs) -> list[str]:
    """Return a line for each reason why runs ended, with the number of these runs."""
    reasons = Counter(model.end_reason for model in runs.models if model.end_reason)
    if len(runs.models) == 1:
        return [f"Ended in round {runs.models[0].round}: {reason}" for reason in reasons]
    return [f"{n} of {len(runs.models)} runs ended: {reason}" for reason, n in reasons.items()]


def advice(runs: Runs, recording: Path | None) -> list[str]:
    """Return the line that recommends a trial, if many answers were unusable.

    No answer format helps against answers that were declined or cut off.

    Args:
        runs: the runs.
        recording: their recording, or None.
    """
    total = runs.total()
    unusable, answers = total.invalid + total.reasks, total.asks + total.reasks
    specs = [spec for spec in runs.models[0].minds_in_use() if language_model(spec)]
    of_form = unusable - total.refused - total.truncated
    if not specs or of_form <= UNUSABLE * answers:
        return []
    subject = runs.models[0].scenario_name if recording is None else str(recording)
    command = shlex.join(["sabm", "doctor", subject, "--minds", specs[0]])
    text = f"{unusable:,} of {_count(answers, 'answer')} could not be used."
    return [f"{text} To test which answer format works best: {command}"]


def older_files(folder: Path, written: Sequence[Path]) -> list[str]:
    """Return the line on older tables and pictures of a folder.

    Args:
        folder: the folder.
        written: the files that were written.
    """
    names = {path.name for path in written}
    left = sorted(
        path.name
        for path in folder.iterdir()
        if path.suffix in _WRITTEN and path.name not in names and path.is_file()
    )
    several = f"Older files in {folder}, which this command did not write: {', '.join(left)}"
    return [several] if left else []


def older_folders(folder: Path) -> list[str]:
    """Return the line on outputs of other commands that lack the new runs of a folder.

    Args:
        folder: the folder, after new runs.
    """
    left = [name for name in ("compare", "bundle") if (folder / name).is_dir()]
    commands = " and ".join(f"sabm {name}" for name in left)
    line = f"Outdated in {folder}: {', '.join(left)}. Delete, and repeat {commands}."
    return [line] if left else []


def missing(recording: Path, lost: Usage) -> list[str]:
    """Return the lines on lost answers of a recording; none without losses.

    Args:
        recording: the recording.
        lost: the possible cost of the lost answers.
    """
    lines = [f"{line}. The missing answers are asked for again." for line in _lost(lost)]
    if log_is_cut(recording):
        then = f"the {_count(lost.asks, 'answer')} under way then, and " if lost.asks else ""
        lines.append(
            f"{recording}-wal is truncated: {then}everything written later may be missing. If you "
            "have a longer copy of it, use that."
        )
    return lines


@contextmanager
def reporting_lost(recordings: Iterable[Path], prices: str | Path | None = None) -> Iterator[None]:
    """Report lost answers on standard error, even when the block fails.

    Every command that continues recordings, or reads their decisions, uses such a block.

    Args:
        recordings: the recordings of the runs; a missing one holds none.
        prices: a user's own price file, or None.

    Raises:
        RecordingError: when a recording cannot be read, unless the block raised another error.
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
    for line in _lost(lost):
        say(f"{line}.", err=True)


def _lost(lost: Usage) -> list[str]:
    if not lost.asks or lost.cost_usd == 0:  # such as answers of a model on this machine
        return []
    worth = "of unknown price" if math.isnan(lost.cost_usd) else f"at most ${lost.cost_usd:.4f}"
    were, their = ("was", "its answer") if lost.asks == 1 else ("were", "their answers")
    return [
        f"{_count(lost.asks, 'request')} {were} sent and {their} lost, {worth}; caps count them"
    ]


def warnings(total: Usage, reason: FrequentReason | None = None) -> list[str]:
    """Return one line for each kind of failure of the asks, with its count; none without failures.

    Retries only cost time, so they are a note.

    Args:
        total: the sums over all asks.
        reason: the most frequent reason of invalid decisions.
    """
    lines, notes = [], list[str]()
    if n := total.invalid:
        they, their = ("it is", "its") if n == 1 else ("they are", "their")
        lines.append(
            f"{n:,} of {_count(total.asks, 'question')} got no usable answer; {they} recorded as "
            f"invalid, and nothing was put in {their} place."
        )
    if reason is not None:
        answer = textwrap.shorten(repr(reason.answer or ""), SAMPLE, placeholder="…'")
        lines.append(
            f"most often ({reason.times:,}) the reason was: {reason.reason} Agent {reason.agent} "
            f"in round {reason.round} of run {reason.run} answered {reason.name!r} with {answer}."
        )
    answers = _count(total.asks + total.reasks, "answer")
    kinds = (
        (total.reasks, "asked for again because {it} could not be used"),
        (total.refused, "refused"),
        (total.truncated, "truncated at the limit of tokens"),
    )
    for n, what in kinds:
        if n:
            was, it = ("was", "it") if n == 1 else ("were", "they")
            lines.append(f"{n:,} of {answers} {was} {what.format(it=it)}.")
    if n := total.with_digits:
        they = "it was" if n == 1 else "they were"
        lines.append(f"{_count(n, 'text')} had digits where none are allowed; {they} used.")
    if n := total.too_long:
        they = "it was" if n == 1 else "they were"
        lines.append(f"{_count(n, 'text')} had more words than allowed; {they} cut.")
    if n := total.retries:
        notes.append(f"{_count(n, 'request')} had to be sent again to get {answers}.")
    return [f"Warning: {line}" for line in lines] + [f"Note: {line}" for line in notes]


def _measures(ends: Sequence[Mapping[str, Any]]) -> str:
    shown = {name: _mean([end.get(name) for end in ends]) for name in ends[0]}
    return ", ".join(f"{name} {value}" for name, value in shown.items() if value)


def _cautions(ends: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the cautions on the measures of the runs, each once."""
    cautions = dict.fromkeys(end.get("caution", "") for end in ends)
    return [f"Warning: {words}" for words in cautions if words]


def _mean(values: Sequence[Any]) -> str:
    """Return the mean over the runs with a value; a dash without any, ``""`` for texts."""
    if any(isinstance(v, str | Sequence | Mapping) for v in values):
        return ""
    numbers = [float(v) for v in values if isinstance(v, Real) and not math.isnan(float(v))]
    if not numbers:
        return "–"
    some = f" ({len(numbers)} of {len(values)} runs)" if len(numbers) < len(values) else ""
    return f"{sum(numbers) / len(numbers):.4g}{some}"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("s" if n != 1 else "")
