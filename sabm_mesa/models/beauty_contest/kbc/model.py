"""Replication of Wu et al. 2024: 24 players guess 2/3 of their average guess, and may talk first.

To write a scenario of your own, start from ``examples/opinions``.

Each player picks an integer from 0 to 100; those closest to 2/3 of the mean win. From round 1 on,
each player first says one sentence to all, in shuffled order. Players never see picks, targets or
winners. ``reward_rule``: each winner gets 100 credits (``independent``), each of M winners M · 100
(``amplified``), or only a sole winner gets 100 (``exclusive``). The rules in full are in
``odd.toml``. If a sole winner earns more than one of several, "all pick 0" is a Nash equilibrium,
for integers also "all pick 1" with at least 4 players.

Unreadable answers
    A player with an unreadable pick abstains: its choice is empty, it cannot win, and it does not
    count in the mean and the variance. An unreadable sentence is not sent.

Deviations from the authors' program
    In their program, an unreadable answer became 0, the Nash pick; the first number in a text was
    the pick; shuffles were not seeded. None of this is repeated here. The prompts are in our own
    words.

Source
    Wu et al. 2024, "Shall We Team Up: Exploring Spontaneous Cooperation of Competing LLM Agents",
    arXiv 2402.12327, section 4 and appendices A, B.1, C.2, E.3, G.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge

from sabm_mesa.core.answers import Decision
from sabm_mesa.core.scheduler import Phase, action, communication
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.beauty_contest.guessing import (
    nagel_level,
    outcome,
    reward_per_winner,
)
from sabm_mesa.models.beauty_contest.kbc.agents import HIGH, LOW, SENTENCE, P, Player
from sabm_mesa.models.beauty_contest.kbc.minds import CognitiveHierarchy, LevelK
from sabm_mesa.models.beauty_contest.kbc.study import Agreement
from sabm_mesa.models.declarations import Score


def after_the_first_round(model: KeynesianBeautyContest) -> bool:
    """Whether the players talk in this round: in all rounds except round 0."""
    return model.round > 0


class KeynesianBeautyContest(SmartModel):
    """The guessing game with group discussion (Wu et al. 2024).

    Args:
        n_players: number of players.
        n_rounds: number of rounds; round 0 is played without a discussion.
        reward_rule: the reward of a winner: the same whatever the number of winners, growing with
            it, or nothing but for a single winner.
        condition: ``"baseline"``, ``"cooperative"`` or ``"uncooperative"``.
        minds: see `SmartModel`; classical minds are ``classical`` and ``classical:level_k``.
        settings: the other parameters of `SmartModel`.

    Attributes:
        said: the messages of the round under way, or of the last one.
        mean: mean of the valid picks of the last round; NaN without any.
        target: two thirds of the mean.
        variance: population variance of the valid picks.
        n_winners: number of winners.
        agreement: share of the round's messages that agree or repeat a number named before.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "kbc"
    title = "Keynesian beauty contest"
    source = "Wu et al. 2024, arXiv 2402.12327, section 4"
    prompt_file = Path(__file__).with_name("prompts.toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        communication(
            when=after_the_first_round,
            doc=f"Each player says one sentence to all (`communicate`, at most "
            f"{SENTENCE.max_words} words); later speakers hear it.",
        ),
        action(
            doc=f"Each player thinks privately and picks an integer from {LOW} to {HIGH} (`act`); "
            "a player whose answer is unreadable has no pick.",
        ),
    )
    model_columns = ("mean", "target", "variance", "n_winners", "agreement")
    agent_columns = ("choice", "won", "payoff", "level")
    score = Score("Payoff in a run (credits)", "n_players")
    changeable = frozenset({"reward_rule"})
    defaults: ClassVar[dict[str, Any]] = {"temperature": 0.7, "max_tokens": 256, "top_p": 1.0}
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = {
        "default": CognitiveHierarchy,
        "level_k": LevelK,
    }

    def __init__(
        self,
        n_players: Annotated[int, Ge(2)] = 24,
        n_rounds: int = 4,
        reward_rule: Literal["independent", "amplified", "exclusive"] = "independent",
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.n_players, self.reward_rule = n_players, reward_rule
        self.mean = self.target = self.variance = self.agreement = math.nan
        self.n_winners = 0
        self._agreement = Agreement()
        self.players = self.populate(Player, self.n_players)

    def after_communicate(self, player: Player, sentence: Decision) -> None:
        """Send the sentence of a player to all."""
        self.say(player, sentence.value)

    def after_act(self, player: Player, pick: Decision) -> None:
        """Store the pick of a player; None if it was unreadable."""
        player.choice = pick.value

    def update(self) -> None:
        """Determine target, winners and rewards."""
        picks = [player.choice for player in self.players]
        self.mean, _, self.variance, self.target, won = outcome(picks, P)
        self.n_winners = sum(won)
        reward = reward_per_winner(self.n_winners, self.reward_rule)
        for player, wins in zip(self.players, won, strict=True):
            player.won = wins
            player.payoff = reward if wins else 0.0
            player.level = None if player.choice is None else nagel_level(player.choice, p=P)
        self.agreement = self._agreement.share(self.said)
