"""Local models as minds: the built-in model, and any GGUF file.

They are asked, recorded, replayed and counted like every language model, and cost nothing. Each
answer has a seed from the position of the question in the run, so that agents with the same
question can give different answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from sabm_mesa.core.answers import TOKENS_AROUND, Format
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.toml_io import expand_home
from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm import Client, Connection, ScriptedClient, connect_local, release_local
from sabm_mesa.llm.local import ANSWER_TOKENS, split_options
from sabm_mesa.llm.request import Request
from sabm_mesa.llm.weights import BOX, IN_THE_BOX, weights_of
from sabm_mesa.minds.llm import LLMMind, LLMSettings
from sabm_mesa.recording import RecordedRun
from sabm_mesa.recording.replaying import ReplayRecorder

_SEEDS = 2**32 - 1
"""llama.cpp reads the largest one as no seed."""
LEAST_TOKENS = 160
"""The least default limit of an answer in JSON, in tokens: its grammar allows blank lines."""
_ASKED_FOR_JSON = "It is asked for JSON; --set answer_format=labelled changes that."
_NUMBER_CHARS = 40
"""The maximum length of a number in llama.cpp's JSON grammar."""


class LocalMind(LLMMind):
    """A local model.

    Its `version` is None when the file is not needed, since the model is not asked.

    Args:
        default_limit: whether the `max_tokens` of the settings are the default of the scenario.
            These were chosen for other models, and do not cut off answers in JSON.
    """

    enforces_json = True

    def __init__(
        self,
        model: str,
        client: Client,
        settings: LLMSettings | None = None,
        spec: str = "",
        *,
        default_limit: bool = False,
    ) -> None:
        super().__init__(model, client, settings, spec)
        self._default_limit = default_limit

    def close(self) -> None:
        """Release the server for runs with other options."""
        release_local(self.client)

    def _schema(self, ask: Ask) -> dict[str, Any]:
        return ask.answer_schema(bounded=True)

    def _request(self, ask: Ask) -> Request:
        seeds = ask.rng.bit_generator.seed_seq
        seed = int(seeds.generate_state(1)[0]) % _SEEDS
        request = super()._request(ask)
        limit = self._limit(ask, request.schema)
        return replace(request, seed=seed, max_tokens=limit)

    def _limit(self, ask: Ask, schema: Mapping[str, Any] | None) -> int:
        limit = self.settings.max_tokens
        return token_limit(ask.spec.most_tokens, schema, limit, default=self._default_limit)


def token_limit(
    most: int | None, schema: Mapping[str, Any] | None, limit: int | None, *, default: bool
) -> int:
    """The maximum number of tokens of an answer of a local model: the chosen number, if any.

    Otherwise in JSON, it is one token per character that the schema allows: small models write
    texts of digits and signs, and an answer that is cut off is not JSON.

    Args:
        schema: the JSON schema of the answer; None in other forms.
        default: whether `limit` is the default of the scenario.
    """
    if limit is not None and not default:
        return limit
    if schema is None:
        return min(most or ANSWER_TOKENS, ANSWER_TOKENS)
    longest = sum(map(_longest, schema["properties"].values())) + TOKENS_AROUND
    return max(most or 0, int(longest), LEAST_TOKENS) if longest < inf else ANSWER_TOKENS


def _longest(schema: Mapping[str, Any]) -> float:
    """The maximum length of a value; infinite without a bound."""
    if "anyOf" in schema:
        return max(_longest(option) for option in schema["anyOf"])
    if "enum" in schema:
        return max(len(json.dumps(option)) for option in schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        return sum(len(name) + 8 + _longest(part) for name, part in schema["properties"].items())
    if kind == "array":
        return 4 + float(schema.get("maxItems", inf)) * (_longest(schema["items"]) + 4)
    return float(schema.get("maxLength", inf)) if kind == "string" else _NUMBER_CHARS


def model_name(spec: str) -> str:
    """The name of a local model from its spec; it begins with ``gguf:``."""
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
    default_limit: bool = False,
) -> LocalMind:
    """The mind of a spec; its server is started unless the model is not asked, as in a replay.

    Args:
        before: the provenances of its answers of this mind, as JSON.
        thought: whether its answers of this mind have thoughts.
        answer_format: the chosen answer format; None for JSON.
        default_limit: whether the `max_tokens` of the settings are the default of the scenario.

    Raises:
        ParameterError: when there is no such file, it cannot be loaded, or there is too little
            memory.
        RecordingError: when the recorded answers of this mind are from another file.
    """
    name, options = split_options(spec)
    if replaying is not None and not replaying.may_ask:
        nobody = ScriptedClient(())
        mind = LocalMind(model_name(spec), nobody, settings, spec, default_limit=default_limit)
    else:
        path = _path(name)
        note = "" if answer_format else _ASKED_FOR_JSON
        client, file = connect_local(
            path, options, connection, before, thought=thought, note=note, spec=spec
        )
        digest = file.rpartition(" ")[2]
        _check_sum(name, digest)
        if replaying is not None:
            _check_file(replaying.recorded, spec, file)
        mind = LocalMind(model_name(spec), client, settings, spec, default_limit=default_limit)
        mind.version = digest
    mind.answer_format = None if answer_format else "json"
    return mind


def local_client(spec: str, connection: Connection) -> Client:
    """The client for a local model.

    Raises:
        ParameterError: as `local_mind`.
    """
    name, options = split_options(spec)
    return connect_local(_path(name), options, connection, spec=spec)[0]


def _path(name: str) -> Path:
    kind, _, rest = name.partition(":")
    return weights_of(rest or IN_THE_BOX).path if kind == "local" else expand_home(rest)


def _check_sum(name: str, digest: str) -> None:
    """Check the file of a model with a known SHA-256, since damaged files answer nonsense."""
    if name in ("local", f"local:{IN_THE_BOX}") and digest != BOX.sha256:
        raise ParameterError(
            f"The weights of {IN_THE_BOX} are damaged ({BOX.path}): sabm models get {IN_THE_BOX} "
            "fetches them again."
        )


def _check_file(recorded: RecordedRun, spec: str, file: str) -> None:
    for row in recorded.asks.values():
        then = row.served_model
        if row.mind == spec and then.rpartition(" ")[2] != file.rpartition(" ")[2]:
            raise RecordingError(
                f"{recorded.name} was answered by another version of {spec} ({then}) than the "
                f"present file ({file}): put the old file back, and give this one another name."
            )
