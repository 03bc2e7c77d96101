"""Measures of a session of the repeated guessing game, and behavioural models of the picks.

The reference of a player, where the steps of reasoning begin, is the last known mean (`revealed`,
`window`), or the middle of the range. It is the same for a recorded player and for a mind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, Row
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.beauty_contest.guessing import level_k_labels
from sabm_mesa.models.beauty_contest.repeated.agents import known_mean
from sabm_mesa.models.beauty_contest.repeated.theory import (
    Floats,
    direction_share,
    falling_share,
    rate_of_decrease,
)
from sabm_mesa.models.beauty_contest.study import PEOPLE, guessing_facts, guessing_models
from sabm_mesa.models.declarations import Study


def session_measures(model_data: pd.DataFrame, agent_data: pd.DataFrame) -> dict[str, Any]:
    """Return the measures of one whole run.

    Args:
        model_data: one row per round, with ``round``, ``mean``, ``median``, ``target``, ``ratio``,
            ``high`` (the largest legal pick) and ``p``.
        agent_data: one row per agent and round, see `by_type`; in the order of the rounds.

    Returns:
        Picks are in per cent of the range. ``first_mean``, ``last_mean``, ``first_median`` and
        ``last_median`` of the picks; ``w_mean`` and ``w_median``, the shares by which they fell
        from the first to the last round (Nagel 1995, equations 1a and 1b); ``mean_ratio``, the
        mean of ``ratio``; ``falling``, the share of picks below the player's last, and
        ``direction``, the share of the changes that learning direction theory predicts (both
        without players of a fixed strategy); ``abstentions``; and for each type, by the spec of
        its mind, ``choice_by_type`` and ``payoff_by_type`` (means of a player and round),
        ``median_by_type`` (of the picks), ``depth_by_type`` (median) and ``ratio_by_type`` (mean
        over rounds of the type's mean pick divided by its last). NaN where a value is not
        defined; an empty dict without rounds.
    """
    if model_data.empty:
        return {}
    rounds = model_data.sort_values("round")
    first, last = ({str(k): float(v) for k, v in rounds.iloc[i].items()} for i in (0, -1))
    percent = 100 / first["high"]
    # In few passes, since the end of a run waits for it.
    data = agent_data.astype({"choice": float, "payoff": float, "depth": float})
    data["percent"] = data["choice"] * percent
    (_, at), (players, who) = (np.unique(data[n], return_inverse=True) for n in ("round", "agent"))
    picks = np.full((at.max() + 1, len(players)), math.nan)
    picks[at, who] = data["choice"]
    latest_mind = dict(zip(who, data["mind"], strict=True))
    free = [not is_fixed(latest_mind[i]) for i in range(len(players))]
    by_mind = data.groupby("mind", sort=False)
    means, medians = by_mind[["percent", "payoff"]].mean(), by_mind[["percent", "depth"]].median()
    by_round = data.groupby(["mind", "round"], sort=False)["choice"].mean()
    return {
        "first_mean": first["mean"] * percent,
        "last_mean": last["mean"] * percent,
        "first_median": first["median"] * percent,
        "last_median": last["median"] * percent,
        "w_mean": rate_of_decrease(first["mean"], last["mean"]),
        "w_median": rate_of_decrease(first["median"], last["median"]),
        "mean_ratio": _mean(rounds["ratio"].to_numpy()),
        "falling": falling_share(picks[:, free]),
        "direction": direction_share(picks, rounds["mean"], first["high"] / 2, rounds["p"], free),
        "abstentions": int(data["choice"].isna().sum()),
        "choice_by_type": means["percent"].to_dict(),
        "median_by_type": medians["percent"].to_dict(),
        "payoff_by_type": means["payoff"].to_dict(),
        "depth_by_type": medians["depth"].to_dict(),
        "ratio_by_type": {mind: _mean(_ratios(by_round[mind].to_numpy())) for mind in means.index},
    }


def by_type(agent_data: pd.DataFrame) -> pd.DataFrame:
    """Return picks, depth, convergence and payoffs by type and round.

    Args:
        agent_data: one row per agent, round and, if there are several, run, with ``round``,
            ``agent``, ``mind``, ``choice`` (NaN or None: an abstention), ``payoff`` and ``depth``.

    Returns:
        One row per run, type and round in rising order of rounds: ``run`` (0 if there is no such
        column), ``mind``, ``round``, ``n`` (players), ``choice`` (mean pick), ``depth`` (median),
        ``payoff`` (mean), ``ratio`` (the mean pick divided by that of the round before; NaN in the
        first one, and after a mean of 0).
    """
    data = agent_data.astype({"choice": float, "depth": float})
    if "run" not in data.columns:
        data = data.assign(run=0)
    rows = data.groupby(["run", "mind", "round"], sort=False).agg(
        n=("agent", "size"),
        choice=("choice", "mean"),
        depth=("depth", "median"),
        payoff=("payoff", "mean"),
    )
    table = rows.reset_index().sort_values(["run", "round"], kind="stable", ignore_index=True)
    before = table.groupby(["run", "mind"], sort=False)["choice"].shift()
    return table.assign(ratio=table["choice"] / before.where(before > 0))


def is_fixed(mind: str) -> bool:
    """Return whether a mind with this spec always gives the same answer."""
    return mind.startswith("fixed:")


@np.errstate(over="ignore")  # after a mean near 0
def _ratios(means: Floats) -> Floats:
    """Each mean divided by the previous one; NaN after a mean of 0."""
    return means[1:] / np.where(means[:-1] > 0, means[:-1], math.nan)


@np.errstate(over="ignore")
def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


OF_A_MEAN = ("choices", "mean", "target")
"""Revealed facts that determine the mean of a round."""


def rows(run: PlayedRun) -> Iterator[Row]:
    """The picks of a run."""
    revealed = run.parameters.get("revealed", "choices,mean,target,winners")
    named = revealed.split(",") if isinstance(revealed, str) else list(revealed or ())
    shows_mean = any(name.strip() in OF_A_MEAN for name in named)
    window = run.parameters.get("window")
    whole = bool(run.parameters.get("integer", False))
    course = {int(row["round"]): row for row in run.rounds.to_dict("records")}
    for row in run.agents.to_dict("records"):
        time, pick = int(row["round"]), row["choice"]
        high, p = float(course[time]["high"]), float(course[time]["p"])
        first = 0 if window is None else max(time - int(window), 0)
        means = [float(course[t]["mean"]) for t in range(first, time)] if shows_mean else []
        decider = Decider(run.run, int(row["agent"]), str(row["mind"]), run.condition)
        valid = pick is not None and not math.isnan(pick)
        yield Row(decider, time, float(pick) if valid else None, _known(means, p, high, whole))


def known(ask: Ask) -> Mapping[str, Any] | None:
    """The facts of a player that picks; None for questions that ask for text."""
    if ask.name != "act":
        return None
    facts = ask.facts
    means = [known_mean(played, facts.p) for played in facts.past]
    return _known(means, facts.p, facts.high, facts.integer)


def answer(ask: Ask, pick: float | None) -> object:
    """Pick a number; for questions that ask for text, return the sentence of the prompt file."""
    if pick is None:
        return ask.book.render(f"classical_{ask.name}", {})
    return round(pick) if ask.facts.integer else pick


def _known(means: Sequence[float | None], p: float, high: float, whole: bool) -> dict[str, float]:
    known_means = [mean for mean in means if mean is not None and not math.isnan(mean)]
    reference = known_means[-1] if known_means else high / 2
    return guessing_facts(reference, p, 0.0, high, whole=whole)


_BEHAVIOUR = Behaviour(
    what="a pick",
    models=guessing_models(),
    rows=rows,
    known=known,
    answer=answer,
    people=PEOPLE,
)


STUDY = Study(theory_marks={"levels": level_k_labels()}, behaviour=_BEHAVIOUR)
