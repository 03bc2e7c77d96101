"""Comparisons of the settings of a sweep, or of several recordings, in one measure of runs.

The unit is the run: each gives one number, its end measure. All numbers, tests and intervals come
from `sabm_mesa.analysis.tests`. Settings with the same seeds, each once, are compared seed by
seed. By default medians are compared, and shares of a measure that is 0 or 1: their tests hold for
every distribution. A mean needs the bounds of the measure. p-values of all comparisons of a table
are corrected together (Holm), and verdicts follow the corrected ones; intervals are of single
comparisons.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pandas as pd

from sabm_mesa.analysis.intervals import LEVEL
from sabm_mesa.analysis.plot_style import short_minds
from sabm_mesa.analysis.tests import Inference, Of, holm, infer
from sabm_mesa.core.parameters import check_choice
from sabm_mesa.errors import ParameterError, RecordingError, UnknownName
from sabm_mesa.models.declarations import ScenarioPage, parameter_label
from sabm_mesa.models.registry import model_at
from sabm_mesa.recording import RecordedRun, load_runs
from sabm_mesa.recording.varied import SET, TAG, after_forks, varied, word_of
from sabm_mesa.studies.report import Report, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RECORDING, SOURCE = "recording.sqlite", "source"
MOST_CELLS = 24
"""The maximum number of compared settings: pairs grow with its square."""
NOTE = (
    "Each run gives one number. p-values are two-sided; p is corrected for all comparisons of the "
    f"table (Holm), and verdicts follow it, at {2 * LEVEL:g}. Intervals are of single comparisons."
)
SHOWN = 15
"""The maximum number of comparisons that readers see."""
COLUMNS = (
    "comparison", "of", "than", "n", "n_than", "estimate", "low", "high", "p", "p_holm", "effect",
    "effect_name", "verdict", "test", "why",
)  # fmt: skip


@dataclass(frozen=True)
class ComparedSettings:
    """The settings of runs, compared in a measure.

    Attributes:
        title: the title of the measure, with its unit.
        of: the compared statistic: ``mean``, ``median`` or ``share``.
        by: the factors of the settings.
        runs: one row per run: the factors, ``seed``, ``value`` (in the unit of the measure) and the
            ``setting``.
        cells: one row per setting: ``setting``, ``n``, ``estimate``, ``low``, ``high`` (95 %).
        table: one row per comparison, with `COLUMNS`: pairs of settings; for two factors also main
            effects and interactions.
        notes: sentences on left-out and pooled runs.
    """

    measure: str
    title: str
    of: Of
    by: Sequence[str]
    runs: pd.DataFrame
    cells: pd.DataFrame
    table: pd.DataFrame
    notes: Sequence[str]


def read(sources: Sequence[str | Path]) -> tuple[pd.DataFrame, list[str], list[RecordedRun]]:
    """The finished runs of folders or recordings.

    Returns:
        One row per run: ``seed``; each varied parameter and tag in words, and ``source`` if there
        are several; and each numerical end measure, as ``measure.NAME``. The names of the factors:
        of the tags, only those that the other columns do not determine, and that do not differ in
        each run. The runs. If a parameter and a tag have one name, they are ``set.NAME`` and
        ``tag.NAME``.

    Raises:
        RecordingError: when one cannot be read, or has no finished run, or when the runs are of
            several scenarios.
    """
    recorded: list[tuple[str, RecordedRun]] = []
    for source in map(Path, sources):
        path = source / RECORDING if source.is_dir() else source
        name = source.name if source.is_dir() or source.stem != "recording" else source.parent.name
        recorded += [(name, run) for run in load_runs(path)]
    done = [(name, run) for name, run in recorded if run.finished]
    if not done:
        raise RecordingError(f"{sources[0]} has no finished run to compare: sabm resume continues.")
    scenarios = dict.fromkeys(run.scenario for _, run in done)
    if len(scenarios) > 1:
        raise RecordingError(
            f"The runs come from {len(scenarios)} scenarios ({', '.join(scenarios)}): "
            "compare runs of one."
        )
    settings = varied(
        [after_forks(run.parameters, run.forks) for _, run in done],
        [run.tags for _, run in done],
    )
    # Names of parameters and tags, without ``set.`` or ``tag.`` if they are unique.
    short_names = {name: name.removeprefix(SET).removeprefix(TAG) for name in settings[0]}
    count = Counter(short_names.values())
    names = {name: name if count[word] > 1 else word for name, word in short_names.items()}
    rows = []
    for (name, run), values in zip(done, settings, strict=True):
        short = {names[key]: value for key, value in values.items()}
        ends = pd.json_normalize(dict(run.measures)).to_dict("records")
        numbers = {
            f"measure.{key}": math.nan if value is None else float(value)
            for key, value in (ends[0] if ends else {}).items()
            if isinstance(value, int | float | None)
        }
        source_ = {SOURCE: name} if len({name for name, _ in done}) > 1 else {}
        rows.append({"seed": "-".join(map(str, run.seed)), **source_, **short, **numbers})
    frame = pd.DataFrame(rows)
    tags = {short for name, short in names.items() if name.startswith(TAG)}
    for name in _settings(frame):
        frame[name] = _in_words(frame[name])
    return frame, _factors(frame, tags), [run for _, run in recorded]


def _settings(frame: pd.DataFrame) -> list[str]:
    """The columns that are neither the seed nor a measure."""
    names = map(str, frame.columns)
    return [name for name in names if name != "seed" and not name.startswith("measure.")]


def _in_words(values: pd.Series[Any]) -> list[str]:
    """Values for readers; models by their names if these are unique."""
    words = [word_of(value) for value in values]
    short = {word: short_minds(word) for word in words}
    return [short[word] for word in words] if len(set(short.values())) == len(short) else words


def _factors(frame: pd.DataFrame, tags: Collection[str]) -> list[str]:
    """The settings that others do not determine, and that do not identify single runs."""
    names = _settings(frame)
    factors = [name for name in names if name not in tags]
    for name in names:
        if name not in tags or frame[name].nunique() == len(frame):
            continue
        if not factors or frame.groupby(factors)[name].nunique().max() > 1:
            factors.append(name)
    return [name for name in names if name in factors]


def compare(
    sources: Sequence[str | Path],
    measure: str,
    by: Sequence[str] = (),
    *,
    of: Of | None = None,
    bounds: tuple[float, float] | None = None,
) -> ComparedSettings:
    """Compare the settings of runs in a measure.

    Args:
        sources: folders or recordings; see `read`.
        measure: an end measure of the scenario.
        by: the factors; empty: all varied ones. Others are pooled, and a note says so.
        of: the compared statistic; None: the share of a measure that is 0 or 1, else the median.
        bounds: the least and the greatest value of the measure; None: the bounds that the scenario
            declares.

    Raises:
        UnknownName: for an unknown measure or factor.
        ParameterError: when there is nothing to compare, or a run lies outside the bounds.
        RecordingError: see `read`.
    """
    frame, factors, recorded = read(sources)
    column = f"measure.{measure}"
    if column not in frame:
        known = [str(name)[8:] for name in frame if str(name).startswith("measure.")]
        raise UnknownName("measure of these runs", measure, known)
    if frame[column].isna().all():
        raise ParameterError(f"No run has a value for {measure}: choose another measure.")
    for name in by:
        if name not in _settings(frame):
            raise UnknownName("varied parameter of these runs", name, _settings(frame))
    chosen = list(dict.fromkeys(by)) or factors
    if not chosen:
        raise ParameterError("All runs have the same setting: there is nothing to compare.")
    notes = _notes(frame, factors, chosen, recorded, column, measure)
    runs = frame[[*chosen, "seed", column]].rename(columns={column: "value"})
    settings = runs[chosen].itertuples(index=False, name=None)
    runs["setting"] = [
        ", ".join(f"{name} {value}" for name, value in zip(chosen, values, strict=True))
        for values in settings
    ]
    cells = {str(name): cell for name, cell in runs.groupby("setting", sort=False)}
    if len(cells) > MOST_CELLS:
        raise ParameterError(
            f"There are {len(cells)} settings, and at most {MOST_CELLS} are compared: name fewer "
            "factors (--by)."
        )
    if max(len(cell) for cell in cells.values()) < 2:
        raise ParameterError(
            "Each setting has one run: its spread is unknown. Run more seeds (--runs)."
        )
    declared = model_at(recorded[0].model)
    bounds = bounds or (None if declared is None else declared.study.column_bounds.get(measure))
    binary = runs["value"].dropna().isin([0, 1]).all()
    quantity: Of = of or ("share" if binary else "median")
    check_choice("quantity (of)", quantity, get_args(Of))
    judge = _Judge(quantity, bounds)
    try:
        estimates = {name: judge.infer(cell) for name, cell in cells.items()}
        rows = [judge.row("pair", a, b, cells[a], cells[b]) for a, b in combinations(cells, 2)]
        if len(chosen) == 2:
            rows += _of_two_factors(judge, runs, chosen)
    except ValueError as error:
        raise ParameterError(f"{measure} cannot be compared: {error}.") from None
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table["p_holm"] = holm(table["p"])
    chance = (table["verdict"] == "effects differ") & (table["p_holm"] > 2 * LEVEL)
    table.loc[chance, "verdict"] = "no difference detected"
    untested = table["p"].isna() & (table["verdict"] == "no difference detected")
    table.loc[untested, "verdict"] = "not tested"
    notes += judge.notes + _too_few(table, judge.least)
    title = (declared.page if declared else ScenarioPage()).title_of(measure)
    cell_frame = pd.DataFrame(
        [(name, of.n[0], of.estimate, of.low, of.high) for name, of in estimates.items()],
        columns=["setting", "n", "estimate", "low", "high"],
    )
    return ComparedSettings(measure, title, quantity, chosen, runs, cell_frame, table, notes)


class _Judge:
    """Compares groups of runs, seed by seed if their seeds are the same."""

    def __init__(self, of: Of, bounds: tuple[float, float] | None) -> None:
        self.of, self.bounds = of, bounds
        self.notes: list[str] = []
        self.least: list[tuple[float, int]] = []

    def infer(self, *groups: pd.DataFrame) -> Inference:
        """The inference on groups of runs."""
        seeds = [sorted(group["seed"]) for group in groups]
        alike = all(seed == seeds[0] for seed in seeds) and len(set(seeds[0])) == len(seeds[0])
        if len(groups) > 1 and not alike:
            note = (
                "Settings have different seeds, or a seed several times: those are compared as "
                "independent runs by their means, not seed by seed."
            )
            if note not in self.notes:
                self.notes.append(note)
        values = [
            (group.sort_values("seed") if alike else group)["value"].tolist() for group in groups
        ]
        of, bounds = self.of, self.bounds
        if of == "share" and len(groups) > 1:
            # A main effect compares means of 0 and 1 over the levels of the other factor.
            of, bounds = "mean", (0.0, 1.0)
        return infer(*values, of=of, bounds=bounds, paired=alike and len(groups) > 1)

    def row(self, what: str, of: str, than: str, *groups: pd.DataFrame) -> tuple[Any, ...]:
        """A row of the table."""
        result = self.infer(*groups)
        half = len(groups) // 2
        if result.estimand.testable and min(result.n):
            self.least.append((2 * result.estimand.least_p(min(result.n)), min(result.n)))
        return (
            what, of, than, min(result.n[:half]), min(result.n[half:]), result.estimate, result.low,
            result.high, result.p, math.nan, result.effect, result.effect_name, result.verdict,
            result.method, result.why,
        )  # fmt: skip


def _too_few(table: pd.DataFrame, least: Sequence[tuple[float, int]]) -> list[str]:
    """A note when no comparison can reach a corrected p at the level."""
    if not least:
        return []
    p, n = min(least)
    if (corrected := min(1.0, len(least) * p)) <= 2 * LEVEL:
        return []
    note = (
        f"With {n} runs a setting none of {len(table)} comparisons can have a corrected p of "
        f"{2 * LEVEL:g} or less ({corrected:.2g} at least): run more seeds, or compare fewer "
        "settings."
    )
    return [note]


def _of_two_factors(judge: _Judge, runs: pd.DataFrame, by: Sequence[str]) -> list[tuple[Any, ...]]:
    """The main effects of two factors, and their interactions."""
    rows = []
    levels = {name: list(dict.fromkeys(runs[name])) for name in by}
    for name, other in (tuple(by), tuple(reversed(by))):
        # One number a seed and level: the mean over the levels of the other factor.
        counts = runs.groupby([name, "seed"])[other].nunique()
        whole = runs.groupby([name, "seed"], as_index=False, sort=False)["value"].mean()
        if (counts < len(levels[other])).any():
            judge.notes.append(f"No main effect of {name}: not all seeds have all {other}.")
            continue
        for a, b in combinations(levels[name], 2):
            groups = (whole[whole[name] == a], whole[whole[name] == b])
            rows.append(judge.row("main effect", f"{name} {a}", f"{name} {b}", *groups))
    first, second = by
    pairs = product(combinations(levels[first], 2), combinations(levels[second], 2))
    for (a, b), (c, d) in pairs:
        four = [
            runs[(runs[first] == one) & (runs[second] == two)] for two in (c, d) for one in (a, b)
        ]
        if all(len(group) for group in four):
            effect = f"{first} {a} − {b}"
            rows.append(
                judge.row("interaction", f"{effect} at {second} {c}", f"at {second} {d}", *four)
            )
    return rows


def _notes(
    frame: pd.DataFrame,
    factors: Sequence[str],
    chosen: Sequence[str],
    recorded: Sequence[RecordedRun],
    column: str,
    measure: str,
) -> list[str]:
    notes = []
    if left := sum(not run.finished for run in recorded):
        notes.append(f"Left out: {left} of {len(recorded)} runs, which are not finished.")
    if pooled := [name for name in factors if name not in chosen]:
        notes.append(f"Pooled over: {', '.join(pooled)}.")
    if missing := int(frame[column].isna().sum()):
        notes.append(f"{missing} of {len(frame)} runs have no {measure}; they are left out.")
    versions = {str(sorted(run.versions.items())) for run in recorded if run.finished}
    if len(versions) > 1:
        notes.append("The runs were made with different versions of the packages.")
    return notes


def report_of(compared: ComparedSettings) -> Report:
    """The report of a comparison; its tables are ``settings`` and ``comparisons``."""
    table = compared.table
    settings = Table(
        "settings", compared.cells,
        {"setting": "setting", "n": "runs", ("estimate", "low", "high"): f"{compared.of} (95 %)"},
    )  # fmt: skip
    comparisons = Table(
        "comparisons", table,
        {
            "comparison": "comparison", "of": "of", "than": "against",
            ("estimate", "low", "high"): "difference (95 %)", "p_holm": "p", "verdict": "verdict",
        },
        note=f"Tests: {'; '.join(dict.fromkeys(table['test']))}.",
        most=SHOWN,
    )  # fmt: skip
    return Report(
        f"{compared.title}: the {compared.of} of runs by {_factors_in_words(compared)}",
        warnings=[*compared.notes, *(f"{why}." for why in dict.fromkeys(table["why"]) if why)],
        tables=[settings, comparisons],
        figures={"settings": picture(compared)},
        facts={"measure": compared.measure, "of": compared.of, "by": list(compared.by)},
        notes=[NOTE],
    )


def _factors_in_words(compared: ComparedSettings) -> str:
    labels = [parameter_label(name) for name in compared.by]
    return " and ".join(label[0].lower() + label[1:] for label in labels)


def picture(compared: ComparedSettings) -> Figure:
    """One dot per run by setting, with the estimate and its 95 % interval."""
    from sabm_mesa.studies import plots

    labels = [parameter_label(name) for name in compared.by]
    first = compared.runs.drop_duplicates("setting").set_index("setting")[list(compared.by)]
    settings = {
        str(name): "\n".join(
            f"{label}: {value}" for label, value in zip(labels, values, strict=True)
        ).replace("$", r"\$")
        for name, *values in first.itertuples(name=None)
    }
    estimates = compared.cells.set_index("setting")[["estimate", "low", "high"]].T.to_dict("list")
    return plots.by_condition(
        compared.runs.rename(columns={"setting": "condition"}).assign(measure=compared.measure),
        settings,
        {compared.measure: compared.title},
        title=f"The {compared.of} of runs by {_factors_in_words(compared)}",
        estimates={str(name): numbers for name, numbers in estimates.items()}, of=compared.of,
    )  # fmt: skip
