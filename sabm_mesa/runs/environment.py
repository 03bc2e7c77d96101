"""Any scenario as a parallel environment of PettingZoo, and policies as minds.

`ScenarioEnv` plays a scenario in which learners decide for some agents. A step of the environment
is one set of questions: all that wait for learners when nothing else in the run can continue.
Agents that are not asked do nothing, and their actions are ignored. `Coding` turns the questions of
a scenario into numbers and actions into answers; `PolicyMind` lets a policy that was trained in the
environment play anywhere.

Source: Terry et al. 2021, "PettingZoo: A Standard API for Multi-Agent Reinforcement Learning".
"""

from __future__ import annotations

import asyncio
import math
import string
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sabm_mesa.core.answers import AnswerSpec, Choice, Number, Text
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.fields import Fields, OneOf
from sabm_mesa.core.images import described
from sabm_mesa.core.parameters import check_int, parameters_of
from sabm_mesa.errors import RunError, SabmError, UsageError
from sabm_mesa.minds.base import Mind
from sabm_mesa.minds.specs import map_minds
from sabm_mesa.models import registry
from sabm_mesa.models.base import SmartModel

try:
    from gymnasium import spaces
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise UsageError(
        "The environments need PettingZoo: pip install 'sabm-mesa[pettingzoo]'"
    ) from error

LEARNER = "learner"
"""The spec of an agent for which the environment takes actions."""
MOST_WHOLE = 10_000
"""The maximum size of a discrete space of whole numbers; a larger one is a box."""
QUIET_TURNS = 20
"""Turns of the loop without any change until no further question is expected."""
ENOUGH_TRIALS = 3
"""Consecutive trial runs without a new question until all count as known."""
TRIAL_ROUNDS = 20
"""The maximum number of rounds of a trial run."""
LONGEST_TEXT = 200
"""The maximum length of a text that a space draws."""

Action = Any
Observed = dict[str, Any]
Floats = npt.NDArray[np.float64]


class Coding:
    """The questions of each class of agents as numbers, and their answers as actions.

    Trial runs find the questions, their answers and the numbers in their observations.

    Args:
        scenario: the model class, or its name.
        parameters: the parameters of the runs, without minds and seed.

    Attributes:
        questions: class of agents → question → its number from 1, and the spec of its answers,
            which contains all specs that were met.
        facts: class of agents → names of the numbers in the observations, in the order of the
            vector ``facts``.

    Raises:
        UsageError: for parameters that cannot be used, or answers that have no space.
    """

    def __init__(self, scenario: str | type[SmartModel], **parameters: Any) -> None:
        self.questions: dict[str, dict[str, AnswerSpec]] = {}
        self.facts: dict[str, list[str]] = {}
        self._known: dict[str, dict[str, int]] = {}
        model_class = registry.load(scenario) if isinstance(scenario, str) else scenario
        wanted = parameters.get("n_rounds", parameters_of(model_class)["n_rounds"].default)
        short = {**parameters, "n_rounds": min(wanted, TRIAL_ROUNDS), "recording": False}
        trial, nothing_new = 0, 0
        while nothing_new < ENOUGH_TRIALS:
            mind = _Trial(trial)
            model = model_class(**{**short, "minds": mind, "rng": trial})
            model.run_model()
            before = sum(map(len, self.questions.values()))
            for agent, met in sorted(mind.met.items()):
                self._take_up(model.agent_of_id(agent).class_name, met)
            new = sum(map(len, self.questions.values())) > before
            trial, nothing_new = trial + 1, 0 if new else nothing_new + 1
        for kind, facts in self.facts.items():
            facts.sort()
            self._known[kind] = {name: index for index, name in enumerate(facts)}
        self._spaces = {
            kind: (self._observation_space(kind), self._action_space(kind))
            for kind in self.questions
        }

    def observation_space(self, kind: str) -> Any:
        """The space of the observations of a class of agents.

        ``asked`` is the number of the question from 1, or 0; ``facts`` are the numbers in the
        agent's latest observation.

        Args:
            kind: the name of the class.
        """
        return self._spaces[kind][0]

    def action_space(self, kind: str) -> Any:
        """The space of the actions of a class of agents: one for each question, by its name.

        Args:
            kind: the name of the class.
        """
        return self._spaces[kind][1]

    def observe(self, ask: Ask) -> Observed:
        """A question as an observation in its space.

        Args:
            ask: the question.

        Raises:
            UsageError: for a question that the trial runs have not met.
        """
        kind = ask.class_name  # where agents are born, an id is not of one class
        if ask.name not in self.questions.get(kind, {}):
            raise UsageError(f"The trial runs met no question {ask.name!r} for a {kind}.")
        number = list(self.questions[kind]).index(ask.name) + 1
        return {"asked": number, "facts": self._vector(kind, numbers_in(ask.observation))}

    def nothing(self, kind: str) -> Observed:
        """The observation of an agent that was never asked.

        Args:
            kind: the name of its class.
        """
        return {"asked": 0, "facts": self._vector(kind, {})}

    def answer(self, ask: Ask, action: Action) -> Any:
        """The answer of an action.

        An option is the action modulo the present number of options; a number is moved into the
        present range.

        Args:
            ask: the question.
            action: an action of the space; only its part for this question counts.
        """
        return _value(ask.spec, action[ask.name])

    def _take_up(self, kind: str, met: Mapping[str, tuple[AnswerSpec, set[str]]]) -> None:
        """Add the questions that an agent met in a trial run."""
        known, facts = self.questions.setdefault(kind, {}), self.facts.setdefault(kind, [])
        for name, (spec, numbers) in met.items():
            known[name] = _wider(known[name], spec) if name in known else spec
            facts += sorted(numbers.difference(facts))

    def _vector(self, kind: str, numbers: Mapping[str, float]) -> Floats:
        known = self._known.get(kind, {})
        vector = np.zeros(len(known))
        for name, number in numbers.items():
            if name in known:
                vector[known[name]] = number
        return vector

    def _observation_space(self, kind: str) -> Any:
        n, size = len(self.questions[kind]), len(self.facts[kind])
        facts = spaces.Box(-np.inf, np.inf, (size,), np.float64)
        return spaces.Dict({"asked": spaces.Discrete(n + 1), "facts": facts})

    def _action_space(self, kind: str) -> Any:
        return spaces.Dict({name: _space(spec) for name, spec in self.questions[kind].items()})


def numbers_in(value: Any, path: str = "") -> dict[str, float]:
    """The numbers in an observation: name → number, with dots between the names of parts.

    A list gives its length and the numbers of its last entry. Everything else is left out, and so
    are infinite numbers and NaN.

    Args:
        value: the observation, or a part of it.
        path: the name of the part.
    """
    if isinstance(value, bool | int | float | np.number):
        return {path: float(value)} if math.isfinite(value) else {}
    below = f"{path}." if path else ""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "_asdict"):
        parts = value._asdict()
    elif isinstance(value, Mapping):
        parts = {str(name): part for name, part in value.items()}
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        length = {f"{below}n": float(len(value))}
        return length | (numbers_in(value[-1], f"{below}last") if value else {})
    else:
        return {}
    return {
        name: number
        for part, part_value in parts.items()
        for name, number in numbers_in(part_value, below + part).items()
    }


class PolicyMind(Mind):
    """A mind that decides by a policy: a function of an observation that returns an action.

    Args:
        policy: called with the observation of an agent that is asked; returns an action of its
            space.
        coding: the coding of the scenario, such as that of the environment.
        spec: its name in the data.
    """

    instant, paid, answer_format = True, False, "paper"

    def __init__(
        self, policy: Callable[[Observed], Action], coding: Coding, spec: str = "policy"
    ) -> None:
        self.spec = spec
        self._policy, self._coding = policy, coding

    async def answer(self, ask: Ask) -> Any:
        """Decide by the policy.

        Args:
            ask: the question.
        """
        return self._coding.answer(ask, self._policy(self._coding.observe(ask)))


class ScenarioEnv(ParallelEnv):  # type: ignore[misc]  # an optional library
    """A scenario as a parallel environment of PettingZoo.

    Reward: the agent's gain in the scenario's `score` in the rounds that a step ends: the values of
    its column, or -1 per round if the score counts rounds; with the opposite sign if a lower score
    is better; 0 without a score.

    End: all agents terminate with the run; an agent that leaves the model terminates in that step.
    Nothing is truncated: the number of rounds is a rule of the scenario.

    Learners that are born join in the step in which they come. `most_agents` makes room for them.

    Args:
        scenario: the model class, or its name.
        minds: as for the model; agents with the mind ``"learner"`` take actions.
        most_agents: the maximum number of learners of a run, including those that are born; by
            default the number at its start.
        parameters: the other parameters of the model, without the seed.

    Attributes:
        coding: the coding of observations and actions.
        model: the current model, or None.
        agents: the names of the present learners: ``agent_ID``, or ``born_CLASS_N`` for the N-th
            agent of a class that was born.
        possible_agents: the names of all learners, including those that may be born.

    Raises:
        UsageError: for parameters that cannot be used, or a scenario without learners.
    """

    metadata = {"render_modes": [], "name": "sabm_mesa"}  # noqa: RUF012 - PettingZoo's convention

    def __init__(
        self,
        scenario: str | type[SmartModel],
        *,
        minds: Any = LEARNER,
        most_agents: int | None = None,
        **parameters: Any,
    ) -> None:
        self._scenario = registry.load(scenario) if isinstance(scenario, str) else scenario
        self._parameters, self._minds = {"recording": False, **parameters}, minds
        self.coding = Coding(self._scenario, **parameters)
        self.metadata = {**self.metadata, "name": self._scenario.scenario_name}
        self.render_mode = None
        self.model: SmartModel | None = None
        self._learners = _Learners()
        first = self._made(0)
        learners = [agent for agent in first.population if agent.mind is self._learners]
        if not learners:
            raise UsageError(f"The environment needs a learner: put {LEARNER!r} among the minds.")
        self._first = {agent.unique_id: _name(agent.unique_id) for agent in learners}
        self._kinds = {_name(agent.unique_id): type(agent).__name__ for agent in learners}
        n = len(learners)
        self._born = check_int("most_agents", n if most_agents is None else most_agents, n) - n
        for kind in self.coding.questions:
            self._kinds |= {f"born_{kind}_{i + 1}": kind for i in range(self._born)}
        self.possible_agents = list(self._kinds)
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        """The space of the observations of an agent: see `Coding.observation_space`."""
        return self.coding.observation_space(self._kinds[agent])

    def action_space(self, agent: str) -> Any:
        """The space of the actions of an agent: see `Coding.action_space`."""
        return self.coding.action_space(self._kinds[agent])

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Observed], dict[str, dict[str, Any]]]:
        """Begin a new run.

        Args:
            seed: the seed of the run; drawn when None.
            options: not used.

        Returns:
            Agent → observation; agent → information, see `step`.

        Raises:
            RunError: when the run fails.
        """
        del options
        self.close()
        self._learners = _Learners()
        self.model = self._made(seed)
        self._names, self.agents = dict(self._first), list(self._first.values())
        self._seen = {name: self.coding.nothing(kind) for name, kind in self._kinds.items()}
        self._rounds = 0
        self._learners.play(self.model)
        self._look()
        return {name: self._seen[name] for name in self.agents}, self._infos(self.agents)

    def step(
        self, actions: Mapping[str, Action]
    ) -> tuple[
        dict[str, Observed],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Answer all waiting questions, and continue to the next ones.

        Args:
            actions: agent → action; actions of agents that are not asked are ignored.

        Returns:
            Observations, rewards, terminations, truncations and information by agent. The
            information of an agent that is asked has ``question`` (its name), ``text`` (all that
            a language model reads), ``observation`` (the object that classical minds read) and
            ``spec`` (the legal answers).

        Raises:
            UsageError: when an agent that is asked has no action.
            RunError: when the run fails.
        """
        model = self.model
        if model is None or not self.agents:
            raise UsageError("Nothing is played: call reset first.")
        asked = self._learners.asked
        missing = [self._names[i] for i in asked if self._names[i] not in actions]
        if missing:
            raise UsageError(f"{missing[0]} is asked but has no action.")
        self._learners.decide(
            {i: self.coding.answer(ask, actions[self._names[i]]) for i, ask in asked.items()}
        )
        before = self.agents
        self._look()
        over = self._learners.over
        here = {self._names.get(agent.unique_id) for agent in model.agents}
        # One that was born and has left in the same step was never there.
        live = [name for name in self.agents if name in before or (name in here and not over)]
        ended = {name: over or name not in here for name in live}
        rewards = self._rewards(live)
        self.agents = [name for name in live if not ended[name]]
        return (
            {name: self._seen[name] for name in live},
            rewards,
            ended,
            dict.fromkeys(live, False),
            self._infos(live),
        )

    def render(self) -> None:
        """Do nothing: ``sabm view`` shows runs."""

    def close(self) -> None:
        """End the run under way."""
        self._learners.stop()
        if self.model is not None:
            self.model.close("The environment was closed or reset.")

    def _made(self, seed: int | None) -> SmartModel:
        learners = self._learners
        minds = map_minds(self._minds, lambda mind: learners if mind == LEARNER else mind)
        return self._scenario(**{**self._parameters, "minds": minds, "rng": seed})

    def _look(self) -> None:
        assert self.model is not None
        for agent in self.model.population:
            if agent.mind is self._learners and agent.unique_id not in self._names:
                self._name_newborn(agent)
        for seen in self._seen.values():
            seen["asked"] = 0
        for i, ask in self._learners.asked.items():
            self._seen[self._names[i]] = self.coding.observe(ask)
        self._seen = {name: dict(seen) for name, seen in self._seen.items()}

    def _name_newborn(self, agent: Any) -> None:
        """Add a learner that was born."""
        if len(self._names) == len(self._first) + self._born:
            raise UsageError(
                f"Agent {agent.unique_id} was born as a learner, and there are "
                f"{len(self._names)} at most: make room for it with most_agents=."
            )
        taken = self._names.values()
        kind = type(agent).__name__
        free = (name for name, of in self._kinds.items() if of == kind and name not in taken)
        name = next((name for name in free if name.startswith("born_")), None)
        if name is None:
            raise UsageError(f"The trial runs met no question for a {kind}.")
        self._names[agent.unique_id] = name
        self.agents = [*self.agents, name]

    def _infos(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        infos: dict[str, dict[str, Any]] = {name: {} for name in names}
        for i, ask in self._learners.asked.items():
            infos[self._names[i]] = {
                "question": ask.name,
                "text": described("\n\n".join(ask.question), ask.pictures),
                "observation": ask.observation,
                "spec": ask.spec,
            }
        return infos

    def _rewards(self, names: Sequence[str]) -> dict[str, float]:
        rewards = dict.fromkeys(names, 0.0)
        score, model = self._scenario.score, self.model
        if score is None or model is None:
            return rewards
        frame = model.agent_frame()
        new = frame[frame["round"] >= self._rounds]
        self._rounds = len(model.model_frame())
        sign = -1.0 if score.lower_is_better else 1.0
        for i, value in zip(new["agent"], new[score.column], strict=True):
            if (name := self._names.get(i, "")) in rewards:
                gain = float(value != score.until) if score.until else _number(value)
                rewards[name] += sign * gain
        return rewards


class _Learners(Mind):
    """The mind of all learners: it keeps the questions until `decide` answers them."""

    spec, paid, answer_format = LEARNER, False, "paper"

    def __init__(self) -> None:
        self.over = False
        self._model: SmartModel | None = None
        self._changed = threading.Condition()
        self._settled = False
        self._problem: Exception | None = None
        self._waiting: dict[int, tuple[Ask, asyncio.Future[Any]]] = {}
        self._watch: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None

    @property
    def asked(self) -> dict[int, Ask]:
        """Agent → the question that waits for it."""
        return {agent: ask for agent, (ask, _) in sorted(self._waiting.items())}

    async def answer(self, ask: Ask) -> Any:
        """Wait for the action."""
        loop = asyncio.get_running_loop()
        decided: asyncio.Future[Any] = loop.create_future()
        self._waiting[ask.key.agent] = ask, decided
        if self._watch is None or self._watch.done():
            self._watch = loop.create_task(self._settle())
        return await decided

    async def _settle(self) -> None:
        """Tell the environment when the run waits only for its questions."""
        quiet, before = 0, (-1, -1)
        while quiet < QUIET_TURNS:
            assert self._model is not None
            now = len(self._waiting), self._model.in_flight
            alone = now[0] == now[1]
            quiet = quiet + 1 if now == before and alone else 0
            before = now
            await asyncio.sleep(0 if alone else 0.001)
        with self._changed:
            self._settled = True
            self._changed.notify_all()

    def play(self, model: SmartModel) -> None:
        """Play a model on its own thread, up to the first questions."""
        self._model = model
        self._thread = threading.Thread(target=self._play, args=(model,), daemon=True)
        self._thread.start()
        self._wait()

    def decide(self, answers: Mapping[int, Any]) -> None:
        """Answer the questions, and wait for the next ones or the end.

        Args:
            answers: agent → its answer.
        """
        waiting, self._waiting = self._waiting, {}
        self._settled = False
        if waiting:
            loop = next(iter(waiting.values()))[1].get_loop()
            loop.call_soon_threadsafe(_answer_all, waiting, answers)
        self._wait()

    def stop(self) -> None:
        """End the run."""
        if self._thread is not None and self._model is not None:
            if not self.over:
                self._model.stop()
            self._thread.join()
            self._thread = None

    def _play(self, model: SmartModel) -> None:
        problem: Exception | None = None
        try:
            model.run_model()
        except SabmError as error:
            problem = error
        with self._changed:
            self.over, self._problem = True, problem
            self._waiting = {}
            self._changed.notify_all()

    def _wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._settled or self.over)
        if self._problem is not None:
            raise RunError(str(self._problem)) from self._problem


class _Trial(Mind):
    """A mind that answers with examples, and notes the specs and numbers it meets."""

    spec, instant, paid, answer_format = "trial", True, False, "paper"

    def __init__(self, trial: int) -> None:
        self._extreme = trial % 2 == 1
        self.met: dict[int, dict[str, tuple[AnswerSpec, set[str]]]] = {}

    async def answer(self, ask: Ask) -> Any:
        met = self.met.setdefault(ask.key.agent, {})
        spec, numbers = met.get(ask.name, (ask.spec, set()))
        met[ask.name] = _wider(spec, ask.spec), numbers | numbers_in(ask.observation).keys()
        # Rare questions follow from extremes, such as from nobody taking anything.
        return ask.spec.cases(ask.rng)[0] if self._extreme else ask.spec.example(ask.rng)


def _answer_all(waiting: Mapping[int, Any], answers: Mapping[int, Any]) -> None:
    for agent in sorted(waiting):
        decided = waiting[agent][1]
        if not decided.done():
            decided.set_result(answers[agent])


def _name(agent: int) -> str:
    return f"agent_{agent}"


def _number(value: Any) -> float:
    """A value of a column; a missing one, as before a game or after an escape, counts as 0."""
    number = 0.0 if value is None else float(value)
    return number if math.isfinite(number) else 0.0


def _wider(one: AnswerSpec, other: AnswerSpec) -> AnswerSpec:
    """A spec with all answers of two specs of one question."""
    if isinstance(one, Number) and isinstance(other, Number):
        low, high = min(one.low, other.low), max(one.high, other.high)
        return Number(low, high, one.integer and other.integer)
    if isinstance(one, Choice) and isinstance(other, Choice):
        return max(one, other, key=lambda choice: len(choice.options))
    if isinstance(one, Fields) and isinstance(other, Fields):
        parts = dict(other.fields)
        wider: dict[str, Any] = {name: _wider(part, parts[name]) for name, part in one.fields}
        return Fields(**wider)
    return other


def _space(spec: AnswerSpec) -> Any:
    """The space of the answers of a spec.

    Raises:
        UsageError: for a spec without one.
    """
    if isinstance(spec, Choice):
        return spaces.Discrete(len(spec.options))
    if isinstance(spec, Number):
        low, high = spec.finite
        if spec.integer and high - low < MOST_WHOLE:
            low, high = math.ceil(low), math.floor(high)
            return spaces.Discrete(high - low + 1, start=low)
        return spaces.Box(low, high, (), np.float64)
    if isinstance(spec, Text):
        signs = string.ascii_letters + (string.digits if spec.numbers else "")
        return spaces.Text(min(spec.max_chars, LONGEST_TEXT), min_length=1, charset=signs)
    if isinstance(spec, Fields):
        return spaces.Dict({name: _space(part) for name, part in spec.fields})
    if isinstance(spec, OneOf):
        parts = {name: _space(part) for name, part in spec.options}
        return spaces.Dict({"option": spaces.Discrete(len(parts)), **parts})
    raise UsageError(f"An answer of the kind {type(spec).__name__} has no space of PettingZoo.")


def _value(spec: AnswerSpec, action: Any) -> Any:
    """The answer of an action, moved into the present limits."""
    if isinstance(spec, Choice):
        return spec.options[int(action) % len(spec.options)]
    if isinstance(spec, Number):
        low, high = spec.finite
        number = min(max(float(action), low), high)
        if not spec.integer:
            return number
        return min(max(round(number), math.ceil(low)), math.floor(high))
    if isinstance(spec, Fields):
        return {name: _value(part, action[name]) for name, part in spec.fields}
    if isinstance(spec, OneOf):
        options = list(spec.options)
        name, part = options[int(action["option"]) % len(options)]
        return {name: _value(part, action[name])}
    return str(action)
