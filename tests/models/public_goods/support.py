"""Scripted games that several test files play."""

import math

import pandas as pd

from sabm_mesa import PublicGoods, ScriptedMind

# Contributions of two players; what is None cannot be read.
GIVEN = [(100, 0), (100, 100), (0, 0), (30, None), (None, None), (12.5, 50)]


def follow(ask):
    """The script: the contributions above."""
    amount = GIVEN[ask.key.round][ask.key.agent - 1]
    return "I would rather not say." if amount is None else f"Because.\n{amount}"


def game(answer=follow, **given):
    return PublicGoods(**{"n_rounds": 6, "minds": ScriptedMind(answer), "rng": 7, **given})


def played(answer=follow, **given):
    model = game(answer, **given)
    model.run_model()
    return model


# The chain of infection.
# Before and after of X (72, 34), of Y (80, 27); Z gives 55.
CHAIN = {(0, 1): 72, (1, 1): 34, (1, 2): 80, (2, 2): 27, (2, 3): 55}


def chain(**given):
    def answer(ask):
        return str(CHAIN[ask.key.round, ask.key.agent])

    return played(answer, **{"n_players": 4, "matching": "chain", "malicious": 1, **given})


# Measures.
def chains(drops):
    """Agent data of chains of four, by the amounts before and after of the first two orders."""
    rows = []
    for run, ((x, x_then), (y, y_then)) in enumerate(drops):
        played = {(0, 4): 0, (0, 1): x, (1, 1): x_then, (1, 2): y, (2, 2): y_then, (2, 3): 50}
        for at in range(3):
            for agent in range(1, 5):
                amount = played.get((at, agent), math.nan)
                paid = 100 if (at, agent) in played else math.nan
                rows.append((run, at, agent, amount, paid))
    return pd.DataFrame(rows, columns=["run", "round", "agent", "contribution", "payoff"])
