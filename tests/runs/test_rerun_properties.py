"""Replay, resume and fork of random tiny scenarios: whatever the phases, graphs and answers are."""

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sabm_mesa import Reply, action, communication, planning
from sabm_mesa.errors import MindError
from sabm_mesa.runs.rerun import fork, replay, resume
from sabm_mesa.runs.run import run_models
from tests.core.support import Cell, Tiny, neighbours
from tests.runs.reruns import Drawing, count, same_data

CELLS = 4
EDGES = st.lists(st.tuples(st.integers(1, CELLS), st.integers(1, CELLS)), max_size=6)
PHASE = st.builds(
    lambda make, order, near: make(order=order, reach=neighbours if near else None),
    st.sampled_from([communication, planning, action]),
    st.sampled_from(["simultaneous", "shuffled", "fixed"]),
    st.booleans(),
)
WORLD = st.fixed_dictionaries(
    {
        "phases": st.lists(PHASE, min_size=1, max_size=3, unique_by=lambda phase: phase.name),
        "edges": EDGES,
        "n_rounds": st.integers(1, 4),
        "rng": st.integers(0, 99),
        "max_attempts": st.integers(1, 3),
        "paid": st.integers(1, CELLS),
    }
)


class Planner(Cell):
    """A cell that asks twice when it plans."""

    async def plan(self):
        await self.communicate()
        return await self.act()


class Played(Tiny):
    """The tiny scenario with random numbers of its own."""

    def populate(self, _agent_class, n, *args):
        return super().populate(Planner, n, *args)

    def after_plan(self, cell, plan):
        self.after_act(cell, plan)

    def update(self):
        self.values[1 + int(self.rng.integers(CELLS))] += 1
        super().update()


class Unsteady(Drawing):
    """A paid mind whose answers cost something, and come in no particular order."""

    spec = "unsteady"

    async def answer(self, ask):
        answer = await super().answer(ask)
        turns = Random(repr(ask.key)).randint(0, 3)
        return Reply(answer, prompt_tokens=turns, cost_usd=turns / 7, retries=turns // 3)


def world(drawn, mind, recording):
    phases = tuple(drawn["phases"])
    kind = type("Played", (Played,), {"phases": phases})
    given_ = {k: v for k, v in drawn.items() if k not in {"phases", "paid"}}
    minds = {mind: drawn["paid"], "fixed:5": CELLS - drawn["paid"]}
    return kind(**given_, n=CELLS, minds=minds, recording=recording)


@settings(max_examples=50)
@given(WORLD, st.data())
@pytest.mark.slow
def test_a_run_can_be_repeated_cut_off_anywhere_and_forked_anywhere(drawn, data) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        once = Unsteady()
        whole = run_models([world(drawn, once, folder / "whole.sqlite")])
        kind = type(whole.models[0])
        same_data(whole, replay(folder / "whole.sqlite", scenario=kind))

        most = data.draw(st.integers(0, once.answered - 1), label="answers before the end")
        first, rest = Unsteady(most), Unsteady()
        with pytest.raises(MindError):
            run_models([world(drawn, first, folder / "cut.sqlite")])
        again = resume(folder / "cut.sqlite", scenario=kind, minds={"unsteady": rest})
        same_data(whole, again)
        assert first.answered + rest.answered == once.answered
        assert count(folder / "cut.sqlite", "mind = 'unsteady'") == once.answered

        at = data.draw(st.integers(0, drawn["n_rounds"] - 1), label="round of the fork")
        new = {"temperature": None, "condition": "baseline"}
        child = fork(
            folder / "whole.sqlite",
            at,
            new,
            folder / "child.sqlite",
            scenario=kind,
            minds={"unsteady": (asked := Unsteady())},
        )
        same_data(whole, child)
        live = "mind = 'unsteady' AND NOT copied"
        assert asked.answered == count(folder / "child.sqlite", live)
        same_data(whole, replay(folder / "child.sqlite", scenario=kind))
