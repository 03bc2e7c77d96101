"""Cocktail party: 10 agents without roles invite one another, and talk in pairs for 30 rounds.

Purpose
    How does free talk evolve without given roles, goals or topics? Do agents keep their
    acquaintances, do groups form, and do topics of pairs converge or diverge?

Entities, state variables and scales
    N guests, called L1, L2, …, each with a mind, a persona, and a memory of its invitations and
    talks. The world is the network of talks. A round consists of inviting, accepting and talking;
    there is no space.

Process overview and scheduling
    Invite: all guests simultaneously name another guest, or nobody. Accept: all invited guests
    learn who invited them, and accept or decline each invitation. Chat: every accepted invitation
    becomes a talk of two guests, who take turns until one leaves or the turns are used up. Talks
    are held one after another in the order of the openers; talks without a common guest are
    independent and may run concurrently, with the same result. Update: the measures.

Design concepts
    Emergence: repeated partners, tight pairs, communities, common topics. Objective: none is given.
    Sensing: the round, and the guest's invitations and talks, never those of others. Learning:
    memory. Interaction: talks in pairs. Stochasticity: the minds, each with its own stream.
    Observation: the data columns below.

Initialization and input
    Round 0 starts without memory; there are no input data. ``n_agents`` 10; ``n_rounds`` 30;
    ``max_turns`` of a talk 20 (our choice: the paper gives none); ``window``: number of words of
    talks that a guest remembers, 12000 (our choice; the paper has the whole history with Claude
    2.1, and a window that drops the oldest talks with Claude 3); ``condition``: ``baseline``;
    ``variant``: ``default``, ``reworded_1``; ``temperature`` 1, ``top_p`` 0.7 as published,
    ``max_tokens`` 512 (our choice).

Submodels: invitations, talks, memory
    The sender of the invitation opens the talk (our choice). Two guests that invite each other have
    one talk if at least one accepts; it is opened by the guest with the smaller number whose
    invitation was accepted (our choice). A guest leaves with the word LEAVE at the end of a line;
    the text before it is still sent. A line is cut after 100 words (our choice). A talk without any
    message does not count. Memory: invitations and talks by round, as reported by the mediator,
    including the current round; if the talks exceed the window, the oldest ones are dropped whole,
    together with the invitations of the rounds before the remaining ones. Classical guests:
    ``classical`` prefers known partners (reinforcement), ``classical:random`` draws partners at
    random (the null model); both rules and their constants are our choice, not a fit.

Measures
    By round: ``conversations``; ``distinct_conversation_ratio`` and ``distinct_invitation_ratio``
    (different partners to all partners, mean over guests, in the last 10 rounds; at the beginning
    in fewer rounds, where they are near 1 by construction); ``invitations`` sent; ``repeat_rate``
    (share of talks between guests that also talked in the previous 10 rounds);
    ``semantic_distance`` (mean over the pairs of the last 10 rounds of the distance of their words
    to the mean of all words; sparse text vectors, not the paper's embeddings: see
    `sabm_mesa.analysis.sparse_text`). By guest: ``partners`` of the round, ``invited``,
    ``accepted``, ``distances`` of its pairs. By run: tight pairs (more than 5 talks) and loose
    pairs, ``partner_entropy`` (evenness of guests' talks over the others, 0 to 1), slopes of the
    ratios and of the distances of tight and loose pairs over the full windows (least squares, as
    published, but without the published p-values, since overlapping windows are not independent;
    the plot tests the slopes over runs with a sign test), weighted clustering and modularity, each
    with its mean in 200 networks of random partners (fewer for large networks).

Unreadable answers
    If an invitation names no other guest, the question is repeated; after the last attempt, nobody
    is invited. An unreadable reply to an invitation declines it. A guest with an unreadable line
    leaves the talk. All of these are counted as invalid.

Deviations from the authors' program
    No program was published. Here, invitations are answered one at a time, with knowledge of all
    inviters and the earlier replies; in the paper, one answer names all accepted inviters. Here, an
    invitation is a name; in the paper, a sentence ("To X, …"). Prompts also state the number of
    rounds and the number of turns left in a talk. The prompts are in our own words.

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

from sabm_mesa.agents.pairs import Chat, since
from sabm_mesa.analysis.sparse_text import distances_from_centre
from sabm_mesa.core.scheduler import Phase
from sabm_mesa.models.cocktail_party import measures
from sabm_mesa.models.cocktail_party.agents import Guest
from sabm_mesa.models.cocktail_party.minds import RandomPartners
from sabm_mesa.models.pairs import PairModel, Sociable, invitation_phases, talk_phase


class CocktailParty(PairModel):
    """Free talk in pairs.

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
    class_game = "sabm_mesa.models.cocktail_party.class_game"
    plots = "sabm_mesa.models.cocktail_party.plots"
    page = "sabm_mesa.models.cocktail_party.page"
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
    column_bounds: ClassVar[dict[str, tuple[float, float]]] = {
        "distinct_conversation_ratio": (0.0, 1.0),
        "distinct_invitation_ratio": (0.0, 1.0),
        "repeat_rate": (0.0, 1.0),
    }
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
        """Tight and loose pairs, trends over the full windows, and the network against chance."""
        talks = [chat.agents for chat in self.chats]
        return measures.run_measures(
            self.model_frame(), self.agent_frame(), talks, len(self.invitations), self.n_agents
        )
