"""Classical minds of the Keynesian beauty contest: steps of reasoning that respond to messages."""

from __future__ import annotations

from types import MappingProxyType

from sabm_mesa.analysis.messages import stated_numbers
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.facts import Facts
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.models.beauty_contest.guessing import (
    TAU,
    cognitive_hierarchy_choice,
    drawn_steps,
    level_k_choice,
    noisy,
)
from sabm_mesa.models.beauty_contest.kbc.agents import HIGH, LOW, P

MIDDLE = (LOW + HIGH) / 2
"""The initial reference of players with steps of reasoning."""
TRUST = {"baseline": 0.5, "cooperative": 0.9, "uncooperative": 0.05}
"""Weight of the messages of others, by condition (our choice: there is no estimate)."""
PERSONA_TRUST = {"agreeable": 1.5, "disagreeable": 0.5}
"""Factor on the trust of two personas (our choice); other personas have no effect here."""


class CognitiveHierarchy(ClassicalMind):
    """A player of the Poisson cognitive hierarchy who responds to the numbers of others.

    It draws its steps of reasoning k from a Poisson distribution. With k = 0 its first opinion is a
    uniform pick; otherwise it is the best response to a population of players with fewer steps,
    times constant lognormal noise. When others name numbers, it reasons again with the same k:
    their mean replaces the middle of the range, so a player with one step responds with two thirds
    of it, and a player with no step with the mean itself. Its opinion moves towards that response,
    weighted by its trust. In the cooperative condition it responds with the mean of the others. It
    names its opinion when it speaks, and picks the rounded opinion. Its attitude to cooperation
    comes from the question for the pick, and is remembered in the talk.

    Source: Camerer, Ho & Chong 2004 (steps); Nagel 1995 (noise, and steps from the mean of others,
    there of the last round); DeGroot 1974 (weight of the opinions of others).

    Attributes:
        opinion: the number that it would pick now; None before its first question.
        factor: its response to a mean, divided by that mean.
    """

    assumes = MappingProxyType(
        {
            "steps": "a player of one step first picks two thirds of 50, give or take some noise",
            "joins": "told to cooperate, a player takes over the mean of the numbers it hears",
            "trust": "the words of others count less for a player that is told not to cooperate",
        }
    )

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self.opinion: float | None = None
        self.factor = 1.0
        self._heard = 0
        self._condition = "baseline"

    async def answer(self, ask: Ask) -> object:
        """Name the opinion in a sentence, or pick it."""
        discussion = ask.facts
        if self.opinion is None:
            self.opinion = self._first_opinion(ask)
        if ask.name == "act":
            self._condition = discussion.condition
        self.opinion = self._listen(self.opinion, discussion)
        pick = round(min(max(self.opinion, LOW), HIGH))
        if ask.name == "communicate":
            return ask.book.render("classical_says", {"number": pick})
        return pick

    def step_choice(self, k: int) -> float:
        """Return the pick of a player with k ≥ 1 steps of reasoning, before noise."""
        return cognitive_hierarchy_choice(TAU, k, p=P)

    def _first_opinion(self, ask: Ask) -> float:
        k = drawn_steps(ask.rng)
        if k == 0:
            return float(ask.rng.integers(LOW, HIGH + 1))
        first = noisy(self.step_choice(k), P, ask.rng)
        self.factor = first / MIDDLE
        return first

    def _listen(self, opinion: float, discussion: Facts) -> float:
        new = discussion.said[self._heard :]
        self._heard = len(discussion.said)
        named: dict[int, float] = {}
        for message in new:
            if numbers := stated_numbers(message.text):
                named[message.sender] = numbers[-1]
        named.pop(discussion.player, None)
        if not named:
            return opinion
        trust = TRUST.get(self._condition, TRUST["baseline"])
        trust = min(1.0, trust * PERSONA_TRUST.get(discussion.persona, 1.0))
        reply = sum(named.values()) / len(named)
        if self._condition != "cooperative":
            reply *= self.factor
        return (1 - trust) * opinion + trust * reply


class LevelK(CognitiveHierarchy):
    """The same player with the steps of the level-k model: the response to r is r · (2/3)^k.

    Source: Nagel 1995 (steps); DeGroot 1974 (weight of the opinions of others).
    """

    def step_choice(self, k: int) -> float:
        """Return the pick of a player with k ≥ 1 steps of reasoning, before noise."""
        return level_k_choice(k, p=P)
