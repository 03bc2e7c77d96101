"""Embedding models as minds: they give the similarity of texts.

Their answers are recorded like those of a language model: each is on disk before it is used, counts
for budgets, tokens and dollars, and comes from the recording when a run is repeated.
"""

from __future__ import annotations

from typing import Any

from sabm_mesa.core.answers import Format
from sabm_mesa.core.asks import Ask
from sabm_mesa.errors import ParameterError, about
from sabm_mesa.llm import Client, ScriptedClient, connect
from sabm_mesa.llm.client import EmbeddingRequest
from sabm_mesa.llm.endpoints import check_url
from sabm_mesa.minds.base import Mind
from sabm_mesa.minds.llm import LLMMind
from sabm_mesa.minds.recorded import RecordedMind
from sabm_mesa.minds.specs import MindContext, model_and_endpoint, problem_in

KIND = "embedding"


class EmbeddingMind(LLMMind):
    """An embedding model behind an OpenAI-compatible endpoint.

    Args:
        model: the name of the model.
        client: the client that asks it.
        spec: how the mind is named in the data.
    """

    answer_format: Format | None = "paper"
    """The format of its answers, whatever the format of language models."""

    def __init__(self, model: str, client: Client, spec: str) -> None:
        super().__init__(model, client, spec=spec)

    def _request(self, ask: Ask) -> EmbeddingRequest:
        return EmbeddingRequest(self.model, ask.chat())


def embedding_model(spec: str) -> tuple[str, str]:
    """Model and endpoint (or ``""``) of an embedding model; two empty texts for another spec.

    Args:
        spec: the spec.
    """
    kind, _, rest = spec.partition(":")
    return model_and_endpoint(rest) if kind == KIND else ("", "")


def embedder(what: str, spec: Any, context: MindContext) -> Mind:
    """The embedding model of a run; in a repeated run it answers from the recording.

    Args:
        what: the parameter, for the error.
        spec: ``embedding:MODEL``, ``embedding:MODEL@URL`` or ``embedding:MODEL@NAME``; or a mind
            that answers in place of one.
        context: the data from which the minds of the run are made.

    Raises:
        ParameterError: for a spec that cannot be read.
        MissingKey: when the endpoint needs a key and there is none.
    """
    if isinstance(spec, Mind):
        return spec
    name, named = embedding_model(spec) if isinstance(spec, str) else ("", "")
    if name and "://" in spec:  # first, so that no password is in an error
        with about(what):
            check_url(named or name.partition("@")[2])
    if not name or problem_in(spec.partition(":")[2]):
        raise ParameterError(
            f"{what} is sparse, embedding:MODEL or embedding:MODEL@URL, not {spec!r}.",
            parameter=what,
        )
    client: Client = (
        ScriptedClient(())
        if context.asks_nobody
        else connect(named or None, context.connection, name)
    )
    mind, replaying = EmbeddingMind(name, client, spec), context.replaying
    if replaying is None:
        return mind
    return RecordedMind(spec, replaying.recorded, mind, live=replaying.may_ask)
