"""Several actions in a turn: walkers on a grid that eat what they find."""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sabm_mesa import Choice, Phase, ScriptedMind, SmartAgent, SmartModel, action
from sabm_mesa.errors import ParameterError, RunError, UsageError
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.cost import estimate
from sabm_mesa.runs.rerun import fork, replay, resume
from sabm_mesa.testing import check_scenario
from tests.core.support import Priced, Waiting

STEPS = {"stay": (0, 0), "north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
"""The actions, with the steps they are."""


class Walker(SmartAgent):
    """A walker on a torus; the first that enters a cell eats what is there."""

    def __init__(self, model):
        super().__init__(model)
        self.x = self.y = self.eaten = self.actions = 0
        self.action, self.done = "", False

    async def act(self):
        model = self.model
        seen = [cell for cell in model.around((self.x, self.y), 1) if cell in model.food]
        near = [f"{w.unique_id}:{w.eaten}" for w in model.within(self, 1) if w is not self]
        return await self.ask(
            "act", Choice(tuple(STEPS)), cell=f"{self.x},{self.y}",
            food=" ".join(f"{x},{y}" for x, y in seen), near=" ".join(near), eaten=self.eaten,
        )  # fmt: skip


def in_sight(model, walker):
    """Return the walkers that it can meet in three steps, or that it sees from there."""
    return model.within(walker, 4 + 4)


def rested(_model, walker):
    """Whether the walker has stayed."""
    return walker.done


class Meadow(SmartModel):
    """A meadow with food. Walkers take up to three steps a turn; a full one leaves at once."""

    scenario_name = "meadow"
    title = "Meadow"
    source = "none"
    prompt_file = Path(__file__).with_name("meadow.toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        Phase(
            "act",
            "shuffled",
            who=lambda m: m.walkers,
            reach=in_sight,
            at_most=3,
            until=rested,
            doc="Each walker steps (`act`) and eats what it finds.",
        ),
    )
    model_columns: ClassVar[dict[str, str]] = {"left": "left", "eaten": "eaten"}
    agent_columns: ClassVar[dict[str, str]] = {
        name: name for name in ("x", "y", "action", "eaten", "actions")
    }

    def __init__(
        self, n_walkers: int = 5, side: int = 30, full: int = 4, n_rounds: int = 3, **more
    ):
        super().__init__(n_rounds=n_rounds, **more)
        self.side, self.full, self.left, self.eaten = side, full, 0, 0
        self.walkers = self.populate(Walker, n_walkers)
        for walker in self.walkers:
            walker.x, walker.y = (int(each) for each in self.rng.integers(side, size=2))
        grown = self.rng.random((side, side)) < 0.5
        self.food = {(x, y) for x in range(side) for y in range(side) if grown[x, y]}

    def around(self, cell, steps):
        """The cells within this many steps."""
        n = range(-steps, steps + 1)
        return [((cell[0] + dx) % self.side, (cell[1] + dy) % self.side) for dx in n for dy in n]

    def within(self, walker, steps):
        """The walkers within this many steps in each direction, by id."""
        cells = set(self.around((walker.x, walker.y), steps))
        return [other for other in self.walkers if (other.x, other.y) in cells]

    def begin_round(self):
        """Let the walkers get up."""
        for walker in self.walkers:
            walker.done, walker.actions = False, 0

    def after_act(self, walker, step):
        """Step and eat; the walkers beside one that gets full are driven off, too."""
        walker.actions += 1
        walker.action, walker.done = step.value, step.value in {None, "stay"}
        dx, dy = STEPS.get(step.value, (0, 0))
        walker.x, walker.y = (walker.x + dx) % self.side, (walker.y + dy) % self.side
        if (walker.x, walker.y) in self.food:
            self.food.remove((walker.x, walker.y))
            walker.eaten += 1
        if walker.eaten >= self.full:
            for each in [walker, *(w for w in self.within(walker, 1) if w is not walker)]:
                self.walkers.remove(each)
                each.remove()
                self.left += 1

    def update(self):
        """Add up what was eaten."""
        self.eaten = sum(walker.eaten for walker in self.population)


def greedy(ask):
    """Go to the food beside it that its sight and its place in the run pick."""
    seen = ask.facts
    here = [int(each) for each in seen.cell.split(",")]
    steps = [
        step
        for step, (dx, dy) in STEPS.items()
        if f"{here[0] + dx},{here[1] + dy}" in seen.food.split()
    ]
    turn = ask.key.agent + ask.key.round + ask.key.call + len(seen.near)
    return steps[turn % len(steps)] if steps else list(STEPS)[turn % len(STEPS)]


def data_of(model):
    """The data of a run, and what was seen of the world."""
    rows = model.agent_frame().drop(columns="mind").astype(object).fillna("none").to_dict("list")
    return rows, model.model_frame().drop(columns="cost_usd").to_dict("list"), sorted(model.food)


def test_the_next_question_shows_what_came_of_the_last_action() -> None:
    asked = []

    def answer(ask):
        asked.append((ask.key.agent, ask.key.call, ask.facts.cell, ask.facts.eaten))
        return "east" if ask.key.call < 2 else "stay"

    model = Meadow(n_walkers=2, side=40, minds=ScriptedMind(answer), n_rounds=1, rng=5)
    start = {w.unique_id: (w.x, w.y) for w in model.walkers}
    first = [agent for agent, *_ in asked]
    model.step()

    assert first == []
    assert [(agent, call) for agent, call, *_ in asked] in (
        [(a, k) for a in (1, 2) for k in range(3)], [(a, k) for a in (2, 1) for k in range(3)],
    )  # fmt: skip
    for agent, call, cell, _ in asked:
        x, y = start[agent]
        assert cell == f"{(x + call) % 40},{y}"
    assert model.critical_path_asks == 6


@settings(max_examples=12)
@given(n=st.integers(1, 9), side=st.integers(4, 30), seed=st.integers(0, 999))
def test_the_data_are_the_same_at_every_latency(n, side, seed) -> None:
    given_ = {"n_walkers": n, "side": side, "full": 3, "n_rounds": 2, "rng": seed}
    strict = Meadow(minds=ScriptedMind(greedy), **given_)
    strict.run_model()
    for latency in range(3):
        late = Meadow(minds=Waiting(greedy, latency), **given_)
        late.run_model()

        assert data_of(late) == data_of(strict)
        assert late.total.asks == strict.total.asks
        assert late.critical_path_asks <= strict.critical_path_asks


def test_agents_that_left_meanwhile_are_neither_asked_nor_paid_for(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    model = Meadow(
        n_walkers=8, side=6, full=2, n_rounds=4, rng=3, minds=Priced(greedy), recording=path
    )
    alive = []
    apply = model.after_act

    def after_act(walker, step):
        alive.append(walker in model.walkers)
        apply(walker, step)

    model.after_act = after_act
    model.run_model()
    asks = Recorded(path).decisions()
    gone = asks.groupby(["round", "agent"])["call"].max()

    assert all(alive)
    assert model.left > 2
    assert (gone < 2).any()
    assert model.total.asks == len(asks) < 8 * 3 * 4


def test_in_a_simultaneous_phase_all_act_and_those_that_are_not_done_act_again() -> None:
    class Together(Meadow):
        phases: ClassVar[tuple[Phase, ...]] = (
            Phase("act", who=lambda m: m.walkers, at_most=3, until=rested),
        )

    def answer(ask):
        seen.append((ask.key.call, ask.key.agent, ask.position))
        return "stay" if ask.key.agent == 2 else "east"

    seen = []
    model = Together(n_walkers=3, full=99, n_rounds=1, minds=ScriptedMind(answer), rng=1)
    model.step()

    assert seen == [(0, 1, 0), (0, 2, 1), (0, 3, 2), (1, 1, 3), (1, 3, 5), (2, 1, 6), (2, 3, 8)]
    assert model.critical_path_asks == 3


def test_a_stop_in_the_middle_of_a_turn_asks_nothing_twice(tmp_path) -> None:
    path, asked = tmp_path / "r.sqlite", []
    mind = Priced(lambda ask: (asked.append(ask.key), greedy(ask))[1])

    def until_it_fails(ask):
        if (ask.key.round, ask.key.call) == (1, 1):
            raise RunError("The cap is reached.")
        return mind._answer(ask)  # noqa: SLF001 - the same answers

    stopped = Meadow(rng=2, minds=Priced(until_it_fails), recording=path)
    with pytest.raises(RunError, match="The cap"):
        stopped.run_model()
    assert (1, 0) in {(key.round, key.call) for key in asked}
    (again,) = resume(path, minds={"priced": mind}, scenario=Meadow).models
    whole = Meadow(rng=2, minds=Priced(greedy))
    whole.run_model()

    assert len(asked) == len(set(asked)) == whole.total.asks
    assert data_of(again) == data_of(whole)
    (replayed,) = replay(path, scenario=Meadow).models
    assert data_of(replayed) == data_of(whole)


def test_a_fork_has_the_history_of_its_parent_and_other_minds_from_there_on(tmp_path) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "fork.sqlite"
    Meadow(rng=2, minds=Priced(greedy), recording=path).run_model()
    (forked,) = fork(path, 1, {"minds": "fixed:stay"}, into, scenario=Meadow).models

    frame = forked.agent_frame()
    assert frame.loc[frame["round"] == 0, "actions"].max() == 3
    assert set(frame.loc[frame["round"] > 0, "actions"]) == {1}
    (again,) = replay(into, scenario=Meadow).models
    pd.testing.assert_frame_equal(again.agent_frame(), frame)


def test_the_most_that_a_run_can_cost_is_that_of_all_actions() -> None:
    asks = estimate(Meadow, {"minds": "llm:gpt-4o-mini", "n_walkers": 5, "full": 99}).total.asks

    assert asks.high == 5 * 3 * 3
    assert 0 < asks.low <= asks.likely <= asks.high


def test_a_reach_that_holds_for_the_first_action_only_is_named() -> None:
    class Short(Meadow):
        """A meadow on which the walkers are said to affect those beside them only."""

        phases: ClassVar[tuple[Phase, ...]] = (
            replace(Meadow.phases[0], reach=lambda m, walker: m.within(walker, 1)),
        )

    with pytest.raises(AssertionError, match="the reach of a phase must hold all whom"):
        check_scenario(Short, n_walkers=9, side=12)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"at_most": 0}, "at_most of the phase 'act' must be a whole number of 1 or more"),
        ({"at_most": 2.5}, "at_most of the phase 'act' must be a whole number"),
        ({"until": rested}, r"has until, which has no effect with at_most=1: give the number"),
    ],
)
def test_what_changes_nothing_is_refused(options, line) -> None:
    with pytest.raises(ParameterError, match=line):
        Phase("act", "shuffled", **options)


def test_a_single_phase_needs_no_tuple_and_prompts_stand_in_one_place() -> None:
    class Alone(SmartModel):
        prompts: ClassVar[dict[str, str]] = {"scenario": "S.", "act": "{{ form }}"}
        phases = action()

    assert [phase.name for phase in Alone.phases] == ["act"]
    with pytest.raises(UsageError, match=r"^Both has prompts and a prompt_file: give one of them"):

        class Both(SmartModel):
            prompts: ClassVar[dict[str, str]] = {}
            prompt_file = "both.toml"
