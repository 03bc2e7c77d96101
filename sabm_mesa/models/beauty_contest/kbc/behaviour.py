"""Behavioural models of the picks in the Keynesian beauty contest.

The reference of a player, where the steps of reasoning begin, is the mean of the last numbers that
the others have named since its last pick, or the middle of the range if they named none. It is the
same for a recorded player and for a mind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, Row
from sabm_mesa.analysis.messages import stated_numbers
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.beauty_contest.behaviour import PEOPLE, guessing_facts, guessing_models
from sabm_mesa.models.beauty_contest.kbc.agents import HIGH, LOW, P


def rows(run: PlayedRun) -> Iterator[Row]:
    """The picks of a run."""
    named = _named(
        (int(row["round"]), int(row["speaker"]), str(row["text"]))
        for row in run.messages.to_dict("records")
    )
    for row in run.agents.to_dict("records"):
        agent, time = int(row["agent"]), int(row["round"])
        pick = None if row["choice"] is None or np.isnan(row["choice"]) else float(row["choice"])
        player = Decider(run.run, agent, str(row["mind"]), run.condition)
        yield Row(player, time, pick, _known(agent, named.get(time, {})))


def known(ask: Ask) -> Mapping[str, Any] | None:
    """The facts of a player that picks; None for messages."""
    discussion = ask.facts
    if ask.name != "act":
        return None
    named = _named((message.round, message.sender, message.text) for message in discussion.said)
    return _known(discussion.player, named.get(discussion.round, {}))


def answer(ask: Ask, pick: float | None) -> object:
    """Pick a number, or send a neutral message."""
    if pick is None:
        return ask.book.render("fitted_says", {})
    return round(pick)


def _named(messages: Iterable[tuple[int, int, str]]) -> dict[int, dict[int, float]]:
    """Round → speaker → the last number in its message."""
    named: dict[int, dict[int, float]] = {}
    for time, speaker, text in messages:
        if numbers := stated_numbers(text):
            named.setdefault(time, {})[speaker] = numbers[-1]
    return named


def _known(agent: int, named: Mapping[int, float]) -> dict[str, float]:
    others = [number for speaker, number in named.items() if speaker != agent]
    reference = min(max(float(np.mean(others)), LOW), HIGH) if others else (LOW + HIGH) / 2
    return guessing_facts(reference, P, LOW, HIGH, whole=True)


BEHAVIOUR = Behaviour(
    what="a pick",
    models=guessing_models(),
    rows=rows,
    known=known,
    answer=answer,
    people=PEOPLE,
)
