"""The widget of a chart: it sends new points, and all of it when anything else has changed."""

from dataclasses import replace

import pytest

from sabm_mesa.analysis.charts import Chart, Series
from sabm_mesa.errors import RunError
from sabm_mesa.visualization.assets import address_of_asset, assets
from sabm_mesa.visualization.chart import ChartWidget, new_points
from sabm_mesa.visualization.stage import INVALID, MOST_TICKS, TALK, ticks_of

CHART = Chart("c", "C", (Series("a", [(0, 1.0)]),))
LONGER = replace(CHART, series=(Series("a", [(0, 1.0), (1, 2.0)]),))


def test_new_points_are_those_that_came():
    spec, longer = CHART.for_browser(), LONGER.for_browser()
    assert new_points(spec, longer) == [[[2, 2.0]]]
    assert new_points(spec, spec) == [[]]
    assert new_points(longer, spec) is None
    assert new_points(spec, replace(CHART, title="D").for_browser()) is None


def test_a_widget_sends_the_new_row_and_not_the_whole(monkeypatch):
    widget = ChartWidget(shown=CHART)
    sent, states = [], []
    monkeypatch.setattr(widget, "send", sent.append)
    monkeypatch.setattr(widget, "send_state", lambda key=None: states.append(key))
    widget.shown = LONGER
    assert sent == [{"method": "add", "args": [[[[2, 2.0]]]]}]
    assert states == []
    assert widget.get_state("spec")["spec"]["series"][0]["points"] == [[1, 1.0], [2, 2.0]]

    widget.vue_shown_again(None)  # a view that is made anew knows the first point alone
    widget.vue_shown_again(None)
    assert states == ["spec"]


def test_a_widget_names_the_script_that_is_installed():
    name = ChartWidget(shown=CHART).script
    assert assets()[name].is_file()
    with pytest.raises(RunError, match="solara-assets has no echarts"):
        address_of_asset("echarts", "nothing.js")


def test_a_timeline_of_many_rounds_has_few_ticks():
    rounds = range(10 * MOST_TICKS)
    places = {each: each for each in rounds}
    ticks = ticks_of({TALK: rounds, INVALID: [3]}, places, str)
    assert len(ticks) <= MOST_TICKS
    assert ticks_of({INVALID: [3, 99]}, {3: 1}, str) == [(1, INVALID, "invalid answers in 3")]
