"""Replaying, resuming and forking recorded runs.

A recorded run is always repeated from its beginning: the rules are computed again, free minds
decide again, and paid answers come from the recording. Any difference from the recording is an
error that names the first difference. A replay stops at the end of the recording; `resume`
continues from there; a fork is a new run that begins with the history of another.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import ParameterError, RecordingError, UsageError
from sabm_mesa.llm import Connection
from sabm_mesa.llm.budget import most_of
from sabm_mesa.llm.endpoints import OPENAI_URL, PRESETS
from sabm_mesa.llm.prices import PriceTable
from sabm_mesa.minds.recorded import RecordedMind
from sabm_mesa.minds.specs import (
    by_spec,
    check_forms,
    endpoints_in,
    language_model,
    objects_by_spec,
)
from sabm_mesa.models import registry
from sabm_mesa.models.base import OF_PROMPTS, SmartModel
from sabm_mesa.models.entries import file_version
from sabm_mesa.recording import RecordedRun, Recording, load_runs
from sabm_mesa.recording.replaying import ReplayRecorder
from sabm_mesa.recording.statistics import lost_answers, paid_for
from sabm_mesa.runs.run import Runs, Watch, run_models

M = TypeVar("M", bound=SmartModel)
Numbers = int | Iterable[int] | None
OwnMinds = Mapping[str, Any]
"""Spec → mind object, for custom minds."""


def replay(
    recording: str | Path,
    runs: Numbers = None,
    *,
    minds: OwnMinds | None = None,
    scenario: type[SmartModel] | None = None,
    watch: Watch = lambda _: None,
) -> Runs:
    """Repeat runs from the recording alone, and check that everything is the same.

    No key is needed and nothing is sent. For an interrupted run, the finished rounds are replayed.

    Args:
        runs: the numbers of runs of one scenario; None: the runs of the latest command.
        minds: custom minds without cost, by spec: they decide again. Without them their answers
            come from the recording too.
        scenario: the model class, when it cannot be imported by its recorded name.
        watch: called with the models every tenth of a second.

    Raises:
        RecordingError: when the recording cannot be read, or anything differs.
        UsageError: when this version cannot use the recorded parameters.
    """
    recorded = latest(load_runs(recording)) if runs is None else load_runs(recording, runs)
    rounds = [None if run.finished else run.rounds for run in recorded]
    models = [
        rebuild(class_of(run, scenario), ReplayRecorder(run, minds=minds)) for run in recorded
    ]
    return run_models(models, watch=watch, rounds=rounds)


def resume(
    recording: str | Path,
    runs: Numbers = None,
    *,
    minds: OwnMinds | None = None,
    scenario: type[SmartModel] | None = None,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
) -> Runs:
    """Continue interrupted runs; no answered question is asked again.

    Args:
        runs: the numbers of the runs; None: the runs of the latest command with an unfinished run,
            or else of the latest command. Finished ones are replayed, so that the data are
            complete.
        minds: custom minds, by spec.
        scenario: the model class, when it cannot be imported by its recorded name.
        connection: how language models are reached; as recorded when None. Its budget counts the
            cost of these runs so far.
        watch: called with the models every tenth of a second.

    Returns:
        The runs; with several scenarios, those of the scenario with the most runs.

    Raises:
        RecordingError: when the recording cannot be read or written, when a run is in use, or when
            anything differs from the recording.
        UsageError: when this version cannot use the recorded parameters.
        RunError: when a run fails again; its answers are recorded.
    """
    recorded = to_resume(recording) if runs is None else load_runs(recording, runs)
    _check_same_server(recorded)
    kinds: dict[str, list[RecordedRun]] = {}
    for run in recorded:
        kinds.setdefault(run.model, []).append(run)
    numbers = [run.run for run in recorded]
    with Recording(recording) as opened:
        done = [  # one budget for all of them: what was spent is counted again before each kind
            _continue(
                opened, kind, load_runs(recording, numbers), minds, scenario, connection, watch
            )
            for kind in sorted(kinds.values(), key=len)
        ]
    return done[-1]


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
    """Branch runs: the same history up to a round, and other parameters or minds afterwards.

    Later changes of the parent itself are not carried over.

    Args:
        at: the first round with the new parameters.
        new: parameter → value.
        into: the recording that the new runs are written to; they name their parents.
        runs: the numbers of the runs; None: the runs of the latest command.
        minds: custom minds, by spec.
        scenario: the model class, when it cannot be imported by its recorded name.
        connection: how language models are reached; as recorded when None. Its budget counts only
            new costs.
        watch: called with the models every tenth of a second.

    Raises:
        UsageError: for a parameter that cannot change during a run, or a value that cannot be used;
            then nothing has been written.
        RecordingError: when the recording cannot be read, or a run has too few rounds.
        RunError: when a run fails; it can be resumed.
    """
    recorded = latest(load_runs(recording)) if runs is None else load_runs(recording, runs)
    _check_same_kind(recorded)
    if not new:
        raise ParameterError("A fork needs at least one parameter or mind that changes.")
    if "minds" in new:
        check_forms(new["minds"], recorded[0].minds)
        minds = {**(minds or {}), **objects_by_spec(new["minds"])}
        new = {**new, "minds": by_spec(new["minds"])}
    new = json_roundtrip(dict(new))
    connection = connection or Connection.of_recorded(recorded[0].connection)
    agreed = (connection.agreed or frozenset()) | endpoints_in(new)
    connection = replace(connection, agreed=agreed)
    branches = [
        planned_fork(run, at, new, minds=minds, scenario=scenario, connection=connection)
        for run in recorded
    ]
    with Recording(into) as opened:
        numbers = [
            opened.start_fork(run, forked) for run, forked in zip(recorded, branches, strict=True)
        ]
        branched = load_runs(into, numbers)
        return _continue(opened, branched, (), minds, scenario, connection, watch)


def to_resume(recording: str | Path) -> list[RecordedRun]:
    """The runs of the latest command with an unfinished run, or else of the latest command.

    A command may have been stopped between its last round and its tables.

    Raises:
        RecordingError: when it cannot be read, or has no run.
    """
    recorded = load_runs(recording)
    return latest([run for run in recorded if not run.finished] or recorded, recorded)


def latest(
    recorded: Sequence[RecordedRun], among: Sequence[RecordedRun] | None = None
) -> list[RecordedRun]:
    """The runs of the latest command.

    Args:
        recorded: the runs that determine the latest command.
        among: the runs to choose from, when they differ from `recorded`.
    """
    return [run for run in among or recorded if run.command == recorded[-1].command]


def foreign_addresses(recorded: Sequence[RecordedRun], connection: Connection) -> list[str]:
    """The addresses of recorded runs that a command does not allow."""
    guarded = connection.for_recorded()
    named: set[str] = set()
    for run in recorded:
        named |= endpoints_in(run.parameters) | endpoints_in([fork["set"] for fork in run.forks])
    if "" in named and connection.base_url is None:
        named.add(connection.recorded_url or "")
    return sorted(address for address in named if "://" in address and not guarded.may_ask(address))


def resume_models(
    opened: Recording,
    recorded: Sequence[RecordedRun],
    connection: Connection,
    *,
    minds: OwnMinds | None = None,
    scenario: type[SmartModel] | None = None,
) -> list[SmartModel]:
    """Models that repeat recorded runs, and continue interrupted ones.

    Args:
        connection: how language models are reached; its budget counts new costs.
        minds: custom minds, by spec.

    Raises:
        RecordingError: when a run is in use, or the recording cannot be written.
        UsageError: when this version cannot use the recorded parameters.
    """
    connection = connection.for_recorded()
    left = [run for run in recorded if not run.finished]
    for run in left:  # what cannot go on, for want of a key say, is left as it is
        recorder = ReplayRecorder(run, live=True, minds=minds)
        rebuild(class_of(run, scenario), recorder, connection=connection)
    going_on = claimed(opened, left, connection, minds)
    return [
        rebuild(class_of(run, scenario), going_on[run.run], connection=connection)
        if run.run in going_on
        else rebuild(class_of(run, scenario), ReplayRecorder(run, minds=minds))
        for run in recorded
    ]


def claimed(
    opened: Recording,
    recorded: Sequence[RecordedRun],
    connection: Connection,
    minds: OwnMinds | None,
) -> dict[int, ReplayRecorder]:
    """The number of each interrupted run → its recorder, which repeats and continues it.

    Raises:
        RecordingError: when a run is in use, or the recording cannot be written.
    """
    recorders = opened.claim([run.run for run in recorded], connection.as_recorded())
    # Read again: until the claim another process may have written them.
    now = load_runs(opened.path, recorders)
    return {r.run: ReplayRecorder(r, recorders[r.run], live=True, minds=minds) for r in now}


def with_spent(connection: Connection, recorded: Sequence[RecordedRun]) -> Connection:
    """The connection with a budget of which recorded runs have spent a part."""
    if connection.budget is None or not recorded:
        return connection
    spent = spent_before(recorded, connection.prices)
    return replace(connection, budget=connection.budget.after(spent))


def rebuild(model: type[M], recorder: ReplayRecorder, **services: Any) -> M:
    """A model that repeats a recorded run from its beginning.

    Raises:
        UsageError: for recorded parameters that this version cannot use.
    """
    run = recorder.recorded
    try:
        return model(**run.parameters, rng=list(run.seed), recording=recorder, **services)
    except ParameterError as error:
        raise ParameterError(f"{run.name}: {error}", parameter=error.parameter) from None


def class_of(run: RecordedRun, scenario: type[SmartModel] | None = None) -> type[SmartModel]:
    """The model class of a recorded run.

    Raises:
        RecordingError: when it is neither registered nor imported, and its file is not found.
    """
    if scenario is not None:
        return scenario
    if (registered := registry.model_at(run.model)) is not None:
        return registered
    module, _, name = run.model.partition(":")
    model = getattr(sys.modules.get(module), name, None)
    if isinstance(model, type) and issubclass(model, SmartModel):
        return model
    try:
        return registry.recorded_model(run.model, run.scenario, run.file, run.path)
    except UsageError as error:
        raise RecordingError(
            f"{run.name} is a run of {run.scenario!r} ({run.model}): {error}"
        ) from error


def changed_file(run: RecordedRun) -> str:
    """The file of the scenario, if it has changed since the run was recorded; else ``""``."""
    then, now = run.versions.get(run.file), file_version(class_of(run)).get(run.file)
    return run.file if then and now and then != now else ""


def lost_before(recorded: Sequence[RecordedRun], prices: str | Path | None) -> Usage:
    """Return the highest possible cost of answers that were requested and never recorded.

    Args:
        recorded: runs of one recording; all runs started with them also count.

    Returns:
        Requests as `asks`, tokens and dollars; NaN dollars when a price is not known.

    Raises:
        RecordingError: when it cannot be read.
    """
    most, table = Usage(), PriceTable(prices)
    for model, lost in lost_answers(recorded[0].path, [run.run for run in recorded]):
        price = table.of(model)
        if math.isnan(lost.cost_usd) and price is not None:
            lost.cost_usd = price.most(lost.prompt_tokens, lost.completion_tokens)
        most.add(lost)
    return most


def spent_before(recorded: Sequence[RecordedRun], prices: str | Path | None) -> Usage:
    """Return the cost of language models in runs and in all runs started with them.

    An answer without reported tokens or without a known price counts at its highest possible cost,
    as during the run; so do lost answers (`lost_before`).

    Raises:
        RecordingError: when it cannot be read.
    """
    spent, table = paid_for(recorded[0].path, [run.run for run in recorded]), PriceTable(prices)
    lost = lost_before(recorded, prices)
    spent.add(replace(lost, cost_usd=0.0 if math.isnan(lost.cost_usd) else lost.cost_usd))
    for run in recorded:
        for row in run.asks.values():
            name = language_model(row.mind)
            unreported = not row.prompt_tokens
            if not name or row.copied or not (unreported or row.cost_usd is None):
                continue
            contents = [content for _, content in run.chat(row)]
            price = table.at(_address(run, row.mind)).of(name)
            assumed = most_of(contents, run.limit(row), price)
            spent.add(
                Usage(
                    prompt_tokens=max(0, assumed.tokens - row.completion_tokens)
                    if unreported
                    else 0,
                    cost_usd=assumed.cost_usd if row.cost_usd is None else 0.0,
                )
            )
    return spent


def _address(run: RecordedRun, spec: str) -> str:
    """The address that a language model was asked at."""
    named = next(iter(endpoints_in(spec)), "")
    listed: Mapping[str, str] = run.connection.get("endpoints", {})
    if named in PRESETS and named not in listed:
        return PRESETS[named].base_url
    return listed.get(named, named) or run.connection.get("base_url") or OPENAI_URL


def _continue(
    opened: Recording,
    recorded: Sequence[RecordedRun],
    counted: Sequence[RecordedRun],
    minds: OwnMinds | None,
    scenario: type[SmartModel] | None,
    connection: Connection | None,
    watch: Watch,
) -> Runs:
    """Continue runs of one scenario, with a budget that counts the cost of some runs so far."""
    if connection is None:
        connection = Connection.of_recorded(recorded[0].connection)
    connection = with_spent(connection, counted)
    models = resume_models(opened, recorded, connection, minds=minds, scenario=scenario)
    return run_models(models, watch=watch)


def _check_same_server(recorded: Sequence[RecordedRun]) -> None:
    if len({run.connection.get("base_url") for run in recorded}) > 1:
        raise RecordingError(
            f"The named runs of {recorded[0].path} asked different servers: continue with those of "
            "one command at a time."
        )


def _check_same_kind(recorded: Sequence[RecordedRun]) -> None:
    _check_same_server(recorded)
    if len({run.model for run in recorded}) > 1:
        raise RecordingError(
            f"The named runs of {recorded[0].path} have different scenarios: fork those of one "
            "scenario at a time (--run)."
        )


# Forking.


def planned_fork(
    run: RecordedRun,
    at: int,
    new: Mapping[str, Any],
    *,
    tags: Mapping[str, str] | None = None,
    minds: OwnMinds | None = None,
    scenario: type[SmartModel] | None = None,
    connection: Connection | None = None,
) -> RecordedRun:
    """The run as it will be after the fork: everything is checked before anything is written.

    Args:
        at: the first round with the new parameters.
        new: parameter → value, in the form in which they are recorded.

    Raises:
        UsageError: for a parameter that cannot change, or a value that cannot be used.
        RecordingError: when the run cannot be forked there.
    """
    kind = class_of(run, scenario)
    kind.check_changeable(new)
    if not 0 <= at <= run.rounds:
        raise RecordingError(
            f"{run.name} has {run.rounds} recorded rounds: fork it at a round from 0 to "
            f"{run.rounds} (got {at})."
        )
    parent = replace(run, forks=[fork for fork in run.forks if fork["at"] <= at], tags=tags or {})
    changed_prompts = bool(OF_PROMPTS & set(new))
    clone = _clone_at_fork(kind, parent, new, changed_prompts, minds, connection)
    if clone.n_rounds <= at:
        raise ParameterError(
            f"A fork at round {at} needs an n_rounds above {at} (got {clone.n_rounds})."
        )
    for agent in clone.population:
        if isinstance(agent.mind, RecordedMind) and not agent.mind.at_hand:
            raise RecordingError(
                f"The mind {agent.mind.spec!r} of {run.name} is not available: continue in Python "
                f"with fork(…, minds={{{agent.mind.spec!r}: mind}})."
            )
    prompts = (
        clone.book.with_hashes({agent.persona for agent in clone.population})
        if changed_prompts
        else {}
    )
    hashes = {entry: digest for entry, (digest, _) in prompts.items()} or None
    change: dict[str, Any] = {"at": at, "set": dict(new), "prompts": hashes}
    if files := clone.mind_versions():
        change["versions"] = files
    forked = replace(
        parent,
        forks=[*parent.forks, change],
        texts={**run.texts, **dict(prompts.values())},
    )
    # The user's own minds may remember these questions, so copies of them are asked.
    copies = {spec: _copy(mind) for spec, mind in (minds or {}).items()}
    _play_up_to(at, rebuild(kind, ReplayRecorder(forked, minds=copies)))
    return forked


def _clone_at_fork(
    kind: type[M],
    parent: RecordedRun,
    new: Mapping[str, Any],
    changed_prompts: bool,
    minds: OwnMinds | None,
    connection: Connection | None,
) -> M:
    """The model of a run before its first round, with the parameters after the fork."""
    model = rebuild(kind, ReplayRecorder(parent, minds=minds))
    for fork_ in parent.forks:
        model.parameters = model.parameters | dict(fork_["set"])
    model.connection = (connection or Connection.of_recorded(parent.connection)).for_recorded()
    if changed_prompts and "prompts" not in new:
        _check_same_prompts(model, parent)
    live = ReplayRecorder(
        parent, live=True, minds=minds, applied=len(parent.forks), from_files=changed_prompts
    )
    return model.clone_with(new, live)


def _copy(mind: Any) -> Any:
    try:
        return deepcopy(mind)
    except TypeError:  # it holds what cannot be copied, such as a connection
        return mind


def _check_same_prompts(model: SmartModel, run: RecordedRun) -> None:
    """Check that the prompt files are those of the run: otherwise a fork changes them too."""
    now = PromptBook(
        model.prompt_file,
        model.parameters["condition"],
        model.parameters["variant"],
        model.parameters["prompts"],
    )
    then, hashes = run.prompts_at(len(run.forks)), now.hashes()
    if changed := [entry for entry, digest in then.items() if hashes.get(entry, digest) != digest]:
        raise RecordingError(
            f"The prompts of {run.name} have changed since ({', '.join(changed[:5])}), so the "
            "fork would change them too: restore them, or name a prompt file (--prompts)."
        )


def _play_up_to(at: int, model: SmartModel) -> None:
    """Play the history of a fork without asking, and check that it can continue from there."""
    try:
        model.begin()
        while model.running and model.round + 1 < at:
            model.step()
        if not model.running:
            assert model.replaying is not None
            raise RecordingError(
                f"{model.replaying.recorded.name} ended by its own rules after {at} rounds: fork "
                "it at an earlier round."
            )
    finally:
        model.close()
