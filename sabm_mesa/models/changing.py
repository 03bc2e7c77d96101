"""Changing a run that is under way: how a fork departs from the run it was forked from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.recording.history import History

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

M = TypeVar("M", bound="SmartModel")

OF_PROMPTS = frozenset({"condition", "variant", "prompts", "personas"})
OF_EVERY_SCENARIO = OF_PROMPTS | {
    "answer_format", "max_attempts", "max_tokens", "minds", "n_rounds", "temperature", "top_p",
}  # fmt: skip
"""Parameters that can change during a run of any scenario."""


def check_changeable(scenario: type[SmartModel], names: Iterable[str]) -> None:
    """Check that parameters can change during a run.

    Args:
        scenario: the model class.
        names: the parameters.

    Raises:
        UnknownName: for one that cannot.
    """
    can_change = OF_EVERY_SCENARIO | scenario.changeable
    for name in names:
        if name not in can_change:
            raise UnknownName(
                f"parameter of {scenario.scenario_name} that can change during a run",
                name,
                can_change,
            )


def rebuilt(model: type[M], history: History, **services: Any) -> M:
    """A model that follows a recorded run from its beginning.

    Args:
        model: the model class.
        history: the run.
        services: how language models are reached.

    Raises:
        UsageError: for recorded parameters that this version cannot use.
    """
    past = history.past
    try:
        return model(**past.parameters, rng=list(past.seed), recording=history, **services)
    except ParameterError as error:
        raise ParameterError(f"{past.name}: {error}") from None


def change_if_due(model: SmartModel) -> None:
    """Make the changes that are due when the next round begins.

    Args:
        model: the model; one that follows no recorded run has none.
    """
    history = model.history
    if history is None:
        return
    for applied, fork in enumerate(history.past.forks, 1):
        if fork["at"] == model.round + 1:
            new = fork["set"]
            twin = twin_of(model, new, replace(history, applied=applied))
            model.parameters = model.parameters | dict(new)
            model.take_over(twin, frozenset(new))


def twin_of(model: M, new: Mapping[str, Any], history: History) -> M:
    """The same model at its beginning, with other parameters: what it would have been.

    Args:
        model: the model.
        new: the parameters that are other.
        history: what it follows.

    Raises:
        UsageError: for a parameter that cannot be used.
    """
    parameters = {name: value for name, value in model.parameters.items() if name != "rng"}
    return type(model)(
        **parameters | dict(new),
        rng=list(model.entropy),
        connection=model.connection,
        recording=history,
    )


def take_over(model: SmartModel, twin: SmartModel, changed: frozenset[str]) -> None:
    """Take over what the changed parameters determine in every scenario.

    Args:
        model: the model.
        twin: the same model with the changed parameters.
        changed: their names.
    """
    same = ("n_rounds", "condition", "variant", "answer_format", "max_attempts", "llm_settings")
    for name in same:
        setattr(model, name, getattr(twin, name))
    if changed & OF_PROMPTS:
        model.book = twin.book
    for agent, other in zip(model.population, twin.population, strict=True):
        if "personas" in changed:
            agent.persona = other.persona
        # A free mind that stays may have learned; a paid one is the same but for its settings.
        if other.mind.paid or agent.mind.spec != other.mind.spec:
            agent.mind = other.mind
    for name in changed & model.changeable:
        setattr(model, name, getattr(twin, name))
