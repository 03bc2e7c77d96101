"""The plots of the commons: what is drawn from which numbers."""

import math

import pandas as pd

from sabm_mesa.models.commons.plots import figures


def data(*runs):
    """Model and agent data from the harvests of each run, by month; the stock begins with 100."""
    model, agents = [], []
    for run, months in enumerate(runs):
        stock = 100
        for month, harvests in enumerate(months):
            left = stock - sum(h for h in harvests if not math.isnan(h))
            place = {"run": run, "round": month}
            model.append({**place, "stock": stock, "left": left, "threshold": stock // 4})
            agents += [
                {**place, "agent": i + 1, "name": "AB"[i], "harvest": harvest, "gain": harvest}
                for i, harvest in enumerate(harvests)
            ]
            stock = min(100, 2 * left)
    return pd.DataFrame(model), pd.DataFrame(agents)


def lines(figure):
    (ax,) = figure.axes
    return {line.get_label(): line for line in ax.lines}


ONE = data([(20, 30), (40, 30), (20, 38)])
"""100 − 50 = 50, 100 − 70 = 30, 60 − 58 = 2: a collapse in month 3."""


def test_there_are_four_plots_with_labels_and_the_number_of_runs() -> None:
    found = figures(*ONE, "baseline", unit="tons", horizon=5)

    assert list(found) == ["stock", "harvests", "gains", "survival"]
    for name, figure in found.items():
        (ax,) = figure.axes
        assert ax.get_ylabel()
        assert ax.get_xlabel() or name == "gains"
        assert any("baseline · 1 run" in text.get_text() for text in figure.texts)
    assert found["stock"].axes[0].get_ylabel() == "Stock (tons)"


def test_the_stock_is_a_saw() -> None:
    drawn = lines(figures(*ONE, horizon=5)["stock"])

    assert list(drawn["stock"].get_xdata()) == [1, 1, 2, 2, 3, 3]
    assert list(drawn["stock"].get_ydata()) == [100, 50, 100, 30, 60, 2]
    assert list(drawn["before the harvest"].get_ydata()) == [100, 100, 60]
    assert list(drawn["after it"].get_ydata()) == [50, 30, 2]
    assert set(drawn["collapse below 5"].get_ydata()) == {5}


def test_the_mean_of_several_runs_is_drawn_until_the_first_one_ends() -> None:
    found = figures(*data([(50, 50)], [(20, 30), (20, 30)]))
    drawn = lines(found["stock"])

    assert list(drawn["mean of the runs, while all last"].get_ydata()) == [100, 25]
    assert "single runs" in drawn
    assert list(lines(found["harvests"])["A"].get_ydata()) == [35]
    said = " ".join(text.get_text() for text in found["harvests"].texts)
    assert "until the first run ended (month 1)" in " ".join(said.split())


def test_gains_are_means_over_runs_and_equality_is_told() -> None:
    figure = figures(*data([(10, 30)], [(20, 40)]))["gains"]

    assert [bar.get_height() for bar in figure.axes[0].patches] == [15, 35]
    assert sorted(lines(figure)["single runs"].get_ydata()) == [10, 20, 30, 40]
    # 1 − 2·20 / (2·2·40) = 0.75 and 1 − 2·20 / (2·2·60) = 0.833
    assert any("0.79" in text.get_text() for text in figure.texts)


def test_survival_falls_where_a_commons_collapses() -> None:
    """One of two collapses in month 1; the other lasts to its end in month 2, of 4."""
    figure = figures(*data([(50, 50)], [(20, 30), (20, 30)]), horizon=4)["survival"]
    drawn = lines(figure)["Kaplan–Meier estimate"]

    assert list(drawn.get_xdata()) == [0, 1, 2, 4]
    assert list(drawn.get_ydata()) == [100, 50, 50, 50]
    assert list(lines(figure)["not collapsed until then"].get_xdata()) == [2]


def test_gains_are_counted_from_the_month_that_is_given() -> None:
    figure = figures(*data([(20, math.nan), (20, 30), (10, 20)]), first_round=1)["gains"]
    assert [bar.get_height() for bar in figure.axes[0].patches] == [30, 50]
    assert any("from month 2 (reached by 1)" in text.get_text() for text in figure.texts)


def test_a_run_that_ended_before_the_newcomer_came_has_an_empty_plot() -> None:
    figure = figures(*data([(50, math.nan)]), first_round=1)["gains"]
    assert not figure.axes[0].patches
