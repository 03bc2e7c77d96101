"""Behavioural models of the choices in finite games.

A choice is the index of an option among those of the player in the order of their values: the same
whatever the options are called, and in which order they are shown. The facts are those of
`sabm_mesa.analysis.matrix_behaviour`; games in turns and auctions have none of them yet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, Row
from sabm_mesa.analysis.matrix_behaviour import LAST, PAYOFFS, matrix_models
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.games.agents import PlayerView, answer_spec, label_of
from sabm_mesa.models.games.rules import Floats, GameForm, Rules, load_game, table_of

MOST_OUTCOMES = 2_500
"""Outcomes of a game up to which its payoffs are facts."""


def rows(run: PlayedRun) -> Iterator[Row]:
    """The choices of a run in a game in which all choose at the same time.

    Args:
        run: the run.
    """
    rules = load_game(run.parameters["game"])
    form = in_order(rules.form.scaled(float(run.parameters.get("scale", 1.0))))
    if not has_payoffs(form):
        return
    played = run.agents.to_dict("records")
    chosen = {
        (int(each["round"]), int(each["group"]), int(each["role"])): _index(rules, form, each)
        for each in played
    }
    groups = {(int(each["agent"]), int(each["round"])): int(each["group"]) for each in played}
    for each in played:
        agent, time, role = int(each["agent"]), int(each["round"]), int(each["role"])
        before = groups.get((agent, time - 1), 0)
        last = [chosen.get((time - 1, before, other + 1)) for other in range(form.n_players)]
        decider = Decider(run.run, agent, str(each["mind"]), run.condition)
        yield Row(
            decider, time, chosen[time, groups[agent, time], role], facts(form, role - 1, last)
        )


def known(ask: Ask) -> Mapping[str, Any] | None:
    """The facts of a player that chooses; None when it speaks.

    Args:
        ask: the question.
    """
    view = ask.observation
    if not isinstance(view, PlayerView) or ask.name == "communicate":
        return None
    form = in_order(view.form)
    if not has_payoffs(form):
        return {}
    path: Sequence[float | None] = view.plays[-1].path if view.plays else ()
    last = [
        _place(form, player, path[player]) if path else None for player in range(form.n_players)
    ]
    return facts(form, view.player, last)


def answer(ask: Ask, choice: float | None) -> object:
    """Choose an option, or say nothing that helps or harms.

    Args:
        ask: the question.
        choice: the index of the option; None when the player speaks.
    """
    if choice is None:
        return ask.book.render("classical_quiet", {})
    view = ask.observation
    assert isinstance(view, PlayerView)
    value = in_order(view.form).options(view.player)[int(choice)].value
    is_option = hasattr(answer_spec(view.form, view.player), "options")
    return label_of(view.form, view.player, value) if is_option else int(value)


def has_payoffs(form: GameForm) -> bool:
    """Whether all choose at the same time, with payoffs that are known and not too many.

    Args:
        form: the game.
    """
    if not form.together or form.auction is not None:
        return False
    return math.prod(len(form.options(k)) for k in range(form.n_players)) <= MOST_OUTCOMES


@lru_cache(maxsize=128)
def in_order(form: GameForm) -> GameForm:
    """The same game with the options of each move in the order of their values.

    Args:
        form: the game.
    """
    moves = tuple(
        replace(move, options=tuple(sorted(move.options, key=lambda each: each.value)))
        for move in form.moves
    )
    return replace(form, moves=moves)


def facts(form: GameForm, me: int, last: Sequence[float | None]) -> dict[str, Any]:
    """The facts of a player.

    Args:
        form: the game, with its options in order.
        me: the player, from 0.
        last: the last choice of each player of its last game, as an index; None where unknown.
    """
    others = [player for player in range(form.n_players) if player != me]
    seen = [last[player] for player in others]
    whole = all(each is not None for each in last)
    return {
        PAYOFFS: _payoffs(form, me),
        LAST: [float(each) if whole and each is not None else math.nan for each in seen],
    }


@lru_cache(maxsize=128)
def _payoffs(form: GameForm, me: int) -> Floats:
    """The payoffs of all players, the player first on each axis."""
    order = [me, *(player for player in range(form.n_players) if player != me)]
    return np.ascontiguousarray(np.transpose(table_of(form), (*order, form.n_players))[..., order])


def _index(rules: Rules, form: GameForm, each: Mapping[Any, Any]) -> float | None:
    """The index of a recorded choice; None without a valid one."""
    choice, move = each["choice"], int(each["role"]) - 1
    if choice is None or (isinstance(choice, float) and math.isnan(choice)):
        return None
    names = rules.options[move]
    if not names:
        return _place(form, move, float(choice))
    own = rules.form.moves[move].options[names.index(str(choice))]
    return float(sorted(o.value for o in rules.form.moves[move].options).index(own.value))


def _place(form: GameForm, move: int, value: float | None) -> float | None:
    """The index of an option by its value."""
    if value is None:
        return None
    values = [option.value for option in form.options(move)]
    return float(np.argmin(np.abs(np.array(values) - value)))


BEHAVIOUR = Behaviour(
    what="a choice", models=matrix_models(), rows=rows, known=known, answer=answer
)
