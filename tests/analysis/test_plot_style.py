"""Plots of little data: legends name what is drawn, and empty axes say why they are."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.lines import Line2D

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.analysis import plot_style as style
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.runs.run import run_all

LITTLE = {"one round": {"n_rounds": 1}, "no answer": {"n_rounds": 2, "minds": "fixed:none"}}


def points_of(artist) -> np.ndarray:
    """The points of what was drawn from data, those that are numbers."""
    if isinstance(artist, Line2D):
        found = np.column_stack([np.asarray(each, float) for each in artist.get_data(orig=False)])
    else:
        found = np.asarray(artist.get_offsets(), float)
    return found[np.isfinite(found).all(axis=1)]


def can_be_seen(artist) -> bool:
    if isinstance(artist, Line2D):
        return len(np.unique(points_of(artist), axis=0)) > (artist.get_marker() in {"", "None"})
    return not isinstance(artist, PathCollection) or len(points_of(artist)) > 0


def says_or_shows(ax) -> bool:
    dots = [each for each in ax.collections if isinstance(each, PathCollection)]
    drawn = any(len(points_of(each)) for each in [*ax.lines, *dots])
    areas = any(not isinstance(each, PathCollection) for each in ax.collections)
    return drawn or areas or bool(ax.texts or ax.patches or ax.images) or not ax.axison


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("little", LITTLE)
def test_legends_of_little_data_name_what_is_drawn(name: str, little: str) -> None:
    for figure in run_all(scenario(name), LITTLE[little], seed=1).figures().values():
        figure.draw_without_rendering()
        for ax in figure.axes:
            assert says_or_shows(ax)
            artists = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
            legend = ax.get_legend()
            if legend is not None:
                named = [text.get_text() for text in legend.get_texts()]
                assert named
                assert all(can_be_seen(artists[each]) for each in named)


def test_a_scenario_without_plots_has_a_chart_of_each_column_with_numbers() -> None:
    class Plain(KeynesianBeautyContest):
        page = ScenarioPage()

    one = run_all(Plain, {"n_players": 3, "n_rounds": 2}, seed=1).figures()
    assert list(one)[:2] == ["mean", "target"]
    assert [len(line.get_xdata()) for line in one["mean"].axes[0].lines] == [2]
    assert not one["mean"].legends

    runs = run_all(Plain, {"n_players": 3, "n_rounds": 2}, runs=5, seed=1)
    figure = runs.figures()["mean"]
    mean = runs.model_frame().groupby("round")["mean"].mean()
    *single, drawn = figure.axes[0].lines
    assert len(single) == 5
    assert list(drawn.get_ydata()) == pytest.approx(mean.tolist())
    (legend,) = figure.legends
    named = [text.get_text() for text in legend.get_texts()]
    assert named == ["single runs", "95 % interval of the mean", "mean of the runs"]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        (
            "baseline · llm:gpt-5-mini@http://127.0.0.1:8000/v1 · 3 runs",
            "baseline · gpt-5-mini · 3 runs",
        ),
        ("2 × llm:a@lab, 1 × llm:b", "2 × a, 1 × b"),
        ("llm:claude@20240620", "claude@20240620"),
        ("llm:openai/gpt-5", "openai/gpt-5"),
        ("Ed (llm:m@https://h:1/v1)", "Ed (m)"),
        ("fixed:7, classical", "fixed:7, classical"),
    ],
)
def test_language_models_have_short_names_in_figures(text: str, short: str) -> None:
    assert style.short_minds(text) == short
