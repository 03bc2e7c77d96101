"""Solution 7: how many groups, if fewer of the players are language models?"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pandas as pd

from sabm_mesa.analysis.tests import Estimand, runs_needed

STUDY = Path(__file__).parents[2] / "examples" / "mixed_study"
sys.path.insert(0, str(STUDY))  # plan.py imports design.py, which stands beside it
PLAN = runpy.run_path(str(STUDY / "plan.py"))
DESIGN = runpy.run_path(str(STUDY / "design.py"))
PILOT = 12
"""Simulated groups in each condition: few, so that this ends soon."""


def main() -> pd.DataFrame:
    """Groups needed in each condition with 12, 8 and 4 people among 16 players."""
    lower = Estimand(n_groups=2, below=0)
    outcome, alpha, power = PLAN["outcome"], DESIGN["ALPHA"], DESIGN["POWER"]
    people, models = DESIGN["PEOPLE"], DESIGN["MODELS"]
    only = [outcome({people: 16}, seed) for seed in range(1, PILOT + 1)]
    rows = []
    for n in (12, 8, 4):
        mixed = {people: n, models: 16 - n}
        both = [outcome(mixed, seed) for seed in range(1, PILOT + 1)]
        rows.append((n, sum(both) / PILOT, runs_needed(lower, [both, only], alpha, power)))
    table = pd.DataFrame(rows, columns=["people", "outcome", "groups"])
    print(table.round(1).to_string(index=False))
    return table


if __name__ == "__main__":
    main()
