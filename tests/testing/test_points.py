"""Each point of the conformance check by itself: it finds what breaks it, and nothing else."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from sabm_mesa import (
    Choice,
    ClassicalMind,
    Phase,
    SmartAgent,
    SmartModel,
    action,
)
from sabm_mesa.errors import ReplayMismatch
from sabm_mesa.models.declarations import Score
from sabm_mesa.testing.case import Case
from sabm_mesa.testing.checks import CHECKS, echoes, form, same
from sabm_mesa.testing.minds import CoveringMind, DrawingMind
from tests.testing import fishing
from tests.testing.fishing import TONNES, FairShare, Fisher, Fishing
from tests.testing.trading import Trading

Lines = Callable[..., list[str]]


@pytest.fixture
def case(tmp_path: Path) -> Callable[..., Case]:
    """Returns a scenario with three rounds, and ten in its long run."""

    def made(model: type[SmartModel], **parameters: Any) -> Case:
        return Case(model, {"n_rounds": 3, **parameters}, tmp_path, 10)

    return made


@pytest.fixture
def told(case: Callable[..., Case]) -> Lines:
    """Returns what a point says of a scenario."""

    def lines(point: str, model: type[SmartModel], **parameters: Any) -> list[str]:
        return list(CHECKS[point](case(model, **parameters)))

    return lines


class Guard(SmartAgent):
    """Watches the others, and catches nothing."""

    catch = None


class Guarded(Fishing):
    """Two classes of agents, one of which decides nothing."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.populate(Guard, 2)


class Helper(Fisher):
    """A second kind of fisher, with minds of its own."""

    classical_minds: ClassVar[dict[str, Any]] = {"greedy": fishing.Greedy}


class Crewed(Fishing):
    """Two classes of agents that both decide; only one has a mind of its own by default."""

    classical_minds: ClassVar[dict[str, Any]] = {}
    agents_are = type("Captain", (Fisher,), {"classical_minds": {"default": FairShare}})

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.fishers = [*self.fishers, *self.populate(Helper, 4)]


OF_CLASSES = ("form", "mixed minds", "people", "classical minds", "invalid answers")
"""The points that go through the classes of agents."""


@pytest.mark.parametrize("point", OF_CLASSES)
def test_agents_that_decide_nothing_may_take_part(told: Lines, point: str) -> None:
    assert told(point, Guarded) == []


class Fickle(Fishing):
    """Chance from elsewhere, where an answer could not be used."""

    def __init__(self, max_attempts: int = 1, **settings: Any) -> None:
        super().__init__(max_attempts=max_attempts, **settings)

    def after_act(self, fisher: Any, tonnes: Any) -> None:
        fisher.catch = tonnes.value if tonnes.valid else random.random()


class Forgetful(Fishing):
    """Keeps the number of rounds for itself."""

    def __init__(self, n_rounds: int = 6, **settings: Any) -> None:
        super().__init__(**settings)
        self.kept = n_rounds


class Nosy(Fisher):
    """Sees how many were asked before it; nothing else depends on that."""

    async def act(self) -> Any:
        """Name the tonnes that it catches."""
        tonnes = await self.ask("act", TONNES, n_others=self.model.n_asked, stock="60")
        self.model.n_asked += 1
        return tonnes


class Counting(Fishing):
    agents_are = Nosy

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.n_asked = 0


class Twice(Fisher):
    """Asks again in the first model that is played, and the rules do not notice."""

    async def act(self) -> Any:
        """Name the tonnes that it catches."""
        tonnes = await super().act()
        if self.model.number == 0:
            await super().act()
        return tonnes


class Adviser(FairShare, ClassicalMind):
    """A mind that the rules ask."""


class Advised(Fisher):
    """Never asks its own mind."""

    async def act(self) -> Any:
        """Name the tonnes that it catches."""
        self.mind = Adviser("adviser")
        return await super().act()


def of(agent: type[SmartAgent], **more: Any) -> type[Fishing]:
    """Fishing with other agents."""
    return type("Of" + agent.__name__, (Fishing,), {"agents_are": agent, **more})


NEVER: tuple[Phase, ...] = (action(when=lambda _: False),)
WAITING = type("Waiting", (Fisher,), {"act": lambda _: None})
BROKEN: list[tuple[type[SmartModel], str, str]] = [
    (of(WAITING), "form", "no agent has the method async def act(self)"),
    (type("Ranked", (Fishing,), {"score": Score("Catch", size="n_fishers", column="boats")}),
     "form", "the score names 'boats', which is no agent column"),
    (type("Ranked", (Guarded,),
          {"score": Score("Catch", size="n_fishers", column="catch", of="Boat")}),
     "form", "the score names 'Boat', which is no agent class"),
    (Fickle, "same seed", "two runs with one seed (drawing) differ: 'catch' in round "),
    (fishing.Lucky, "same seed", "two runs with one seed (classical) differ: 'stock' in round 0"),
    (type("Mindless", (fishing.Lucky,), {"classical_minds": {}}), "same seed", "(drawing) differ"),
    (fishing.Racing, "latency", "and the same answers late differ: 'stock' in round 0"),
    (fishing.Racing, "world", "Hasty.act changes 'stock' of the model: an agent may change only "),
    (fishing.Racing, "latency", "(only after_… and update may change the world)"),
    (Counting, "latency", "what agent 2 is asked in round 0, act (only after_…"),
    (fishing.Shortsighted, "latency", ", and the reach of a phase must hold all whom an agent "),
    (fishing.Regrown, "fork", "a run and its fork with the same parameters differ: 'stock' in"),
    (fishing.Stubborn, "fork", "after a fork to other minds an old one is asked: Run 0 "),
    (fishing.Led, "mixed minds", "agent 3 is given the mind another, and has classical"),
    (fishing.Particular, "people", "an example of an answer to 'act': "),
    (fishing.Again, "cost", "is 9 questions at most, and a run (drawing) asked "),
    (fishing.Prepared, "batch_run", "'stock' of the last round is"),
    (fishing.Impersonal, "prompts", "and no question another fact persona (personas "),
    (type("Idle", (Fishing,), {"phases": NEVER}), "prompts",
     "nobody was asked anything (condition poor)"),
    (fishing.Insatiable, "classical minds", "classical:greedy: 9 of 9 decisions were invalid: "),
    (Forgetful, "form", "Forgetful does not pass n_rounds on: super().__init__(n_rounds=n_rounds"),
    (Crewed, "classical minds", "classical:greedy of Helper: 12 of 21 decisions were invalid"),
    (fishing.Particular, "answers", "the spec of 'act' refuses its own example "),
    (of(Advised), "invalid answers", "0 of 9 unusable decisions are counted as invalid"),
    (fishing.Guessing, "invalid answers", "'catch' of agent 1 is 5.0 though no answer could"),
    (fishing.Pictured, "whole run", "the picture net cannot be drawn: AttributeError"),
    (fishing.Plotted, "whole run", "the plots cannot be drawn: KeyError: 'boats'"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "point", "line"), BROKEN)
def test_what_breaks_a_point_is_told(told: Lines, model: Any, point: str, line: str) -> None:
    assert any(line in each for each in told(point, model)), told(point, model)


def test_a_run_of_one_round_has_no_fork(told: Lines) -> None:
    assert told("fork", fishing.Regrown, n_rounds=1) == []


def test_what_a_replay_leaves_out_is_told(case: Callable[..., Case]) -> None:
    numbers = count()

    class Tired(Fishing):
        agents_are = Twice

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.number = next(numbers)

    with pytest.raises(ReplayMismatch, match="recorded answers of round 0"):
        list(CHECKS["replay"](case(Tired, n_rounds=1)))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"title": "  "}, "the class attribute title must be set to a text"),
        ({"source": 3}, "the class attribute source must be set to a text"),
        ({"prompt_file": None}, "the class attribute prompts (or prompt_file, a path) must be set"),
        ({"phases": ()}, "the class attribute phases must hold a phase"),
        ({"page": "pages"}, "the class attribute page must be a ScenarioPage (got 'pages')"),
        ({"score": Score("Catch", size="n_boats", column="catch")}, "'n_boats'"),
    ],
)
def test_what_a_class_lacks_is_its_one_fault(change: dict[str, Any], line: str) -> None:
    (told,) = form(type("Lacking", (Fishing,), {"__module__": fishing.__name__, **change}))
    assert line in told
    assert list(form(Fishing)) == []


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (1, 1.0, True),
        (1, 2, False),
        (np.float64(0.5), 0.5, True),
        (0.1 + 0.2, 0.3, False),
        (None, math.nan, True),
        (None, 0, False),
        (False, None, False),
        ([1, 2], [2, 1], False),
        ("1", 1, False),
    ],
)
def test_cells_are_the_same_to_the_last_digit(one: Any, other: Any, alike: bool) -> None:
    assert same(one, other) is alike


def test_columns_of_answers_are_those_that_equal_an_answer_in_each_row(
    case: Callable[..., Case],
) -> None:
    found = echoes(case(Fishing))
    assert list(found) == ["catch"]
    model = case(Guarded).made(minds=DrawingMind())
    assert found["catch"](model) == dict.fromkeys(range(1, 6))
    model.step()
    values = found["catch"](model)
    assert [values[n] is None for n in range(1, 6)] == [False, False, False, True, True]
    assert list(echoes(case(fishing.Trusting))) == ["catch"]
    zero = type("Zero", (Fishing,), {"after_act": lambda *_: None})
    assert list(echoes(case(zero))) == []


# The minds of the check.


def test_each_case_of_an_answer_is_given_in_turn(case: Callable[..., Case]) -> None:
    class Chooser(Fisher):
        async def act(self) -> Any:
            """Choose."""
            return await self.ask("act", Choice(("a", "b", "c")), **self.facts())

    class Choosing(Fishing):
        agents_are = Chooser

        def update(self) -> None:
            """Nothing changes."""

    mind = CoveringMind()
    model = case(Choosing, n_fishers=1, n_rounds=5).played(minds=mind)
    assert model.agent_frame()["catch"].tolist() == ["a", "b", "c", "a", "b"]
    assert mind.asked == {"act": 4}
    assert mind.problems == {}
    case(Trading).played(minds=(every := CoveringMind()), n_traders=3, n_rounds=1)
    assert every.problems == {}
