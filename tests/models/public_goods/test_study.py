"""Measures of the public goods game, by hand."""

import math

import pandas as pd
import pytest

from sabm_mesa.models.public_goods.study import (
    infections,
    run_measures,
)
from tests.models.public_goods.support import chains


def test_infections_are_before_and_after() -> None:
    found = infections(chains([((72.5, 34), (80, 27)), ((100, 79.75), (60, 60))]))

    assert list(found.columns) == ["run", "order", "before", "after", "drop"]
    assert found.to_numpy().tolist() == [
        [0, 1, 72.5, 34, 38.5], [0, 2, 80, 27, 53], [1, 1, 100, 79.75, 20.25], [1, 2, 60, 60, 0],
    ]  # fmt: skip


def test_an_answer_that_could_not_be_used_has_no_drop() -> None:
    drops = infections(chains([((math.nan, 34), (80, 20)), ((50, 40), (70, 30))]))["drop"]

    assert math.isnan(drops[0])
    assert drops[1:].tolist() == [60, 10, 40]


def test_a_chain_that_was_cut_short_has_fewer_orders() -> None:
    data = chains([((72.5, 34), (80, 27))])

    assert list(infections(data[data["round"] < 2])["order"]) == [1]
    assert infections(data[data["round"] < 1]).empty


def test_measures_of_a_run() -> None:
    model = pd.DataFrame(
        {
            "contribution": [36.25, 57, math.nan],
            "normal_contribution": [72.5, 57, math.nan],
            "efficiency": [0.3625, 0.57, math.nan],
        }
    )
    found = run_measures(model, chains([((72.5, 34), (80, 27))]), chain=True)

    assert found["contribution"] == pytest.approx(46.625)
    assert found["normal_contribution"] == pytest.approx(64.75)
    assert found["first_contribution"] == 36.25
    assert math.isnan(found["last_contribution"])
    assert (found["drop_1"], found["drop_2"]) == (38.5, 53)
    assert "drop_1" not in run_measures(model, chains([((1, 2), (3, 4))]), chain=False)
