"""`Minds`: the minds of a plain Mesa model, which keeps its own ``step()``."""

from __future__ import annotations

import logging
import pickle
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import mesa
from greenlet import getcurrent, greenlet

from sabm_mesa.core import engine
from sabm_mesa.core.answers import AnswerSpec, Decision
from sabm_mesa.core.prompts import beside
from sabm_mesa.errors import RunError, SabmError, UsageError
from sabm_mesa.llm import Budget, Connection
from sabm_mesa.minds.specs import objects_by_spec
from sabm_mesa.models.hosted import (
    UNENDING,
    HostedModel,
    PlainAsk,
    check_simulator,
    host_being_made,
    hosted,
    joining,
    step_of,
)
from sabm_mesa.recording import Recording, load_runs
from sabm_mesa.recording.replaying import ReplayRecorder
from sabm_mesa.runs.rerun import spent_before

_log = logging.getLogger(__name__)

Observe = Callable[[Any], Mapping[str, Any]]
"""Returns the facts that an agent knows: name → text or number."""


class Minds:
    """Minds for the agents of a plain Mesa model.

    The model keeps its ``step()``, its scheduler and its data collector. An agent asks with `ask`,
    which waits for the decision; `ask_all` and `gather` let several agents wait at the same time.
    Questions, answers and collected data are recorded. Each step of the model is a round.

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
        prompts: the path of the prompt file, looked for beside the model's module first:
            ``[prompts]`` has the entry ``scenario`` and one for each question.
        classical: name of a question → function that takes the `Ask` and returns the answer. These
            are the ``classical`` minds. It reads the facts as ``ask.observation.NAME``.
        agents: the classes of the agents that have minds; all by default. If minds are given with
            numbers, the numbers must add up to the agents of these classes at the start.
        record: the recording; None records a run with language models into the folder
            ``sabm_recordings``, False records nothing.
        resume: whether an unfinished run in `record` with the same seed is continued: its recorded
            part is repeated without asking, and the run continues from there.
        replay: a recording whose latest run of this model is repeated without asking; any
            difference is an error.
        budget_usd: the maximum cost in dollars. `ask` raises `BudgetExceeded` before the cap is
            passed; the recording is closed then, and can be resumed.
        max_asks: the maximum number of requests.
        max_total_tokens: the maximum number of tokens sent and received.
        connection: how language models are reached.
        settings: more parameters of runs: ``condition``, ``personas``, ``answer_format``,
            ``temperature`` and others of `SmartModel`.

    Raises:
        UsageError: for minds, prompts or settings that cannot be used; when the run to resume has
            another seed.
    """

    def __init__(
        self,
        model: mesa.Model,
        minds: Any = "classical",
        *,
        prompts: str | Path,
        classical: Mapping[str, Callable[[Any], Any]] | None = None,
        agents: type | tuple[type, ...] = mesa.Agent,
        record: str | Path | bool | None = None,
        resume: bool = False,
        replay: str | Path | None = None,
        budget_usd: float | None = None,
        max_asks: int | None = None,
        max_total_tokens: int | None = None,
        connection: Connection | None = None,
        **settings: Any,
    ) -> None:
        self.minds, self.rules = minds, dict(classical or {})
        self.prompts = beside(prompts, type(model))
        self.agents = agents if isinstance(agents, tuple) else (agents,)
        self._hub: greenlet | None = None
        self._dependent: set[str] = set()
        host = host_being_made()
        if host is not None:
            if host.door is not None:
                raise UsageError(f"{type(model).__name__} makes Minds twice: make them once.")
            host.door, self._host, self._driven = self, host, True
            return
        self._driven = False
        connection = connection or Connection()
        if any(cap is not None for cap in (budget_usd, max_asks, max_total_tokens)):
            connection = replace(connection, budget=Budget(budget_usd, max_asks, max_total_tokens))
        kind, seed = hosted(type(model), joined=True), _seed_of(model)
        recording: Any = record
        self._opened: Recording | None = None
        if replay is not None:
            run = _latest(Path(replay), kind, seed, finished=None)
            recording = ReplayRecorder(run, minds=objects_by_spec(minds))
        elif resume and isinstance(record, str | Path) and Path(record).exists():
            recording, connection = self._to_resume(Path(record), kind, seed, connection)
        services = {"recording": recording, "connection": connection}
        with joining(weakref.ref(model), self):
            self._host = kind(minds=minds, rng=seed, n_rounds=UNENDING, **services, **settings)
        self._end = weakref.finalize(model, _end, self._host, self._opened)

    def _to_resume(
        self, path: Path, kind: type[HostedModel], seed: int | list[int], connection: Connection
    ) -> tuple[Any, Connection]:
        """The recorder that continues the latest unfinished run, and the remaining caps."""
        run = _latest(path, kind, seed, finished=False)
        if run is None:
            return path, connection
        if connection.budget is not None:
            spent = spent_before([run], connection.prices)
            connection = replace(connection, budget=connection.budget.after(spent))
        connection = connection.for_recorded()
        self._opened = Recording(path)
        recorders = self._opened.claim([run.run], connection.as_recorded())
        (now,) = load_runs(path, [run.run])
        going_on = ReplayRecorder(
            now, recorders[run.run], live=True, minds=objects_by_spec(self.minds)
        )
        return going_on, connection

    def ask(self, agent: mesa.Agent, name: str, spec: AnswerSpec, **facts: Any) -> Decision:
        """Ask an agent's mind, and wait for the decision.

        Args:
            agent: the agent.
            name: the prompt entry with the question.
            spec: the legal answers.
            facts: the facts that the agent knows, for the placeholders of the prompt: texts and
                numbers. Pass words of another agent through `quote`.

        Returns:
            The decision; its value is None, and `valid` False, when no usable answer came.

        Raises:
            BudgetExceeded: when a cap is reached.
            RunError: when the mind or the recording fails, or the run has ended.
        """
        question = PlainAsk(agent, name, spec, facts)
        if self._hub is not None and getcurrent().parent is self._hub:
            decision: Decision = self._hub.switch(question)
            return decision
        return self._ask([question])[0]

    def ask_all(
        self,
        agents: Iterable[mesa.Agent],
        name: str,
        spec: AnswerSpec | Callable[[Any], AnswerSpec],
        observe: Observe = lambda _: {},
    ) -> list[Decision]:
        """Ask several agents at the same time, and wait for all decisions.

        Args:
            agents: the agents.
            name: the prompt entry with the question.
            spec: the legal answers; or a function of the agent that returns them.
            observe: a function of the agent that returns its facts.

        Returns:
            The decisions in the order of the agents.

        Raises:
            BudgetExceeded: when a cap is reached.
            RunError: when a mind or the recording fails, or the run has ended.
        """
        return self._ask(
            [
                PlainAsk(agent, name, spec(agent) if callable(spec) else spec, observe(agent))
                for agent in agents
            ]
        )

    def gather(
        self, agents: Iterable[mesa.Agent], method: str = "step", *given: Any, check: bool = True
    ) -> None:
        """Call a method of each agent, as ``agents.do(method)`` does, with questions that overlap.

        The agents' methods run one at a time, in the order of the agents. A method that asks is
        paused until all others have reached a question or their end; then all wait together, and
        continue in the same order. The result equals that of ``agents.do`` if no agent reads state
        that another one changes in the same call, and random numbers of the model are drawn in the
        order of the agents. In any case the result does not depend on latencies. An agent that has
        left the model is skipped, and the method of an agent that is removed while it waits does
        not continue.

        Three faults are detected: a draw from ``model.random`` or ``model.rng`` in another order,
        and an agent whose attributes another agent sets, or that another agent removes, while it
        waits. Then a warning names them, and later calls with this method run the agents one after
        another.

        Args:
            agents: the agents, such as ``self.agents`` or ``self.agents.shuffle()``.
            method: the name of the method.
            given: its arguments.
            check: whether to check for these faults.

        Raises:
            BudgetExceeded: when a cap is reached.
            RunError: when a mind or the recording fails, or `gather` is called within itself.
        """
        if self._hub is not None:
            raise RunError("gather cannot be called by an agent that gather has called.")
        here = list(agents)
        if check and method in self._dependent:
            for agent in self._still(here):
                getattr(agent, method)(*given)
            return
        watch = _Watch(self._host.plain, on=check)
        self._overlap(here, lambda agent: getattr(agent, method)(*given), watch)
        if watch.fault:
            self._dependent.add(method)
            _log.warning(
                "gather(…, %r): %s. The data of this step are not those of agents.do(%r). From now "
                "on the agents are called one after another.", method, watch.fault, method,
            )  # fmt: skip

    def _still(self, agents: Iterable[mesa.Agent]) -> Iterator[mesa.Agent]:
        """The agents that are in the model when their turn comes."""
        model = self._host.plain
        return (agent for agent in agents if agent in model.agents)

    def _overlap(
        self, agents: Iterable[mesa.Agent], call: Callable[[mesa.Agent], Any], watch: _Watch
    ) -> None:
        """Make the calls of `gather`."""
        self._hub = getcurrent()
        parts: list[_Part] = []
        try:
            for agent in self._still(agents):
                parts.append(_Part(agent, partial(call, agent), self._hub))
                parts[-1].go_on()
                watch.note(parts[-1], len(parts))
            for part in parts:
                if part.question is None:  # later agents may change it, as in agents.do
                    watch.keep(part)
            turns = list(enumerate(parts, 1))
            while questions := watch.questions(parts):
                decisions = dict(zip(questions, self._ask(list(questions.values())), strict=True))
                for position, part in turns:
                    watch.look_at(part)
                    if part.question is not None:
                        part.go_on(decisions[part])
                        watch.note(part, position)
                turns = [(position, part) for position, part in turns if part.question is not None]
        finally:
            self._hub = None
            for part in parts:
                part.stop()

    def quote(self, text: str) -> str:
        """Words of an agent, quoted for the prompts of others.

        They stay on one line, and cannot look like another part of the prompt.

        Args:
            text: the words.
        """
        return self._host.book.quote(text)

    def close(self) -> None:
        """End the run, with its recording on disk; otherwise the end of the program does so."""
        if not self._driven:
            self._end()

    @property
    def recording_path(self) -> Path | None:
        """The file of the recording; None before the first question, or without a recording."""
        return self._host.recording_path

    def spent(self) -> dict[str, float]:
        """The cost of the questions so far: ``asks``, tokens and ``cost_usd``."""
        return dict(self._host.spent())

    def _ask(self, questions: Sequence[PlainAsk]) -> list[Decision]:
        host = self._host
        if self._driven:
            if not host.playing:
                raise RunError("Agents can ask in a step of the model, but not in its constructor.")
            return host.ask_all(questions)
        if not host.running:
            raise RunError("The run of these minds has ended: create a new model to ask again.")
        check_simulator(host.plain)
        step = step_of(host.plain)
        if step < 0:
            raise RunError("Agents can ask in a step of the model, but not in its constructor.")
        try:
            host.begin()
            if step > host.round:
                if step > host.round + 1 and not host.playing:  # the first had no questions
                    host.start_round(host.round + 1)
                if host.playing:
                    host.end_rounds(step - 1)
                host.start_round(step)
            return host.ask_all(questions)
        except SabmError as error:
            host.fail(error)
            self._end.detach()
            _release(host, self._opened)
            raise


class _Part:
    """The call of one agent's method within `Minds.gather`, which pauses when the agent asks.

    Args:
        agent: the agent.
        call: calls the method.
        hub: the greenlet that receives the questions.

    Attributes:
        question: the question that waits for a decision; None when the method has ended.
        left: the agent's attributes at the last switch away from the call.
        here: whether the agent was in the model then.
    """

    def __init__(self, agent: mesa.Agent, call: Callable[[], Any], hub: greenlet) -> None:
        self.agent = agent
        self.question: PlainAsk | None = None
        self.left: dict[str, Any] = {}
        self.here = True
        self._greenlet = greenlet(call, hub)
        self._greenlet.gr_context = copy_context()

    def go_on(self, *decision: Decision) -> None:
        """Run the call up to its next question or its end."""
        question = self._greenlet.switch(*decision)
        self.question = None if self._greenlet.dead else question

    def stop(self) -> None:
        """End a waiting call, since another one failed or has removed its agent."""
        self.question = None
        if not self._greenlet.dead:
            self._greenlet.throw()


class _Watch:
    """Detects overlapping calls whose results differ from calls one after another.

    Args:
        model: the plain model.
        on: whether it checks at all.

    Attributes:
        fault: the first fault, in words.
    """

    def __init__(self, model: Any, *, on: bool) -> None:
        self._model, self._on, self._drew, self.fault = model, on, 0, ""
        self._state = self._streams()

    def note(self, part: _Part, position: int) -> None:
        """Note the state after a call."""
        self.keep(part)
        if self._on and (state := self._streams()) != self._state:
            self._state = state
            if position < self._drew:
                self._blame(
                    f"{_call_it(part)} draws from the model's random stream after it has asked, "
                    "and another one has drawn before"
                )
            self._drew = position

    def keep(self, part: _Part) -> None:
        """Keep the state of an agent, for a comparison when its turn comes."""
        part.here = part.agent in self._model.agents
        if self._on:
            part.left = dict(getattr(part.agent, "__dict__", {}))

    def questions(self, parts: Iterable[_Part]) -> dict[_Part, PlainAsk]:
        """The waiting questions, except those of agents that others have removed."""
        return {
            part: part.question
            for part in parts
            if part.question is not None and not self._is_removed(part)
        }

    def look_at(self, part: _Part) -> None:
        """Compare an agent whose turn comes with its state after its call."""
        if self._is_removed(part) or not self._on:
            return
        now = getattr(part.agent, "__dict__", {})
        changed = [name for name in now if not _same(now[name], part.left.get(name))]
        if changed:
            self._blame(
                f"the attribute {changed[0]!r} of {_call_it(part)} was set by another agent in the "
                "same call, after it had been asked"
            )

    def _is_removed(self, part: _Part) -> bool:
        """Whether another agent has removed the agent of a call; then the call is ended."""
        removed = part.here and part.agent not in self._model.agents
        if removed:
            self._blame(
                f"{_call_it(part)} was removed by another agent in the same call, after its own "
                "turn had begun"
            )
            part.stop()
        return removed

    def _blame(self, fault: str) -> None:
        """Note the first fault, if faults are checked."""
        if self._on:
            self.fault = self.fault or fault

    def _streams(self) -> tuple[Any, bytes]:
        return self._model.random.getstate(), pickle.dumps(self._model.rng.bit_generator.state)


def _call_it(part: _Part) -> str:
    return f"{type(part.agent).__name__} {part.agent.unique_id}"


def _same(one: Any, other: Any) -> bool:
    """Whether two values of an attribute are the same; objects by their identity."""
    return one is other or (isinstance(one, int | float | str) and bool(one == other))


def _latest(
    path: Path, kind: type[HostedModel], seed: int | list[int], *, finished: bool | None
) -> Any:
    """The latest run of a plain model in a recording.

    Args:
        path: the recording.
        kind: the class that plays it.
        seed: its seed.
        finished: whether it must be finished; None for either. With None a missing run is an
            error.
    """
    address = f"{kind.__module__}:{kind.__name__}"
    runs = [run for run in load_runs(path) if run.model == address]
    if finished is not None:
        runs = [run for run in runs if run.finished == finished]
    elif not runs:
        raise UsageError(f"{path} holds no run of {kind.__name__}.")
    if not runs:
        return None
    then = list(runs[-1].seed)
    if then != (seed if isinstance(seed, list) else [seed]):
        raise UsageError(
            f"{runs[-1].name} has the seed {then[0] if len(then) == 1 else then}: make the model "
            "with that seed (rng=…), or name another file."
        )
    (run,) = load_runs(path, [runs[-1].run], whole=True)
    return run


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


def _end(host: HostedModel, opened: Recording | None) -> None:
    """End a run whose model is no longer stepped."""
    if engine.is_current():  # the model was garbage that the engine's thread found
        threading.Thread(target=_end, args=(host, opened)).start()
        return
    if host.running and host.round >= 0:
        if host.playing:
            host.end_rounds(host.round)
        problem = getattr(sys, "last_value", None)
        if problem is None:
            engine.run(host.recorder.finish(measures=host.end_measures))
        else:
            engine.run(host.recorder.finish(f"the program ended: {problem}"))
    host.running = False
    _release(host, opened)


def _release(host: HostedModel, opened: Recording | None) -> None:
    host.release()
    if opened is not None:
        opened.close()
