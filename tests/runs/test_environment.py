"""Scenarios as parallel environments, by PettingZoo's own tests; policies as minds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.test import parallel_api_test, parallel_seed_test

from sabm_mesa import Choice, Fields, KeynesianBeautyContest, Number, OneOf, Text
from sabm_mesa.core.answers import AnswerSpec
from sabm_mesa.errors import ParameterError, RunError, UsageError
from sabm_mesa.models.declarations import Score
from sabm_mesa.models.registry import SCENARIOS
from sabm_mesa.runs.environment import (
    LONGEST_TEXT,
    MOST_WHOLE,
    Coding,
    PolicyMind,
    ScenarioEnv,
    _number,
    _space,
    _value,
    _wider,
    numbers_in,
)
from tests.core.support import Tiny
from tests.models.test_several_classes import Colony, Seen

pytestmark = pytest.mark.check_once

SMALL: dict[str, dict[str, Any]] = {
    "evacuation": {"n_people": 6, "width": 9, "height": 9, "obstacles": False},
    "kbc": {"n_players": 3},
    "beauty-contest": {"n_players": 3},
}


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("name", SCENARIOS)
def test_pettingzoos_own_test_passes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    env = ScenarioEnv(name, n_rounds=2, **SMALL.get(name, {}))
    parallel_api_test(env, num_cycles=60)
    env.close()

    assert "Passed Parallel API test" in capsys.readouterr().out


@pytest.mark.fast_cases(1)
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


class Pair(NamedTuple):
    left: float
    right: str


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ((1.0, 3.0), {"x.n": 2.0, "x.last": 3.0}),
        ((), {"x.n": 0.0}),
        ([[1, 2], [5]], {"x.n": 2.0, "x.last.n": 1.0, "x.last.last": 5.0}),
        (7, {"x": 7.0}),
        (True, {"x": 1.0}),
        (np.float32(0.5), {"x": 0.5}),
        (math.inf, {}),
        (math.nan, {}),
        ("seven", {}),
        (b"7", {}),
        (None, {}),
        ({3, 4}, {}),
        (Seen, {}),
        (Seen(4, persona=""), {"x.n": 4.0, "x.memory.n": 0.0}),
        (Pair(2.5, "right"), {"x.left": 2.5}),
        ({"a": {"b": 1}, 2: 3}, {"x.a.b": 1.0, "x.2": 3.0}),
    ],
    ids=str,
)
def test_a_policy_sees_the_numbers_of_an_observation_by_their_path(
    value: Any, numbers: dict[str, float]
) -> None:
    found = numbers_in(value, "x")

    assert found == numbers
    assert {type(each) for each in found.values()} <= {float}


def test_the_parts_of_a_whole_observation_begin_without_a_dot() -> None:
    assert numbers_in({"a": [4]}) == {"a.n": 1.0, "a.last": 4.0}
    assert numbers_in((1, 2)) == {"n": 2.0, "last": 2.0}


YES = Choice(("yes", "no"))
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@pytest.mark.parametrize(
    ("spec", "space"),
    [
        (Choice(("a", "b", "c")), spaces.Discrete(3)),
        (Number(-2, 7, integer=True), spaces.Discrete(10, start=-2)),
        (Number(0.5, 3.5, integer=True), spaces.Discrete(3, start=1)),
        (Number(0, MOST_WHOLE - 1, integer=True), spaces.Discrete(MOST_WHOLE)),
        (Number(0, MOST_WHOLE, integer=True), spaces.Box(0, MOST_WHOLE, (), np.float64)),
        (Number(0, 1), spaces.Box(0, 1, (), np.float64)),
        (Text(max_chars=9, numbers=False), spaces.Text(9, min_length=1, charset=LETTERS)),
        (Text(max_chars=999), spaces.Text(LONGEST_TEXT, charset=f"{LETTERS}0123456789")),
        (Fields(a=YES, b=Number(0, 1)),
         spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Box(0, 1, (), np.float64)})),
        (OneOf(buy=Fields(n=YES), wait=Fields()),
         spaces.Dict({"option": spaces.Discrete(2), "buy": spaces.Dict({"n": spaces.Discrete(2)}),
                      "wait": spaces.Dict({})})),
    ],
)  # fmt: skip
def test_the_space_of_an_answer(spec: AnswerSpec, space: Any) -> None:
    assert _space(spec) == space


def test_an_answer_of_another_kind_has_no_space() -> None:
    class Odd(AnswerSpec):
        check = example = schema = None

    with pytest.raises(UsageError, match="Odd"):
        _space(Odd())


@pytest.mark.parametrize(
    ("spec", "action", "answer"),
    [
        (Choice(("a", "b", "c")), 1, "b"),
        (Choice(("a", "b", "c")), np.int64(5), "c"),
        (Number(0, 10), np.float64(2.5), 2.5),
        (Number(0, 10), 11, 10),
        (Number(0, 10), -1, 0),
        (Number(0, 10, integer=True), 2.6, 3),
        (Number(0.5, 3.5, integer=True), 9, 3),
        (Number(0.5, 3.5, integer=True), 0.5, 1),
        (Text(), "Hello", "Hello"),
        (Fields(a=YES, b=Number(0, 1)), {"a": 3, "b": 2, "c": 1}, {"a": "no", "b": 1}),
        (OneOf(buy=Fields(n=YES), wait=Fields()), {"option": 2, "buy": {"n": 1}},
         {"buy": {"n": "no"}}),
        (OneOf(buy=Fields(n=YES), wait=Fields()), {"option": 1, "wait": {}}, {"wait": {}}),
    ],
)  # fmt: skip
def test_an_action_is_moved_into_the_present_limits(
    spec: AnswerSpec, action: Any, answer: Any
) -> None:
    assert _value(spec, action) == answer


WHOLE, ANY = Number(0, 5, integer=True), Number(3, 9)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (WHOLE, Number(-1, 4, integer=True), Number(-1, 5, integer=True)),
        (WHOLE, ANY, Number(0, 9)),
        (ANY, WHOLE, Number(0, 9)),
        (YES, Choice(("1", "2", "3")), Choice(("1", "2", "3"))),
        (Choice(("1", "2", "3")), YES, Choice(("1", "2", "3"))),
        (Fields(a=WHOLE, b=YES), Fields(a=ANY, b=YES), Fields(a=Number(0, 9), b=YES)),
        (Text(max_chars=9), Text(max_chars=20), Text(max_chars=20)),
        (YES, WHOLE, WHOLE),
        (WHOLE, YES, YES),
    ],
)
def test_a_question_with_several_specs_has_one_that_holds_them_all(
    one: AnswerSpec, other: AnswerSpec, both: AnswerSpec
) -> None:
    assert _wider(one, other) == both


@pytest.mark.parametrize(
    ("value", "number"),
    [(None, 0.0), (3, 3.0), ("2.5", 2.5), (math.nan, 0.0), (math.inf, 0.0), (-4, -4.0)],
)
def test_a_missing_gain_counts_as_nothing(value: Any, number: float) -> None:
    assert _number(value) == number


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


class Scored(Tiny):
    """The gain of a round is the number that was picked."""

    scenario_name = "scored"
    score = Score("Number", "n", column="value")
    rounds: ClassVar[list[int]] = []

    def update(self) -> None:
        super().update()
        self.rounds.append(self.round)


class Lowest(Scored):
    score = Score("Number", "n", column="value", lower_is_better=True)


class Until(Scored):
    score = Score("Rounds until 9", "n", column="value", until=9)


class Unscored(Tiny):
    score = None


@pytest.mark.parametrize(
    ("scenario", "gains"),
    [(Scored, (5, 100)), (Lowest, (-5, -100)), (Unscored, (0, 0)), (Until, (1, 1))],
)
def test_a_step_answers_the_questions_and_pays_what_its_round_gained(
    scenario: type[Tiny], gains: tuple[float, float]
) -> None:
    env = ScenarioEnv(scenario, n=3, n_rounds=2, minds={"learner": 2, "fixed:7": 1})
    with pytest.raises(UsageError, match="reset"):
        env.step({})
    observed, infos = env.reset(seed=1)
    assert env.agents == env.possible_agents == ["agent_1", "agent_2"]
    assert [each["asked"] for each in observed.values()] == [1, 1]
    assert env.coding.facts == {"Cell": ["me", "memory.n"]}
    assert [each["facts"].tolist() for each in observed.values()] == [[1.0, 0.0], [2.0, 0.0]]
    told = infos["agent_2"]
    assert (told["question"], told["observation"].me, told["spec"].high) == ("act", 2, 100)
    assert "2=0" in told["text"]

    _, rewards, ended, cut, infos = env.step({"agent_1": {"act": 5}, "agent_2": {"act": 400}})
    assert rewards == dict(zip(env.agents, gains, strict=True))
    assert set(ended.values()) == set(cut.values()) == {False}
    assert infos["agent_1"]["observation"].seen == "1=5"
    observed, rewards, ended, cut, infos = env.step({"agent_1": {"act": 9}, "agent_2": {"act": 0}})
    if scenario is Until:
        assert rewards == {"agent_1": 0.0, "agent_2": 1.0}
    assert set(ended.values()) == {True}
    assert set(cut.values()) == {False}
    assert [each["asked"] for each in observed.values()] == [0, 0]
    assert [each["facts"].tolist() for each in observed.values()] == [[1.0, 0.0], [2.0, 0.0]]
    assert infos == {"agent_1": {}, "agent_2": {}}
    assert env.agents == []
    with pytest.raises(UsageError, match="reset"):
        env.step({})
    assert env.model is not None
    assert env.model.recording_path is None
    assert [value for agent, value in env.model.log if agent == 2] == [100, 0]
    env.close()


def test_an_agent_that_was_never_asked_observes_nothing() -> None:
    env = ScenarioEnv(Colony, minds={"Ant": "learner", "Bird": "fixed:none"}, n_rounds=2)
    nothing = env.coding.nothing("Ant")

    assert (nothing["asked"], nothing["facts"].tolist()) == (0, [0.0, 0.0])
    assert env.observation_space("agent_2") == env.coding.observation_space("Ant")
    assert env.action_space("agent_2") == env.coding.action_space("Ant")
    assert env.metadata["name"] == "colony"


def test_there_is_room_for_as_many_newborns_of_each_class_as_are_asked_for() -> None:
    minds = {"Ant": "learner", "Bird": "fixed:none"}
    room = ScenarioEnv(Colony, minds=minds, n_rounds=1, most_agents=6).possible_agents

    assert room[:4] == [f"agent_{i}" for i in range(2, 6)]
    assert set(room[4:]) == {f"born_{kind}_{i}" for kind in ("Ant", "Bird") for i in (1, 2)}
    assert ScenarioEnv(Colony, minds=minds, n_rounds=1, most_agents=4).possible_agents == room[:4]
    with pytest.raises(ParameterError, match="most_agents"):
        ScenarioEnv(Colony, minds=minds, n_rounds=1, most_agents=3)


def test_an_agent_that_leaves_ends_in_that_step() -> None:
    env = ScenarioEnv(Colony, minds={"Ant": "learner", "Bird": "fixed:2"}, n_rounds=3, n_birds=1,
                      n_ants=2, most_agents=9)  # fmt: skip
    env.reset(seed=1)
    _, rewards, ended, _, _ = env.step({name: {"dig": 1} for name in env.agents})
    env.close()

    assert env.agents[0] == "agent_3"  # agent 2 was eaten before the first question
    assert {name for name, over in ended.items() if over} == {"agent_2"}
    assert set(rewards) == set(ended)


class Fragile(Tiny):
    """Fails in round 1 of runs with the seed 5."""

    def update(self) -> None:
        super().update()
        if (self.entropy[0], self.round) == (5, 1):
            raise ZeroDivisionError("nothing to share")


def test_a_run_that_fails_is_told_and_another_one_can_begin() -> None:
    env = ScenarioEnv(Fragile, n=1, n_rounds=3)
    env.reset(seed=5)
    env.step({"agent_1": {"act": 1}})
    with pytest.raises(RunError, match="nothing to share"):
        env.step({"agent_1": {"act": 1}})
    observed, _ = env.reset(seed=6)
    first = env.model
    assert list(observed) == ["agent_1"]
    env.reset(seed=6)
    assert first is not None
    assert (env.model is not first, first.running) == (True, False)
    env.close()
    assert env.model is not None
    assert not env.model.running


@pytest.mark.parametrize(("wanted", "played"), [(2, 2), (20, 20), (21, 20)])
def test_trial_runs_are_short_and_end_when_three_show_nothing_new(
    wanted: int, played: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scored, "rounds", [])
    Coding(Scored, n=1, n_rounds=wanted)

    assert Scored.rounds == [*range(played)] * 4
