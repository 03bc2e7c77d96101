"""Repeating, continuing and forking recorded runs.

A recorded run is always followed from its beginning: the rules are computed again, free minds
decide again, and paid answers come from the recording. Whatever differs from the recording is an
error that names the first difference. A replay stops there; `resume` goes on where the recording
ends; a fork is a new run that begins with the history of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sabm_mesa.branching import OwnMinds, class_of, forked
from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm import Connection
from sabm_mesa.minds import by_spec, check_forms, objects_by_spec
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.changing import rebuilt
from sabm_mesa.recording import Recording, RunRecorder
from sabm_mesa.recording.forking import fork_into
from sabm_mesa.recording.history import History
from sabm_mesa.recording.past import Past, pasts
from sabm_mesa.recording.statistics import as_recorded
from sabm_mesa.runner import Runs, Watch, run_models
from sabm_mesa.spending import spent_before

Numbers = int | Iterable[int] | None


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
    models = [rebuilt(class_of(past, scenario), History(past, minds=minds or {})) for past in found]
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
    _same_kind(found)
    if not new:
        raise ParameterError("A fork needs at least one parameter or mind that changes.")
    if "minds" in new:
        check_forms(new["minds"], found[0].minds)
        minds = {**(minds or {}), **objects_by_spec(new["minds"])}
        new = {**new, "minds": by_spec(new["minds"])}
    new = as_recorded(new)
    branches = [forked(past, at, new, minds, scenario, connection) for past in found]
    with Recording(into) as opened:
        numbers = [
            fork_into(opened, past, at, branch.forks, branch.texts)
            for past, branch in zip(found, branches, strict=True)
        ]
        return _go_on(
            opened, pasts(into, numbers), minds, scenario, connection, watch, from_now_on=True
        )


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
        raise RecordingError(
            f"Nothing to resume: all runs in {recording} are finished. Their tables are written "
            f"by: sabm replay {recording} --out DIR"
        )
    return [past for past in found if past.command == left[-1].command]


def latest(found: Sequence[Past]) -> list[Past]:
    """The runs of the latest command among these."""
    return [past for past in found if past.command == found[-1].command]


def going_on(
    opened: Recording,
    found: Sequence[Past],
    connection: Connection,
    *,
    minds: OwnMinds | None = None,
    scenario: type[SmartModel] | None = None,
) -> list[SmartModel]:
    """Models that follow recorded runs, and go beyond those that were cut off.

    Args:
        opened: the recording, which they are written on into.
        found: the runs.
        connection: how language models are reached; its budget counts what is spent from now on.
        minds: minds of your own, by their spec.
        scenario: the model class, when it cannot be imported by its recorded name.

    Raises:
        RecordingError: when a run is in use, or the recording cannot be written.
        UsageError: when this version cannot use the recorded parameters.
    """
    left = [past for past in found if past.status != "finished"]
    for past in left:  # what cannot go on, for want of a key say, is left as it is
        _live(past, None, minds, scenario, connection)
    onward = opened.claim([past.run for past in left], connection.as_recorded())
    now = {past.run: past for past in pasts(opened.path, onward)}  # others write it no more
    return [
        _live(now[past.run], onward[past.run], minds, scenario, connection)
        if past.run in onward
        else rebuilt(class_of(past, scenario), History(past, minds=minds or {}))
        for past in found
    ]


def _go_on(
    opened: Recording,
    found: Sequence[Past],
    minds: OwnMinds | None,
    scenario: type[SmartModel] | None,
    connection: Connection | None,
    watch: Watch,
    *,
    from_now_on: bool = False,
) -> Runs:
    _same_kind(found)
    if connection is None:
        connection = Connection.of_recorded(found[0].connection)
    if connection.budget is not None and not from_now_on:
        spent = spent_before(opened, found, connection.prices)
        connection = replace(connection, budget=connection.budget.after(spent))
    models = going_on(opened, found, connection, minds=minds, scenario=scenario)
    return run_models(models, watch=watch)


def _same_kind(found: Sequence[Past]) -> None:
    if len({(past.model, past.connection.get("base_url")) for past in found}) > 1:
        raise RecordingError(
            f"The runs of {found[0].path} that are named are of different scenarios, or asked "
            "different servers: go on with those of one command at a time."
        )


def _live(
    past: Past,
    onward: RunRecorder | None,
    minds: OwnMinds | None,
    scenario: type[SmartModel] | None,
    connection: Connection,
) -> SmartModel:
    history = History(past, onward, live=True, minds=minds or {})
    return rebuilt(class_of(past, scenario), history, connection=connection)


def _rounds_of(model: SmartModel) -> int | None:
    """The rounds to replay of a run that was cut off; None for one that came to its end."""
    assert model.history is not None
    past = model.history.past
    return None if past.status == "finished" else past.rounds
