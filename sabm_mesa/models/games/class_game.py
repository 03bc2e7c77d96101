"""Finite games as games for a class."""

from __future__ import annotations

from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.models.declarations import ClassGame
from sabm_mesa.models.games.rules import library

MOST_OPTIONS = 6
"""Options of a player in a table of payoffs, at most."""


def board(ask: Ask) -> dict[str, Any] | None:
    """The payoffs of a game of two who decide at the same time, with few options.

    Args:
        ask: the question.
    """
    seen: Any = ask.observation
    form = seen.form
    if ask.name != "act" or form.n_players != 2 or not form.together or form.auction:
        return None
    moves = sorted(form.moves, key=lambda move: move.player != seen.player)
    own, other = (move.options for move in moves)
    if not 0 < len(own) <= MOST_OPTIONS or not 0 < len(other) <= MOST_OPTIONS:
        return None

    def cell(mine: float, theirs: float) -> list[float]:
        path = (mine, theirs) if seen.player == 0 else (theirs, mine)
        paid = form.payoffs(path)
        return [paid[seen.player], paid[1 - seen.player]]

    return {
        "kind": "matrix",
        "rows": [option.label for option in own],
        "columns": [option.label for option in other],
        "cells": [[cell(mine.value, theirs.value) for theirs in other] for mine in own],
    }


GAME = ClassGame(
    rule="Decide without knowing what the others choose in the meantime: what each of you earns "
    "depends on the choices of all.",
    people=(2, 40),
    minutes=6,
    choices={"game": library},
    board=board,
)
