"""The contract of a scenario's class with its base class: checks of its methods and constructor.

`SmartModel` applies these checks when a model is made, so that mistakes are reported before a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.errors import SabmError, ScenarioError, UnknownName, UsageError, failure
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

    Raises:
        UsageError: for a text alone, as in ``("stock")``.
    """
    if isinstance(given, str):
        raise UsageError(f'Columns are a tuple, as in ("{given}",), not the text {given!r}.')
    return given if isinstance(given, Mapping) else {name: name for name in given}


def check_no_tables(cls: type) -> None:
    """Check that a scenario has no table of prompts outside its `prompts`.

    Args:
        cls: the class of the scenario.

    Raises:
        UsageError: for an attribute with the name of such a table.
    """
    for table in ("conditions", "variants", "personas"):
        if isinstance(vars(cls).get(table), Mapping):
            raise UsageError(
                f"{cls.__name__}.{table} is read inside prompts only: write prompts = "
                f'{{…, "{table}": {{…}}}}.'
            )


def playing_a_round(step: Callable[..., None]) -> Callable[..., None]:
    """Wrap the method `step` of a scenario with a check that it plays a round."""

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
            raise failure(f"{name}.step", error) from error
        if playing and self.running and self.round == before:
            self.running = False
            raise ScenarioError(
                f"{name}.step() plays no round: call super().step() in it, or leave it out. What "
                "agents decide goes into their phases, and rules go into after_PHASE and update()."
            )

    return checked


def check_super_called(model: Any) -> None:
    """Check that the constructor of a scenario has called the constructor of its base class.

    Raises:
        UsageError: when it has not called it.
    """
    if "_made" not in vars(model):
        raise UsageError(
            f"{type(model).__name__}.__init__ must call super().__init__(**settings) first."
        )


def check_constructed(model: Any, base: type) -> None:
    """Check that the constructor of a scenario has set up the model.

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
    if not model.running:
        raise UsageError(
            f"{name}.__init__ sets self.running = False, so that no round is played: leave it out; "
            'self.end("why") ends a run in a round.'
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
    _check_columns(model)


def reserved_of(model: Any) -> dict[str, Any]:
    """The reserved attributes that a scenario must not set during a round, with their values."""
    counted = {"critical_path_asks", "current_turn", "in_flight"}
    return {name: value for name, value in vars(model).items() if name in RESERVED - counted}


def check_unchanged(model: Any, before: Mapping[str, Any]) -> None:
    """Check that a scenario has set no reserved attribute in a round.

    Raises:
        ScenarioError: for an attribute that it has set.
    """
    now = reserved_of(model)
    if taken := sorted(name for name in before if now.get(name) is not before[name]):
        raise ScenarioError(
            f"{type(model).__name__} sets self.{taken[0]} in a round, which SmartModel needs: "
            "choose another name."
        )


def _check_columns(model: Any) -> None:
    """Report a misspelt column: its attribute is missing, and another one has almost its name."""
    one_of_each = {type(agent): agent for agent in model.population}
    columns = [("model", model, model.columns())]
    columns += [("agent", agent, model.columns_of(kind)) for kind, agent in one_of_each.items()]
    for what, holder, attributes in columns:
        others = {*dir(holder)} - {*attributes.values()}
        for column, attribute in attributes.items():
            name = attribute.partition(".")[0]
            if not hasattr(holder, name) and (near := get_close_matches(name, others, 1, 0.8)):
                raise UsageError(
                    f"The {what} column {column!r} is the attribute {name!r}, which "
                    f"{type(holder).__name__} does not have. Did you mean {near[0]!r}? Otherwise "
                    f"set self.{name} in __init__."
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
                f"No class of agents of {name} has the method async def {phase.name}(self), which "
                f"the phase {phase.name!r} calls."
            )
