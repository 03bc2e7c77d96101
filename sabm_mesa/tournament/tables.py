"""The tables of a tournament, from its recording."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from sabm_mesa.analysis.inference import one_sample
from sabm_mesa.models.score import Score
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.tournament.entrants import Entrant

DIGITS = 9
"""Decimals to which scores are compared: less is rounding error."""


def games_of(
    recorded: Recorded, runs: pd.DataFrame, score: Score, entered: Sequence[Entrant]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What every agent of every run did.

    Args:
        recorded: the recording.
        runs: one row a run: ``run`` and ``seed``.
        score: what they are scored by.
        entered: the entrants.

    Returns:
        Games, one row an agent and run: ``run``, ``seed``, ``agent``, ``entrant``, ``opponent``
        (in pairs; else missing), ``score``, ``decisions`` and ``invalid`` of them. And reasons,
        one row an entrant and reason: ``entrant``, ``reason``, ``times``.
    """
    name_of = {each.spec: each.name for each in entered}
    seed_of = runs.set_index("run")["seed"]
    parts, lost = [], []
    for run in runs["run"]:
        part = score.of_agents(recorded.agent_data(int(run)))
        decisions = recorded.decisions(int(run))
        by_agent = decisions.groupby("agent")["valid"].agg(["size", "sum"])
        part["decisions"] = part["agent"].map(by_agent["size"]).fillna(0).astype(int)
        valid = part["agent"].map(by_agent["sum"]).fillna(0).astype(int)
        part["invalid"] = part["decisions"] - valid
        part["opponent"] = part["mind"].to_numpy()[::-1] if score.pairs else None
        lost.append(decisions.loc[~decisions["valid"].astype(bool), ["mind", "reason"]])
        parts.append(part)
    games = pd.concat(parts, ignore_index=True)
    games["seed"] = games["run"].map(seed_of)
    games["entrant"] = games["mind"].map(name_of)
    games["opponent"] = games["opponent"].map(name_of)
    reasons = pd.concat(lost, ignore_index=True)
    reasons["entrant"] = reasons["mind"].map(name_of)
    counted = reasons.groupby(["entrant", "reason"], as_index=False).size()
    counted = counted.rename(columns={"size": "times"})
    columns = [
        "run", "seed", "agent", "entrant", "opponent", "score", "decisions", "invalid",
    ]  # fmt: skip
    order = ["entrant", "times", "reason"]
    return games[columns], counted.sort_values(order, ascending=[True, False, True])


def ranking_of(
    games: pd.DataFrame, reasons: pd.DataFrame, score: Score, entered: Sequence[Entrant]
) -> pd.DataFrame:
    """The ranking: one row an entrant, the best first.

    The unit is the seed, since games with the same seed begin alike: an entrant's score with a
    seed is its mean over opponents other than itself, seats and agents. The interval is the 95 %
    percentile interval of a bootstrap over seeds (see `sabm_mesa.analysis.inference`).

    Args:
        games: as `games_of` returns them.
        reasons: as `games_of` returns them.
        score: what they are scored by.
        entered: the entrants.

    Returns:
        ``rank`` (ties share one), ``entrant``, ``spec``, ``score``, ``low`` and ``high`` (NaN with
        one seed), ``seeds``, ``games`` against others, and over all games, those against itself
        too, ``decisions``, ``invalid`` and ``reason``, the most frequent one or ``""``.
    """
    rows = []
    for each in entered:
        mine = games[games["entrant"] == each.name]
        others = mine[mine["opponent"] != each.name]
        by_seed = others.groupby("seed")["score"].mean()
        test = one_sample(by_seed, 0.0, "above")
        why = reasons.loc[reasons["entrant"] == each.name, "reason"]
        rows.append(
            {
                "entrant": each.name, "spec": each.spec, "score": test.estimate, "low": test.low,
                "high": test.high, "seeds": len(by_seed), "games": others["run"].nunique(),
                "decisions": int(mine["decisions"].sum()), "invalid": int(mine["invalid"].sum()),
                "reason": "" if why.empty else why.iloc[0],
            }
        )  # fmt: skip
    table = pd.DataFrame(rows)
    rank = table["score"].round(DIGITS).rank(method="min", ascending=score.lower_is_better)
    table.insert(0, "rank", rank.astype(int))
    return table.sort_values("rank", kind="stable", ignore_index=True)


def matrix_of(games: pd.DataFrame, score: Score, names: Sequence[str]) -> pd.DataFrame:
    """How entrants did against one another.

    Args:
        games: as `games_of` returns them.
        score: what they are scored by.
        names: the names of the entrants, in the order of rows and columns.

    Returns:
        A square table, entrants by opponents. In pairs: the mean score of the row against the
        column. In one population: by how much the mean score of the row was above that of the
        column in the same run, on average.
    """
    if score.pairs:
        means = games.pivot_table("score", "entrant", "opponent", aggfunc="mean")
        return means.loc[list(names), list(names)]
    by_run = games.pivot_table("score", "run", "entrant", aggfunc="mean")
    rows = {one: {other: (by_run[one] - by_run[other]).mean() for other in names} for one in names}
    return pd.DataFrame(rows, index=list(names)).T
