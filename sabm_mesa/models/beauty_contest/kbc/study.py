"""Agreement of the discussion, behavioural models of the picks, and the preliminary test.

The reference of a player, where the steps of reasoning begin, is the mean of the last numbers that
the others have named since its last pick, or the middle of the range if they named none. It is the
same for a recorded player and for a mind.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, Row
from sabm_mesa.analysis.messages import signals_agreement, stated_numbers
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.messages import Message
from sabm_mesa.models.beauty_contest.guessing import level_k_labels
from sabm_mesa.models.beauty_contest.kbc.agents import HIGH, LOW, P
from sabm_mesa.models.beauty_contest.study import PEOPLE, guessing_facts, guessing_models
from sabm_mesa.models.declarations import Exam, Marks, Study

_SEVERAL = -1
"""Represents several speakers instead of the id of one."""


class Agreement:
    """The agreement of the messages of a discussion, by round.

    Only equal numbers count as the same: 33 and 33.3 differ.
    """

    def __init__(self) -> None:
        self._named: dict[float, int] = {}  # number → its only speaker, or `_SEVERAL`

    def share(self, messages: Sequence[Message]) -> float:
        """Return the share of messages that agree or repeat a number of another player.

        Args:
            messages: the messages of the next round in their order; blank ones do not count.
                Numbers of earlier rounds count too.

        Returns:
            A share from 0 to 1; NaN without messages.
        """
        signs = []
        for message in messages:
            if message.text.strip():
                sender, taken_up = message.sender, False
                for number in stated_numbers(message.text):
                    if self._named.setdefault(number, sender) != sender:
                        self._named[number], taken_up = _SEVERAL, True
                signs.append(taken_up or signals_agreement(message.text))
        return sum(signs) / len(signs) if signs else math.nan


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


_BEHAVIOUR = Behaviour(
    what="a pick",
    models=guessing_models(),
    rows=rows,
    known=known,
    answer=answer,
    people=PEOPLE,
)


HIGHEST_PICK = 67
"""The highest undominated pick: the integer nearest to the highest possible target."""


def _marks(model: Any) -> Marks:
    picks = [player.choice for player in model.players]
    return {"picks": [pick is not None and pick <= HIGHEST_PICK for pick in picks]}


_EXAM = Exam(
    title="one-shot contest",
    source="Wu et al. 2024, appendix B.1 and table 4",
    right=f"a pick from 0 to {HIGHEST_PICK} (no target is above 2/3 of 100: a higher pick is "
    "dominated)",
    published="GPT-4 picks 18, Gemini Pro 30, GPT-3.5 and Claude 2 pick 33; the picks of GPT-3.5 "
    "are spread from 20 to 80 over 10 runs",
    parameters=lambda _, n: {"n_players": max(2, n), "n_rounds": 1, "variant": "screening"},
    marks=_marks,
)


STUDY = Study(
    column_bounds={
        "mean": (0.0, 100.0),
        "variance": (0.0, 2500.0),
        "agreement": (0.0, 1.0),
        "choice": (0.0, 100.0),
    },
    theory_marks={"levels": level_k_labels()},
    behaviour=_BEHAVIOUR,
    exam=_EXAM,
)
