"""The players of the repeated guessing game."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import Decision, Number, Reasoning, Text, words
from sabm_mesa.core.asks import Observation

if TYPE_CHECKING:
    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.models.beauty_contest.model import RepeatedBeautyContest


RULES = Text(max_words=120)
GOAL = Text(max_words=40)
REASON = words(60)
DIGITS, DECIMALS = 6, 9
"""Number of significant digits of a number in a prompt, and maximum number of decimals."""


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """An earlier round in a player's observation; hidden values are None.

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

    def known_mean(self, p: float) -> float | None:
        """Return the mean if the revealed values determine it, otherwise None.

        Args:
            p: factor of the target.
        """
        mean = self.mean
        if mean is None and self.choices is not None:
            valid = [choice for choice in self.choices if choice is not None]
            mean = sum(valid) / len(valid) if valid else None
        elif mean is None and self.target is not None:
            mean = self.target / p
        return None if mean is None or math.isnan(mean) else mean


@dataclass(frozen=True, slots=True)
class Notice:
    """The facts about opponents with a fixed strategy; None for a fact that the prompt omits.

    Attributes:
        numbers: the numbers that they choose, ascending.
        count: the number of these opponents.
    """

    numbers: tuple[float, ...] | None
    count: int | None


@dataclass(frozen=True, slots=True)
class GuessingView(Observation):
    """The observation of a player: the rules, and the revealed part of the last rounds.

    Attributes:
        player: its own number, from 1.
        n_players: the number of players.
        round: the round, from 0.
        n_rounds: number of rounds of the game.
        p: factor of the target.
        high: the largest legal pick; the smallest is 0.
        integer: whether picks are whole numbers.
        prize: the points that the winners share.
        notice: the facts about opponents with a fixed strategy; None if the prompt has none.
        past: the last rounds, oldest first, without hidden values.
        own: the player's (pick, payoff) in each of these rounds; empty if hidden.
        understanding: the player's restatement of the rules, or ``""``.
        goal: the player's goal for this round, or ``""``.
    """

    player: int
    n_players: int
    round: int
    n_rounds: int
    p: float
    high: float
    integer: bool
    prize: float
    notice: Notice | None
    past: Sequence[PlayedRound]
    own: Sequence[tuple[float | None, float]]
    understanding: str
    goal: str

    @property
    def reference(self) -> float:
        """The pick of level 0: the last known mean, or the middle of the range."""
        means = (past.known_mean(self.p) for past in reversed(self.past))
        return next((mean for mean in means if mean is not None), self.high / 2)

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Return placeholder → value; p is in words if the prompts have words for it.

        Args:
            book: the prompts of the run.
        """
        length = {"n_rounds": self.n_rounds}
        own_words = {"understanding": self.understanding, "goal": self.goal}
        return {
            "player": self.player,
            "n_others": self.n_players - 1,
            "length": book.render("length_one" if self.n_rounds == 1 else "length_several", length),
            "numbers": book.render("numbers_integer" if self.integer else "numbers_real", {}),
            "high": shown(self.high),
            "factor": _factor(self.p, book),
            "prize": _points(self.prize, book),
            "notice": self._notice(book),
            "persona": book.persona(self.persona),
            "round_number": self.round + 1,
            "past": "\n".join(self._rounds(book)) or book.render("past_nothing", {}),
            **{
                f"own_{name}": text and book.render(f"own_{name}", {"text": book.quote(text)})
                for name, text in own_words.items()
            },
        }

    def _notice(self, book: PromptBook) -> str:
        """The line about opponents with a fixed strategy."""
        if self.notice is None:
            return ""
        numbers, count = self.notice.numbers, self.notice.count
        which = "untold" if numbers is None else "one" if len(numbers) == 1 else "several"
        values = {"numbers": ", ".join(map(shown, numbers or ()))}
        return book.render(
            "notice_some" if count is None else "notice_count",
            {"count": count, "choosing": book.render(f"choosing_{which}", values)},
        )

    def _rounds(self, book: PromptBook) -> list[str]:
        """One paragraph per round."""
        results = self.own or repeat(None, len(self.past))
        paragraphs = (
            _paragraph(past, result, self.player, book)
            for past, result in zip(self.past, results, strict=True)
        )
        return [paragraph for paragraph in paragraphs if paragraph]


@lru_cache(maxsize=4096)  # cached, since each prompt shows all rounds
def _paragraph(
    past: PlayedRound, result: tuple[float | None, float] | None, player: int, book: PromptBook
) -> str:
    """The description of a round for a player; ``""`` if everything is hidden."""
    none = book.render("nobody", {})
    lines: list[tuple[str, dict[str, object]]] = []
    if past.choices is not None:
        choices = [
            book.render(
                "choice_own" if number == player else "choice_other",
                {"player": number, "choice": none if choice is None else shown(choice)},
            )
            for number, choice in enumerate(past.choices, 1)
        ]
        lines.append(("past_choices", {"choices": ", ".join(choices)}))
    for name, value in (("mean", past.mean), ("target", past.target)):
        if value is not None:
            lines.append((f"past_{name}", {name: none if math.isnan(value) else shown(value)}))
    if past.winners is not None:
        choices = [
            book.render("winner_own" if number == player else "winner_other", {"player": number})
            for number in past.winners
        ]
        lines.append(("past_winners", {"winners": ", ".join(choices) or none}))
    if result is not None:
        choice, payoff = result
        placeholders: dict[str, object] = {
            "choice": none if choice is None else shown(choice),
            "payoff": _points(payoff, book),
        }
        lines.append(("past_own", placeholders))
    if not lines:
        return ""
    head = book.render("past_round", {"round_number": past.round + 1})
    return "\n".join([head, *(book.render(entry, values) for entry, values in lines)])


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
        return await self.ask("understand", RULES, self.observe())

    async def act(self) -> Decision:
        """Pick a number; with full elicitation, state the goal of the round before."""
        goal = ""
        if self.model.elicitation == "full":
            stated = await self.ask("goal", GOAL, self.observe())
            goal = stated.value or ""
        game = self.observe(goal)
        reason = None if self.model.elicitation == "none" else REASON
        return await self.ask("act", _pick(game.high, game.integer, reason), game)

    def observe(self, goal: str = "") -> GuessingView:
        """Return what the player knows now.

        Args:
            goal: the player's goal for this round.
        """
        model = self.model
        past, results = model.revealed_to(self)
        return GuessingView(
            player=self.unique_id,
            n_players=model.n_players,
            round=model.round,
            n_rounds=model.n_rounds,
            p=model.p,
            high=model.high,
            integer=model.integer,
            prize=model.prize,
            notice=model.notice_to(self),
            past=past,
            own=results,
            understanding=self.understanding,
            goal=goal,
            persona=self.persona,
        )


@lru_cache
def _pick(high: float, integer: bool, reasoning: Reasoning | None) -> Number:
    """The answer spec of a pick, shared by all players of a game."""
    return Number(0, high, integer=integer, reasoning=reasoning, label="number")


@lru_cache(maxsize=10_000)  # cached, since each prompt shows all numbers of all rounds
def shown(number: float) -> str:
    """Format a number for a prompt: few digits, never an exponent or a negative zero."""
    return np.format_float_positional(
        round(number, DECIMALS) + 0.0, precision=DIGITS, unique=False, fractional=False, trim="-"
    )


def _points(number: float, book: PromptBook) -> str:
    return book.render("points_one" if number == 1 else "points_several", {"number": shown(number)})


def _factor(p: float, book: PromptBook) -> str:
    fraction = Fraction(p).limit_denominator(10)
    entry = f"factor_{fraction.numerator}_{fraction.denominator}"
    if entry in book.entries and math.isclose(fraction, p, rel_tol=1e-12):
        return book.render(entry, {})
    return book.render("factor_other", {"p": shown(p)})
