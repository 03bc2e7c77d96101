"""Measures of runs, and whether they support the published claims and ratios.

A measure is one number a run, and the run is the unit of all tests and intervals. Runs of two
conditions with the same seed share first positions, traits and orders: they are compared pair by
pair, unless one of them has no value or the pairs are too few for any verdict. Ratios of
conditions have intervals from a bootstrap that draws the runs of one seed together; where the
interval of the mean below the line holds 0, a ratio says nothing: it is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis import inference
from sabm_mesa.analysis.gradualness import excess_beyond_step, largest_step
from sabm_mesa.analysis.inference import Order, Side, SignificanceTest, runs_needed
from sabm_mesa.analysis.statistics import bootstrap_interval, settling_round
from sabm_mesa.minds.base import assumptions_of
from sabm_mesa.minds.specs import given_for
from sabm_mesa.models.declarations import MessageMeasure
from sabm_mesa.studies.experiments.design import (
    ALPHA,
    COMPARED,
    Claim,
    Data,
    Experiment,
    Measure,
    check_columns,
    classical_by_class,
)
from sabm_mesa.studies.experiments.plan import Plan, described, only_language_models, specs_of
from sabm_mesa.studies.experiments.running import Outcome, alike

Floats = npt.NDArray[np.float64]
_EVENTS = ("first", "settles")
"""Takes that look for an event, which may never happen."""
MOST_RUNS = 500
"""The largest number of runs a condition that is tried to find out how many would tell."""
Word = Literal["agrees", "assumed", "disagrees", "cannot tell", "not told"]
WORDS: tuple[Word, ...] = ("agrees", "assumed", "disagrees", "cannot tell", "not told")


def measured(outcome: Outcome) -> pd.DataFrame:
    """All measures of all runs.

    Args:
        outcome: the experiment.

    Returns:
        ``condition``, ``run``, ``seed``, ``measure`` and ``value`` (in the unit of the measure;
        NaN where a run has none), one row a run and measure.

    Raises:
        ParameterError: when the experiment names a column that the scenario does not have.
    """
    experiment = outcome.plan.experiment
    rows = []
    frames, declared = frames_of(outcome), outcome.plan.model.message_measures
    check_columns(experiment, {name: list(data.columns[3:]) for name, data in frames.items()})
    for measure in experiment.measures:
        data = frames[measure.data]
        by_run = dict(list(data.groupby(["condition", "run"])))
        for _, run in outcome.runs.iterrows():
            place = run["condition"], run["run"]
            value = value_of(measure, by_run[place], declared) if place in by_run else math.nan
            rows.append((run["condition"], run["run"], run["seed"], measure.name, value))
    return pd.DataFrame(rows, columns=["condition", "run", "seed", "measure", "value"])


def frames_of(outcome: Outcome) -> dict[Data, pd.DataFrame]:
    """The data of an experiment by the name that measures have for it.

    Args:
        outcome: the experiment.
    """
    return {
        "model": outcome.model_data, "agents": outcome.agent_data, "messages": outcome.messages,
        "honesty": outcome.honesty,
    }  # fmt: skip


def samples(values: pd.DataFrame, measure: str, condition: str) -> Floats:
    """The values of a measure in the runs of a condition, in the order of their seeds.

    Args:
        values: the measures, from `measured`.
        measure: the measure.
        condition: the condition.

    Returns:
        Shape (n_runs,).
    """
    mine = values[(values["measure"] == measure) & (values["condition"] == condition)]
    return mine.sort_values("seed")["value"].to_numpy(dtype=np.float64)


def value_of(
    measure: Measure, data: pd.DataFrame, declared: Mapping[str, MessageMeasure] | None = None
) -> float:
    """A measure of one run.

    Args:
        measure: the measure.
        data: the data of the run, with ``round`` and the columns of the measure.
        declared: the measures of messages that the scenario declares.

    Returns:
        The number; NaN when the run has no value.
    """
    ends = int(data["round"].max())
    first, last = (min(end, ends) if end >= 0 else max(0, ends + 1 + end) for end in measure.rounds)
    inside = data[data["round"].between(first, last)]
    if measure.agent:
        inside = inside[inside["agent"] == measure.agent]
    if declared and measure.take in declared:
        values_by_run = declared[measure.take].of(inside, max(measure.low, 0.0), measure.high)
        known = [float(value) for value in values_by_run.values() if value is not None]
        return min(known, default=measure.never)
    if measure.take in _OF_PATHS:
        found = _OF_PATHS[measure.take](measure, inside)
        return measure.never if math.isnan(found) and measure.take in _EVENTS else found
    values = inside[list(measure.columns)].to_numpy(dtype=np.float64, na_value=math.nan)
    values = values[~np.isnan(values)]
    return float(_OF_VALUES[measure.take](measure, values)) if values.size else math.nan


def _share(measure: Measure, values: Floats) -> float:
    return float(((values >= measure.low) & (values <= measure.high)).mean())


def _by_round(measure: Measure, data: pd.DataFrame) -> pd.Series[float]:
    """The mean of the columns, and of the agents, by round."""
    return data.groupby("round")[list(measure.columns)].mean().mean(axis=1).astype(float)


def _change(measure: Measure, data: pd.DataFrame) -> float:
    path = _by_round(measure, data)
    return float(path.iloc[-1] - path.iloc[0])


def _slope(measure: Measure, data: pd.DataFrame) -> float:
    path = _by_round(measure, data).dropna()
    if len(path) < 2:
        return math.nan
    if (path == path.iloc[0]).all():
        return 0.0  # a fit would leave an error of rounding
    return float(np.polyfit(path.index.to_numpy(dtype=float), path.to_numpy(), 1)[0])


def _first(measure: Measure, data: pd.DataFrame) -> float:
    values = data[list(measure.columns)].astype(float)
    holds = ((values >= measure.low) & (values <= measure.high)).all(axis=1)
    rounds = holds.groupby(data["round"]).all()
    met = rounds.index[rounds]
    return float(met[0]) if len(met) else math.nan


def _settles(measure: Measure, data: pd.DataFrame) -> float:
    paths = data[list(measure.columns)].to_numpy(dtype=float).T.tolist()
    return settling_round(paths, measure.high)


def _excess(measure: Measure, data: pd.DataFrame) -> float:
    return excess_beyond_step(_by_round(measure, data).dropna(), falling=measure.falling)


def _step(measure: Measure, data: pd.DataFrame) -> float:
    return largest_step(_by_round(measure, data).dropna(), falling=measure.falling)


_OF_VALUES: Mapping[str, Callable[[Measure, Floats], float]] = {
    "mean": lambda _, values: float(values.mean()),
    "sd": lambda _, values: float(values.std(ddof=0)),
    "min": lambda _, values: float(values.min()),
    "max": lambda _, values: float(values.max()),
    "sum": lambda _, values: float(values.sum()),
    "mode": lambda _, values: float(pd.Series(values).mode().iloc[0]),
    "share": _share,
}
_OF_PATHS: Mapping[str, Callable[[Measure, pd.DataFrame], float]] = {
    "change": _change,
    "slope": _slope,
    "first": _first,
    "settles": _settles,
    "excess": _excess,
    "step": _step,
}


def ratios(experiment: Experiment, values: pd.DataFrame) -> pd.DataFrame:
    """The ratios that an experiment names, beside the published ones.

    Runs of both conditions with the same seed are drawn together, as pairs, when both have them
    all; the interval of independent runs stands beside it.

    Args:
        experiment: the experiment.
        values: its measures, as `measured` returns them.

    Returns:
        One row a ratio: ``label``, ``measure``, ``condition``, ``than``, ``ratio`` with ``low`` and
        ``high``, ``low_unpaired`` and ``high_unpaired``, ``unpaired`` (why runs are not drawn in
        pairs; ``""`` when they are), ``published`` and ``source``.
    """
    rows = []
    for each in experiment.ratios:
        data = sample(values, [(each.measure, each.condition), (each.measure, each.than)], 0)
        above, below = (runs[~np.isnan(runs)] for runs in data.runs)
        ratio, *apart = ratio_of_means(above, below)
        limits = ratio_of_means(above, below, paired=True)[1:] if data.complete else apart
        place = each.label, each.measure, each.condition, each.than
        why = "" if data.complete else data.unpaired
        rows.append((*place, ratio, *limits, *apart, why, each.number, each.source))
    columns = ["label", "measure", "condition", "than", "ratio", "low", "high", "low_unpaired"]
    columns += ["high_unpaired", "unpaired", "published", "source"]
    return pd.DataFrame(rows, columns=columns)


def ratio_of_means(
    above: Floats, below: Floats, *, paired: bool = False, seed: int = 0
) -> tuple[float, float, float]:
    """The mean of some values relative to that of others, with its 95 % interval.

    Args:
        above: one number a run of the condition above the line.
        below: one number a run of the one below it.
        paired: whether run i of both has the same seed: the bootstrap then draws them together.
        seed: of the bootstrap.

    Returns:
        The ratio and the ends of its interval; NaN with fewer than 2 runs in a condition, or when
        the interval of the mean below the line holds 0.
    """
    if min(above.size, below.size) < 2:
        return (math.nan,) * 3
    low, high = bootstrap_interval(lambda drawn: drawn.mean(axis=-1), below, rng=seed).tolist()
    if low <= 0 <= high:
        return (math.nan,) * 3
    if paired:
        places = np.arange(above.size)
        found = bootstrap_interval(lambda drawn: _ratio(above[drawn], below[drawn]), places,
                                   rng=seed)  # fmt: skip
    else:
        found = bootstrap_interval(_ratio, above, below, rng=seed)
    low, high = found.tolist()
    return float(above.mean() / below.mean()), low, high


def _ratio(above: Floats, below: Floats) -> Floats:
    """The ratio of the means of each resample; NaN where the one below the line is 0."""
    top, bottom = above.mean(axis=-1), below.mean(axis=-1)
    ratio: Floats = np.divide(top, bottom, out=np.full_like(top, math.nan), where=bottom != 0)
    return ratio


@dataclass(frozen=True)
class Verdict:
    """The verdict of the runs on a claim.

    Attributes:
        claim: the claim.
        word: ``agrees``, ``disagrees`` or ``cannot tell``; ``assumed`` when it agrees because a
            mind that decided has it built in; ``not told`` of a claim about language models, when
            others decided in their place.
        test: the test of it.
        p: its two-sided p-value, corrected (Holm) for the number of claims; NaN without values,
            and when more runs would not tell.
        runs_needed: runs a condition with which this would tell, judged from these; None when it
            does tell, or when not even `MOST_RUNS` would.
        why: why it cannot be told, when that is not a matter of the number of runs; what the minds
            have built in, when it is assumed.
        unpaired: why runs with the same seed are not compared pair by pair; ``""`` when they are,
            and of claims about one condition.
        p_unpaired: the p-value of a paired claim if seeds did not matter, corrected likewise; else
            NaN.
        runs_unpaired: the runs a condition that would tell then; None when not even `MOST_RUNS`
            would, and of other claims.
    """

    claim: Claim
    word: Word
    test: SignificanceTest
    p: float
    runs_needed: int | None = None
    why: str = ""
    unpaired: str = ""
    p_unpaired: float = math.nan
    runs_unpaired: int | None = None


@dataclass(frozen=True)
class Sample:
    """The runs that a claim is about.

    Attributes:
        runs: one array a condition, in the order of the seeds.
        unpaired: why two conditions are compared as independent; ``""``: pair by pair.
        complete: whether all runs are in pairs, too few as they may be.
    """

    runs: Sequence[Floats]
    unpaired: str = ""
    complete: bool = False

    @property
    def paired(self) -> bool:
        """Whether runs are compared pair by pair."""
        return self.complete and not self.unpaired


def enough_pairs(runs: int, tests: int, alpha: float = ALPHA) -> bool:
    """Whether so many pairs can have a p-value at a level, corrected for several tests.

    Args:
        runs: the number of pairs; of their signs there are two to its power.
        tests: the number of tests that are corrected for.
        alpha: the level.
    """
    return 2 * max(1, tests) <= alpha * 2.0**runs


def sample(
    values: pd.DataFrame, places: Sequence[tuple[str, str]], tests: int, alpha: float = ALPHA
) -> Sample:
    """The runs of one condition, or of two in pairs where that is possible.

    Whether pairs are used depends on the seeds, on the runs that have a value and on the number of
    runs and tests, never on the values.

    Args:
        values: the measures, from `measured`.
        places: (measure, condition), one or two.
        tests: the number of tests that are corrected for.
        alpha: the level.
    """
    found = [samples(values, *place) for place in places]
    if len(places) < 2:
        return Sample(found)
    keys = values["measure"], values["condition"]
    mine = [values[(keys[0] == measure) & (keys[1] == name)] for measure, name in places]
    seeds = [sorted(each["seed"]) for each in mine]
    missing = sum(int(np.isnan(each).sum()) for each in found)
    if seeds[0] != seeds[1]:
        return Sample(found, "their seeds differ")
    if missing:
        runs = "1 run has" if missing == 1 else f"{missing} runs have"
        return Sample(found, f"{runs} no value")
    n = len(seeds[0])
    few = "" if enough_pairs(n, tests, alpha) else f"{n} pairs are too few for any verdict"
    return Sample(found, few, complete=True)


def _sample(values: pd.DataFrame, claim: Claim, tests: int, alpha: float) -> Sample:
    """The runs that a claim is about; of a gradual one its two measures of the same runs."""
    places = _places(claim)
    if claim.kind == "gradual":
        return Sample([samples(values, *place) for place in places])
    return sample(values, places, tests, alpha)


def verdicts(outcome: Outcome, values: pd.DataFrame) -> list[Verdict]:
    """A verdict on each claim of an experiment.

    Each claim is tested in both directions: it agrees when the test for it tells, disagrees when
    the test against it does, and else the runs cannot tell. Two one-sided tests a claim and the
    number of claims are corrected for after Holm 1979, at the level of the experiment in all.

    Args:
        outcome: the experiment.
        values: its measures, as `measured` returns them.
    """
    plan = outcome.plan
    values = _with_groups(plan.experiment, values)
    claims, tested, alpha = plan.experiment.claims, len(judged(plan)), plan.experiment.alpha
    data = [_sample(values, each, tested, alpha) for each in claims]
    apart = [replace(each, complete=False) for each in data]
    tests, unpaired = (
        [_test(claim, each) for claim, each in zip(claims, given, strict=True)]
        for given in (data, apart)
    )
    others = [_stand_in(claim, plan) for claim in claims]
    same = [_uninformative(claim, outcome) for claim in claims]
    assumed = [_assumed(claim, plan) for claim in claims]
    moot = [bool(other or why) for other, why in zip(others, same, strict=True)]
    raw, raw_unpaired = (
        [math.nan if no else two_sided(test) for test, no in zip(found, moot, strict=True)]
        for found in (tests, unpaired)
    )
    level = alpha / (2 * max(1, sum(not math.isnan(p) for p in raw)))
    given = zip(
        claims, tests, inference.holm(raw), data, others, same, assumed,
        inference.holm(raw_unpaired), strict=True,
    )  # fmt: skip
    found = [
        (Verdict(claim, "not told", test, float(p), why=other, unpaired=each.unpaired), "")
        if other
        else (_verdict(claim, test, float(p), each, why, float(p_apart), level, alpha), built_in)
        for claim, test, p, each, other, why, built_in, p_apart in given
    ]
    return [
        replace(each, word="assumed", why=built_in) if built_in and each.word == "agrees" else each
        for each, built_in in found
    ]


def two_sided(test: SignificanceTest) -> float:
    """The two-sided p-value of a test; NaN without values.

    Args:
        test: the test.
    """
    p = 2 * min(test.p_for, test.p_against)
    return p if math.isnan(p) else min(1.0, p)


def compare(
    values: pd.DataFrame, measure: str, one: str, other: str, tests: int
) -> SignificanceTest:
    """Test that a measure is less in one condition than in another, in pairs where possible.

    Args:
        values: the measures, from `measured`.
        measure: the measure.
        one: the condition.
        other: the condition it is compared with.
        tests: the number of tests that are corrected for.
    """
    found = sample(values, [(measure, one), (measure, other)], tests)
    order = inference.paired if found.paired else inference.two_sample
    return order(found.runs[0], found.runs[1], "less")


def _with_groups(experiment: Experiment, values: pd.DataFrame) -> pd.DataFrame:
    """The measures with those of groups: the mean of their conditions by seed; NaN without one."""
    tables = [values]
    for group in experiment.groups:
        mine = values[values["condition"].isin(group.conditions)]
        whole = mine.pivot_table(
            index=["measure", "seed"], columns="condition", values="value", dropna=False
        ).mean(axis=1, skipna=False)  # fmt: skip
        tables.append(whole.rename("value").reset_index().assign(condition=group.name))
    return pd.concat(tables, ignore_index=True) if experiment.groups else values


def concerned(claim: Claim) -> list[str]:
    """The conditions or groups that a claim is about: one, or the two that it compares.

    Args:
        claim: the claim.
    """
    return [condition for _, condition in _places(claim)]


def _places(claim: Claim) -> list[tuple[str, str]]:
    """The measure and condition of a claim, and those that it compares them with."""
    place = claim.measure, claim.condition
    other = claim.than_measure or claim.measure, claim.than or claim.condition
    return [place, other] if claim.kind in (*COMPARED, "gradual") else [place]


def effect_by_seed(experiment: Experiment, values: pd.DataFrame, claim: Claim) -> pd.Series[float]:
    """The quantity that a claim is about, in the runs of each seed.

    Args:
        experiment: the experiment.
        values: its measures, as `measured` returns them.
        claim: the claim.

    Returns:
        Seed → the measure, or the difference of the two that are compared; NaN where a run has no
        value. The claim says that it is on the inner side of each of its `limits`.
    """
    values = _with_groups(experiment, values)
    found = []
    for measure, condition in _places(claim):
        mine = values[(values["measure"] == measure) & (values["condition"] == condition)]
        found.append(mine.set_index("seed")["value"].astype(float).sort_index())
    return found[0] - found[1] if claim.kind in COMPARED else found[0]


def limits(claim: Claim) -> list[tuple[int, float]]:
    """The limits of a claim: on which side the quantity of `effect_by_seed` is said to be.

    Args:
        claim: the claim.

    Returns:
        (1, limit) where it is above it, (−1, limit) where it is below it: one, or both.
    """
    match claim.kind:
        case "below":
            return [(-1, claim.value)]
        case "above":
            return [(1, claim.value)]
        case "less":
            return [(-1, 0.0)]
        case "more" | "gradual":
            return [(1, 0.0)]
        case "like":
            return [(1, -claim.margin), (-1, claim.margin)]
        case "within":
            ends = [(1, claim.low), (-1, claim.high)]
            return [(side, end) for side, end in ends if math.isfinite(end)]


def why_not_judged(plan: Plan, claim: Claim) -> str:
    """Why these minds cannot judge a claim, whatever their runs give; ``""`` when they can.

    Args:
        plan: the experiment.
        claim: the claim.
    """
    if other := _stand_in(claim, plan):
        return other
    return "both conditions are one and the same request" if _one_request(claim, plan) else ""


def judged(plan: Plan) -> list[Claim]:
    """The claims that runs of a plan can judge.

    Left out are claims about language models when others decide, and comparisons of one and the
    same request with itself.

    Args:
        plan: the experiment.
    """
    return [claim for claim in plan.experiment.claims if not why_not_judged(plan, claim)]


def _test(claim: Claim, data: Sample) -> SignificanceTest:
    first, *others = data.runs
    match claim.kind:
        case "below" | "above":
            return inference.one_sample(first, claim.value, claim.kind)
        case "within":
            return inference.within(first, claim.low, claim.high)
        case "less" | "more":
            order = inference.paired if data.paired else inference.two_sample
            return order(first, others[0], claim.kind)
        case "like":
            alike = inference.paired_equivalent if data.paired else inference.equivalent
            return alike(first, others[0], claim.margin)
        case "gradual":
            found = inference.one_sample(first, 0.0, "above")
            return replace(found, p_against=inference.one_sample(others[0], 0.0, "above").p_for)


def _p_values(claim: Claim, *, of_claim: bool, paired: bool) -> Callable[..., Floats]:
    """The p-values of many samples at once, for the claim or against it; of pairs: differences."""
    match claim.kind:
        case "gradual":
            return partial(inference.one_sample_p, value=0.0, side="above")
        case "below" | "above":
            side: Side = "above" if (claim.kind == "above") == of_claim else "below"
            return partial(inference.one_sample_p, value=claim.value, side=side)
        case "within":
            band = inference.within_p if of_claim else inference.outside_p
            return partial(band, low=claim.low, high=claim.high)
        case "less" | "more":
            order: Order = "more" if (claim.kind == "more") == of_claim else "less"
            if paired:
                side = "above" if order == "more" else "below"
                return partial(inference.one_sample_p, value=0.0, side=side)
            return partial(inference.two_sample_p, order=order)
        case "like":
            if paired:
                band = inference.within_p if of_claim else inference.outside_p
                return partial(band, low=-claim.margin, high=claim.margin)
            alike = inference.equivalent_p if of_claim else inference.different_p
            return partial(alike, margin=claim.margin)


def _runs_needed(
    claim: Claim,
    test: SignificanceTest,
    data: Sample,
    level: float,
    *,
    paired: bool,
    power: float = 0.8,
) -> int | None:
    towards = _p_values(claim, of_claim=test.p_for <= test.p_against, paired=paired)
    drawn = [data.runs[0] - data.runs[1]] if paired else data.runs
    if claim.kind == "gradual":
        drawn = [data.runs[0 if test.p_for <= test.p_against else 1]]
    return runs_needed(towards, drawn, level, power, most=MOST_RUNS)


def runs_to_tell(
    experiment: Experiment, claim: Claim, values: pd.DataFrame, power: float
) -> int | None:
    """The runs a condition with which a claim would be told, tested alone.

    Args:
        experiment: the experiment, for its level and its groups.
        claim: the claim.
        values: measures of other runs, such as those of a pilot, as `measured` returns them.
        power: the power, between 0 and 1.

    Returns:
        The number; None when not even `MOST_RUNS` would, or there are fewer than 2 runs.
    """
    data = _sample(_with_groups(experiment, values), claim, 1, experiment.alpha)
    paired = data.complete or data.paired
    test = _test(claim, data)
    return _runs_needed(claim, test, data, experiment.alpha / 2, paired=paired, power=power)


def _verdict(
    claim: Claim, test: SignificanceTest, p: float, data: Sample, why: str, p_unpaired: float,
    level: float, alpha: float,
) -> Verdict:  # fmt: skip
    """The verdict on a claim that these minds can decide.

    Args:
        claim: the claim.
        test: the test of it.
        p: its corrected p-value.
        data: the runs.
        why: why the runs say nothing of it, or ``""``.
        p_unpaired: its corrected p-value without pairs.
        level: the level of a one-sided p-value that counts when power is judged.
        alpha: the level of a corrected p-value.
    """
    if math.isnan(test.p_for):
        why = "no run here has a value of this measure"
    tell: Word = "agrees" if test.p_for < test.p_against else "disagrees"
    made = Verdict(claim, "cannot tell" if why or p > alpha else tell, test, p, why=why,
                   unpaired=data.unpaired)  # fmt: skip
    if why:
        return made
    need = partial(_runs_needed, claim, test, data, level)
    if data.paired:
        made = replace(made, p_unpaired=p_unpaired, runs_unpaired=need(paired=False))
    if made.word != "cannot tell":
        return made
    ways = [True] if data.paired else [False, True] if data.complete else [False]
    found = [n for n in (need(paired=way) for way in ways) if n is not None]
    return replace(made, runs_needed=min(found, default=None))


def _stand_in(claim: Claim, plan: Plan) -> str:
    """The minds that stand in for language models of a claim; ``""`` when all are some."""
    here: dict[str, None] = {}
    members = [name for each in concerned(claim) for name in plan.experiment.members(each)]
    for name in members:
        published = plan.experiment.condition(name).minds
        if "llm:" in published and not only_language_models(plan.minds[name]):
            here[f"{described(plan.minds[name])} minds stand in for {published}"] = None
    return ", and ".join(here).replace("llm:", "")


def _assumed(claim: Claim, plan: Plan) -> str:
    """The assumption of a claim, where its classical minds have it built in; else ``""``."""
    if not claim.assumption:
        return ""
    for name in (each for group in concerned(claim) for each in plan.experiment.members(group)):
        for agents, known in classical_by_class(plan.model_of(name)).items():
            minds = plan.minds[name]
            for spec in specs_of(given_for(agents, minds, "classical") if agents else minds):
                kind, _, mind = spec.partition(":")
                maker = known.get(mind or "default") if kind == "classical" else None
                if claim.assumption in (built_in := assumptions_of(maker)):
                    return f"built in: {built_in[claim.assumption]}"
    return ""


def _uninformative(claim: Claim, outcome: Outcome) -> str:
    """Why the runs say nothing of a claim, however many there are; ``""`` when they may."""
    names = concerned(claim)
    experiment = outcome.plan.experiment
    of = {each.name: each.label for each in experiment.conditions}
    of |= {each.name: each.label for each in experiment.groups}
    if _one_request(claim, outcome.plan):
        return (
            f"{of[names[0]]} and {of[names[1]]} are one and the same request with these minds, so "
            "that any difference between them is chance"
        )
    data = {name: _numbers(outcome, name) for name in names}
    if len(data) == 2 and data[names[0]].equals(data[names[1]]):
        return (
            f"the runs of {of[names[0]]} and {of[names[1]]} are the same, number for number: these "
            "minds do not notice the difference, and more runs would not help"
        )
    for name, mine in data.items():
        runs = [run.drop(columns="seed").to_numpy() for _, run in mine.groupby("seed")]
        if len(runs) > 1 and all(_same(runs[0], run) for run in runs[1:]):
            return (
                f"all runs of {of[name]} are the same, number for number: they count as one, and "
                "more runs would not help"
            )
    return ""


def _one_request(claim: Claim, plan: Plan) -> bool:
    """Whether the two conditions that a claim compares have the same parameters and minds."""
    names = set(concerned(claim))
    return len(names) == 2 and any(names <= set(group) for group in alike(plan))


def _same(one: Any, other: Any) -> bool:
    return pd.DataFrame(one).equals(pd.DataFrame(other))


def _numbers(outcome: Outcome, condition: str) -> pd.DataFrame:
    data = outcome.model_data
    mine = data[data["condition"].isin(outcome.plan.experiment.members(condition))]
    mine = mine.sort_values(["seed", "condition", "round"])
    return mine.drop(columns=["condition", "run"]).reset_index(drop=True)
