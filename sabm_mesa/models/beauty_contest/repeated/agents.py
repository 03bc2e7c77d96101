"""The players of the repeated guessing game."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import Decision, Number, Reasoning, Text, words
from sabm_mesa.core.facts import Facts

if TYPE_CHECKING:
    from sabm_mesa.models.beauty_contest.repeated.model import RepeatedBeautyContest


RULES = Text(max_words=120)
GOAL = Text(max_words=40)
REASON = words(60)


class PlayedRound(NamedTuple):
    """An earlier round as a player sees it; hidden values are None.

    Attributes:
        round: the round, from 0.
        choices: the pick of each player in the order of their numbers; None for an abstention.
        mean: mean of the valid picks; NaN without any.
        target: p times the mean.
        winners: the numbers of the winners, from 1.
        payoffs: the payoff of each player.
    """

    round: int
    choices: tuple[float | None, ...] | None
    mean: float | None
    target: float | None
    winners: tuple[int, ...] | None
    payoffs: tuple[float, ...] | None


class Notice(NamedTuple):
    """The facts about opponents with a fixed strategy; None for a fact that the prompt omits.

    Attributes:
        numbers: the numbers that they choose, ascending.
        count: the number of these opponents.
    """

    numbers: tuple[float, ...] | None
    count: int | None  # type: ignore[assignment]  # tuples have a method of this name


def known_mean(played: Mapping[str, Any], p: float) -> float | None:
    """The mean of an earlier round if the revealed values determine it, otherwise None."""
    mean = played["mean"]
    if mean is None and played["choices"] is not None:
        valid = [choice for choice in played["choices"] if choice is not None]
        mean = sum(valid) / len(valid) if valid else None
    elif mean is None and played["target"] is not None:
        mean = played["target"] / p
    return None if mean is None or math.isnan(mean) else mean


def reference(facts: Facts) -> float:
    """The pick of level 0: the last known mean, or the middle of the range."""
    means = (known_mean(played, facts.p) for played in reversed(facts.past))
    return next((mean for mean in means if mean is not None), facts.high / 2)


class Player(SmartAgent):
    """A player: picks a number in every round.

    Args:
        model: the game.

    Attributes:
        choice: the pick of the last round; None after an unreadable answer.
        won: whether it was among the winners of the last round.
        payoff: its payoff in the last round.
        level: Nagel's class of the pick (see `nagel_level`), or None.
        depth: the depth of reasoning as a real number (see `strategic_level`), or NaN.
        ratio: the pick divided by the previous pick; NaN without a previous pick.
        results: the pick and the payoff of each round.
        understanding: the player's restatement of the rules; ``""`` until it is asked.
    """

    model: RepeatedBeautyContest

    def __init__(self, model: RepeatedBeautyContest) -> None:
        super().__init__(model)
        self.choice: float | None = None
        self.won = False
        self.payoff = 0.0
        self.level: int | None = None
        self.depth = self.ratio = math.nan
        self.results: list[tuple[float | None, float]] = []
        self.understanding = ""

    async def understand(self) -> Decision:
        """Restate the rules before the first round."""
        return await self.ask("understand", RULES, **self.facts())

    async def act(self) -> Decision:
        """Pick a number; with full elicitation, state the goal of the round before."""
        model, facts, goal = self.model, self.facts(), ""
        if model.elicitation == "full":
            goal = (await self.ask("goal", GOAL, **facts)).value or ""
        reason = None if model.elicitation == "none" else REASON
        return await self.ask("act", _pick(model.high, model.integer, reason), **facts, goal=goal)

    def facts(self) -> dict[str, Any]:
        """The facts that the player knows: the rules, and the revealed part of the last rounds."""
        model = self.model
        past, results = model.revealed_to(self)
        return {
            "player": self.unique_id,
            "n_others": model.n_players - 1,
            "round": model.round,
            "n_rounds": model.n_rounds,
            "p": model.p,
            "high": model.high,
            "integer": model.integer,
            "prize": model.prize,
            "notice": model.notice_to(self),
            "past": past,
            "own": results,
            "understanding": self.understanding,
        }


@lru_cache
def _pick(high: float, integer: bool, reasoning: Reasoning | None) -> Number:
    """The answer spec of a pick, shared by all players of a game."""
    return Number(0, high, integer=integer, reasoning=reasoning, label="number")
