"""Finite games as games for a class."""

from __future__ import annotations

import math
from typing import Any

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.phrases import Phrase
from sabm_mesa.models.declarations import ClassGame, ToldRound
from sabm_mesa.models.games.agents import view_of
from sabm_mesa.models.games.rules import library

MOST_OPTIONS = 6
"""Maximum number of options of a player in a table of payoffs."""


def board(ask: Ask) -> dict[str, Any] | None:
    """The payoffs of a simultaneous game of two players with few options."""
    seen = view_of(ask)
    form = seen.form
    if ask.name != "act" or form.n_players != 2 or not form.together:
        return None
    moves = sorted(form.moves, key=lambda move: move.player != seen.player)
    my_options, their_options = (move.options for move in moves)
    if not 0 < len(my_options) <= MOST_OPTIONS or not 0 < len(their_options) <= MOST_OPTIONS:
        return None

    def cell(mine: float, theirs: float) -> list[float]:
        path = (mine, theirs) if seen.player == 0 else (theirs, mine)
        paid = form.payoffs(path)
        return [paid[seen.player], paid[1 - seen.player]]

    return {
        "kind": "matrix",
        "text": Phrase("asks.choose"),
        "rows": [option.label for option in my_options],
        "columns": [option.label for option in their_options],
        "cells": [
            [cell(mine.value, theirs.value) for theirs in their_options] for mine in my_options
        ],
    }


def result_lines(played: ToldRound) -> list[str]:
    """The player's choice, the choices of the group, and the payoff."""
    mine = played.own
    if not mine or not isinstance(mine["payoff"], float) or math.isnan(mine["payoff"]):
        return []
    group = played.agents[played.agents["group"] == mine["group"]]
    others = [str(choice) for choice in group.loc[group["agent"] != played.agent, "choice"]]
    earned = Phrase("choices.earned", earned=mine["payoff"])
    if len(others) != 1 or mine["choice"] is None:
        return [earned]
    return [Phrase("choices.chose", own=str(mine["choice"]), other=others[0]), earned]


GAME = ClassGame(
    rule=Phrase("rules.choices"),
    people=(2, 40),
    minutes=6,
    choices={"game": library},
    board=board,
    told=result_lines,
)
