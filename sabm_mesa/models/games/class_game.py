"""Finite games as games for a class."""

from __future__ import annotations

import math
from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.languages import Phrase
from sabm_mesa.models.declarations import ClassGame, ToldRound
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


def told(played: ToldRound) -> list[str]:
    """The own choice beside those of the group, and the payoff.

    Args:
        played: the round.
    """
    own = played.own
    if not own or not isinstance(own["payoff"], float) or math.isnan(own["payoff"]):
        return []
    group = played.agents[played.agents["group"] == own["group"]]
    others = [str(choice) for choice in group.loc[group["agent"] != played.agent, "choice"]]
    earned = Phrase("choices.earned", earned=own["payoff"])
    if len(others) != 1 or own["choice"] is None:
        return [earned]
    return [Phrase("choices.chose", own=str(own["choice"]), other=others[0]), earned]


GAME = ClassGame(
    rule=Phrase("rules.choices"),
    people=(2, 40),
    minutes=6,
    choices={"game": library},
    board=board,
    told=told,
)
