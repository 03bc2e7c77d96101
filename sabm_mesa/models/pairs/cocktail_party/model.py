"""Replication of Lai et al. 2024: 10 guests without roles invite one another, and talk in pairs.

To write a scenario of your own, start from ``examples/prisoners_dilemma``.

Each round, all guests name another guest or nobody; the invited accept or decline each invitation;
every accepted one becomes a talk in which two guests take turns until one leaves or the turns are
used up. A guest knows its own invitations and talks only; if they exceed ``window`` words, the
oldest are dropped. The rules in full, the measures and our choices are in ``odd.toml``.

Unreadable answers
    If an invitation names no other guest, the question is repeated; after the last attempt, nobody
    is invited. An unreadable reply to an invitation declines it. A guest with an unreadable line
    leaves the talk. All of these are counted as invalid.

Deviations from the authors' program
    No program was published. Here, invitations are answered one at a time, with knowledge of all
    inviters and the earlier replies; in the paper, one answer names all accepted inviters. Here, an
    invitation is a name; in the paper, a sentence ("To X, …"). Prompts also state the number of
    rounds and of turns left in a talk. Distances are those of sparse text vectors, not the paper's
    embeddings, and slopes have no p-values. The prompts are in our own words.

Source
    Lai et al. 2024, "Evolving AI Collectives to Enhance Human Diversity and Enable
    Self-Regulation", ICML 2024, arXiv 2402.12590 v2, section 2 and appendices A and D.1.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sabm_mesa.analysis.sparse_text import distances_from_centre
from sabm_mesa.core.scheduler import Phase
from sabm_mesa.models.pairs.agents import Chat, PairAgent, since
from sabm_mesa.models.pairs.cocktail_party import study as measures
from sabm_mesa.models.pairs.model import PairModel, Sociable, invitation_phases, talk_phase


class Guest(PairAgent):
    """A guest of the party.

    Attributes:
        distances: ``PARTNER:DISTANCE`` of each partner in the window, separated by spaces.
    """

    distances = ""


class RandomPartners(Sociable):
    """A sociable agent without reinforcement: all others are equally likely (the null model)."""

    reinforcement = 0.0


class CocktailParty(PairModel):
    """Free talk in pairs (Lai et al. 2024).

    Args:
        condition: ``"baseline"``.
        minds: see `SmartModel`; classical minds are ``classical`` and ``classical:random``.
        settings: the other parameters of `PairModel` and `SmartModel`.

    Attributes:
        guests: the guests in the order of their numbers.
        conversations: number of talks in the last round.
        distinct_conversation_ratio: ratio of different to all partners, in the window.
        distinct_invitation_ratio: ratio of different invited guests to all invitations, in the
            window.
        repeat_rate: share of the round's talks between guests that also talked in the previous
            window.
        semantic_distance: mean distance of the pairs in the window (cosine, 0 to 1).

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "cocktail-party"
    title = "Cocktail party"
    source = "Lai et al. 2024, arXiv 2402.12590, section 2"
    prompt_file = Path(__file__).with_name("prompts.toml")
    phases: ClassVar[tuple[Phase, ...]] = (*invitation_phases(), talk_phase())
    model_columns: ClassVar[dict[str, str]] = {
        "conversations": "conversations",
        "distinct_conversation_ratio": "distinct_conversation_ratio",
        "distinct_invitation_ratio": "distinct_invitation_ratio",
        "invitations": "n_invitations",
        "repeat_rate": "repeat_rate",
        "semantic_distance": "semantic_distance",
    }
    agent_columns = ("partners", "invited", "accepted", "distances")
    changeable = frozenset({"window"})
    defaults: ClassVar[dict[str, Any]] = {"temperature": 1.0, "max_tokens": 512, "top_p": 0.7}
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = {
        "default": Sociable,
        "random": RandomPartners,
    }

    def __init__(
        self,
        n_agents: int = 10,
        n_rounds: int = 30,
        max_turns: int = 20,
        window: int = 12_000,
        **settings: Any,
    ) -> None:
        super().__init__(n_agents, max_turns, window, n_rounds=n_rounds, **settings)
        self.conversations = self.n_invitations = 0
        self.distinct_conversation_ratio = self.distinct_invitation_ratio = math.nan
        self.repeat_rate = self.semantic_distance = math.nan
        self.guests = self.populate(Guest, self.n_agents)
        self.participants = [*self.guests]

    def update(self) -> None:
        """Store the round, and measure the window that ends with it."""
        self.conversations, self.n_invitations = len(self.held), len(self.sent)
        super().update()
        first = self.round - measures.WINDOW + 1
        chats = since(first, self.chats)
        sent = [invitation.agents for invitation in since(first, self.invitations)]
        met = [pair for chat in chats for pair in (chat.agents, chat.agents[::-1])]
        self.distinct_conversation_ratio = measures.distinct_ratio(met)
        self.distinct_invitation_ratio = measures.distinct_ratio(sent)
        talks = [(chat.round, chat.agents) for chat in since(first - 1, self.chats)]
        self.repeat_rate = measures.repeat_rate(talks, self.round)
        self._measure_distances(chats)

    def _measure_distances(self, chats: Sequence[Chat]) -> None:
        """Measure the distance between the words of each pair and the words of all."""
        texts = defaultdict(list)
        for chat in chats:
            texts[min(chat.agents), max(chat.agents)].append(chat.text)
        distances = distances_from_centre(texts)
        self.semantic_distance = float(np.mean([*distances.values()])) if distances else math.nan
        for guest in self.guests:
            me = guest.unique_id
            partners = [
                (b if a == me else a, d) for (a, b), d in sorted(distances.items()) if me in (a, b)
            ]
            guest.distances = " ".join(f"{partner}:{d:.4f}" for partner, d in partners)

    def end_measures(self) -> dict[str, Any]:
        """Tight and loose pairs, and trends over the full windows."""
        talks = [chat.agents for chat in self.chats]
        return measures.run_measures(
            self.model_frame(), self.agent_frame(), talks, len(self.invitations)
        )
