"""Measures of runs, and whether they support the published claims.

A measure is one number per run, and the run is the unit of all tests and intervals: rounds and
agents are clustered in their run. The verdicts are those of `sabm_mesa.analysis.tests`. Runs of
two conditions with the same seed share first positions, traits and orders: they are compared pair
by pair.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis.intervals import settling_round
from sabm_mesa.analysis.tests import (
    MOST_RUNS,
    Estimand,
    Inference,
    holm,
    infer,
    infer_of,
    runs_needed,
)
from sabm_mesa.errors import ParameterError
from sabm_mesa.minds.base import assumptions_of
from sabm_mesa.minds.specs import given_for
from sabm_mesa.models.declarations import MessageMeasure
from sabm_mesa.studies.experiments.design import (
    COMPARED,
    Claim,
    Data,
    Experiment,
    Measure,
    bounds_of,
    check_columns,
    classical_by_class,
    is_own,
    measures_of,
    of_claim,
)
from sabm_mesa.studies.experiments.plan import Plan, described, only_language_models, specs_of
from sabm_mesa.studies.experiments.running import Outcome, alike

Floats = npt.NDArray[np.float64]
_EVENTS = ("first", "settles")
"""Takes that search for an event, which may never happen."""
Word = Literal[
    "agrees", "agrees, with another model", "assumed", "disagrees",
    "disagrees, with another model", "effects differ", "no difference detected", "inconclusive",
    "too few runs", "not judged",
]  # fmt: skip
WORDS: tuple[Word, ...] = get_args(Word)
ANOTHER = ", with another model"
"""The end of a verdict on a claim about named models when another language model decided."""


def measured(outcome: Outcome) -> pd.DataFrame:
    """All measures of all runs.

    Args:
        outcome: the experiment.

    Returns:
        ``condition``, ``run``, ``seed``, ``measure`` and ``value`` (in the unit of the measure;
        NaN if a run has none), one row per run and measure.

    Raises:
        ParameterError: when the scenario lacks a column of the experiment.
    """
    experiment = outcome.plan.experiment
    rows = []
    frames, declared = frames_of(outcome), outcome.plan.model.message_measures
    check_columns(experiment, {name: list(data.columns[3:]) for name, data in frames.items()})
    for measure in experiment.measures:
        data = frames[measure.data]
        by_run = dict(list(data.groupby(["condition", "run"])))
        for _, run in outcome.runs.iterrows():
            key = run["condition"], run["run"]
            value = value_of(measure, by_run[key], declared) if key in by_run else math.nan
            rows.append((run["condition"], run["run"], run["seed"], measure.name, value))
    return pd.DataFrame(rows, columns=["condition", "run", "seed", "measure", "value"])


def frames_of(outcome: Outcome) -> dict[Data, pd.DataFrame]:
    """The data of an experiment, by their names in measures.

    Args:
        outcome: the experiment.
    """
    decided = outcome.plan.model.decided_rounds
    return {
        "model": decided(outcome.model_data), "agents": decided(outcome.agent_data),
        "messages": outcome.messages,
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
        taken = _OF_PATHS[measure.take](measure, inside)
        return measure.never if math.isnan(taken) and measure.take in _EVENTS else taken
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


def _trend(measure: Measure, data: pd.DataFrame) -> float:
    """Kendall's tau of the values and their rounds; 0 if all values are the same."""
    from scipy.stats import kendalltau  # slow to import

    path = _by_round(measure, data).dropna()
    if len(path) < 2:
        return math.nan
    if (path == path.iloc[0]).all():
        return 0.0
    return float(kendalltau(path.index, path).statistic)


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
    "trend": _trend,
}


@dataclass(frozen=True)
class Verdict:
    """The verdict of the runs on a claim.

    Attributes:
        claim: the claim.
        word: ``agrees``, ``disagrees``, ``inconclusive``, or ``too few runs`` when no valid test
            can show the claim with this number of runs. ``agrees, with another model`` (and
            ``disagrees, …``) of a claim about named models when another language model decided.
            ``assumed`` when it agrees because it is an assumption of a mind that decided;
            ``not judged`` for a claim about language models when other minds decided. For
            `equal_effects` without a margin: ``effects differ`` or ``no difference detected``.
        test: the inference from the runs.
        p: its two-sided p-value, corrected (Holm) for the number of claims; NaN without values, and
            when more runs would not help.
        runs_needed: the number of runs per condition that a clear verdict would need, if the truth
            is as these runs are; ``""`` for a clear verdict, and when more runs would not help.
        why: why it is not judged, or the assumption of the minds.
        unpaired: why runs with the same seed are not compared pair by pair; ``""`` when they are,
            and for claims about one condition.
    """

    claim: Claim
    word: Word
    test: Inference
    p: float
    runs_needed: str = ""
    why: str = ""
    unpaired: str = ""


@dataclass(frozen=True)
class Sample:
    """The runs that a claim is about.

    Attributes:
        runs: one array per condition, in the order of the seeds.
        unpaired: why conditions are compared as independent; ``""``: pair by pair.
    """

    runs: Sequence[Floats]
    unpaired: str = ""

    @property
    def paired(self) -> bool:
        """Whether runs are compared pair by pair."""
        return len(self.runs) > 1 and not self.unpaired


def sample(values: pd.DataFrame, places: Sequence[tuple[str, str]]) -> Sample:
    """The runs of one condition, or of several, in pairs if their seeds are the same.

    Args:
        values: the measures, from `measured`.
        places: (measure, condition), one, two or four.
    """
    groups = [samples(values, *target) for target in places]
    keys = values["measure"], values["condition"]
    mine = [values[(keys[0] == measure) & (keys[1] == name)] for measure, name in places]
    seeds = [sorted(group["seed"]) for group in mine]
    return Sample(groups, "" if all(seed == seeds[0] for seed in seeds) else "their seeds differ")


def estimand_of(experiment: Experiment, claim: Claim, *, paired: bool = True) -> Estimand:
    """The estimand of a claim, with its limits.

    Args:
        experiment: the experiment.
        claim: the claim.
        paired: whether runs of several conditions are compared pair by pair.
    """
    measure = experiment.measure(claim.measure)
    of = of_claim(measure, claim)
    groups = {group.name for group in experiment.groups}
    bounds = None if of == "share" else bounds_of(experiment, *measures_of(claim))
    if of == "share" and groups & set(concerned(claim)):
        # The run of a group is the share of its conditions: a number from 0 to 1.
        of, bounds = "mean", (0.0, 1.0)
    above = next((limit for side, limit in limits(claim) if side > 0), None)
    below = next((limit for side, limit in limits(claim) if side < 0), None)
    n_groups = len(_places(claim))
    return Estimand(of, n_groups, above, below, bounds, paired and n_groups > 1)


def verdicts(outcome: Outcome, values: pd.DataFrame) -> list[Verdict]:
    """A verdict on each claim of an experiment.

    Each claim is tested in both directions: it agrees when the test for it is significant,
    disagrees when the test against it is, and otherwise the runs are inconclusive. The p-values are
    corrected for two one-sided tests per claim and the number of claims (Holm 1979), at the level
    of the experiment.

    Args:
        outcome: the experiment.
        values: its measures, as `measured` returns them.

    Raises:
        ParameterError: when a run has a value that the estimand of a claim does not allow.
    """
    plan = outcome.plan
    experiment = plan.experiment
    values = _with_groups(experiment, values)
    claims = experiment.claims
    data = [sample(values, _places(claim)) for claim in claims]
    tests = [_test(experiment, *pair) for pair in zip(claims, data, strict=True)]
    others = [_stand_in(claim, plan) for claim in claims]
    same = [_uninformative(claim, outcome) for claim in claims]
    raw = [
        math.nan if other or why else test.p
        for test, other, why in zip(tests, others, same, strict=True)
    ]
    level = experiment.alpha / (2 * max(1, sum(not math.isnan(p) for p in raw)))
    corrected = holm(raw).tolist()
    judged = []
    for claim, test, p, runs, other, why in zip(
        claims, tests, corrected, data, others, same, strict=True
    ):
        if other:
            verdict = Verdict(claim, "not judged", test, p, why=other, unpaired=runs.unpaired)
        else:
            verdict = _verdict(experiment, claim, test, p, runs, why, level)
            built_in = _assumed(claim, plan)
            if built_in and verdict.word == "agrees":
                verdict = replace(verdict, word="assumed", why=built_in)
            elif verdict.word in ("agrees", "disagrees") and (named := _another(claim, plan)):
                verdict = replace(verdict, word=cast("Word", verdict.word + ANOTHER), why=named)
        judged.append(verdict)
    return judged


def compare(values: pd.DataFrame, measure: str, one: str, other: str) -> tuple[Inference, Sample]:
    """The median difference of a measure between two conditions, in pairs where possible.

    Args:
        values: the measures, from `measured`.
        measure: the measure.
        one: the condition.
        other: the condition it is compared with.
    """
    pairs = sample(values, [(measure, one), (measure, other)])
    return infer(*pairs.runs, paired=pairs.paired), pairs


def _with_groups(experiment: Experiment, values: pd.DataFrame) -> pd.DataFrame:
    """The measures with those of groups: means of conditions by seed; NaN if one is missing."""
    tables = [values]
    for group in experiment.groups:
        mine = values[values["condition"].isin(group.conditions)]
        whole = mine.pivot_table(
            index=["measure", "seed"], columns="condition", values="value", dropna=False
        ).mean(axis=1, skipna=False)  # fmt: skip
        tables.append(whole.rename("value").reset_index().assign(condition=group.name))
    return pd.concat(tables, ignore_index=True) if experiment.groups else values


def concerned(claim: Claim) -> list[str]:
    """The conditions or groups of a claim: one, or the two compared ones.

    Args:
        claim: the claim.
    """
    return [condition for _, condition in _places(claim)]


def _places(claim: Claim) -> list[tuple[str, str]]:
    """The measure and condition of a claim, and the compared ones."""
    target = claim.measure, claim.condition
    other = claim.than_measure or claim.measure, claim.than or claim.condition
    if claim.kind == "equal_effects":
        return [target, other, *((claim.measure, name) for name in claim.other_effect)]
    return [target, other] if claim.kind in COMPARED else [target]


def effect_by_seed(experiment: Experiment, values: pd.DataFrame, claim: Claim) -> pd.Series[float]:
    """The quantity of a claim, in the runs of each seed.

    Args:
        experiment: the experiment.
        values: its measures, as `measured` returns them.
        claim: the claim.

    Returns:
        Seed → the measure, or the difference of the two that are compared; NaN if a run has no
        value. The claim says that it is on the inner side of each of its `limits`.
    """
    values = _with_groups(experiment, values)
    series = []
    for measure, condition in _places(claim):
        mine = values[(values["measure"] == measure) & (values["condition"] == condition)]
        series.append(mine.set_index("seed")["value"].astype(float).sort_index())
    if claim.kind == "equal_effects":
        return (series[0] - series[1]) - (series[2] - series[3])
    return series[0] - series[1] if claim.kind in COMPARED else series[0]


def limits(claim: Claim) -> list[tuple[int, float]]:
    """The limits of a claim on the quantity of `effect_by_seed`, with their sides.

    Args:
        claim: the claim.

    Returns:
        (1, limit) for a lower limit, (−1, limit) for an upper limit: one, or both.
    """
    match claim.kind:
        case "below":
            return [(-1, claim.value)]
        case "above":
            return [(1, claim.value)]
        case "less":
            return [(-1, 0.0)]
        case "more":
            return [(1, 0.0)]
        case "trend":
            return [(-1 if claim.falling else 1, claim.value)]
        case "like" | "equal_effects":
            return [(1, -claim.margin), (-1, claim.margin)] if claim.margin else []
        case "within":
            ends = [(1, claim.low), (-1, claim.high)]
            return [(side, end) for side, end in ends if math.isfinite(end)]


def why_not_judged(plan: Plan, claim: Claim) -> str:
    """Why these minds cannot judge a claim, whatever their runs are; ``""`` when they can.

    Args:
        plan: the experiment.
        claim: the claim.
    """
    if other := _stand_in(claim, plan):
        return other
    return "both conditions are one and the same request" if _one_request(claim, plan) else ""


def judged(plan: Plan) -> list[Claim]:
    """The claims that runs of a plan can judge.

    Left out are claims about language models when other minds decide, and comparisons of identical
    requests.

    Args:
        plan: the experiment.
    """
    return [claim for claim in plan.experiment.claims if not why_not_judged(plan, claim)]


def _test(experiment: Experiment, claim: Claim, data: Sample) -> Inference:
    estimand = estimand_of(experiment, claim, paired=data.paired)
    try:
        return infer_of(estimand, *data.runs, level=experiment.alpha / 2)
    except ValueError as error:
        raise ParameterError(
            f"Experiment {experiment.name}, claim {claim.text!r}, measure {claim.measure}: {error}."
        ) from None


def runs_to_tell(
    experiment: Experiment, claim: Claim, values: pd.DataFrame, power: float
) -> int | None:
    """The number of runs per condition with which a claim would be detected, tested alone.

    Args:
        experiment: the experiment, for its level and its groups.
        claim: the claim.
        values: measures of other runs, such as those of a pilot, as `measured` returns them.
        power: the power, between 0 and 1.
    """
    data = sample(_with_groups(experiment, values), _places(claim))
    estimand = estimand_of(experiment, claim, paired=data.paired)
    return runs_needed(estimand, data.runs, experiment.alpha / 2, power)


def _verdict(
    experiment: Experiment, claim: Claim, test: Inference, p: float, data: Sample, why: str,
    level: float,
) -> Verdict:  # fmt: skip
    """The verdict on a claim that these minds can judge.

    Args:
        experiment: the experiment.
        claim: the claim.
        test: the test of it.
        p: its corrected p-value.
        data: the runs.
        why: why the runs cannot judge it, or ``""``.
        level: the level of one-sided tests for the power.
    """
    if not min(test.n):
        why = "no run here has a value for this measure"
    word = cast("Word", test.verdict)
    if why or (word in ("agrees", "disagrees") and p > experiment.alpha):
        word = "inconclusive"
    elif word == "effects differ" and p > experiment.alpha:
        word = "no difference detected"
    elif word == "too few runs":
        why = test.why
    made = Verdict(claim, word, test, p, why=why, unpaired=data.unpaired)
    if word != "inconclusive" or why:
        return made
    more = runs_needed(test.estimand, data.runs, level)
    words = f"more than {MOST_RUNS} runs" if more is None else f"about {more} runs"
    return replace(made, runs_needed=words)


def _stand_in(claim: Claim, plan: Plan) -> str:
    """The minds that replace language models of a claim; ``""`` when all are language models."""
    here: dict[str, None] = {}
    members = [name for group in concerned(claim) for name in plan.experiment.members(group)]
    for name in members:
        published = plan.experiment.condition(name).minds
        if "llm:" in published and not only_language_models(plan.minds[name]):
            here[f"{described(plan.minds[name])} minds stand in for {published}"] = None
    return ", and ".join(here).replace("llm:", "")


def _another(claim: Claim, plan: Plan) -> str:
    """The language models that decided although the claim names others; ``""`` for none."""
    notes: dict[str, None] = {}
    for name in (member for group in concerned(claim) for member in plan.experiment.members(group)):
        published = plan.experiment.condition(name).minds or plan.experiment.minds
        named = set(re.findall(r"llm:([^\s,]+)", published))
        decided = {
            match.group(1)
            for spec in specs_of(plan.minds[name])
            if (match := re.match(r"llm:([^@]+)", spec))
        }
        if named and (others := decided - named):
            word = "planned for" if is_own(plan.experiment) else "published of"
            notes[f"{word} {', '.join(sorted(named))}, here {', '.join(sorted(others))}"] = None
    return "; ".join(notes)


def _assumed(claim: Claim, plan: Plan) -> str:
    """The assumption of a claim, if its classical minds make it; else ``""``."""
    if not claim.assumption:
        return ""
    for name in (member for group in concerned(claim) for member in plan.experiment.members(group)):
        for agents, known in classical_by_class(plan.model_of(name)).items():
            minds = plan.minds[name]
            for spec in specs_of(given_for(agents, minds, "classical") if agents else minds):
                kind, _, mind = spec.partition(":")
                maker = known.get(mind or "default") if kind == "classical" else None
                if claim.assumption in (built_in := assumptions_of(maker)):
                    return f"built in: {built_in[claim.assumption]}"
    return ""


def _uninformative(claim: Claim, outcome: Outcome) -> str:
    """Why runs cannot judge a claim, however many there are; ``""`` when they can."""
    names = concerned(claim)
    experiment = outcome.plan.experiment
    of = {condition.name: condition.label for condition in experiment.conditions}
    of |= {group.name: group.label for group in experiment.groups}
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
