"""Keynesian beauty contest: 24 players guess two thirds of their average guess, and may talk first.

Purpose
    Do competing players start to cooperate through talk without an instruction to do so? The sign
    of cooperation is a decreasing variance of the picks over rounds of discussion.

Entities, state variables and scales
    N players, each with a mind, a persona, its last pick, its payoff (credits) and whether it won.
    The world is the discussion: all messages with their senders and rounds. A round is one
    discussion and one pick; there is no space.

Process overview and scheduling
    Communication (not in round 0): each player says one sentence to all, one after another in an
    order shuffled every round, and hears all earlier messages of this and of earlier rounds.
    Action: all players think privately and pick simultaneously. Update: target, winners and
    payoffs. Players do not see picks, targets or winners of earlier rounds; 0, 1, 2, 3 rounds of
    discussion precede the picks.

Design concepts
    Emergence: agreement on a number. Objective: to win. Sensing: the discussion, and nothing else.
    Interaction: speech to all. Stochasticity: speaking order and the players' minds, each with its
    own stream. Observation: the data columns below.

Initialization and input
    Round 0 starts from an empty discussion; there is no input data. ``n_players`` 24;
    ``n_rounds`` 4; ``condition``: ``baseline``, ``cooperative`` (told to cooperate
    through the talk, and that they must), ``uncooperative`` (told that they do not like to
    cooperate); ``personas``; ``variant``: ``default``, ``reworded_1`` to
    ``reworded_3`` (the same facts in other words), ``screening`` (the one-shot
    question of appendix B, for one round); ``temperature`` 0.7, ``max_tokens`` 256, ``top_p`` 1
    (table 3).

Submodels: picks, winners, payoffs
    A pick is an integer from 0 to 100. The target is 2/3 of the mean of all valid picks; all
    players at the smallest distance to it win (compared exactly). ``reward_rule``: ``independent``
    (each winner gets 100 credits), ``amplified`` (each of M winners gets M · 100), ``exclusive``
    (100 for a single winner, nothing when there are several). In theory: if a sole winner earns
    more than one of several winners, "all pick 0" is a Nash equilibrium, and for integers also "all
    pick 1" with at least 4 players. Under ``independent`` and ``amplified`` every common pick is a
    weak equilibrium, and 0 (with at least 5 players also 1) is a strict one under ``independent``
    (`symmetric_equilibria` checks it).

Measures
    By round: mean, target, population variance of the picks, number of winners, ``agreement`` (the
    share of messages that agree or repeat a number named before; NaN without messages). By player:
    pick, whether it won, payoff in credits, and the depth of reasoning after Nagel 1995 (−1 above
    50; 0 to 3; 4 deeper), always relative to 50, since players do not see earlier means.

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

from sabm_mesa.analysis.guessing import level_k_labels, nagel_level, outcome, reward_per_winner
from sabm_mesa.core.answers import Decision
from sabm_mesa.core.scheduler import Phase, action, communication
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import Score
from sabm_mesa.models.kbc.agents import HIGH, LOW, SENTENCE, P, Player
from sabm_mesa.models.kbc.measures import Agreement
from sabm_mesa.models.kbc.minds import CognitiveHierarchy, LevelK


def after_the_first_round(model: KeynesianBeautyContest) -> bool:
    """Whether the players talk in this round: in all rounds except round 0."""
    return model.round > 0


class KeynesianBeautyContest(SmartModel):
    """The guessing game with group discussion.

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
    plots = "sabm_mesa.models.kbc.plots"
    page = "sabm_mesa.models.kbc.page"
    class_game = "sabm_mesa.models.kbc.class_game"
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
    column_bounds: ClassVar[dict[str, tuple[float, float]]] = {
        "mean": (0.0, 100.0),
        "variance": (0.0, 2500.0),
        "agreement": (0.0, 1.0),
        "choice": (0.0, 100.0),
    }
    score = Score("Payoff in a run (credits)", "n_players")
    level_column = "level"
    message_words = Path(__file__).with_name("words.toml")
    theory_marks: ClassVar[dict[str, Any]] = {"levels": level_k_labels()}
    exam = "sabm_mesa.models.kbc.exam"
    behaviour = "sabm_mesa.models.kbc.behaviour"
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
