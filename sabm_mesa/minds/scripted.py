"""Minds with given answers: from a script, or always the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from sabm_mesa.core.answers import OUTSIDE, InvalidAnswer
from sabm_mesa.core.asks import Ask
from sabm_mesa.errors import MindError, MindSpecError
from sabm_mesa.minds.base import Mind

Script = Callable[[Ask], object] | Iterable[object] | Mapping[str, Iterable[object]]


class ScriptedMind(Mind):
    """A mind that answers from a list or with a function, for tests and counterfactuals.

    Args:
        script: a function of the ask; or the answers in order; or a mapping from the name of the
            question (``"communicate"``, ``"act"``) to answers. A text is read strictly like a
            language model's; any other value is checked.
        spec: how the mind is named in the data.

    Raises:
        MindError: by `answer`, when the script has run out.
    """

    instant = True
    paid = False

    def __init__(self, script: Script, spec: str = "scripted") -> None:
        self.spec = spec
        self._function = script if callable(script) else None
        self._answers: dict[str, Iterator[object]] = {}
        if isinstance(script, Mapping):
            self._answers = {name: iter(answers) for name, answers in script.items()}
        elif not callable(script):
            self._answers = {"": iter(script)}

    async def answer(self, ask: Ask) -> object:
        """Return the next answer of the script."""
        if self._function is not None:
            return self._function(ask)
        answers = self._answers.get(ask.name, self._answers.get("", iter(())))
        for answer in answers:
            return answer
        raise MindError(f"The script of {self.spec!r} has run out at {ask.key} ({ask.name}).")


class FixedMind(Mind):
    """A mind that gives one answer to every question, also as a message, or one to each by name.

    Source: the fixed-strategy opponents of guessing-game experiments with language models
    (Lu 2024).

    Args:
        value: the answer, which is read like any text; or the answers to questions by their names,
            as in ``"act=wait,communicate=hello"``; ``none`` is never a usable answer.

    Raises:
        MindError: by `answer`, for a question without an answer.
        MindSpecError: by `answer`, when the value cannot answer the only question.
    """

    instant = True
    paid = False

    def __init__(self, value: str | float) -> None:
        self.value = value
        self.spec = f"fixed:{value}"
        self._by_question: dict[str, str] = {}
        self._checked = {NOTHING}
        if _NAMED.match(str(value)):
            parts = [part.partition("=") for part in _NEXT.split(str(value))]
            self._by_question = {name.strip(): answer.strip() for name, _, answer in parts}

    async def answer(self, ask: Ask) -> object:
        """Answer with the value for the question."""
        answer = self.to(ask)
        if answer not in self._checked and (self._by_question or len(ask.book.questions) == 1):
            self._checked.add(answer)
            try:
                ask.spec.read(answer)
            except InvalidAnswer as problem:
                if problem.code not in OUTSIDE.values():  # limits may change
                    reason = ask.book.reason(problem)
                    raise MindSpecError(
                        f"{self.spec!r} cannot answer {ask.name!r}: {reason} Name a legal value, "
                        f"or fixed:{NOTHING} for answers that cannot be used."
                    ) from None
        return answer

    def to(self, ask: Ask) -> str:
        """The answer to a question."""
        if not self._by_question:
            return str(self.value)
        if ask.name not in self._by_question:
            raise MindError(
                f"{self.spec!r} has no answer to the question {ask.name!r}: add {ask.name}=ANSWER."
            )
        return self._by_question[ask.name]


NOTHING = "none"
"""The value that is no usable answer."""
_NAMED = re.compile(r"\s*[A-Za-z_]\w*\s*=")
"""The beginning of answers to questions by their names."""
_NEXT = re.compile(r",(?=\s*[A-Za-z_]\w*\s*=)")
