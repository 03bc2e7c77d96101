"""Plots of the Keynesian beauty contest."""

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.axis import Axis
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.text import Text

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import mean_by_round
from sabm_mesa.models.beauty_contest.guessing import nagel_level
from sabm_mesa.models.beauty_contest.kbc.plots import (
    UNREADABLE,
    figures,
    levels_by_round,
    picks_histogram,
    predicted,
    variance_by_round,
)
from tests.models.support import labelled


def played(picks: dict[tuple[int, int], list[float]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Model and agent data of picks by (run, round)."""
    model, agents = [], []
    for (run, number), choices in picks.items():
        valid = [c for c in choices if not math.isnan(c)]
        mean = float(np.mean(valid)) if valid else math.nan
        variance = float(np.var(valid)) if valid else math.nan
        model.append((run, number, mean, 2 / 3 * mean, variance))
        levels = [math.nan if math.isnan(c) else nagel_level(c) for c in choices]
        agents += [
            (run, number, i, c, k) for i, (c, k) in enumerate(zip(choices, levels, strict=True), 1)
        ]
    return (
        pd.DataFrame(model, columns=["run", "round", "mean", "target", "variance"]),
        pd.DataFrame(agents, columns=["run", "round", "agent", "choice", "level"]),
    )


def random_runs(n_runs: int, n_rounds: int = 4, n_players: int = 24):
    rng = np.random.default_rng(7)
    return played(
        {
            (i, k): rng.integers(0, 101 // (k + 1), n_players).astype(float).tolist()
            for i in range(n_runs)
            for k in range(n_rounds)
        }
    )


def bar_heights(ax) -> dict[int, int]:
    """Heights of the bars by the whole number in their middle."""
    return {round(b.get_x() + b.get_width() / 2, 6): b.get_height() for b in ax.patches}


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


def subtitle(figure) -> str:
    titles = (figure.get_suptitle(), figure.get_supylabel())
    return "|".join(t.get_text() for t in figure.texts if t.get_text() not in titles)


def overlap(boxes) -> bool:
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


def test_variance_draws_mean_band_and_single_runs() -> None:
    model, _ = random_runs(15)
    (ax,) = variance_by_round(model, "classical, baseline").axes
    expected = mean_by_round(model, "variance")

    mean = labelled(ax, "mean of the runs")
    assert mean.get_xdata().tolist() == [0, 1, 2, 3]
    assert mean.get_ydata() == pytest.approx(expected["mean"].to_numpy())
    (band,) = [c for c in ax.collections if isinstance(c, FillBetweenPolyCollection)]
    corners = band.get_paths()[0].vertices
    for k, low, high in expected[["round", "low", "high"]].itertuples(index=False):
        drawn = corners[corners[:, 0] == k, 1]
        assert (drawn.min(), drawn.max()) == pytest.approx((low, high))
    singles = [line for line in ax.lines if line is not mean]
    drawn = sorted(tuple(line.get_ydata()) for line in singles)
    assert drawn == sorted(tuple(run["variance"]) for _, run in model.groupby("run"))


def test_the_histogram_counts_every_pick_of_its_round() -> None:
    nan = math.nan
    model, agents = played(
        {
            (0, 0): [0, 33, 33, 100],
            (1, 0): [33, 50, nan, 0],
            (0, 1): [0, 0, 0, 0],
            (1, 1): [0, 0, 0, 1],
        }
    )
    figure = picks_histogram(model, agents, "baseline")
    first, second = figure.axes

    assert bar_heights(first) == {0: 2, 33: 3, 50: 1, 100: 1}
    assert bar_heights(second) == {0: 7, 1: 1}
    # Targets: 2/3 * 41.5 and 2/3 * 83 / 3, so 23.06 on average.
    assert first.get_title(loc="left") == "Round 1 · mean target 23.1 (arrow) · 1 of 8 abstained"
    assert second.get_title(loc="left") == "Round 2 · mean target 0.1 (arrow)"
    assert figure.get_suptitle() == "Picks by round"
    assert subtitle(figure) == "baseline · 2 runs"
    assert second.get_xlabel() == "Pick"
    assert figure.get_supylabel() == "Number of picks"


def test_the_hierarchy_is_drawn_above_the_first_picks_alone() -> None:
    first, second = picks_histogram(*random_runs(2, n_rounds=2)).axes
    (circles,) = first.collections

    # Steps 1 to 5 of Camerer, Ho and Chong at tau 1.5; the sixth is taken by 0.4 %.
    assert circles.get_offsets()[:, 0][:4].tolist() == pytest.approx(
        [33.33, 26.67, 23.91, 22.84], abs=0.01
    )
    shares = circles.get_sizes() / circles.get_sizes()[0] * 0.3347
    assert shares == pytest.approx([0.335, 0.251, 0.126, 0.047, 0.014], abs=0.001)
    assert not second.collections
    top = max(bar.get_y() + bar.get_height() for bar in first.patches)
    assert top < 0.75 * first.get_ylim()[1]
    later = picks_histogram(*played({(0, 3): [1, 2, 3]})).axes[0]
    assert not later.collections


def test_the_predicted_shares_have_the_mean_of_the_hierarchy() -> None:
    picks, shares = predicted(0, 100, 2 / 3)

    # Camerer, Ho and Chong: 33.50 at tau 1.5.
    assert shares @ picks + (1 - shares.sum()) * 50 == pytest.approx(33.5, abs=0.2)
    with pytest.raises(ValueError, match="positive"):
        predicted(0, 100, 0)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("n_runs", "n_rounds"), [(1, 1), (1, 4), (15, 4), (3, 6), (3, 15)])
def test_no_text_overlaps_or_is_cut(n_runs: int, n_rounds: int) -> None:
    model, agents = random_runs(n_runs, n_rounds)
    words = (
        "llm:a-model-with-a-long-name@http://127.0.0.1:8000/v1 × 12, fixed:0 × 12, uncooperative"
    )
    for figure in figures(model, agents, words).values():
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in drawn_texts(figure)]
        assert len(boxes) >= 10
        assert not overlap(boxes)
        page = figure.bbox
        assert all(box.x0 >= 0 and box.y0 >= 0 for box in boxes)
        assert all(box.x1 <= page.width and box.y1 <= page.height for box in boxes)


def test_a_subtitle_without_end_is_cut() -> None:
    endless = style.new_figure("T", "x" * 1_000_000, height=3)

    assert subtitle(endless).count("\n") == style.MOST_LINES - 1
    assert subtitle(endless).endswith("…")


NAN = math.nan


def frame(levels_by_round: dict[int, list[float]]) -> pd.DataFrame:
    rows = [
        (0, number, i, level)
        for number, levels in levels_by_round.items()
        for i, level in enumerate(levels)
    ]
    return pd.DataFrame(rows, columns=["run", "round", "agent", "level"])


def bars(ax) -> dict[tuple[float, float], float]:
    """Height of the visible bars by round and lower end."""
    shown = [bar for bar in ax.patches if bar.get_visible()]
    return {
        (round(bar.get_x() + bar.get_width() / 2, 6), round(bar.get_y(), 6)): bar.get_height()
        for bar in shown
    }


def test_shares_by_hand() -> None:
    found = levels_by_round(frame({1: [4, 4, 2, NAN], 0: [-1, 0, 1, 1]}))

    assert found.index.tolist() == [0, 1]
    assert found.columns.tolist() == [4, 3, 2, 1, 0, -1, UNREADABLE]
    assert found.loc[0].tolist() == [0, 0, 0, 0.5, 0.25, 0.25, 0]
    assert found.loc[1].tolist() == [0.5, 0, 0.25, 0, 0, 0, 0.25]


def test_data_that_cannot_be_drawn_are_refused() -> None:
    model, agents = random_runs(1)

    with pytest.raises(ValueError, match="outside 0 to 50"):
        picks_histogram(model, agents, high=50)
    with pytest.raises(ValueError, match="need low < high"):
        picks_histogram(model, agents, low=100)
    with pytest.raises(ValueError, match="no level 5"):
        levels_by_round(frame({0: [5]}))
