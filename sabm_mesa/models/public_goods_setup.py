"""Who plays with whom in the public goods game, and who was who at the cocktail party."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis.theory.public_goods import dominant_contribution, optimal_contribution
from sabm_mesa.errors import ParameterError
from sabm_mesa.models.score import Score
from sabm_mesa.parameters import whole

if TYPE_CHECKING:
    import numpy as np

    from sabm_mesa.agents.public_goods import Player
    from sabm_mesa.models.party_memory import PartyMemories
    from sabm_mesa.prompts import PromptBook

    Groups = list[list[Player]]

MATCHINGS = ("partner", "stranger", "chain")
PAIR = 2
SCORE = Score("Payoff in a run (dollars)", "n_players")
MEMBERS = {"A": (1, 10, 9), "B": (1, 6, 8)}
"""Lai et al. 2024, section 4: chains of agents that met often at the party (A), and of agents of
whom the first two never met (B)."""
FAMILIAR, STRANGERS = "familiar", "strangers"
"""The same at any party: everybody is followed by the one it talked with most, or least."""
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


def caution(multiplier: float, group_size: int) -> dict[str, str]:
    """What is to be said of a game that is no social dilemma, as the measure ``caution``.

    Args:
        multiplier: factor by which the pot grows.
        group_size: players who share a pot.
    """
    dilemma = f"a dilemma has a multiplier between 1 and {group_size}"
    if optimal_contribution(1, multiplier) != 1:
        said = f"a pot times {multiplier:g} does not grow, so that giving helps nobody"
    elif dominant_contribution(1, multiplier, group_size) != 0:
        back = multiplier / group_size
        said = f"{back:g} comes back of each dollar that one gives, so that giving costs nothing"
    else:
        return {}
    return {"caution": f"no social dilemma: {said}; {dilemma}."}


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
        members: who they were: ``"A"``, ``"B"``, ``"familiar"``, ``"strangers"``, or agents in
            the order of the players. Further players are the other agents in their order.
        book: the prompts of the run.

    Raises:
        ParameterError: for agents that were not there, or more players than agents.
    """
    inside = [player for player in players if not player.malicious]
    who = agents_at_party(members, memories, len(inside))
    for player, agent in zip(inside, who, strict=True):
        player.agent_at_party, player.chats = agent, memories.chats_of(agent)
        player.name = book.render("party_name", {"number": agent})
    outside = [player for player in players if player.malicious]
    for number, player in enumerate(outside, memories.n_agents + 1):
        player.name = book.render("party_name", {"number": number})


def agents_at_party(members: Members, memories: PartyMemories, n: int) -> list[int]:
    """The agents of the party that n players were.

    Args:
        members: see `attend`.
        memories: what the agents remember of the party.
        n: the number of players.

    Raises:
        ParameterError: for agents that were not there, or more players than agents.
    """
    n_agents = memories.n_agents
    chosen = _named(members) or _by_talks(memories, most=members == FAMILIAR)
    if n > n_agents:
        raise ParameterError(f"{n} players cannot have been at a party of {n_agents} agents.")
    known = [whole("a member of the party", agent, 1, n_agents) for agent in chosen[:n]]
    others = (agent for agent in range(1, n_agents + 1) if agent not in known)
    return [*known, *others][:n]


def check_members(members: Members) -> None:
    """Check that members can be read.

    Raises:
        ParameterError: when they are neither a known name nor a list of different agents.
    """
    _named(members)


def _by_talks(memories: PartyMemories, *, most: bool) -> list[int]:
    """All agents: 1, and after each the one it talked with most or least of those who are left."""
    counts = memories.counts()
    chain, left = [1], list(range(2, memories.n_agents + 1))
    while left:
        talks = {other: counts[min(chain[-1], other), max(chain[-1], other)] for other in left}
        chain.append((max if most else min)(left, key=talks.__getitem__))
        left.remove(chain[-1])
    return chain


def _named(members: Any) -> Sequence[int]:
    """The agents that are named; none when their talks say who they are."""
    if members in (FAMILIAR, STRANGERS):
        return ()
    if isinstance(members, str) and members in MEMBERS:
        return MEMBERS[members]
    if isinstance(members, str) or not isinstance(members, Sequence):
        raise ParameterError(
            f'members has to be "A", "B", "{FAMILIAR}", "{STRANGERS}" or a list of agents '
            f"such as [1, 10, 9], not {members!r}."
        )
    named = [whole("a member of the party", agent, 1) for agent in members]
    if len(set(named)) < len(named):
        raise ParameterError(f"members has to name different agents, not {named}.")
    return named
