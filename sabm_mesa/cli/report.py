"""Messages of the command line after runs."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabm_mesa.cli.app import say
from sabm_mesa.cli.progress import in_words, lost_in_words
from sabm_mesa.core.scheduler import orders
from sabm_mesa.core.usage import Usage
from sabm_mesa.minds.specs import describe_minds, language_model
from sabm_mesa.recording import export
from sabm_mesa.recording.statistics import FrequentReason
from sabm_mesa.runs.run import Runs

if TYPE_CHECKING:
    from sabm_mesa.studies.report import Report

UNUSABLE = 1 / 3
"""The share of unusable answers above which a trial is recommended."""

SAMPLE = 120
"""The maximum printed length of an unusable answer."""


def deliver(
    runs: Runs,
    out: Path,
    recording: Path | None,
    *,
    as_json: bool,
    first_lines: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write tables, plots and summary into a folder, and print a report.

    Pictures and plots that cannot be drawn are reported on standard error, after all other output.

    The recording is None if it is not in that folder; `more` is added to the summary.
    """
    export.make_folder(out)
    summary = {**runs.summary(), **(more or {})}
    faults: list[str] = []
    pictures = runs.pictures(faults)
    files = export.write_outputs(out, runs.model_frame(), runs.agent_frame(), summary, pictures)
    files = [recording, *files] if recording else files
    if as_json:
        say(export.readable_json({**summary, "files": [str(path) for path in files]}))
    else:
        say(
            "\n".join(
                [
                    *first_lines,
                    report(runs, files),
                    *advice(runs, recording),
                ]
            )
        )
    for line in faults:
        say(line, err=True)


def deliver_report(
    results: Report,
    folder: Path,
    name: str,
    as_json: bool,
    prefix: str = "",
    files: Sequence[Path] = (),
) -> None:
    """Write the report of a study (see `write_report`), and print it, or one JSON object."""
    content = write_report(results, folder, name, prefix, files, quiet=as_json)
    if as_json:
        say(export.readable_json(content))


def write_report(
    results: Report,
    folder: Path,
    name: str,
    prefix: str = "",
    files: Sequence[Path] = (),
    *,
    quiet: bool,
) -> dict[str, Any]:
    """Write the report of a study into a folder, and print it unless `quiet`.

    The prefix begins the names of its tables and figures. The report is returned as JSON values,
    with the files.
    """
    from sabm_mesa.studies.report import as_json, in_terminal, write

    written = [*files, *write(results, folder, name, prefix)]
    if not quiet:
        say(in_terminal(results))
        say(f"Written to {folder}: {', '.join(path.name for path in written)}")
    return {**as_json(results), "files": [str(path) for path in written]}


def report(runs: Runs, files: Sequence[Path]) -> str:
    """Return a few lines: the runs, their end, their cost, the files."""
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
    mean = " (mean over runs)" if len(runs.models) > 1 else ""
    means = {name: _mean([end.get(name) for end in ends]) for name in ends[0]}
    measures = ", ".join(f"{name} {value}" for name, value in means.items() if value)
    cautions = dict.fromkeys(filter(None, (end.get("caution") for end in ends)))
    lines = [
        f"{first.title}: {number}, {first.condition}, minds {minds}, {seeds}",
        *([f"Each round: {orders(first.phases)}"] if first.phases else []),
        *([f"At the end{mean}: {measures}"] if measures else []),
        *_early_ends(runs),
    ]
    repeated = sum(runs.answers_repeated())
    lines.append(f"{'In all' if repeated else 'Spent'}: {in_words(total)}, {runs.wall_s:.1f} s")
    if repeated:
        dollars = sum(runs.dollars_repeated())
        worth = ", of unknown price" if math.isnan(dollars) else f", worth ${dollars:.4f}"
        worth = worth if dollars else ""
        lines.append(f"Of that, {_count(repeated, 'answer')} came from the recording{worth}")
    lines += [f"Warning: {words}" for words in cautions]
    lines += warnings(total, runs.frequent_reason())
    if math.isnan(total.cost_usd):
        lines.append("The price of a model is not known: list it in a price file (--prices).")
    folder = files[0].parent
    lines.append(f"Written to {folder}: {', '.join(sorted(path.name for path in files))}")
    return "\n".join(lines)


def _early_ends(runs: Runs) -> list[str]:
    """Return a line for each reason why runs ended before their last round."""
    early = [model for model in runs.models if model.round + 1 < model.n_rounds or model.end_reason]
    if early and len(runs.models) == 1:
        (model,) = early
        why = f": {model.end_reason}" if model.end_reason else ""
        return [f"Ended after {model.round + 1} of {_count(model.n_rounds, 'round')}{why}"]
    reasons = Counter(model.end_reason for model in early)
    return [
        f"{n} of {len(runs.models)} runs ended early{reason and f': {reason}'}"
        for reason, n in reasons.items()
    ]


def advice(runs: Runs, recording: Path | None) -> list[str]:
    """Return the line that recommends a trial, if many answers were unusable.

    No answer format helps against answers that were declined or cut off.
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


def missing(lost: Usage) -> list[str]:
    """Return the lines on lost answers; none without losses."""
    return [f"{line}. They are asked for again." for line in lost_in_words(lost)]


def warnings(total: Usage, reason: FrequentReason | None = None) -> list[str]:
    """Return one line for each kind of failure of the asks, with its count; none without failures.

    Retries only cost time, so they are a note.
    """
    lines = []
    if total.invalid:
        lines.append(
            f"Warning: {total.invalid:,} of {total.asks:,} questions got no usable answer; nothing "
            "was put in its place."
        )
    if reason is not None:
        answer = textwrap.shorten(repr(reason.answer or ""), SAMPLE, placeholder="…'")
        lines.append(
            f"Warning: the most frequent reason ({reason.times:,} times): {reason.reason} Agent "
            f"{reason.agent} in round {reason.round} of run {reason.run} answered {reason.name!r} "
            f"with {answer}."
        )
    answers = f" of {total.asks + total.reasks:,} answers"
    counts = (
        (total.reasks, answers, "could not be used, so the question was asked again"),
        (total.refused, answers, "were refused"),
        (total.truncated, answers, "were truncated at the limit of tokens"),
        (total.with_digits, " texts", "had digits where none are allowed; they were used"),
        (total.too_long, " texts", "had more words than allowed; they were cut"),
    )
    lines += [f"Warning: {n:,}{whole} {what}." for n, whole, what in counts if n]
    if total.retries:
        lines.append(f"Note: requests that had to be sent again: {total.retries:,}.")
    return lines


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
