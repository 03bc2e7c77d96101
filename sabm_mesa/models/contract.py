"""The contract of a scenario's class with its base class: checks of its methods and constructor.

`SmartModel` applies these checks when a model is made, so that mistakes are reported before a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.errors import RunError, SabmError, UnknownName, UsageError, format_user_error
from sabm_mesa.minds.specs import is_by_class

RESERVED = frozenset({
    "book", "critical_path_asks", "current_turn", "datacollector", "entropy", "in_flight",
    "llm_settings", "playing", "population", "recorder", "rng", "round", "spoken", "total", "usage",
})  # fmt: skip
"""Attributes of a model that its run needs; scenarios must not set them."""
NO_COLUMNS = (RESERVED | {"said"}) - {
    "critical_path_asks", "current_turn", "in_flight", "playing", "round",
}  # fmt: skip
"""Reserved attributes that cannot be columns."""


def as_columns(given: Any) -> Mapping[str, str]:
    """Columns of a scenario as a mapping: column → attribute.

    Args:
        given: such a mapping, or a tuple of attributes, whose names are those of the columns.

    Raises:
        UsageError: for a text alone, as in ``("stock")``.
    """
    if isinstance(given, str):
        raise UsageError(f'Columns are a tuple, as in ("{given}",), not the text {given!r}.')
    return given if isinstance(given, Mapping) else {name: name for name in given}


def playing_a_round(step: Callable[..., None]) -> Callable[..., None]:
    """Wrap the method `step` of a scenario with a check that it plays a round.

    Args:
        step: the method of the scenario.
    """

    @wraps(step)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        before, name = self.round, type(self).__name__
        playing = self.running
        try:
            step(self, *args, **given)
        except SabmError:
            raise
        except Exception as error:
            self.running = False
            raise RunError(f"{name}.step: {format_user_error(error)}") from error
        if playing and self.running and self.round == before:
            self.running = False
            raise RunError(
                f"{name}.step() plays no round: call super().step() in it, or leave it out. What "
                "agents decide goes into their phases, and rules go into after_PHASE and update()."
            )

    return checked


def check_super_called(model: Any) -> None:
    """Check that the constructor of a scenario has called the constructor of its base class.

    Args:
        model: the model.

    Raises:
        UsageError: when it has not called it.
    """
    if "_made" not in vars(model):
        raise UsageError(
            f"{type(model).__name__}.__init__ must call super().__init__(**settings) first."
        )


def check_constructed(model: Any, base: type) -> None:
    """Check that the constructor of a scenario has set up the model.

    Args:
        model: the model.
        base: the base class of all scenarios.

    Raises:
        UsageError: when it set an attribute that the base class needs, made an agent without
            `populate`, or a phase lacks a method.
    """
    check_super_called(model)
    name, made = type(model).__name__, vars(model)["_made"]
    taken = [
        attribute
        for attribute, value in vars(model).items()
        if (attribute in RESERVED and value is not made[attribute])
        or (attribute not in made and callable(getattr(base, attribute, None)))
    ]
    if taken:
        raise UsageError(
            f"{name}.__init__ sets self.{taken[0]}, which SmartModel needs: choose another name."
        )
    if not model.population:
        raise UsageError(f"{name} has no agents: make them with self.populate(…).")
    known = [share.__name__ for share in model.agent_classes()]
    all_given = {"minds": model.population.minds, "personas": model.population.personas}
    for what, given in all_given.items():
        for class_name in given if is_by_class(given) else ():
            if class_name not in known:
                raise UnknownName(f"class of agents of {name}", class_name, known, parameter=what)
    if alone := [a for a in model.agents if isinstance(a, SmartAgent) and not hasattr(a, "mind")]:
        raise UsageError(
            f"An agent of the class {type(alone[0]).__name__} has no mind: make it with "
            "self.populate(…)."
        )
    for agent in model.population:
        overwritten = agent.turn or agent.attempts or not hasattr(agent.mind, "answer")
        if overwritten:
            raise UsageError(
                f"{name}.__init__ sets the mind, turn or attempts of a "
                f"{type(agent).__name__}, which SmartAgent needs: choose another name."
            )
    _check_phases(model)


def reserved_of(model: Any) -> dict[str, Any]:
    """The reserved attributes that a scenario must not set during a round, with their values.

    Args:
        model: the model.
    """
    counted = {"critical_path_asks", "current_turn", "in_flight"}
    return {name: value for name, value in vars(model).items() if name in RESERVED - counted}


def check_unchanged(model: Any, before: Mapping[str, Any]) -> None:
    """Check that a scenario has set no reserved attribute in a round.

    Args:
        model: the model.
        before: the result of `reserved_of` at the start of the round.

    Raises:
        RunError: for an attribute that it has set.
    """
    now = reserved_of(model)
    if taken := sorted(name for name in before if now.get(name) is not before[name]):
        raise RunError(
            f"{type(model).__name__} sets self.{taken[0]} in a round, which SmartModel needs: "
            "choose another name."
        )


def _check_phases(model: Any) -> None:
    name, kinds = type(model).__name__, model.agent_classes()
    for phase in model.phases:
        if not callable(getattr(model, f"after_{phase.name}", None)):
            raise UsageError(
                f"{name} needs the method after_{phase.name}(self, agent, decision), which "
                f"applies the decisions of the phase {phase.name!r}."
            )
        if not any(hasattr(kind, phase.name) for kind in kinds):
            raise UsageError(
                f"No agent of {name} has a part in the phase {phase.name!r}: it is the method "
                f"async def {phase.name}(self)."
            )
