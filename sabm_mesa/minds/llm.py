"""Language models as minds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from annotated_types import Ge, Le

from sabm_mesa.core.answers import Reply
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.parameters import check_fields
from sabm_mesa.errors import ParameterError, about
from sabm_mesa.llm.client import Client
from sabm_mesa.llm.endpoints import check_extra_body
from sabm_mesa.llm.request import Request
from sabm_mesa.minds.base import Mind

Temperature = Annotated[float, Ge(0)] | None
MaxTokens = Annotated[int, Ge(1)] | None
TopP = Annotated[float, Ge(0), Le(1)] | None
Effort = str | None
ExtraBody = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class LLMSettings:
    """The settings of requests to a language model.

    Attributes:
        temperature: sampling temperature; None leaves it to the server.
        max_tokens: the maximum number of tokens of an answer; None leaves it to the server.
        top_p: nucleus sampling; None leaves it to the server.
        reasoning_effort: the effort of a thinking model, in the words of its server, such as
            ``"low"``; None leaves it to the server.
        max_thought_tokens: the maximum number of thought tokens, in addition to those of the
            answer. None: the default allowance of `sabm_mesa.llm.quirks` for thinking models.
        extra_body: name → value of more fields of each request.

    Raises:
        ParameterError: for a value out of its range.
    """

    temperature: Temperature = None
    max_tokens: MaxTokens = None
    top_p: TopP = None
    reasoning_effort: Effort = None
    max_thought_tokens: MaxTokens = None
    extra_body: ExtraBody = None

    def __post_init__(self) -> None:
        """Refuse what no server takes."""
        check_fields(self)
        effort: Any = self.reasoning_effort
        if effort is not None and not (isinstance(effort, str) and effort.strip()):
            raise ParameterError(
                f"reasoning_effort is a word that the server knows, such as low (got {effort!r}).",
                parameter="reasoning_effort",
            )
        if self.extra_body is not None:
            with about("extra_body"):
                check_extra_body(self.extra_body, "extra_body")


SAMPLING = tuple(setting.name for setting in fields(LLMSettings))
"""Parameters of a scenario that are sent to language models."""


def varied_sampling(parameters: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The parameters sent to language models that differ between the runs of a study."""
    values = [[str(parameter.get(name)) for name in SAMPLING] for parameter in parameters]
    columns = zip(SAMPLING, zip(*values, strict=True), strict=False)
    return frozenset(name for name, column in columns if len(set(column)) > 1)


class LLMMind(Mind):
    """A language model behind an OpenAI-compatible endpoint.

    Args:
        needed: parameters that the study depends on (`Connection.needed`).
    """

    def __init__(
        self,
        model: str,
        client: Client,
        settings: LLMSettings | None = None,
        spec: str = "",
        needed: frozenset[str] = frozenset(),
    ) -> None:
        self.model, self.client = model, client
        self.settings = settings or LLMSettings()
        self.spec = spec or f"llm:{model}"
        self._needed = needed

    async def answer(self, ask: Ask) -> Reply:
        """Ask the language model.

        Raises:
            LLMError: when the model could not be asked.
            BudgetExceeded: when the ask could pass a cap.
        """
        request = self._request(ask)
        reply = await self.client.complete(request)
        reply.answer_format, reply.request = ask.attempt_format, request.digest()
        return reply

    def digest(self, ask: Ask) -> str:
        """The hash of the exact request for a question."""
        return self._request(ask).digest()

    def _schema(self, ask: Ask) -> dict[str, Any]:
        return ask.answer_schema()

    def _request(self, ask: Ask) -> Request:
        given = (self.settings.max_tokens, ask.spec.most_tokens)
        limits = [limit for limit in given if limit is not None]
        return Request(
            model=self.model,
            messages=ask.chat(),
            temperature=self.settings.temperature,
            max_tokens=min(limits) if limits else None,
            top_p=self.settings.top_p,
            reasoning_effort=self.settings.reasoning_effort,
            max_thought_tokens=self.settings.max_thought_tokens,
            extra_body=self.settings.extra_body,
            schema=self._schema(ask) if ask.attempt_format == "json" else None,
            needed=self._needed,
            sent_notes=ask.sent_notes,
        )
