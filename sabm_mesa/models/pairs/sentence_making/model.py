"""Replication of Lai et al. 2024: agents write sentences of given words, alone or after talks.

To write a scenario of your own, start from ``examples/prisoners_dilemma``.

A round is one set of seven words. ``individual``: all write; ``collective``: the writers first
invite one another and talk in pairs, as at a cocktail party; ``bridged``: each talks with the one
it talked with least at the ``party``. A valid sentence has all words in any regular form, at most
40 words, repeats none handed in before, and is coherent by a rule of ours (``study.py``). The
classical writer fills templates; its results mean nothing. The rules in full are in ``odd.toml``.

Unreadable answers
    A sentence that lacks a word, is too long or repeats an earlier one is kept as it was said, and
    is not valid in the measures. Without any sentence the answer is invalid, and one is due.
    Invitations and talks: as at the party.

Deviations from the authors' program
    No program was published. Each sentence is a separate question, while the paper has one answer
    with five. The paper's task says under 40 words and its criterion at most 40; here both say at
    most 40. Distances are those of sparse text vectors. The prompts are in our own words.

Source
    Lai et al. 2024, "Evolving AI Collectives to Enhance Human Diversity and Enable
    Self-Regulation", ICML 2024, arXiv 2402.12590 v2, section 3 and appendices B and D.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge

from sabm_mesa.analysis.sparse_text import variance
from sabm_mesa.core.answers import Decision
from sabm_mesa.core.scheduler import Phase
from sabm_mesa.errors import ParameterError
from sabm_mesa.models.pairs.model import PairModel, invitation_phases, talk_phase
from sabm_mesa.models.pairs.party import PartyMemories, read_party, with_digest
from sabm_mesa.models.pairs.sentence_making.agents import Writer
from sabm_mesa.models.pairs.sentence_making.minds import TemplateWriter
from sabm_mesa.models.pairs.sentence_making.study import valid_sentences

WORD_SETS = (
    ("moonlight", "murmured", "timeless", "ocean", "enigma", "concealed", "journey"),
    ("twilight", "sighed", "medieval", "meadow", "riddle", "veiled", "trail"),
    ("sunbeam", "echoed", "eternal", "mountain", "secret", "buried", "route"),
    ("dawn", "breathed", "old", "river", "puzzle", "cloaked", "way"),
    ("dusk", "hummed", "archaic", "valley", "conundrum", "obscured", "track"),
)
"""Lai et al. 2024, appendix B.1."""


def _writers_choose(model: SentenceMaking) -> bool:
    """Whether the writers choose their partners."""
    return model.interaction == "collective"


def bridges(counts: Mapping[tuple[int, int], int], n_agents: int) -> dict[int, int]:
    """The assigned pairs: each writer with the one it talked with least.

    Args:
        counts: pair, the smaller number first → number of its talks; 0 when it is missing.
        n_agents: number of agents (2 or more).

    Returns:
        Opener → partner, by opener; a pair that both are assigned is in once.
    """

    def met(a: int, b: int) -> int:
        return counts.get((min(a, b), max(a, b)), 0)

    agents = range(1, n_agents + 1)
    pairs: dict[int, int] = {}
    for agent in agents:
        least = min((other for other in agents if other != agent), key=lambda b: (met(agent, b), b))
        if pairs.get(least) != agent:
            pairs[agent] = least
    return pairs


class SentenceMaking(PairModel):
    """Sentences of given words, written alone or after talks in pairs (Lai et al. 2024).

    Args:
        interaction: whether writers write alone, after talks with partners of their choice, or
            after talks with assigned partners.
        party: the recording of a cocktail party, ``PATH`` or ``PATH#RUN``, or None.
        n_rounds: number of word sets.
        n_sentences: sentences of each writer to each set.
        condition: ``"baseline"``.
        minds: see `SmartModel`; the classical mind is ``classical``.
        settings: the other parameters of `PairModel` and `SmartModel`.

    Attributes:
        memories: the memories of the party, or None.
        words: the words of the round.
        conversations: number of talks in the last round.
        valid_ratio: valid sentences relative to all that were due.
        variance: variance of the valid sentences (see `sabm_mesa.analysis.sparse_text`); NaN
            without any.

    Raises:
        UsageError: for a parameter that cannot be used, such as a party that is not there.
    """

    scenario_name = "sentence-making"
    title = "Joint sentence making"
    source = "Lai et al. 2024, arXiv 2402.12590, section 3"
    prompt_file = Path(__file__).with_name("prompts.toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        *invitation_phases(when=_writers_choose),
        talk_phase(),
        Phase(
            "write",
            doc="Each writer writes its sentences one by one (`write`) and hands them in, "
            "whether they keep to the task or not.",
        ),
    )
    model_columns = ("valid_ratio", "variance", "conversations")
    agent_columns = ("partners", "written", "valid")
    changeable = frozenset({"window"})
    defaults: ClassVar[dict[str, Any]] = {"temperature": 1.0, "max_tokens": 512, "top_p": 0.7}
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = {"default": TemplateWriter}

    def __init__(
        self,
        interaction: Literal["individual", "collective", "bridged"] = "collective",
        party: str | None = None,
        n_agents: int = 10,
        n_rounds: int = 5,
        n_sentences: Annotated[int, Ge(1)] = 5,
        max_turns: int = 20,
        window: int = 12_000,
        **settings: Any,
    ) -> None:
        super().__init__(n_agents, max_turns, window, n_rounds=n_rounds, **settings)
        self.interaction, self.n_sentences = interaction, n_sentences
        self.memories = self._remembered(party)
        self.words = WORD_SETS[0]
        self.conversations = 0
        self.valid_ratio = self.variance = math.nan
        self.writers = self.populate(Writer, self.n_agents)
        self.participants = [*self.writers]
        self._bridges = (
            bridges(self.memories.counts(), self.n_agents)
            if self.memories and self.interaction == "bridged"
            else {}
        )

    @property
    def pairs(self) -> dict[int, int]:
        """Opener → partner of the talks of this round, in their order."""
        return super().pairs if _writers_choose(self) else self._bridges

    @property
    def rounds_before(self) -> int:
        """Added to the number of a round in prompts: each word set follows on the party."""
        return (self.memories.n_rounds if self.memories else 0) - self.round

    @classmethod
    def identity(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as JSON values, with the digest of the party in its place."""
        return super().identity(with_digest(given))

    def begin_round(self) -> None:
        """Give out the next words to writers that remember only the party."""
        super().begin_round()
        self.words = WORD_SETS[self.round % len(WORD_SETS)]
        for writer in self.writers:
            writer.chats, writer.invitations = (), ()
            if self.memories:  # their rounds are negative: before the one that is played
                me, earlier = writer.unique_id, self.rounds_before
                chats, invitations = self.memories.chats_of(me), self.memories.invitations_of(me)
                writer.chats = tuple(replace(c, round=c.round - earlier) for c in chats)
                writer.invitations = tuple(replace(i, round=i.round - earlier) for i in invitations)

    def after_write(self, writer: Writer, decisions: Decision) -> None:
        """Store the sentences of a writer."""
        writer.decisions = decisions.value

    def update(self) -> None:
        """Store the round, and judge the sentences in the order of the writers."""
        self.conversations = len(self.held)
        super().update()
        usable = [
            decision for writer in self.writers for decision in writer.decisions if decision.valid
        ]
        valid = valid_sentences([decision.value for decision in usable], self.words)
        due = self.n_agents * self.n_sentences
        self.valid_ratio = len(valid) / due
        self.variance = variance(valid)
        left = set(valid)
        for writer in self.writers:
            kept = {decision.value for decision in writer.decisions if decision.valid} & left
            writer.written = sum(decision.valid for decision in writer.decisions)
            writer.valid = len(kept)
            left -= kept

    def end_measures(self) -> dict[str, Any]:
        """The means over the word sets."""
        data = self.datacollector.model_vars
        return {name: _mean(data[name]) for name in self.model_columns}

    def _remembered(self, party: str | None) -> PartyMemories | None:
        """The memories of the party; their digest is added to the parameters of the run."""
        if party is None and self.interaction == "bridged":
            raise ParameterError(
                "interaction bridged needs a party: the recording of a run of cocktail-party.",
                parameter="party",
            )
        if party is None:
            return None
        memories = read_party(party, self.replaying)
        if memories.n_agents != self.n_agents:
            raise ParameterError(
                f"n_agents must be {memories.n_agents}, as at the party of {memories.path} "
                f"(got {self.n_agents}).",
                parameter="n_agents",
            )
        self.parameters = self.parameters | {"party": memories.reference}
        return None if self.interaction == "individual" else memories


def _mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan
