"""Scenarios as parallel environments, by PettingZoo's own tests; policies as minds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.errors import UsageError
from sabm_mesa.models.registry import SCENARIOS
from sabm_mesa.runs.environment import Coding, PolicyMind, ScenarioEnv, numbers_in
from tests.models.test_several_classes import Colony

pytestmark = pytest.mark.slow

SMALL: dict[str, dict[str, Any]] = {
    "evacuation": {"n_people": 6, "width": 9, "height": 9, "obstacles": False},
    "kbc": {"n_players": 3},
    "beauty-contest": {"n_players": 3},
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_pettingzoos_own_test_passes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    env = ScenarioEnv(name, n_rounds=2, **SMALL.get(name, {}))
    parallel_api_test(env, num_cycles=60)
    env.close()

    assert "Passed Parallel API test" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["kbc", "fishery"])
def test_pettingzoos_own_test_of_seeds_passes(name: str) -> None:
    parallel_seed_test(lambda: ScenarioEnv(name, n_rounds=2, **SMALL.get(name, {})), num_cycles=10)


@pytest.mark.filterwarnings("ignore:No agents present")  # not all that may be born are
def test_learners_that_are_born_join_up_to_the_most_there_may_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    env = ScenarioEnv(Colony, minds={"Ant": "learner", "Bird": "fixed:none"}, n_rounds=6,
                      most_agents=200)  # fmt: skip
    at_first = [name for name in env.possible_agents if name.startswith("agent_")]
    list(played(env, 1))
    assert env.model is not None
    ants = [agent for agent in env.model.population if type(agent).__name__ == "Ant"]
    assert len(ants) > len(at_first)
    parallel_api_test(env, num_cycles=60)
    env.close()
    assert "Passed Parallel API test" in capsys.readouterr().out

    few = ScenarioEnv(Colony, minds={"Ant": "learner", "Bird": "fixed:none"}, n_rounds=6)
    with pytest.raises(UsageError, match=r"was born as a learner.*most_agents="):
        list(played(few, 1))
    few.close()


def played(env: ScenarioEnv, seed: int) -> Iterator[tuple[Any, ...]]:
    """Random actions, drawn from their own seed, up to the end."""
    observed, infos = env.reset(seed=seed)
    for i, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed + i)
    while env.agents:
        for agent in env.agents:
            assert env.observation_space(agent).contains(observed[agent])
            assert bool(infos[agent]) == bool(observed[agent]["asked"])
        observed, rewards, ended, cut, infos = env.step(
            {agent: env.action_space(agent).sample() for agent in env.agents}
        )
        yield rewards, ended, cut


def test_a_seed_gives_the_same_run_and_rewards_are_the_scores() -> None:
    env = ScenarioEnv("kbc", n_players=3, n_rounds=3, minds={"learner": 2, "classical": 1})
    first = list(played(env, 1))
    data = env.model.agent_frame()
    again = list(played(env, 1))
    env.close()

    assert env.possible_agents == ["agent_1", "agent_2"]
    assert first == again
    for agent in env.possible_agents:
        total = sum(rewards[agent] for rewards, _, _ in first)
        assert total == data[data["agent"] == int(agent[-1])]["payoff"].sum()
    assert [all(ended.values()) for _, ended, _ in first] == [False] * (len(first) - 1) + [True]
    assert not any(any(cut.values()) for _, _, cut in first)


def test_the_learners_of_a_simultaneous_phase_are_asked_together() -> None:
    env = ScenarioEnv("beauty-contest", n_players=4, n_rounds=2)
    observed, infos = env.reset(seed=1)

    assert [each["asked"] for each in observed.values()] == [1] * 4
    assert "choose your number" in infos["agent_1"]["text"]
    with pytest.raises(UsageError, match="agent_1 is asked but has no action"):
        env.step({})
    env.close()


def test_a_round_until_the_way_out_costs_one() -> None:
    env = ScenarioEnv("evacuation", n_rounds=2, n_people=3, width=9, height=9, communication=False)
    total = dict.fromkeys(env.possible_agents, 0.0)
    for rewards, _, _ in played(env, 1):
        for agent, reward in rewards.items():
            total[agent] += reward
    env.close()

    assert set(total.values()) <= {-2.0, -1.0, 0.0}
    assert min(total.values()) == -2.0


def test_a_policy_sees_how_much_was_played_and_what_came_last() -> None:
    assert numbers_in((1.0, 3.0), "plays") == {"plays.n": 2.0, "plays.last": 3.0}


def test_a_policy_plays_as_a_mind() -> None:
    coding = Coding(KeynesianBeautyContest, n_players=3, n_rounds=2)
    seen = []

    def policy(observed: dict[str, Any]) -> dict[str, Any]:
        seen.append(observed)
        return {"act": np.int64(20), "communicate": "Twenty."}

    model = KeynesianBeautyContest(
        n_players=3, n_rounds=2, minds={PolicyMind(policy, coding): 2, "fixed:50": 1}, rng=1
    )
    model.run_model()

    assert list(model.agent_frame()["choice"]) == [20, 20, 50] * 2
    assert set(model.agent_frame()["mind"]) == {"policy", "fixed:50"}
    space = coding.observation_space("Player")
    assert all(space.contains(each) for each in seen)


def test_an_environment_without_learners_is_refused() -> None:
    with pytest.raises(UsageError, match="put 'learner' among the minds"):
        ScenarioEnv("kbc", n_rounds=1, minds="classical")


def test_a_policy_decides_for_agents_that_were_born_after_the_trial_runs() -> None:
    policy = PolicyMind(lambda _: {"dig": 3}, Coding(Colony, n_rounds=2))
    model = Colony(minds={"Ant": policy, "Bird": "fixed:none"}, n_rounds=6, rng=1)
    model.run_model()

    assert len(model.population) > 12
    assert set(model.agent_frame()["depth"].dropna()) <= {0, 3}
