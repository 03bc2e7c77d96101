"""Thinkers: models that think before they answer, and the forms in which servers send that.

Each is written from a provider's documentation or from reports of its answers; the sources stand
beside them. All count thoughts in the limit of tokens, and are cut off there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .brains import Brain, Reply

MARK = "zq"
"""Stands in every thought, and in nothing else."""
THOUGHT = f"{MARK} the others may think as I do, so lower {MARK}"
TOKENS = 1400
"""Tokens of a thought: github.com/covan-ai/covan/pull/112 measured 1408 for gpt-5."""
_LIMITS = ("max_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True)
class Thinker:
    """The form of a model's thoughts.

    Attributes:
        said: (thought, answer) → text and more fields of the message; the answer is None when the
            limit ended it before.
        settings: settings of the server.
    """

    said: Callable[[str, str | None], tuple[str, Mapping[str, Any]]]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def brain(self, brain: Brain, tokens: int = TOKENS) -> Brain:
        """A brain that thinks this many tokens before it answers as another one does."""

        def thinks(messages: list[dict[str, Any]], body: dict[str, Any]) -> Any:
            limit = next((body[name] for name in _LIMITS if name in body), 10**6)
            if limit <= tokens:
                text, more = self.said(THOUGHT, None)
                return Reply(
                    text, "length", completion_tokens=0, message=more, thought_tokens=limit
                )
            answer: Any = brain(messages, body)
            text, more = self.said(THOUGHT, answer)
            return Reply(
                text, completion_tokens=len(answer) // 4 + 1, message=more, thought_tokens=tokens
            )

        return thinks


def _in_text(first: str) -> Callable[[str, str | None], tuple[str, Mapping[str, Any]]]:
    def said(thought: str, answer: str | None) -> tuple[str, Mapping[str, Any]]:
        return f"{first}{thought}" + ("" if answer is None else f"\n</think>\n\n{answer}"), {}

    return said


def _beside(*names: str) -> Callable[[str, str | None], tuple[str, Mapping[str, Any]]]:
    return lambda thought, answer: (answer or "", dict.fromkeys(names, thought))


def _details(thought: str, answer: str | None) -> tuple[str, Mapping[str, Any]]:
    details = [{"type": "reasoning.text", "text": thought, "format": "unknown", "index": 0}]
    return answer or "", {"reasoning": thought, "reasoning_details": details}


THINKERS: dict[str, Thinker] = {
    # developers.openai.com/api/docs/guides/reasoning: no thoughts, their tokens in the details of
    # the usage; github.com/64bit/async-openai/issues/424: nothing but its end at the limit.
    "openai": Thinker(lambda _, answer: (answer or "", {})),
    # api-docs.deepseek.com, "Reasoning model"; llama.cpp and SGLang with a parser send the same.
    "deepseek": Thinker(_beside("reasoning_content")),
    # docs.vllm.ai, "Reasoning outputs": `reasoning`, before `reasoning_content`; no tokens told.
    "vllm": Thinker(_beside("reasoning"), {"thoughts_as": "not"}),
    # openrouter.ai/docs/use-cases/reasoning-tokens
    "openrouter": Thinker(_details, {"more": {"provider": "Together"}}),
    # github.com/project-arbr/arbr-control-plane/pull/253: thought tokens in the total alone.
    "gemini": Thinker(lambda _, answer: (answer or "", {}), {"thoughts_as": "total"}),
    # docs.vllm.ai, qwen3_reasoning_parser: Qwen3 of 2025-04 writes both marks itself.
    "qwen3": Thinker(_in_text("<think>\n"), {"thoughts_as": "not"}),
    # The same page: from Qwen3.5 on, the template writes the first one.
    "qwen3_5": Thinker(_in_text(""), {"thoughts_as": "not"}),
}
