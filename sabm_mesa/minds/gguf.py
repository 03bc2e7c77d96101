"""The mind that is a language model in a GGUF file, which runs in this process.

It is asked, recorded, replayed and counted like every language model, and costs nothing. Each of
its answers has a seed from the place of the question in the run, so that agents with the same
question do not all give the same answer, and a run repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sabm_mesa.core.asks import Ask
from sabm_mesa.core.toml_io import expand_home
from sabm_mesa.errors import RecordingError
from sabm_mesa.llm import Connection, ScriptedClient, connect_file
from sabm_mesa.llm.client import Request
from sabm_mesa.minds.llm import LLMMind, LLMSettings
from sabm_mesa.recording import RecordedRun
from sabm_mesa.recording.replaying import ReplayRecorder

_SEEDS = 2**32 - 1
"""llama.cpp takes the one above all others for no seed."""


class GGUFMind(LLMMind):
    """A language model in a GGUF file.

    Its `version` is None where the file is not needed, since nobody is asked.
    """

    def _request(self, ask: Ask) -> Request:
        place = ask.rng.bit_generator.seed_seq
        seed = int(place.generate_state(1)[0]) % _SEEDS
        return replace(super()._request(ask), seed=seed)


def gguf_mind(
    spec: str,
    path: str,
    settings: LLMSettings,
    connection: Connection | None,
    replaying: ReplayRecorder | None,
    before: Sequence[str] = (),
    *,
    thought: bool = False,
) -> GGUFMind:
    """The mind of a spec; the file is loaded, unless nobody is asked, as in a replay.

    Args:
        spec: ``gguf:PATH``.
        path: the file.
        settings: how the model is asked.
        connection: its budget holds; None: without one.
        replaying: the recorded run that is repeated, or None.
        before: the provenances of its answers of this mind, as JSON.
        thought: whether its answers of this mind have thoughts.

    Raises:
        ParameterError: when there is no such file, or it cannot be loaded.
        RecordingError: when the recorded answers of this mind are from another file.
    """
    if replaying is not None and not replaying.may_ask:
        return GGUFMind(spec, ScriptedClient(()), settings, spec)
    client, file = connect_file(expand_home(path), connection, before, thought=thought)
    if replaying is not None:
        _check_file(replaying.recorded, spec, file)
    mind = GGUFMind(spec, client, settings, spec)
    mind.version = file.rpartition(" ")[2]
    return mind


def _check_file(recorded: RecordedRun, spec: str, file: str) -> None:
    for row in recorded.asks.values():
        if row["mind"] == spec and row["served_model"] != file:
            raise RecordingError(
                f"{recorded.name} was answered by another {spec} ({row['served_model']}) than is "
                f"there now ({file}): put that file back, and give this one another name."
            )
