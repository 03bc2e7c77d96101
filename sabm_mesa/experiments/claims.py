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
from sabm_mesa.experiments.design import COMPARED, Claim
from sabm_mesa.experiments.measures import Floats, samples
from sabm_mesa.experiments.running import Outcome

ALPHA = 0.05
"""The chance of any wrong verdict of an experiment, if no claim were true or false."""
Word = Literal["agrees", "disagrees", "cannot tell"]


@dataclass(frozen=True)
class Verdict:
    """What the runs say of a claim.

    Attributes:
        claim: the claim.
        word: ``agrees``, ``disagrees`` or ``cannot tell``.
        test: the test of it.
        p: its two-sided p-value, corrected (Holm) for the number of claims; NaN without values.
        runs_needed: runs a condition with which this would tell, judged from these; None when it
            does tell, or when not even 500 would.
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
    same = [_uninformative(claim, outcome) for claim in claims]
    raw = [
        math.nan if why or math.isnan(test.p_for) else min(1.0, 2 * min(test.p_for, test.p_against))
        for test, why in zip(tests, same, strict=True)
    ]
    made = sum(not math.isnan(p) for p in raw)
    return [
        _verdict(claim, test, float(p), each, why, made)
        for claim, test, p, each, why in zip(
            claims, tests, inference.holm(raw), data, same, strict=True
        )
    ]


def _samples(claim: Claim, values: pd.DataFrame) -> list[Floats]:
    conditions = [claim.condition, *([claim.than] if claim.kind in COMPARED else [])]
    return [samples(values, claim.measure, condition) for condition in conditions]


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
        return Verdict(claim, "cannot tell", test, p, why="no run has a value of this measure")
    if why:
        return Verdict(claim, "cannot tell", test, p, why=why)
    if p <= ALPHA:
        return Verdict(claim, "agrees" if test.p_for < test.p_against else "disagrees", test, p)
    towards = _p_values(claim, of_claim=test.p_for <= test.p_against)
    return Verdict(
        claim, "cannot tell", test, p, runs_needed(towards, data, ALPHA / (2 * max(1, claims)))
    )


def _uninformative(claim: Claim, outcome: Outcome) -> str:
    """Why the runs say nothing of a claim, however many there are; ``""`` when they may."""
    names = [claim.condition, *([claim.than] if claim.kind in COMPARED else [])]
    of = {each.name: each.label for each in outcome.plan.experiment.conditions}
    data = {name: _numbers(outcome, name) for name in names}
    if len(names) == 2 and data[names[0]].equals(data[names[1]]):
        return (
            f"the runs of {of[names[0]]} and {of[names[1]]} are the same, number for number: these "
            "minds do not notice the difference"
        )
    for name, mine in data.items():
        runs = [run.drop(columns="seed").to_numpy() for _, run in mine.groupby("seed")]
        if len(runs) > 1 and all(_same(runs[0], run) for run in runs[1:]):
            return (
                f"all runs of {of[name]} are the same, number for number: they are one observation"
            )
    return ""


def _same(one: Any, other: Any) -> bool:
    return pd.DataFrame(one).equals(pd.DataFrame(other))


def _numbers(outcome: Outcome, condition: str) -> pd.DataFrame:
    data = outcome.model_data
    mine = data[data["condition"] == condition].sort_values(["seed", "round"])
    return mine.drop(columns=["condition", "run"]).reset_index(drop=True)
