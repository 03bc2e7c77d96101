"""Charts as data: the points of a run, their numbers for people, and their figures."""

import json
import math

import pandas as pd
import pytest

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import (
    Chart,
    Level,
    Series,
    Span,
    agent_lines,
    column_charts,
    counted,
    dots,
    draw,
    figures,
    lines,
    pooled,
    thumbnail,
)
from sabm_mesa.analysis.intervals import mean_by_round

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
    assert ax.get_ylim()[1] == pytest.approx(9 * 1.02)  # no mark at 9 is cut
    for ending, begins in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        assert style.to_bytes(draw(chart), ending).startswith(begins)


def of_run(values: list[float], label: str = "stock", **given) -> Chart:
    series = [Series(label, list(enumerate(values)))]
    return Chart("s", "Stock by round", series, "Fish", **given)


def test_several_runs_are_thin_lines_with_their_mean_and_its_interval() -> None:
    runs = [of_run([10.0 * run, 5.0 + run]) for run in range(15)]
    *thin, mean = pooled(runs).series
    summary = mean_by_round(
        pd.DataFrame({"run": [*range(15)] * 2, "round": [0] * 15 + [1] * 15,
                      "value": [10.0 * i for i in range(15)] + [5.0 + i for i in range(15)]}),
        "value",
    )  # fmt: skip

    assert [series.points for series in thin] == [run.series[0].points for run in runs]
    assert [series.label for series in thin] == ["single runs", *[""] * 14]
    assert mean.points == [(0, 70), (1, 12)]
    assert mean.band == list(zip(summary["low"], summary["high"], strict=True))
    (ax,) = draw(pooled(runs)).axes
    assert len(ax.lines) == 16
    corners = ax.collections[0].get_paths()[0].vertices
    for x, (low, high) in enumerate(mean.band):
        there = corners[corners[:, 0] == x + 1, 1]
        assert (there.min(), there.max()) == pytest.approx((low, high))


def test_a_mean_ends_with_the_first_run_unless_values_are_kept() -> None:
    runs = [[10.0, 4.0, 2.0], [0.0, 2.0]]
    ended, kept = (pooled([of_run(run, kept=kept) for run in runs]).series[-1] for kept in (0, 1))

    assert ended.label == "mean of the runs (until the first one ends)"
    assert [y for _, y in ended.points[:2]] == [5, 3]
    assert math.isnan(ended.points[2][1])
    assert kept.label == "mean of the runs (ended ones keep their last value)"
    assert [y for _, y in kept.points] == [5, 3, 2]


def test_bars_are_means_over_runs_and_dots_are_all_drawn() -> None:
    def chart(high: float, agent: int) -> Chart:
        bars = Series("b", [(0, high)], "bars")
        return Chart("c", "C", [bars, Series("d", [(0, high)], "dots", agents=[agent])])

    bars, points = pooled([chart(1.0, 1), chart(4.0, 2)]).series
    assert bars.points == [(0, 2.5)]
    assert ([y for _, y in points.points], points.agents) == ([1, 4], [1, 2])
    assert len({x for x, _ in points.points}) == 2


def test_theory_and_published_points_are_drawn_once() -> None:
    published = Series("published", [(4, 9.8)], dashed=True)
    runs = [Chart("c", "C", [*of_run([1.0 + i]).series, published]) for i in range(3)]
    found = [series for series in pooled(runs).series if series.label == "published"]
    assert [series.points for series in found] == [[(4, 9.8)]]


def test_charts_of_runs_share_a_figure_by_name() -> None:
    one, other = of_run([1.0, 2.0]), Chart("other", "Other", [Series("a", [(0, 1.0)])])
    drawn = figures([[one, other], [one]], "classical")

    assert list(drawn) == ["s", "other"]
    assert drawn["s"].texts[-1].get_text() == "classical · 2 runs"


def test_lines_of_agents_that_coincide_can_be_told_apart() -> None:
    few, many = (
        draw(Chart("c", "C", [
            Series(name, [(x, 1.0) for x in range(n)], agents=[agent])
            for agent, name in enumerate("ab", 1)
        ])).axes[0].lines
        for n in (3, 50)
    )  # fmt: skip
    assert few[0].get_xdata()[0] < few[1].get_xdata()[0]
    assert few[0].get_marker() != few[1].get_marker()
    assert many[0].get_linestyle() != many[1].get_linestyle()


def test_an_axis_may_have_names_or_values_instead_of_rounds() -> None:
    bars = [Series("choices", [(0, 0.25), (1, 0.75)], "bars")]
    named = Chart("c", "C", bars, last=1, x="Choice", names=["rock", "paper"])
    (same,) = counted([named], "month", 1, 9)
    sent = same.for_browser()

    assert (sent["x"], sent["first"], sent["last"], sent["rounds"]) == ("Choice", 0, 1, False)
    (ax,) = draw(same).axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["rock", "paper"]


def test_shaded_rounds_are_named_once() -> None:
    spans = [Span(0, 1, "talk"), Span(4, 4, "talk")]
    (ax,) = draw(of_run([1.0] * 6, spans=spans)).axes
    assert [(patch.get_x(), patch.get_width()) for patch in ax.patches] == [(0.5, 2), (4.5, 1)]
    assert next(patch.get_label() for patch in ax.patches) == "talk"
    assert of_run([1.0], spans=spans).for_browser()["spans"][0] == [1, 2, "talk"]


def test_a_small_chart_names_its_lines_if_they_are_few():
    few = [Series(name, [(0, 1.0), (1, 2.0)]) for name in "ab"]
    for series, names in ((few[:1], []), (few, ["a", "b"]), (few * 9, [])):
        figure = thumbnail(Chart("c", "C by round", series))
        assert figure.get_suptitle() == "C by round"
        assert len(figure.axes[0].lines) == len(series)
        assert [text.get_text() for each in figure.legends for text in each.get_texts()] == names
