"""The writers of joint sentence making, who talk in pairs and write sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sabm_mesa.agents.pairs import PairAgent, PairView
from sabm_mesa.core.answers import Decision, InvalidAnswer, Text
from sabm_mesa.models.sentence_making.measures import (
    MAX_WORDS,
    missing_words,
    n_words,
    same_sentence,
)

if TYPE_CHECKING:
    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.models.sentence_making.model import SentenceMaking

_IN_A_WORD = "[!#-Z^-~]"
"""A character of a word in a pattern: ASCII, without characters that JSON escapes."""
_LONGEST_WORD = 12
"""Maximum number of characters of a word in a pattern."""


@dataclass(frozen=True, slots=True)
class Sentence(Text):
    """A sentence that uses given words, each in any of its regular forms.

    Attributes:
        max_words: words of a sentence at most; longer ones are refused, not cut.
        words: the required words.
        taken: the writer's sentences for these words so far, which it must not repeat.
    """

    max_words: int = MAX_WORDS
    words: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()

    @property
    def kind(self) -> str:  # type: ignore[override]  # of the class in the other specs
        """The prompt entries for the form of the answer."""
        return "sentence"

    def check(self, value: Any) -> str:
        """Return the sentence on one line."""
        text = Text(max_words=self.max_chars, max_chars=self.max_chars).check(value)
        if n_words(text) > self.max_words:
            raise InvalidAnswer("too_long", max_words=self.max_words)
        if lacking := missing_words(text, self.words):
            raise InvalidAnswer("lacks_words", found=", ".join(lacking))
        if same_sentence(text) in set(map(same_sentence, self.taken)):
            raise InvalidAnswer("repeated")
        return text

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
        """Return the words, followed by others until no sentence is repeated."""
        words = [*self.words, *["so"] * int(rng.integers(1, 4))]
        while same_sentence(" ".join(words)) in set(map(same_sentence, self.taken)):
            words.append("so")
        return " ".join(words)

    def placeholders(self) -> dict[str, Any]:
        """The number of words, and the words."""
        return {"max_words": self.max_words, "words": ", ".join(self.words)}


@dataclass(frozen=True, slots=True)
class TaskView(PairView):
    """The observation of a writer: its talks, and the task.

    Attributes:
        words: the required words.
        n_sentences: number of sentences to hand in.
        sentences: its sentences so far.
        alone: whether it works alone.
        assigned: whether its partner was assigned.
    """

    words: tuple[str, ...] = ()
    n_sentences: int = 5
    sentences: tuple[str, ...] = ()
    alone: bool = False
    assigned: bool = False

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value.

        Args:
            book: the prompts of the run.
        """
        of_talks = PairView.placeholders(self, book)
        company = book.render("company_none" if self.alone else "company", of_talks)
        remembered = book.render("remembered", of_talks) if self.chats or self.invitations else ""
        lines = [
            book.render("own_sentence", {"number": i, "text": book.quote(text)})
            for i, text in enumerate(self.sentences, 1)
        ]
        return of_talks | {
            "company": company,
            "remembered": remembered,
            "assignment": book.render("assignment" if self.assigned else "no_assignment", of_talks),
            "words": ", ".join(self.words),
            "n_sentences": self.n_sentences,
            "max_words": MAX_WORDS,
            "sentences": "\n".join(lines) or book.render("lines_none", {}),
            "place": len(self.sentences) + 1,
        }


class Writer(PairAgent):
    """An agent who writes sentences with given words.

    Args:
        model: the model.

    Attributes:
        decisions: the decision on each sentence for the words of the round.
        written: number of usable sentences.
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
            spec = Sentence(words=self.model.words, taken=written)
            decision = await self.ask("write", spec, self.observe(sentences=written))
            decisions.append(decision)
            written += (decision.value,) if decision.valid else ()
        return Decision(tuple(decisions))

    def observe(self, **more: Any) -> TaskView:
        """The current observation of the writer.

        Args:
            more: the fields of the view that depend on the question.
        """
        model = self.model
        task = {
            "words": model.words,
            "n_sentences": model.n_sentences,
            "alone": model.interaction == "individual",
            "assigned": model.interaction == "bridged",
            "rounds_before": model.rounds_before,
        }
        return TaskView(**self.known() | task | more)
