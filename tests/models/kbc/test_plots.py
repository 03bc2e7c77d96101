"""Plots of the Keynesian beauty contest."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import rcParams
from matplotlib.axis import Axis
from matplotlib.collections import FillBetweenPolyCollection, LineCollection
from matplotlib.text import Text

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.guessing import cognitive_hierarchy_mean, nagel_level
from sabm_mesa.analysis.intervals import mean_by_round
from sabm_mesa.models.kbc.plots import (
    LEVELS,
    UNREADABLE,
    depth,
    figures,
    levels_by_round,
    picks_histogram,
    predicted,
    variance_by_round,
)


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


def line_labelled(ax, label: str):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line


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

    mean = line_labelled(ax, "mean of the runs")
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


def test_variance_says_what_it_shows() -> None:
    figure = variance_by_round(random_runs(15)[0], "classical, baseline")
    (ax,) = figure.axes

    assert figure.get_suptitle() == "Variance of picks by round"
    assert subtitle(figure) == "classical, baseline · 15 runs"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Round", "Variance (picks squared)")
    assert ax.get_xticks().tolist() == [0, 1, 2, 3]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3", "4"]
    assert ax.get_ylim()[0] == 0
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["single runs", "95 % interval of the mean", "mean of the runs"]


def test_one_run_has_a_line_and_no_band() -> None:
    figure = variance_by_round(random_runs(1)[0])
    (ax,) = figure.axes

    assert len(ax.lines) == 1
    assert not ax.collections
    assert ax.get_legend() is None
    assert subtitle(figure) == "1 run"


def test_one_round_has_a_bar_for_the_band() -> None:
    model, _ = random_runs(6, n_rounds=1)
    (ax,) = variance_by_round(model).axes
    expected = mean_by_round(model, "variance").loc[0]

    (bar,) = ax.collections
    assert isinstance(bar, LineCollection)
    assert bar.get_segments()[0].tolist() == [[0, expected["low"]], [0, expected["high"]]]


def test_fifty_rounds_have_few_whole_ticks() -> None:
    figure = variance_by_round(random_runs(3, n_rounds=50)[0])
    (ax,) = figure.axes
    figure.draw_without_rendering()
    ticks = ax.get_xticks()

    assert len(ticks) <= 12
    assert np.all(ticks == ticks.round())


def test_a_round_without_picks_leaves_a_gap() -> None:
    nan = math.nan
    model, agents = played({(0, 0): [10, 20], (0, 1): [nan, nan], (0, 2): [5, 7]})
    (ax,) = variance_by_round(model).axes
    drawn = line_labelled(ax, "the run").get_ydata()

    assert drawn[[0, 2]].tolist() == [25, 1]
    assert math.isnan(drawn[1])
    titles = [ax.get_title(loc="left") for ax in picks_histogram(model, agents).axes]
    assert titles[1] == "Round 2 · no valid pick · 2 of 2 abstained"


def test_runs_that_share_no_round_have_no_band() -> None:
    nan = math.nan
    picks = {(0, 0): [1, 3], (0, 1): [nan, nan], (1, 0): [nan, nan], (1, 1): [2, 6]}
    (ax,) = variance_by_round(played(picks)[0]).axes

    assert not ax.collections
    assert line_labelled(ax, "mean of the runs").get_ydata().tolist() == [1, 4]


def test_a_variance_of_zero_everywhere_is_drawn() -> None:
    model, _ = played({(i, k): [4.0, 4.0] for i in range(3) for k in range(3)})
    (ax,) = variance_by_round(model).axes

    assert line_labelled(ax, "mean of the runs").get_ydata().tolist() == [0, 0, 0]
    assert ax.get_ylim() == (0, 1)


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


def test_the_histogram_marks_target_equilibrium_and_levels() -> None:
    model, agents = random_runs(2)
    figure = picks_histogram(model, agents)
    targets = model.groupby("round")["target"].mean()

    for number, ax in enumerate(figure.axes):
        places = [line.get_xdata()[0] for line in ax.lines]
        assert places == pytest.approx([targets[number], 0, 50, 33.333, 22.222, 14.815], abs=1e-3)
    (marks,) = figure.axes[0].child_axes
    names = {label.get_text(): label.get_position()[0] for label in marks.get_xticklabels()}
    assert list(names) == [
        "Nash\n0",
        "k=0\n50",
        "k=1\n33.3",
        "k=2\n22.2",
        "k=3\n14.8",
    ]
    assert not any(ax.child_axes for ax in figure.axes[1:])
    figure.draw_without_rendering()
    boxes = sorted((t.get_window_extent() for t in marks.get_xticklabels()), key=lambda b: b.x0)
    gaps = [right.x0 - left.x1 for left, right in pairwise(boxes)]
    assert min(gaps) > 0.1 * figure.dpi
    assert [note.get_text() for note in figure.axes[0].texts] == [
        "circles: cognitive hierarchy, τ = 1.5",
        "dotted: Nash equilibrium\nand picks of level k",
    ]


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

    assert shares @ picks + (1 - shares.sum()) * 50 == pytest.approx(
        cognitive_hierarchy_mean(1.5), abs=0.2
    )
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


def test_many_rounds_show_the_first_and_the_last() -> None:
    figure = picks_histogram(*random_runs(1, n_rounds=50))

    titles = [ax.get_title(loc="left").split(" ·")[0] for ax in figure.axes]
    assert titles == ["Round 1", "Round 50"]
    assert subtitle(figure) == "1 run · rounds 1 and 50 of 50"


def test_other_ranges_and_bins() -> None:
    model, agents = played({(0, 0): [10, 11, 12, 20]})
    (ax,) = picks_histogram(model, agents, low=10, high=20, bin_width=2).axes

    heights = [(b.get_x(), b.get_width(), b.get_height()) for b in ax.patches]
    assert heights == [(9.5, 2, 2), (11.5, 2, 1), (19.5, 2, 1)]
    assert ax.lines[1].get_xdata()[0] == 10
    assert ax.lines[2].get_xdata()[0] == 15


def test_all_figures_of_the_scenario_have_names() -> None:
    found = figures(*random_runs(2), "baseline")

    assert list(found) == ["variance", "picks", "depth"]
    assert subtitle(found["picks"]) == subtitle(found["depth"]) == "baseline · 2 runs"


def test_drawing_leaves_no_trace_in_matplotlib_or_the_data() -> None:
    before = dict(rcParams)
    model, agents = random_runs(2)
    copies = model.copy(), agents.copy()
    for figure in figures(model, agents).values():
        figure.draw_without_rendering()

    assert dict(rcParams) == before
    pd.testing.assert_frame_equal(model, copies[0])
    pd.testing.assert_frame_equal(agents, copies[1])


def test_wrong_data_are_refused() -> None:
    model, agents = random_runs(1)

    with pytest.raises(ValueError, match="no column variance"):
        variance_by_round(model.drop(columns="variance"))
    with pytest.raises(ValueError, match="no rows"):
        variance_by_round(model.head(0))
    with pytest.raises(ValueError, match="no column choice"):
        picks_histogram(model, agents.drop(columns="choice"))
    with pytest.raises(ValueError, match="outside 0 to 50"):
        picks_histogram(model, agents, high=50)
    for wrong in ({"bin_width": 0}, {"low": 100}, {"p": 1.0}):
        with pytest.raises(ValueError, match="need low < high"):
            picks_histogram(model, agents, **wrong)


def test_a_long_subtitle_makes_room_for_itself() -> None:
    short = style.new_figure("T", "one line", height=3)
    long = style.new_figure("T", "many words " * 30, height=3)

    assert subtitle(long).count("\n") >= 2
    assert long.get_figheight() > short.get_figheight()
    assert subtitle(style.new_figure("T", height=3)) == ""


def test_a_subtitle_without_end_is_cut() -> None:
    endless = style.new_figure("T", "x" * 1_000_000, height=3)

    assert subtitle(endless).count("\n") == style.MOST_LINES - 1
    assert subtitle(endless).endswith("…")


ABOVE = "above the\nreference"
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


def test_the_shares_are_stacked() -> None:
    (ax,) = depth(frame({0: [-1, 0, 1, 1], 1: [4, 4, 2, NAN]})).axes

    assert bars(ax) == {
        (0, 0): 0.5, (0, 0.5): 0.25, (0, 0.75): 0.25,
        (1, 0): 0.5, (1, 0.5): 0.25, (1, 0.75): 0.25,
    }  # fmt: skip
    hatched = [bar for bar in ax.patches if bar.get_visible() and bar.get_hatch()]
    assert [bar.get_y() for bar in hatched] == [0.75]
    assert sorted(text.get_text() for text in ax.texts) == ["25 %"] * 3 + ["50 %"] * 2
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Round", "Share of the answers")


def test_the_legend_names_the_classes_that_there_are() -> None:
    cases = (([0, 1], ["step 0", "step 1"]), ([0, NAN, -1], [UNREADABLE, ABOVE, "step 0"]))
    for levels, expected in cases:
        (legend,) = depth(frame({0: levels})).legends
        assert [text.get_text() for text in legend.get_texts()] == expected


def test_the_levels_of_a_model_are_drawn() -> None:
    models = [KeynesianBeautyContest(n_players=5, rng=i, minds="fixed:33") for i in range(2)]
    for model in models:
        model.run_model()
    figure = depth(pd.concat([m.agent_frame(i) for i, m in enumerate(models)]), "fixed")

    assert bars(figure.axes[0]) == {(k, 0): 1 for k in range(4)}
    assert "fixed · 2 runs" in [text.get_text() for text in figure.texts]


@pytest.mark.parametrize("n_rounds", [1, 6, 12, 40])
def test_no_text_of_the_depth_overlaps_or_is_cut(n_rounds: int) -> None:
    figure = depth(
        frame({k: [*LEVELS, NAN] * 3 for k in range(n_rounds)}),
        "llm:a-model@http://127.0.0.1:1/v1, " * 5,
    )
    figure.draw_without_rendering()
    (ax,) = figure.axes
    (legend,) = figure.legends

    boxes = [t.get_window_extent() for t in [*ax.texts, *legend.get_texts()]]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    shown = [t.get_window_extent() for t in figure.findobj(Text) if t.get_text()]
    assert all(box.y0 >= 0 and box.x1 <= figure.bbox.width for box in shown)
    assert len(ax.get_xticks()) <= 12


def test_missing_levels_of_any_kind_are_unreadable() -> None:
    data = frame({0: [1, NAN]})

    for missing in (None, pd.NA):
        levels = pd.Series([1, missing], dtype=object)
        assert levels_by_round(data.assign(level=levels)).loc[0, UNREADABLE] == 0.5


def test_wrong_levels_are_refused() -> None:
    with pytest.raises(ValueError, match="no column level"):
        depth(frame({0: [1]}).drop(columns="level"))
    with pytest.raises(ValueError, match="no rows"):
        depth(frame({}))
    with pytest.raises(ValueError, match="no level 5"):
        levels_by_round(frame({0: [5]}))


@given(
    st.dictionaries(
        st.integers(0, 5),
        st.lists(st.sampled_from([*map(float, LEVELS), NAN]), min_size=1, max_size=8),
        min_size=1,
    )
)
def test_the_shares_of_a_round_are_shares(levels: dict[int, list[float]]) -> None:
    found = levels_by_round(frame(levels))

    assert found.index.tolist() == sorted(levels)
    assert found.sum(axis=1).to_numpy() == pytest.approx(1)
    for number, given_levels in levels.items():
        unreadable = sum(map(math.isnan, given_levels)) / len(given_levels)
        assert found.loc[number, UNREADABLE] == pytest.approx(unreadable)
