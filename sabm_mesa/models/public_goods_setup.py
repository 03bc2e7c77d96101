"""Who plays with whom in the public goods game, and who was who at the cocktail party."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sabm_mesa.errors import ParameterError
from sabm_mesa.parameters import one_of, whole

if TYPE_CHECKING:
    import numpy as np

    from sabm_mesa.agents.public_goods import Player
    from sabm_mesa.models.party_memory import PartyMemories
    from sabm_mesa.prompts import PromptBook

    Groups = list[list[Player]]

MATCHINGS = ("partner", "stranger", "chain")
PAIR = 2
MEMBERS = {"A": (1, 10, 9), "B": (1, 6, 8)}
"""Lai et al. 2024, section 4: chains of agents that met often at the party (A), and of agents of
whom the first two never met (B)."""
Members = str | Sequence[int]


def group_size_of(group_size: int | None, n_players: int, matching: str) -> int:
    """The number of players of a group.

    Args:
        group_size: what was asked for; None: all players, or two in a chain.
        n_players: all players.
        matching: how groups are formed.

    Raises:
        ParameterError: when the players cannot be split into such groups.
    """
    if matching == "chain":
        if group_size not in (None, PAIR):
            raise ParameterError(
                f"In a chain two play at a time: group_size has to be 2 or none, not {group_size}."
            )
        return PAIR
    if group_size is None:
        return n_players
    size = whole("group_size", group_size, PAIR, n_players)
    if n_players % size:
        raise ParameterError(f"{n_players} players cannot be split into groups of {size}.")
    return size


def drawn_groups(players: Sequence[Player], size: int, rng: np.random.Generator) -> Groups:
    """All players in random groups; within a group they stand in the order of their ids.

    Args:
        players: the players.
        size: the number of players of a group, which divides that of all.
        rng: the generator to draw from; one group of all needs none.
    """
    if size == len(players):
        return [list(players)]
    order = [int(i) for i in rng.permutation(len(players))]
    cut = [sorted(order[at : at + size]) for at in range(0, len(order), size)]
    return [[players[i] for i in group] for group in cut]


def link_of_chain(players: Sequence[Player], number: int) -> Groups:
    """The two players of a game of the chain: the last of all, then the first, the second, ….

    Args:
        players: the players in the order of their ids.
        number: the number of the game, from 0 to the number of players less 2.
    """
    return [[players[number - 1], players[number]]]


def attend(
    players: Sequence[Player], memories: PartyMemories, members: Members, book: PromptBook
) -> None:
    """Give players the names and memories of agents of a cocktail party.

    Outsiders, who are malicious, have a name that nobody met there.

    Args:
        players: the players in the order of their ids.
        memories: what the agents remember of the party.
        members: who they were: ``"A"``, ``"B"``, or agents in the order of the players. Further
            players are the other agents of the party in their order.
        book: the prompts of the run.

    Raises:
        ParameterError: for agents that were not there, or more players than agents.
    """
    inside = [player for player in players if not player.malicious]
    who = agents_at_party(members, memories.n_agents, len(inside))
    for player, agent in zip(inside, who, strict=True):
        player.agent_at_party, player.chats = agent, memories.chats_of(agent)
        player.name = book.render("party_name", {"number": agent})
    outside = [player for player in players if player.malicious]
    for number, player in enumerate(outside, memories.n_agents + 1):
        player.name = book.render("party_name", {"number": number})


def agents_at_party(members: Members, n_agents: int, n: int) -> list[int]:
    """The agents of the party that n players were.

    Args:
        members: see `attend`.
        n_agents: the number of agents of the party.
        n: the number of players.

    Raises:
        ParameterError: for agents that were not there, or more players than agents.
    """
    chosen = _named(members)
    if n > n_agents:
        raise ParameterError(f"{n} players cannot have been at a party of {n_agents} agents.")
    known = [whole("a member of the party", agent, 1, n_agents) for agent in chosen[:n]]
    others = (agent for agent in range(1, n_agents + 1) if agent not in known)
    return [*known, *others][:n]


def check_members(members: Members) -> None:
    """Check that members can be read.

    Raises:
        ParameterError: when they are neither ``"A"``, ``"B"`` nor a list of different agents.
    """
    _named(members)


def _named(members: Any) -> Sequence[int]:
    if isinstance(members, str):
        return MEMBERS[one_of("members", members, MEMBERS)]
    if not isinstance(members, Sequence):
        raise ParameterError(f'members has to be "A", "B" or a list of agents, not {members!r}.')
    named = [whole("a member of the party", agent, 1) for agent in members]
    if len(set(named)) < len(named):
        raise ParameterError(f"members has to name different agents, not {named}.")
    return named
