"""Each point of the conformance check by itself: it finds what breaks it, and nothing else."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from sabm_mesa import (
    Choice,
    ClassicalMind,
    Number,
    Phase,
    SmartAgent,
    SmartModel,
    Text,
    action,
)
from sabm_mesa import planning as plan
from sabm_mesa.errors import ReplayMismatch
from sabm_mesa.models.declarations import Score
from sabm_mesa.testing.case import Case
from sabm_mesa.testing.checks import CHECKS, differences, echoes, form, is_missing, same
from sabm_mesa.testing.minds import CoveringMind, DrawingMind, LateMind, NotingMind, ReadingMind
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


@pytest.mark.parametrize(
    ("model", "point"), [*((Fishing, p) for p in CHECKS), *((Guarded, p) for p in OF_CLASSES)]
)
def test_nothing_is_said_of_what_conforms(told: Lines, model: Any, point: str) -> None:
    assert told(point, model) == []


class Fickle(Fishing):
    """Chance from elsewhere, where an answer could not be used."""

    def __init__(self, max_attempts: int = 1, **settings: Any) -> None:
        super().__init__(max_attempts=max_attempts, **settings)

    def after_act(self, fisher: Any, tonnes: Any) -> None:
        fisher.catch = tonnes.value if tonnes.valid else random.random()


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


class Planner(Fisher):
    async def plan(self) -> Any:
        """Plan the day."""
        return await super().act()


class Narrow(Fishing):
    """The second of three phases denies its reach."""

    agents_are = Planner
    phases = (
        plan(),
        action("shuffled", reach=lambda *_: []),
        plan("shuffled", reach=lambda model, _: model.fishers),
    )

    def after_plan(self, fisher: Any, tonnes: Any) -> None:
        """A plan changes nothing."""

    def after_act(self, fisher: Any, tonnes: Any) -> None:
        super().after_act(fisher, tonnes)
        self.stock = self.stock / 2 + (fisher.catch or 0.0)


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


class Later(Fishing):
    """Cannot be copied any more once it has begun."""

    def update(self) -> None:
        super().update()
        self.rule = lambda: 0


class Copied(Fishing):
    """A copy of it has other fish."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self.stock = 30.0


class Contrary(Number):
    """Reads a number as the one above it."""

    def read_text(self, text: str, *args: Any, **more: Any) -> Any:
        return Number.read_text(self, text, *args, **more) + 1


class Misread(Fisher):
    async def act(self) -> Any:
        """Name the tonnes that it catches."""
        return await self.ask("act", Contrary(0, 10, integer=True), **self.facts())


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
    (fishing.Racing, "latency", "(only after_… and update may change the world)"),
    (Counting, "latency", "what agent 2 is asked in round 0, act (only after_…"),
    (fishing.Shortsighted, "latency", "(the reach of the phase 'act' is too small: it must "),
    (Narrow, "latency", "the reach of the phase 'act' is too small"),
    (fishing.Regrown, "fork", "a run and its fork with the same parameters differ: 'stock' in"),
    (fishing.Stubborn, "fork", "after a fork to other minds an old one is asked: Run 0 "),
    (fishing.Led, "mixed minds", "agent 3 is given the mind another, and has classical"),
    (fishing.Particular, "people", "an example of an answer to 'act': "),
    (fishing.Again, "cost", "is 9 questions at most, and a run (drawing) asked "),
    (fishing.Undescribed, "describe", "says nothing of the phase 'act': give it a doc=…, or "),
    (fishing.Prepared, "batch_run", "'stock' of the last round is"),
    (Copied, "pickling", "a model and its copy, pickled before the first round, differ: 'stock'"),
    (Copied, "pickling", "a model and its copy, pickled after the first round, differ: 'stock'"),
    (fishing.Layered, "pickling", "whole: its cells lose the layer"),
    (fishing.Impersonal, "prompts", "and no question another fact persona (personas "),
    (type("Idle", (Fishing,), {"phases": NEVER}), "prompts",
     "nobody was asked anything (condition poor)"),
    (fishing.Insatiable, "classical minds", "classical:greedy: 9 of 9 decisions were invalid"),
    (Crewed, "classical minds", "classical:greedy of Helper: 12 of 21 decisions were invalid"),
    (of(Misread), "answers", "the spec of 'act' reads its own "),
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


def test_what_cannot_be_pickled_at_any_time_is_an_error(told: Lines) -> None:
    for model in (fishing.Holding, Later):
        with pytest.raises((AttributeError, TypeError), match=r"local object|lambda"):
            told("pickling", model)


@pytest.mark.parametrize(("n_fishers", "seats"), [(1, 1), (2, 2), (5, 2)])
def test_two_people_take_part_if_there_are_as_many_agents(
    case: Callable[..., Case], n_fishers: int, seats: int
) -> None:
    sat: list[int] = []

    class Watched(Fishing):
        def update(self) -> None:
            super().update()
            sat.append(sum(each.mind.spec == "human" for each in self.fishers))

    assert list(CHECKS["people"](case(Watched, n_fishers=n_fishers))) == []
    assert sat == [seats, seats]


def test_half_of_the_agents_of_each_class_have_another_mind(case: Callable[..., Case]) -> None:
    counts: list[list[str]] = []

    class Seen(Crewed):
        def update(self) -> None:
            super().update()
            counts.append([each.mind.spec for each in self.fishers])

    assert list(CHECKS["mixed minds"](case(Seen, n_rounds=1))) == []
    assert [specs.count("another") for specs in (counts[0][:3], counts[0][3:])] == [1, 2]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"title": "  "}, "the class attribute title must be set to a text"),
        ({"source": 3}, "the class attribute source must be set to a text"),
        ({"prompt_file": None}, "the class attribute prompts (or prompt_file, a path) must be set"),
        ({"phases": ()}, "the class attribute phases must hold a phase"),
        ({"page": "tests.testing.no_page"}, "no_page"),
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
        (2, 1, False),
        (np.float64(0.5), 0.5, True),
        (np.int64(3), 4, False),
        (0.1 + 0.2, 0.3, False),
        (None, math.nan, True),
        ("", None, True),
        (None, 0, False),
        (0, None, False),
        (False, None, False),
        ([1, 2], [1, 2], True),
        ([1, 2], [2, 1], False),
        ("a", "b", False),
        ("1", 1, False),
    ],
)
def test_cells_are_the_same_to_the_last_digit(one: Any, other: Any, alike: bool) -> None:
    assert same(one, other) is alike


@pytest.mark.parametrize(
    ("value", "empty"),
    [(None, True), (math.nan, True), ("", True), ("a", False), (0, False), (0.0, False)],
)
def test_a_cell_is_empty_without_a_number_or_a_text(value: Any, empty: bool) -> None:
    assert is_missing(value) is empty


def test_the_first_difference_of_two_runs_is_told_with_its_place(case: Callable[..., Case]) -> None:
    short, long = (case(Fishing).played(n_rounds=n) for n in (1, 2))
    assert list(differences(long, long, "both")) == []
    (line,) = differences(short, long, "they")
    assert line == "they differ: the model data has 1 and 2 rows"
    fewer = case(Fishing).played(n_rounds=2, n_fishers=2)
    (line,) = differences(long, fewer, "they")
    assert line.startswith("they differ: ")

    class Frames:
        def __init__(self, *caught: float) -> None:
            agents = range(1, len(caught) + 1)
            self.agents = pd.DataFrame({"round": 2, "agent": agents, "catch": caught})

        def model_frame(self) -> pd.DataFrame:
            return pd.DataFrame({"round": [2]})

        def agent_frame(self) -> pd.DataFrame:
            return self.agents

    whole: Any = partial(differences, what="they")
    assert list(whole(Frames(1, 2), Frames(1, 3))) == [
        "they differ: 'catch' in round 2, agent 2 is 2 and 3"
    ]
    assert list(whole(Frames(1, 2), Frames(1))) == ["they differ: the agent data has 2 and 1 rows"]


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


def test_drawn_answers_are_legal_except_for_the_unusable_share(case: Callable[..., Case]) -> None:
    for share, invalid in [(0.0, 0), (1.0, 9)]:
        assert case(Fishing).played(minds=DrawingMind(share)).total.invalid == invalid
    some = case(Fishing).played(minds=DrawingMind(0.5), n_rounds=20, max_attempts=1).total
    assert 15 < some.invalid < 45


def test_a_drawing_mind_is_named_paid_and_late_as_it_is_told() -> None:
    plain, late = DrawingMind(), DrawingMind(paid=True, late=0, spec="late")
    assert (plain.spec, plain.paid, plain.instant) == ("drawing", False, True)
    assert (late.spec, late.paid, late.instant) == ("late", True, False)
    assert LateMind(0.0).paid
    assert LateMind(0.0).instant
    assert not LateMind(0.0, 1).instant


def test_late_answers_come_in_another_order_and_are_the_same(case: Callable[..., Case]) -> None:
    orders, data = set(), []
    for late in (None, 1, 2):
        came: list[int] = []

        class Noting(LateMind):
            async def answer(self, ask: Any) -> object:
                answer = await super().answer(ask)
                came.append(ask.key.agent)  # noqa: B023
                return answer

        model = case(Fishing, n_fishers=6, n_rounds=1).played(minds=Noting(0.0, late))
        data.append(model.agent_frame()["catch"].tolist())
        orders.add(tuple(came))
    assert data[0] == data[1] == data[2]
    assert len(orders) == 3
    assert (1, 2, 3, 4, 5, 6) in orders


def test_what_is_sent_is_kept_for_each_attempt(case: Callable[..., Case]) -> None:
    mind = LateMind(1.0)
    model = case(Fishing, n_fishers=2, n_rounds=2, max_attempts=3).played(minds=mind)
    attempts = [(key.round, key.agent, n) for key, n in mind.sent]
    assert sorted(attempts) == [(r, a, n) for r in (0, 1) for a in (1, 2) for n in (0, 1, 2)]
    assert model.total.reasks == 8


def test_numbers_and_options_are_noted_and_texts_are_not(case: Callable[..., Case]) -> None:
    mind = NotingMind()
    model = case(Fishing, n_rounds=2).played(minds=mind)
    assert mind.questions == ["act"]
    caught = model.agent_frame()
    for round_, agent, catch in zip(caught["round"], caught["agent"], caught["catch"], strict=True):
        assert mind.noted["act", round_, agent] == catch
    case(Trading).played(minds=(parts := NotingMind()))
    assert {"act.act.order.good", "act.act.order.amount"} <= set(parts.questions)
    assert not [question for question in parts.questions if "note" in question]


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


def test_a_text_and_its_reasoning_are_read_as_they_are_written(case: Callable[..., Case]) -> None:
    class Speaker(Fisher):
        async def act(self) -> Any:
            """Say something."""
            return await self.ask("act", Text(max_words=5), **self.facts())

    class Speaking(Fishing):
        agents_are = Speaker
        update = SmartModel.update

    case(Speaking, n_rounds=1).played(minds=(mind := CoveringMind()))
    assert mind.problems == {}


def test_a_persona_counts_as_told_only_where_it_is_in_a_prompt(case: Callable[..., Case]) -> None:
    for model, is_told in [(Fishing, True), (fishing.Impersonal, False)]:
        reader = ReadingMind("agreeable")
        case(model, personas="agreeable").played(minds=reader)
        assert reader.persona_is_told is is_told
        assert reader.problems == {}
