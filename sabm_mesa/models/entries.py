"""The recorded entries of a run: the header of the run, and the data of each round."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from typing import Any

from sabm_mesa.llm import Connection
from sabm_mesa.minds.specs import by_spec, language_model
from sabm_mesa.recording import RunRow
from sabm_mesa.recording.store import versions
from sabm_mesa.recording.writing import RoundRows


def run_header(model: Any) -> RunRow:
    """The header of the run of a model."""
    prompts = model.book.with_hashes({agent.persona for agent in model.population})
    kind = type(model)
    return RunRow(
        scenario=model.scenario_name,
        model=f"{kind.__module__}:{kind.__name__}",
        file=vars(kind).get("loaded_from", ""),
        parameters={
            name: by_spec(value) if name == "minds" else value
            for name, value in model.parameters.items()
            if name != "rng"
        },
        seed=model.entropy,
        minds=model.minds_in_use(),
        prompts={entry: digest for entry, (digest, _) in prompts.items()},
        texts=dict(prompts.values()),
        versions=run_versions(model),
        connection=_recorded_connection(model),
        model_columns=list(model.datacollector.model_reporters),
        agent_columns=["agent", *model.datacollector.agent_reporters],
        tags=model.tags,
    )


def run_versions(model: Any) -> dict[str, str]:
    """Package → version, and SHA-256 of the files of the scenario and of minds."""
    minds: dict[str, str] = model.mind_versions()
    return versions() | file_version(type(model)) | minds


def file_version(kind: type) -> dict[str, str]:
    """Recorded file of a scenario → its SHA-256; empty for a scenario of an installed package."""
    file = vars(kind).get("loaded_from", "")
    return (
        {file: hashlib.sha256(Path(inspect.getfile(kind)).read_bytes()).hexdigest()} if file else {}
    )


def _recorded_connection(model: Any) -> dict[str, Any]:
    """The settings of the connection to language models, including defaults."""
    connection: Connection | None = model.connection
    if connection is None and any(language_model(spec) for spec in model.minds_in_use()):
        connection = Connection()
    return {} if connection is None else connection.as_recorded()


def round_rows(model: Any) -> RoundRows:
    """The data of the last round."""
    phases = [*(phase.name for phase in model.phases), ""]
    messages = [
        [
            message.sender,
            message.name,
            phases[message.stage],
            message.position,
            message.to,
            message.text,
        ]
        for message in model.said
    ]
    return *model.datacollector.last_rows(), messages
