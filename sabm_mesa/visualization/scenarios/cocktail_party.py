"""The page of the cocktail party: who hears whom, and fewer charts while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis.plots import cocktail_party as plots
from sabm_mesa.analysis.plots.party_network import network_by_period

if TYPE_CHECKING:
    from sabm_mesa.models.pair_chats import Message, PairChats

CARD: tuple[dict[str, Any], str] = ({"n_rounds": 30}, "network")
"""The run whose network is the picture on the home page."""


def charts(model: PairChats, subtitle: str, at_rest: bool) -> Mapping[str, Any]:
    """The plots of the scenario; while rounds follow one another, those that are quickly drawn.

    Args:
        model: the party.
        subtitle: which condition, minds and seed are on show.
        at_rest: whether the party waits.
    """
    model_data, agent_data = model.model_frame(), model.agent_frame()
    if model_data.empty:
        return {}
    if at_rest:
        return plots.figures(model_data, agent_data, subtitle)
    return {
        "ratios": plots.ratios_by_round(model_data, agent_data, subtitle),
        "network": network_by_period(agent_data, subtitle),
    }


def hearers(_model: PairChats, message: Message) -> str:
    """Who heard a message: the other one of the talk.

    Args:
        message: what was said.
    """
    return f"Guest {message.hearer}"
