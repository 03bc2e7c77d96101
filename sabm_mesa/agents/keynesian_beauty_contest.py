"""The players of the Keynesian beauty contest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.asks import Observation
from sabm_mesa.decisions import Decision, Number, Text

if TYPE_CHECKING:
    from sabm_mesa.models.keynesian_beauty_contest import KeynesianBeautyContest
    from sabm_mesa.prompts import PromptBook

LOW, HIGH = 0, 100
"""The range of the picks."""
SENTENCE = Text(max_words=60)
PICK = Number(LOW, HIGH, integer=True, reasoning=True)


@dataclass(frozen=True, slots=True)
class Message:
    """What one player said to all.

    Attributes:
        round: the round in which it was said.
        speaker: the number of the player, from 1.
        text: the words.
    """

    round: int
    speaker: int
    text: str


@dataclass(frozen=True, slots=True)
class Discussion(Observation):
    """What a player knows: the rules, who it is, and all that was said so far.

    Attributes:
        player: its own number, from 1.
        n_players: the number of players.
        round: the round, from 0; that many discussions have been held before this one's picks.
        condition: the condition of the run.
        reward_rule: the reward rule.
        said: the messages of all rounds so far, in the order in which they were said.
    """

    player: int
    n_players: int
    round: int
    condition: str
    reward_rule: str
    said: tuple[Message, ...]

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value; own lines are marked as one's own.

        Args:
            book: the prompts of the run.
        """
        lines = [
            book.render(
                "said_own" if message.speaker == self.player else "said_other",
                {"speaker": message.speaker, "text": book.quote(message.text)},
            )
            for message in self.said
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
    """A player: says one sentence to all, and picks a number.

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
        """Say one sentence to all; later speakers hear it."""
        return await self.ask("communicate", SENTENCE, self.observe())

    async def act(self) -> Decision:
        """Think privately, and pick an integer."""
        return await self.ask("act", PICK, self.observe())

    def observe(self) -> Discussion:
        """What the player knows now."""
        model = self.model
        return Discussion(
            player=self.unique_id,
            n_players=model.n_players,
            round=model.round,
            condition=model.condition,
            reward_rule=model.reward_rule,
            said=tuple(model.said),
            persona=self.persona,
        )
