"""Scenarios of Mesa 4: they carry parameters and a random stream into a model."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.errors import UnknownName, UsageError
from tests.models.support import assert_same, frames


def scenario(**given: Any) -> Any:
    from mesa.experimental.scenarios import Scenario

    return Scenario(**given)


@pytest.mark.mesa4
def test_a_scenario_gives_the_parameters_and_the_seed() -> None:
    wanted = scenario(rng=1, n_players=5, n_rounds=3)
    model = KeynesianBeautyContest(scenario=wanted)
    model.run_until(10)
    same = KeynesianBeautyContest(n_players=5, n_rounds=3, rng=model.entropy)
    same.run_model()
    copy = KeynesianBeautyContest(scenario=pickle.loads(pickle.dumps(wanted)))  # made here
    copy.run_model()

    assert model.scenario is wanted
    assert (model.round, model.running, len(model.players)) == (2, False, 5)
    assert_same(frames(model), frames(same))
    assert_same(frames(model), frames(copy))


@pytest.mark.mesa4
def test_replications_of_a_scenario_have_seeds_of_their_own() -> None:
    models = [
        KeynesianBeautyContest(scenario=each, n_rounds=1)
        for each in scenario(rng=1, n_players=4).spawn_replications(3)
    ]

    assert len({model.entropy for model in models}) == 3
    assert {model.n_rounds for model in models} == {1}


@pytest.mark.mesa4
def test_a_scenario_names_parameters_of_the_model_and_is_the_only_seed() -> None:
    with pytest.raises(UnknownName, match="n_playrs"):
        KeynesianBeautyContest(scenario=scenario(n_playrs=3))
    with pytest.raises(UsageError, match="Give rng or scenario"):
        KeynesianBeautyContest(scenario=scenario(rng=1), rng=2)


def test_anything_else_is_no_scenario() -> None:
    with pytest.raises(UsageError, match=r"scenario must be a mesa\.experimental\.scenarios"):
        KeynesianBeautyContest(scenario={"n_players": 3})
