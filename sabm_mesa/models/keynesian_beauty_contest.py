"""Keynesian beauty contest: 24 players guess two thirds of their average guess, and may talk first.

Purpose
    Do competing players come to cooperate through talk when nobody tells them to? A falling
    variance of the picks over rounds of discussion is taken as the sign of it.

Entities, state variables and scales
    N players, each with a mind, a persona, its last pick, payoff (credits) and whether it won. The
    world is the discussion: all that was said, by whom and in which round. A round is one
    discussion and one pick; there is no space.

Process overview and scheduling
    Communication (not in round 0): everybody speaks one sentence to all, one after another in an
    order shuffled every round, and hears all that was said before in this and in earlier rounds.
    Action: everybody thinks privately and picks, all at the same time. Update: target, winners and
    payoffs. Players are not told picks, targets or winners of earlier rounds: k = 0, 1, 2, 3 rounds
    of discussion precede the picks.

Design concepts
    Emergence: agreement on a number. Objective: to win. Sensing: the discussion, and nothing else.
    Interaction: speech to all. Stochasticity: speaking order and the players' minds, each with its
    own stream. Observation: the data columns below.

Initialization and input
    Round 0 starts from an empty discussion; there is no input data. ``n_players`` 2 or more, 24;
    ``n_rounds`` 1 or more, 4; ``condition``: ``baseline``, ``cooperative`` (told to cooperate
    through the talk, and that they must), ``uncooperative`` (told that they do not like to
    cooperate); ``personas``; ``variant``: ``default``, ``paraphrased``, ``screening`` (the one-shot
    question of appendix B, for one round); ``temperature`` 0.7, ``max_tokens`` 256, ``top_p`` 1
    (table 3).

Submodels: picks, winners, payoffs
    A pick is an integer from 0 to 100. The target is 2/3 of the mean of all valid picks; every
    player at the smallest distance to it wins, compared exactly. ``reward_rule``: ``independent``
    (each winner gets 100 credits), ``amplified`` (each of M winners gets M · 100), ``exclusive``
    (100 for a single winner, nothing when there are several). In theory: when a sole winner is paid
    more than one of several, all pick 0 is a Nash equilibrium, and in integers also all pick 1 from
    4 players on; under ``independent`` and ``amplified`` every common pick is one in the weak
    sense, and 0 (and 1 from 5 players on) in the strict sense (`symmetric_equilibria` checks it).

Measures
    By round: mean, target, population variance of the picks, number of winners, ``agreement`` (the
    share of messages that agree or repeat a number named before; NaN without messages). By player:
    pick, whether it won, payoff in credits, and the depth of reasoning after Nagel 1995 (−1 above
    50; 0 to 3; 4 deeper), always against 50, since players are not told earlier means.

Unreadable answers
    A player whose pick could not be read abstains: its choice is empty, it cannot win, and it
    counts neither in the mean nor in the variance. A speaker whose sentence could not be read
    says nothing.

Deviations from the authors' program
    An unreadable answer became 0, the Nash pick; the first number in a text was taken as the pick;
    shuffles were not seeded. None of that is repeated here. The prompts are in our own words.

Source
    Wu et al. 2024, "Shall We Team Up: Exploring Spontaneous Cooperation of Competing LLM Agents",
    arXiv 2402.12327, section 4 and appendices A, B.1, C.2, E.3, G.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from sabm_mesa.agents.keynesian_beauty_contest import Message, Player
from sabm_mesa.analysis.messages import shared_number_or_agreement
from sabm_mesa.analysis.theory.guessing_game import (
    RewardRule,
    nagel_level,
    outcome,
    reward_per_winner,
)
from sabm_mesa.decisions import Decision
from sabm_mesa.minds import Minds
from sabm_mesa.minds.classical.keynesian_beauty_contest import CognitiveHierarchy, LevelK
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.score import Score
from sabm_mesa.parameters import one_of, whole
from sabm_mesa.population import Personas
from sabm_mesa.provenance import Seed
from sabm_mesa.scheduler import Phase, action, communication

P = 2 / 3
REWARD_RULES: tuple[RewardRule, ...] = ("independent", "amplified", "exclusive")


def after_the_first_round(model: KeynesianBeautyContest) -> bool:
    """Whether the players talk in this round: in all but round 0."""
    return model.round > 0


class KeynesianBeautyContest(SmartModel):
    """The guessing game with group discussion.

    Args:
        n_players: number of players (2 or more).
        n_rounds: number of rounds (1 or more); round 0 is played without a discussion.
        reward_rule: ``"independent"``, ``"amplified"`` or ``"exclusive"``.
        condition: ``"baseline"``, ``"cooperative"`` or ``"uncooperative"``.
        personas: see `SmartModel`.
        minds: see `SmartModel`; classical minds are ``classical`` and ``classical:level_k``.
        rng: the seed.
        temperature: sampling temperature of language models.
        max_tokens: tokens of an answer at the most.
        top_p: nucleus sampling of language models.
        settings: the other parameters of `SmartModel`.

    Attributes:
        said: the messages of all rounds, in the order in which they were said.
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
    prompt_file = "kbc"
    plots = "sabm_mesa.analysis.plots.keynesian_beauty_contest"
    phases: ClassVar[tuple[Phase, ...]] = (communication(when=after_the_first_round), action())
    model_columns: ClassVar[dict[str, str]] = {
        name: name for name in ("mean", "target", "variance", "n_winners", "agreement")
    }
    agent_columns: ClassVar[dict[str, str]] = {
        name: name for name in ("choice", "won", "payoff", "level")
    }
    score = Score("Payoff in a run (credits)", "n_players")
    changeable = frozenset({"reward_rule"})
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = {
        "default": CognitiveHierarchy,
        "level_k": LevelK,
    }

    def __init__(
        self,
        n_players: int = 24,
        n_rounds: int = 4,
        reward_rule: str = "independent",
        condition: str = "baseline",
        personas: Personas = "none",
        minds: Minds = "classical",
        rng: Seed = None,
        temperature: float | None = 0.7,
        max_tokens: int | None = 256,
        top_p: float | None = 1.0,
        **settings: Any,
    ) -> None:
        super().__init__(
            n_rounds=n_rounds, condition=condition, personas=personas, minds=minds, rng=rng,
            temperature=temperature, max_tokens=max_tokens, top_p=top_p, **settings,
        )  # fmt: skip
        self.n_players = whole("n_players", n_players, 2)
        self.reward_rule = one_of("reward_rule", reward_rule, REWARD_RULES)
        self.said: list[Message] = []
        self.mean = self.target = self.variance = self.agreement = math.nan
        self.n_winners = 0
        self.players = self.populate(Player, self.n_players)

    def after_communicate(self, player: Player, sentence: Decision) -> None:
        """Let everybody hear what a player said."""
        if sentence.valid:
            self.said.append(Message(self.round, player.unique_id, sentence.value))

    def after_act(self, player: Player, pick: Decision) -> None:
        """Take a player's pick; None when it could not be read."""
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
        now = [(said.speaker, said.text) for said in self.said if said.round == self.round]
        before = [(said.speaker, said.text) for said in self.said if said.round < self.round]
        self.agreement = shared_number_or_agreement(now, before)
