"""The charts of the repeated beauty contest."""

import pytest

from sabm_mesa import RepeatedBeautyContest
from sabm_mesa.runs.run import run_all
from tests.models.support import charts_of, series_of, values_of

MIXED = {"classical:level_k": 4, "classical:learning_direction": 3, "fixed:0": 3}
ALWAYS = {"picks", "convergence", "payoffs"}


def played(**parameters) -> RepeatedBeautyContest:
    return run_all(RepeatedBeautyContest, parameters, seed=1).models[0]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({}, {"first_picks", "depth"}),
        ({"minds": MIXED}, {"first_picks", "depth", "depth_2"}),
        ({"n_rounds": 1, "high": [50, 200]}, {"first_picks", "depth"}),
        ({"p": "4/3"}, {"depth"}),
        ({"p": 1}, set()),
        ({"minds": "fixed:0"}, {"first_picks", "depth"}),
        ({"minds": "fixed:none"}, {"first_picks", "depth"}),
        ({"n_players": 7, "minds": {f"classical:level_{k}": 2 if k == 0 else 1 for k in range(4)}
          | {"classical": 1, "classical:best_reply": 1}, "n_rounds": 2},
         {"first_picks", "depth", *(f"depth_{i}" for i in range(2, 7))}),
    ],
)  # fmt: skip
def test_the_charts_of_runs_are_drawn(parameters, names) -> None:
    found = run_all(RepeatedBeautyContest, parameters, runs=2, seed=1).figures()

    assert set(found) == ALWAYS | names
    for figure in found.values():
        figure.draw_without_rendering()
        assert "2 runs" in " ".join(text.get_text() for text in figure.texts)


def test_all_picks_are_drawn_with_their_mean_and_target() -> None:
    model = played(minds=MIXED)
    picks, data, agents = charts_of(model)["picks"], model.model_frame(), model.agent_frame()

    for mind, rows in agents.groupby("mind", sort=False):
        assert values_of(picks, mind) == rows["choice"].astype(float).tolist()
        assert [round(x) for x, _ in series_of(picks)[mind].points] == rows["round"].tolist()
    for name in ("mean", "target"):
        assert values_of(picks, name) == data[name].tolist()
    assert not any("Nagel" in label for label in series_of(picks))


def test_the_path_of_people_stands_beside_it_where_the_same_game_was_played() -> None:
    def people(**parameters):
        picks = charts_of(played(**parameters))["picks"]
        return values_of(picks, "people (Nagel 1995)") if len(picks.series) == 4 else []

    assert [round(mean, 1) for mean in people(n_rounds=6)] == [36.7, 23.9, 15.9, 9.2]
    assert people(p=0.5, high=50)[0] == pytest.approx(27.03 / 2, abs=0.01)
    assert not people(p=0.7)


def test_what_is_expected_of_naive_players_among_zeros() -> None:
    minds = {"classical:level_1": 5, "fixed:0": 5}
    convergence = charts_of(played(minds=minds))["convergence"]

    _, expected = convergence.levels
    assert (expected.label, expected.at) == (
        "expected against fixed players: 0.333", pytest.approx(1 / 3),
    )  # fmt: skip
    assert values_of(convergence, "classical:level_1")[1:] == pytest.approx([1 / 3] * 4)
    others = charts_of(played(minds=minds | {"fixed:0": 4, "fixed:7": 1}))["convergence"]
    assert len(others.levels) == 1
