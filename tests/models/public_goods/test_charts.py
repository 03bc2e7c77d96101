"""The charts of the public goods game."""

import math

import numpy as np
import pandas as pd
import pytest

from sabm_mesa import PublicGoods
from sabm_mesa.models.public_goods.charts import CLASSES, class_of
from tests.models.public_goods.support import chains
from tests.models.support import charts_of, series_of, values_of


def run_of(n_players=4, n_rounds=5, malicious=0):
    rng = np.random.default_rng(3)
    model, agents = [], []
    for at in range(n_rounds):
        amounts = rng.choice([0.0, 20.0, 80.0, 100.0, math.nan], n_players)
        amounts[n_players - malicious :] = 0
        amounts[0] = 60
        normal = amounts[: n_players - malicious]
        model.append((0, at, np.nanmean(amounts), np.nanmean(normal), 0.5, 0.5))
        agents += [(0, at, i, a, 100.0, "m") for i, a in enumerate(amounts, 1)]
    columns = ["run", "round", "contribution", "normal_contribution", "efficiency", "zero_share"]
    return pd.DataFrame(model, columns=columns), pd.DataFrame(
        agents, columns=["run", "round", "agent", "contribution", "payoff", "mind"]
    )


def test_the_charts_of_groups_and_of_a_chain() -> None:
    groups = charts_of(PublicGoods(), *run_of())
    assert list(groups) == ["contributions", "efficiency", "shares"]
    assert groups["contributions"].high == 100
    assert set(series_of(groups["contributions"])) == {"players", "mean"}
    malicious = charts_of(PublicGoods(), *run_of(malicious=1))["contributions"]
    assert "without malicious players" in series_of(malicious)


def test_the_bars_of_a_round_add_up_to_all_players() -> None:
    model, agents = run_of()
    shares = charts_of(PublicGoods(), model, agents)["shares"]
    heights = {name: values_of(shares, name) for name in series_of(shares)}
    classes = agents["contribution"].map(lambda amount: class_of(amount, 100))

    assert np.sum([*heights.values()], axis=0) == pytest.approx(100)
    first = 100 * classes[agents["round"] == 0].value_counts(normalize=True)
    assert set(heights) == set(classes) <= set(CLASSES)
    assert {name: values[0] for name, values in heights.items()} == pytest.approx(
        {name: first.get(name, 0) for name in heights}
    )


def test_infection_shows_each_order_before_and_after() -> None:
    chain = chains([((72.5, 34), (80, 27)), ((60, 34), (math.nan, 60))])
    model = PublicGoods(matching="chain")
    drawn = charts_of(model, run_of()[0], chain.assign(mind="m"))

    assert list(drawn) == ["contributions", "infection"]
    assert drawn["infection"].names == ["1st order", "2nd order"]
    assert values_of(drawn["infection"], "before infection") == [66.25, 80]
    assert values_of(drawn["infection"], "after infection") == [34, 27]
