"""The writers of the joint sentence making: guests of a party who make sentences of given words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sabm_mesa.agents.cocktail_party import Guest
from sabm_mesa.agents.party_view import PartyView
from sabm_mesa.analysis.sentences import MAX_WORDS, missing_words, n_words, same_sentence
from sabm_mesa.answers import Unusable
from sabm_mesa.decisions import Decision, Text

if TYPE_CHECKING:
    from sabm_mesa.models.sentence_making import SentenceMaking
    from sabm_mesa.prompts import PromptBook


@dataclass(frozen=True, slots=True)
class Sentence(Text):
    """A sentence that uses given words, each in any of its regular forms.

    Attributes:
        max_words: the number of words after which a sentence is refused; nothing is cut.
        words: the words it has to use.
        taken: the writer's own sentences to these words so far, which it may not repeat.
    """

    max_words: int = MAX_WORDS
    words: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()

    @property
    def kind(self) -> str:  # type: ignore[override]  # of the class in the other specs
        """Which entries say how the sentence is to be written."""
        return "sentence"

    def check(self, value: Any) -> str:
        """Return the sentence on one line."""
        text = Text(max_words=self.max_chars, max_chars=self.max_chars).check(value)
        if n_words(text) > self.max_words:
            raise Unusable("too_long", max_words=self.max_words)
        if lacking := missing_words(text, self.words):
            raise Unusable("lacks_words", found=", ".join(lacking))
        if same_sentence(text) in set(map(same_sentence, self.taken)):
            raise Unusable("repeated")
        return text

    def placeholders(self) -> dict[str, Any]:
        """The number of words, and the words."""
        return {"max_words": self.max_words, "words": ", ".join(self.words)}


@dataclass(frozen=True, slots=True)
class TaskView(PartyView):
    """What a writer knows: as at the party, and the task.

    Attributes:
        words: the words to be used.
        n_sentences: how many sentences it hands in.
        sentences: those it has written so far.
        alone: whether it works without the others.
        assigned: whether it was told with whom to talk.
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
        of_party = PartyView.placeholders(self, book)
        company = book.render("company_none" if self.alone else "company", of_party)
        remembered = book.render("remembered", of_party) if self.chats or self.invitations else ""
        lines = [
            book.render("own_sentence", {"number": i, "text": book.quote(text)})
            for i, text in enumerate(self.sentences, 1)
        ]
        return of_party | {
            "company": company,
            "remembered": remembered,
            "assignment": book.render("assignment" if self.assigned else "no_assignment", of_party),
            "words": ", ".join(self.words),
            "n_sentences": self.n_sentences,
            "max_words": MAX_WORDS,
            "sentences": "\n".join(lines) or book.render("lines_none", {}),
            "place": len(self.sentences) + 1,
        }


class Writer(Guest):
    """A guest who makes sentences of given words.

    Args:
        model: the model.

    Attributes:
        decisions: the decision on each sentence for the words of the round.
        written: how many of them could be used.
        valid: how many of them are valid.
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
        """What the writer knows now, and what belongs to the question.

        Args:
            more: fields of the view that belong to the question.
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
