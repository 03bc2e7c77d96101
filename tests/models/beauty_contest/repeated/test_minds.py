"""The classical minds of the repeated beauty contest."""

from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from sabm_mesa import (
    ScriptedMind,
)
from sabm_mesa.models.beauty_contest.repeated.minds import (
    LearningDirection,
)
from sabm_mesa.models.beauty_contest.repeated.theory import direction_share
from tests.models.beauty_contest.repeated.support import played
from tests.models.beauty_contest.support import by_round
from tests.models.support import frames


# The classical minds.
@pytest.fixture(scope="module")
def sessions():
    """A classical mind → the model data and the agent data of sixty sessions of 17 players."""

    @cache
    def of(mind):
        runs = [played(n_players=17, minds=mind, rng=seed) for seed in range(60)]
        return [frames(model) for model in runs]

    return of


def mean_path(of_mind):
    """Mean pick by round, over the sessions."""
    return np.mean([model_data["mean"] for model_data, _ in of_mind], axis=0)


@pytest.mark.slow
def test_drawn_subjects_fall_as_those_of_nagel_did(sessions) -> None:
    """Means of sessions 4 to 7: 36.7, 23.9, 15.9, 9.2."""
    found = mean_path(sessions("classical:empirical_step"))

    assert found == pytest.approx([36.7, 23.9, 15.9, 9.2], abs=2.5)


def test_a_hierarchy_starts_at_its_mean() -> None:
    """33.50 with 1.5 steps; the noise adds half a per cent."""
    model = played(n_players=1000, n_rounds=1, minds="classical")

    assert model.mean == pytest.approx(33.6, abs=1.0)


def test_drawn_subjects_have_the_shares_of_the_tables(sessions) -> None:
    """Nagel 1995, figure 2B and table 2B."""
    data = pd.concat([agent_data for _, agent_data in sessions("classical:empirical_step")])
    first = data.loc[data["round"] == 0, "choice"]
    share = {
        edges: first.between(*edges).mean()
        for edges in [(0, 12.99), (13, 16), (20, 25), (30, 37), (45, 50), (51, 100)]
    }
    assert list(share.values()) == pytest.approx(
        [0.075, 0.015, 0.239, 0.269, 0.075, 0.194], abs=0.05
    )
    table = {
        1: [13.4, 14.9, 20.9, 31.3, 11.9, 7.5],
        2: [10.5, 7.5, 16.4, 46.2, 17.9, 1.5],
        3: [6.0, 3.0, 10.4, 47.8, 25.3, 7.5],
    }
    for number, row in table.items():
        levels = data.loc[data["round"] == number, "level"].astype(int)
        shares = levels.value_counts(normalize=True).reindex(range(-1, 5), fill_value=0)
        assert 100 * shares.to_numpy() == pytest.approx(row, abs=5.5)


@pytest.mark.slow
def test_learners_mostly_go_in_the_better_direction(sessions) -> None:
    """73 % of the changes: the part that is judged leaves winners and clipped picks out."""
    of_mind = sessions("classical:learning_direction")
    shares = [
        direction_share(agents["choice"].to_numpy(dtype=float).reshape(-1, 17), data["mean"])
        for data, agents in of_mind
    ]

    assert np.mean(shares) == pytest.approx(0.73, abs=0.03)
    assert all(later < earlier for earlier, later in pairwise(mean_path(of_mind)))


def test_a_learner_moves_half_of_the_way_to_what_was_optimal() -> None:
    """The factor was x/50, optimal was 20/50; the next pick is the new one of 30."""
    model = played(
        minds=[LearningDirection("a"), ScriptedMind(lambda _: "30", "b"), "fixed:30"], n_rounds=2
    )
    (first, *_), (second, *_) = by_round(model, "choice")
    mean = (first + 60) / 3
    gap = (2 / 3 * mean - first) / 50
    ways = [mean * (first / 50 + way * gap) for way in (0.5, -0.5)]

    assert min(abs(second - way) for way in ways) < 1e-9


def test_players_of_a_level_scatter_around_it() -> None:
    """Log standard deviation ln(3/2)/4; all levels are drawn from a Poisson distribution."""
    model = played(n_players=1500, n_rounds=1, minds="classical:level_k")
    depth = model.agent_frame()["depth"]
    of_level = [(depth.round() == k).mean() for k in range(4)]

    assert of_level == pytest.approx([0.223, 0.335, 0.251, 0.126], abs=0.035)
    assert (depth - depth.round()).std() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("k", range(4))
def test_players_of_a_certain_level_have_no_noise(k) -> None:
    model = played(minds=f"classical:level_{k}", n_rounds=2)

    assert model.agent_frame()["depth"].to_numpy() == pytest.approx(np.full(6, k), abs=1e-9)


def test_the_best_reply_knows_the_others_where_it_is_told() -> None:
    """Others pick 30: the reply is p (M − 1)/(M − p) of it, without its own weight."""

    def second(**more):
        minds = ["classical:best_reply", "fixed:30", "fixed:30", "fixed:30"]
        model = played(n_players=4, n_rounds=2, minds=minds, **more)
        return by_round(model, "choice")[1][0]

    weight = 2 / 3 * 3 / (4 - 2 / 3)
    assert second() == pytest.approx(30 * weight)
    first = 50 * weight
    assert second(revealed="mean") == pytest.approx((90 + first) / 4 * weight)
    assert second(window=0) == pytest.approx(first)
    assert played(minds="classical:best_reply", p=3, n_rounds=1).mean == 100
