"""The points of the conformance check: each yields a line per problem."""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sabm_mesa.agents.base import ITS_OWN
from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.core.prompts import NO_PERSONA, load, load_builtin, names_in
from sabm_mesa.describe import as_markdown, describe
from sabm_mesa.errors import ReplayMismatch, RunError, UsageError
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.specs import by_spec, describe_minds
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.recording.statistics import frequent_reason
from sabm_mesa.runs.cost import estimate
from sabm_mesa.runs.game import Game
from sabm_mesa.runs.rerun import fork, replay
from sabm_mesa.runs.run import Runs
from sabm_mesa.testing.case import SEED, SOME, Case
from sabm_mesa.testing.minds import (
    SINGLE,
    CoveringMind,
    DrawingMind,
    LateMind,
    NotingMind,
    People,
    ReadingMind,
    Silent,
    WatchedRule,
)

LATENCIES = (1, 2, 3)
SEATS = 2
"""The number of people in a game, if there are enough agents."""
ROUNDS_OF_GAME = 2
PEOPLE_S = 60.0
"""The longest time of a game, in seconds."""
ANOTHER = "another"
"""The spec of an additional mind."""
PRICED = "llm:gpt-4o-mini"
"""A language model with a price, which is not asked."""
PLACES = ("run", "round", "agent")
"""The key columns of a row."""
AT = 1
"""The round of forks."""
WATCHED = 10
"""The number of agents of each class whose methods are watched."""
LEAST = 2
"""The least number of different answers in a column of answers: a column of zeros may be chance."""


def form(model: Any) -> Iterator[str]:
    """Check the parts of a scenario, or whatever is given as its class."""
    if not (isinstance(model, type) and issubclass(model, SmartModel)):
        yield f"a scenario is a subclass of SmartModel, not {model!r}"
        return
    for name in ("scenario_name", "title", "source"):
        text = getattr(model, name)
        if not (isinstance(text, str) and text.strip()):
            yield f"the class attribute {name} must be set to a text"
    if not isinstance(getattr(model, "prompt_file", None), str | Path | Mapping):
        yield "the class attribute prompts (or prompt_file, a path) must be set"
    if not getattr(model, "phases", ()):
        yield "the class attribute phases must hold a phase"
    if not (getattr(sys.modules.get(model.__module__), "__doc__", None) or "").strip():
        yield f"the module {model.__module__} needs a docstring that says what happens"
    yield from _parameters(model)


def _parameters(model: type[SmartModel]) -> Iterator[str]:
    try:
        parameters = parameters_of(model)
    except UsageError as error:
        yield str(error)
        return
    if missing := sorted(parameters_of(SmartModel).keys() - parameters.keys()):
        yield f"the parameters {', '.join(missing)} are missing: take **settings and pass them on"
    for name, parameter in parameters.items():
        if parameter.required:
            yield f"the parameter {name} needs a default"
            continue
        if isinstance(parameter.annotation, str):
            yield (
                f"the annotation {parameter.annotation} of {name} cannot be read: import it, but "
                "not under TYPE_CHECKING"
            )
        try:
            parameter.check(parameter.default)
        except UsageError as error:
            yield f"the default of {error}"
    yield from _page(model, parameters)
    score = model.score
    if score is not None and score.size not in parameters:
        yield f"the score names {score.size!r}, which is no parameter"


def _page(model: type[SmartModel], parameters: Collection[str]) -> Iterator[str]:
    try:
        page: Any = model.page
    except UsageError as error:
        yield str(error)
        return
    if not isinstance(page, ScenarioPage):
        yield f"the class attribute page must be a ScenarioPage (got {page!r})"
        return
    for name in sorted(page.card_run.keys() - parameters):
        yield f"the card of the page names {name!r}, which is no parameter"


def methods(case: Case) -> Iterator[str]:
    """Whether the model can be created, and each phase has its method."""
    model = case.made(minds=DrawingMind())
    if model.n_rounds != case.parameters["n_rounds"]:
        yield (
            f"{type(model).__name__} does not pass n_rounds on: "
            "super().__init__(n_rounds=n_rounds, **settings)"
        )
    known = model.agent_classes()
    for phase in model.phases:
        parts = [getattr(agent_class, phase.name, None) for agent_class in known]
        if not any(map(inspect.iscoroutinefunction, parts)):
            yield f"no agent has the method async def {phase.name}(self)"
    score = model.score
    if score is not None:
        ranked = [agent_class for agent_class in known if score.of in {"", agent_class.__name__}]
        if not ranked:
            yield f"the score names {score.of!r}, which is no agent class"
        if not all(score.column in model.columns_of(agent_class) for agent_class in ranked):
            yield f"the score names {score.column!r}, which is no agent column"


def same_seed(case: Case) -> Iterator[str]:
    """Whether a run is determined by its seed."""
    free: Any = case.free_minds
    for minds in (free, DrawingMind(SOME)) if not isinstance(free, DrawingMind) else (free,):
        one, other = (case.played(minds=minds) for _ in range(2))
        for line in differences(one, other, f"two runs with one seed ({_named(minds)})"):
            yield f"{line} ({_OWN_DRAWS})"


_OWN_DRAWS = (
    "draw every number from the rng or random of the model or an agent, also in NetworkX, as in "
    "seed=self.random"
)


def latency(case: Case) -> Iterator[str]:
    """Whether the order of answers makes a difference."""
    at_once = LateMind(SOME)
    one = case.played(minds=at_once)
    for late in LATENCIES:
        if difference := _made_by_latency(one, at_once, case, late):
            reaches = any(phase.reach is not None for phase in case.scenario.phases)
            advice = ", and the reach of a phase must hold all whom an agent observes or changes"
            yield (
                f"answers at once and the same answers late differ: {difference} (only after_… and "
                f"update may change the world{advice if reaches else ''})"
            )
            return


def _made_by_latency(one: SmartModel, at_once: LateMind, case: Case, late: int) -> str | None:
    """The first difference in the data or in requests when the answers come late."""
    slow = LateMind(SOME, late)
    other = case.played(minds=slow)
    if difference := _difference(one, other):
        return difference
    for (key, attempt), messages in at_once.sent.items():
        if slow.sent.get((key, attempt)) != messages:
            return f"what agent {key.agent} is asked in round {key.round}, {key.phase}"
    return None


def world(case: Case) -> Iterator[str]:
    """Whether agents change nothing but themselves in their methods of the phases."""
    model, changed = case.made(minds=DrawingMind()), dict[str, None]()
    seen: Counter[type] = Counter()
    for agent in model.population:
        seen[type(agent)] += 1
        if seen[type(agent)] > WATCHED:
            continue
        for phase in model.phases:
            if inspect.iscoroutinefunction(getattr(agent, phase.name, None)):
                _watch(agent, phase.name, changed)
    model.run_model()
    yield from changed


def _watch(agent: Any, name: str, changed: dict[str, None]) -> None:
    """Note what an agent's method of a phase changes outside the agent."""
    part = getattr(agent, name)

    async def watched() -> Any:
        before = _outside(agent)
        decision = await part()
        after = _outside(agent)
        for attribute, value in before.items():
            if after.get(attribute, value) != value:
                line = (
                    f"{type(agent).__name__}.{name} changes {attribute[1]!r} of {attribute[0]}: an "
                    f"agent may change only itself there, so do it in after_{name} or update"
                )
                changed[line] = None
        return decision

    setattr(agent, name, watched)


def _outside(agent: Any) -> dict[tuple[str, str, int], Any]:
    """The values of a scenario outside an agent: (owner, attribute, id of the owner) → value."""
    model = agent.model
    owners = [(f"a {type(a).__name__}", a, a.unique_id) for a in model.agents if a is not agent]
    own = [("the model", model, 0), *owners]
    return {
        (owner, name, number): json_roundtrip(value)
        for owner, holder, number in own
        for name, value in vars(holder).items()
        if not name.startswith("_")
        and name not in (vars(model)["_made"] if holder is model else ITS_OWN)
        and not isinstance(value, Iterator)
    }


def replaying(case: Case) -> Iterator[str]:
    """Whether a recorded run can be replayed."""
    model, path = case.recorded
    again = replay(path, scenario=case.scenario)
    yield from differences(model, again.models[0], "a run and its replay")
    given, used = model.total.asks + model.total.reasks, sum(again.answers_repeated())
    if given != used:
        yield f"the replay used {used} of {given} recorded answers"


def forking(case: Case) -> Iterator[str]:
    """Whether a fork without changes has the same data, and one to other minds asks only these."""
    model, path = case.recorded
    if model.round < AT:
        return
    same_ = {name: model.parameters[name] for name in sorted(case.scenario.changeable)}
    forked = _forked(path, case, {**same_, "n_rounds": model.n_rounds})
    yield from differences(model, forked, "a run and its fork with the same parameters")
    other = DrawingMind(paid=True, spec=ANOTHER)
    try:
        _forked(path, case, {"minds": other, "n_rounds": AT + 1})
    except ReplayMismatch as error:
        yield f"after a fork to other minds an old one is asked: {error}"


def _forked(path: Path, case: Case, new: Mapping[str, Any]) -> SmartModel:
    """The model of a fork at `AT`."""
    into = path.with_name(f"fork-{'minds' in new}.sqlite")
    minds = {"drawing": DrawingMind(SOME, paid=True)}
    runs = fork(path, AT, new, into, minds=minds, scenario=case.scenario)
    return runs.models[0]


def mixed_minds(case: Case) -> Iterator[str]:
    """Whether agents of one run can have different minds, each its own."""
    other = DrawingMind(SOME, paid=True, late=LATENCIES[0], spec=ANOTHER)
    minds = _some_with(case, other, lambda n: n // 2)
    given = {agent.unique_id: agent.mind.spec for agent in case.made(minds=minds).population}
    path = case.folder / "mixed.sqlite"
    model = case.played(minds=minds, recording=path)
    data = model.agent_frame()
    for agent, mind in zip(data["agent"], data["mind"], strict=True):
        if given.get(agent, mind) != mind:
            yield f"agent {agent} is given the mind {given[agent]}, and has {mind}"
            return
    again = replay(path, scenario=case.scenario).models[0]
    yield from differences(model, again, "a run of two minds and its replay")


def people(case: Case) -> Iterator[str]:
    """Whether people can take part, each at one seat."""
    classes = len(case.made(minds=DrawingMind()).agent_classes())
    minds = _some_with(case, HUMAN, lambda n: min(n, max(1, SEATS // classes)))
    game = Game(case.scenario, **{**_quiet(case), "minds": minds})
    crowd = People(game)
    crowd.play(PEOPLE_S)
    yield from crowd.problems[:1]
    if not crowd.problems:
        if game.problem:
            raise RunError(game.problem)
        data = game.model.agent_frame()
        for agent in data.loc[(data["mind"] == HUMAN) & (data["invalid"] > 0), "agent"].head(1):
            yield f"an answer that the seat of agent {agent} took is counted as invalid"


def _some_with(case: Case, other: Any, share: Callable[[int], int]) -> Any:
    """Free minds, and another one for a share of the agents of each class."""
    model, free = case.made(minds=DrawingMind()), case.free_minds
    counts = Counter(map(type, model.population))
    mixes: dict[str, Any] = {}
    for agent_class in model.agent_classes():
        spec = free[agent_class.__name__] if isinstance(free, Mapping) else free
        n = share(counts[agent_class])
        mixed = {spec: counts[agent_class] - n, other: n}
        mixes[agent_class.__name__] = {mind: k for mind, k in mixed.items() if k} or spec
    return mixes if len(mixes) > 1 else next(iter(mixes.values()))


def _quiet(case: Case) -> dict[str, Any]:
    """The parameters of an unrecorded run with one or two rounds."""
    rounds = case.parameters.get("n_rounds", ROUNDS_OF_GAME)
    short = {"n_rounds": min(rounds, ROUNDS_OF_GAME)} if isinstance(rounds, int) else {}
    return {"rng": SEED, **case.parameters, **short, "recording": False}


def cost(case: Case) -> Iterator[str]:
    """Whether runs ask at most as many questions as their cost estimate."""
    parameters = {"rng": SEED, **case.parameters, "minds": PRICED}
    asks = estimate(case.scenario, parameters).total.asks
    for minds in (case.free_minds, DrawingMind()):
        asked = case.played(minds=minds).total.asks
        if asked > asks.high:
            yield (
                f"the estimate of the cost is {asks.high:g} questions at most, and a run "
                f"({_named(minds)}) asked {asked}: let an agent act several times by at_most"
            )
            return


def description(case: Case) -> Iterator[str]:
    """Whether the scenario can be described."""
    parameters = {k: v for k, v in case.parameters.items() if k not in {"minds", "recording"}}
    as_markdown(describe(case.scenario, parameters=parameters))
    yield from ()


def batch_run(case: Case) -> Iterator[str]:
    """Whether Mesa's own runner collects the same data as the model."""
    seed, rows = case.batch(minds=case.free_minds)
    model = case.played(minds=case.free_minds, rng=seed)
    expected: dict[Any, Any] = model.model_frame().to_dict("records")[-1]
    agents = {
        cells["agent"]: cells
        for cells in model.agent_frame().to_dict("records")
        if cells["round"] == model.round
    }
    for row in rows:
        wanted = expected | agents.get(row.get("AgentID"), {})
        for column in sorted(set(wanted) - set(PLACES), key=list(wanted).index):
            if not same(row.get(column), wanted[column]):
                yield (
                    f"{column!r} of the last round is {row.get(column)} in a batch, and "
                    f"{wanted[column]} in a run"
                )
                return


def prompts(case: Case) -> Iterator[str]:
    """Check that every question can be asked."""
    model, answers = case.made(minds=DrawingMind()), load_builtin("answers")["answers"]
    book, tables = model.book, load(model.prompt_file)
    for table in ("conditions", "variants"):
        for name, entries in tables[table].items():
            for entry in sorted(set(entries) - set(tables["prompts"]) - set(answers)):
                yield f"{table}.{name} replaces {entry!r}, which is no entry of the prompts"
    persona = next((p for p, text in book.personas.items() if text.strip()), NO_PERSONA)
    settings = [
        *({"condition": condition} for condition in book.conditions),
        *({"variant": variant} for variant in book.variants[1:]),
        {"personas": persona},
    ]
    told: dict[str, None] = {}
    for setting in settings:
        reader = ReadingMind(setting.get("personas", NO_PERSONA))
        asked = case.played(minds=reader, **setting).total.asks
        where = ", ".join(f"{name} {value}" for name, value in setting.items())
        yield from (f"{line} ({where})" for line in reader.problems if line not in told)
        told |= reader.problems
        if not asked:
            yield f"nobody was asked anything ({where})"
        elif not reader.problems and not reader.persona_is_told:
            yield (
                "the persona is in no prompt: the entry 'scenario' needs {{ persona }}, and no "
                f"question another fact persona ({where})"
            )


def classical_minds(case: Case) -> Iterator[str]:
    """Whether the scenario's own minds give legal answers, and read only facts that are shown."""
    model, others = case.made(minds=DrawingMind()), case.free_minds
    prompts = load(model.prompt_file)
    tables = [prompts["prompts"], *prompts["conditions"].values(), *prompts["variants"].values()]
    texts = [text for table in tables for text in table.values()]
    shown = {"condition", *SINGLE.findall(" ".join(texts))}.union(*map(names_in, texts))
    code = " ".join(re.findall(r"\{[{%].*?[%}]\}", " ".join(texts), re.DOTALL))
    shown |= {f".{word}" for word in re.findall(r"\w+", code)}
    untold: dict[tuple[str, str], None] = {}
    for agent_class in model.agent_classes():
        for name in model.classical_of(agent_class):
            spec = "classical" if name == "default" else f"classical:{name}"
            minds: Any = spec
            if isinstance(others, Mapping):
                minds = {**others, agent_class.__name__: spec}
            path = Path(case.folder, "rules.sqlite")
            path.unlink(missing_ok=True)
            played = case.made(minds=minds, recording=path)
            for agent in played.population:
                agent.mind = WatchedRule(agent.mind, shown, untold)
            played.run_model()
            total = played.total
            if reason := frequent_reason(path, [0]):
                named = f"{spec} of {agent_class.__name__}" if minds is not spec else spec
                yield (
                    f"{named}: {total.invalid} of {total.asks} decisions were invalid: "
                    f"{reason.reason} The answer to {reason.name!r} was {reason.answer!r}"
                )
    for question, fact in untold:
        yield (
            f"a rule reads the fact {fact!r} of the question {question!r}, which no prompt shows: "
            f"write {{{{ {fact} }}}} into the prompt, or name it in the rule's informed = (…)"
        )


def answers(case: Case) -> Iterator[str]:
    """Whether the rules accept every legal answer, and each is read correctly."""
    mind = CoveringMind()
    case.played(minds=mind)
    yield from mind.problems


def invalid_answers(case: Case) -> Iterator[str]:
    """Check the treatment of unusable answers."""
    model = case.made(minds=Silent())
    before = echoes(case)
    kept = {column: before[column](model) for column in before}
    model.run_model()
    total, data = model.total, model.agent_frame()
    if total.invalid != total.asks:
        yield f"{total.invalid} of {total.asks} unusable decisions are counted as invalid"
    for column, values in kept.items():
        for agent, value in zip(data["agent"], data[column], strict=True):
            if not is_missing(value) and not same(value, values.get(agent)):
                yield (
                    f"{column!r} of agent {agent} is {value} though no answer could be used: it "
                    "must stay empty, or as it was"
                )
                return


def whole_run(case: Case) -> Iterator[str]:
    """Whether a run of the usual length ends, and its pictures and plots can be drawn."""
    model = case.played(minds=case.free_minds, n_rounds=case.usual_rounds)
    faults: list[str] = []
    Runs([model], [SEED], 0.0).pictures(faults)
    yield from (fault.removeprefix(f"{model.scenario_name}: ") for fault in faults)


def _named(minds: Any) -> str:
    return describe_minds(by_spec(minds))


CHECKS: Mapping[str, Callable[[Case], Iterator[str]]] = {
    "form": methods,
    "same seed": same_seed,
    "world": world,
    "latency": latency,
    "replay": replaying,
    "fork": forking,
    "mixed minds": mixed_minds,
    "people": people,
    "batch_run": batch_run,
    "prompts": prompts,
    "classical minds": classical_minds,
    "answers": answers,
    "invalid answers": invalid_answers,
    "cost": cost,
    "describe": description,
    "whole run": whole_run,
}
"""Point → its check."""


# How two runs that must be the same differ.


def differences(one: SmartModel, other: SmartModel, what: str) -> Iterator[str]:
    """A line with the first difference between the data of two runs, if there is any."""
    if difference := _difference(one, other):
        yield f"{what} differ: {difference}"


def _difference(one: SmartModel, other: SmartModel) -> str | None:
    frames = ((m.model_frame(), m.agent_frame()) for m in (one, other))
    differences = (_first(left, right) for left, right in zip(*frames, strict=True))
    return next(filter(None, differences), None)


def _first(one: pd.DataFrame, other: pd.DataFrame) -> str | None:
    if one.shape != other.shape:
        kind = "agent" if "agent" in one else "model"
        return f"the {kind} data has {len(one)} and {len(other)} rows"
    for column in one:
        values = zip(one[column], other[column], strict=True)
        for row, (left, right) in enumerate(values):
            if not same(left, right):
                row_in_words = ", ".join(f"{p} {one[p].iloc[row]}" for p in PLACES[1:] if p in one)
                return f"{column!r} in {row_in_words} is {left} and {right}"
    return None


def same(one: Any, other: Any) -> bool:
    """Whether two cells are the same, to the last digit."""
    if is_missing(one) or is_missing(other):
        return is_missing(one) and is_missing(other)
    one, other = (
        value.item() if isinstance(value, np.generic) else value for value in (one, other)
    )
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return repr(one) == repr(other)  # of any type, lists of numbers too


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN or no text."""
    return (
        value is None
        or (isinstance(value, str) and not value)
        or (isinstance(value, float) and math.isnan(value))
    )


# Agent columns that hold what agents answer.


def echoes(case: Case) -> Mapping[str, Callable[[SmartModel], dict[int, Any]]]:
    """Agent columns that equal, in every row, the agent's answer to one of the questions.

    The result is column → the function that returns its values in a model: agent → value.
    """
    mind = NotingMind()
    data = case.played(minds=mind).agent_frame()
    model = case.made(minds=DrawingMind())
    columns = {
        column: attribute
        for agent_class in model.agent_classes()
        for column, attribute in model.columns_of(agent_class).items()
    }
    return {
        column: _values(attribute)
        for column, attribute in columns.items()
        if any(_echoes(data, column, question, mind) for question in mind.questions)
    }


def _echoes(data: Any, column: str, question: str, mind: NotingMind) -> bool:
    rows = zip(data["round"], data["agent"], data[column], strict=True)
    pairs = [
        (mind.noted[question, round_, agent], value)
        for round_, agent, value in rows
        if (question, round_, agent) in mind.noted
    ]
    alike = all(not isinstance(cell, bool) and cell == answer for answer, cell in pairs)
    return alike and len({answer for answer, _ in pairs}) >= LEAST


def _values(attribute: str) -> Callable[[SmartModel], dict[int, Any]]:
    read = attrgetter(attribute)

    def values(model: SmartModel) -> dict[int, Any]:
        values = {}
        for agent in model.population:
            try:
                values[agent.unique_id] = read(agent)
            except AttributeError:
                values[agent.unique_id] = None
        return values

    return values
