"""What is said of a whole cocktail party."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sabm_mesa.analysis import collective
from sabm_mesa.analysis.talk_network import network, random_partners, structure

if TYPE_CHECKING:
    from sabm_mesa.models.cocktail_party import CocktailParty


def run_measures(party: CocktailParty) -> dict[str, Any]:
    """Tight and loose pairs, trends over the full windows, and the network beside chance.

    Args:
        party: the party, between two rounds or at its end.

    Returns:
        Measure → value. Slopes are changes a round; NaN without three full windows.
    """
    talks = [chat.agents for chat in party.chats]
    counts = collective.talk_counts(talks)
    tight = collective.tight_pairs(counts)
    agents = [guest.unique_id for guest in party.guests]
    met = [pair for talk in talks for pair in (talk, talk[::-1])]
    found = structure(network(agents, talks))
    chance = random_partners(agents, len(talks))
    return {
        "conversations": len(talks),
        "invitations": len(party.invitations),
        "tight_pairs": len(tight),
        "loose_pairs": len(counts) - len(tight),
        "partner_entropy": collective.partner_entropy(met, len(agents) - 1),
        **_trends(party),
        "clustering": found.clustering,
        "clustering_random": float(np.mean([each.clustering for each in chance])),
        "modularity": found.modularity,
        "modularity_random": float(np.mean([each.modularity for each in chance])),
    }


def _trends(party: CocktailParty) -> dict[str, float]:
    data, full = party.model_frame(), collective.WINDOW - 1
    distances = collective.distances_by_round(party.agent_frame())
    series = {
        "conversation_ratio": data["distinct_conversation_ratio"],
        "invitation_ratio": data["distinct_invitation_ratio"],
        "tight_distance": distances["tight"],
        "loose_distance": distances["loose"],
    }
    measures: dict[str, float] = {}
    for name, values in series.items():
        shown = [math.nan if value is None else float(value) for value in values[full:]]
        measures[f"slope_{name}"] = collective.slope(range(full, full + len(shown)), shown)
    return measures
