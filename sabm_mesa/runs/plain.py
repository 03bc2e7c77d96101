"""Minds for the agents of a plain Mesa model, which keeps its own ``step()``.

The author of the plain model creates `Minds`. Behind it is a `PlainRun`: a `SmartModel` with a
proxy of each plain agent, so recordings, caps, replay, resume and sweeps work as for every
scenario. In a script, the plain model comes first and its `Minds` make the run. In a command, the
run comes first and makes the plain model.
"""

from __future__ import annotations

import atexit
import copyreg
import inspect
import math
import multiprocessing.util
import os
import re
import signal
import sys
import threading
import weakref
from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar, copy_context
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

import mesa
from greenlet import getcurrent, greenlet

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core import engine
from sabm_mesa.core.answers import AnswerSpec, Decision
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.parameters import MOST, parameters_of
from sabm_mesa.core.prompts import beside
from sabm_mesa.core.scheduler import await_all
from sabm_mesa.core.streams import entropy
from sabm_mesa.core.usage import NO_FAILURES, Failures, Usage
from sabm_mesa.errors import (
    MindSpecError,
    RunError,
    SabmError,
    UsageError,
    add_place,
    error_message,
    failure,
)
from sabm_mesa.llm import Budget, Connection
from sabm_mesa.minds.base import Mind, RuleMind, name_of
from sabm_mesa.minds.specs import CLASSICAL, objects_by_spec
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.collector import COLUMNS_OF_ASKS, RoundCollector
from sabm_mesa.models.entries import round_rows
from sabm_mesa.recording import Recording, load_runs
from sabm_mesa.recording.replaying import ReplayRecorder
from sabm_mesa.runs.rerun import claimed, with_spent

Question = tuple[mesa.Agent, str, AnswerSpec, Mapping[str, Any]]
"""A plain agent, the name of its question, the legal answers, and the facts."""
STEP = "step"
"""The phase of all questions of a plain model, in recordings."""
UNENDING = MOST
"""The number of rounds of a run that a script steps."""
NOT_PASSED = frozenset({"self", "minds", "record", "rng", "seed", "simulator"})
"""Arguments of a plain model's constructor that are not its parameters."""
ENDS = "sabm-end"
"""The name of a thread that ends runs."""
_being_made: ContextVar[PlainRun | None] = ContextVar("being_made", default=None)
"""The run of a command that is making its plain model."""
_open: set[PlainRun] = set()
"""The runs of scripts that have not ended."""
_changing = threading.RLock()
"""Held while a run of a script ends, or begins a round."""


class ProxyAgent(SmartAgent):
    """The mind of one plain agent, with its id."""

    def __init__(self, run: PlainRun, agent: mesa.Agent) -> None:
        run.agent_id_counter = agent.unique_id
        super().__init__(run)


class _OfTheRun:
    """The prompt file of a plain model, known in its runs only."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        raise UsageError(
            f"{owner.plain_class.__name__} is a plain Mesa model, whose prompts are known in its "
            "runs only: this is for scenarios (SmartModel)."
        )


class _PlainRunType(type):
    """The metaclass of the classes from `run_class`, for `pickle`: no module has their names."""


class PlainRun(SmartModel, metaclass=_PlainRunType):
    """A run of a plain Mesa model, whose agents ask through `Minds` (the attribute `door`)."""

    plain_class: ClassVar[type[mesa.Model]]
    taken: ClassVar[Sequence[str]] = ()
    """Parameters of the plain model with the names of parameters of all runs."""
    prompt_file = _OfTheRun()
    phases = ()
    running, round, playing = True, -1, False
    in_step = False
    """Whether a script is in a step of the plain model."""
    door: Any = None
    opened: Recording | None = None
    """The recording that the run closes at its end."""
    datacollector: Any = None
    _plain: Callable[[], Any]

    def __init__(self, **given: Any) -> None:
        common = parameters_of(SmartModel)
        settings = {name: given.pop(name) for name in [*given] if name in common}
        seed = entropy(settings.pop("rng", None))
        if in_command := self.door is None:
            if settings.get("n_rounds") == UNENDING:
                raise UsageError(
                    f"This run of {self.plain_class.__name__} was played by a script: run the "
                    "script again, with Minds(…, record=FILE, resume=True) or Minds(…, "
                    "replay=FILE)."
                )
            self._made = self._make(given, seed, settings.get("minds"))
        else:  # only the script knows the other parameters
            self.parameters = {k: v for k, v in self.parameters.items() if k in common}
        if settings.get("minds") is None:
            settings["minds"] = self.parameters["minds"] = self.door.minds
        vars(self)["prompt_file"] = self.door.prompts
        self._proxies = weakref.WeakKeyDictionary[mesa.Agent, ProxyAgent]()
        super().__init__(rng=list(seed), **settings)
        if in_command:  # in a script, the plain model is still incomplete
            self._make_proxies()

    def _make(self, given: Mapping[str, Any], seed: Sequence[int], minds: Any) -> Any:
        """Make the plain model, whose `Minds` join this run."""
        name, more = self.plain_class.__name__, self._seeded(dict(given), seed)
        known = inspect.signature(self.plain_class.__init__).parameters
        if "minds" in known and minds is not None:
            more["minds"] = minds
        if "simulator" in known:  # of Mesa before 3.5
            from mesa.experimental.devs import ABMSimulator

            more["simulator"] = ABMSimulator()
        token = _being_made.set(self)
        try:
            made = self.plain_class(**more)
        finally:
            _being_made.reset(token)
        if self.door is None:
            raise UsageError(
                f"{name} has no minds: make them in its constructor, as in "
                "self.minds = Minds(self, minds, prompts=…)."
            )
        return made

    def _seeded(self, given: dict[str, Any], seed: Sequence[int]) -> dict[str, Any]:
        """The arguments of the plain model, with the seed or a scenario of Mesa that has it."""
        name = self.plain_class.__name__
        if self.taken:
            raise UsageError(
                f"{name} has a parameter {self.taken[0]!r}, which all runs have: choose another "
                "name."
            )
        known = inspect.signature(self.plain_class.__init__).parameters
        word = seed[0] if len(seed) == 1 else list(seed)
        if (scenario := _scenario_class(self.plain_class)) is not None:
            fields = {field: given.pop(field) for field in _fields_of(scenario) if field in given}
            return {**given, "scenario": scenario(rng=word, **fields)}
        for seed_name in ("rng", "seed"):
            if seed_name in known:
                return {**given, seed_name: word}
        if "scenario" in known:
            raise UsageError(
                f"The class of the scenario that {name}.__init__ takes is not clear: annotate it, "
                "as in scenario: MyScenario | None = None."
            )
        raise UsageError(
            f"{name}.__init__ takes no rng, so its runs cannot be repeated: add rng=None and pass "
            "it to super().__init__(rng=rng)."
        )

    @property
    def plain(self) -> Any:
        """The plain model; None when a script has dropped it."""
        return self._plain()

    def join(self, door: Minds, plain: mesa.Model, opened: Recording | None = None) -> None:
        """Become the run of a plain model, which has made its minds."""
        self.door, self._plain, self.opened = door, weakref.ref(plain), opened

    def check_made(self) -> None:
        """Nothing to check: it has no phases and no agents."""

    def classical_of(self, _: type[SmartAgent]) -> Mapping[str, Callable[[str], Mind]]:
        """The rules of the plain model, as the only classical mind of all classes."""
        return {"default": partial(RuleMind, self._by_rule)} if self.door.rules else {}

    def _by_rule(self, ask: Ask) -> Any:
        if ask.name not in self.door.rules:
            raise UsageError(
                f"No classical rule answers {ask.name!r}: give Minds(…, classical={{{ask.name!r}: "
                "rule}), or other minds."
            )
        return self.door.rules[ask.name](ask)

    def columns(self) -> Mapping[str, str]:
        """The columns of the plain model's data collector, once it exists."""
        return {name: name for name in getattr(self.datacollector, "names", ())}

    def begin(self) -> None:
        """Give the agents of the plain model their minds, and start the recording of the run."""
        if not isinstance(self.datacollector, PlainCollector):
            self._make_proxies()
        super().begin()

    def _make_proxies(self) -> None:
        """Give the agents their minds and personas, by class and in the order of their ids."""
        self.datacollector = PlainCollector(self)
        here: list[Any] = [
            agent for agent in self.plain.agents if isinstance(agent, self.door.agents)
        ]
        by_class: dict[type[SmartAgent], list[Any]] = {}
        for agent in sorted(here, key=_id_of):
            by_class.setdefault(_proxy_class(agent.__class__), []).append(agent)
        numbers = {kind: len(group) for kind, group in by_class.items()}
        agents = [agent for group in by_class.values() for agent in group]
        for agent, *given in zip(agents, *self.population.spread(numbers), strict=True):
            self._add_proxy(agent, given)

    def _add_proxy(self, agent: Any, given: Sequence[Any] = ()) -> ProxyAgent:
        """Make the proxy of an agent, with a given mind and persona or those of a newborn."""
        with suppress(KeyError):
            self.population.of_id(_id_of(agent))
            raise RunError(
                f"{type(agent).__name__} {agent.unique_id} has the id of an earlier agent: keep "
                "the ids that Mesa gives."
            )
        kind = _proxy_class(agent.__class__)
        self.population.declare(kind)
        proxy = kind(self, agent)
        proxy.given_mind, proxy.persona = given or self.population.of_newborn(proxy, None)
        if name_of(proxy.given_mind) == CLASSICAL and not self.door.rules:
            raise MindSpecError(
                f"{self.plain_class.__name__} has no rules: give Minds(…, classical={{question: "
                "rule}), or name other minds, such as --minds llm:MODEL or fixed:VALUE."
            )
        proxy.mind = self.population.maker(kind, proxy.given_mind)(proxy)
        insort(self.population, proxy, key=attrgetter("unique_id"))
        self._proxies[agent] = proxy
        return proxy

    def step(self) -> None:
        """Run a step of the plain model; do nothing if the run has ended."""
        if not self.running:
            return
        self.begin()
        plain = self.plain
        try:
            simulator: Any = getattr(plain, "simulator", None)  # of Mesa before 3.5
            if hasattr(simulator, "run_for"):
                simulator.run_for(1)
            else:
                plain.step()
            self.enter()
            self.end_round()
            if not plain.running or self.round + 1 >= self.n_rounds:
                self.finish()
        except BaseException as error:
            self.fail(error)
            if isinstance(error, SabmError) or not isinstance(error, Exception):
                add_place(error)
                raise
            place = f"{self.plain_class.__name__}, step {step_of(plain) + 1}"
            raise failure(place, error) from error
        finally:
            self._release()

    def enter(self) -> None:
        """Begin the round of the current step; earlier steps without questions are rounds."""
        if not self.running:
            raise RunError("The run of these minds has ended: create a new model to ask again.")
        with _changing:
            while self.round < step_of(self.plain):
                if self.playing:
                    self.end_round()
                self.begin()
                self.round, self.playing, self.usage = self.round + 1, True, Usage()

    def end_round(self) -> None:
        """End the round, with its data."""
        self._end_round()
        self.datacollector.collect(self)
        self.recorder.collect(self.round, partial(round_rows, self))
        if (plain := self.plain) is not None:
            here = {self._proxies.get(agent) for agent in plain.agents}
            for proxy in set(self.agents_here()) - here:
                proxy.remove()

    def finish(self, problem: str = "") -> None:
        """End the run, early when there is a problem."""
        self.running = False
        engine.run(self.recorder.finish(problem, measures=self.end_measures))

    def fail(self, error: BaseException) -> None:
        """End the run with an error; answers are kept, and the run can be resumed."""
        if self.playing:
            self._end_round()
        self.finish(error_message(error))

    def end_script(self, problem: str) -> None:
        """End the run of a script, and close its recording."""
        try:
            if self.running and self.round >= 0:
                if self.plain is not None:
                    self.enter()
                if self.playing:
                    self.end_round()
                self.finish(problem)
        finally:
            self.running = False
            self._release()
            if self.opened is not None:
                self.opened.close()

    def ask_all(self, questions: Sequence[Question]) -> list[Decision]:
        """Ask several agents at the same time; the decisions are in the order of the questions."""
        if not self.playing:
            raise RunError("Agents can ask in a step of the model, but not in its constructor.")
        parts = []
        for turn, (agent, name, spec, facts) in enumerate(questions):
            proxy = self._proxies.get(agent) or self._add_proxy(agent)
            proxy.begin(STEP, turn)
            parts.append((proxy, proxy.ask(name, spec, **facts)))
        decisions = engine.run(await_all(part for _, part in parts), self._scope)
        self.critical_path_asks += max((proxy.attempts for proxy, _ in parts), default=0)
        return decisions

    def end_measures(self) -> dict[str, Any]:
        """The last row of the plain model's data."""
        data, names = self.datacollector.model_vars, self.columns()
        return {name: data[name][-1] for name in names if self.round >= 0}

    @classmethod
    def check_changeable(cls, _: Any) -> None:
        """Refuse forks: the state of a plain model between steps cannot be copied."""
        raise UsageError(
            f"A run of {cls.plain_class.__name__}, a plain Mesa model, cannot be forked: only "
            "scenarios (SmartModel) can."
        )


class PlainCollector(RoundCollector):
    """The data of a plain model's collector, one row per step, with the columns of all runs.

    A step in which the plain model collected nothing has empty cells. Values are those of JSON: an
    agent is its id, a cell its coordinate, a set a sorted list.
    """

    def __init__(self, run: PlainRun) -> None:
        super().__init__({}, {})
        source: Any = getattr(run.plain, "datacollector", None)
        self.names = list(getattr(source, "model_vars", ()))
        of_agents = list(getattr(source, "agent_reporters", ()))
        self.model_reporters = dict.fromkeys([*self.names, *self.model_reporters])
        self.model_vars = {name: [] for name in self.model_reporters}
        self.agent_reporters = dict.fromkeys(["mind", *of_agents, *Failures._fields])
        self._nothing = [None] * len(of_agents)
        self._collected: dict[int, tuple[list[Any], dict[int, Any]]] = {}
        if source is not None:
            source.collect = partial(_collect, source.collect, run.door)

    def add_class(self, agent_class: type[SmartAgent]) -> None:
        """Add nothing: the columns are those of the plain collector."""

    def note(self, plain: Any) -> None:
        """Note what the plain model has collected in its current step."""
        source = plain.datacollector
        values = [json_roundtrip(source.model_vars[name][-1]) for name in self.names]
        # Mesa offers no other way without pandas.
        records = next(reversed(source._agent_records.values()), ())  # noqa: SLF001
        of_agents = {row[1]: [json_roundtrip(value) for value in row[2:]] for row in records}
        self._collected[step_of(plain)] = values, of_agents

    def collect(self, run: PlainRun) -> None:
        """Add the rows of the current round."""
        nothing: tuple[list[Any], dict[int, Any]] = [None] * len(self.names), {}
        values, of_agents = self._collected.pop(run.round, nothing)
        values = [*values, *(getattr(run.usage, name) for name in COLUMNS_OF_ASKS)]
        for column, value in zip(self.model_vars.values(), values, strict=True):
            column.append(value)
        minds = {proxy.unique_id: proxy.decider for proxy in run.agents_here()}
        self._agent_records[run.round] = [
            (
                run.round + 1,
                agent,
                minds.get(agent),
                *of_agents.get(agent, self._nothing),
                *run.usage.by_agent.get(agent, NO_FAILURES),
            )
            for agent in sorted(minds.keys() | of_agents.keys())
        ]


def _collect(collect: Callable[[Any], None], minds: Minds, plain: Any) -> None:
    """Collect the data of a plain model, also for its run."""
    collect(plain)
    if (run := minds._host) is not None:  # noqa: SLF001 - a method would not be copied as one
        run.datacollector.note(plain)


@cache
def run_class(model: Any) -> type[PlainRun]:
    """The class that plays runs of a plain model."""
    own = {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(model.__init__).parameters.items()
        if name not in NOT_PASSED
        and parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}
    }
    if (scenario := _scenario_class(model)) is not None:
        own.pop("scenario")
        for name, default in _fields_of(scenario).items():
            own[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
    common = parameters_of(SmartModel)

    def constructor(
        self: PlainRun, *, n_rounds: int = 100, minds: Any = None, **settings: Any
    ) -> None:
        PlainRun.__init__(self, n_rounds=n_rounds, minds=minds, **settings)

    first, *rest = inspect.signature(constructor).parameters.values()
    parameters = [first, *(own[name] for name in own if name not in common), *rest]
    setattr(constructor, "__signature__", inspect.Signature(parameters))  # noqa: B010 - for mypy
    made: Any = _PlainRunType(model.__name__, (PlainRun,), {
        "__init__": constructor, "__module__": model.__module__, "__doc__": model.__doc__,
        "plain_class": model, "title": model.__name__,
        "taken": [name for name in own if name in common and name != "n_rounds"],
    })  # fmt: skip
    return made  # type: ignore[no-any-return]


def _reduced(cls: Any) -> Any:
    return (run_class, (cls.plain_class,)) if "plain_class" in vars(cls) else cls.__name__


copyreg.pickle(_PlainRunType, _reduced)


@cache
def _proxy_class(agent_class: Any) -> type[ProxyAgent]:
    """The class of the proxies of agents of a plain class; it has the name of that class."""
    return type(agent_class.__name__, (ProxyAgent,), {"__module__": __name__})


def _scenario_class(model: type[mesa.Model]) -> type[Any] | None:
    """The class of Mesa's scenarios (since 3.5) that a plain model takes, or None.

    It is named in the annotation of the parameter ``scenario``, or the only one in the module.
    """
    taken = inspect.signature(model.__init__).parameters.get("scenario")
    here = vars(sys.modules[model.__module__]).values() if taken is not None else ()
    known = {value for value in here if getattr(value, "_scenario_defaults", None)}
    words = re.findall(r"\w+", str(taken and taken.annotation))
    known = {value for value in known if value.__name__ in words} or known
    return known.pop() if len(known) == 1 else None


def _fields_of(scenario: type[Any]) -> dict[str, Any]:
    """The parameters of a class of scenarios: name → default."""
    defaults: dict[str, Any] = scenario._scenario_defaults  # noqa: SLF001 - Mesa has no other
    return {name: default for name, default in defaults.items() if name != "rng"}


def step_of(model: mesa.Model) -> int:
    """The step that a plain model is in, from 0; −1 before the first.

    With events, a round is the time from one whole number to the next.
    """
    return max(model.steps, math.ceil(getattr(model, "time", 0))) - 1


def _id_of(agent: mesa.Agent) -> int:
    unique_id: Any = agent.unique_id
    if not isinstance(unique_id, int) or unique_id < 0:
        raise UsageError(
            f"A {type(agent).__name__} has the id {unique_id!r}: keep the numbers that Mesa gives, "
            "and put names into another attribute."
        )
    return unique_id


class Minds:
    """Minds for the agents of a plain Mesa model.

    The model keeps its ``step()``, its scheduler and its data collector. An agent asks with `ask`,
    which waits for the decision; `ask_all` and `gather` let several agents wait at the same time.
    Questions, answers and collected data are recorded. Each step of the model is a round. The run
    ends when ``model.running`` turns false, with `close`, or with the program. A copy of the model
    has no run, so its agents cannot ask.

    ::

        class MoneyModel(mesa.Model):
            def __init__(self, n=50, minds="llm:gpt-4o-mini", rng=None):
                super().__init__(rng=rng)
                self.minds = Minds(self, minds, prompts="money.toml")
                MoneyAgent.create_agents(self, n)

    ``sabm run money.py:MoneyModel`` plays the model, too: ``--minds``, the recording and the caps
    of the command then replace those given here.

    Args:
        model: the plain model; its constructor creates the minds.
        minds: the minds, as in a scenario: one spec for all, a mapping spec → number of agents, or
            a mapping name of a class of agents → either of these.
        prompts: the prompts as a dict, as in a scenario, or the path of the prompt file, looked for
            beside the model's module first: the entry ``scenario`` and one for each question.
        classical: name of a question → function that takes the `Ask` and returns the answer. These
            are the ``classical`` minds. It reads the facts as ``ask.facts.NAME``.
        agents: the classes of the agents that have minds; all by default. If minds are given with
            numbers, the numbers must add up to the agents of these classes at the start.
        record: the path of the recording; None records a run with language models into the folder
            ``sabm_recordings``, False records nothing.
        resume: whether an unfinished run in `record` with the same seed is continued: its recorded
            part is repeated without asking, and the run continues from there.
        replay: a recording whose latest run of this model is repeated without asking; any
            difference is an error.
        budget_usd: the maximum cost in dollars. `ask` raises `BudgetExceeded` before the cap is
            passed; the recording is closed then, and can be resumed.
        connection: how language models are reached, and other caps (its ``budget``).
        settings: more parameters of runs: ``condition``, ``personas``, ``answer_format``,
            ``temperature``, ``max_tokens`` and others of `SmartModel`.

    Raises:
        UsageError: for minds, prompts or settings that cannot be used; when the run to resume has
            another seed.
    """

    _host: PlainRun | None = None
    """The run; None in a copy of the model."""
    _hub: greenlet | None = None

    def __init__(
        self,
        model: mesa.Model,
        minds: Any = "classical",
        *,
        prompts: Mapping[str, Any] | str | Path,
        classical: Mapping[str, Callable[[Any], Any]] | None = None,
        agents: type | tuple[type, ...] = mesa.Agent,
        record: str | Path | bool | None = None,
        resume: bool = False,
        replay: str | Path | None = None,
        budget_usd: float | None = None,
        connection: Connection | None = None,
        **settings: Any,
    ) -> None:
        name = type(model).__name__
        if not hasattr(model, "rng"):
            raise UsageError(f"{name} makes Minds too early: call super().__init__(rng=rng) first.")
        self.minds, self.rules, self.agents = minds, dict(classical or {}), agents
        self.prompts = prompts if isinstance(prompts, Mapping) else beside(prompts, type(model))
        if (commanded := _being_made.get()) is not None:
            if commanded.door is not None:
                raise UsageError(f"{name} makes Minds twice: make them once.")
            commanded.join(self, model)
            self._host = commanded
            return
        connection = connection or Connection()
        if budget_usd is not None:
            connection = replace(connection, budget=Budget(budget_usd))
        of_model: Any = type(model)
        kind, seed = run_class(of_model), _seed_of(model)
        recording: Any = record
        opened: Recording | None = None
        if replay is not None:
            recorded = _last_run(Path(replay), kind, seed)
            recording = ReplayRecorder(recorded, minds=objects_by_spec(minds))
        elif resume and (left := _last_run(Path(str(record)), kind, seed, unfinished=True)):
            connection = with_spent(connection, [left]).for_recorded()
            opened = Recording(left.path)
            (recording,) = claimed(opened, [left], connection, objects_by_spec(minds)).values()
        settings |= {
            "minds": minds, "rng": seed, "n_rounds": UNENDING, "recording": recording,
            "connection": connection,
        }  # fmt: skip
        run: Any = kind.__new__(kind, **settings)
        run.join(self, model, opened)
        PlainRun.__init__(run, **settings)
        self._host = run
        _open.add(run)
        _end_with_process(os.getpid())
        weakref.finalize(model, _end_unused, run).atexit = False
        simulator: Any = getattr(model, "simulator", None)
        if hasattr(simulator, "run_for"):  # of Mesa before 3.5; it compares the step with its own
            simulator.schedule_event_now(run.begin)
        else:
            setattr(model, "step", partial(self._step, model.step))  # noqa: B010 - as Mesa does

    def __reduce__(self) -> Any:
        return Minds.__new__, (Minds,)

    def ask(self, agent: mesa.Agent, name: str, spec: Any, /, **facts: Any) -> Decision:
        """Ask an agent's mind, and wait for the decision.

        Args:
            name: the prompt entry with the question.
            spec: the legal answers.
            facts: what the agent knows, as in a scenario: numbers, texts, and lists and dicts of
                these. Pass words of another agent through `quote`.

        Returns:
            The decision; its value is None, and `valid` False, when no usable answer came.

        Raises:
            BudgetExceeded: when a cap is reached.
            RunError: when the mind or the recording fails, or the run has ended.
        """
        question = agent, name, spec, facts
        if self._hub is not None and getcurrent().parent is self._hub:
            decision: Decision = self._hub.switch(question)
            return decision
        return self._ask([question])[0]

    def ask_all(
        self,
        agents: Iterable[mesa.Agent],
        name: str,
        spec: AnswerSpec | Callable[[Any], AnswerSpec],
        /,
        facts: Callable[[Any], Mapping[str, Any]] = lambda _: {},
    ) -> list[Decision]:
        """Ask several agents at the same time, and wait for all decisions.

        Args:
            name: the prompt entry with the question.
            spec: the legal answers; or a function of the agent that returns them.
            facts: a function of the agent that returns what it knows, by name.

        Returns:
            The decisions in the order of the agents.

        Raises:
            BudgetExceeded, RunError: as by `ask`.
        """
        return self._ask(
            [
                (agent, name, spec(agent) if callable(spec) else spec, facts(agent))
                for agent in agents
            ]
        )

    def gather(self, agents: Iterable[mesa.Agent], method: str = "step", *given: Any) -> None:
        """Call a method of each agent, as ``agents.do(method)`` does, with questions that overlap.

        The methods run one at a time, in the order of the agents. A method that asks is paused
        until all others have reached a question or their end; then all wait together, and continue
        in the same order. The result does not depend on latencies. It equals that of ``agents.do``
        if no agent reads or changes in the call what another one changes in it, or draws from the
        model's random stream after its question. The method of an agent that is removed while it
        waits does not continue.

        Args:
            agents: the agents, such as ``self.agents`` or ``self.agents.shuffle()``.
            given: its arguments.

        Raises:
            BudgetExceeded: when a cap is reached.
            RunError: when a mind or the recording fails, or `gather` is called within itself.
        """
        if self._hub is not None:
            raise RunError("gather cannot be called by an agent that gather has called.")
        here: Any = self._run.plain.agents
        calls: list[_Call] = []
        self._hub = getcurrent()
        try:
            for agent in list(agents):
                if agent in here:
                    calls.append(_Call(agent, partial(getattr(agent, method), *given)))
                    calls[-1].go_on(here)
            while waiting := [call for call in calls if call.waits(here)]:
                decisions = self._ask([call.question for call in waiting])
                for call, decision in zip(waiting, decisions, strict=True):
                    if call.waits(here):
                        call.go_on(here, decision)
        finally:
            self._hub = None
            for call in calls:
                if not call.dead:
                    call.throw()

    def quote(self, text: str) -> str:
        """Words of an agent, quoted for the prompts of others.

        They stay on one line, and cannot look like another part of the prompt.
        """
        return self._run.book.quote(text)

    def close(self) -> None:
        """End the run, with its recording on disk; a command does so itself."""
        if self._host is not None:
            _end(self._host)

    @property
    def recording_path(self) -> Path | None:
        """The file of the recording; None before the first step, or without a recording."""
        return self._run.recording_path

    def spent(self) -> dict[str, float]:
        """The cost of the questions so far: ``asks``, tokens and ``cost_usd``."""
        return dict(self._run.spent())

    @property
    def _run(self) -> PlainRun:
        if self._host is None:
            raise RunError("A copy of a model has no minds: create a new model to ask again.")
        return self._host

    def _ask(self, questions: Sequence[Question]) -> list[Decision]:
        run = self._run
        try:
            run.enter()
            return run.ask_all(questions)
        except SabmError as error:
            if run in _open and run.round >= 0:
                run.fail(error)
                self.close()
            raise

    def _step(self, step: Callable[..., None], *given: Any, **more: Any) -> None:
        """A step of the model in a script, which ends the run when the model stops."""
        if (run := self._host) is None or not run.running:
            step(*given, **more)
            return
        run.begin()
        run.in_step = True
        try:
            step(*given, **more)
        finally:
            run.in_step = False
        if run.running:
            self._ask([])  # a step without questions is a round, too
            if not run.plain.running:
                self.close()


# The end of the runs of scripts. Python finds garbage and handles signals at any moment, also while
# the main thread holds a lock of the engine: runs are ended on another thread then.


def _end(run: PlainRun, problem: str = "") -> None:
    """End a run, unless it has ended."""
    with _changing:
        if run in _open:
            try:
                run.end_script(problem)
            finally:
                _open.remove(run)


def _end_all() -> None:
    """End all runs at the end of the process."""
    for run in [*_open]:
        problem = getattr(sys, "last_value", "in a step" if run.in_step else "")
        _end(run, problem and f"the program ended: {problem}")


def _end_unused(run: PlainRun) -> None:
    """End the run of a model that is garbage."""
    if run in _open:
        _on_a_thread(partial(_end, run))


def _end_stopped(*_: object) -> None:
    """End all runs when the pool of a worker process stops it, and then the process."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a pool sends it also while a worker ends

    def end() -> None:
        try:
            _end_all()
        finally:
            os._exit(1)  # as without a handler

    _on_a_thread(end)


def _on_a_thread(end: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # where Python ends, no thread begins: all runs have ended
        threading.Thread(target=end, name=ENDS).start()


@cache
def _end_with_process(pid: int) -> None:
    """End all runs also with a worker process of `multiprocessing`, which skips `atexit`."""
    del pid
    if multiprocessing.parent_process() is not None:
        multiprocessing.util.Finalize(None, _end_all, exitpriority=1)
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _end_stopped)


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open.clear)


class _Call(greenlet):
    """The call of an agent's method by `Minds.gather`, which pauses when the agent asks."""

    question: Question

    def __init__(self, agent: Any, call: Callable[[], Any]) -> None:
        super().__init__(call)
        self.gr_context = copy_context()
        self._agent, self._was_here = agent, True

    def go_on(self, here: Any, *decision: Decision) -> None:
        """Run up to the next question, or the end."""
        self.question = self.switch(*decision)
        self._was_here = self._agent in here

    def waits(self, here: Any) -> bool:
        """Whether the call waits for a decision, and nobody has removed its agent meanwhile."""
        return not self.dead and (self._agent in here or not self._was_here)


def _last_run(
    path: Path,
    kind: type[PlainRun],
    seed: int | list[int],
    *,
    unfinished: bool = False,
) -> Any:
    """The latest run of a plain model in a recording, which must have the seed.

    There may be no `unfinished` one.
    """
    address = f"{kind.__module__}:{kind.__name__}"
    runs = [run for run in load_runs(path, missing_ok=unfinished) if run.model == address]
    if not runs and not unfinished:
        raise UsageError(f"{path} holds no run of {kind.__name__}.")
    runs = [run for run in runs if not (unfinished and run.finished)]
    if not runs:
        return None
    then = list(runs[-1].seed)
    if then != (seed if isinstance(seed, list) else [seed]):
        raise UsageError(
            f"{runs[-1].name} has the seed {then[0] if len(then) == 1 else then}: make the model "
            "with that seed (rng=…), or name another file."
        )
    return runs[-1]


def _seed_of(model: mesa.Model) -> int | list[int]:
    """The seed of a model's random stream."""
    given: Any = getattr(model.rng.bit_generator.seed_seq, "entropy", None)
    if isinstance(given, int):
        return given
    if isinstance(given, Sequence):
        return [int(word) for word in given]
    raise UsageError(
        f"The random stream of {type(model).__name__} was not made from an integer, so the run "
        "cannot be repeated: create the model with rng=INTEGER."
    )
