"""Behavioural models of the choices in finite games with simultaneous choices.

A choice is the index of an option among the player's options in the order of their values. It does
not depend on the names and the displayed order of the options. The facts are those of
`sabm_mesa.models.games.repeated_behaviour`; games in turns have none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, Row, Uniform
from sabm_mesa.core.asks import Ask
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
from sabm_mesa.models.games.rules import Floats, GameForm, Rules, load_game, table_of

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


BEHAVIOUR = Behaviour(
    what="a choice",
    models=(*learning_models(), strategy_mixture(), Uniform()),
    rows=rows,
    known=known,
    answer=answer,
    people=STRATEGY_ESTIMATES,
)
