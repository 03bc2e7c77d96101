"""The players of the Keynesian beauty contest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import Decision, Number, Text, words

if TYPE_CHECKING:
    from sabm_mesa.models.beauty_contest.kbc.model import KeynesianBeautyContest


LOW, HIGH = 0, 100
"""The range of the picks."""
P = 2 / 3
"""The factor of the target."""
SENTENCE = Text(max_words=60, label="message")
PICK = Number(LOW, HIGH, integer=True, label="number", reasoning=words(30))


class Player(SmartAgent):
    """A player, who says one sentence to all and picks a number.

    Args:
        model: the contest.

    Attributes:
        choice: the pick of the last round, or None after an unreadable answer.
        won: whether it was among the winners of the last round.
        payoff: credits earned in the last round.
        level: Nagel's class of the pick (see `nagel_level`), or None without a pick.
    """

    model: KeynesianBeautyContest

    def __init__(self, model: KeynesianBeautyContest) -> None:
        super().__init__(model)
        self.choice: int | None = None
        self.won = False
        self.payoff = 0.0
        self.level: int | None = None

    async def communicate(self) -> Decision:
        """Send one sentence to all; later speakers hear it."""
        return await self.ask("communicate", SENTENCE, **self.facts())

    async def act(self) -> Decision:
        """Think privately, and pick an integer."""
        return await self.ask("act", PICK, **self.facts())

    def facts(self) -> dict[str, Any]:
        """The facts that the player knows: the rules, its number, and all messages so far."""
        model = self.model
        return {
            "player": self.unique_id,
            "n_others": model.n_players - 1,
            "low": LOW,
            "high": HIGH,
            "reward_rule": model.reward_rule,
            "condition": model.condition,
            "round": model.round,
            "said": self.conversation(rounds=None),
        }
