"""Repeated beauty contest: the same players guess p times their mean guess, round after round.

Purpose
    How deeply do players reason about one another, and do they learn, when language models,
    behavioural rules and players with a fixed strategy meet in one group?

Entities, state variables and scales
    N players, each with a mind, a persona, its last pick, payoff (points) and whether it won. The
    world is the list of the rounds that were played. A round is a period of the sources; there is
    no space.

Process overview and scheduling
    Understanding (in round 0, with full elicitation): each restates the rules. Action: all pick a
    number at the same moment, with full elicitation after having stated the goal of the round.
    Update: target, winners, payoffs, levels. From the next round on the players are told of it.

Design concepts
    Emergence: the path of the picks. Adaptation: to what is told of earlier rounds. Objective: to
    win, then to earn much. Sensing: the rules, and of the last ``window`` rounds what is
    ``revealed``. Stochasticity: the upper bound, where it is drawn, and the players' minds.
    Observation: the data columns below.

Initialization and input
    No round has been played; there is no input but the shares of Nagel's subjects, on which two
    classical minds rest (``analysis/human_guesses.toml``). ``n_players`` 2 or more, 10;
    ``n_rounds`` 1 or more, 5; ``p`` above 0, 2/3 (Lu 2024); ``high`` 100 (the default of the
    program of Guo et al.); ``prize`` 1 (as there); ``window`` None: all earlier rounds.
    Treatments of Lu 2024: one type against fixed players, ``n_fixed`` 9, 5 or 1 of 10 (the last
    ones have the mind ``fixed:0`` whatever ``minds`` says; 0); two types ``{"llm:a": 9, "llm:b":
    1}``, and so on. One-shot: 9 players, ``n_rounds`` 1 and a ``high`` that is drawn. Nagel 1995:
    15 to 18 players, 4 rounds, prize 20 (DM), ``p`` 2/3, 1/2 or 4/3, ``revealed`` with ``own``.

Submodels: picks, winners, payoffs
    A pick is a number from 0 to ``high``, real or (``integer``) whole. The target is p times the
    mean of all valid picks. Every player at the smallest distance to it wins, compared exactly,
    and the winners share the prize equally. For p < 1 all 0 is the only equilibrium among real
    picks; among integers there may be others (`symmetric_equilibria`).

Measures
    By round: mean, target, population variance, number of winners, median, ``ratio`` (the mean
    divided by that of the round before; Lu's own formula is not known, 1 − ratio is the rate of
    decrease), and ``high`` and ``p``. By player: pick, whether it won, payoff; ``level`` (Nagel's
    class: −1 on the other side of the reference, steps 0 to 3, 4 beyond; half a step wide in all
    rounds) and ``depth`` (the same as a real number) against ``high``/2 in round 0, then against
    the last known mean; ``ratio`` of its pick to its last. With ``high`` in the place of
    ``high``/2 every depth of round 0 is larger by 1.71 (p = 2/3). Depth takes picks below 1/500 of
    the reference as that share [choice]; it is NaN, as for p = 1, when the reference is 0. Of a
    run: see `analysis.guessing_measures`; they include the mean pick, ratio, depth and payoff of
    each type, a type being the players with one mind spec.

Unreadable answers
    A pick that cannot be read or is out of range is asked for again, then the player abstains: its
    choice is empty, it cannot win, receives nothing, and does not enter mean, target or variance.
    Rules or a goal that could not be read are left out of later prompts.

Deviations from the authors' program
    An answer out of range entered the mean there (and a foul player was paid NaN); here it does
    not. It played single rounds; here the history that the papers describe is told. Lu's agents
    restate rules and goal in one conversation; here each is a question of its own, and what was
    said is shown again. Prompts are in our own words, and the range is told in each question.
    Where the sources say nothing it is our choice [choice]: an upper bound that is drawn is a whole
    number, uniform between the two that are given, once a run; the notice does not say how many
    fixed players there are (``"count"`` does); ``max_tokens`` 256 (``temperature`` is the server's
    own, as published); the constants of the classical minds that are marked so in their file.

Source
    Lu 2024, "Strategic Interactions between Large Language Models-based Agents in Beauty
    Contests", arXiv 2404.08492; Guo et al. 2024, "Economics Arena for Large Language Models",
    arXiv 2401.01735, with the program econarena 0.0.4; Nagel 1995, "Unraveling in Guessing Games",
    American Economic Review 85(5), 1313-1326.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from sabm_mesa.agents.repeated_beauty_contest import Past, Player
from sabm_mesa.analysis.guessing_measures import is_fixed, session_measures
from sabm_mesa.analysis.theory.guessing_dynamics import strategic_level
from sabm_mesa.analysis.theory.guessing_game import nagel_level, outcome, reward_per_winner
from sabm_mesa.decisions import Decision
from sabm_mesa.minds import FixedMind, Minds
from sabm_mesa.minds.classical.repeated_beauty_contest import CLASSICAL_MINDS
from sabm_mesa.models import beauty_contest_setup as setup
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.score import Score
from sabm_mesa.parameters import one_of, real, whole
from sabm_mesa.population import Personas
from sabm_mesa.provenance import Seed
from sabm_mesa.scheduler import Phase, action


class RepeatedBeautyContest(SmartModel):
    """The guessing game, played repeatedly by the same players.

    Args:
        n_players: number of players (2 or more).
        n_rounds: number of rounds (1 or more).
        p: factor of the target, above 0; a fraction may be written as a text such as 2/3.
        high: the largest legal pick (the smallest is 0); or two whole numbers between which it is
            drawn once a run.
        integer: whether picks are whole numbers.
        prize: what the winners of a round share, in points.
        window: how many of the last rounds the players are told of; None: all of them.
        revealed: what they are told of each, as a sequence or a text with commas: choices, mean,
            target, winners, own (one's own pick and payoff).
        n_fixed: how many of the players, the last ones, always pick 0.
        notice: what players are told when others have minds ``fixed:VALUE``: ``"some"`` (that some
            of the others follow a fixed strategy), ``"count"`` (how many do) or ``"none"``.
        elicitation: ``"none"``, ``"reason"`` (a reason with each pick) or ``"full"`` (also the
            rules in one's own words at the start, and the goal in each round).
        condition: ``"baseline"`` is the only one.
        personas: see `SmartModel`.
        minds: see `SmartModel`; classical minds are the cognitive hierarchy (the default),
            ``level_k``, ``level_0`` to ``level_3``, ``empirical_step``, ``learning_direction``
            and ``best_reply``.
        rng: the seed.
        max_tokens: tokens of an answer at the most.
        settings: the other parameters of `SmartModel`.

    Attributes:
        played: the rounds so far.
        mean: mean of the valid picks of the last round; NaN without any; `median` and `variance`
            (population) alike.
        target: p times the mean.
        n_winners: number of winners.
        ratio: the mean divided by that of the round before; NaN without both.
        reference: the last known mean, or the middle of the range.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "beauty-contest"
    title = "Repeated beauty contest"
    source = "Lu 2024, arXiv 2404.08492; Guo et al. 2024, arXiv 2401.01735; Nagel 1995"
    prompt_file = "beauty_contest"
    plots = "sabm_mesa.analysis.plots.repeated_beauty_contest"
    phases: ClassVar[tuple[Phase, ...]] = (Phase("understand", when=setup.asks_for_rules), action())
    model_columns: ClassVar[dict[str, str]] = {
        name: name
        for name in ("mean", "target", "variance", "n_winners", "median", "ratio", "high", "p")
    }
    agent_columns: ClassVar[dict[str, str]] = {
        name: name for name in ("choice", "won", "payoff", "level", "depth", "ratio")
    }
    score = Score("Payoff in a run (points)", "n_players")
    changeable = frozenset({"p", "prize", "window", "revealed", "notice", "elicitation"})
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = CLASSICAL_MINDS

    def __init__(
        self,
        n_players: int = 10,
        n_rounds: int = 5,
        p: float | str = 2 / 3,
        high: float | Sequence[int] = 100.0,
        integer: bool = False,
        prize: float = 1.0,
        window: int | None = None,
        revealed: str | Sequence[str] = "choices,mean,target,winners",
        n_fixed: int = 0,
        notice: str = "some",
        elicitation: str = "reason",
        condition: str = "baseline",
        personas: Personas = "none",
        minds: Minds = "classical",
        rng: Seed = None,
        max_tokens: int | None = 256,
        **settings: Any,
    ) -> None:
        super().__init__(
            n_rounds=n_rounds, condition=condition, personas=personas, minds=minds, rng=rng,
            max_tokens=max_tokens, **settings,
        )  # fmt: skip
        self.n_players = whole("n_players", n_players, 2)
        self.integer = bool(integer)
        self.p = setup.factor(p)
        self.high = setup.upper_bound(high, self.integer, self.rng)
        self.prize = real("prize", prize, 0)
        self.window = None if window is None else whole("window", window, 0)
        self.revealed = setup.items(revealed)
        self.notice = one_of("notice", notice, setup.NOTICES)
        self.elicitation = one_of("elicitation", elicitation, setup.ELICITATIONS)
        self.played: list[Past] = []
        self.mean = self.median = self.target = self.variance = self.ratio = math.nan
        self.n_winners = 0
        self.reference = self.high / 2
        self.n_fixed = whole("n_fixed", n_fixed, 0, self.n_players)
        self.players = self.populate(Player, self.n_players)
        for player in self.players[self.n_players - self.n_fixed :]:
            player.mind = FixedMind(0)

    def revealed_to(
        self, player: Player
    ) -> tuple[tuple[Past, ...], tuple[tuple[float | None, float], ...]]:
        """What a player is told of earlier rounds.

        Args:
            player: the player.

        Returns:
            The last rounds with what is not revealed left out, and one's own pick and payoff in
            each of them; the latter are empty when they are not revealed.
        """
        last = setup.last(self.played, self.window)
        own = setup.own_results(last, player.unique_id) if "own" in self.revealed else ()
        return tuple(setup.as_revealed(past, self.revealed) for past in last), own

    def notice_to(self, player: Player) -> tuple[bool, int | None]:
        """Whether a player is told of opponents with a fixed strategy, and of how many.

        Args:
            player: the player.
        """
        n = sum(is_fixed(other.mind.spec) for other in self.players if other is not player)
        told = n > 0 and self.notice != "none"
        return told, n if told and self.notice == "count" else None

    def after_understand(self, player: Player, rules: Decision) -> None:
        """Keep the rules in a player's own words."""
        player.understanding = rules.value or ""

    def after_act(self, player: Player, pick: Decision) -> None:
        """Take a player's pick; None when it could not be read."""
        last, player.choice = player.choice, pick.value
        known = last is not None and last > 0 and pick.valid
        player.ratio = pick.value / last if known else math.nan

    def update(self) -> None:
        """Determine target, winners and payoffs, and how deeply the players reasoned."""
        picks = [player.choice for player in self.players]
        before = self.mean
        self.mean, self.median, self.variance, self.target, won = outcome(picks, self.p)
        self.ratio = self.mean / before if before > 0 else math.nan
        self.n_winners = sum(won)
        share = reward_per_winner(self.n_winners, "shared", self.prize)
        for player, wins in zip(self.players, won, strict=True):
            player.won, player.payoff = wins, share if wins else 0.0
            player.level, player.depth = self._reasoning(player.choice)
        self.reference = self.reference if math.isnan(self.mean) else self.mean
        self.played.append(
            Past(
                round=self.round,
                choices=tuple(picks),
                mean=self.mean,
                target=self.target,
                winners=tuple(player.unique_id for player in self.players if player.won),
                payoffs=tuple(player.payoff for player in self.players),
            )
        )

    def end_measures(self) -> dict[str, Any]:
        """How far the picks fell, who learned in which direction, and what each type did."""
        return session_measures(self.model_frame(), self.agent_frame())

    def _reasoning(self, choice: float | None) -> tuple[int | None, float]:
        """Nagel's class of a pick and its depth, as far as there are any."""
        if choice is None or self.p == 1:
            return None, math.nan
        depth = strategic_level(choice, self.reference, self.p)
        return nagel_level(choice, self.reference, self.p), depth
