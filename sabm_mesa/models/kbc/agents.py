"""The players of the Keynesian beauty contest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import Decision, Number, Text, words
from sabm_mesa.core.asks import Observation
from sabm_mesa.core.messages import Message

if TYPE_CHECKING:
    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.models.kbc.model import KeynesianBeautyContest


LOW, HIGH = 0, 100
"""The range of the picks."""
P = 2 / 3
"""The factor of the target."""
SENTENCE = Text(max_words=60, label="message")
PICK = Number(LOW, HIGH, integer=True, label="number", reasoning=words(30))


@dataclass(frozen=True, slots=True)
class Discussion(Observation):
    """The observation of a player: the rules, its number, and all messages so far.

    Attributes:
        player: its own number, from 1.
        n_players: the number of players.
        round: the round, from 0; this many discussions precede the picks of this round.
        condition: the condition of the run.
        reward_rule: the reward rule.
        said: the messages of all rounds so far, in their order.
    """

    player: int
    n_players: int
    round: int
    condition: str
    reward_rule: str
    said: tuple[Message, ...]

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Return placeholder → value; the player's lines are marked.

        Args:
            book: the prompts of the run.
        """
        lines = [
            book.render(
                "said_own" if message.sender == self.player else "said_other",
                {"speaker": message.sender, "text": book.quote(message.text)},
            )
            for message in book.quoted_in_order(self.said)
        ]
        return {
            "player": self.player,
            "n_others": self.n_players - 1,
            "low": LOW,
            "high": HIGH,
            "persona": book.persona(self.persona),
            "reward": book.render(f"reward_{self.reward_rule}", {}),
            "said": "\n".join(lines) or book.render("said_nothing", {}),
            "communicate_line": book.render("communicate_line", {}),
            "act_line": book.render("act_line", {}),
        }


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
        return await self.ask("communicate", SENTENCE, self.observe())

    async def act(self) -> Decision:
        """Think privately, and pick an integer."""
        return await self.ask("act", PICK, self.observe())

    def observe(self) -> Discussion:
        """Return what the player knows now."""
        model = self.model
        return Discussion(
            player=self.unique_id,
            n_players=model.n_players,
            round=model.round,
            condition=model.condition,
            reward_rule=model.reward_rule,
            said=self.conversation(rounds=None),
            persona=self.persona,
        )
