"""What an agent of a scenario is scored by in a tournament: a scenario's own declaration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pandas as pd


@dataclass(frozen=True)
class Score:
    """The score of one agent in one run, from the agent data.

    Attributes:
        label: what it is, with its unit, as on the axis of a plot.
        size: the parameter that is the number of agents.
        column: the agent column that it is made from.
        over: ``"run"``: the sum of the column over the rounds of the run; ``"round"``: its mean
            over the rounds, for runs of different lengths.
        until: a value of the column: then the score is the number of rounds until the column has
            it, that one included; one more than the run has when it never does.
        pairs: whether agents meet in pairs; else all play in one population.
        lower_is_better: whether a lower score is the better one.
    """

    label: str
    size: str
    column: str = "payoff"
    over: Literal["run", "round"] = "run"
    pairs: bool = False
    lower_is_better: bool = False
    until: str = ""

    def of_agents(self, data: pd.DataFrame) -> pd.DataFrame:
        """The score of each agent in each run.

        Args:
            data: the agent data: one row an agent, run and round.

        Returns:
            ``run``, ``agent``, ``mind`` and ``score``; a round without a value counts as 0.
        """
        column = data[self.column]
        if self.until:
            values = (column != self.until).astype(float)
        else:
            values = column.astype(float).fillna(0.0)
        table = data[["run", "round", "agent", "mind"]].assign(score=values)
        scores = table.groupby(["run", "agent"], as_index=False, sort=True).agg(
            mind=("mind", "first"), score=("score", "sum")
        )
        if self.until:
            scores["score"] += 1.0
        elif self.over == "round":
            scores["score"] /= scores["run"].map(table.groupby("run")["round"].nunique())
        return scores
