"""Behavioural models of the choices in finite games.

A choice is the index of an option among the player's options in the order of their values. It does
not depend on the names and the displayed order of the options. The facts are those of
`sabm_mesa.analysis.matrix_behaviour`; they are not available for games in turns and auctions yet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from sabm_mesa.analysis.behaviour import (
    Behaviour,
    ChanceOfOptions,
    Decider,
    PlayedRun,
    Row,
)
from sabm_mesa.analysis.matrix_behaviour import LAST, PAYOFFS, matrix_models
from sabm_mesa.analysis.repeated_behaviour import (
    STRATEGY_ESTIMATES,
    is_dilemma,
    learning_models,
    pattern_mixture,
    strategy_mixture,
)
from sabm_mesa.analysis.social_behaviour import (
    INEQUITY_ESTIMATES,
    InequityAversion,
    inequity_types,
)
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.games.agents import answer_spec, label_of, view_of
from sabm_mesa.models.games.rules import Choices, Floats, GameForm, Rules, load_game, table_of

MOST_OUTCOMES = 2_500
"""Maximum number of outcomes of a game for payoffs as facts."""


def rows(run: PlayedRun) -> Iterator[Row]:
    """The choices of a run."""
    rules = load_game(run.parameters["game"])
    form = in_order(rules.form.scaled(float(run.parameters.get("scale", 1.0))))
    if has_payoffs(form):
        yield from _rows_together(run, rules, form)
    elif plans_once(form):
        yield from _rows_in_turn(run, rules, form)


def known(ask: Ask) -> Mapping[str, Any] | None:
    """The facts of a player that chooses; None for messages."""
    if ask.name == "communicate":
        return None
    view = view_of(ask)
    form, paths = in_order(view.form), [play.path for play in view.plays if play.path]
    if has_payoffs(form):
        path: Sequence[float | None] = view.plays[-1].path if view.plays else ()
        last = [
            _place(form, player, path[player]) if path else None for player in range(form.n_players)
        ]
        return facts(form, view.player, last, paths)
    return fairness(form, view.player, view.path, paths) if plans_once(form) else {}


def answer(ask: Ask, choice: float | None) -> object:
    """Choose an option, or send a neutral message."""
    if choice is None:
        return ask.book.render("classical_quiet", {})
    view = view_of(ask)
    value = in_order(view.form).options(view.move, view.path)[int(choice)].value
    is_option = hasattr(answer_spec(view.form, view.move, view.path), "options")
    return label_of(view.form, view.move, value) if is_option else int(value)


def _rows_together(run: PlayedRun, rules: Rules, form: GameForm) -> Iterator[Row]:
    played = run.agents.to_dict("records")
    chosen = {
        (int(row["round"]), int(row["group"]), int(row["role"])): _index(rules, form, row)
        for row in played
    }
    groups = {(int(row["agent"]), int(row["round"])): int(row["group"]) for row in played}
    paths: dict[int, list[Choices]] = {}
    for row in played:
        agent, time, role = int(row["agent"]), int(row["round"]), int(row["role"])
        before = groups.get((agent, time - 1), 0)
        last = [chosen.get((time - 1, before, other + 1)) for other in range(form.n_players)]
        decider = Decider(run.run, agent, str(row["mind"]), run.condition)
        path = paths.setdefault(agent, [])
        if all(i is not None for i in last):
            options = (form.options(player) for player in range(form.n_players))
            path.append(tuple(o[int(at or 0)].value for o, at in zip(options, last, strict=True)))
        yield Row(
            decider,
            time,
            chosen[time, groups[agent, time], role],
            facts(form, role - 1, last, path),
        )


def _rows_in_turn(run: PlayedRun, rules: Rules, form: GameForm) -> Iterator[Row]:
    """The moves of a game in turns in which each player moves at most once."""
    paths: dict[int, list[Choices]] = {}
    for _, group in run.agents.groupby(["round", "group"]):
        by_role = {int(row["role"]) - 1: row for row in group.to_dict("records")}
        path: Choices = ()
        whole = False
        while (move := form.move_after(path)) is not None:
            mover = by_role[form.moves[move].player]
            agent = int(mover["agent"])
            value = _value(rules, move, mover["choice"])
            options = [option.value for option in form.options(move, path)]
            choice = None if value is None else float(np.argmin(np.abs(np.array(options) - value)))
            decider = Decider(run.run, agent, str(mover["mind"]), run.condition)
            known = fairness(form, form.moves[move].player, path, paths.get(agent, []))
            yield Row(decider, int(group["round"].iloc[0]), choice, known)
            if value is None:
                break
            path = (*path, value)
        else:
            whole = True
        for row in by_role.values() if whole else ():
            paths.setdefault(int(row["agent"]), []).append(path)


def has_payoffs(form: GameForm) -> bool:
    """Whether the game is simultaneous, with known payoffs and not too many outcomes."""
    if not form.together or form.auction is not None:
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


def facts(
    form: GameForm, me: int, last: Sequence[float | None], paths: Sequence[Choices]
) -> dict[str, Any]:
    """The facts of a player.

    Args:
        form: the game, with its options in order.
        me: the player, from 0.
        last: the last choice of each player of its last game, as an index; None where unknown.
        paths: all choices in each of its valid past games.
    """
    others = [player for player in range(form.n_players) if player != me]
    seen = [last[player] for player in others]
    whole = all(choice is not None for choice in last)
    values = {
        PAYOFFS: _payoffs(form, me),
        LAST: [float(choice) if whole and choice is not None else math.nan for choice in seen],
        **fairness(form, me, (), paths),
    }
    if _payoffs(form, me).shape == (2, 2, 2):
        values["two_by_two"] = 1.0
    return values | ({"dilemma": 1.0} if is_dilemma(_payoffs(form, me)) else {})


def plans_once(form: GameForm) -> bool:
    """Whether the players move in turn, each at most once."""
    movers = [move.player for move in form.moves]
    return not form.together and len(set(movers)) == len(movers)


def fairness(
    form: GameForm, me: int, path: Choices, paths: Sequence[Choices]
) -> dict[str, list[float]]:
    """The facts of inequity aversion: the expected payoffs of all players for each option.

    The others are expected to choose with the frequencies of the player's past games (in turns,
    after the same moves), with one additional game spread over all their options (the beliefs of
    the classical minds).

    Args:
        form: the game, with its options in order.
        me: the player, from 0.
        path: the moves so far, in a game in turns.
        paths: all choices in each of its valid past games.
    """
    spread = _spread(form, me)
    if form.together:
        expected = _expected_together(form, me, paths)
    else:
        move = len(path)
        options = form.options(move, path)
        expected = np.array([_expected(form, me, (*path, o.value), paths) for o in options])
    payoff, behind, ahead = (expected / spread).T.tolist()
    return {"own": payoff, "behind": behind, "ahead": ahead}


def _expected_together(form: GameForm, me: int, paths: Sequence[Choices]) -> Floats:
    """The player's payoff, and mean differences to others with more and less, by option."""
    payoffs = _unequal_outcomes(form, me)
    others = [player for player in range(form.n_players) if player != me]
    for player in reversed(others):
        values = [option.value for option in form.options(player)]
        belief = np.full(len(values), 1 / len(values))
        for path in paths:
            belief[int(np.argmin(np.abs(np.array(values) - path[player])))] += 1
        payoffs = np.tensordot(payoffs, belief / belief.sum(), axes=([payoffs.ndim - 2], [0]))
    return payoffs


def _expected(form: GameForm, me: int, path: Choices, paths: Sequence[Choices]) -> Floats:
    """The same values for courses that begin with a path."""
    move = form.move_after(path)
    if move is None:
        return _unequal(np.roll(np.array(form.payoffs(path)), -me))
    values = [option.value for option in form.options(move, path)]
    belief = np.full(len(values), 1 / len(values))
    for other in paths:
        if len(other) > move and other[:move] == path:
            belief[int(np.argmin(np.abs(np.array(values) - other[move])))] += 1
    after = np.array([_expected(form, me, (*path, value), paths) for value in values])
    expected: Floats = after.T @ (belief / belief.sum())
    return expected


def _unequal(payoffs: Floats) -> Floats:
    """The player's payoff, and mean differences to others with more and less, on the last axis."""
    gaps = payoffs[..., 1:] - payoffs[..., :1]
    behind, ahead = np.maximum(gaps, 0).mean(axis=-1), np.maximum(-gaps, 0).mean(axis=-1)
    return np.stack([payoffs[..., 0], behind, ahead], axis=-1)


@lru_cache(maxsize=128)
def _unequal_outcomes(form: GameForm, me: int) -> Floats:
    return _unequal(_payoffs(form, me))


@lru_cache(maxsize=128)
def _spread(form: GameForm, me: int) -> float:
    """The player's largest payoff minus the smallest one; 1 if all are equal."""
    payoffs = [form.payoffs(path)[me] for path in form.courses()]
    return (max(payoffs) - min(payoffs)) or 1.0


def _value(rules: Rules, move: int, choice: Any) -> float | None:
    """The value of a recorded choice; None without a valid one."""
    if choice is None or (isinstance(choice, float) and math.isnan(choice)):
        return None
    if not rules.options[move]:
        return float(choice)
    return rules.form.moves[move].options[rules.options[move].index(str(choice))].value


@lru_cache(maxsize=128)
def _payoffs(form: GameForm, me: int) -> Floats:
    """The payoffs of all players, the player first on each axis."""
    order = [me, *(player for player in range(form.n_players) if player != me)]
    return np.ascontiguousarray(np.transpose(table_of(form), (*order, form.n_players))[..., order])


def _index(rules: Rules, form: GameForm, row: Mapping[Any, Any]) -> float | None:
    """The index of a recorded choice; None without a valid one."""
    choice, move = row["choice"], int(row["role"]) - 1
    if choice is None or (isinstance(choice, float) and math.isnan(choice)):
        return None
    names = rules.options[move]
    if not names:
        return _place(form, move, float(choice))
    option = rules.form.moves[move].options[names.index(str(choice))]
    return float(sorted(o.value for o in rules.form.moves[move].options).index(option.value))


def _place(form: GameForm, move: int, value: float | None) -> float | None:
    """The index of an option by its value."""
    if value is None:
        return None
    values = [option.value for option in form.options(move)]
    return float(np.argmin(np.abs(np.array(values) - value)))


BEHAVIOUR = Behaviour(
    what="a choice",
    models=(
        *matrix_models(),
        *learning_models(),
        strategy_mixture(),
        pattern_mixture(),
        InequityAversion(),
        inequity_types(),
        InequityAversion(selfish=True),
        ChanceOfOptions(),
    ),
    rows=rows,
    known=known,
    answer=answer,
    people=(*STRATEGY_ESTIMATES, *INEQUITY_ESTIMATES),
)
