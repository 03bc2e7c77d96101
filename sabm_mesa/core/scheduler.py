"""Phases and the staged scheduler.

A round runs the scenario's phases in their order. In a *sequential* phase agents are asked one
after another, and later agents see the actions of earlier ones; in a *simultaneous* phase all
decide on the same snapshot and the decisions are applied in the order of the agents' ids.

Two agents of a sequential phase that cannot affect each other may be asked at the same time: with
a `reach`, an agent starts as soon as every earlier agent is done whose reach intersects its own,
each agent being within its own reach. The result equals that of strict one-by-one order as long as
an agent observes and changes only agents within its reach.

The next agent may depend on the last decision, for example when speakers name one another: then the
order is an iterator, which gives the next agent after the previous decision has been applied.

An agent may act several times in its turn (`at_most`, `until`): each action is applied before the
next one is decided. In a simultaneous phase all act, and then those that are not done act again.
Before each action the phase checks again whether the agent takes part. In a simultaneous phase, the
decision of an agent that has left the model is not applied.

The model is a `SmartModel`, and each agent a `SmartAgent` with a method for the phase.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    Callable,
    Collection,
    Container,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from itertools import count
from operator import attrgetter
from types import CoroutineType
from typing import Any, TypeVar

from sabm_mesa.core.parameters import check_choice, check_int
from sabm_mesa.errors import ParameterError, ScenarioError

Order = str | Callable[[Any, list[Any]], Iterable[Any]]
Who = type | Callable[[Any], Iterable[Any]]
When = Callable[[Any], bool]
Reach = Callable[[Any, Any], Iterable[Any]]
Until = Callable[[Any, Any], bool]
_Reached = Mapping[Any, Collection[Any]]
T = TypeVar("T")


_INSTANT = attrgetter("instant")
SIMULTANEOUS, SHUFFLED, FIXED = "simultaneous", "shuffled", "fixed"


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a round.

    The part of an agent is its method with the name of the phase: an ``async`` method that asks its
    mind and returns the decision. The model's method ``after_NAME(agent, decision)`` applies it.
    The model may have a method ``before_NAME(agent)``, which runs before each action of the agent.
    With a `reach` it may change only agents within it; in a simultaneous phase it runs for all
    agents before the first one is asked.

    Attributes:
        name: the name of the agents' method: ``"communicate"``, ``"plan"`` or ``"act"``.
        order: ``"simultaneous"``; ``"shuffled"`` (one after another, order drawn every round);
            ``"fixed"`` (one after another by id); or a callable ``(model, agents) -> sequence``.
            It may also be a generator function or return an iterator, which gives the next agent
            after the previous decision has been applied. An agent may then have several turns, and
            `turns` and `reach` are not allowed.
        when: whether the phase takes place in this round; always, when None.
        who: the agents that take part: a class of agents, or a callable ``(model) -> agents``; all
            that have the method, when None. It is evaluated when the phase starts, and again before
            each action: an agent that has left the group or the model is not asked.
        reach: the agents whose state an agent observes or changes in this phase, in all actions of
            its turn, such as the hearers of its message; all agents, when None. It is evaluated
            when the phase starts.
        commutes: whether two agents may change a third one in either order, for example because it
            sorts its messages before use. An agent then waits for an earlier one only when one of
            the two is within the other's reach.
        turns: the number of turns of every agent in a sequential phase: all once, then all again.
        at_most: the maximum number of actions of an agent in its turn. ``after_NAME`` applies each
            action before the agent is asked for the next one.
        until: whether an agent is done, ``(model, agent) -> bool``; it is evaluated after each
            action. An agent acts `at_most` times when None.
        most_turns: ``(model) -> int``: the maximum number of turns of all agents in a round, for
            estimates of cost. It is needed if `order` gives an iterator, or agents ask several
            times in one turn, as in a talk. An iterator without it has no upper bound.
        doc: the action of the phase, for the description of the scenario: a sentence with the
            questions (in backticks) and the effect of their answers. The default is the first
            sentence of the agents' method.

    Raises:
        UnknownName: for an order that does not exist.
        ParameterError: for `commutes` without a `reach`, for `at_most` below 1, and for `until`
            with only one action.
    """

    name: str
    order: Order = SIMULTANEOUS
    when: When | None = None
    who: Who | None = None
    reach: Reach | None = None
    commutes: bool = False
    turns: int = 1
    at_most: int = 1
    until: Until | None = None
    most_turns: Callable[[Any], int] | None = None
    doc: str = ""

    def __post_init__(self) -> None:
        """Refuse arguments that do not exist or have no effect."""
        if not callable(self.order):
            check_choice("order of a phase", self.order, (SIMULTANEOUS, SHUFFLED, FIXED))
        if self.commutes and self.reach is None:
            raise ParameterError(
                f"The phase {self.name!r} has commutes, which has no effect without a reach."
            )
        if check_int(f"at_most of the phase {self.name!r}", self.at_most, 1) == 1 and self.until:
            raise ParameterError(
                f"The phase {self.name!r} has until, which has no effect with at_most=1: give the "
                "number of actions, such as at_most=3."
            )


def orders(phases: Iterable[Phase]) -> str:
    """Name phases with their orders, as in ``communicate (shuffled), act (simultaneous)``."""
    named = [(phase.name, str(getattr(phase.order, "__name__", phase.order))) for phase in phases]
    return ", ".join(f"{name} ({order.strip('_').replace('_', ' ')})" for name, order in named)


def every(n: int | str, since: int = 0) -> When:
    """Rounds that are a multiple of a number, for the `when` of a phase.

    For example, a plan holds for several rounds, or an agent reflects now and then.

    Args:
        n: the interval in rounds, or the name of the model's attribute for it.
        since: the first round in which the phase may take place.
    """

    def now(model: Any) -> bool:
        rounds: int = getattr(model, n) if isinstance(n, str) else n
        return bool(model.round >= since and model.round % rounds == 0)

    return now


def communication(order: Order = SHUFFLED, **options: Any) -> Phase:
    """The phase in which agents speak: their method `communicate`, which asks ``communicate``."""
    return Phase("communicate", order, **options)


def planning(order: Order = SIMULTANEOUS, **options: Any) -> Phase:
    """The phase in which agents make plans: their method `plan`."""
    return Phase("plan", order, **options)


def action(order: Order = SIMULTANEOUS, **options: Any) -> Phase:
    """The phase in which agents act: their method `act`."""
    return Phase("act", order, **options)


async def run_phase(model: Any, phase: Phase) -> int:
    """Run one phase of the current round.

    Returns:
        The length of the longest chain of attempts that had to wait for one another.
    """
    if phase.when is not None and not phase.when(model):
        return 0
    agents = taking_part(model, phase)
    part = _Part(model, phase)
    if phase.order == SIMULTANEOUS:
        return await _simultaneous(agents, part)
    order = _in_order(model, phase, agents)
    if isinstance(order, Iterator):
        return await _one_by_one(order, part)
    turns = order * phase.turns
    if phase.reach is None or all(map(_INSTANT, agents)):
        return await _one_by_one(turns, part)
    return await _within_reach(model, phase, turns, part)


class _Part:
    """The part of agents in a phase: their turns, and the actions in them."""

    def __init__(self, model: Any, phase: Phase) -> None:
        self.name, self.at_most = phase.name, phase.at_most
        self._model = model
        self._apply = getattr(model, f"after_{phase.name}")
        self._before: Callable[[Any], object] | None = getattr(model, f"before_{phase.name}", None)
        self._until = phase.until
        self._who = None if isinstance(phase.who, type) else phase.who

    def has(self, agent: Any) -> bool:
        """Whether an agent is in the model."""
        return agent in self._model.agents

    def includes(self, agent: Any) -> bool:
        """Whether an agent takes part at present."""
        if not self.has(agent):
            return False
        if self._who is None:  # it is as it was when the phase started
            return True
        now: Any = self._who(self._model)
        return agent in (now if isinstance(now, Container) else list(now))

    def is_done(self, agent: Any) -> bool:
        """Whether an agent that has acted is done."""
        return self._until is not None and self._until(self._model, agent)

    def prepare(self, agents: Sequence[Any]) -> bool:
        """Run the rule before the question for agents; return whether the model has one."""
        if self._before is None:
            return False
        for agent in agents:
            self._before(agent)
        return True

    def apply(self, agent: Any, decision: Any, position: int) -> None:
        """Let the model apply a decision.

        Raises:
            ScenarioError: when the agent's part of the phase returned nothing, or a coroutine.
        """
        if decision is None or isinstance(decision, CoroutineType):
            returned, hint = "nothing", " To ask only some agents, give the phase who=…."
            if decision is not None:
                decision.close()  # it is never awaited
                returned, hint = "a coroutine", ""
            raise ScenarioError(
                f"{type(agent).__name__}.{self.name} returned {returned}: it must return the "
                f"decision, as in `return await self.ask(…)`.{hint}"
            )
        self._model.current_turn = position
        self._apply(agent, decision)

    async def turn(self, agent: Any, position: int) -> int:
        """Play an agent's turn, action by action; return the number of attempts."""
        attempts, name = 0, self.name
        for _ in range(self.at_most):
            if not self.includes(agent):
                break
            if self.prepare([agent]) and not self.includes(agent):
                break
            agent.begin(name, position)
            self.apply(agent, await _begun(agent, name), position)
            attempts += agent.attempts
            if self.is_done(agent):
                break
        return attempts


def taking_part(model: Any, phase: Phase) -> list[Any]:
    """The present participants of a phase."""
    agents: list[Any] = model.agents_here()
    who, name = phase.who, phase.name
    if who is None:  # plain agents of Mesa have no mind, and no method `begin`
        kinds = set(map(type, agents))
        fit = {kind for kind in kinds if hasattr(kind, name) and hasattr(kind, "begin")}
        agents = agents if fit == kinds else [agent for agent in agents if type(agent) in fit]
    elif isinstance(who, type):
        agents = [agent for agent in agents if isinstance(agent, who)]
    else:
        agents = list(who(model))
    return agents


def _in_order(model: Any, phase: Phase, agents: list[Any]) -> list[Any] | Iterator[Any]:
    if callable(phase.order):
        order = phase.order(model, agents)
        if not isinstance(order, Iterator):
            return list(order)
        if phase.turns != 1 or phase.reach is not None:
            raise ParameterError(
                f"The order of the phase {phase.name!r} is an iterator, which has neither turns "
                "nor a reach."
            )
        return order
    if phase.order == SHUFFLED:
        return [agents[i] for i in model.rng.permutation(len(agents)).tolist()]
    return agents


def _begun(agent: Any, name: str) -> CoroutineType[Any, Any, Any]:
    """An agent's part of a phase, to be awaited.

    Raises:
        ScenarioError: when its method is not asynchronous.
    """
    part = getattr(agent, name)()
    if not isinstance(part, CoroutineType):
        raise ScenarioError(
            f"{type(agent).__name__}.{name} must be written as `async def`, and to return the "
            f"decision: it gave {part!r:.60}."
        )
    return part


async def _simultaneous(agents: list[Any], part: _Part) -> int:
    chain, acting = 0, agents
    places: Sequence[int] = range(len(agents))
    for action_ in range(part.at_most):
        before, name = action_ * len(agents), part.name
        if part.prepare(acting):
            places = [i for i, agent in zip(places, acting, strict=True) if part.has(agent)]
            acting = [agents[index] for index in places]
        for index, agent in zip(places, acting, strict=True):
            agent.begin(name, before + index)
        if all(map(_INSTANT, acting)):
            decided = [await _begun(agent, name) for agent in acting]
        else:
            decided = await await_all(_begun(agent, name) for agent in acting)
        for index, agent, decision in zip(places, acting, decided, strict=True):
            if part.has(agent):
                part.apply(agent, decision, before + index)
        chain += max((agent.attempts for agent in acting), default=0)
        if action_ + 1 < part.at_most:
            places = [
                index
                for index, agent in zip(places, acting, strict=True)
                if not part.is_done(agent) and part.includes(agent)
            ]
            acting = [agents[index] for index in places]
    return chain


async def _one_by_one(turns: Iterable[Any], part: _Part) -> int:
    chain = 0
    for position, agent in enumerate(turns):
        chain += await part.turn(agent, position)
    return chain


async def _within_reach(model: Any, phase: Phase, turns: list[Any], part: _Part) -> int:
    assert phase.reach is not None
    chains: list[int] = [0] * len(turns)
    done = [asyncio.Event() for _ in turns]
    reached = {agent: {agent, *phase.reach(model, agent)} for agent in turns}
    waits_for = _either_in_reach if phase.commutes else _reaches_intersect

    async def turn(position: int, agent: Any, before: Collection[int]) -> None:
        for earlier in before:
            await done[earlier].wait()
        attempts = await part.turn(agent, position)
        chains[position] = attempts + max((chains[earlier] for earlier in before), default=0)
        done[position].set()

    befores = waits_for(turns, reached)
    await await_all(map(turn, count(), turns, befores))
    return max(chains, default=0)


def _reaches_intersect(turns: list[Any], reached: _Reached) -> Iterator[set[int]]:
    """For each turn the earlier turns to wait for: the last turn of each agent within reach.

    Earlier turns had that agent within reach as well, so its last turn waited for them.
    """
    latest: dict[Any, int] = {}
    for position, agent in enumerate(turns):
        within = reached[agent]
        yield {latest[other] for other in within if other in latest}
        latest.update(dict.fromkeys(within, position))


def _either_in_reach(turns: list[Any], reached: _Reached) -> Iterator[set[int]]:
    """For each turn the earlier ones to wait for: of agents in its reach, or with it in theirs."""
    latest: dict[Any, int] = {}
    reaching: dict[Any, set[int]] = {}
    for position, agent in enumerate(turns):
        within = reached[agent]
        yield {latest[other] for other in within if other in latest} | reaching.pop(agent, set())
        latest[agent] = position
        for other in within:
            reaching.setdefault(other, set()).add(position)


async def await_all(parts: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Await all parts together; when one fails or the round is stopped, stop the others first.

    A part that waits for a paid answer ends when that answer is recorded, and all parts are
    awaited, however often the round is stopped.

    Returns:
        Their results in their order.
    """
    tasks: list[asyncio.Task[T]] = []
    others = iter(tasks)

    def stop_others(task: asyncio.Task[T]) -> None:
        """Stop the other parts when one was cancelled alone, which a task group does not do."""
        if task.cancelled():
            for other in others:  # once, however many are cancelled
                if not other.cancelling():
                    other.cancel()

    try:
        async with asyncio.TaskGroup() as together:
            for part in parts:
                # One name for all: else each would have its own text.
                tasks.append(together.create_task(part, name="an agent's part"))
                tasks[-1].add_done_callback(stop_others)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]
