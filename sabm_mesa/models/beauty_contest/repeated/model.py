"""Replication of Lu 2024 and Guo et al. 2024: players guess p times their mean, round after round.

To write a scenario of your own, start from ``examples/opinions``.

All players pick a number from 0 to ``high`` at once; those closest to p times the mean share the
prize. Then they see the ``revealed`` facts of the last ``window`` rounds. With full elicitation,
they first restate the rules and state their goal. The rules in full are in ``odd.toml``.

Unreadable answers
    A player whose pick is unreadable or out of range is asked again, and then abstains: its choice
    is empty, it cannot win, and it does not count in mean, target and variance. Unreadable rules or
    goals are left out of later prompts.

Deviations from the authors' program
    There, picks out of range counted; here they do not. There, single rounds; here prompts have the
    history that the papers describe. Rules and goal are separate questions. Prompts are in our own
    words, state the range, and the number that fixed players name (``told_number``, our choice) but
    not how many they are (``told_count``). A drawn bound is a whole number, drawn once per run.

Source
    Lu 2024, "Strategic Interactions between Large Language Models-based Agents in Beauty Contests",
    arXiv 2404.08492; Guo et al. 2024, "Economics Arena for Large Language Models", arXiv
    2401.01735 (program econarena 0.0.4); Nagel 1995, American Economic Review 85(5), 1313-1326.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le

from sabm_mesa.agents.memory import newest
from sabm_mesa.core.answers import Decision
from sabm_mesa.core.parameters import check, check_choice, check_int
from sabm_mesa.core.scheduler import Phase, action
from sabm_mesa.errors import ParameterError, about
from sabm_mesa.minds.scripted import FixedMind
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.beauty_contest.guessing import (
    nagel_level,
    outcome,
    reward_per_winner,
)
from sabm_mesa.models.beauty_contest.repeated.agents import GOAL, RULES, Notice, PlayedRound, Player
from sabm_mesa.models.beauty_contest.repeated.minds import CLASSICAL_MINDS
from sabm_mesa.models.beauty_contest.repeated.study import is_fixed, session_measures
from sabm_mesa.models.beauty_contest.repeated.theory import strategic_level
from sabm_mesa.models.declarations import Score

REVEALED = ("choices", "mean", "target", "winners", "own")
LARGEST = 1e6
"""Largest upper bound of the picks, and largest p."""
Factor = Annotated[float, Ge(0.001), Le(LARGEST)]
UpperBound = Annotated[float, Ge(1 / LARGEST), Le(LARGEST)]


def asks_for_rules(model: RepeatedBeautyContest) -> bool:
    """Whether the players restate the rules: in round 0, with full elicitation."""
    return model.elicitation == "full" and model.round == 0


class RepeatedBeautyContest(SmartModel):
    """The guessing game, played repeatedly by the same players (Lu 2024; Guo et al. 2024).

    Args:
        n_players: number of players.
        n_rounds: number of rounds.
        p: factor of the target; a fraction may be written as a text such as 2/3.
        high: the largest legal pick (the smallest is 0); or two whole numbers between which it is
            drawn once a run.
        integer: whether picks are whole numbers.
        prize: points that the winners of a round share.
        window: the number of past rounds that players see; None: all of them.
        revealed: facts they see of each, as a sequence or a text with commas: choices, mean,
            target, winners, own (their own pick and payoff).
        n_fixed: how many of the players, the last ones, always pick 0.
        notice: whether players are told that others, those with minds ``fixed:VALUE``, follow a
            fixed strategy.
        told_number: whether that notice names the number that these choose.
        told_count: whether it says how many they are.
        elicitation: the reasoning that is asked for: none, a reason with each pick, or in full
            (also the rules in their own words at the start, and the goal in each round).
        condition: ``"baseline"`` is the only one.
        minds: see `SmartModel`; classical minds are the cognitive hierarchy (the default),
            ``level_k``, ``level_0`` to ``level_3``, ``empirical_step``, ``learning_direction``
            and ``best_reply``.
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
    prompt_file = Path(__file__).with_name("prompts.toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        Phase(
            "understand",
            when=asks_for_rules,
            doc="Each player restates the rules in its own words (`understand`, at most "
            f"{RULES.max_words} words) and is shown them from then on.",
        ),
        action(
            doc="With `elicitation` = `full` each player first states its goal of the round "
            f"(`goal`, at most {GOAL.max_words} words); then each picks a number (`act`), and a "
            "player whose answer is unreadable has no pick.",
        ),
    )
    model_columns = ("mean", "target", "variance", "n_winners", "median", "ratio", "high", "p")
    agent_columns = ("choice", "won", "payoff", "level", "depth", "ratio")
    score = Score("Payoff in a run (points)", "n_players")
    changeable = frozenset(
        {"p", "prize", "window", "revealed", "notice", "told_number", "told_count", "elicitation"}
    )
    defaults: ClassVar[dict[str, Any]] = {"max_tokens": 256}
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = CLASSICAL_MINDS

    def __init__(
        self,
        n_players: Annotated[int, Ge(2)] = 10,
        n_rounds: int = 5,
        p: Factor | str = 2 / 3,
        high: UpperBound | Sequence[int] = 100.0,
        integer: bool = False,
        prize: Annotated[float, Ge(0)] = 1.0,
        window: Annotated[int, Ge(0)] | None = None,
        revealed: str | Sequence[str] = "choices,mean,target,winners",
        n_fixed: Annotated[int, Ge(0)] = 0,
        notice: bool = True,
        told_number: bool = True,
        told_count: bool = False,
        elicitation: Literal["none", "reason", "full"] = "reason",
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.n_players, self.integer, self.prize, self.window = n_players, integer, prize, window
        self.notice, self.elicitation = notice, elicitation
        self.told_number, self.told_count = told_number, told_count
        self.p = _read_p(p)
        self.high = _read_high(high, integer, self.rng)
        self.revealed = _read_revealed(revealed)
        self.played: list[PlayedRound] = []
        self._stated: list[PlayedRound] = []
        self._stated_as = self.revealed
        self.mean = self.median = self.target = self.variance = self.ratio = math.nan
        self.n_winners = 0
        self.reference = self.high / 2
        self.n_fixed = check_int("n_fixed", n_fixed, 0, n_players)
        self.players = self.populate(Player, self.n_players)
        for player in self.players[self.n_players - self.n_fixed :]:
            player.mind = FixedMind(0)
        self._fixed = self._players_with_fixed_minds()

    def _players_with_fixed_minds(self) -> list[Player]:
        return [player for player in self.players if is_fixed(player.mind.spec)]

    def begin_round(self) -> None:
        """Determine the players with fixed minds, since a fork may change them."""
        self._fixed = self._players_with_fixed_minds()

    def _stated_rounds(self) -> list[PlayedRound]:
        """All rounds without hidden values, cached."""
        if self._stated_as != self.revealed:  # a fork may change what is revealed
            self._stated, self._stated_as = [], self.revealed
        hidden: dict[str, Any] = {name: None for name in REVEALED if name not in self.revealed}
        hidden.pop("own", None)
        for past in self.played[len(self._stated) :]:
            self._stated.append(past._replace(payoffs=None, **hidden))
        return self._stated

    def revealed_to(
        self, player: Player
    ) -> tuple[Sequence[PlayedRound], Sequence[tuple[float | None, float]]]:
        """Return the results of earlier rounds that a player sees in this round.

        Returns:
            The last rounds without hidden values, and the player's pick and payoff in each of them,
            which are empty if they are not revealed.
        """
        if not self.revealed:
            return (), ()
        revealed = newest(self._stated_rounds(), self.window)
        return revealed, newest(player.results, self.window) if "own" in self.revealed else ()

    def notice_to(self, player: Player) -> Notice | None:
        """Return the facts about opponents with a fixed strategy; None if prompts omit them."""
        if not self.notice:
            return None
        fixed = [other.mind.spec for other in self._fixed if other is not player]
        if not fixed:
            return None
        numbers = {_number(spec.partition(":")[2]) for spec in fixed}
        known = tuple(sorted(number for number in numbers if number is not None))
        return Notice(
            known if self.told_number and known else None, len(fixed) if self.told_count else None
        )

    def after_understand(self, player: Player, rules: Decision) -> None:
        """Store a player's restatement of the rules."""
        player.understanding = rules.value or ""

    def after_act(self, player: Player, pick: Decision) -> None:
        """Store the pick of a player; None if it could not be read."""
        last, player.choice = player.choice, pick.value
        known = last is not None and last > 0 and pick.valid
        player.ratio = pick.value / last if known else math.nan

    def update(self) -> None:
        """Determine target, winners, payoffs, and the depth of reasoning."""
        picks = [player.choice for player in self.players]
        before = self.mean
        self.mean, self.median, self.variance, self.target, won = outcome(picks, self.p)
        self.ratio = self.mean / before if before > 0 else math.nan
        self.n_winners = sum(won)
        share = reward_per_winner(self.n_winners, "shared", self.prize)
        for player, wins in zip(self.players, won, strict=True):
            player.won, player.payoff = wins, share if wins else 0.0
            player.level, player.depth = self._reasoning(player.choice)
            player.results.append((player.choice, player.payoff))
        self.reference = self.reference if math.isnan(self.mean) else self.mean
        self.played.append(
            PlayedRound(
                round=self.round,
                choices=tuple(picks),
                mean=self.mean,
                target=self.target,
                winners=tuple(player.unique_id for player in self.players if player.won),
                payoffs=tuple(player.payoff for player in self.players),
            )
        )

    def end_measures(self) -> dict[str, Any]:
        """Return the decrease of the picks, the direction of learning, and means by type."""
        return session_measures(self.model_frame(), self.agent_frame())

    def _reasoning(self, choice: float | None) -> tuple[int | None, float]:
        """Nagel's class of a pick and its depth; None and NaN without a pick or for p = 1."""
        if choice is None or self.p == 1:
            return None, math.nan
        depth = strategic_level(choice, self.reference, self.p)
        return nagel_level(choice, self.reference, self.p), depth


@about("p")
def _read_p(given: Any) -> float:
    """Read the factor of the target: a number above 0, or a fraction as a text."""
    if isinstance(given, str):
        try:
            given = float(Fraction(given.replace(" ", "")))
        except (ValueError, ZeroDivisionError, OverflowError):
            raise ParameterError(
                f"p must be a number or a fraction such as 2/3, not {given[:60]!r}."
            ) from None
    return float(check("p", Factor, given))


@about("high")
def _read_high(given: Any, integer: bool, rng: np.random.Generator) -> float:
    """Read the largest legal pick, or draw it between two given bounds."""
    if isinstance(given, str):
        raise ParameterError(f"high must be a number or two such as [50, 200], not {given!r}.")
    if isinstance(given, Sequence):
        if len(given) != 2:
            raise ParameterError(f"high must be one number or two (got {len(given)}).")
        least = check_int("the first number of high", given[0], 1, int(LARGEST))
        most = check_int("the second number of high", given[1], least, int(LARGEST))
        return float(rng.integers(least, most + 1))
    if integer:
        return float(check_int("high (with integer picks)", given, 1, int(LARGEST)))
    return float(check("high", UpperBound, given))


@about("revealed")
def _read_revealed(given: Any) -> tuple[str, ...]:
    """Read the revealed values of earlier rounds, in their order in the prompts."""
    if given is None:
        given = ()
    if not isinstance(given, str | Sequence):
        raise ParameterError(f"revealed must be names with commas between them, not {given!r}.")
    names = given.split(",") if isinstance(given, str) else [str(name) for name in given]
    chosen = {check_choice("revealed", name.strip(), REVEALED) for name in names if name.strip()}
    return tuple(name for name in REVEALED if name in chosen)


def _number(text: str) -> float | None:
    """The number that a fixed mind chooses; None if its answer is not a number."""
    try:
        return float(text)
    except ValueError:
        return None
