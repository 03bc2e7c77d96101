"""Theoretical predictions for a game, measures of the choices in it, and behavioural models.

A choice of the behavioural models is the index of an option among the options of the player in the
order of their values. It does not depend on the names and the displayed order of the options. The
facts are those of `sabm_mesa.models.games.repeated_behaviour`; games in turns have none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, Row, Uniform
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import Study
from sabm_mesa.models.games.agents import answer_spec, label_of, view_of
from sabm_mesa.models.games.repeated_behaviour import (
    COOPERATION,
    LAST,
    PAYOFFS,
    STRATEGY_ESTIMATES,
    cooperative_options,
    learning_models,
    strategy_mixture,
)
from sabm_mesa.models.games.rules import (
    Choices,
    Floats,
    GameForm,
    PeopleResult,
    Rules,
    load_game,
    table_of,
)
from sabm_mesa.models.games.theory import (
    Course,
    Node,
    is_symmetric,
    mixed_equilibria,
    pure_equilibria,
    subgame_perfect,
    symmetric_equilibria,
)

PAIR = 2


@dataclass(frozen=True)
class ChoiceColumn:
    """A column with the share of an option, or the mean amount.

    Attributes:
        name: the name of the column.
        label: the option or the mean amount, and the player if it is of one.
        moves: the moves that it is about.
        option: the name of the option; ``""`` for an amount.
    """

    name: str
    label: str
    moves: tuple[int, ...]
    option: str


@dataclass(frozen=True)
class Equilibrium:
    """One equilibrium of a game.

    Attributes:
        choices: for each move, the values with positive probability and their probabilities.
        payoffs: the expected payoff of each player.
    """

    choices: tuple[Mapping[float, float], ...]
    payoffs: tuple[float, ...]

    @property
    def pure(self) -> bool:
        """Whether the equilibrium is pure."""
        return all(len(choice) <= 1 for choice in self.choices)


@dataclass(frozen=True)
class Predictions:
    """The predictions for a game and the results of people, in the unit of money of a run.

    Attributes:
        rules: the contents of the game's file.
        form: the game, with the names of the file.
        scale: the factor of all money.
        columns: column → its content.
        equilibria: the Nash equilibria (see `equilibria_of`); in turns, the subgame-perfect
            courses.
        least: the smallest mean payoff of a group.
        largest: the largest one.
    """

    rules: Rules
    form: GameForm
    scale: float
    columns: Mapping[str, ChoiceColumn]
    equilibria: tuple[Equilibrium, ...]
    least: float
    largest: float

    def efficiency(self, payoff: float) -> float:
        """A mean payoff, scaled from the smallest (0) to the largest (1) of the game."""
        if not self.largest > self.least:
            return math.nan
        return (payoff - self.least) / (self.largest - self.least)

    def equilibrium_share(self, paths: Sequence[Choices]) -> float:
        """The share of games whose choices are a pure equilibrium."""
        pure = [equilibrium for equilibrium in self.equilibria if equilibrium.pure]
        if not pure or not paths:
            return math.nan
        known = {tuple(v for choice in equilibrium.choices for v in choice) for equilibrium in pure}
        return float(np.mean([path in known for path in paths]))

    def shares(self, paths: Sequence[Choices]) -> dict[str, float]:
        """Column → share of the option, or mean amount, over several games."""
        return {
            name: self._mean(column, [{v: 1.0} for k in column.moves for v in _made(paths, k)])
            for name, column in self.columns.items()
        }

    def predicted(self, column: str) -> list[float]:
        """The distinct values of a column in the equilibria."""
        asked = self.columns[column]
        values = [
            self._mean(
                asked, [equilibrium.choices[k] for k in asked.moves if equilibrium.choices[k]]
            )
            for equilibrium in self.equilibria
        ]
        return sorted({round(value, 9) for value in values if not math.isnan(value)})

    def payoffs(self) -> list[float]:
        """The distinct mean payoffs of the equilibria."""
        return sorted(
            {round(float(np.mean(equilibrium.payoffs)), 9) for equilibrium in self.equilibria}
        )

    def people(self, column: str) -> list[tuple[float, str]]:
        """Published results of people for a column: the value and a description of the people."""
        asked = self.columns[column]
        return [
            (person.value if person.option else person.value * self._unit(asked), person.of)
            for person in self.rules.people
            if person.option == asked.option
            and (person.move is None or (person.move in asked.moves and len(asked.moves) == 1))
        ]

    def distributions(self, column: ChoiceColumn) -> list[PeopleResult]:
        """Published shares of each amount of a column."""
        people = [person for person in self.rules.people if person.shares and not column.option]
        return [
            person for person in people if person.move is None or (person.move,) == column.moves
        ]

    def distribution(self, column: ChoiceColumn, equilibrium: Equilibrium) -> dict[float, float]:
        """The probability of each value of a column's moves in an equilibrium."""
        probabilities: dict[float, float] = {}
        moves = [equilibrium.choices[k] for k in column.moves if equilibrium.choices[k]]
        for choice in moves:
            for value, probability in choice.items():
                probabilities[value] = probabilities.get(value, 0.0) + probability / len(moves)
        return probabilities

    def _unit(self, column: ChoiceColumn) -> float:
        amounts = self.form.moves[column.moves[0]].amounts
        return self.scale if amounts is not None and amounts.money else 1.0

    def _mean(self, column: ChoiceColumn, choices: Sequence[Mapping[float, float]]) -> float:
        """The share of the column's option, or the mean amount, of several distributions."""
        if not choices:
            return math.nan
        value = self.value_of(column)
        if value is None:
            return float(np.mean([sum(v * p for v, p in choice.items()) for choice in choices]))
        return float(np.mean([choice.get(value, 0.0) for choice in choices]))

    def value_of(self, column: ChoiceColumn) -> float | None:
        """The value of a column's option; None for an amount."""
        if not column.option:
            return None
        k = column.moves[0]
        return self.form.moves[k].options[self.rules.options[k].index(column.option)].value


def predictions_of(rules: Rules, scale: float) -> Predictions:
    """The predictions for a game."""
    form = rules.form.scaled(scale)
    if form.together:
        means = table_of(form).mean(axis=-1)
        sums = float(means.min()), float(means.max())
    else:
        paid = [float(np.mean(form.payoffs(path))) for path in form.courses()]
        sums = min(paid), max(paid)
    columns = {column.name: column for column in choice_columns(rules)}
    return Predictions(rules, form, scale, columns, equilibria_of(form), *sums)


def choice_columns(rules: Rules) -> list[ChoiceColumn]:
    """The columns of the choices of a game.

    A symmetric game has one column per option; otherwise there is one column per option and player.
    """
    form, columns = rules.form, []
    numbers = range(len(form.moves))
    symmetric = form.together and is_symmetric(table_of(form))
    for name in dict.fromkeys(name for options in rules.options for name in options):
        moves = tuple(k for k in numbers if name in rules.options[k])
        words = name.replace("_", " ")
        if symmetric or not moves[1:] or not form.together:
            columns.append(ChoiceColumn(f"share_{name}", words, moves, name))
        else:
            for k in moves:
                label = f"{words}, player {k + 1}"
                columns.append(ChoiceColumn(f"share_{name}_{k + 1}", label, (k,), name))
    amounts = [k for k in numbers if not rules.options[k]]
    if symmetric and amounts:
        name = form.moves[0].name
        return [*columns, ChoiceColumn(f"mean_{name}", f"Mean {name}", tuple(amounts), "")]
    for k in amounts:
        name = form.moves[k].name
        name, words = (
            (f"{name}_{k + 1}", f"{name}, player {k + 1}") if form.together else (name, name)
        )
        columns.append(ChoiceColumn(f"mean_{name}", f"Mean {words.replace('_', ' ')}", (k,), ""))
    return columns


@lru_cache(maxsize=64)
def equilibria_of(form: GameForm) -> tuple[Equilibrium, ...]:
    """The equilibria of a game.

    Simultaneous games: the pure equilibria; for two players also the mixed equilibria, by support
    enumeration if there are few supports, otherwise the symmetric equilibria of a symmetric game.
    Games in turns: the subgame-perfect courses.
    """
    if not form.together:
        tree, by_course = tree_of(form), {}
        for course in subgame_perfect(tree):
            by_course[course] = _of_course(form, course)
        return tuple(by_course.values())
    payoffs = table_of(form)
    if form.n_players == PAIR:
        if mixed := mixed_equilibria(payoffs):
            return tuple(_of_strategies(form, payoffs, pair) for pair in mixed)
        alike = [
            (equilibrium, equilibrium)
            for equilibrium in symmetric_equilibria(payoffs)
            if max(equilibrium) < 1
        ]
        both: list[tuple[tuple[float, ...], ...]] = [*_pure(payoffs), *alike]
        return tuple(_of_strategies(form, payoffs, pair) for pair in both)
    return tuple(_of_strategies(form, payoffs, profile) for profile in _pure(payoffs))


@lru_cache(maxsize=64)
def tree_of(form: GameForm) -> Node | tuple[float, ...]:
    """The tree of a game in turns."""
    return _tree(form, ())


def _tree(form: GameForm, path: Choices) -> Node | tuple[float, ...]:
    move = form.move_after(path)
    if move is None:
        return form.payoffs(path)
    choices = [option.value for option in form.options(move, path)]
    after = [_tree(form, (*path, choice)) for choice in choices]
    return Node(form.moves[move].player, choices, after)


def _pure(payoffs: np.ndarray) -> list[tuple[tuple[float, ...], ...]]:
    return [
        tuple(
            tuple(float(i == chosen) for i in range(n))
            for chosen, n in zip(profile, payoffs.shape[:-1], strict=True)
        )
        for profile in pure_equilibria(payoffs)
    ]


def _of_strategies(
    form: GameForm, payoffs: np.ndarray, strategies: Sequence[Sequence[float]]
) -> Equilibrium:
    expected = payoffs
    for strategy in strategies:
        expected = np.tensordot(np.asarray(strategy), expected, axes=(0, 0))
    choices = tuple(
        {o.value: p for o, p in zip(form.options(k), strategy, strict=True) if p > 0}
        for k, strategy in enumerate(strategies)
    )
    return Equilibrium(choices, tuple(map(float, expected)))


def _of_course(form: GameForm, course: Course) -> Equilibrium:
    made = [{value: 1.0} for value in course.path]
    rest: list[dict[float, float]] = [{} for _ in range(len(form.moves) - len(made))]
    return Equilibrium((*made, *rest), course.payoffs)


def _made(paths: Sequence[Choices], move: int) -> list[float]:
    return [path[move] for path in paths if move < len(path)]


MOST_OUTCOMES = 2_500
"""Maximum number of outcomes of a game for payoffs as facts."""


def rows(run: PlayedRun) -> Iterator[Row]:
    """The choices of a run."""
    rules = load_game(run.parameters["game"])
    form = in_order(rules.form.scaled(float(run.parameters.get("scale", 1.0))))
    if not has_payoffs(form):
        return
    played = run.agents.to_dict("records")
    values = {
        (row["round"], row["group"], row["role"]): _value(rules, row["role"] - 1, row["choice"])
        for row in played
    }
    groups = {(row["agent"], row["round"]): row["group"] for row in played}
    for row in played:
        agent, time, role = int(row["agent"]), int(row["round"]), int(row["role"])
        before = groups.get((agent, time - 1), 0)
        last = [values.get((time - 1, before, other + 1)) for other in range(form.n_players)]
        choice = _place(form, role - 1, values[time, row["group"], role])
        decider = Decider(run.run, agent, str(row["mind"]), run.condition)
        yield Row(decider, time, choice, facts(form, role - 1, last))


def known(ask: Ask) -> Mapping[str, Any] | None:
    """The facts of a player that chooses; None for messages."""
    if ask.name == "communicate":
        return None
    view = view_of(ask)
    form = in_order(view.form)
    if not has_payoffs(form):
        return {}
    last = view.plays[-1].path if view.plays else ()
    return facts(form, view.player, last or [None] * form.n_players)


def answer(ask: Ask, choice: float | None) -> object:
    """Choose an option, or send a neutral message."""
    if choice is None:
        return ask.book.render("classical_quiet", {})
    view = view_of(ask)
    value = in_order(view.form).options(view.move, view.path)[int(choice)].value
    is_option = hasattr(answer_spec(view.form, view.move, view.path), "options")
    return label_of(view.form, view.move, value) if is_option else int(value)


def facts(form: GameForm, me: int, last: Sequence[float | None]) -> dict[str, Any]:
    """The facts of a player, from the values of the last choices of all players."""
    payoffs = _payoffs(form, me)
    others = [_place(form, player, value) for player, value in enumerate(last) if player != me]
    whole = None not in last
    cooperation = cooperative_options(payoffs)
    return {
        "low": 0.0,
        "high": float(len(payoffs) - 1),
        "step": 1.0,
        PAYOFFS: payoffs[..., 0],
        LAST: [choice if whole and choice is not None else math.nan for choice in others],
    } | ({COOPERATION: cooperation} if cooperation else {})


def has_payoffs(form: GameForm) -> bool:
    """Whether the game is simultaneous, with known payoffs and not too many outcomes."""
    if not form.together:
        return False
    return math.prod(len(form.options(k)) for k in range(form.n_players)) <= MOST_OUTCOMES


@lru_cache(maxsize=128)
def in_order(form: GameForm) -> GameForm:
    """The same game with the options of each move in the order of their values."""
    moves = tuple(
        replace(move, options=tuple(sorted(move.options, key=lambda option: option.value)))
        for move in form.moves
    )
    return replace(form, moves=moves)


@lru_cache(maxsize=128)
def _payoffs(form: GameForm, me: int) -> Floats:
    """The payoffs of all players, the player first on each axis."""
    order = [me, *(player for player in range(form.n_players) if player != me)]
    return np.ascontiguousarray(np.transpose(table_of(form), (*order, form.n_players))[..., order])


def _value(rules: Rules, move: int, choice: Any) -> float | None:
    """The value of a recorded choice; None without a valid one."""
    if choice is None or (isinstance(choice, float) and math.isnan(choice)):
        return None
    if not rules.options[move]:
        return float(choice)
    return rules.form.moves[move].options[rules.options[move].index(str(choice))].value


def _place(form: GameForm, move: int, value: float | None) -> float | None:
    """The index of an option by its value."""
    if value is None:
        return None
    values = [option.value for option in form.options(move)]
    return float(np.argmin(np.abs(np.array(values) - value)))


STUDY = Study(
    behaviour=Behaviour(
        what="a choice",
        models=(*learning_models(), strategy_mixture(), Uniform()),
        rows=rows,
        known=known,
        answer=answer,
        people=STRATEGY_ESTIMATES,
    ),
    import_settings={"labels": "names", "continuation": 0.0},
)
