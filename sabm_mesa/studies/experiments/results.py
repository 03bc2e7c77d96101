"""The results of an experiment: measures, estimates, comparisons, and verdicts on its claims.

A measure is one number per run, and the run is the unit of all tests and intervals: rounds and
agents are clustered in their run. Runs of the same seed share first positions, traits and orders:
conditions are compared pair by pair.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, cast, get_args

import numpy as np
import pandas as pd

from sabm_mesa.analysis.intervals import Floats, estimate_mean, mean_by_round, settling_round
from sabm_mesa.analysis.tests import MOST_RUNS, Inference, holm, infer, runs_needed
from sabm_mesa.errors import ParameterError
from sabm_mesa.minds.base import assumptions_of
from sabm_mesa.minds.specs import given_for, language_model
from sabm_mesa.models.declarations import MessageMeasure
from sabm_mesa.studies.experiments.claims import Claim
from sabm_mesa.studies.experiments.running import Outcome, Plan, described, specs_of
from sabm_mesa.studies.experiments.schema import (
    Experiment,
    Measure,
    check_columns,
    classical_by_class,
)

Word = Literal[
    "agrees", "agrees, with another model", "assumed", "disagrees",
    "disagrees, with another model", "effects differ", "no difference detected", "inconclusive",
    "too few runs", "not judged",
]  # fmt: skip
WORDS: tuple[Word, ...] = get_args(Word)


# Measures.


def measured(outcome: Outcome) -> pd.DataFrame:
    """All measures of all runs, one row per run and measure; NaN if a run has no value."""
    experiment = outcome.plan.experiment
    rows = []
    frames, declared = outcome.frames, outcome.plan.model.study.message_measures
    check_columns(experiment, {name: list(data.columns[3:]) for name, data in frames.items()})
    for measure in experiment.measures:
        by_run = dict(list(frames[measure.data].groupby(["condition", "run"])))
        for _, run in outcome.runs.iterrows():
            key = run["condition"], run["run"]
            value = value_of(measure, by_run[key], declared) if key in by_run else math.nan
            rows.append((run["condition"], run["run"], run["seed"], measure.name, value))
    return pd.DataFrame(rows, columns=["condition", "run", "seed", "measure", "value"])


def samples(values: pd.DataFrame, measure: str, condition: str) -> Floats:
    """The values of a measure in the runs of a condition, in the order of their seeds."""
    runs: Floats = np.asarray(_by_seed(values, measure, condition), dtype=np.float64)
    return runs


def _by_seed(values: pd.DataFrame, measure: str, condition: str) -> pd.Series[float]:
    mine = values[(values["measure"] == measure) & (values["condition"] == condition)]
    return mine.set_index("seed")["value"].astype(float).sort_index()


def value_of(
    measure: Measure, data: pd.DataFrame, declared: Mapping[str, MessageMeasure] | None = None
) -> float:
    """A measure of one run; NaN when the run has no value."""
    ends = int(data["round"].max())
    first, last = (min(end, ends) if end >= 0 else max(0, ends + 1 + end) for end in measure.rounds)
    inside = data[data["round"].between(first, last)]
    if measure.agent:
        inside = inside[inside["agent"] == measure.agent]
    if declared and measure.take in declared:
        values_by_run = declared[measure.take].of(inside, max(measure.low, 0.0), measure.high)
        known = [float(value) for value in values_by_run.values() if value is not None]
        return min(known, default=measure.never)
    columns = list(measure.columns)
    match measure.take:
        case "change" | "slope" | "trend":
            return _of_path(measure.take, inside.groupby("round")[columns].mean().mean(axis=1))
        case "first":
            cells = inside[columns].astype(float)
            holds = ((cells >= measure.low) & (cells <= measure.high)).all(axis=1)
            rounds = holds.groupby(inside["round"]).all()
            return float(rounds.index[rounds][0]) if rounds.any() else measure.never
        case "settles":
            settled = settling_round(inside[columns].to_numpy(dtype=float).T.tolist(), measure.high)
            return measure.never if math.isnan(settled) else settled
    values = inside[columns].to_numpy(dtype=np.float64, na_value=math.nan)
    values = values[~np.isnan(values)]
    return _of_values(measure, values) if values.size else math.nan


def _of_values(measure: Measure, values: Floats) -> float:
    match measure.take:
        case "share":
            return float(((values >= measure.low) & (values <= measure.high)).mean())
        case "mode":
            return float(pd.Series(values).mode().iloc[0])
        case "sd":
            return float(values.std(ddof=0))
    return float(getattr(values, measure.take)())


def _of_path(take: str, path: pd.Series[float]) -> float:
    """The change, slope or trend of the means by round."""
    from scipy.stats import kendalltau  # slow to import

    path = path.astype(float)
    if take == "change":
        return float(path.iloc[-1] - path.iloc[0])
    path = path.dropna()
    if len(path) < 2:
        return math.nan
    if (path == path.iloc[0]).all():
        return 0.0  # a fit would leave an error of rounding
    if take == "trend":
        return float(kendalltau(path.index, path).statistic)
    return float(np.polyfit(path.index.to_numpy(dtype=float), path.to_numpy(), 1)[0])


# Verdicts.


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
    """

    claim: Claim
    word: Word
    test: Inference
    p: float
    runs_needed: str = ""
    why: str = ""


def verdicts(outcome: Outcome, values: pd.DataFrame) -> list[Verdict]:
    """A verdict on each claim of an experiment.

    Each claim is tested in both directions: it agrees when the test for it is significant,
    disagrees when the test against it is, and otherwise the runs are inconclusive. The p-values are
    corrected for two one-sided tests per claim and the number of claims (Holm 1979), at the level
    of the experiment.
    """
    plan, experiment = outcome.plan, outcome.plan.experiment
    data = [runs_of(experiment, values, claim) for claim in experiment.claims]
    tests, others, moot = [], [], []
    for claim, runs in zip(experiment.claims, data, strict=True):
        of, bounds = experiment.statistic(claim)
        try:
            tests.append(claim.test(*runs, of=of, bounds=bounds, level=experiment.alpha / 2))
        except ValueError as error:
            raise ParameterError(
                f"Experiment {experiment.name}, claim {claim.text!r}, measure {claim.measure}: "
                f"{error}."
            ) from None
        others.append(_stand_in(claim, plan))
        moot.append(_uninformative(claim, outcome))
    whole = zip(tests, others, moot, strict=True)
    raw = [math.nan if other or why else test.p for test, other, why in whole]
    level = experiment.alpha / (2 * max(1, sum(not math.isnan(p) for p in raw)))
    found = []
    for claim, test, p, runs, other, why in zip(
        experiment.claims, tests, holm(raw).tolist(), data, others, moot, strict=True
    ):
        if other:
            found.append(Verdict(claim, "not judged", test, p, why=other))
            continue
        verdict = _verdict(claim, test, p, why, experiment.alpha)
        if verdict.word == "inconclusive" and not verdict.why:
            more = runs_needed(test.estimand, runs, level)
            words = f"more than {MOST_RUNS} runs" if more is None else f"about {more} runs"
            verdict = replace(verdict, runs_needed=words)
        found.append(_about_minds(verdict, plan))
    return found


def _verdict(claim: Claim, test: Inference, p: float, why: str, alpha: float) -> Verdict:
    """The verdict on a claim from its corrected p-value."""
    word = cast("Word", test.verdict)
    if not min(test.n):
        why = "no run here has a value for this measure"
    if why or (word in ("agrees", "disagrees") and p > alpha):
        word = "inconclusive"
    elif word == "effects differ" and p > alpha:
        word = "no difference detected"
    elif word == "too few runs":
        why = test.why
    return Verdict(claim, word, test, p, why=why)


def _about_minds(verdict: Verdict, plan: Plan) -> Verdict:
    """The verdict, with a word of its own when the minds assume it, or are other models."""
    if verdict.word == "agrees" and (built_in := _assumed(verdict.claim, plan)):
        return replace(verdict, word="assumed", why=built_in)
    if verdict.word in ("agrees", "disagrees") and (named := _another(verdict.claim, plan)):
        return replace(verdict, word=cast("Word", f"{verdict.word}, with another model"), why=named)
    return verdict


def runs_of(experiment: Experiment, values: pd.DataFrame, claim: Claim) -> list[pd.Series[float]]:
    """The runs of each place of a claim, by seed; those of a group are means of its conditions."""
    runs = []
    for measure, name in claim.places:
        members = [_by_seed(values, measure, member) for member in experiment.members(name)]
        runs.append(pd.concat(members, axis=1).mean(axis=1, skipna=False))
    return runs


def effect_by_seed(experiment: Experiment, values: pd.DataFrame, claim: Claim) -> pd.Series[float]:
    """The quantity of a claim in the runs of each seed: a measure, or a difference.

    The claim says that it is on the inner side of each of its `limits`. Arguments are those of
    `runs_of`.
    """
    runs = runs_of(experiment, values, claim)
    differences = [a - b for a, b in zip(runs[::2], runs[1::2], strict=False)] or runs
    return differences[0] if len(differences) == 1 else differences[0] - differences[1]


# Claims that these minds or runs cannot judge.


def why_not_judged(plan: Plan, claim: Claim) -> str:
    """Why these minds cannot judge a claim, whatever their runs are; ``""`` when they can."""
    if other := _stand_in(claim, plan):
        return other
    return "both conditions are one and the same request" if _one_request(claim, plan) else ""


def judged(plan: Plan) -> list[Claim]:
    """The claims that runs of a plan can judge."""
    return [claim for claim in plan.experiment.claims if not why_not_judged(plan, claim)]


def too_few_runs(plan: Plan) -> str:
    """The reason why no result of a plan's runs can support some claims; ``""`` when they can."""
    claims = judged(plan)
    alpha = plan.experiment.alpha

    def smallest(runs: int) -> Floats:
        least = [plan.experiment.estimand(claim).least_p(runs) for claim in claims]
        return holm(min(1.0, 2 * p) for p in least)

    hopeless = [p for p in smallest(plan.runs) if p > alpha]
    if not hopeless:
        return ""
    takes = next((n for n in range(plan.runs, MOST_RUNS) if max(smallest(n)) <= alpha), 0)
    return (
        f"With {plan.runs_in_words} {len(hopeless)} of {len(claims)} claims cannot be detected, "
        f"whatever comes out: the smallest p, corrected for the number of claims, is "
        f"{min(hopeless):.2g}, and the level {alpha:g}. "
        + (f"It takes {takes} runs (--runs {takes})." if takes else "No number of runs would do.")
    )


def _stand_in(claim: Claim, plan: Plan) -> str:
    """The minds that replace language models of a claim; ``""`` when all are language models."""
    here: dict[str, dict[str, None]] = {}
    for name in plan.experiment.conditions_of(claim):
        published, minds = plan.experiment.condition(name).minds, plan.minds[name]
        if "llm:" in published and not all(map(language_model, specs_of(minds))):
            here.setdefault(described(minds), {})[published] = None
    return ", and ".join(
        f"{minds} minds stand in for {' and '.join(names)}" for minds, names in here.items()
    ).replace("llm:", "")


def _another(claim: Claim, plan: Plan) -> str:
    """The language models that decided although the claim names others; ``""`` for none."""
    notes: dict[str, None] = {}
    for name in plan.experiment.conditions_of(claim):
        published = plan.experiment.condition(name).minds or plan.experiment.minds
        named = set(re.findall(r"llm:([^\s,]+)", published))
        decided = {
            match.group(1)
            for spec in specs_of(plan.minds[name])
            if (match := re.match(r"llm:([^@]+)", spec))
        }
        if named and (others := decided - named):
            word = "planned for" if plan.experiment.is_own else "published of"
            notes[f"{word} {', '.join(sorted(named))}, here {', '.join(sorted(others))}"] = None
    return "; ".join(notes)


def _assumed(claim: Claim, plan: Plan) -> str:
    """The assumption of a claim, if its classical minds make it; else ``""``."""
    if not claim.assumption:
        return ""
    for name in plan.experiment.conditions_of(claim):
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
    experiment = outcome.plan.experiment
    names = [condition for _, condition in claim.places]
    label = {condition.name: condition.label for condition in experiment.conditions}
    label |= {group.name: group.label for group in experiment.groups}
    if _one_request(claim, outcome.plan):
        return (
            f"{label[names[0]]} and {label[names[1]]} are one and the same request with these "
            "minds, so that any difference between them is chance"
        )
    data = {name: _numbers(outcome, experiment.members(name)) for name in names}
    if len(data) == 2 and data[names[0]].equals(data[names[1]]):
        return (
            f"the runs of {label[names[0]]} and {label[names[1]]} are the same, number for number: "
            "these minds do not notice the difference, and more runs would not help"
        )
    for name, mine in data.items():
        if all_the_same(mine):
            return (
                f"all runs of {label[name]} are the same, number for number: they count as one, "
                "and more runs would not help"
            )
    return ""


def _one_request(claim: Claim, plan: Plan) -> bool:
    """Whether the two conditions that a claim compares have the same parameters and minds."""
    names = {condition for _, condition in claim.places}
    return len(names) == 2 and any(names <= set(group) for group in plan.alike)


def _numbers(outcome: Outcome, conditions: Sequence[str]) -> pd.DataFrame:
    data = outcome.model_data
    mine = data[data["condition"].isin(conditions)].sort_values(["seed", "condition", "round"])
    return mine.drop(columns=["condition", "run"]).reset_index(drop=True)


def all_the_same(data: pd.DataFrame) -> bool:
    """Whether there are several runs, and all are the same, number for number."""
    runs = [run.drop(columns="seed").reset_index(drop=True) for _, run in data.groupby("seed")]
    return len(runs) > 1 and all(runs[0].equals(run) for run in runs[1:])


# Results.


@dataclass(frozen=True)
class Results:
    """The results of an experiment.

    Attributes:
        outcome: the runs.
        measures: one row per run and measure (see `measured`).
        estimates: one row per measure and condition: the mean over the ``n`` runs with a value, its
            95 % interval (see `sabm_mesa.analysis.intervals.mean_interval`), the published number,
            whether it is ``outside`` the interval, and for a ``mode`` the most frequent value of
            all runs ``together``.
        comparisons: one row per measure and pair of conditions: the median of the differences
            between runs of the same seed with its 95 % interval, Cliff's ``delta``, and the sign
            test with its ``p`` (two-sided, Holm over the pairs of the measure).
        courses: published courses and those of the runs, by round.
        verdicts: one on each claim.
    """

    outcome: Outcome
    measures: pd.DataFrame
    estimates: pd.DataFrame
    comparisons: pd.DataFrame
    courses: pd.DataFrame
    verdicts: Sequence[Verdict]

    def outside(self) -> tuple[int, int]:
        """The number of published numbers outside the 95 % intervals of these runs, and of all."""
        known = pd.concat([self.estimates["outside"], self.courses["outside"]]).dropna()
        return int(known.sum()), len(known)

    def minds(self) -> dict[str, str]:
        """Condition → its minds, without minds that a parameter of the scenario adds."""
        return {name: described(given) for name, given in self.outcome.plan.minds.items()}


def results(outcome: Outcome) -> Results:
    """Measure, estimate and compare the runs of an experiment, and judge its claims."""
    values = measured(outcome)
    return Results(
        outcome, values, _estimates(outcome, values), _comparisons(outcome, values),
        _courses(outcome), verdicts(outcome, values),
    )  # fmt: skip


def is_outside(published: float, low: float, high: float) -> bool | None:
    """Whether a published number lies outside an interval; None if either is missing."""
    if math.isnan(published) or math.isnan(low):
        return None
    slack = 1e-9 * max(abs(published), abs(low), abs(high))  # an error of rounding is no distance
    return published < low - slack or published > high + slack


def _estimates(outcome: Outcome, values: pd.DataFrame) -> pd.DataFrame:
    experiment, frames = outcome.plan.experiment, outcome.frames
    published = {
        (entry.measure, entry.condition): (entry.numbers[0], entry.source)
        for entry in outcome.plan.published
        if entry.measure and entry.condition
    }
    rows = []
    for measure in experiment.measures:
        for condition in experiment.conditions:
            estimate = estimate_mean(samples(values, measure.name, condition.name))
            number, source = published.get((measure.name, condition.name), (math.nan, ""))
            outside, together = is_outside(number, estimate.low, estimate.high), math.nan
            data = frames[measure.data]
            mine = data[data["condition"] == condition.name]
            if measure.take == "mode" and len(mine):
                together = value_of(measure, mine)
            row = number, source, outside, together
            rows.append((measure.name, condition.name, *estimate, *row))
    columns = ["measure", "condition", "n", "mean", "low", "high", "published", "source", "outside"]
    return pd.DataFrame(rows, columns=[*columns, "together"])


def _comparisons(outcome: Outcome, values: pd.DataFrame) -> pd.DataFrame:
    experiment = outcome.plan.experiment
    columns = ["measure", "condition", "than", "difference", "low", "high", "delta", "test", "p"]
    pairs = list(combinations([condition.name for condition in experiment.conditions], 2))
    tables = []
    for measure in experiment.measures:
        rows = []
        for one, other in pairs:
            runs = (samples(values, measure.name, name) for name in (one, other))
            test = infer(*runs, paired=True)
            comparison = test.estimate, test.low, test.high, test.effect, test.method, test.p
            rows.append((measure.name, one, other, *comparison))
        table = pd.DataFrame(rows, columns=columns)
        tables.append(table.assign(p=holm(table["p"])))
    return pd.concat(tables, ignore_index=True)


def _courses(outcome: Outcome) -> pd.DataFrame:
    rows = []
    kept, data = outcome.plan.model.study.kept_columns, outcome.model_data
    for published in outcome.plan.published:
        if not published.column:
            continue
        mine = data[data["condition"] == published.condition]
        by_round = mean_by_round(mine, published.column, kept=published.column in kept)
        for round_, value in zip(published.rounds, published.numbers, strict=False):
            then = by_round[by_round["round"] <= round_].iloc[-1]
            low, high = float(then["low"]), float(then["high"])
            rows.append((
                published.condition, published.column, round_, value, int(then["n"]),
                float(then["mean"]), low, high, published.source, is_outside(value, low, high),
            ))  # fmt: skip
    columns = ["condition", "column", "round", "published", "n", "mean", "low", "high", "source"]
    return pd.DataFrame(rows, columns=[*columns, "outside"])
