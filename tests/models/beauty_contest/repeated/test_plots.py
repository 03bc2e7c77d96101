"""Plots of the repeated beauty contest."""

import numpy as np
import pandas as pd
import pytest

from sabm_mesa import RepeatedBeautyContest
from sabm_mesa.models.beauty_contest.repeated import plots
from sabm_mesa.runs.run import Runs, run_all
from tests.models.support import labelled

MIXED = {"classical:level_k": 4, "classical:learning_direction": 3, "fixed:0": 3}


def runs(n: int = 2, **parameters) -> Runs:
    return run_all(RepeatedBeautyContest, parameters, runs=n, seed=1)


def frames(found: Runs) -> tuple[pd.DataFrame, pd.DataFrame]:
    return found.model_frame(), found.agent_frame()


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({}, {"picks", "first_picks", "levels", "convergence"}),
        ({"minds": MIXED}, {"picks", "first_picks", "levels", "convergence", "payoffs"}),
        ({"n_rounds": 1, "high": [50, 200]}, {"picks", "first_picks", "levels"}),
        ({"p": "4/3"}, {"picks", "levels", "convergence"}),
        ({"p": 1}, {"picks", "convergence"}),
        ({"minds": "fixed:0"}, {"picks", "first_picks", "convergence"}),
        ({"minds": "fixed:x"}, {"picks", "first_picks", "convergence"}),
        ({"n_rounds": 30, "minds": MIXED, "integer": True}, {
            "picks", "first_picks", "levels", "convergence", "payoffs",
        }),
        ({"n_players": 7, "minds": {f"classical:level_{k}": 2 if k == 0 else 1 for k in range(4)}
          | {"classical": 1, "classical:best_reply": 1}, "n_rounds": 2},
         {"picks", "first_picks", "levels", "convergence", "payoffs"}),
    ],
)  # fmt: skip
def test_the_plots_of_a_run_are_drawn(parameters, names) -> None:
    found = runs(**parameters).figures()

    assert set(found) == names
    for figure in found.values():
        figure.draw_without_rendering()
        assert "2 runs" in " ".join(text.get_text() for text in figure.texts)


def test_all_picks_are_drawn_with_their_mean_and_target() -> None:
    model, agents = frames(runs(minds=MIXED))
    (ax,) = plots.figures(model, agents)["picks"].axes
    by_round = model.groupby("round")[["mean", "target"]].mean()

    assert len(ax.collections) == 3
    for points, (mind, data) in zip(
        ax.collections, agents.groupby("mind", sort=False), strict=True
    ):
        x, y = np.array(points.get_offsets()).T
        assert points.get_label() == mind
        assert sorted(y) == sorted(data["choice"].astype(float))
        assert list(np.round(x).astype(int)) == list(data["round"])
    for name in ("mean", "target"):
        assert list(labelled(ax, name).get_ydata()) == list(by_round[name])
    assert not [line for line in ax.lines if "Nagel" in str(line.get_label())]


def test_the_path_of_people_stands_beside_it_where_the_same_game_was_played() -> None:
    def people(**parameters):
        (ax,) = plots.figures(*frames(runs(1, **parameters)))["picks"].axes
        return [line for line in ax.lines if "Nagel" in str(line.get_label())]

    (line,) = people(n_rounds=6)
    assert list(np.round(line.get_ydata(), 1)) == [36.7, 23.9, 15.9, 9.2]
    (half,) = people(p=0.5, high=50)
    assert half.get_ydata()[0] == pytest.approx(27.03 / 2, abs=0.01)
    assert not people(p=0.7)


def test_what_is_expected_of_naive_players_among_zeros() -> None:
    minds = {"classical:level_1": 5, "fixed:0": 5}
    (ax,) = plots.figures(*frames(runs(1, minds=minds)))["convergence"].axes

    assert labelled(ax, "expected against fixed players: 0.333").get_ydata()[0] == pytest.approx(
        1 / 3
    )
    assert list(labelled(ax, "classical:level_1").get_ydata()) == pytest.approx([1 / 3] * 4)
    (ax,) = plots.figures(*frames(runs(1, minds=minds | {"fixed:0": 4, "fixed:7": 1})))[
        "convergence"
    ].axes
    assert not [line for line in ax.lines if "expected" in str(line.get_label())]
