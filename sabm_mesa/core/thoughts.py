"""Thoughts of thinking models are split off from answers, for all minds, only in this module.

Thoughts are private: they are recorded with the answer, and no agent, prompt or conversation ever
gets them. A server that separates them sends them in their own fields (read in
`sabm_mesa.llm.reading`). Other servers leave them in the text between marks, and either mark may be
missing: the chat template may have written the first one, and an answer that was cut off has no
last one. Text in doubt counts as a thought: a lost answer can be asked for again, but a published
thought cannot be withdrawn.

If a template begins the thought and the answer is cut off before its end, there is no mark at all,
and the text alone does not distinguish a thought from an answer. `sabm_mesa.llm.quirks` decides
by the earlier answers of that model; for its first answer nothing is known.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Qwen, DeepSeek, GLM and most others write <think>; Gemini <thought>; Claude, when it is asked to,
# <thinking>; Seed <seed:think>; Magistral [THINK]; Kimi ◁think▷; Cohere <|START_THINKING|>.
_NAME = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)"
_LEFT, _RIGHT = r"(?:<|\\u003c)", r"(?:>|\\u003e)"
_BEGIN = (
    rf"{_LEFT}{_NAME}(?:\s[^<>]*)?(?:{_RIGHT}|\Z)|\[think\]|◁think▷"
    r"|<\|begin_of_thought\|>|<\|start_thinking\|>"
    r"|(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)[^<]*(?:<\|message\|>|\Z)"
)
_END = (
    rf"{_LEFT}\\?/{_NAME}\s*{_RIGHT}|\[/think\]|◁/think▷"
    r"|<\|end_of_thought\|>|<\|end_thinking\|>"
    r"|(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final[^<]*<\|message\|>"
)
_MARK = re.compile(rf"(?P<begin>{_BEGIN})|(?P<end>{_END})", re.IGNORECASE)
_LEFT_OVER = re.compile(
    r"<\|(?:end|return|(?:begin|end)_of_solution|(?:start|end)_response)\|>", re.IGNORECASE
)
"""Marks that some models set around the answer itself."""


def ends_thought(text: str) -> bool:
    """Whether a text has the last mark of a thought without a first one, which a template wrote."""
    mark = _MARK.search(text) if _may_hold_marks(text) else None
    return mark is not None and mark["end"] is not None


def begins_thought(text: str) -> bool:
    """Whether a text begins with the first mark of a thought."""
    mark = _MARK.match(text.lstrip())
    return mark is not None and mark["begin"] is not None


class Split(NamedTuple):
    """An answer and its thoughts.

    Attributes:
        answer: the answer, without thoughts.
        thoughts: the thoughts, ``""`` without any.
    """

    answer: str
    thoughts: str = ""


def split_thoughts(text: str) -> Split:
    """Split the thoughts in a text from the answer.

    Thoughts are the text between two marks, after a first mark without a last one, and before a
    last mark without a first one.
    """
    if not _may_hold_marks(text) or _MARK.search(text) is None:
        return Split(text, "")
    answer, thoughts = text, []
    while _MARK.search(answer):  # taking one out may bring the halves of another together
        answer, thought = _split_once(answer)
        thoughts.append(thought)
    return Split(_LEFT_OVER.sub("", answer).strip(), join_thoughts(*thoughts))


def join_thoughts(*thoughts: str) -> str:
    """Join thoughts from several places, each once."""
    return "\n\n".join(dict.fromkeys(filter(None, map(str.strip, thoughts))))


def _may_hold_marks(text: str) -> bool:
    """Whether a text has the beginning of any mark."""
    return "<" in text or "[" in text or "◁" in text or "\\u003" in text


def _split_once(text: str) -> Split:
    answer: list[str] = []
    thoughts: list[str] = []
    at, thinking = 0, False
    for mark in _MARK.finditer(text):
        before = text[at : mark.start()]
        if thinking:
            thoughts.append(before)
        elif mark["begin"]:
            answer.append(before)
        else:  # the template wrote the first mark
            thoughts += [*answer, before]
            answer = []
        at, thinking = mark.end(), mark["begin"] is not None
    (thoughts if thinking else answer).append(text[at:])
    return Split("".join(answer), join_thoughts(*thoughts))
