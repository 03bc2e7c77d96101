"""Plain Mesa models with minds: a `mesa.Model` that keeps its own ``step()``.

`HostedModel` is a `SmartModel` around a plain model. It contains proxies of the plain agents, asks
their minds, and records. The rules, the scheduler and the data collector remain those of the plain
model. So recordings, caps, replay, resume and sweeps work as for every scenario. `Minds`
(`sabm_mesa.runs.door`) is the interface for the plain model.
"""

from __future__ import annotations

import copyreg
import inspect
import math
import re
import sys
from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, Protocol, get_args

import mesa
import numpy as np

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core import engine
from sabm_mesa.core.answers import AnswerSpec, Decision
from sabm_mesa.core.asks import Observation
from sabm_mesa.core.parameters import MOST, parameters_of
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.core.scheduler import await_all
from sabm_mesa.core.streams import entropy
from sabm_mesa.core.usage import NO_FAILURES, Failures, Usage
from sabm_mesa.errors import RunError, SabmError, UsageError, error_message, format_user_error
from sabm_mesa.minds.base import ClassicalMind, Mind
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.collector import RoundCollector
from sabm_mesa.models.entries import round_rows

STEP = "step"
"""The phase of all questions of a plain model, in recordings."""
UNENDING = MOST
"""The number of rounds of a run that a script steps."""
NOT_PASSED = frozenset({"self", "minds", "record", "rng", "seed", "simulator"})
"""Arguments of a plain model's constructor that are not its parameters."""


@dataclass(frozen=True, slots=True)
class Facts(Observation):
    """The observation of a plain agent: facts by name, also as attributes.

    Attributes:
        facts: name → text or number.
    """

    facts: Mapping[str, str | float] = field(default_factory=dict, kw_only=True)

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value: the facts, the persona and the memory."""
        return {**Observation.placeholders(self, book), **self.facts}

    def __getattr__(self, name: str) -> Any:
        """Return a fact."""
        if name.startswith("__") or name not in self.facts:
            raise AttributeError(name)
        return self.facts[name]


class PlainAsk(NamedTuple):
    """A question of a plain agent.

    Attributes:
        agent: the agent.
        name: the prompt entry.
        spec: the legal answers.
        facts: the facts for the prompt.
    """

    agent: mesa.Agent
    name: str
    spec: AnswerSpec
    facts: Mapping[str, Any]


class Door(Protocol):
    """The settings of a plain model for its minds (`sabm_mesa.Minds`)."""

    prompts: Any
    minds: Any
    rules: dict[str, Callable[[Any], Any]]
    agents: tuple[type, ...]


class RuleMind(ClassicalMind):
    """The rules of a plain model: name of a question → function of the question.

    Args:
        rules: the functions; each takes the `Ask` and returns the answer.
    """

    def __init__(self, rules: Mapping[str, Callable[[Any], Any]]) -> None:
        super().__init__()
        self._rules = rules

    async def answer(self, ask: Any) -> Any:
        """Return the answer of the rule.

        Raises:
            UsageError: for a question without a rule.
        """
        rule = self._rules.get(ask.name)
        if rule is None:
            raise UsageError(
                f"No classical rule answers {ask.name!r}: give Minds(…, classical={{{ask.name!r}: "
                "rule}), or other minds."
            )
        return rule(ask)


class ProxyAgent(SmartAgent):
    """The mind of one plain agent, with its id.

    Args:
        model: the `HostedModel`.
        agent: the plain agent.
    """

    def __init__(self, model: HostedModel, agent: mesa.Agent) -> None:
        model.agent_id_counter = agent.unique_id
        super().__init__(model)


class _OfTheRun:
    """The prompt file of a hosted model, known from its constructor only."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        """Raise an error on the class."""
        raise UsageError(
            f"{owner.hosts.__name__} is a plain Mesa model, whose prompts are known in its runs "
            "only: this is for scenarios (SmartModel)."
        )


class _HostedType(type):
    """The metaclass of the classes from `hosted`, for `pickle`, which cannot find them by name."""


def _made_anew(cls: Any) -> Any:
    """Recreate such a class in another process from the class of the plain model."""
    if "hosts" not in vars(cls):
        return cls.__qualname__
    return partial(hosted, joined=cls.joined), (cls.hosts,)


copyreg.pickle(_HostedType, _made_anew)


class HostedModel(SmartModel, metaclass=_HostedType):
    """A run of a plain Mesa model, whose agents ask through `Minds`.

    Class attributes:
        hosts: the class of the plain model.
        joined: as in `hosted`.

    Attributes:
        plain: the plain model.
        door: its `Minds`.
    """

    hosts: ClassVar[type[mesa.Model]]
    joined: ClassVar[bool] = False
    prompt_file = _OfTheRun()
    door: Any = None
    phases = ()

    def __init__(self, **given: Any) -> None:
        if given.get("n_rounds") == UNENDING and _joining.get() is None:
            raise UsageError(
                f"This run of {self.hosts.__name__} was played by a script: run the script again, "
                "with Minds(…, record=FILE, resume=True) or Minds(…, replay=FILE)."
            )
        common = parameters_of(SmartModel)
        settings = {name: given.pop(name) for name in [*given] if name in common}
        seed = entropy(settings.pop("rng", None))
        self._proxies_by_id: dict[int, ProxyAgent] = {}
        self.playing = False
        if (joined := _joining.get()) is not None:
            self._of_plain, self.door = joined
        else:
            made = self._construct(given, settings.get("minds"), seed)
            self._of_plain = lambda: made
            if self.door is None:
                raise UsageError(
                    f"{self.hosts.__name__} has no minds: make them in its constructor, as in "
                    "self.minds = Minds(self, minds, prompts=…)."
                )
        if settings.get("minds") is None:
            settings["minds"] = self.door.minds
            self.parameters = {**self.parameters, "minds": self.door.minds}
        vars(self)["prompt_file"] = self.door.prompts
        super().__init__(rng=list(seed), **settings)
        if joined is None:  # otherwise the plain model is still incomplete
            self._make_proxies()

    def _construct(self, given: Mapping[str, Any], minds: Any, seed: Sequence[int]) -> Any:
        """Make the plain model; its `Minds` join this run."""
        known, passed = inspect.signature(self.hosts.__init__).parameters, dict(given)
        seed_name = next((name for name in ("rng", "seed") if name in known), None)
        word = seed[0] if len(seed) == 1 else list(seed)
        scenario = _scenario_class(self.hosts)
        if scenario is not None:
            fields = {name: passed.pop(name) for name in _fields_of(scenario) if name in passed}
            passed["scenario"] = scenario(rng=word, **fields)
        elif seed_name is not None:
            passed[seed_name] = word
        elif "scenario" in known:
            raise UsageError(
                f"The class of the scenario that {self.hosts.__name__}.__init__ takes is not "
                "clear: annotate it, as in scenario: MyScenario | None = None."
            )
        else:
            raise UsageError(
                f"{self.hosts.__name__}.__init__ takes no rng, so its runs cannot be "
                "repeated: add rng=None and pass it to super().__init__(rng=rng)."
            )
        if "minds" in known and minds is not None:
            passed["minds"] = minds
        if "simulator" in known:
            from mesa.experimental.devs import ABMSimulator

            passed["simulator"] = ABMSimulator()
        token = _host.set(self)
        try:
            made: Any = self.hosts(**passed)
        except SabmError:
            raise
        except Exception as error:
            name = self.hosts.__name__
            raise UsageError(f"{name} cannot be made: {format_user_error(error)}") from error
        finally:
            _host.reset(token)
        return made

    def check_made(self) -> None:
        """Nothing to check: it has no phases and no agents."""

    @property
    def plain(self) -> Any:
        """The plain model.

        Raises:
            RunError: when it no longer exists.
        """
        wrapped = self._of_plain()
        if wrapped is None:
            raise RunError("The model of these minds no longer exists.")
        return wrapped

    def classical_of(
        self,
        agent_class: type[SmartAgent],  # noqa: ARG002 - the rules are those of all classes
    ) -> Mapping[str, Callable[[str], Mind]]:
        """The rules of the plain model, as its only classical mind."""
        return {"default": lambda _: RuleMind(self.door.rules)} if self.door.rules else {}

    def columns(self) -> Mapping[str, str]:
        """The columns of the plain model's data collector, once it exists."""
        return (
            {name: name for name in vars(self)["_mirror"].names} if "_mirror" in vars(self) else {}
        )

    def begin(self) -> None:
        """Give the agents of the plain model their minds, and start the recording of the run."""
        if not self._begun and not self._proxies_by_id:
            self._make_proxies()
        super().begin()

    def _make_proxies(self) -> None:
        """Give the agents their minds and personas, by class and in the order of their ids."""
        self._mirror = MirrorCollector(self.plain)
        self.datacollector = self._mirror
        here = [agent for agent in self.plain.agents if isinstance(agent, self.door.agents)]
        by_class: dict[type[ProxyAgent], list[mesa.Agent]] = {}
        for agent in sorted(here, key=attrgetter("unique_id")):
            by_class.setdefault(_proxy_class(type(agent)), []).append(agent)
        numbers: dict[type[SmartAgent], int] = {
            kind: len(group) for kind, group in by_class.items()
        }
        minds, personas = self.population.spread(numbers)
        agents = [agent for group in by_class.values() for agent in group]
        for agent, mind, persona in zip(agents, minds, personas, strict=True):
            self._proxy(agent, mind, persona)

    def _proxy(self, agent: mesa.Agent, mind: Any, persona: str) -> ProxyAgent:
        kind = _proxy_class(type(agent))
        proxy = kind(self, agent)
        proxy.given_mind, proxy.persona = mind, persona
        proxy.mind = self.population.maker(kind, mind)(proxy)
        insort(self.population, proxy, key=attrgetter("unique_id"))
        self._proxies_by_id[agent.unique_id] = proxy
        return proxy

    def proxy_of(self, agent: mesa.Agent) -> ProxyAgent:
        """The proxy of a plain agent; a new agent draws its mind and persona.

        Args:
            agent: the agent.
        """
        if (proxy := self._proxies_by_id.get(agent.unique_id)) is not None:
            return proxy
        kind = _proxy_class(type(agent))
        self.population.declare(kind)
        proxy = kind(self, agent)
        mind, persona = self.population.of_newborn(proxy, None)
        proxy.remove()
        return self._proxy(agent, mind, persona)

    def step(self) -> None:
        """Run a step of the plain model; do nothing if the run has ended.

        Raises:
            RunError: when the plain model, a mind or the recording fails; the run has ended then.
        """
        if not self.running:
            return
        check_simulator(self.plain)
        self.begin()
        try:
            self.start_round(self.round + 1)
            self._advance()
            self.end_rounds(self.round)
            if not self.plain.running or self.round + 1 >= self.n_rounds:
                self.running = False
                engine.run(self.recorder.finish(measures=self.end_measures))
        except BaseException as error:
            self.fail(error)
            if isinstance(error, SabmError) or not isinstance(error, Exception):
                raise
            where = f"{self.hosts.__name__}, step {self.round + 1}"
            raise RunError(f"{where}: {format_user_error(error)}") from error
        finally:
            self._release()

    def _advance(self) -> None:
        """Advance the time by one step, including the events of a simulator of Mesa before 3.5."""
        simulator: Any = getattr(self.plain, "simulator", None)
        if hasattr(simulator, "run_for"):
            simulator.run_for(1)
        else:
            self.plain.step()

    def start_round(self, round_: int) -> None:
        """Begin a round: a step of the plain model.

        Args:
            round_: the number of the round, from 0.
        """
        self.round, self.playing, self.usage = round_, True, Usage()

    def end_rounds(self, last: int) -> None:
        """End the current round and all rounds up to a given one, with their data.

        Args:
            last: the last of these rounds; the rounds after the current one had no questions.
        """
        first, collector = self.round, self._mirror
        rows = collector.rows(first, last)
        for round_, collection in zip(range(first, last + 1), rows, strict=True):
            self._end_round()
            collector.add(self, collection)
            self.recorder.collect(round_, partial(round_rows, self))
            if round_ < last:
                self.start_round(round_ + 1)
        if (plain := self._of_plain()) is not None:
            for gone in self._proxies_by_id.keys() - {agent.unique_id for agent in plain.agents}:
                self._proxies_by_id.pop(gone).remove()

    def fail(self, error: BaseException) -> None:
        """End the run with an error; answers are kept, and the run can be resumed.

        Args:
            error: the error.
        """
        self.running = False
        if self.playing:
            self._end_round()
        engine.run(self.recorder.finish(error_message(error)))

    def ask_all(self, questions: Sequence[PlainAsk]) -> list[Decision]:
        """Ask several agents at the same time.

        Args:
            questions: the questions.

        Returns:
            The decisions, in the order of the questions.

        Raises:
            RunError: for facts that are not texts or numbers; when a mind or the recording fails.
        """
        parts = []
        for turn, question in enumerate(questions):
            proxy = self.proxy_of(question.agent)
            known = {name: _fact(name, value) for name, value in question.facts.items()}
            proxy.begin(STEP, turn)
            seen = Facts(facts=known, persona=proxy.persona)
            parts.append((proxy, proxy.ask(question.name, question.spec, seen)))
        decisions = engine.run(await_all(part for _, part in parts), self._scope)
        self.critical_path_asks += max((proxy.attempts for proxy, _ in parts), default=0)
        return decisions

    def end_measures(self) -> dict[str, Any]:
        """The last row of the plain model's data."""
        collector = self._mirror
        return {name: collector.model_vars[name][-1] for name in collector.names if self.round >= 0}

    def release(self) -> None:
        """Close the recording and the minds of a run that has ended."""
        self._release()

    @classmethod
    def check_changeable(cls, names: Any) -> None:  # noqa: ARG003 - none can
        """Refuse forks: the state of a plain model between steps cannot be copied.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            f"A run of {cls.hosts.__name__}, a plain Mesa model, cannot be forked: only scenarios "
            "(SmartModel) can."
        )


class MirrorCollector(RoundCollector):
    """The data of a plain model's collector, one row per step, with the columns of all runs.

    A step in which the plain model collected nothing has empty cells.

    Args:
        plain: the plain model; it may have no data collector.

    Attributes:
        names: the columns of the plain model.
    """

    def __init__(self, plain: Any) -> None:
        super().__init__({}, {})
        self._source: Any = getattr(plain, "datacollector", None)
        names = list(getattr(self._source, "model_vars", ()))
        of_agents = list(getattr(self._source, "agent_reporters", ()))
        self.names, self._of_agents = names, of_agents
        self.model_reporters = dict.fromkeys([*names, *self.model_reporters])
        self.model_vars = {name: [] for name in self.model_reporters}
        self.agent_reporters = dict.fromkeys(["mind", *of_agents, *self.agent_reporters])
        # The number of collections before the first step, and whether a step begins with one. This
        # matters only if Mesa stores no times.
        now, step = len(self._steps()), step_of(plain)
        more = now - max(0, step)
        self._collected = now if step < 0 else min(max(0, more), _collects_at_first(type(plain)))
        self._ahead = step >= 0 and more > self._collected

    def add_class(self, agent_class: type[SmartAgent]) -> None:
        """Add nothing: the columns are those of the plain collector."""

    def _set_agent_reporters(self) -> None:
        self.agent_reporters = dict.fromkeys(Failures._fields)

    def _steps(self) -> list[Any]:
        """The keys of the collections of the plain collector so far."""
        if self.names:
            return list(range(len(self._source.model_vars[self.names[0]])))
        return list(getattr(self._source, "_agent_records", ()))

    def _times(self) -> list[int] | None:
        """The step of each collection, from 0; None if Mesa stores no times."""
        times = getattr(self._source, "_collection_steps", ())  # since Mesa 3.5
        times = times or list(getattr(self._source, "_agent_records", ()))
        if len(times) != len(self._steps()):
            return None
        return [math.ceil(time) - 1 for time in times]

    def rows(self, first: int, last: int) -> list[int | None]:
        """The collections of steps.

        Args:
            first: the first of the steps.
            last: the last of them.

        Returns:
            For each step the number of its collection, or None.
        """
        if (times := self._times()) is not None:
            by_step = {step: i for i, step in enumerate(times)}
            return [by_step.get(step) for step in range(first, last + 1)]
        n = last + 1 - first
        new = list(range(self._collected, len(self._steps())))
        if self._ahead and len(new) == n + 1:  # the last one belongs to a step that has just begun
            new.pop()
        self._collected += len(new)
        if len(new) >= n:
            return list(new[-n:])
        return [*[None] * (n - len(new)), *new] if len(new) < 2 else [*[None] * (n - 1), new[-1]]

    def add(self, model: HostedModel, collection: int | None) -> None:
        """Add the row of a step.

        Args:
            model: the model.
            collection: the number of its collection, or None.
        """
        for name in self.names:
            value = None if collection is None else self._source.model_vars[name][collection]
            self.model_vars[name].append(_plain_value(deepcopy(value)))
        usage = model.usage
        for name, values in self.model_vars.items():
            if name not in self.names:
                values.append(getattr(usage, name))
        # Mesa offers no other way without pandas; the keys are times, or numbers of steps from 1.
        by_time: dict[float, Any] = getattr(self._source, "_agent_records", {})
        last = next((t for t in reversed(by_time) if math.ceil(t) - 1 <= model.round), None)
        collected = by_time[last] if last is not None and math.ceil(last) > model.round else ()
        records = {record[1]: record[2:] for record in collected}
        self._agent_records[model.round] = list(self._agent_rows(model, records))

    def _agent_rows(
        self, model: HostedModel, records: Mapping[int, Sequence[Any]]
    ) -> Iterator[tuple[Any, ...]]:
        proxies = {proxy.unique_id: proxy for proxy in model.agents_here()}
        nothing = [None] * len(self._of_agents)
        for agent in sorted(proxies.keys() | records.keys()):
            values = [_plain_value(value) for value in records.get(agent, nothing)]
            mind = proxies[agent].decider if agent in proxies else None
            failures = model.usage.by_agent.get(agent, NO_FAILURES)
            yield (model.round + 1, agent, mind, *values, *failures)


@contextmanager
def joining(plain: Callable[[], Any], door: Door) -> Iterator[None]:
    """In this context, a new hosted model joins an existing plain model.

    Args:
        plain: returns the plain model, or None if it no longer exists.
        door: its minds.
    """
    token = _joining.set((plain, door))
    try:
        yield
    finally:
        _joining.reset(token)


def host_being_made() -> HostedModel | None:
    """The hosted model whose plain model is being made, or None."""
    return _host.get()


def _collects_at_first(model: type) -> bool:
    """Whether the constructor of a plain model collects data, judged by the names in its code."""
    names, known = ["__init__"], {"step"}
    classes = model.__mro__[: model.__mro__.index(mesa.Model)]
    while names:
        if (name := names.pop()) in known:
            continue
        known.add(name)
        for base in classes:
            code = getattr(vars(base).get(name), "__code__", None)
            used = () if code is None else code.co_names
            if "collect" in used:
                return True
            names += used
    return False


_hosted: dict[tuple[Any, bool], type[HostedModel]] = {}
_proxies: dict[Any, type[ProxyAgent]] = {}
_host: ContextVar[HostedModel | None] = ContextVar("host", default=None)
_joining: ContextVar[tuple[Callable[[], Any], Any] | None] = ContextVar("joining", default=None)


def hosted(model: type[mesa.Model], *, joined: bool = False) -> type[HostedModel]:
    """The class that plays runs of a plain model.

    Args:
        model: the class of the plain model.
        joined: whether its models join existing plain models and take no parameters of the plain
            model.

    Raises:
        UsageError: when a parameter of the plain model has the name of a parameter of all runs.
    """
    if (model, joined) in _hosted:
        return _hosted[model, joined]
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(model.__init__).parameters.items()
        if not joined
        and name not in NOT_PASSED
        and parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}
    ]
    if not joined and (scenario := _scenario_class(model)) is not None:
        parameters = [
            *(parameter for parameter in parameters if parameter.name != "scenario"),
            *(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
                for name, default in _fields_of(scenario).items()
            ),
        ]
    common = parameters_of(SmartModel)
    taken = [
        parameter.name
        for parameter in parameters
        if parameter.name in common and parameter.name != "n_rounds"
    ]
    if taken:
        raise UsageError(
            f"{model.__name__} has a parameter {taken[0]!r}, which all runs have: choose another "
            "name."
        )
    rounds = inspect.Parameter(
        "n_rounds", inspect.Parameter.KEYWORD_ONLY, default=100, annotation=int
    )
    minds = inspect.Parameter("minds", inspect.Parameter.KEYWORD_ONLY, default=None)
    parameters = [parameter for parameter in parameters if parameter.name != "n_rounds"]
    rest = inspect.Parameter("settings", inspect.Parameter.VAR_KEYWORD)
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    def made(self: HostedModel, **given: Any) -> None:
        HostedModel.__init__(self, **given)

    signature = inspect.Signature([first, *parameters, rounds, minds, rest])
    setattr(made, "__signature__", signature)  # noqa: B010 - for mypy
    fields = {
        "__init__": made, "__module__": model.__module__, "__doc__": model.__doc__,
        "hosts": model, "joined": joined, "title": model.__name__,
    }  # fmt: skip
    made_class: Any = _HostedType(model.__name__, (HostedModel,), fields)
    _hosted[model, joined] = made_class
    return _hosted[model, joined]


def _proxy_class(agent_class: type) -> type[ProxyAgent]:
    """The class of the proxies of agents of a plain class; it has the name of that class."""
    if agent_class not in _proxies:
        fields = {"__module__": __name__}
        _proxies[agent_class] = type(agent_class.__name__, (ProxyAgent,), fields)
    return _proxies[agent_class]


def _scenario_class(model: type[mesa.Model]) -> type[Any] | None:
    """The class of Mesa's scenarios that a plain model takes, since Mesa 3.5; or None.

    It is the annotation or the default of the parameter ``scenario``, or the only such class in the
    module of the model.
    """
    taken = inspect.signature(model.__init__).parameters.get("scenario")
    if taken is None:
        return None
    here = vars(sys.modules[model.__module__])
    words = re.findall(r"\w+", taken.annotation) if isinstance(taken.annotation, str) else ()
    named = [here.get(word) for word in words] or [*get_args(taken.annotation), taken.annotation]
    for candidate in (*named, taken.default):
        if _is_scenario(candidate):
            return candidate  # type: ignore[no-any-return]
    in_module = {id(value): value for value in here.values() if _is_scenario(value)}
    return next(iter(in_module.values())) if len(in_module) == 1 else None


def _is_scenario(value: Any) -> bool:
    """Whether a value is a class of Mesa scenarios with parameters."""
    return isinstance(value, type) and bool(getattr(value, "_scenario_defaults", None))


def _fields_of(scenario: type[Any]) -> dict[str, Any]:
    """The parameters of a class of scenarios: name → default."""
    defaults: dict[str, Any] = scenario._scenario_defaults  # noqa: SLF001 - Mesa has no other
    return {name: default for name, default in defaults.items() if name != "rng"}


def check_simulator(model: Any) -> None:
    """Check that Mesa stores the time of a plain model that a simulator runs.

    Args:
        model: the plain model.

    Raises:
        RunError: for a `DEVSimulator` of Mesa before 3.5, whose models have neither steps nor time.
    """
    unit = getattr(getattr(model, "simulator", None), "time_unit", None)
    if unit is float and not hasattr(model, "time"):
        raise RunError(
            f"{type(model).__name__} is run by a DEVSimulator, in which Mesa {mesa.__version__} "
            "counts no steps: use an ABMSimulator, or model.schedule_event of Mesa 3.5."
        )


def step_of(model: mesa.Model) -> int:
    """The step that a plain model is in, from 0; −1 before the first.

    With events, a round is the time from one whole number to the next.

    Args:
        model: the plain model.
    """
    return max(model.steps, math.ceil(getattr(model, "time", 0))) - 1


def _fact(name: str, value: Any) -> str | float:
    """A fact as a text or a Python number.

    Raises:
        RunError: for anything else.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | int | float):
        return value
    raise RunError(
        f"The fact {name!r} is a {type(value).__name__}: minds are given texts and numbers."
    )


def _plain_value(value: Any) -> Any:
    """A collected value for JSON, with NumPy numbers converted to Python numbers."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
