"""Joint sentence making: agents write sentences with given words, alone or after talks in pairs.

Purpose
    Does talk among agents who know each other from a party make their sentences better or more
    diverse than those of single agents? Does talk among agents who hardly met?

Entities, state variables and scales
    N writers, called L1, L2, …, each with a mind, a persona and memories of the party and of the
    talks about the task. The world is the current word set. A round is one word set, and nothing
    of it is remembered in the next (our choice); there is no space.

Process overview and scheduling
    ``individual``: all write. ``collective``: as in a round of the party, the writers invite
    one another, accept, and talk in pairs; then all write. ``bridged``: the pairs are given
    (see Submodels); they talk, then all write. Writing: all at the same time, one sentence
    after another, each knowing its own earlier ones. Update: the measures.

Design concepts
    Emergence: diversity and validity of what the group writes. Objective: different sentences, as
    the task says. Sensing: the words, the own talks, and the party. Interaction: talks in pairs.
    Stochasticity: the minds, each with its own stream. Observation: the data columns below.

Initialization and input
    ``interaction``: ``individual``, ``collective``, ``bridged``; ``party``: the recording of a
    cocktail party that the writers remember, ``PATH`` or ``PATH#RUN`` (``bridged`` needs one,
    ``collective`` without one is a first meeting, ``individual`` does not use it); ``n_agents`` 10,
    as at the party; ``n_rounds``: word sets, 5; more begin again with the first;
    ``n_sentences`` of each writer and set, 5; ``max_turns`` 20 and ``window`` 12000 as at the
    party; ``condition``: ``baseline``; ``variant``: ``default``, ``reworded_1``; ``temperature``
    1, ``top_p`` 0.7 as published, ``max_tokens`` 512 (our choice).

Submodels
    Individual: N writers that neither talk nor remember anything stand for one solitary agent that
    is asked N times without memory (our reading: the paper does not say how it was asked again).
    Bridges: each writer with the one it talked with least at the party, of several the one with the
    smallest number (our choice); a pair that both are assigned has one talk, opened by the smaller
    number.
    Talks are those of the party. A valid sentence has all seven words, in any regular form, and at
    most 40 words, is no duplicate of one handed in before it by any writer, and is coherent; since
    the paper does not say how that was judged, a rule stands for it: one sentence with capital
    letter and end mark, and at least five words in addition to the given ones (our choice; see
    `sabm_mesa.models.sentence_making.measures`). The classical writer fills templates so that the
    scenario runs without a language model; its results mean nothing.

Measures
    By round: ``valid_ratio`` (valid sentences to all that were due), ``valid_ratio_at_once`` (the
    same for those that needed no second attempt, which is what the paper's ratio compares with:
    there nobody was asked again), ``variance`` of the valid sentences (mean squared distance to
    their mean, of sparse text vectors, not the paper's embeddings: orders may be compared, values
    may not), ``conversations``. By writer: ``partners``, ``written`` and ``valid`` sentences. Of
    the run: the means over the word sets.

Unreadable answers
    If a sentence lacks a word, is too long or repeats an earlier one of the writer, the question is
    repeated with the reason. After the last attempt, the sentence counts as due, not valid, and as
    an invalid answer. Invitations and talks: as at the party.

Deviations from the authors' program
    No program was published. Each sentence is a separate question, while the paper has one answer
    with five. Questions are repeated for sentences that break a rule. The paper's task says under
    40 words and its criterion at most 40; here both say at most 40. The prompts are in our own
    words.

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
from sabm_mesa.models.pairs import PairModel, invitation_phases, talk_phase
from sabm_mesa.models.party import PartyMemories, builds_on_party, read_party, with_digest
from sabm_mesa.models.sentence_making.agents import Writer
from sabm_mesa.models.sentence_making.measures import valid_sentences
from sabm_mesa.models.sentence_making.minds import TemplateWriter

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
    """Sentences of given words, written alone or after talks in pairs.

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
        valid_ratio_at_once: the same ratio for sentences of first attempts.
        variance: variance of the valid sentences (see `sabm_mesa.analysis.sparse_text`); NaN
            without any.

    Raises:
        UsageError: for a parameter that cannot be used, such as a party that is not there.
    """

    scenario_name = "sentence-making"
    title = "Joint sentence making"
    source = "Lai et al. 2024, arXiv 2402.12590, section 3"
    prompt_file = Path(__file__).with_name("prompts.toml")
    class_game = "sabm_mesa.models.sentence_making.class_game"
    plots = "sabm_mesa.models.sentence_making.plots"
    builds_on = builds_on_party("cocktail-party")
    page = "sabm_mesa.models.sentence_making.page"
    phases: ClassVar[tuple[Phase, ...]] = (
        *invitation_phases(when=_writers_choose),
        talk_phase(),
        Phase(
            "write",
            doc="Each writer writes its sentences one by one (`write`) and hands in those that are "
            "readable.",
        ),
    )
    model_columns = ("valid_ratio", "valid_ratio_at_once", "variance", "conversations")
    agent_columns = ("partners", "written", "valid")
    column_bounds: ClassVar[dict[str, tuple[float, float]]] = {
        "valid_ratio": (0.0, 1.0),
        "valid_ratio_at_once": (0.0, 1.0),
    }
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
        self.valid_ratio = self.valid_ratio_at_once = self.variance = math.nan
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
        at_once = [decision.value for decision in usable if decision.attempts == 1]
        due = self.n_agents * self.n_sentences
        self.valid_ratio = len(valid) / due
        self.valid_ratio_at_once = len(valid_sentences(at_once, self.words)) / due
        self.variance = variance(valid)
        left = set(valid)
        for writer in self.writers:
            kept = {decision.value for decision in writer.decisions if decision.valid} & left
            writer.written = sum(decision.valid for decision in writer.decisions)
            writer.valid = len(kept)
            left -= kept

    def plot_options(self) -> dict[str, Any]:
        """The number of sentences of each writer for a word set."""
        return {"n_sentences": self.n_sentences}

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
