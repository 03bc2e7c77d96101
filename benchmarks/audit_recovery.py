"""Recovery of planted effects by an audit: ``python -m benchmarks.audit_recovery [AUDITS]``.

Scripted players read the prompts that they are sent. The instruction to cooperate raises their
picks of 100 by 15 percentage points. In one wording (`PLANTED_IN`), the effect is 0, 5 or 20 points
smaller. An audit of that claim varies the wording and the answer format over all eight cells. Each
audit has different seeds. For each planted effect, the table shows how often the claim is called
robust, fragile or neither, which level is named, and how often intervals contain the truth.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np

from sabm_mesa.core.asks import Ask
from sabm_mesa.minds.base import Mind
from sabm_mesa.models.registry import scenario
from sabm_mesa.studies.audit.plan import AuditPlan, audit_plan
from sabm_mesa.studies.audit.verdicts import Judged, judge
from sabm_mesa.studies.experiments.claims import limits
from sabm_mesa.studies.experiments.design import Experiment, parse_experiment

PLANTED = (0, 5, 20)
"""Percentage points by which the effect is smaller in `PLANTED_IN`."""
PLANTED_IN = "reworded_3"
EFFECT = 15
"""The effect in the other wordings, in percentage points."""
BY_SEED = 5
"""The standard deviation of the effect over seeds, in percentage points."""
PLAYERS, RUNS = 24, 12
FACTORS = {
    "wording": ("default", "reworded_1", "reworded_2", "reworded_3"),
    "format": ("paper", "json"),
}
EXPERIMENT = f"""
title = "A planted effect"
question = "Does the instruction to cooperate raise the picks?"
source = "none: the players are scripted"
scenario = "kbc"
minds = "scripted"
cost = "small"
set = {{ n_players = {PLAYERS}, n_rounds = 1 }}
[scales.quick]
runs = {RUNS}
[scales.paper]
runs = {RUNS}
[[conditions]]
name = "baseline"
label = "No instruction"
[[conditions]]
name = "cooperative"
label = "Told to cooperate"
set = {{ condition = "cooperative" }}
[[measures]]
name = "high"
label = "Picks of 100"
columns = "mean"
unit = "per cent"
[[claims]]
text = "Told to cooperate, more players pick 100."
source = "planted"
measure = "high"
kind = "more"
condition = "cooperative"
than = "baseline"
"""


class ReadingPlayer(Mind):
    """A player whose pick depends on the prompt: the instruction, and the wording.

    As with a language model, another text gives another random answer. The same text and seed give
    the same answer.

    Args:
        planted: the percentage points by which the effect is smaller in one wording.
        seed: the seed of the run.
    """

    instant, paid = True, False

    def __init__(self, planted: float, seed: int) -> None:
        self.planted, self.seed = planted, seed
        self.shift = BY_SEED * float(np.random.default_rng([seed, 1]).standard_normal())

    async def answer(self, ask: Ask) -> int:
        """Pick 100 or 0.

        Args:
            ask: the question.
        """
        scene, question = ask.question
        percent = 30.0
        if "cooperate" in question:
            percent += EFFECT + self.shift
            if scene.startswith("A number-guessing game is played by you"):
                percent -= self.planted
        text = [int(part, 16) for part in (ask.digest()[:8], ask.digest()[8:16])]
        draw = np.random.default_rng([self.seed, ask.key.agent, *text]).random()
        return 100 if 100 * draw < percent else 0


@cache
def picks(variant: str, answer_format: str, condition: str, planted: int, seed: int) -> float:
    """Return the percentage of players that pick 100 in one run.

    Args:
        variant: the wording.
        answer_format: the format of the answers.
        condition: the condition.
        planted: see `ReadingPlayer`.
        seed: the seed.
    """
    model = scenario("kbc")(
        n_players=PLAYERS, n_rounds=1, condition=condition, variant=variant, rng=seed,
        answer_format=answer_format, minds=ReadingPlayer(planted, seed), recording=False,
    )  # fmt: skip
    model.run_model()
    return float(model.datacollector.model_frame(0)["mean"].iloc[-1])


def audited(plan: AuditPlan, planted: int, first_seed: int) -> Judged:
    """Return the result of one audit of the claim.

    Args:
        plan: its plan; its seeds are replaced.
        planted: see `ReadingPlayer`.
        first_seed: the first seed.
    """
    effects = np.empty((len(plan.plans), RUNS))
    for cell in range(len(plan.plans)):
        variant, answer_format = plan.cell_labels(cell)
        here = planted if variant == PLANTED_IN else 0
        for i in range(RUNS):
            seed = first_seed + i
            told = picks(variant, answer_format, "cooperative", here, seed)
            effects[cell, i] = told - picks(variant, answer_format, "baseline", 0, seed)
    names = [each.name for each in plan.factors]
    return judge(effects, plan.design, names, limits(plan.experiment.claims[0]))


def true_shares(planted: int) -> dict[str, float]:
    """Return the true share of each source in the variance of the effect of one run.

    Args:
        planted: see `ReadingPlayer`.
    """
    effects = [EFFECT - (planted if each == PLANTED_IN else 0) for each in FACTORS["wording"]]
    low = 30 * 70 / PLAYERS
    told = [((30 + e) * (70 - e) - BY_SEED**2) / PLAYERS for e in effects]
    found = {"wording": np.var(effects), "format": 0.0, "other": 0.0, "seed": BY_SEED**2,
             "chance": low + np.mean(told)}  # fmt: skip
    total = sum(found.values())
    return {name: float(value / total) for name, value in found.items()}


def recovery(planted: int, audits: int, say: Callable[[str], None] = print) -> dict[str, float]:
    """Return how often audits of a planted effect are right.

    Args:
        planted: the planted effect, in percentage points.
        audits: the number of audits.
        say: called with a line of progress.

    Returns:
        The shares of the verdicts; ``named``: the share of fragile verdicts that name only the
        planted level; ``bias``: the bias of the effect in the planted wording; ``covered``: the
        share of its 95 % intervals that contain the truth; ``flips``: the mean number of cells
        whose effect is significantly on the other side; ``share_SOURCE`` and ``true_SOURCE``: the
        mean and the true share of a source; ``covers_SOURCE``: the share of its intervals that
        contain the true share.
    """
    experiment: Experiment = parse_experiment("planted", EXPERIMENT)
    plan = audit_plan(experiment, given=FACTORS, cells=8)
    words, named, found = Counter[str](), 0, Counter[str]()
    truth, level = true_shares(planted), FACTORS["wording"].index(PLANTED_IN)
    estimates = []
    for number in range(audits):
        judged = audited(plan, planted, 1 + number * RUNS)
        words[judged.word] += 1
        named += judged.fragile_in == [("wording", level)]
        table = judged.levels
        row = table[(table["factor"] == "wording") & (table["level"] == level)].iloc[0]
        estimates.append(row["effect"])
        found["covered"] += row["low"] <= EFFECT - planted <= row["high"]
        found["flips"] += judged.detected_against
        for _, each in judged.shares.iterrows():
            source, share = each["source"], truth[each["source"]]
            found[f"share_{source}"] += each["share"]
            found[f"covers_{source}"] += each["low"] - 1e-9 <= share <= each["high"] + 1e-9
        if (number + 1) % 50 == 0:
            say(f"planted {planted}: {number + 1} audits, {dict(words)}")
    result = {word: words[word] / audits for word in ("robust", "fragile", "fails", "inconclusive")}
    result["named"] = named / max(1, words["fragile"])
    result["bias"] = float(np.mean(estimates)) - (EFFECT - planted)
    result |= {name: value / audits for name, value in found.items()}
    return result | {f"true_{name}": share for name, share in truth.items()}


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for points in PLANTED:
        values = recovery(points, n)
        print(f"planted {points} percentage points, {n} audits of {RUNS} seeds and 8 cells")
        print("\n".join(f"  {name}: {value:.3f}" for name, value in values.items()), flush=True)
