"""Behavioural models of the picks in the repeated beauty contest.

The reference of a player, where the steps of reasoning begin, is the last known mean (`revealed`,
`window`), or the middle of the range. It is the same for a recorded player and for a mind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, Row
from sabm_mesa.analysis.guessing_behaviour import PEOPLE, guessing_models
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.beauty_contest.agents import reference

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
        reference = next((mean for mean in reversed(means) if not math.isnan(mean)), high / 2)
        decider = Decider(run.run, int(row["agent"]), str(row["mind"]), run.condition)
        valid = pick is not None and not math.isnan(pick)
        yield Row(decider, time, float(pick) if valid else None, _known(reference, p, high, whole))


def known(ask: Ask) -> Mapping[str, Any] | None:
    """The facts of a player that picks; None for questions that ask for text."""
    if ask.name != "act":
        return None
    return _known(reference(ask.facts), ask.facts.p, ask.facts.high, ask.facts.integer)


def answer(ask: Ask, pick: float | None) -> object:
    """Pick a number; for questions that ask for text, return the sentence of the prompt file."""
    if pick is None:
        return ask.book.render(f"classical_{ask.name}", {})
    return round(pick) if ask.facts.integer else pick


def _known(reference: float, p: float, high: float, whole: bool) -> dict[str, float]:
    return {"reference": reference, "p": p, "low": 0.0, "high": high, "whole": float(whole)}


BEHAVIOUR = Behaviour(
    what="a pick",
    models=guessing_models(),
    rows=rows,
    known=known,
    answer=answer,
    people=PEOPLE,
)
