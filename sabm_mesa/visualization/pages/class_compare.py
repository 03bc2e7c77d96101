"""A class and an earlier one of the same scenario: the numbers of `sabm compare`, and a figure.

The earlier classes are the recordings below the folder of the server, as on the page of recordings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sabm_mesa.core.languages import Amount, Drawing, Phrase, known, number_in, slug, translated
from sabm_mesa.errors import RecordingError, SabmError
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.runs.game import ClassSession
from sabm_mesa.studies import compare
from sabm_mesa.visualization.labels import titles_of
from sabm_mesa.visualization.pages.debrief import Slide
from sabm_mesa.visualization.records.store import listed

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.base import SmartModel

TITLE = Phrase("earlier.title")
MEASURE, LAST = "measure.", "last_"
"""Prefixes of the names of measures in data, and of that of a last round."""
WIDTH, LEFT, RIGHT, ROW, TOP = 440, 142, 16, 46, 34


class EarlierClass(NamedTuple):
    """The recording of a class that has played before.

    Attributes:
        path: the recording.
        when: the time at which it began, by the clock of the server.
        groups: the number of its groups.
    """

    path: Path
    when: str
    groups: int

    @property
    def label(self) -> str:
        """The class in a list."""
        n = Phrase("host.count_groups", n=self.groups)
        return Phrase("earlier.one", when=self.when, groups=n)


def earlier_classes(session: ClassSession) -> list[EarlierClass]:
    """The earlier classes in the folder of the server, the newest first.

    Args:
        session: the class; only those of its scenario are found, and not its own recording.
    """
    own, scenario = recording_of(session), session.games[0].model.scenario_name
    classes = []
    for recording in listed(Path.cwd()):
        runs = recording.runs
        if recording.problem or runs.empty or (own and recording.path.resolve() == own.resolve()):
            continue
        rows = runs.to_dict("records")
        played = all(
            row["scenario"] == scenario and HUMAN in json.loads(row["minds"]) for row in rows
        )
        done = sum(row["status"] == "finished" for row in rows)
        if played and done:
            began = datetime.fromisoformat(str(rows[0]["started"])).astimezone()
            classes.append(EarlierClass(recording.path, f"{began:%Y-%m-%d %H:%M}", done))
    return classes


def recording_of(session: ClassSession) -> Path | None:
    """The recording of a class; None when it was not recorded."""
    return session.games[0].model.recording_path


def measure_of(model: SmartModel, runs: pd.DataFrame) -> str:
    """The measure in which classes are compared: the first column of the scenario that has one.

    Args:
        model: the model.
        runs: as `compare.read` returns them.

    Raises:
        RecordingError: when there is none.
    """
    names = [name for column in model.columns() for name in (column, f"{LAST}{column}")]
    for name in names:
        if MEASURE + name in runs and runs[MEASURE + name].notna().any():
            return name
    raise RecordingError(Phrase("earlier.no_measure"))


def measure_in_words(model: SmartModel, measure: str) -> str:
    """The title of a measure; that of the last round has one of its own.

    Args:
        model: the model.
        measure: the name of the measure.
    """
    column = measure.removeprefix(LAST)
    title = titles_of(model).localized(column)
    if column == measure or column not in model.columns():
        return titles_of(model).localized(measure)
    return Phrase("earlier.last", measure=title)


def verdict_in_words(compared: compare.ComparedSettings) -> str:
    """The verdict of a comparison of two classes.

    Args:
        compared: the comparison.
    """
    verdict = str(compared.table["verdict"].iloc[0])
    return known(f"verdicts.{slug(verdict)}", verdict)


def slide_beside(session: ClassSession, earlier: EarlierClass) -> Slide:
    """A class compared with an earlier one.

    Args:
        session: the class; its games are over.
        earlier: the earlier class.

    Raises:
        SabmError: when they cannot be compared.
    """
    model, own = session.games[0].model, recording_of(session)
    if own is None:
        raise RecordingError(Phrase("earlier.no_group"))
    runs, factors, _ = compare.read([own, earlier.path])
    if compare.SOURCE not in runs:  # one of the two has no finished run
        raise RecordingError(Phrase("earlier.no_group"))
    measure = measure_of(model, runs)
    values = [
        rows[MEASURE + measure].dropna().astype(float).tolist()
        for _, rows in runs.groupby(compare.SOURCE, sort=False)
    ]
    if not all(values):
        raise RecordingError(Phrase("earlier.no_measure"))
    title = measure_in_words(model, measure)
    ends: list[tuple[float, float, float]] = []
    legend, words = Phrase("earlier.legend_dots"), list[str]()
    if max(map(len, values)) < 2:
        here, there = (Amount(own_values[0]) for own_values in values)
        words.append(
            Phrase("earlier.single", measure=title, here=here, there=there, when=earlier.when)
        )
    else:
        compared = compare.compare([own, earlier.path], measure, [compare.SOURCE])
        rows = compared.cells[["estimate", "low", "high"]].to_numpy(dtype=float).tolist()
        ends = [(estimate, low, high) for estimate, low, high in rows]
        here, there = (Amount(estimate) for estimate, _, _ in ends)
        has_interval = any(math.isfinite(low) for _, low, _ in ends)
        key = "earlier.legend" if has_interval else "earlier.legend_estimate"
        legend = Phrase(key, of=Phrase(f"earlier.of_{compared.of}"))
        words += [
            Phrase(
                f"earlier.{compared.of}", measure=title, here=here, there=there, when=earlier.when
            ),
            _difference(compared),
            Phrase("earlier.groups", here=len(values[0]), there=len(values[1])),
        ]
    others = [parameter_in_words(name) for name in factors if name != compare.SOURCE]
    words += [Phrase("earlier.differs", names=others)] if others else []
    labels = [Phrase("earlier.here"), earlier.when]
    return Slide(
        TITLE,
        words,
        Drawing(lambda language: _dots(language, labels, values, ends, (title, legend))),
    )


def _difference(compared: compare.ComparedSettings) -> str:
    """The difference of two classes; few groups have no interval."""
    row = compared.table.iloc[0]
    low, high = float(row["low"]), float(row["high"])
    known_interval = math.isfinite(low) and math.isfinite(high)
    interval = {"low": Amount(low), "high": Amount(high)} if known_interval else {}
    return Phrase(
        "earlier.difference" if interval else "earlier.difference_alone",
        estimate=Amount(float(row["estimate"])),
        p=Amount(float(row["p"])),
        verdict=verdict_in_words(compared).capitalize(),
        **interval,
    )


def problem_of(error: SabmError) -> str:
    """Why two classes cannot be compared, in a line.

    Args:
        error: the error of `slide_beside`.
    """
    return Phrase("earlier.unknown", why=error.message)


def parameter_in_words(name: str) -> str:
    """A parameter as the form of the host calls it."""
    short = slug(name.removeprefix("n_"))
    keys = (f"number_of_{short}", f"choice_{short}", "others" if name == "minds" else short)
    plain = name.replace("_", " ")
    for key in keys:
        if (words := known(f"host.{key}", plain)) != plain:
            return words
    return plain


def _dots(
    language: str,
    labels: Sequence[str],
    values: Sequence[Sequence[float]],
    ends: Sequence[tuple[float, float, float]],
    texts: tuple[str, str],
) -> str:
    """A dot for each group, and the estimate of each class with its interval.

    The title and the legend are `texts`.
    """
    drawn = [value for own in values for value in own]
    drawn += [value for own in ends for value in own if math.isfinite(value)]
    low, high = min(drawn), max(drawn)
    span = (high - low) or max(1.0, abs(high))
    low, high = low - 0.05 * span, high + 0.05 * span

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    named = [escape(translated(label, language)) for label in labels]
    heading, legend = (escape(translated(text, language)) for text in texts)
    parts = [f'<text x="{LEFT}" y="18">{heading}</text>']
    for place, own in enumerate(values):
        y = TOP + ROW * place + ROW / 2
        parts.append(f'<text x="{LEFT - 10}" y="{y + 5}" text-anchor="end">{named[place]}</text>')
        parts += [
            f'<circle cx="{x(value):.1f}" cy="{y}" r="4" fill="var(--sabm-soft)" opacity=".6"/>'
            for value in own
        ]
        estimate, begin, end = ends[place] if ends else (math.nan, math.nan, math.nan)
        if math.isfinite(begin) and math.isfinite(end):
            parts.append(
                f'<path d="M{x(begin):.1f} {y + 12}H{x(end):.1f}" stroke="var(--sabm-free)" '
                'stroke-width="3"/>'
            )
        if math.isfinite(estimate):
            parts.append(
                f'<path d="M{x(estimate):.1f} {y + 5}l7 7l-7 7l-7 -7z" fill="var(--sabm-free)"/>'
            )
    base = TOP + ROW * len(values) + 6
    parts.append(f'<path d="M{LEFT} {base}H{WIDTH - RIGHT}" stroke="currentColor"/>')
    parts += [
        f'<text x="{x(value):.1f}" y="{base + 18}" text-anchor="{anchor}" '
        f'fill="var(--sabm-soft)">{number_in(language, float(f"{value:.3g}"))}</text>'
        for value, anchor in ((min(drawn), "start"), (max(drawn), "end"))
    ]
    parts.append(f'<text x="8" y="{base + 42}" fill="var(--sabm-soft)">{legend}</text>')
    spoken = "; ".join(
        f"{name}: {', '.join(number_in(language, value) for value in own)}"
        for name, own in zip(named, values, strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {base + 50}" role="img" '
        f'aria-label="{heading}. {spoken}" font-size="14" font-family="sans-serif" '
        f'fill="currentColor">{"".join(parts)}</svg>'
    )
