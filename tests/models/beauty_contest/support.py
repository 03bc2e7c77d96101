"""Picks of a contest of three players, with the results of its rounds computed by hand."""

import pandas as pd

# Picks in four rounds; the third player's answers of round 2 cannot be read.
PICKS = [(10, 20, 60), (30, 30, 30), (12, 28, None), (0, 40, 50)]
MEAN = [30, 30, 20, 30]
TARGET = [20, 20, 40 / 3, 20]
VARIANCE = [1400 / 3, 0, 64, 1400 / 3]
WON = [(0, 1, 0), (1, 1, 1), (1, 0, 0), (1, 1, 0)]
TALK = {1: "Let us all take 30.", 2: "I agree.", 3: "We will see."}


def follow(ask):
    """The script: the talk and the picks above."""
    if ask.name == "communicate":
        return TALK[ask.key.agent]
    pick = PICKS[ask.key.round][ask.key.agent - 1]
    return "I would rather not say." if pick is None else f"Because.\n{pick}"


def by_round(model, column):
    """The values of an agent column, a row a round; None where there is none."""
    rows = [tuple(rows[column]) for _, rows in model.agent_frame().groupby("round")]
    return [tuple(None if pd.isna(value) else value for value in row) for row in rows]
