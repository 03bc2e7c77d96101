"""The mind that an embedding model is: it knows how near texts are to one another, and no more.

Its answers are recorded like those of a language model: each is on disk before it is used, counts
for budgets, tokens and dollars, and comes from the recording when a run is repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sabm_mesa.asks import Ask
from sabm_mesa.decisions import Format
from sabm_mesa.errors import ParameterError
from sabm_mesa.llm import Client, Connection, ScriptedClient, connect
from sabm_mesa.llm.address import check_url
from sabm_mesa.llm.client import EmbeddingRequest
from sabm_mesa.minds import Mind, model_and_url
from sabm_mesa.minds.llm import LLMMind
from sabm_mesa.minds.recorded import RecordedMind

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

KIND = "embedding"


class EmbeddingMind(LLMMind):
    """An embedding model behind an OpenAI-compatible endpoint.

    Args:
        model: the name of the model.
        client: the client that asks it.
        spec: how the mind is named in the data.
    """

    answer_format: Format = "paper"
    """What it answers has one form, whatever format language models are asked for."""

    def __init__(self, model: str, client: Client, spec: str) -> None:
        super().__init__(model, client, spec=spec)

    def _request(self, ask: Ask) -> EmbeddingRequest:
        messages = tuple((each["role"], each["content"]) for each in ask.messages())
        return EmbeddingRequest(self.model, messages)


def embedding_model(spec: str) -> tuple[str, str]:
    """Name and address (or ``""``) in the spec of an embedding model; two empty texts for no such.

    Args:
        spec: the spec.
    """
    kind, _, rest = spec.partition(":")
    name, _, url = model_and_url(rest) if kind == KIND else ("", "", "")
    return name, url


def embedder(what: str, spec: Any, model: SmartModel) -> Mind:
    """The embedding model of a run; while a recorded run is followed it answers from that.

    Args:
        what: the parameter, for the error.
        spec: ``embedding:MODEL`` or ``embedding:MODEL@URL``.
        model: the run.

    Raises:
        ParameterError: for a spec that cannot be read.
        LLMError: when the endpoint cannot be reached for want of a key.
    """
    name, url = embedding_model(spec) if isinstance(spec, str) else ("", "")
    if not name:
        raise ParameterError(
            f"{what} is sparse, embedding:MODEL or embedding:MODEL@URL, not {spec!r}."
        )
    if url or "://" in name:
        check_url(url or name.partition("@")[2])
    history = model.history
    # It is recorded how the model is reached, also when nothing was said of it.
    model.connection = model.connection or Connection()
    if history is None:
        return EmbeddingMind(name, connect(url or None, model.connection, name), spec)
    client = connect(url or None, model.connection, name) if history.may_ask else ScriptedClient(())
    return RecordedMind(spec, history.past, EmbeddingMind(name, client, spec), live=history.may_ask)
