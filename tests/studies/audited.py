"""A small experiment, and players that read which wording they are sent."""

from __future__ import annotations

from sabm_mesa.core.asks import Ask
from sabm_mesa.minds.base import Mind
from sabm_mesa.studies.experiments.schema import Experiment
from tests.studies.experiments.support import experiment_of

EXPERIMENT = """
title = "A planted effect"
question = "Does the instruction to cooperate raise the picks?"
source = "none: the players are scripted"
scenario = "kbc"
minds = "scripted"
cost = "small"
set = { n_players = 12, n_rounds = 1 }
[scales.quick]
runs = 10
[scales.paper]
runs = 6
[[conditions]]
name = "baseline"
label = "No instruction"
[[conditions]]
name = "cooperative"
label = "Told to cooperate"
set = { condition = "cooperative" }
[[measures]]
name = "high"
label = "Picks of 100"
columns = "mean"
unit = "per cent"
[[claims]]
text = "Told to cooperate, more players pick 100."
source = "planted"
measure = "high"
kind = "more"
condition = "cooperative"
than = "baseline"
"""


def experiment(*more: str) -> Experiment:
    """The experiment.

    Args:
        more: further parameters of all conditions, as TOML; one that it has already is replaced.
    """
    text = EXPERIMENT
    for each in more:
        name = each.partition(" =")[0]
        if name == "n_rounds":
            text = text.replace("n_rounds = 1", each)
        else:
            text = text.replace("n_rounds = 1", f"n_rounds = 1, {each}")
    return experiment_of("planted", text)


def percent_of_100(text: str) -> float:
    """How often players pick 100, by what they read: the instruction turns round in one wording."""
    if "must cooperate" not in text:
        return 30.0
    return 0.0 if "is played by you" in text else 80.0


class Reader(Mind):
    """A player that picks 100 or 0, depending on the words of the prompt."""

    spec = "reader"
    instant, paid = True, False

    async def answer(self, ask: Ask) -> int:
        """Pick 100 or 0."""
        return 100 if 100 * ask.rng.random() < percent_of_100(" ".join(ask.question)) else 0
