"""Repeating, continuing and forking recorded runs.

A recorded run is always followed from its beginning: the rules are computed again, free minds
decide again, and paid answers come from the recording. Whatever differs from the recording is an
error that names the first difference. A replay stops there; `resume` goes on where the recording
ends; a fork is a new run that begins with the history of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from sabm_mesa import registry
from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm import Connection
from sabm_mesa.minds import by_spec, objects_by_spec
from sabm_mesa.minds.recorded import RecordedMind
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.changing import OF_PROMPTS, check_changeable, rebuilt, twin_of
from sabm_mesa.recording import Recording, RunRecorder
from sabm_mesa.recording.forking import fork_into
from sabm_mesa.recording.history import History
from sabm_mesa.recording.past import Past, pasts
from sabm_mesa.recording.statistics import as_recorded
from sabm_mesa.runner import Runs, Watch, run_models

OwnMinds = Mapping[str, Any]
Numbers = Iterable[int] | None


def replay(
    recording: str | Path,
    runs: Numbers = None,
    *,
    minds: OwnMinds | None = None,
    scenario: type[SmartModel] | None = None,
    watch: Watch = lambda _: None,
) -> Runs:
    """Run again from the recording alone, and check that all comes out the same.

    No key is needed and nothing is sent. Of a run that was cut off, the rounds that were played
    to their end are replayed.

    Args:
        recording: the recording.
        runs: the numbers of the runs, of one scenario; those of the latest command when None.
        minds: minds of your own that decide for free, by their spec: they decide again. Without
            them their answers come from the recording too.
        scenario: the model class, when it cannot be imported by its recorded name.
        watch: called with the models every tenth of a second.

    Raises:
        RecordingError: when the recording cannot be read, or anything differs.
        UsageError: when this version cannot use the recorded parameters.
    """
    found = latest(pasts(recording)) if runs is None else pasts(recording, runs)
    models = [
        rebuilt(_class_of(past, scenario), History(past, minds=minds or {})) for past in found
    ]
    return run_models(models, watch=watch, rounds=[_rounds_of(model) for model in models])


def resume(
    recording: str | Path,
    runs: Numbers = None,
    *,
    minds: OwnMinds | None = None,
    scenario: type[SmartModel] | None = None,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
) -> Runs:
    """Go on with runs that were cut off; nothing that was answered is asked again.

    Args:
        recording: the recording.
        runs: the numbers of the runs; None: those of the latest command that left any unfinished,
            the finished ones included (they are replayed, so that the data are complete).
        minds: minds of your own, by their spec.
        scenario: the model class, when it cannot be imported by its recorded name.
        connection: how language models are reached; as recorded when None. Its budget counts
            what these runs have spent already.
        watch: called with the models every tenth of a second.

    Raises:
        RecordingError: when the recording cannot be read or written, when a run is in use, or
            when anything differs from what was recorded.
        UsageError: when this version cannot use the recorded parameters.
        RunError: when a run fails again; what was answered is recorded.
    """
    found = unfinished(recording) if runs is None else pasts(recording, runs)
    with Recording(recording) as opened:
        return _go_on(opened, found, minds, scenario, connection, watch)


def fork(
    recording: str | Path,
    at: int,
    new: Mapping[str, Any],
    into: str | Path,
    runs: Numbers = None,
    *,
    minds: OwnMinds | None = None,
    scenario: type[SmartModel] | None = None,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
) -> Runs:
    """Branch runs: the same history up to a round, and other parameters or minds from it on.

    Changes that the parent itself underwent in later rounds are not carried over.

    Args:
        recording: the recording.
        at: the first round with the new parameters.
        new: parameter → value.
        into: the recording that the new runs are written to; they name their parents.
        runs: the numbers of the runs; those of the latest command when None.
        minds: minds of your own, by their spec.
        scenario: the model class, when it cannot be imported by its recorded name.
        connection: how language models are reached; as recorded when None. Its budget counts
            what is spent from now on only.
        watch: called with the models every tenth of a second.

    Raises:
        UsageError: for a parameter that cannot change during a run, or a value that cannot be
            used; nothing has been written then.
        RecordingError: when the recording cannot be read, or a run did not come that far.
        RunError: when a run fails; it can be resumed.
    """
    found = latest(pasts(recording)) if runs is None else pasts(recording, runs)
    if not new:
        raise ParameterError("A fork needs at least one parameter or mind that changes.")
    if "minds" in new:
        minds = {**(minds or {}), **objects_by_spec(new["minds"])}
        new = {**new, "minds": by_spec(new["minds"])}
    new = as_recorded(new)
    forked = [_forked(past, at, new, minds, scenario, connection) for past in found]
    with Recording(into) as opened:
        numbers = [
            fork_into(opened, past, at, branch.forks, branch.texts)
            for past, branch in zip(found, forked, strict=True)
        ]
        return _go_on(opened, pasts(into, numbers), minds, scenario, connection, watch)


def unfinished(recording: str | Path) -> list[Past]:
    """The runs of the latest command that left any unfinished.

    Args:
        recording: the recording.

    Raises:
        RecordingError: when there are none.
    """
    found = pasts(recording)
    left = [past for past in found if past.status != "finished"]
    if not left:
        raise RecordingError(f"Nothing to resume: all runs in {recording} are finished.")
    return [past for past in found if past.command == left[-1].command]


def latest(found: Sequence[Past]) -> list[Past]:
    """The runs of the latest command among these."""
    return [past for past in found if past.command == found[-1].command]


def _go_on(
    opened: Recording,
    found: Sequence[Past],
    minds: OwnMinds | None,
    scenario: type[SmartModel] | None,
    connection: Connection | None,
    watch: Watch,
) -> Runs:
    if connection is None:
        connection = Connection.of_recorded(found[0].connection)
    left = [past for past in found if past.status != "finished"]
    for past in left:  # what cannot go on, for want of a key say, is left as it is
        _live(past, None, minds, scenario, connection)
    onward = opened.claim([past.run for past in left], connection.as_recorded())
    if connection.budget is not None:
        connection.budget.count(*opened.spent([past.run for past in found]))
    now = {past.run: past for past in pasts(opened.path, onward)}  # others write it no more
    models = [
        _live(now[past.run], onward[past.run], minds, scenario, connection)
        if past.run in onward
        else rebuilt(_class_of(past, scenario), History(past, minds=minds or {}))
        for past in found
    ]
    return run_models(models, watch=watch)


def _live(
    past: Past,
    onward: RunRecorder | None,
    minds: OwnMinds | None,
    scenario: type[SmartModel] | None,
    connection: Connection,
) -> SmartModel:
    history = History(past, onward, live=True, minds=minds or {})
    return rebuilt(_class_of(past, scenario), history, connection=connection)


def _forked(
    past: Past,
    at: int,
    new: Mapping[str, Any],
    minds: OwnMinds | None,
    scenario: type[SmartModel] | None,
    connection: Connection | None,
) -> Past:
    """The run as if it had been forked already: all is checked before anything is written."""
    kind = _class_of(past, scenario)
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
    branch = replace(
        trunk,
        forks=[*trunk.forks, {"at": at, "set": dict(new), "prompts": hashes}],
        texts={**past.texts, **dict(prompts.values())},
    )
    _play_up_to(at, rebuilt(kind, History(branch, minds=minds or {})))
    return branch


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


def _class_of(past: Past, scenario: type[SmartModel] | None) -> type[SmartModel]:
    if scenario is not None:
        return scenario
    if past.scenario in registry.SCENARIOS:
        return registry.scenario(past.scenario)
    module, _, name = past.model.partition(":")
    try:
        found: Any = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        found = None
    if not (isinstance(found, type) and issubclass(found, SmartModel)):
        raise RecordingError(
            f"{past.name} is of the scenario {past.scenario!r} ({past.model}), which cannot be "
            "imported here: go on in Python with scenario=YourModel."
        )
    return found


def _rounds_of(model: SmartModel) -> int | None:
    """The rounds to replay of a run that was cut off; None for one that came to its end."""
    assert model.history is not None
    past = model.history.past
    return None if past.status == "finished" else past.rounds
