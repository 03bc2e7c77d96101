"""Checking a fork of a recorded run before anything is written."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from sabm_mesa import registry
from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm import Connection
from sabm_mesa.minds.recorded import RecordedMind
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.changing import OF_PROMPTS, check_changeable, rebuilt, twin_of
from sabm_mesa.prompts import PromptBook
from sabm_mesa.provenance import file_versions
from sabm_mesa.recording.history import History
from sabm_mesa.recording.past import Past

OwnMinds = Mapping[str, Any]


def forked(
    past: Past,
    at: int,
    new: Mapping[str, Any],
    minds: OwnMinds | None,
    scenario: type[SmartModel] | None,
    connection: Connection | None,
) -> Past:
    """The run as if it had been forked already: all is checked before anything is written.

    Args:
        past: the run.
        at: the first round with the new parameters.
        new: parameter → value, as they will be read from the recording.
        minds: minds of one's own, by their spec.
        scenario: the model class, when it cannot be imported by its recorded name.
        connection: how language models are reached; as recorded when None.

    Raises:
        UsageError: for a parameter that cannot change, or a value that cannot be used.
        RecordingError: when the run cannot be forked there.
    """
    kind = class_of(past, scenario)
    check_changeable(kind, new)
    if not 0 <= at <= past.rounds:
        raise RecordingError(
            f"{past.name} has {past.rounds} recorded rounds: fork it at a round from 0 to "
            f"{past.rounds} (got {at})."
        )
    trunk = replace(past, forks=[fork for fork in past.forks if fork["at"] <= at])
    model = rebuilt(kind, History(trunk, minds=minds or {}))
    for fork in trunk.forks:
        model.parameters = model.parameters | dict(fork["set"])
    model.connection = connection or Connection.of_recorded(past.connection)
    of_prompts = bool(OF_PROMPTS & set(new))
    if of_prompts and "prompts" not in new:
        _same_prompts(model, trunk)
    live = History(trunk, None, True, minds or {}, len(trunk.forks), of_prompts)
    twin = twin_of(model, new, live)
    if twin.n_rounds <= at:
        raise ParameterError(
            f"A fork at round {at} needs an n_rounds above {at} (got {twin.n_rounds})."
        )
    for agent in twin.population:
        if isinstance(agent.mind, RecordedMind) and not agent.mind.at_hand:
            raise RecordingError(
                f"The mind {agent.mind.spec!r} of {past.name} is not at hand: go on in Python "
                f"with fork(…, minds={{{agent.mind.spec!r}: mind}})."
            )
    prompts = (
        twin.book.with_hashes({agent.persona for agent in twin.population}) if of_prompts else {}
    )
    hashes = {entry: digest for entry, (digest, _) in prompts.items()} or None
    change: dict[str, Any] = {"at": at, "set": dict(new), "prompts": hashes}
    if files := file_versions(twin):
        change["versions"] = files
    branch = replace(
        trunk,
        forks=[*trunk.forks, change],
        texts={**past.texts, **dict(prompts.values())},
    )
    # Minds of one's own may remember what they are asked here: copies of them are.
    copies = {spec: _copy(mind) for spec, mind in (minds or {}).items()}
    _play_up_to(at, rebuilt(kind, History(branch, minds=copies)))
    return branch


def _copy(mind: Any) -> Any:
    try:
        return deepcopy(mind)
    except TypeError:  # it holds what cannot be copied, such as a connection
        return mind


def _same_prompts(model: SmartModel, past: Past) -> None:
    """Check that the prompt files say what the run was told: else a fork changes that too."""
    now = PromptBook(
        model.prompt_file,
        model.parameters["condition"],
        model.parameters["variant"],
        model.parameters["prompts"],
    )
    then = next((f["prompts"] for f in reversed(past.forks) if f["prompts"]), past.prompts)
    hashes = now.hashes()
    if changed := [e for e, h in then.items() if hashes.get(e, h) != h]:
        raise RecordingError(
            f"The prompts of {past.name} have changed since ({', '.join(changed[:5])}), so the "
            "fork would change them too: restore them, or name a prompt file (--prompts)."
        )


def _play_up_to(at: int, model: SmartModel) -> None:
    """Play the history of a fork without asking anybody, and see that it can go on from there."""
    try:
        model.begin()
        while model.running and model.round + 1 < at:
            model.step()
        if not model.running:
            assert model.history is not None
            raise RecordingError(
                f"{model.history.past.name} ended by its own rules after {at} rounds: fork it at "
                "an earlier round."
            )
    finally:
        model.close()


def class_of(past: Past, scenario: type[SmartModel] | None) -> type[SmartModel]:
    """The model class of a recorded run.

    Args:
        past: the run.
        scenario: the class when it is given.

    Raises:
        RecordingError: when it is neither registered nor imported already.
    """
    if scenario is not None:
        return scenario
    if (own := registry.model_at(past.model)) is not None:
        return own
    # Nothing else is imported because a file names it: recordings come from others, too.
    module, _, name = past.model.partition(":")
    found = getattr(sys.modules.get(module), name, None)
    if not (isinstance(found, type) and issubclass(found, SmartModel)):
        raise RecordingError(
            f"{past.name} is of the scenario {past.scenario!r} ({past.model}), which is not known "
            "here: go on in Python with scenario=YourModel."
        )
    return found
