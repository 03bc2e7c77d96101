"""Cocktail party: 10 agents without roles invite one another, and talk in pairs for 30 rounds.

Purpose
    How does free talk evolve without given roles, goals or topics? Do agents keep to
    acquaintances, do groups form, and do pairs come to talk of the same things or of others?

Entities, state variables and scales
    N guests, called L1, L2, …, each with a mind, a persona, and what it remembers of its own
    invitations and talks. The world is who talks with whom. A round is one evening's turn of
    inviting, accepting and talking; there is no space.

Process overview and scheduling
    Invite: all at the same time name one other guest, or nobody. Accept: all invited guests learn
    by whom, and accept or decline each invitation. Chat: every accepted invitation becomes a talk
    of two, which alternates until one leaves or the turns are used up. Talks are held one after
    another in the order of those who open them; two that share no guest do not depend on one
    another and may go on at the same time, with the same result. Update: the measures.

Design concepts
    Emergence: repeated partners, tight pairs, communities, common topics. Objective: none is given.
    Sensing: the round, the own invitations and talks; never those of others. Learning: memory.
    Interaction: talks in pairs. Stochasticity: the minds, each with its own stream. Observation:
    the data columns below.

Initialization and input
    Round 0 starts without any memory; there is no input data. ``n_agents`` 10;
    ``n_rounds`` 30; ``max_turns`` of a talk 20 (our choice: the paper says
    none); ``window``: the words of talks that a guest remembers, 12000 (our choice; the paper has
    the whole history with Claude 2.1, and a window that drops the oldest talks with Claude 3);
    ``condition``: ``baseline``; ``variant``: ``default``, ``paraphrased``; ``temperature`` 1,
    ``top_p`` 0.7 as published, ``max_tokens`` 512 (our choice).

Submodels: invitations, talks, memory
    The sender of the invitation opens the talk (our choice). Two guests that invite each other have
    one talk, if at least one accepts, opened by the one with the smaller number whose invitation
    was accepted (our choice). A guest leaves with the word LEAVE at the end of a line; what stands
    before it is still said. Of a line 100 words are kept (our choice). A talk in which nobody says
    anything is none. Memory: invitations and talks by round, as the mediator told them, also those
    of the round; when the talks exceed the window, the oldest ones are dropped whole, with the
    invitations of the rounds before those that are left.
    Classical guests: ``classical`` prefers known partners (reinforcement), ``classical:random``
    draws partners at random (the null model); both and their numbers are our choice, not a fit.

Measures
    By round: ``conversations``; ``distinct_conversation_ratio`` and ``distinct_invitation_ratio``
    (different partners to all partners, mean over guests, in the last 10 rounds; fewer at the
    beginning, where they are near 1 by construction); ``invitations`` sent; ``repeat_rate`` (share
    of talks between two that talked in the 10 rounds before); ``semantic_distance`` (mean over the
    pairs of the last 10 rounds of the distance of their words to the mean of all words; sparse text
    vectors, not the paper's embeddings: see `sabm_mesa.analysis.sparse_text`). By guest:
    ``partners`` of the round, ``invited``, ``accepted``, ``distances`` of its pairs. Of the run:
    tight pairs (more than 5 talks) and loose ones, ``partner_entropy`` (how evenly guests spread
    their talks over the others, 0 to 1), slopes of the ratios and of the distances of tight and of
    loose pairs over the full windows (least squares, as the published ones, but without their
    p-values: windows that overlap are no independent observations; what can be tested is the mean
    of the slopes over runs, as the plot does by flipping signs), weighted clustering and
    modularity, each beside its mean in 200 networks of random partners (fewer of large ones).

Unreadable answers
    An invitation that names nobody who could be invited, oneself included, is asked for again; if
    it stays so, nobody is invited. An unreadable reply to an invitation declines it. A guest whose
    line cannot be read leaves the talk. All of them are counted as invalid.

Deviations from the authors' program
    No program was published. Invitations are answered one by one, each knowing all inviters and
    what was accepted before, where the paper has one answer that names all who are accepted. An
    invitation is a name, where the paper has a sentence ("To X, …"). Guests are also told how many
    rounds there are and how many turns of a talk are left. The prompts are in our own words.

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
from sabm_mesa.core.streams import Seed
from sabm_mesa.minds.specs import Minds
from sabm_mesa.models.base import Personas
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
        distinct_conversation_ratio: different partners to all, in the window.
        distinct_invitation_ratio: different guests invited to all invitations, in the window.
        repeat_rate: share of the round's talks between two that talked in the window before.
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
    agent_columns: ClassVar[dict[str, str]] = {
        name: name for name in ("partners", "invited", "accepted", "distances")
    }
    column_bounds: ClassVar[dict[str, tuple[float, float]]] = {
        "distinct_conversation_ratio": (0.0, 1.0),
        "distinct_invitation_ratio": (0.0, 1.0),
        "repeat_rate": (0.0, 1.0),
    }
    changeable = frozenset({"window"})
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
        condition: str = "baseline",
        personas: Personas = "none",
        minds: Minds = "classical",
        rng: Seed = None,
        temperature: float | None = 1.0,
        max_tokens: int | None = 512,
        top_p: float | None = 0.7,
        **settings: Any,
    ) -> None:
        super().__init__(
            n_agents, max_turns, window, n_rounds=n_rounds, condition=condition, personas=personas,
            minds=minds, rng=rng, temperature=temperature, max_tokens=max_tokens, top_p=top_p,
            **settings,
        )  # fmt: skip
        self.conversations = self.n_invitations = 0
        self.distinct_conversation_ratio = self.distinct_invitation_ratio = math.nan
        self.repeat_rate = self.semantic_distance = math.nan
        self.guests = self.populate(Guest, self.n_agents)
        self.participants = [*self.guests]

    def update(self) -> None:
        """Keep the round, and measure the window that ends with it."""
        self.conversations, self.n_invitations = len(self.held), len(self.sent)
        super().update()
        first = self.round - measures.WINDOW + 1
        chats = since(first, self.chats)
        sent = [each.agents for each in since(first, self.invitations)]
        met = [pair for chat in chats for pair in (chat.agents, chat.agents[::-1])]
        self.distinct_conversation_ratio = measures.distinct_ratio(met)
        self.distinct_invitation_ratio = measures.distinct_ratio(sent)
        talks = [(chat.round, chat.agents) for chat in since(first - 1, self.chats)]
        self.repeat_rate = measures.repeat_rate(talks, self.round)
        self._measure_distances(chats)

    def _measure_distances(self, chats: Sequence[Chat]) -> None:
        """Measure how far the words of each pair are from those of all."""
        said = defaultdict(list)
        for chat in chats:
            said[min(chat.agents), max(chat.agents)].append(chat.text)
        distances = distances_from_centre(said)
        self.semantic_distance = float(np.mean([*distances.values()])) if distances else math.nan
        for guest in self.guests:
            me = guest.unique_id
            own = [
                (b if a == me else a, d) for (a, b), d in sorted(distances.items()) if me in (a, b)
            ]
            guest.distances = " ".join(f"{partner}:{d:.4f}" for partner, d in own)

    def end_measures(self) -> dict[str, Any]:
        """Tight and loose pairs, trends over the full windows, and the network beside chance."""
        talks = [chat.agents for chat in self.chats]
        return measures.run_measures(
            self.model_frame(), self.agent_frame(), talks, len(self.invitations), self.n_agents
        )
