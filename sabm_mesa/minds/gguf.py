"""The mind that is a language model in a GGUF file, which runs in this process.

It is asked, recorded, replayed and counted like every language model, and costs nothing. Each of
its answers has a seed from the place of the question in the run, so that agents who are asked the
same do not all say the same, and a run repeats.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sabm_mesa.asks import Ask
from sabm_mesa.errors import RecordingError
from sabm_mesa.llm import ScriptedClient, connect_file
from sabm_mesa.llm.client import Request
from sabm_mesa.minds.llm import LLMMind
from sabm_mesa.own_files import at_home

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel
    from sabm_mesa.recording.past import Past

_SEEDS = 2**32 - 1
"""llama.cpp takes the one above all others for no seed."""


class GGUFMind(LLMMind):
    """A language model in a GGUF file.

    Attributes:
        version: SHA-256 of the file; None where it is not there, since nobody is asked.
    """

    version: str | None = None

    def _request(self, ask: Ask) -> Request:
        place = ask.rng.bit_generator.seed_seq
        seed = int(place.generate_state(1)[0]) % _SEEDS
        return replace(super()._request(ask), seed=seed)


def gguf_mind(spec: str, path: str, model: SmartModel) -> GGUFMind:
    """The mind of a spec; the file is loaded, unless nobody is asked, as in a replay.

    Args:
        spec: ``gguf:PATH``.
        path: the file.
        model: the run.

    Raises:
        ParameterError: when there is no such file, or it cannot be loaded.
        RecordingError: when the recorded answers of this mind are from another file.
    """
    history = model.history
    if history is not None and not history.may_ask:
        return GGUFMind(spec, ScriptedClient(()), model.llm_settings, spec)
    client, file = connect_file(at_home(path), model.connection)
    if history is not None:
        _check_file(history.past, spec, file)
    mind = GGUFMind(spec, client, model.llm_settings, spec)
    mind.version = file.rpartition(" ")[2]
    return mind


def _check_file(past: Past, spec: str, file: str) -> None:
    for row in past.answers.values():
        if row["mind"] == spec and row["served_model"] != file:
            raise RecordingError(
                f"{past.name} was answered by another {spec} ({row['served_model']}) than is there "
                f"now ({file}): put that file back, and give this one another name."
            )
