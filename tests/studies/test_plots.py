"""Conditions side by side: by round, as distributions, by measure, and shares of variance."""

import math

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.studies.plots import (
    NO_RUN,
    by_condition,
    by_parameter,
    by_round,
    distributions,
)

LABELS = {"a": "First", "b": "Second"}


def rounds(values: dict[str, list[list[float]]]) -> pd.DataFrame:
    """Condition → one list a run, one value a round."""
    rows = [
        (condition, run, number, value)
        for condition, runs in values.items()
        for run, course in enumerate(runs)
        for number, value in enumerate(course)
    ]
    return pd.DataFrame(rows, columns=["condition", "run", "round", "price"])


def line(ax: Axes, label: str) -> list[tuple[float, float]]:
    (found,) = [each for each in ax.get_lines() if each.get_label() == label]
    return [(float(x), float(y)) for x, y in zip(*found.get_data(), strict=True)]


def stars(ax: Axes) -> list[tuple[float, float]]:
    found = [each for each in ax.get_lines() if each.get_marker() == "*"]
    return [(float(x), float(y)) for each in found for x, y in zip(*each.get_data(), strict=True)]


def legend(figure: Figure) -> list[str]:
    (found,) = figure.legends
    return [text.get_text() for text in found.get_texts()]


def test_means_by_round_and_condition() -> None:
    data = rounds({"a": [[1, 2], [3, 4]], "b": [[5, 5], [7, 9]]})
    published = pd.DataFrame({"condition": ["b"], "round": [1], "published": [6.0]})
    figure = by_round(
        data, "price", LABELS, title="Prices", label="Price", published=published,
        marks={"theory": 4.5, "zero": 0.0},
    )  # fmt: skip
    (ax,) = figure.axes
    assert line(ax, "First") == [(0, 2), (1, 3)]
    assert line(ax, "Second") == [(0, 6), (1, 7)]
    assert line(ax, "theory") == [(0, 4.5), (1, 4.5)]
    assert line(ax, "zero") == [(0, 0), (1, 0)]
    assert stars(ax) == [(1, 6)]
    assert legend(figure) == [
        "First", "Second", "published, in the colour of its condition", "theory", "zero",
        "95 % interval of the mean",
    ]  # fmt: skip
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Round", "Price")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2"]  # as people count


def test_conditions_with_the_same_course_share_one_line_of_their_colours() -> None:
    course = [[float(n) for n in range(style.FEW + 1)]]
    figure = by_round(rounds({"a": course, "b": course}), "price", LABELS, title="T", label="L")
    assert [each.get_linestyle() for each in figure.axes[0].get_lines()[:2]] == ["--", "--"]
    assert [entry.get_linestyle() for entry in figure.legends[0].legend_handles[:2]] == ["-", "-"]


def test_runs_by_two_parameters() -> None:
    runs = pd.DataFrame(
        [(n, who, n * pick + seed) for n in (6, 24) for who, pick in (("x", 1), ("y", 2))
         for seed in range(5)],
        columns=["n_players", "personas", "mean"],
    )  # fmt: skip
    figure = by_parameter(runs, ["n_players", "personas"], {"mean": "Mean pick"})
    (ax,) = figure.axes
    assert line(ax, "x") == [(6, 8), (24, 26)]
    assert line(ax, "y") == [(6, 14), (24, 50)]
    dots = ax.get_lines()[0].get_xydata()
    assert dots.tolist() == [[n, n + seed] for n in (6, 24) for seed in range(5)]
    assert [bar.get_segments()[0][:, 0].tolist() for bar in ax.collections] == [[6, 6], [6, 6]]
    assert (ax.get_xlabel(), ax.get_title(loc="left")) == ("Number of players", "Mean pick")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["6", "24"]
    assert legend(figure) == ["x", "y"]
    assert figure.get_suptitle() == "Runs by number of players and personas"


def test_runs_by_words_are_side_by_side() -> None:
    runs = pd.DataFrame({"minds": ["b", "a", None], "size": [1, 1, 2], "mean": [1.0, 2.0, 3.0]})
    figure = by_parameter(runs, ["minds", "size", "mean"], {"mean": "M"})
    (ax,) = figure.axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["b", "a", "none"]
    assert line(ax, "1") == [(0, 1), (1, 2)]
    assert line(ax, "2") == [(2, 3)]
    assert "all runs of: Mean" in figure.texts[-1].get_text()


def test_distributions_of_whole_numbers() -> None:
    data = pd.DataFrame({"condition": ["a"] * 4 + ["b"] * 2, "pick": [1, 1, 2, math.nan, 7, 8]})
    figure = distributions(
        data, "pick", LABELS, title="Picks", label="Pick",
        people=("students", [(0, 3, 40.0), (4, 9, 60.0)]), marks={"Nash\n0": 0.0},
    )  # fmt: skip
    first, second, people = figure.axes[:3]
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in first.patches}
    assert heights == {1: pytest.approx(200 / 3), 2: pytest.approx(100 / 3)}
    assert [bar.get_height() for bar in second.patches] == [50, 50]
    assert [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in people.patches] == [
        (-0.5, 4, 10), (3.5, 6, 10),
    ]  # fmt: skip
    assert [ax.get_title(loc="left") for ax in (first, second, people)] == [
        "First (3 values, 1 without a value)", "Second (2 values)", "students",
    ]  # fmt: skip
    assert first.get_xlim() == second.get_xlim() == people.get_xlim()
    assert first.get_ylim() == second.get_ylim() == people.get_ylim()


def measured(values: dict[tuple[str, str], list[float]]) -> pd.DataFrame:
    rows = [
        (measure, condition, value)
        for (measure, condition), runs in values.items()
        for value in runs
    ]
    return pd.DataFrame(rows, columns=["measure", "condition", "value"])


def test_measures_by_condition() -> None:
    values = measured(
        {("m", "a"): [1, 3], ("m", "b"): [5], ("n", "a"): [math.nan], ("n", "b"): [2, 2]}
    )
    published = pd.DataFrame(
        {"measure": ["m", "m", "n"], "condition": ["a", "b", "a"], "published": [2.5, math.nan, 9]}
    )
    figure = by_condition(
        values, LABELS, {"m": "Measure (units)", "n": "Other"}, title="Measures",
        published=published, people={"n": [4.5]},
    )  # fmt: skip
    one, other = figure.axes
    assert [text.get_text() for text in one.get_yticklabels()] == ["First", "Second"]
    assert one.get_ylim() == (1.5, -0.5)  # the first condition is at the top
    dots = [each for each in one.get_lines() if each.get_marker() in {"o", "s"}]
    assert [runs for each in dots if (runs := each.get_xdata().tolist())] == [[1, 3], [5]]
    means = [c.get_segments()[0] for c in one.collections]
    assert means[0][:, 0].tolist() == [2, 2]
    assert [x for x, _ in stars(one)] == [2.5]
    assert [x for x, _ in stars(other)] == [9]
    assert [text.get_text() for text in other.texts] == [NO_RUN]
    assert one.get_title(loc="left") == "Measure (units)"
    assert [4.5, 4.5] in [list(each.get_xdata()) for each in other.get_lines()]
    assert legend(figure)[-2:] == ["published", "people"]


def test_what_rounding_leaves_is_not_spread_over_an_axis() -> None:
    values = measured({("m", "a"): [1e-9, 2e-9], ("n", "a"): [7, 8], ("o", "a"): [math.nan]})
    figure = by_condition(values, {"a": "A"}, {"m": "M", "n": "N", "o": "O"}, title="T")
    style.freeze_layout(figure)
    spread, normal, empty = (ax.get_xlim() for ax in figure.axes[:3])
    assert spread == pytest.approx((-0.05, 0.95))  # 0 may be a share: none is below it
    assert 6.5 < normal[0] < 7 < 8 < normal[1] < 8.5
    assert figure.axes[2].get_xticks().size == 0
    assert empty[0] < empty[1]


def test_missing_columns_are_named() -> None:
    empty = pd.DataFrame({"condition": []})
    with pytest.raises(ValueError, match="run, round, price"):
        by_round(empty, "price", LABELS, title="T", label="L")
    with pytest.raises(ValueError, match="measure, value"):
        by_condition(empty, LABELS, {"m": "M"}, title="T")
    with pytest.raises(ValueError, match="pick"):
        distributions(empty, "pick", LABELS, title="T", label="L")


def test_the_same_figure_gives_the_same_svg() -> None:
    data = rounds({"a": [[1, 2], [3, 4]]})
    texts = []
    for _ in range(2):
        figure = by_round(data, "price", {"a": "A"}, title="T", label="L", subtitle="s")
        style.freeze_layout(figure)
        texts.append(style.to_bytes(figure, "svg"))
    assert texts[0] == texts[1]
    assert figure.get_figwidth() == style.WIDTH
