"""The writers of joint sentence making, who talk in pairs and write sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sabm_mesa.core.answers import Decision, Text
from sabm_mesa.models.pairs.agents import PairAgent
from sabm_mesa.models.pairs.sentence_making.study import MAX_WORDS

if TYPE_CHECKING:
    from sabm_mesa.models.pairs.sentence_making.model import SentenceMaking

_IN_A_WORD = "[!#-Z^-~]"
"""A character of a word in a pattern: ASCII, without characters that JSON escapes."""
_LONGEST_WORD = 12
"""Maximum number of characters of a word in a pattern."""


@dataclass(frozen=True, slots=True)
class Sentence(Text):
    """A sentence that uses given words; one that breaks the rules of the task is kept as said.

    Attributes:
        max_words: words of a valid sentence at most; longer ones are not cut.
        words: the words of the task.
    """

    max_words: int = MAX_WORDS
    words: tuple[str, ...] = ()

    @property
    def kind(self) -> str:  # type: ignore[override]  # of the class in the other specs
        """The prompt entries for the form of the answer."""
        return "sentence"

    def check(self, value: Any) -> str:
        """Return the sentence on one line."""
        return Text(max_words=self.max_chars, max_chars=self.max_chars).check(value)

    def bounded_schema(self) -> dict[str, Any]:
        """A text within the word limit, with the given words in order."""
        gap = (self.max_words - len(self.words)) // (len(self.words) + 1)
        word = f"{_IN_A_WORD}{{1,{_LONGEST_WORD}}}"
        given = [re.escape(word) for word in self.words]
        first, *others = given or [word]
        parts = [f"({word} ){{0,{gap}}}{first}", *(f"( {word}){{0,{gap}}} {w}" for w in others)]
        most = self.max_words * (_LONGEST_WORD + 1) + sum(map(len, self.words))
        pattern = f"^{''.join(parts)}( {word}){{0,{gap}}}$"
        return {"type": "string", "pattern": pattern, "maxLength": most}

    def example(self, rng: np.random.Generator) -> str:
        """Return the words, followed by others."""
        return " ".join([*self.words, *["so"] * int(rng.integers(1, 4))])

    def placeholders(self) -> dict[str, Any]:
        """The number of words, and the words."""
        return {"max_words": self.max_words, "words": ", ".join(self.words)}


class Writer(PairAgent):
    """An agent who writes sentences with given words.

    Attributes:
        decisions: the decision on each sentence for the words of the round.
        written: number of sentences.
        valid: number of valid sentences.
    """

    model: SentenceMaking

    def __init__(self, model: SentenceMaking) -> None:
        super().__init__(model)
        self.decisions: tuple[Decision, ...] = ()
        self.written = self.valid = 0

    async def write(self) -> Decision:
        """Write the sentences one by one; the value has the decision on each."""
        decisions: list[Decision] = []
        written: tuple[str, ...] = ()
        for _ in range(self.model.n_sentences):
            spec = Sentence(words=self.model.words)
            decision = await self.ask("write", spec, **self.facts(), sentences=written)
            decisions.append(decision)
            written += (decision.value,) if decision.valid else ()
        return Decision(tuple(decisions))

    def facts(self) -> dict[str, Any]:
        """The facts that the writer knows: its talks, and the task."""
        model = self.model
        known = super().facts()
        for round_ in known["rounds"]:
            round_["number"] += model.rounds_before
        return {
            **known,
            "words": model.words,
            "n_sentences": model.n_sentences,
            "max_words": MAX_WORDS,
            "interaction": model.interaction,
        }
