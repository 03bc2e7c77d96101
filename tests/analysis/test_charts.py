"""Charts as data: the points of a run, their numbers for people, and their figures."""

import json
import math

import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import (
    Chart,
    Level,
    Series,
    agent_lines,
    column_charts,
    counted,
    dots,
    draw,
    lines,
    thumbnail,
)

MODEL = pd.DataFrame({"round": [0, 1], "price": [4.0, math.nan], "word": ["a", "b"]})
AGENTS = pd.DataFrame(
    {"round": [0, 0, 1, 1], "agent": [1, 2, 1, 2], "mind": ["a", "b"] * 2, "pick": [5, 6, 7, 8]}
)


def test_people_read_rounds_from_1_where_the_data_count_from_0():
    (chart,) = counted([Chart("p", "P by round", lines(MODEL, {"price": "p"}))], "month", 1, 3)
    sent = chart.for_browser()
    assert (sent["title"], sent["x"], sent["first"], sent["last"]) == ("P by month", "Month", 1, 4)
    assert sent["series"][0]["points"] == [[1, 4.0], [2, None]]
    assert json.loads(json.dumps(sent, allow_nan=False)) == sent


def test_agents_have_dots_by_mind_and_lines_of_their_own():
    first, second = dots(AGENTS, "pick", "players")
    assert [each.label for each in (first, second)] == ["a", "b"]
    assert [y for _, y in second.points] == [6.0, 8.0]
    assert [round(x) for x, _ in second.points] == [0, 1]
    assert agent_lines(AGENTS, "pick")[1].points == [(0, 6.0), (1, 8.0)]
    (alone,) = dots(AGENTS[AGENTS["mind"] == "a"], "pick", "players")
    assert (alone.label, alone.points) == ("players", first.points)
    assert dots(AGENTS.iloc[:0], "pick", "players") == agent_lines(AGENTS.iloc[:0], "pick") == []


def test_the_line_of_one_agent_stands_out():
    first, last = Series("of nobody", [(0, 1.0)]), dots(AGENTS, "pick", "players")
    chart = Chart("c", "C", [first, *agent_lines(AGENTS, "pick"), *last])
    own = chart.with_own(2, "Ann")
    assert [each.look for each in own.series] == [
        "plain", "faint", "strong", "faint", "faint", "strong",
    ]  # fmt: skip
    assert own.series[-1].label == "Ann"
    assert own.series[-1].points == [(0, 6.0), (1, 8.0)]
    sent = own.for_browser()["series"]
    assert [each["agent"] for each in sent] == [None, 1, 2, None, None, 2]
    assert [point[2] for point in sent[3]["points"]] == [1, 1]
    assert len(draw(own).axes) == 1
    assert chart.with_own(3, "nobody") is chart


def test_columns_without_numbers_have_no_chart():
    data = MODEL.assign(sold=True)
    charts = column_charts(data, {"price": "Price", "word": "Word", "sold": "Sold"})
    assert [each.title for each in charts] == ["Price by round"]


def test_matplotlib_draws_what_the_browser_paints():
    bars = [Series(name, [(0, 1.0), (1, 2.0)], "bars") for name in "ab"]
    chart = Chart(
        "c", "C", [*bars, *dots(AGENTS, "pick", "players")], levels=(Level(3, "theory"),), high=9
    )
    (ax,) = draw(chart, "two minds").axes
    assert [bar.get_y() for bar in ax.patches] == [0, 0, 1, 2]
    assert {line.get_label() for line in ax.lines} == {"theory"}
    assert ax.get_ylim()[1] == 9
    for ending, begins in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        assert style.to_bytes(draw(chart), ending).startswith(begins)


def test_a_small_chart_names_its_lines_if_they_are_few():
    few = [Series(name, [(0, 1.0), (1, 2.0)]) for name in "ab"]
    for series, names in ((few[:1], []), (few, ["a", "b"]), (few * 9, [])):
        figure = thumbnail(Chart("c", "C by round", series))
        assert figure.get_suptitle() == "C by round"
        assert len(figure.axes[0].lines) == len(series)
        assert [text.get_text() for each in figure.legends for text in each.get_texts()] == names
