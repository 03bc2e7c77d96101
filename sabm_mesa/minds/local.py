"""The minds that are local models: the model in the box, and any GGUF file.

They are asked, recorded, replayed and counted like every language model, and cost nothing. Each of
their answers has a seed from the place of the question in the run, so that agents with the same
question do not all give the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sabm_mesa.core.answers import TOKENS_AROUND, Format
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.toml_io import expand_home
from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm import Client, Connection, ScriptedClient, connect_local
from sabm_mesa.llm.client import Request
from sabm_mesa.llm.local import ANSWER_TOKENS, split_options
from sabm_mesa.llm.weights import CATALOGUE, IN_THE_BOX, weights_of
from sabm_mesa.minds.llm import LLMMind, LLMSettings
from sabm_mesa.recording import RecordedRun
from sabm_mesa.recording.replaying import ReplayRecorder

_SEEDS = 2**32 - 1
"""llama.cpp takes the one above all others for no seed."""


class LocalMind(LLMMind):
    """A local model.

    Its `version` is None where the file is not needed, since nobody is asked.
    """

    def _request(self, ask: Ask) -> Request:
        place = ask.rng.bit_generator.seed_seq
        seed = int(place.generate_state(1)[0]) % _SEEDS
        request = super()._request(ask)
        return replace(request, seed=seed, max_tokens=self._limit(ask, request.schema))

    def _limit(self, ask: Ask, schema: Mapping[str, Any] | None) -> int | None:
        """Tokens at most: in JSON, one for each character that the grammar of a text allows.

        Small models write texts of digits and signs, and what is cut off is no JSON.
        """
        most, of_run = ask.most_tokens, self.settings.max_tokens
        if most is not None and schema is not None:
            texts = schema["properties"].values()
            longest = sum(text.get("maxLength", 0) for text in texts) + TOKENS_AROUND
            most = max(most, longest)
        return min((limit for limit in (most, of_run) if limit is not None), default=None)


def model_name(spec: str) -> str:
    """The name of the model in the spec of a local one, which begins with ``gguf:``.

    Args:
        spec: ``local``, ``local:NAME`` or ``gguf:FILE``, with options or without.
    """
    kind, _, rest = split_options(spec)[0].partition(":")
    return f"gguf:{rest or IN_THE_BOX}" if kind == "local" else f"gguf:{rest}"


def local_mind(
    spec: str,
    settings: LLMSettings,
    connection: Connection | None,
    replaying: ReplayRecorder | None,
    before: Sequence[str] = (),
    *,
    thought: bool = False,
    answer_format: Format | None = None,
) -> LocalMind:
    """The mind of a spec; its server is started, unless nobody is asked, as in a replay.

    Args:
        spec: ``local``, ``local:NAME`` or ``gguf:FILE``, each with options behind a ``?`` or
            without.
        settings: how the model is asked.
        connection: its limits and its budget hold; None: the defaults.
        replaying: the recorded run that is repeated, or None.
        before: the provenances of its answers of this mind, as JSON.
        thought: whether its answers of this mind have thoughts.
        answer_format: the form of answers that was chosen; None for JSON.

    Raises:
        ParameterError: when there is no such file, it cannot be loaded, or there is too little
            memory.
        RecordingError: when the recorded answers of this mind are from another file.
    """
    settings = replace(settings, max_tokens=settings.max_tokens or ANSWER_TOKENS)
    name, options = split_options(spec)
    if replaying is not None and not replaying.may_ask:
        mind = LocalMind(model_name(spec), ScriptedClient(()), settings, spec)
    else:
        path = _path(name)
        client, file = connect_local(path, options, connection, before, thought=thought)
        digest = file.rpartition(" ")[2]
        _check_sum(name, digest)
        if replaying is not None:
            _check_file(replaying.recorded, spec, file)
        mind = LocalMind(model_name(spec), client, settings, spec)
        mind.version = digest
    mind.answer_format = answer_format or "json"
    return mind


def local_client(spec: str, connection: Connection) -> Client:
    """The client for a local model, as its mind has it.

    Args:
        spec: the spec of the mind.
        connection: its limits and its budget hold.

    Raises:
        ParameterError: as `local_mind`.
    """
    name, options = split_options(spec)
    return connect_local(_path(name), options, connection)[0]


def _path(name: str) -> Path:
    kind, _, rest = name.partition(":")
    return weights_of(rest or IN_THE_BOX).path if kind == "local" else expand_home(rest)


def _check_sum(name: str, digest: str) -> None:
    """Check the file of a model whose SHA-256 is known, since damaged ones answer nonsense."""
    kind, _, rest = name.partition(":")
    known = CATALOGUE.get(rest or IN_THE_BOX)
    if kind == "local" and known is not None and known.sha256 != digest:
        raise ParameterError(
            f"The weights of {known.name} are damaged ({known.path}): sabm models get {known.name} "
            "fetches them again."
        )


def _check_file(recorded: RecordedRun, spec: str, file: str) -> None:
    for row in recorded.asks.values():
        then = row["served_model"]
        if row["mind"] == spec and then.rpartition(" ")[2] != file.rpartition(" ")[2]:
            raise RecordingError(
                f"{recorded.name} was answered by another {spec} ({then}) than is there now "
                f"({file}): put that file back, and give this one another name."
            )
