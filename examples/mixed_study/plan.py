"""How many groups does the study need? ``python examples/mixed_study/plan.py``."""

from __future__ import annotations

import pandas as pd
from design import ALPHA, GAME, PEOPLE, POWER, populations

from sabm_mesa import RepeatedBeautyContest
from sabm_mesa.analysis.tests import Estimand, runs_needed

PILOT = 100
"""Simulated groups in each condition."""
STEPS = (1, 2, 3)


def outcome(minds: dict[str, int], seed: int) -> float:
    """The mean pick of the people in the last round of one simulated group.

    Args:
        minds: mind spec → number of players.
        seed: the seed of the run.
    """
    model = RepeatedBeautyContest(**GAME, minds=minds, rng=seed)
    model.run_model()
    picks = model.agent_frame()
    last = picks[(picks["mind"] == PEOPLE) & (picks["round"] == picks["round"].max())]
    return float(last["choice"].mean())


def plan(steps: tuple[int, ...] = STEPS, pilot: int = PILOT) -> pd.DataFrame:
    """Groups needed for each guess of how many steps the language models reason.

    Args:
        steps: the guesses.
        pilot: simulated groups in each condition.

    Returns:
        One row a guess: ``steps``, mean outcome of both conditions, ``groups`` in each condition.
    """
    lower = Estimand(n_groups=2, below=0)
    rows = []
    seeds = range(1, pilot + 1)
    only: list[float] = []
    for k in steps:
        people, mixed = populations(PEOPLE, f"classical:level_{k}").values()
        only = only or [outcome(people, seed) for seed in seeds]
        both = [outcome(mixed, seed) for seed in seeds]
        groups = runs_needed(lower, [both, only], ALPHA, POWER)
        rows.append((k, sum(only) / pilot, sum(both) / pilot, groups))
    return pd.DataFrame(rows, columns=["steps", "people only", "mixed", "groups"])


if __name__ == "__main__":
    print(plan().round(1).to_string(index=False))
