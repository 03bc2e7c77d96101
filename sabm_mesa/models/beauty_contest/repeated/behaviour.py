"""Behavioural models of the picks in the repeated beauty contest.

The reference of a player, where the steps of reasoning begin, is the last known mean (`revealed`,
`window`), or the middle of the range. It is the same for a recorded player and for a mind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, Row
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.beauty_contest.behaviour import PEOPLE, guessing_facts, guessing_models
from sabm_mesa.models.beauty_contest.repeated.agents import known_mean

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


BEHAVIOUR = Behaviour(
    what="a pick",
    models=guessing_models(),
    rows=rows,
    known=known,
    answer=answer,
    people=PEOPLE,
)
