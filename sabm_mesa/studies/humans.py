"""How human are the decisions of a recording? A comparison with people on three levels.

Same inference
    The sign test of the effect, on the sessions of people and on the runs, one number each
    (`sabm_mesa.analysis.tests`, one-sided at 2.5 %). ``same`` when both reach the same
    conclusion; ``not judged`` when runs or sessions are too few for any test to find it.
Same effect
    The effect of the runs divided by that of people, with an interval over runs and sessions
    (Fieller 1954). ``different`` when the interval excludes 1; ``same`` when it includes 1 and lies
    between 1/`FACTOR` and `FACTOR`; else ``undecided``, since the data are too few.
Same distribution
    Decisions of a period: energy test by permutation, Wasserstein distance, and the ratio of the
    variances (`sabm_mesa.analysis.likeness`). ``different`` when the energy test rejects at
    `ALPHA`, adjusted for the number of periods (Holm 1979); else ``no difference detected``, which
    is not a proof of equality: ``by_chance`` is the distance that the data cannot distinguish from
    chance.

A comparison also has the parts of the variance between and within persons. A model that plays the
average person again and again can have the right mean and even the right variance, and no persons
in it. This is called the problem of the average person.

The decisions of the first period are independent if nobody has talked before, so persons are
permuted; in all other cases sessions and runs are permuted. A level that the data cannot judge has
one line with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis import likeness, plot_style
from sabm_mesa.analysis.intervals import LEVEL, Floats
from sabm_mesa.analysis.likeness import DecisionSample
from sabm_mesa.analysis.tests import holm, infer
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.recording.decisions import played_runs
from sabm_mesa.recording.reading import load_runs
from sabm_mesa.recording.votes import read_votes
from sabm_mesa.studies.page import Verbatim, markdown, number, p_in_words, p_value
from sabm_mesa.studies.people import ALL, Effect, PeopleData, numbers_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = 0.05
FACTOR = 2.0
"""Effects whose ratio lies between 1/2 and 2 are called the same: our choice."""
SAME, DIFFERENT, UNDECIDED = "same", "different", "undecided"
NOT_DETECTED, NOT_JUDGED = "no difference detected", "not judged"
NOT_FOUND = "not found"
INFERENCE, EFFECT, DISTRIBUTION = "same inference", "same effect", "same distribution"
SPREAD = "ratio of variances"
PERSONS = "between persons"
LEVELS = (INFERENCE, EFFECT, DISTRIBUTION)
BINS = 20
"""Bins of the entropy and of the picture, when the data have none."""


@dataclass(frozen=True)
class HumanLikeness:
    """One comparison.

    Attributes:
        level: the level of comparison.
        of: the effect, or the period.
        people: the number for people (its meaning depends on the level); NaN if unknown.
        runs: the same for the runs.
        value: the result: ratio, distance or rank.
        low: lower limit of its 95 % interval, or NaN.
        high: upper limit; for a distance, the limit under chance alone.
        p: p-value, or NaN.
        n_people: the number of units of people: persons or sessions.
        n_runs: the number of units of the runs: agents or runs.
        verdict: ``same``, ``different``, ``undecided``, ``no difference detected``, ``not judged``,
            or ``""`` for descriptive numbers.
        why: why it could not be judged, or a remark.
    """

    level: str
    of: str
    people: float = math.nan
    runs: float = math.nan
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    n_people: int = 0
    n_runs: int = 0
    verdict: str = ""
    why: str = ""


@dataclass(frozen=True, eq=False)
class Played:
    """The decisions of a recording.

    Attributes:
        scenario: its name.
        decisions: one row per decision: ``run``, ``round``, ``agent``, ``value`` (NaN when it could
            not be read) and ``treatment``.
        talked: the rounds with messages.
        unlike: parameters that differ from those of people's game, in words.
        left_out: runs that were not compared, in words.
    """

    scenario: str
    decisions: pd.DataFrame
    talked: frozenset[int]
    unlike: Sequence[str]
    left_out: str = ""

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return int(self.decisions["run"].nunique())


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison of runs with people.

    Attributes:
        people: the data set.
        played: the decisions of the runs.
        rows: the comparisons, in the order of the levels.
        cells: for the picture: title → bin centres (or None), people's decisions, those of the
            runs.
    """

    people: PeopleData
    played: Played
    rows: Sequence[HumanLikeness]
    cells: Mapping[str, tuple[Floats, Floats]] = field(repr=False)

    @property
    def verdicts(self) -> dict[str, str]:
        """Level → verdict: the worst of its comparisons, ``not judged`` without any."""
        order = (DIFFERENT, UNDECIDED, SAME, NOT_DETECTED)
        verdicts = {}
        for level in LEVELS:
            seen = {row.verdict for row in self.rows if row.level == level}
            verdicts[level] = next((verdict for verdict in order if verdict in seen), NOT_JUDGED)
        return verdicts

    def frame(self) -> pd.DataFrame:
        """One row per comparison, with the attributes of `HumanLikeness` as columns."""
        return pd.DataFrame([asdict(row) for row in self.rows])


def read_runs(path: str | Path, people: PeopleData, runs: Sequence[int] | None = None) -> Played:
    """The decisions of a recording that people's data also have.

    Args:
        path: the recording.
        people: the data set.
        runs: only these runs; by default all that are finished, without forks, which repeat the
            decisions of their parents.

    Raises:
        RecordingError: when the recording cannot be read.
        ParameterError: when it is of another scenario, has no such decisions, or a run is in none
            of the treatments.
        UnknownName: for a run that does not exist.
    """
    book = people.book
    recorded = load_runs(path)
    if runs is not None and (odd := sorted(set(runs) - {run.run for run in recorded})):
        raise UnknownName(f"run of {path}", odd[0], [str(run.run) for run in recorded])
    chosen = [
        run
        for run in recorded
        if (run.run in runs if runs is not None else run.finished and not run.parent)
    ]
    if not chosen:
        raise ParameterError(f"{path} has no finished run, so there is nothing to compare.")
    scenarios = sorted({run.scenario for run in chosen})
    if other := [name for name in scenarios if name not in book.scenarios]:
        raise ParameterError(
            f"{path} has runs of {other[0]}; {people.name} has data for "
            f"{', '.join(book.scenarios)}."
        )
    numbers = {run.run for run in chosen}
    played = [run for run in played_runs(path) if run.run in numbers]
    data = pd.concat([run.agents for run in played], ignore_index=True)
    if book.decision not in data.columns:
        raise ParameterError(f"The runs of {path} have no column {book.decision} of decisions.")
    data["value"] = numbers_of(data[book.decision], book.codes, f"{path}, {book.decision}")
    if data["value"].isna().all():
        raise ParameterError(f"No decision was recorded in the column {book.decision} of {path}.")
    treatment = {run.run: _treatment(people, run.parameters) for run in chosen}
    if book.treatments:
        known = {run: name for run, name in treatment.items() if name != ALL}
        if not known:
            raise ParameterError(
                f"No run of {path} has the parameters of a treatment of {people.name}: "
                f"{', '.join(book.treatments)}."
            )
        data = data[data["run"].isin(known)]
    data["treatment"] = data["run"].map(treatment)
    spoken = frozenset(int(n) for run in played for n in run.messages["round"].unique())
    left = len(recorded) - data["run"].nunique()
    return Played(
        ", ".join(scenarios),
        data[["run", "round", "agent", "value", "treatment"]].reset_index(drop=True),
        spoken,
        _unlike(people, [run.parameters for run in chosen]),
        f"{left} of {len(recorded)} runs are left out: not finished, forks, or of no treatment"
        if left and runs is None
        else "",
    )


def compare(people: PeopleData, played: Played, *, seed: int = 0) -> Comparison:
    """Compare the decisions of runs with those of people.

    Args:
        people: the data set.
        played: the decisions of the runs.
        seed: of permutations and bootstraps.
    """
    rows: list[HumanLikeness] = []
    for effect in people.book.effects:
        rows += _effect(people, played, effect)
    rows += _mean(people, played)
    if not people.book.effects:
        rows.insert(0, HumanLikeness(
            INFERENCE, "effects", verdict=NOT_JUDGED,
            why=f"the codebook of {people.name} names no effect (effects).",
        ))  # fmt: skip
    of_cells, cells = _distributions(people, played, seed)
    rows += of_cells
    rows += _persons(people, played)
    return Comparison(people, played, _adjusted(rows), cells)


def _effect(people: PeopleData, played: Played, effect: Effect) -> list[HumanLikeness]:
    """The first two levels of one effect."""
    book = people.book
    other_period = effect.round if effect.than_round is None else effect.than_round
    other_treatment = effect.than_treatment or effect.treatment
    pair = effect.value is None and not effect.than_treatment
    cells = [(effect.treatment, effect.round)]
    cells += [(other_treatment, other_period)] if effect.value is None else []
    of_runs = [_run_means(played, name, period - book.first_round) for name, period in cells]
    means = [people.session_means(name, period) for name, period in cells]
    if missing := [
        period for (_, period), values in zip(cells, of_runs, strict=True) if values.empty
    ]:
        why = f"the runs have no decision in period {missing[0]} (their round "
        why += f"{missing[0] - book.first_round})."
        return [
            HumanLikeness(level, effect.says, verdict=NOT_JUDGED, why=why)
            for level in (INFERENCE, EFFECT)
        ]
    mine = _paired(of_runs) if pair else [_floats(run) for run in of_runs]
    theirs = (
        []
        if any(values is None for values in means)
        else [values for values in means if values is not None]
    )
    runs_for, runs_against, runs_effect = _tested(mine, effect, pair)
    n_runs = min(len(values) for values in mine)
    result = _conclusion(runs_for, runs_against)
    if theirs:
        people_for, people_against, people_effect = _tested(theirs, effect, pair)
        n_people = min(len(sample) for sample in theirs)
        of_people = _conclusion(people_for, people_against)
    else:
        people_for, people_effect, n_people, of_people = math.nan, math.nan, 0, ""
    why = ""
    if effect.published:
        of_people, why = effect.published, f"published: {effect.where}" if effect.where else ""
    if not of_people:
        first = HumanLikeness(
            INFERENCE, effect.says, runs=runs_for, p=runs_for, n_runs=n_runs, verdict=NOT_JUDGED,
            why=f"{people.name} has neither sessions nor a published conclusion for it.",
        )  # fmt: skip
    elif few := next(
        (
            f"{len(samples[0])} {name} are too few: the test cannot come below p = {least:.2g}."
            for name, samples, found_ in (
                ("runs", mine, result),
                ("sessions of people", [] if effect.published else theirs, of_people),
            )
            if samples and found_ == NOT_FOUND and (least := _least_p(samples)) > LEVEL
        ),
        "",
    ):
        first = HumanLikeness(
            INFERENCE, effect.says, people=people_for, runs=runs_for, p=runs_for,
            n_people=n_people, n_runs=n_runs, verdict=NOT_JUDGED, why=few,
        )  # fmt: skip
    else:
        same = result == of_people
        first = HumanLikeness(
            INFERENCE, effect.says, people=people_for, runs=runs_for, p=runs_for,
            n_people=n_people, n_runs=n_runs, verdict=SAME if same else DIFFERENT,
            why="; ".join(filter(None, (f"people: {of_people}, runs: {result}", why))),
        )  # fmt: skip
    if not theirs:
        why = f"{people.name} has no means of sessions for it."
        return [
            first,
            HumanLikeness(EFFECT, effect.says, runs=runs_effect, verdict=NOT_JUDGED, why=why),
        ]
    if pair or effect.value is not None:
        less = effect.value or 0.0
        samples = [sample[0] - (sample[1] if pair else less) for sample in (mine, theirs)]
        ratio = likeness.effect_ratio(samples[0], samples[1])
    else:
        ratio = likeness.effect_ratio(
            mine[0], theirs[0], runs_other=mine[1], people_other=theirs[1]
        )
    return [first, _ratio_row(effect.says, people_effect, runs_effect, ratio, n_people, n_runs)]


def _ratio_row(
    says: str, of_people: float, of_runs: float, ratio: likeness.Interval, n_people: int,
    n_runs: int, why: str = "",
) -> HumanLikeness:  # fmt: skip
    if math.isnan(ratio.low):
        few = "people's effect is 0" if math.isnan(ratio.value) else "an interval needs two units"
        verdict, why = NOT_JUDGED, f"{few}."
    elif ratio.low > 1 or ratio.high < 1:
        verdict = DIFFERENT
        size = "larger" if ratio.low > 1 else "opposite" if ratio.high < 0 else "smaller"
        why = f"{size} than of people" if size != "opposite" else "opposite to people's"
    else:
        verdict = SAME if ratio.low >= 1 / FACTOR and ratio.high <= FACTOR else UNDECIDED
        wide = "the interval is too wide"
        if math.isinf(ratio.high):
            wide = "people's own effect is not significantly different from 0"
        why = why or ("" if verdict == SAME else wide)
    return HumanLikeness(
        EFFECT, says, of_people, of_runs, ratio.value, ratio.low, ratio.high, n_people=n_people,
        n_runs=n_runs, verdict=verdict, why=why,
    )  # fmt: skip


def _mean(people: PeopleData, played: Played) -> list[HumanLikeness]:
    """The mean of the first period, as a separate effect."""
    book = people.book
    period = book.first_round if book.mean is None else book.round
    says = f"Mean of period {period}"
    of_runs = _floats(_run_means(played, ALL, period - book.first_round))
    if book.treatments or not of_runs.size:
        return []
    theirs = people.session_means(ALL, period)
    if theirs is None and book.mean is not None:
        theirs = np.full(2, book.mean)
        why = "people's mean is published without its spread: the interval is of the runs alone"
    else:
        why = ""
    if theirs is None:
        return []
    ratio = likeness.effect_ratio(of_runs, theirs)
    n_people = 0 if why else theirs.size
    row = _ratio_row(says, theirs.mean(), of_runs.mean(), ratio, n_people, of_runs.size, why)
    return [row]


def _tested(samples: Sequence[Floats], effect: Effect, pair: bool) -> tuple[float, float, float]:
    """P-values for and against the effect, and its size: a mean, or a difference of means."""
    limit = 0.0 if effect.value is None else effect.value
    above, below = (None, limit) if effect.direction == "less" else (limit, None)
    if effect.value is not None:
        test = infer(samples[0], above=above, below=below)
        return test.p_for, test.p_against, float(samples[0].mean()) - limit
    test = infer(*samples, paired=pair, above=above, below=below)
    return test.p_for, test.p_against, float(samples[0].mean() - samples[1].mean())


def _conclusion(p_for: float, p_against: float) -> str:
    if p_for <= LEVEL:
        return "found"
    return "the opposite" if p_against <= LEVEL else NOT_FOUND


def _least_p(samples: Sequence[Floats]) -> float:
    """The smallest p-value of this number of runs in any valid test of a median."""
    return 0.5 ** min(len(sample) for sample in samples)


def _run_means(played: Played, treatment: str, number: int) -> pd.Series[float]:
    """Mean decision of each run in a round."""
    rows = played.decisions[played.decisions["round"] == number]
    rows = rows if treatment == ALL else rows[rows["treatment"] == treatment]
    return rows.groupby("run")["value"].mean().dropna()


def _paired(means: Sequence[pd.Series[float]]) -> list[Floats]:
    """The means of the runs that have both rounds."""
    both = pd.concat(means, axis=1).dropna()
    return [_floats(both.iloc[:, n]) for n in range(2)]


def _floats(values: pd.Series[float]) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _distributions(
    people: PeopleData, played: Played, seed: int
) -> tuple[list[HumanLikeness], dict[str, tuple[Floats, Floats]]]:
    """The third level, by treatment and period."""
    book = people.book
    rows: list[HumanLikeness] = []
    cells: dict[str, tuple[Floats, Floats]] = {}
    places = _places(people)
    if not places:
        why = f"{people.name} has neither decisions nor their distribution."
        return [HumanLikeness(DISTRIBUTION, "decisions", verdict=NOT_JUDGED, why=why)], cells
    for treatment, period in places:
        number = period - book.first_round
        mine = played.decisions
        mine = mine[(mine["round"] == number) & mine["value"].notna()]
        mine = mine if treatment == ALL else mine[mine["treatment"] == treatment]
        name = f"period {period}" + (f", {treatment}" if treatment else "")
        if mine.empty:
            if treatment or period == places[0][1]:
                why = f"the runs have no decision in {name} (their round {number})."
                rows.append(HumanLikeness(DISTRIBUTION, name, verdict=NOT_JUDGED, why=why))
            continue
        first = number == 0 and 0 not in played.talked
        theirs = _of_people(people, treatment, period, first)
        values = mine["value"].to_numpy(dtype=np.float64)
        if people.decisions is None:
            values = people.coarsened(values)
        runs = DecisionSample.of(values, None if first else mine["run"].tolist())
        cells[name] = (_all_people(people, treatment, period), values)
        if theirs is None:
            why = (
                "after the first period people of a session depend on one another, and the "
                "published distribution has no sessions."
                if number
                else "players talked before, so that runs and sessions are the units, and the data "
                "have no sessions."
            )
            rows.append(HumanLikeness(DISTRIBUTION, name, verdict=NOT_JUDGED, why=why))
            continue
        rows += _cell(name, theirs, runs, seed)
    return rows, cells


def _cell(
    name: str, theirs: DecisionSample, runs: DecisionSample, seed: int
) -> list[HumanLikeness]:
    n_people, n_runs = theirs.n_units, runs.n_units
    of_people, of_runs = (float(sample.decisions.mean()) for sample in (theirs, runs))
    test = likeness.energy_test(theirs, runs, rng=seed)
    if test.least_p > ALPHA:
        why = f"{n_people} and {n_runs} units are too few for a test at {ALPHA:g}."
        verdict, p = NOT_JUDGED, math.nan
    else:
        why, verdict, p = "", "", test.p
    rows = [HumanLikeness(
        DISTRIBUTION, name, of_people, of_runs, test.wasserstein, high=test.by_chance, p=p,
        n_people=n_people, n_runs=n_runs, verdict=verdict, why=why,
    )]  # fmt: skip
    before, now = _variance(theirs.decisions), _variance(runs.decisions)
    ratio = _quotient(now, before)
    why = "people all decided alike." if math.isnan(ratio) else ""
    return [*rows, HumanLikeness(SPREAD, name, before, now, ratio, why=why)]


def _variance(values: Floats) -> float:
    return float(values.var(ddof=1)) if values.size > 1 else math.nan


def _adjusted(rows: Sequence[HumanLikeness]) -> list[HumanLikeness]:
    """The verdicts of the energy tests, adjusted for their number."""
    tests = [n for n, row in enumerate(rows) if row.level == DISTRIBUTION and not row.verdict]
    adjusted = dict(zip(tests, holm([rows[n].p for n in tests]).tolist(), strict=True))
    done = list(rows)
    for n, p in adjusted.items():
        done[n] = (
            replace(rows[n], p=p, verdict=DIFFERENT, why="")
            if p <= ALPHA
            else replace(rows[n], p=p, verdict=NOT_DETECTED)
        )
    return done


def _places(people: PeopleData) -> list[tuple[str, int]]:
    """The treatments and periods with a known distribution."""
    if people.decisions is not None:
        pairs = people.decisions[["treatment", "round"]].drop_duplicates()
        chosen = [(str(name), int(period)) for name, period in pairs.itertuples(index=False)]
        known = people.book.treatments
        return sorted((name if known else ALL, period) for name, period in set(chosen))
    return [(ALL, people.book.round)] if people.book.bins else []


def _all_people(people: PeopleData, treatment: str, period: int) -> Floats:
    if people.decisions is None:
        middles, counts = people.counted() or (np.empty(0), np.empty(0))
        return np.repeat(middles, counts.astype(int))
    rows = people.decisions[people.decisions["round"] == period]
    rows = rows if treatment == ALL else rows[rows["treatment"] == treatment]
    return rows["value"].to_numpy(dtype=np.float64)


def _of_people(
    people: PeopleData, treatment: str, period: int, first: bool
) -> DecisionSample | None:
    """People's decisions of a period with their units; None if these are unknown."""
    values = _all_people(people, treatment, period)
    if first:
        return DecisionSample.of(values)
    if people.decisions is None or not (people.book.columns and people.book.columns.session):
        return None
    rows = people.decisions[people.decisions["round"] == period]
    rows = rows if treatment == ALL else rows[rows["treatment"] == treatment]
    return DecisionSample.of(values, rows["session"].tolist())


def _edges(people: PeopleData, values: Floats) -> Floats:
    book = people.book
    if book.bins:
        middles = np.array([(low + high) / 2 for low, high, _ in book.bins])
        between = (middles[:-1] + middles[1:]) / 2
        return np.concatenate([[-math.inf], between, [math.inf]])
    low = min(values.min(), values.min() if book.low is None else book.low)
    high = max(values.max(), values.max() if book.high is None else book.high)
    whole = bool((values == np.round(values)).all())
    if whole and high - low <= BINS:
        return np.arange(math.floor(low) - 0.5, math.ceil(high) + 1.0)
    return np.linspace(low, high if high > low else low + 1, BINS + 1)


def _persons(people: PeopleData, played: Played) -> list[HumanLikeness]:
    """Shares of the variance between persons."""
    of_runs = _components(played.decisions, "run", "agent")
    rows = people.decisions
    columns = people.book.columns
    if rows is None or not (columns and columns.person and columns.round):
        of_people = likeness.Components(math.nan, math.nan)
        why = f"{people.name} does not say who decided in which period."
    else:
        of_people, why = _components(rows, "session", "person"), ""
    if math.isnan(of_runs.between):
        why = "no run has two agents with decisions in two rounds."
    elif not why and math.isnan(of_people.between):
        why = "no session has two persons with two decisions each."
    row = HumanLikeness(
        PERSONS, "all periods", of_people.share, of_runs.share,
        _quotient(of_runs.between, of_people.between), verdict=NOT_JUDGED if why else "", why=why,
    )  # fmt: skip
    return [row]


def _components(rows: pd.DataFrame, session: str, person: str) -> likeness.Components:
    groups, treatment = rows[session].astype(str), rows["treatment"].astype(str)
    who = treatment + "/" + groups + "/" + rows[person].astype(str)
    cells = treatment + "/" + groups + "/" + rows["round"].astype(str)
    return likeness.components(rows["value"], cells.tolist(), who.tolist())


def _quotient(top: float, bottom: float) -> float:
    return top / bottom if bottom > 0 else math.nan


def _treatment(people: PeopleData, parameters: Mapping[str, Any]) -> str:
    for name, wanted in people.book.treatments.items():
        if all(_equal(parameters.get(key), value) for key, value in wanted.items()):
            return name
    return ALL


def _unlike(people: PeopleData, given: Sequence[Mapping[str, Any]]) -> list[str]:
    """Parameters that differ from those of people's game; missing ones do not count."""
    differences: dict[str, None] = {}
    for parameters in given:
        for key, value in people.book.set.items():
            if key in parameters and not _equal(parameters[key], value):
                differences[
                    f"people played with {key} {value}, the runs with {parameters[key]}"
                ] = None
    return list(differences)


def _equal(first: Any, second: Any) -> bool:
    try:
        return abs(Fraction(str(first)) - Fraction(str(second))) < Fraction(1, 10**6)
    except (ValueError, ZeroDivisionError):
        return bool(first == second)


def picture(comparison: Comparison) -> Figure | None:
    """The distributions of people and runs, one panel per period, people above and runs below.

    Args:
        comparison: the comparison.

    Returns:
        None when no period has both.
    """
    cells = dict(list(comparison.cells.items())[:MOST_PANELS])
    if not cells:
        return None
    people, book = comparison.people, comparison.people.book
    runs = comparison.played.n_runs
    subtitle = f"{people.described}; {runs} run{'' if runs == 1 else 's'} below; dotted: means"
    if len(cells) < len(comparison.cells):
        subtitle += f"; the first {len(cells)} of {len(comparison.cells)} periods"
    title = f"How human: {comparison.played.scenario} and {people.name}"
    figure = plot_style.new_figure(title, subtitle, height=0.7 + 2.3 * len(cells))
    panels = figure.subplots(len(cells), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (name, (theirs, mine)) in zip(panels, cells.items(), strict=True):
        _panel(ax, people, theirs, mine)
        test = next(r for r in comparison.rows if r.level == DISTRIBUTION and r.of == name)
        p = "" if math.isnan(test.p) else f" (energy test, p = {test.p:.2g})"
        ax.set_title(f"{name[0].upper()}{name[1:]}: {test.verdict}{p}", loc="left",
                     fontsize=plot_style.LABEL)  # fmt: skip
    panels[-1].set_xlabel(f"{book.decision} ({book.unit})" if book.unit else book.decision,
                          fontsize=plot_style.LABEL)  # fmt: skip
    uneven = len({high - low for low, high, _ in book.bins}) > 1
    what = "Share for each number" if uneven else "Share of decisions"
    figure.supylabel(what, fontsize=plot_style.LABEL)
    return figure


MOST_PANELS = 6


def _panel(ax: Any, people: PeopleData, theirs: Floats, mine: Floats) -> None:
    bins = people.book.bins
    if bins:
        starts = np.array([low for low, *_ in bins])
        widths = np.array([high - low + 1 for low, high, _ in bins])
        edges = np.append(starts - 0.5, starts[-1] - 0.5 + widths[-1])
    else:
        edges = _edges(people, np.concatenate([theirs, mine]))
    width = np.diff(edges)
    uneven = bool(np.ptp(width) > 1e-9)  # then a bar is as high as the share of one number
    looks = ((theirs, 1, plot_style.GREY, "people"), (mine, -1, plot_style.BLUE, "runs"))
    for values, sign, color, name in looks:
        counts, _ = np.histogram(values, bins=edges)
        height = sign * counts / max(1, values.size) / (width if uneven else 1)
        ax.bar(
            edges[:-1], height, width=width, align="edge", color=color, linewidth=0.3,
            edgecolor=plot_style.BLACK, label=f"{name} ({values.size} decisions)",
        )  # fmt: skip
        mean = float(values.mean())
        ax.plot([mean, mean], [0, sign * np.abs(height).max() * 1.08], color=plot_style.BLACK,
                linewidth=1.4, linestyle=":")  # fmt: skip
    ax.axhline(0, color=plot_style.BLACK, linewidth=0.8)
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * abs(value):g} %")
    plot_style.plain_axes(ax)
    plot_style.add_legend(ax)


def said(comparison: Comparison) -> dict[str, Any]:
    """A comparison as JSON values, for ``humans.json``.

    Args:
        comparison: the comparison.
    """
    book, played = comparison.people.book, comparison.played
    return {
        "against": comparison.people.name,
        "people": book.who,
        "source": book.source,
        "licence": book.licence,
        "scenario": played.scenario,
        "decision": book.decision,
        "unit": book.unit,
        "runs": played.n_runs,
        "decisions": int(played.decisions["value"].notna().sum()),
        "without_value": int(played.decisions["value"].isna().sum()),
        "left_out": played.left_out,
        "unlike": list(played.unlike),
        "alpha": ALPHA,
        "factor": FACTOR,
        "verdicts": comparison.verdicts,
        "comparisons": [asdict(row) for row in comparison.rows],
    }


def votes_in_words(path: str | Path) -> str:
    """The number of people in recorded class games who identified a machine; ``""`` for none.

    Args:
        path: the recording.

    Raises:
        RecordingError: when the recording cannot be read.
    """
    votes = [read_votes(run) for run in load_runs(path)]
    rights = [right for vote in votes if vote is not None for right in vote.right]
    n, right = len(rights), sum(rights)
    return f"{right} of {n} people found a machine, or that none played." if n else ""


def lines_of(comparison: Comparison) -> list[str]:
    """A comparison as lines for the terminal: the verdict of each level, and its numbers.

    Args:
        comparison: the comparison.
    """
    played = comparison.played
    n = int(played.decisions["value"].notna().sum())
    runs = f"{played.n_runs} run{'' if played.n_runs == 1 else 's'} of {played.scenario}"
    people = f"{comparison.people.name}: {comparison.people.described}"
    lines = [f"{runs}, {n:,} decisions, compared with {people}"]
    lines += [f"Unlike: {difference}." for difference in played.unlike]
    lines += [f"{played.left_out}."] if played.left_out else []
    without = int(played.decisions["value"].isna().sum())
    lines += [f"{without:,} decisions have no value and do not count."] if without else []
    for i, (level, verdict) in enumerate(comparison.verdicts.items(), 1):
        lines.append(f"{i} {level[0].upper()}{level[1:]}: {verdict}")
        if level == DISTRIBUTION:
            lines += _table(comparison.rows)
        else:
            lines += [f"    {_line(row)}" for row in comparison.rows if row.level == level]
    lines.append("Persons")
    lines += [f"    {_line(row)}" for row in comparison.rows if row.level == PERSONS]
    return lines


def as_markdown(comparison: Comparison, files: Sequence[str] = ()) -> str:
    """A comparison as Markdown, with the definitions that a reader of a paper needs.

    Args:
        comparison: the comparison.
        files: names of pictures beside it.
    """
    book, played = comparison.people.book, comparison.played
    content = {
        "scenario": played.scenario,
        "people": comparison.people.name,
        "described": comparison.people.described,
        "licence": book.licence,
        "runs": played.n_runs,
        "decisions": f"{int(played.decisions['value'].notna().sum()):,}",
        "decision": f"{book.decision}, {book.unit}" if book.unit else book.decision,
        "unlike": list(played.unlike),
        "verdicts": list(comparison.verdicts.items()),
        "rows": [_cells(row) for row in comparison.rows],
        "files": [Verbatim(file) for file in files],
        "alpha": f"{ALPHA:g}",
        "factor": f"{FACTOR:g}",
    }
    template = resources.files(__package__).joinpath("humans.md.jinja").read_text("utf-8")
    return markdown(template, content)


def _cells(row: HumanLikeness) -> dict[str, str]:
    """One comparison as the cells of a table."""
    interval = "" if math.isnan(row.low) else f"{number(row.low)} to {number(row.high)}"
    if row.level == DISTRIBUTION and not math.isnan(row.high):
        interval = f"by chance up to {number(row.high)}"
    shown = {name: number(getattr(row, name)) for name in ("people", "runs", "value")}
    if row.level == INFERENCE:
        shown = dict.fromkeys(shown, "")
    return {
        "level": row.level, "of": row.of, **shown, "interval": interval, "p": p_value(row.p),
        "verdict": row.verdict, "why": row.why,
    }  # fmt: skip


def _table(rows: Sequence[HumanLikeness]) -> list[str]:
    """The third level, one line per period."""
    cells = {(row.level, row.of): row for row in rows}
    mine = [row for row in rows if row.level == DISTRIBUTION]
    lines = [f"    {_line(row)}" for row in mine if row.verdict == NOT_JUDGED]
    judged = [row for row in mine if (SPREAD, row.of) in cells]
    if not judged:
        return lines
    width = max(len(row.of) for row in judged)
    heads = f"{'people':>7} {'runs':>7} {'distance':>8} {'by chance':>9} {'p':>7}"
    table = [f"    {'mean of':<{width}} {heads}  variances"]
    for row in judged:
        spread = cells[SPREAD, row.of].value
        ratio = "none" if math.isnan(spread) else f"{spread:.2f}"
        table.append(
            f"    {row.of:<{width}} {number(row.people):>7} {number(row.runs):>7} "
            f"{number(row.value):>8} {number(row.high):>9} {p_value(row.p):>7}  "
            f"{ratio:<9}  {row.verdict}"
        )
    table.append("    distance: Wasserstein, and up to which chance alone goes")
    table.append("    variances: runs by people")
    return lines + table


def _line(row: HumanLikeness) -> str:
    """One comparison in words."""
    if row.verdict == NOT_JUDGED:
        unknown = NOT_JUDGED if row.level in LEVELS else f"{row.level} not known"
        return f"{row.of}: {unknown}: {row.why}"
    remark = f" ({row.why})" if row.why else ""
    match row.level:
        case "same inference":
            return f"{row.of}: {row.verdict}, {p_in_words(row.p)}{remark}"
        case "same effect":
            interval = f" [{number(row.low)}, {number(row.high)}]"
            return (
                f"{row.of}: {row.verdict}, people {number(row.people)}, runs {number(row.runs)}, "
                f"ratio {number(row.value)}{interval}{remark}"
            )
    shares = ["none" if math.isnan(share) else f"{share:.0%}" for share in (row.people, row.runs)]
    return (
        f"share of the variance between persons: {shares[0]} of people, {shares[1]} of runs; "
        f"variance between agents by that between people {number(row.value)}"
    )
