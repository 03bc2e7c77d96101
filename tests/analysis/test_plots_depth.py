"""Steps of reasoning by round."""

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.analysis.plots.depth import LEVELS, UNREADABLE, depth, levels_by_round

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
def test_no_text_overlaps_or_is_cut(n_rounds: int) -> None:
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


def test_wrong_data_are_refused() -> None:
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
@settings(max_examples=30)
def test_the_shares_of_a_round_are_shares(levels: dict[int, list[float]]) -> None:
    found = levels_by_round(frame(levels))

    assert found.index.tolist() == sorted(levels)
    assert found.sum(axis=1).to_numpy() == pytest.approx(1)
    for number, given_levels in levels.items():
        unreadable = sum(map(math.isnan, given_levels)) / len(given_levels)
        assert found.loc[number, UNREADABLE] == pytest.approx(unreadable)
