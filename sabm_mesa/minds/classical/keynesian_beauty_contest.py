"""Classical minds of the Keynesian beauty contest: steps of reasoning, then social learning."""

from __future__ import annotations

from sabm_mesa.agents.keynesian_beauty_contest import HIGH, LOW, Discussion
from sabm_mesa.analysis.messages import stated_numbers
from sabm_mesa.analysis.theory.cognitive_hierarchy import cognitive_hierarchy_choices
from sabm_mesa.analysis.theory.guessing_game import level_k_choice
from sabm_mesa.asks import Ask
from sabm_mesa.minds.classical.guessing_steps import TAU, drawn_steps, noisy

P = 2 / 3
TRUST = {"baseline": 0.5, "cooperative": 0.9, "uncooperative": 0.05}
"""Weight on what others propose, by condition (our choice: there is no estimate for this game)."""
PERSONA_TRUST = {"agreeable": 1.5, "disagreeable": 0.5}
"""Factor on the trust of two personas (our choice); other personas change nothing here."""


class CognitiveHierarchy:
    """A player of the Poisson cognitive hierarchy who learns from what others say.

    It draws its steps of reasoning k from a Poisson distribution. With k = 0 its first opinion is
    a uniform pick; otherwise it is the best reply to a population of players with fewer steps,
    times lognormal noise. Whenever it has heard numbers since it last made up its mind, it moves
    its opinion towards their mean by its trust (DeGroot 1974). It names its opinion when it
    speaks, and picks it, rounded, when it acts.

    Args:
        spec: how the mind is named in the data.

    Attributes:
        opinion: the number it would pick now; None before it was first asked.

    Source: Camerer, Ho & Chong 2004 (steps); Nagel 1995 (noise); DeGroot 1974 (learning).
    """

    instant = True
    paid = False

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.opinion: float | None = None
        self._heard = 0

    async def answer(self, ask: Ask) -> object:
        """Name the opinion in a sentence, or pick it.

        Args:
            ask: the question; its observation is a `Discussion`.
        """
        discussion = ask.observation
        assert isinstance(discussion, Discussion)
        if self.opinion is None:
            self.opinion = self._first_opinion(ask)
        self.opinion = self._listen(self.opinion, discussion)
        pick = round(min(max(self.opinion, LOW), HIGH))
        if ask.name == "communicate":
            return ask.book.render("classical_says", {"number": pick})
        return pick

    def step_choice(self, k: int) -> float:
        """What a player with k ≥ 1 steps of reasoning picks, before noise."""
        return float(cognitive_hierarchy_choices(TAU, k, p=P)[k])

    def _first_opinion(self, ask: Ask) -> float:
        k = drawn_steps(ask.rng)
        if k == 0:
            return float(ask.rng.integers(LOW, HIGH + 1))
        return noisy(self.step_choice(k), P, ask.rng)

    def _listen(self, opinion: float, discussion: Discussion) -> float:
        new = discussion.said[self._heard :]
        self._heard = len(discussion.said)
        proposals = {
            message.speaker: numbers[-1]
            for message in new
            if message.speaker != discussion.player and (numbers := stated_numbers(message.text))
        }
        if not proposals:
            return opinion
        trust = TRUST.get(discussion.condition, TRUST["baseline"])
        trust = min(1.0, trust * PERSONA_TRUST.get(discussion.persona, 1.0))
        mean = sum(proposals.values()) / len(proposals)
        return (1 - trust) * opinion + trust * mean


class LevelK(CognitiveHierarchy):
    """The same player with steps of the level-k model: k steps pick 50 · (2/3)^k.

    Args:
        spec: how the mind is named in the data.

    Source: Nagel 1995 (steps); DeGroot 1974 (learning).
    """

    def step_choice(self, k: int) -> float:
        """What a player with k ≥ 1 steps of reasoning picks, before noise."""
        return level_k_choice(k, p=P)
