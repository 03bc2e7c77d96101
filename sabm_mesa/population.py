"""How a population gets its minds and personas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sabm_mesa.engine import crowd
from sabm_mesa.minds import Minds, assign, mind_makers
from sabm_mesa.parameters import whole

if TYPE_CHECKING:
    from sabm_mesa.agents.base import SmartAgent
    from sabm_mesa.models.base import SmartModel

Personas = str | Mapping[str, int] | Sequence[str] | None
A = TypeVar("A", bound="SmartAgent")


def people(
    model: SmartModel,
    agent_class: type[A],
    n: int,
    args: Sequence[Any],
    minds: Minds,
    personas: Personas,
) -> list[A]:
    """Make agents and give each its mind and persona.

    Args:
        model: the model.
        agent_class: the class of the agents.
        n: how many.
        args: what their constructor takes besides the model.
        minds: one for all; spec → number, in the order of the ids; or one an agent.
        personas: one for all; persona → number, in random order, so that they do not coincide
            with the minds; or one an agent.

    Raises:
        ParameterError: for `n` that is no whole number from 1 on.
        MindSpecError: when the counts do not add up to `n`.
        UnknownName: for a classical mind or persona that does not exist.
    """
    n = whole("the number of agents", n, 1)
    makers = mind_makers(assign("minds", minds, n), model)
    spread = assign("personas", personas, n)
    for persona in set(spread):
        model.book.persona(persona)
    if isinstance(personas, Mapping):
        spread = [spread[i] for i in model.rng.permutation(n)]
    with crowd(n):
        agents = [agent_class(model, *args) for _ in range(n)]
    for agent, maker, persona in zip(agents, makers, spread, strict=True):
        agent.persona = persona
        agent.mind = maker(agent)
    return agents


def dismiss(agents: Sequence[SmartAgent]) -> None:
    """Let go of what minds hold while they are asked: the processes of those from files.

    Args:
        agents: the agents, who are not asked any more.
    """
    for agent in agents:
        if agent.mind.spec.startswith("py:"):
            from sabm_mesa.minds.students import StudentMind

            if isinstance(agent.mind, StudentMind):
                agent.mind.rest()


def describe_deciders(minds: Mapping[str, int], forks: Sequence[Mapping[str, Any]]) -> str:
    """The minds of a run in a few words, also of one that was forked to others on the way.

    Args:
        minds: those it began with: spec → number of agents.
        forks: its changes, as a recording has them.
    """
    words = describe_minds(minds)
    for fork in forks:
        if "minds" in fork["set"]:
            new = fork["set"]["minds"]
            if isinstance(new, str):
                new = {new: 1}
            elif not isinstance(new, Mapping):
                new = Counter(new)
            words = f"{words} up to round {fork['at'] - 1}, then {describe_minds(new)}"
    return words


def describe_minds(minds: Mapping[str, int]) -> str:
    """The minds of a population in a few words."""
    if len(minds) == 1:
        return next(iter(minds))
    return ", ".join(f"{count} × {spec}" for spec, count in minds.items())
