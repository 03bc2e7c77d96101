"""The charts of the Keynesian beauty contest."""

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.axis import Axis
from matplotlib.text import Text

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import figures
from sabm_mesa.models.beauty_contest.charts import UNREADABLE
from sabm_mesa.models.beauty_contest.guessing import nagel_level
from sabm_mesa.models.beauty_contest.kbc.charts import charts, predicted
from tests.models.support import charts_of, series_of, values_of

MODEL = KeynesianBeautyContest(rng=1)
NAN = math.nan


def played(picks: list[list[float]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Model and agent data of the picks of a run by round."""
    model, agents = [], []
    for number, choices in enumerate(picks):
        mean = float(np.nanmean(choices))
        model.append((number, mean, 2 / 3 * mean, float(np.nanvar(choices))))
        levels = [NAN if math.isnan(c) else nagel_level(c) for c in choices]
        agents += [
            (number, i, c, k, "m") for i, (c, k) in enumerate(zip(choices, levels, strict=True), 1)
        ]
    return (
        pd.DataFrame(model, columns=["round", "mean", "target", "variance"]),
        pd.DataFrame(agents, columns=["round", "agent", "choice", "level", "mind"]),
    )


def random_runs(n_runs: int, n_rounds: int = 4, n_players: int = 24):
    rng = np.random.default_rng(7)
    return [
        played(
            [
                rng.integers(0, 101 // (k + 1), n_players).astype(float).tolist()
                for k in range(n_rounds)
            ]
        )
        for _ in range(n_runs)
    ]


def drawn_texts(figure) -> list[Text]:
    """Every text on the page; ticks beyond the limits of their axis are not drawn."""
    beyond = set()
    for axis in figure.findobj(Axis):
        low, high = axis.get_view_interval()
        ticks = axis.get_major_ticks()
        beyond |= {tick.label1 for tick in ticks if not low <= tick.get_loc() <= high}
        beyond |= {tick.label2 for tick in ticks if not low <= tick.get_loc() <= high}
    texts = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    return [text for text in texts if text not in beyond]


def overlap(boxes) -> bool:
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


def test_the_histogram_counts_every_first_pick() -> None:
    first = charts_of(MODEL, *played([[0, 33, 33, 100, NAN], [0, 0, 0, 1, 0]]))["first_picks"]

    assert series_of(first)["m"].points == [(0, 25), (33, 50), (100, 25)]
    assert (first.x, first.last) == ("Pick", 100)
    marks = [pick for pick, _ in series_of(first)["levels 0 to 3: 50, 33.3, 22.2, 14.8"].points]
    assert marks == pytest.approx([14.81, 22.22, 33.33, 50], abs=0.01)


def test_the_hierarchy_is_drawn_among_the_first_picks() -> None:
    drawn = charts_of(MODEL, *played([[33], [22]]))
    (found,) = [label for label in series_of(drawn["first_picks"]) if "hierarchy" in label]

    # Steps 1 to 5 of Camerer, Ho and Chong at tau 1.5; the sixth is taken by 0.4 %.
    points = sorted(series_of(drawn["first_picks"])[found].points, reverse=True)
    assert [pick for pick, _ in points[:4]] == pytest.approx([33.33, 26.67, 23.91, 22.84], abs=0.01)
    assert [share for _, share in points] == pytest.approx([33.5, 25.1, 12.6, 4.7, 1.4], abs=0.1)


def test_the_predicted_shares_have_the_mean_of_the_hierarchy() -> None:
    picks, shares = np.array(predicted().points).T

    # Camerer, Ho and Chong: 33.50 at tau 1.5.
    assert (shares @ picks + (100 - shares.sum()) * 50) / 100 == pytest.approx(33.5, abs=0.2)


def test_depths_by_hand() -> None:
    model, agents = played([[50, 50, 50, 50], [50, 50, 50, 50]])
    agents["level"] = [-1, 0, 1, 1, 4, 4, 2, NAN]
    depth = charts_of(MODEL, model, agents)["depth"]

    found = {label: values_of(depth, label) for label in series_of(depth)}
    assert found == {
        "deeper": [0, 50], "step 3": [0, 0], "step 2": [0, 25], "step 1": [50, 0],
        "step 0": [25, 0],
        "other side of the reference": [25, 0], UNREADABLE: [0, 25],
    }  # fmt: skip


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("n_runs", "n_rounds"), [(1, 1), (1, 4), (15, 4), (3, 6), (3, 15)])
def test_no_text_overlaps_or_is_cut(n_runs: int, n_rounds: int) -> None:
    words = (
        "llm:a-model-with-a-long-name@http://127.0.0.1:8000/v1 × 12, fixed:0 × 12, uncooperative"
    )
    runs = [charts(MODEL, *run) for run in random_runs(n_runs, n_rounds)]
    for figure in figures(runs, words).values():
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in drawn_texts(figure)]
        assert len(boxes) >= 8
        assert not overlap(boxes)
        page = figure.bbox
        assert all(box.x0 >= 0 and box.y0 >= 0 for box in boxes)
        assert all(box.x1 <= page.width and box.y1 <= page.height for box in boxes)


def test_a_subtitle_without_end_is_cut() -> None:
    figure = style.new_figure("T", "x" * 1_000_000, height=3)
    (endless,) = [text.get_text() for text in figure.texts if "x" in text.get_text()]

    assert endless.count("\n") == style.MOST_LINES - 1
    assert endless.endswith("…")
