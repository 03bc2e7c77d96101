"""Memories in the words of a mind: `Summary`, which the mind writes, and `History` of its answers.

::

    class Trader(SmartAgent):
        memory = Summary(every=5, words=80)
        history = last(6)

`Summary` collects items. When it has `every` new items and the agent is asked a question, its mind
is first asked, by the prompt entry ``summarise``, for a text that replaces these items and the
previous summary. Rules (`ClassicalMind`) write no summary: they read all items.

`History` sends the agent's latest questions and valid answers as turns of the chat, between the
scenario prompt and the current question.
"""

from __future__ import annotations

import json
from typing import Any

from sabm_mesa.core.answers import LABEL, Decision, Text
from sabm_mesa.core.asks import Ask, Chat
from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.parameters import check_int

CHARS = 20
"""Maximum number of characters of a summary for each word that it may have."""


class Summary:
    """A memory that the agent's mind summarises; its prompts have the entry ``summarise``.

    Args:
        every: number of new items after which the mind summarises, before its next question.
        words: maximum number of words of a summary; a longer one is cut.

    Attributes:
        text: the current summary; ``""`` before the first.
        items: the items that are not summarised yet, oldest first: texts, or objects with a
            ``text``.

    Raises:
        ParameterError: for numbers below 1.
    """

    def __init__(self, every: int = 5, words: int = 80) -> None:
        self.every = check_int("every of a Summary", every, 1)
        self.words = check_int("words of a Summary", words, 1)
        self.text = ""
        self.items: list[Any] = []
        self._new = 0

    def empty(self) -> Summary:
        """A memory of the same kind with nothing in it."""
        return Summary(self.every, self.words)

    def add(self, item: Any) -> None:
        """Add the newest item."""
        self.items.append(item)
        self._new += 1

    def recall(self) -> tuple[Any, ...]:
        """The summary, and the items after it."""
        return (self.text, *self.items) if self.text else tuple(self.items)

    @property
    def due(self) -> bool:
        """Whether a summary is needed before the next question."""
        return self._new >= self.every

    @property
    def spec(self) -> Text:
        """The spec of a summary."""
        return Text(self.words, self.words * CHARS)

    def take(self, summary: Decision) -> None:
        """Replace the items by a summary, or keep them if the summary is not usable.

        The mind is asked again after `every` new items.
        """
        self._new = 0
        if summary.valid:
            self.text, self.items = summary.value, []


class History:
    """The latest questions to an agent and its valid answers, as turns of a chat.

    Args:
        turns: maximum number of questions.

    Raises:
        ParameterError: for a number below 1.
    """

    def __init__(self, turns: int) -> None:
        self.turns = check_int("the turns of a history", turns, 1)
        self._chat: Chat = ()

    def empty(self) -> History:
        """Return an empty history of the same length."""
        return History(self.turns)

    def chat(self) -> Chat:
        """The messages: role and content of each, oldest first."""
        return self._chat

    def add(self, ask: Ask, decision: Decision) -> None:
        """Add a question and its answer, in the requested format."""
        answer = written(ask, decision)
        chat = (*self._chat, ("user", ask.question[1]), ("assistant", answer))
        self._chat = chat[-2 * self.turns :]


def last(turns: int) -> History:
    """Declare that an agent class sends its earlier questions and answers as turns of the chat.

    Args:
        turns: maximum number of questions, each with its answer; the newest are sent.

    Raises:
        ParameterError: for a number below 1.
    """
    return History(turns)


def written(ask: Ask, decision: Decision) -> str:
    """A valid answer as text, in the format of the question."""
    reasoned = {"reasoning": decision.reasoning} if decision.reasoning else {}
    if ask.answer_format == "json":
        whole = {**reasoned, "answer": json_roundtrip(decision.value)}
        return json.dumps(whole, ensure_ascii=False)
    label = LABEL if ask.answer_format == "labelled" and ask.spec.has_label else ""
    return "\n".join([*reasoned.values(), label + ask.spec.as_text(decision.value)])
