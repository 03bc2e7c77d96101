"""Whether the runs bear a published claim out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pandas as pd

from sabm_mesa.analysis import inference, permutation
from sabm_mesa.analysis.inference import Test
from sabm_mesa.analysis.permutation import Order, Side
from sabm_mesa.analysis.power import runs_needed
from sabm_mesa.experiments.deciding import asks_language_model
from sabm_mesa.experiments.design import COMPARED, Claim
from sabm_mesa.experiments.finding import alike
from sabm_mesa.experiments.measures import Floats, samples
from sabm_mesa.experiments.plan import Plan, described
from sabm_mesa.experiments.running import Outcome

ALPHA = 0.05
"""The chance of any wrong verdict of an experiment, if no claim were true or false."""
MOST_RUNS = 500
"""The largest number of runs a condition that is tried to find out how many would tell."""
Word = Literal["agrees", "disagrees", "cannot tell", "not told"]
WORDS: tuple[Word, ...] = ("agrees", "disagrees", "cannot tell", "not told")


@dataclass(frozen=True)
class Verdict:
    """What the runs say of a claim.

    Attributes:
        claim: the claim.
        word: ``agrees``, ``disagrees`` or ``cannot tell``; ``not told`` of a claim about language
            models, when others decided in their place.
        test: the test of it.
        p: its two-sided p-value, corrected (Holm) for the number of claims; NaN without values,
            and when more runs would not tell.
        runs_needed: runs a condition with which this would tell, judged from these; None when it
            does tell, or when not even `MOST_RUNS` would.
        why: why it cannot be told, when that is not a matter of the number of runs.
    """

    claim: Claim
    word: Word
    test: Test
    p: float
    runs_needed: int | None = None
    why: str = ""


def verdicts(outcome: Outcome, values: pd.DataFrame) -> list[Verdict]:
    """A verdict on each claim of an experiment.

    Each claim is tested in both directions: it agrees when the test for it tells, disagrees when
    the test against it does, and else the runs cannot tell. Two one-sided tests a claim and the
    number of claims are corrected for after Holm 1979, at a level of 5 % in all.

    Args:
        outcome: the experiment.
        values: its measures, as `measured` returns them.
    """
    claims = outcome.plan.experiment.claims
    data = [_samples(claim, values) for claim in claims]
    tests = [_test(claim, each) for claim, each in zip(claims, data, strict=True)]
    others = [_stand_in(claim, outcome.plan) for claim in claims]
    same = [_uninformative(claim, outcome) for claim in claims]
    raw = [
        math.nan
        if other or why or math.isnan(test.p_for)
        else min(1.0, 2 * min(test.p_for, test.p_against))
        for test, other, why in zip(tests, others, same, strict=True)
    ]
    made = sum(not math.isnan(p) for p in raw)
    return [
        Verdict(claim, "not told", test, float(p), why=other)
        if other
        else _verdict(claim, test, float(p), each, why, made)
        for claim, test, p, each, other, why in zip(
            claims, tests, inference.holm(raw), data, others, same, strict=True
        )
    ]


def concerned(claim: Claim) -> list[str]:
    """The conditions that a claim is about: one, or the two that it compares.

    Args:
        claim: the claim.
    """
    return [claim.condition, *([claim.than] if claim.kind in COMPARED else [])]


def judged(plan: Plan) -> list[Claim]:
    """The claims that runs of a plan may bear out or not, whatever comes out of them.

    Left out are claims about language models when others decide, and comparisons of one and the
    same request with itself.

    Args:
        plan: the experiment.
    """
    return [
        claim
        for claim in plan.experiment.claims
        if not _stand_in(claim, plan) and not _one_request(claim, plan)
    ]


def _samples(claim: Claim, values: pd.DataFrame) -> list[Floats]:
    return [samples(values, claim.measure, condition) for condition in concerned(claim)]


def _test(claim: Claim, data: Sequence[Floats]) -> Test:
    match claim.kind:
        case "below" | "above":
            return inference.one_sample(data[0], claim.value, claim.kind)
        case "within":
            return inference.within(data[0], claim.low, claim.high)
        case "less" | "more":
            return inference.two_sample(data[0], data[1], claim.kind)
        case "like":
            return inference.equivalent(data[0], data[1], claim.margin)


def _p_values(claim: Claim, *, of_claim: bool) -> Callable[..., Floats]:
    """The p-values of many samples at once, for the claim or against it."""
    match claim.kind:
        case "below" | "above":
            side: Side = "above" if (claim.kind == "above") == of_claim else "below"
            return partial(permutation.one_sample_p, value=claim.value, side=side)
        case "within":
            band = permutation.within_p if of_claim else permutation.outside_p
            return partial(band, low=claim.low, high=claim.high)
        case "less" | "more":
            order: Order = "more" if (claim.kind == "more") == of_claim else "less"
            return partial(permutation.two_sample_p, order=order)
        case "like":
            alike = permutation.equivalent_p if of_claim else permutation.different_p
            return partial(alike, margin=claim.margin)


def _verdict(
    claim: Claim, test: Test, p: float, data: Sequence[Floats], why: str, claims: int
) -> Verdict:
    if math.isnan(test.p_for):
        return Verdict(claim, "cannot tell", test, p, why="no run here has a value of this measure")
    if why:
        return Verdict(claim, "cannot tell", test, p, why=why)
    if p <= ALPHA:
        return Verdict(claim, "agrees" if test.p_for < test.p_against else "disagrees", test, p)
    towards = _p_values(claim, of_claim=test.p_for <= test.p_against)
    level = ALPHA / (2 * max(1, claims))
    return Verdict(claim, "cannot tell", test, p, runs_needed(towards, data, level, most=MOST_RUNS))


def _stand_in(claim: Claim, plan: Plan) -> str:
    """Who decided in place of the language models that a claim is about; ``""`` when they did."""
    here: dict[str, None] = {}
    for name in concerned(claim):
        published = plan.experiment.condition(name).minds
        if "llm:" in published and not asks_language_model(plan.minds[name]):
            here[f"{described(plan.minds[name])} minds stand in for {published}"] = None
    return ", and ".join(here).replace("llm:", "")


def _uninformative(claim: Claim, outcome: Outcome) -> str:
    """Why the runs say nothing of a claim, however many there are; ``""`` when they may."""
    names = concerned(claim)
    of = {each.name: each.label for each in outcome.plan.experiment.conditions}
    if _one_request(claim, outcome.plan):
        return (
            f"{of[names[0]]} and {of[names[1]]} are one and the same request with these minds, so "
            "that any difference between them is chance"
        )
    data = {name: _numbers(outcome, name) for name in names}
    if len(names) == 2 and data[names[0]].equals(data[names[1]]):
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
    mine = data[data["condition"] == condition].sort_values(["seed", "round"])
    return mine.drop(columns=["condition", "run"]).reset_index(drop=True)
