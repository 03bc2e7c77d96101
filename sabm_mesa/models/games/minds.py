"""Classical minds of finite games; they need only the rules, the payoffs and the past.

They judge each option by its expected utility, from the player's payoffs or those of all. In
simultaneous games the others choose according to a belief. In games in turns the player also plans
its later moves, and predicts the others move by move (backward induction). Among equally good
options, the first one is chosen.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from sabm_mesa.core.asks import Ask
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.models.games.agents import (
    PastPlay,
    PlayerView,
    answer_spec,
    label_of,
    view_of,
)
from sabm_mesa.models.games.rules import Choices, Floats, GameForm, table_of
from sabm_mesa.models.games.study import tree_of
from sabm_mesa.models.games.theory import Node, expected_payoffs, inequity_averse, logit_choice

PRECISION = 10.0
"""Weight of payoffs in `Logit`, as shares of the spread of all payoffs (our choice)."""
TYPES = ((0.0, 0.0, 0.3), (0.5, 0.25, 0.3), (1.0, 0.6, 0.3), (4.0, 0.6, 0.1))
"""Envy, guilt and share of the types of Fehr and Schmidt 1999, table III."""
T = TypeVar("T")
EQUAL = 1e-9
"""Utilities that differ by at most this share of the spread are equally good."""


class PayoffMind(ClassicalMind):
    """A mind that chooses the option with the highest expected utility."""

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self._over: dict[Hashable, tuple[int, PastPlay, Any]] = {}

    def over_games(
        self, view: PlayerView, name: Hashable, start: T, after: Callable[[T, PastPlay], T]
    ) -> T:
        """A value updated from all past games; each game is processed once in a run."""
        plays = view.plays
        if not plays:
            return start
        key = view.agent, name
        n, last, value = self._over.get(key, (0, None, start))
        if n > len(plays) or (n and plays[n - 1] != last):  # of another run
            n, value = 0, start
        for play in plays[n:]:
            value = after(value, play)
        self._over[key] = len(plays), plays[-1], value
        return value

    async def answer(self, ask: Ask) -> object:
        """Choose, or announce the choice."""
        view = view_of(ask)
        if ask.name == "communicate":
            if not view.form.together:
                return ask.book.render("classical_quiet", {})
            value = self.choose(view, view.player, ask.rng)
            option = label_of(view.form, view.player, value)
            return ask.book.render("classical_announce", {"option": option})
        value = self.choose(view, view.move, ask.rng)
        label = label_of(view.form, view.move, value)
        is_option = hasattr(answer_spec(view.form, view.move, view.path), "options")
        return label if is_option else int(value)

    def choose(self, view: PlayerView, move: int, rng: np.random.Generator) -> float:
        """The value of the option, or the amount."""
        del rng
        options = view.form.options(move, view.path)
        return options[first_best(self.expected(view, move))].value

    def expected(self, view: PlayerView, move: int) -> Floats:
        """The expected utility of each option."""
        form, me = view.form, view.player
        if not form.together:
            return np.array(self._planned(view, _at(tree_of(form), view.path), view.path))
        beliefs = [
            self.belief(view, player, (), len(form.options(player)))
            for player in range(form.n_players)
            if player != me
        ]
        del move
        return expected_payoffs(self.utility(table_of(view.form), me), me, beliefs)

    def utility(self, payoffs: Floats, me: int) -> Floats:
        """The utility of outcomes; the player's payoff unless a mind overrides it."""
        return payoffs[..., me]

    @abstractmethod
    def belief(self, view: PlayerView, move: int, path: Choices, n: int) -> Sequence[float]:
        """The probability that another player chooses each option of a move."""

    def _planned(self, view: PlayerView, node: Node, path: Choices) -> list[float]:
        """The expected utility of each choice at a node."""
        return [
            self._worth(view, after, (*path, choice))
            for choice, after in zip(node.choices, node.after, strict=True)
        ]

    def _worth(self, view: PlayerView, node: Node | Sequence[float], path: Choices) -> float:
        if not isinstance(node, Node):
            return float(self.utility(np.array(node), view.player))
        values = self._planned(view, node, path)
        if node.player == view.player:
            return max(values)
        return float(np.dot(self.belief(view, len(path), path, len(values)), values))


class FictitiousPlay(PayoffMind):
    """The best response to the past frequencies of the others' choices.

    Before the first game all options of the others are equally likely; this prior counts as one
    game. In turns, choices after the same moves are counted.

    Source: Brown 1951, "Iterative Solution of Games by Fictitious Play", in Activity Analysis of
    Production and Allocation; with uniform initial beliefs, as in Fudenberg and Levine 1998, The
    Theory of Learning in Games, chapter 2.
    """

    def belief(self, view: PlayerView, move: int, path: Choices, n: int) -> Sequence[float]:
        """The frequencies of the past."""

        def count(counts: Floats, play: PastPlay) -> Floats:
            i = _chosen(view, move, path, play)
            return counts if i is None else counts + (np.arange(n) == i)

        counts = self.over_games(view, (move, path), np.full(n, 1.0 / n), count)
        return list(map(float, counts / counts.sum()))


class BestReply(FictitiousPlay):
    """The best response to the last choices of the others.

    Without a last choice, all options are equally likely; in turns, the others are expected to
    choose what is best for themselves.

    Source: Cournot 1838, Researches into the Mathematical Principles of the Theory of Wealth,
    chapter 7.
    """

    def belief(self, view: PlayerView, move: int, path: Choices, n: int) -> Sequence[float]:
        """The last choice, with certainty."""
        before = _last_chosen(view, move, path)
        if before is not None:
            return _certain(before, n)
        if view.form.together:
            return [1.0 / n] * n
        return _certain(_rational(_at(tree_of(view.form), path))[0], n)


class Logit(FictitiousPlay):
    """A player with the beliefs of fictitious play who chooses better options more often.

    The probability of an option is proportional to the exponential of its scaled expected payoff.

    Source: McKelvey and Palfrey 1995, Games and Economic Behavior 10(1), 6-38 (the logit rule);
    Fudenberg and Levine 1998, chapter 4 (with beliefs from the past). The precision is our choice.
    """

    def choose(self, view: PlayerView, move: int, rng: np.random.Generator) -> float:
        """Draw an option."""
        expected = self.expected(view, move)
        spread = float(np.ptp(_all_payoffs(view)[..., view.player]))
        options = view.form.options(move, view.path)
        return options[
            int(rng.choice(len(options), p=logit_choice(expected, PRECISION, spread)))
        ].value


class LevelK(PayoffMind):
    """The best response to players of the level below; level 0 plays randomly.

    Source: Stahl and Wilson 1995, Games and Economic Behavior 10(1), 218-254; Nagel 1995.

    Args:
        spec: the name of the mind in the data.
        level: its level, 1 or more.
    """

    def __init__(self, spec: str, level: int) -> None:
        super().__init__(spec)
        self.level = level

    def belief(self, view: PlayerView, move: int, path: Choices, n: int) -> Sequence[float]:
        """The choice of a player of the level below."""
        form = view.form
        if self.level == 1:
            return [1.0 / n] * n
        if not form.together:
            node = _at(tree_of(form), path)
            return _certain(_of_level(node, self.level - 1), n)
        payoffs = table_of(view.form)
        below: list[list[float]] = [[1.0 / size] * size for size in payoffs.shape[:-1]]
        for _ in range(self.level - 1):
            replies = [
                first_best(expected_payoffs(payoffs, k, [*below[:k], *below[k + 1 :]]))
                for k in range(form.n_players)
            ]
            below = [
                _certain(at, len(strategy)) for at, strategy in zip(replies, below, strict=True)
            ]
        return below[move]


class InequityAverse(FictitiousPlay):
    """A player who dislikes having less than the others, and to a lesser degree having more.

    It draws its weights of envy and guilt from the published types, and has the beliefs of
    fictitious play.

    Source: Fehr and Schmidt 1999, Quarterly Journal of Economics 114(3), 817-868, equation 1 and
    table III.

    Attributes:
        weights: its weights of envy and guilt; None before its first choice.
    """

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self.weights: tuple[float, float] | None = None

    def choose(self, view: PlayerView, move: int, rng: np.random.Generator) -> float:
        """Draw the type once, and choose the best option for it."""
        if self.weights is None:
            envy, guilt, _ = TYPES[int(rng.choice(len(TYPES), p=[share for *_, share in TYPES]))]
            self.weights = envy, guilt
        return super().choose(view, move, rng)

    def utility(self, payoffs: Floats, me: int) -> Floats:
        """The payoff minus envy and guilt."""
        assert self.weights is not None
        return inequity_averse(payoffs, me, *self.weights)


class Altruist(FictitiousPlay):
    """A player who maximises the sum of all payoffs, with the beliefs of fictitious play.

    Source: Andreoni and Miller 2002, Econometrica 70(2), 737-753 (perfect substitutes).
    """

    def utility(self, payoffs: Floats, me: int) -> Floats:
        """The sum of payoffs."""
        del me
        total: Floats = payoffs.sum(axis=-1)
        return total


class Conditional(BestReply):
    """The base class of minds that are nice or not, depending on the past.

    The nice choice is the player's part of the outcome with the largest sum of payoffs; in turns,
    the choice that leads to the largest sum. The other choice is the maximin choice, with the
    highest minimum payoff. In the prisoner's dilemma these are cooperation and defection.
    """

    def choose(self, view: PlayerView, move: int, rng: np.random.Generator) -> float:
        """The nice choice, or the safe one."""
        del rng
        options = view.form.options(move, view.path)
        i = nice_choice(view, move, view.path) if self.is_nice(view) else safe_choice(view, move)
        return options[i].value

    @abstractmethod
    def is_nice(self, view: PlayerView) -> bool:
        """Whether it makes the nice choice."""


class TitForTat(Conditional):
    """A player who is nice at first, and then if all others were nice in the last game.

    Against a single other player with the same number of options, it copies the rank of the other's
    last choice.

    Source: Axelrod and Hamilton 1981, Science 211, 1390-1396.
    """

    def choose(self, view: PlayerView, move: int, rng: np.random.Generator) -> float:
        """Copy the other's last choice if possible."""
        form = view.form
        options, pair = form.options(move, view.path), form.n_players == 2
        if form.together and pair and len(options) == len(form.options(1 - view.player)):
            before = _last_chosen(view, 1 - view.player, ())
            if before is not None:
                return options[_in_file(form, move, before)].value
        return super().choose(view, move, rng)

    def is_nice(self, view: PlayerView) -> bool:
        """Whether all others were nice in the last game that counts."""
        last = _last_game(view)
        return last is None or _all_were_nice(view, last.path)


class Grim(Conditional):
    """A player who is nice until another player is not, and never again afterwards.

    Source: Friedman 1971, Review of Economic Studies 38(1), 1-12.
    """

    def is_nice(self, view: PlayerView) -> bool:
        """Whether all others were nice in all games."""

        def still(nice: bool, play: PastPlay) -> bool:
            return nice and _all_were_nice(view, play.path)

        return self.over_games(view, None, True, still)


class WinStayLoseShift(Conditional):
    """A player who repeats its choice if it paid at least the mean of all outcomes.

    Otherwise it switches to its next option, cyclically. In turns it keeps its nice or safe
    behaviour after a game that paid enough, and switches otherwise.

    Source: Nowak and Sigmund 1993, Nature 364, 56-58. The mean as aspiration is our choice.
    """

    def choose(self, view: PlayerView, move: int, rng: np.random.Generator) -> float:
        """Stay, or shift."""
        form, me = view.form, view.player
        last = _last_game(view)
        if not form.together or last is None:
            return super().choose(view, move, rng)
        options = form.options(move)
        values = sorted(option.value for option in options)
        i = values.index(last.path[me])
        won = last.payoffs[me] >= float(_all_payoffs(view)[..., me].mean())
        return values[i if won else (i + 1) % len(values)]

    def is_nice(self, view: PlayerView) -> bool:
        """Whether it is nice in games in turns; it switches after a game that paid too little."""
        mean = float(_all_payoffs(view)[..., view.player].mean())

        def shifted(nice: bool, play: PastPlay) -> bool:
            lost = bool(play.path) and play.payoffs[view.player] < mean
            return nice is not lost

        return self.over_games(view, None, True, shifted)


def first_best(values: Floats) -> int:
    """The index of the first maximum, with tolerance."""
    spread = float(np.ptp(values))
    return int(np.flatnonzero(values >= values.max() - EQUAL * max(spread, 1e-12))[0])


def nice_choice(view: PlayerView, move: int, path: Choices) -> int:
    """The index of the choice that leads to the largest sum of payoffs."""
    if not view.form.together:
        node = _at(tree_of(view.form), path)
        return first_best(np.array([_largest_sum(after) for after in node.after]))
    sums = table_of(view.form).sum(axis=-1)
    player = view.form.moves[move].player
    return first_best(np.moveaxis(sums, player, 0).reshape(sums.shape[player], -1).max(axis=1))


def safe_choice(view: PlayerView, move: int) -> int:
    """The index of the choice with the highest minimum payoff."""
    me = view.player
    if not view.form.together:
        node = _at(tree_of(view.form), view.path)
        return first_best(np.array([_smallest(after, me) for after in node.after]))
    payoffs = np.moveaxis(table_of(view.form)[..., me], me, 0)
    del move
    return first_best(payoffs.reshape(len(payoffs), -1).min(axis=1))


def _all_were_nice(view: PlayerView, path: Choices) -> bool:
    """Whether all others made nice choices in a game."""
    form = view.form
    for move, value in enumerate(path):
        if form.moves[move].player == view.player:
            continue
        before = () if form.together else path[:move]
        options = form.options(move, before)
        if options[nice_choice(view, move, before)].value != value:
            return False
    return True


def _last_game(view: PlayerView) -> PastPlay | None:
    """The last past game that counts."""
    return next((play for play in reversed(view.plays) if play.path), None)


def _last_chosen(view: PlayerView, move: int, path: Choices) -> int | None:
    """The index of the choice of a move in the last game; in turns, after the same moves."""
    places = (_chosen(view, move, path, play) for play in reversed(view.plays))
    return next((i for i in places if i is not None), None)


def _chosen(view: PlayerView, move: int, path: Choices, play: PastPlay) -> int | None:
    """The index of the choice of a move in a past game; None in turns after other moves."""
    if move >= len(play.path) or not (view.form.together or play.path[: len(path)] == path):
        return None
    values = [option.value for option in view.form.options(move, path)]
    return values.index(play.path[move])


def _in_file(form: GameForm, move: int, chosen: int) -> int:
    """The index of the player's option with the same rank as the other's choice."""
    other = form.options(1 - move)
    rank = sorted(option.value for option in other).index(other[chosen].value)
    mine = form.options(move)
    wanted = sorted(option.value for option in mine)[rank]
    return next(i for i, option in enumerate(mine) if option.value == wanted)


def _all_payoffs(view: PlayerView) -> Floats:
    """The payoffs of all outcomes, the players on the last axis."""
    if view.form.together:
        return table_of(view.form)
    return np.array([view.form.payoffs(path) for path in view.form.courses()])


def _at(tree: Node | Sequence[float], path: Choices) -> Node:
    """The decision after some moves."""
    for choice in path:
        assert isinstance(tree, Node)
        tree = tree.after[list(tree.choices).index(choice)]
    assert isinstance(tree, Node)
    return tree


def _certain(option: int, n: int) -> list[float]:
    return [float(i == option) for i in range(n)]


def _rational(node: Node) -> tuple[int, Sequence[float]]:
    """The index and payoffs of the choice of a selfish player."""
    after = [
        branch if not isinstance(branch, Node) else _rational(branch)[1] for branch in node.after
    ]
    best = first_best(np.array([payoffs[node.player] for payoffs in after]))
    return best, after[best]


def _of_level(node: Node, level: int) -> int:
    """The choice of a player of a level in turns, where the others are one level below."""

    def worth(at: Node | Sequence[float]) -> float:
        if not isinstance(at, Node):
            return at[node.player]
        values = [worth(branch) for branch in at.after]
        if at.player == node.player:
            return max(values)
        if level == 1:
            return float(np.mean(values))
        return values[_of_level(at, level - 1)]

    return first_best(np.array([worth(branch) for branch in node.after]))


def _largest_sum(tree: Node | Sequence[float]) -> float:
    if not isinstance(tree, Node):
        return float(sum(tree))
    return max(map(_largest_sum, tree.after))


def _smallest(tree: Node | Sequence[float], me: int) -> float:
    """The minimum payoff that a player can guarantee."""
    if not isinstance(tree, Node):
        return tree[me]
    values = [_smallest(branch, me) for branch in tree.after]
    return max(values) if tree.player == me else min(values)


CLASSICAL: dict[str, Callable[[str], Any]] = {
    "default": BestReply,
    "fictitious_play": FictitiousPlay,
    "logit": Logit,
    "tit_for_tat": TitForTat,
    "grim": Grim,
    "win_stay_lose_shift": WinStayLoseShift,
    "level_1": partial(LevelK, level=1),
    "level_2": partial(LevelK, level=2),
    "inequity_averse": InequityAverse,
    "altruist": Altruist,
}
"""Name → classical mind."""
