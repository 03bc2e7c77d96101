"""The charts of the commons: what is drawn from which numbers."""

import math

import pandas as pd

from sabm_mesa import Fishery
from sabm_mesa.models.commons.charts import figures
from tests.models.support import charts_of, values_of


def data(*runs):
    """Model and agent data from the harvests of each run, by month; the stock begins with 100."""
    model, agents = [], []
    for run, months in enumerate(runs):
        stock = 100
        for month, harvests in enumerate(months):
            left = stock - sum(h for h in harvests if not math.isnan(h))
            place = {"run": run, "round": month}
            over = {"threshold": stock // 4, "over_usage": 0.0}
            model.append({**place, "stock": stock, "left": left, **over})
            agents += [
                {**place, "agent": i + 1, "name": "AB"[i], "harvest": harvest, "gain": harvest}
                for i, harvest in enumerate(harvests)
            ]
            stock = min(100, 2 * left)
    return pd.DataFrame(model), pd.DataFrame(agents)


ONE = data([(20, 30), (40, 30), (20, 38)])
"""100 − 50 = 50, 100 − 70 = 30, 60 − 58 = 2: a collapse in month 3."""


def test_the_stock_is_drawn_before_and_after_the_harvest() -> None:
    found = charts_of(Fishery(), *ONE)

    assert list(found) == ["stock", "harvests", "over_usage", "gains"]
    assert values_of(found["stock"], "before the harvest") == [100, 100, 60]
    assert values_of(found["stock"], "after it") == [50, 30, 2]
    assert [level.at for level in found["stock"].levels] == [5]
    assert found["stock"].y == "Tons of fish"
    assert values_of(found["harvests"], "A") == [20, 40, 20]


def test_gains_are_counted_from_the_month_that_is_given() -> None:
    gains = charts_of(Fishery(), *ONE)["gains"]
    assert (gains.names, values_of(gains, "gain")) == (["A", "B"], [80, 98])

    months = data([(20, math.nan), (20, 30), (10, 20)])
    gains = charts_of(Fishery(newcomer_month=2), *months)["gains"]
    assert values_of(gains, "gain") == [30, 50]
    assert gains.title == "What each person gained from month 2 on"
    assert not charts_of(Fishery(newcomer_month=2), *data([(50, math.nan)]))["gains"].names


def test_survival_falls_where_a_commons_collapses() -> None:
    """One of two collapses in month 1; the other lasts to its end in month 2, of 4."""
    model_data, agent_data = data([(50, 50)], [(20, 30), (20, 30)])
    (ax,) = figures(Fishery(n_rounds=4), model_data, agent_data, "")["survival"].axes
    drawn = {line.get_label(): line for line in ax.lines}
    estimate = drawn["Kaplan–Meier estimate"]

    assert list(estimate.get_xdata()) == [0, 1, 2, 4]
    assert list(estimate.get_ydata()) == [100, 50, 50, 50]
    assert list(drawn["not collapsed until then"].get_xdata()) == [2]
