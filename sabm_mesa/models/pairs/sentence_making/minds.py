"""A classical writer that fills templates, for test runs; it is not a model of people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sabm_mesa.models.pairs.agents import LEAVE
from sabm_mesa.models.pairs.model import Sociable

if TYPE_CHECKING:
    import numpy as np

    from sabm_mesa.core.asks import Ask


CARELESS = 0.1
"""Probability that a sentence lacks a word (our choice)."""
INSPIRED = 0.5
"""Probability of using a setting heard in a talk of the round (our choice)."""


class TemplateWriter(Sociable):
    """A writer that puts the words, in random order, into a template.

    Each sentence has a setting: one that the writer heard in its talks of the round, or one of its
    three private settings. Sometimes the writer forgets a word. So writers who talk share and know
    more settings than solitary ones. These rules are our choice; nothing is fitted to data.
    """

    async def answer(self, ask: Ask) -> object:
        """Write a sentence, or invite and talk as at the party."""
        if ask.name != "write":
            return await super().answer(ask)
        return self._writes(ask)

    def _says(self, ask: Ask) -> str:
        if len(ask.facts.messages) > 1:
            return f"{ask.book.render('classical_leaves', {})} {LEAVE}"
        setting = _one(ask.rng, self._own(ask))
        return ask.book.render("classical_idea", {"setting": setting})

    def _writes(self, ask: Ask) -> str:
        rng = ask.rng
        words = [ask.facts.words[i] for i in rng.permutation(len(ask.facts.words))]
        if rng.random() < CARELESS:
            words.pop()
        chats = (chat for round_ in ask.facts.rounds if round_["now"] for chat in round_["chats"])
        text = " ".join(message.text for chat in chats for message in chat["messages"])
        heard = [setting for setting in _entries(ask, "settings") if setting in text]
        private = self._own(ask)
        inspired = heard and rng.random() < INSPIRED
        return ask.book.render(
            "classical_sentence",
            {
                "opening": _one(rng, _entries(ask, "openings")),
                "setting": _one(rng, heard if inspired else private),
                "list": ", ".join(words[:-1]) + f" and {words[-1]}",
                "teller": _one(rng, _entries(ask, "tellers")),
            },
        )

    def _own(self, ask: Ask) -> list[str]:
        """The three private settings of a writer."""
        settings = _entries(ask, "settings")
        return [settings[(ask.key.agent + i) % len(settings)] for i in range(3)]


def _entries(ask: Ask, name: str) -> list[str]:
    return [part.strip() for part in ask.book.render(f"classical_{name}", {}).split(";")]


def _one(rng: np.random.Generator, entries: list[str]) -> str:
    return entries[int(rng.integers(len(entries)))]
