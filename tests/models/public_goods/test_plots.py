"""Plots of the public goods game."""

import math

import numpy as np
import pandas as pd
import pytest

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.models.public_goods.plots import (
    CLASSES,
    class_of,
    contributions_by_round,
    figures,
    infection,
    shares_by_round,
)
from tests.models.public_goods.support import chains


# Plots.
def runs_of(n_runs, n_players=4, n_rounds=5, malicious=0):
    rng = np.random.default_rng(3)
    model, agents = [], []
    for run in range(n_runs):
        for at in range(n_rounds):
            amounts = rng.choice([0.0, 20.0, 80.0, 100.0, math.nan], n_players)
            amounts[n_players - malicious :] = 0
            amounts[0] = 60
            valid = amounts[~np.isnan(amounts)]
            normal = amounts[: n_players - malicious]
            model.append((run, at, valid.mean(), normal[~np.isnan(normal)].mean()))
            agents += [(run, at, i, a, 100.0) for i, a in enumerate(amounts, 1)]
    columns = ["run", "round", "contribution", "normal_contribution"]
    return pd.DataFrame(model, columns=columns), pd.DataFrame(
        agents, columns=["run", "round", "agent", "contribution", "payoff"]
    )


def labels(ax):
    return [line.get_label() for line in ax.lines if not line.get_label().startswith("_")]


def test_the_figures_of_groups_and_of_a_chain() -> None:
    model, agents = runs_of(2)
    chain = chains([((72.5, 34), (80, 27))])
    rounds = chain[chain["round"] == 0]

    assert set(figures(model, agents)) == {"contributions", "shares"}
    assert set(figures(model, chain, chain=True)) == {"contributions", "infection"}
    assert set(figures(model, rounds, chain=True)) == {"contributions"}


def test_the_mean_line_is_the_mean_of_the_runs() -> None:
    model, agents = runs_of(3)
    (ax,) = contributions_by_round(model, agents, "baseline", 100).axes
    (mean,) = [line for line in ax.lines if line.get_label() == "mean of the runs"]

    assert list(mean.get_ydata()) == pytest.approx(model.groupby("round")["contribution"].mean())
    assert mean.get_color() == style.BLUE
    assert ax.get_ylim() == (0, 100)
    assert labels(ax) == ["single runs", "mean of the runs"]
    assert ax.get_ylabel() == "Contribution (dollars)"


def test_the_bars_of_a_round_add_up_to_all_players() -> None:
    _, agents = runs_of(4)
    (ax,) = shares_by_round(agents, "", 100).axes
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(len(CLASSES), 5)
    counted = agents["contribution"].map(lambda c: class_of(c, 100))

    assert heights.sum(axis=0) == pytest.approx(np.ones(5))
    first = counted[agents["round"] == 0].value_counts(normalize=True)
    assert list(heights[:, 0]) == pytest.approx([first.get(name, 0) for name in CLASSES])


def test_infection_shows_each_order_with_its_mean_drop() -> None:
    data = chains([((72.5, 34), (80, 27)), ((60, 34), (math.nan, 60))])
    first, second = infection(data, "", 100).axes

    assert first.get_title(loc="left") == "1st order\nmean drop 32.2"
    assert second.get_title(loc="left") == "2nd order\nmean drop 53.0"
    (mean,) = [line for line in first.lines if line.get_label() == "mean"]
    assert list(mean.get_ydata()) == [66.25, 34]
