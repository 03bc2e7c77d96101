"""Replication of Lai et al. 2024: players repeatedly put money into a pot that grows and is split.

To write a scenario of your own, start from ``examples/prisoners_dilemma``.

All players of a group name a contribution at once; the pot is multiplied and split. Groups are
drawn once (``partner``), anew each round (``stranger``), or form a ``chain``: the last player meets
player 1, then 1 meets 2, and so on. The published chain of infection is ``matching="chain",
n_players=4, malicious=1``. Malicious players have the mind ``fixed:0``. With a ``party``, players
remember their conversations there. The rules in full are in ``odd.toml``.

Unreadable answers
    The question is also repeated for a contribution out of range. A player without a valid amount
    does not take part: it keeps its endowment, its contribution is empty, and the pot is split
    among the others; a single remaining player gets the whole pot. It counts in ``absent``.

Deviations from the authors' program
    None was published. An amount is on a separate line, not after a keyword. Players without a
    party have no names. Except in a chain, prompts state the number of games, as in the laboratory.
    Repetition, groups, more than two players and a scripted malicious player are our choice.

Source
    Lai et al. 2024, "Evolving AI Collectives to Enhance Human Diversity and Enable
    Self-Regulation", ICML 2024, arXiv 2402.12590, section 4 and appendices A and C; Fischbacher and
    Gächter 2010, American Economic Review 100(1), 541-556 (minds, matching).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le

from sabm_mesa.core.answers import Decision
from sabm_mesa.core.parameters import check_int
from sabm_mesa.core.scheduler import Phase, action
from sabm_mesa.errors import ParameterError, about
from sabm_mesa.minds.scripted import FixedMind
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import Score
from sabm_mesa.models.pairs.party import PartyMemories, read_party, with_digest
from sabm_mesa.models.public_goods.agents import PastGame, Player
from sabm_mesa.models.public_goods.minds import (
    FischbacherGaechter,
    IdenticalSchedule,
    NaiveBelief,
    PerfectCooperation,
    ScheduleOnly,
)
from sabm_mesa.models.public_goods.study import group_efficiency, run_measures
from sabm_mesa.models.public_goods.theory import (
    dominant_contribution,
    optimal_contribution,
    payoffs,
)

PAIR = 2
Positive = Annotated[float, Ge(0.01), Le(1e9)]
"""An amount or the multiplier; within these limits no digit is lost."""
MEMBERS = {"A": (1, 10, 9), "B": (1, 6, 8)}
"""Lai et al. 2024, section 4: chains of agents that met often at the party (A), and of agents of
which the first two never met (B)."""
FAMILIAR, STRANGERS = "familiar", "strangers"
"""The same at any party: each is followed by the agent it talked with most, or least."""
Members = Literal["A", "B", "familiar", "strangers"] | Sequence[int]


def _in_a_game(model: PublicGoods) -> list[Player]:
    """The players of this round's groups, in the order of their ids."""
    return [player for player in model.players if player.group is not None]


class PublicGoods(SmartModel):
    """The public goods game (Lai et al. 2024).

    Args:
        n_players: number of players.
        n_rounds: number of games in a row at most.
        matching: groups that stay, groups that are drawn anew every round, or a chain of pairs.
        malicious: number of players, the last ones, that always give nothing.
        endowment: dollars that each has at the start of a game.
        multiplier: factor by which the pot grows.
        group_size: players that share a pot; None: all.
        memory: the most past games in the prompts of a player; None: all.
        party: recording of a cocktail party, ``PATH`` or ``PATH#RUN``, that players remember.
        members: the agents they were there, by a published chain (A, B) or by their talks there
            (familiar, strangers), or a list.
        condition: ``"baseline"``.
        minds: see `SmartModel`; classical minds are ``classical``, ``classical:schedule_only``,
            ``classical:naive_belief``, ``classical:identical_schedule`` and
            ``classical:perfect_cooperation``.
        settings: the other parameters of `SmartModel`.

    Attributes:
        players: all players in the order of their ids.
        groups: the groups of the round.
        contribution: mean of the valid contributions of the round; NaN without any.
        normal_contribution: the same without malicious players.
        pot: sum of the valid contributions.
        efficiency: the mean contribution as a share of the endowment.
        zero_share: share of the valid contributions that are 0.
        absent: players without a valid amount.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "public-goods"
    title = "Public goods"
    source = "Lai et al. 2024, arXiv 2402.12590, section 4"
    prompt_file = Path(__file__).with_name("prompts.toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        action(
            who=_in_a_game,
            doc="Each player of a group thinks privately and names the amount for the pot (`act`); "
            "a player whose answer is unreadable has no contribution.",
        ),
    )
    model_columns = (
            "contribution", "pot", "normal_contribution", "efficiency", "zero_share", "absent",
        )  # fmt: skip
    agent_columns = ("contribution", "payoff", "group")
    score = Score("Payoff in a run (dollars)", "n_players")
    changeable = frozenset({"malicious", "multiplier", "memory"})
    defaults: ClassVar[dict[str, Any]] = {"temperature": 1.0, "max_tokens": 256, "top_p": 0.7}
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = {
        "default": FischbacherGaechter,
        "schedule_only": ScheduleOnly,
        "naive_belief": NaiveBelief,
        "identical_schedule": IdenticalSchedule,
        "perfect_cooperation": PerfectCooperation,
    }

    def __init__(
        self,
        n_players: Annotated[int, Ge(PAIR)] = 2,
        n_rounds: int = 10,
        matching: Literal["partner", "stranger", "chain"] = "partner",
        malicious: Annotated[int, Ge(0)] = 0,
        endowment: Positive = 100.0,
        multiplier: Positive = 1.3,
        group_size: Annotated[int, Ge(PAIR)] | None = None,
        memory: Annotated[int, Ge(0)] | None = None,
        party: str | None = None,
        members: Members = "A",
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.n_players, self.matching, self.memory = n_players, matching, memory
        self.endowment, self.multiplier = endowment, multiplier
        self.malicious = check_int("malicious", malicious, 0, n_players)
        self.group_size = self._group_size(group_size)
        listed_members(members)
        self.groups: list[list[Player]] = []
        self.contribution = self.normal_contribution = math.nan
        self.efficiency = self.zero_share = math.nan
        self.pot, self.absent = 0.0, 0
        self.players = self.populate(Player, self.n_players)
        for player in self.players:
            if player.malicious:
                player.mind = FixedMind(0)
        if party is not None:
            memories = read_party(party, self.replaying)
            self.parameters["party"] = memories.reference
            self._attend(memories, members)

    @property
    def announced_rounds(self) -> int | None:
        """The number of games that prompts state; None for one, and in a chain."""
        return None if self.matching == "chain" or self.n_rounds == 1 else self.n_rounds

    def others_of(self, player: Player) -> list[Player]:
        """The others in a player's group of this round."""
        assert player.group is not None
        return [other for other in self.groups[player.group - 1] if other is not player]

    @classmethod
    def identity(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as JSON values, with the digest of the party in its place."""
        return super().identity(with_digest(given))

    def begin_round(self) -> None:
        """Form the groups."""
        if self.matching == "chain":
            # The last player and the first one, then the first and the second, ….
            self.groups = [[self.players[self.round - 1], self.players[self.round]]]
        elif self.matching == "stranger" or not self.groups:
            self.groups = self._draw_groups()
        for player in self.players:
            player.contribution, player.payoff, player.group = None, math.nan, None
        for number, group in enumerate(self.groups, 1):
            for player in group:
                player.group = number

    def after_act(self, player: Player, amount: Decision) -> None:
        """Take a player's contribution; None when it could not be read."""
        player.contribution = amount.value

    def update(self) -> None:
        """Split the pots, add the games to the memories, and measure."""
        for group in self.groups:
            self._settle(group)
        given = {p: p.contribution for p in _in_a_game(self) if p.contribution is not None}
        self.contribution = _mean(list(given.values()))
        self.normal_contribution = _mean([c for p, c in given.items() if not p.malicious])
        self.pot = float(sum(given.values()))
        self.efficiency = group_efficiency(self.contribution, self.endowment)
        self.zero_share = _mean([c == 0 for c in given.values()])
        self.absent = len(_in_a_game(self)) - len(given)
        if self.matching == "chain" and self.round + PAIR >= self.n_players:
            self.end("the chain is played")

    def end_measures(self) -> dict[str, Any]:
        """Means over games, first and last contribution, drops of a chain; and a ``caution``."""
        measures = run_measures(
            self.model_frame(), self.agent_frame(), chain=self.matching == "chain"
        )
        return measures | caution(self.multiplier, self.group_size)

    def _settle(self, group: list[Player]) -> None:
        """Split a group's pot among its participants, and extend all memories."""
        given = {p: p.contribution for p in group if p.contribution is not None}
        paid = payoffs(list(given.values()), self.endowment, self.multiplier)
        ends = dict(zip(given, paid.tolist(), strict=True))
        total = float(sum(given.values()))
        pot = self.multiplier * total
        for player in group:
            player.payoff = ends.get(player, self.endowment)
            others = [given[other] for other in given if other is not player]
            player.games.append(
                PastGame(
                    number=len(player.games) + 1,
                    partners=tuple(p.name for p in group if p is not player and p.name),
                    n_absent=len(group) - 1 - len(others),
                    contribution=player.contribution,
                    pot=pot,
                    share=pot / len(given) if player in given else 0.0,
                    payoff=player.payoff,
                    others_mean=_mean(others) if others else None,
                )
            )

    @about("group_size")
    def _group_size(self, group_size: int | None) -> int:
        """The number of players of a group.

        Args:
            group_size: the given number; None: all players, or two in a chain.

        Raises:
            ParameterError: when the players cannot be split into such groups.
        """
        if self.matching == "chain":
            if group_size not in (None, PAIR):
                raise ParameterError(
                    f"In a chain two play at a time: group_size must be 2 or none, not "
                    f"{group_size}."
                )
            return PAIR
        if group_size is None:
            return self.n_players
        size = check_int("group_size", group_size, PAIR, self.n_players)
        if self.n_players % size:
            raise ParameterError(f"{self.n_players} players cannot be split into groups of {size}.")
        return size

    def _draw_groups(self) -> list[list[Player]]:
        """All players in random groups, each in the order of ids; a single group needs no draw."""
        size = self.group_size
        if size == self.n_players:
            return [list(self.players)]
        order = [int(i) for i in self.rng.permutation(self.n_players)]
        cut = [sorted(order[at : at + size]) for at in range(0, len(order), size)]
        return [[self.players[i] for i in group] for group in cut]

    def _attend(self, memories: PartyMemories, members: Members) -> None:
        """Give the players the names and memories of the agents of a cocktail party.

        Malicious players were not at the party, and get other names.

        Args:
            members: see `agents_at_party`.

        Raises:
            ParameterError: for agents who were not at the party, or more players than agents.
        """
        guests = [player for player in self.players if not player.malicious]
        agents = agents_at_party(members, memories, len(guests))
        for player, agent in zip(guests, agents, strict=True):
            player.agent_at_party, player.chats = agent, memories.chats_of(agent)
            player.name = self.book.render("party_name", {"number": agent})
        outsiders = [player for player in self.players if player.malicious]
        for number, player in enumerate(outsiders, memories.n_agents + 1):
            player.name = self.book.render("party_name", {"number": number})


def caution(multiplier: float, group_size: int) -> dict[str, str]:
    """The measure ``caution`` of a game without a social dilemma; empty for a dilemma.

    Args:
        multiplier: factor by which the pot grows.
        group_size: players that share a pot.
    """
    dilemma = f"a dilemma has a multiplier between 1 and {group_size}"
    if optimal_contribution(1, multiplier) != 1:
        reason = f"a pot times {multiplier:g} does not grow, so that giving helps nobody"
    elif dominant_contribution(1, multiplier, group_size) != 0:
        back = multiplier / group_size
        reason = f"{back:g} comes back of each dollar that one gives, so that giving costs nothing"
    else:
        return {}
    return {"caution": f"no social dilemma: {reason}; {dilemma}."}


def agents_at_party(members: Members, memories: PartyMemories, n: int) -> list[int]:
    """The agents of the party that become the n players.

    Args:
        members: ``"A"``, ``"B"``, ``"familiar"``, ``"strangers"``, or agents in the order of the
            players; further players are the other agents in their order.
        n: number of players.

    Raises:
        ParameterError: for agents who were not at the party, or more players than agents.
    """
    n_agents = memories.n_agents
    chosen = listed_members(members) or _by_talks(memories, most=members == FAMILIAR)
    if n > n_agents:
        raise ParameterError(
            f"{n} players cannot have been at a party of {n_agents} agents.", parameter="n_players"
        )
    with about("members"):
        known = [check_int("a member of the party", agent, 1, n_agents) for agent in chosen[:n]]
    others = (agent for agent in range(1, n_agents + 1) if agent not in known)
    return [*known, *others][:n]


def _by_talks(memories: PartyMemories, *, most: bool) -> list[int]:
    """All agents: 1, and after each the one of the rest that it talked with most or least."""
    counts = memories.counts()
    chain, left = [1], list(range(2, memories.n_agents + 1))
    while left:
        talks = {other: counts[min(chain[-1], other), max(chain[-1], other)] for other in left}
        chain.append((max if most else min)(left, key=talks.__getitem__))
        left.remove(chain[-1])
    return chain


@about("members")
def listed_members(members: Any) -> Sequence[int]:
    """The listed agents; none when `members` selects them by their talks.

    Raises:
        ParameterError: when it is neither a known name nor a list of different agents.
    """
    if members in (FAMILIAR, STRANGERS):
        return ()
    if isinstance(members, str) and members in MEMBERS:
        return MEMBERS[members]
    if isinstance(members, str) or not isinstance(members, Sequence):
        raise ParameterError(
            f'members must be "A", "B", "{FAMILIAR}", "{STRANGERS}" or a list of agents '
            f"such as [1, 10, 9], not {members!r}."
        )
    named = [check_int("a member of the party", agent, 1) for agent in members]
    if len(set(named)) < len(named):
        raise ParameterError(f"members must name different agents, not {named}.")
    return named


def _mean(values: list[Any]) -> float:
    # The same result as numpy's `mean`, which is much slower for a few values.
    return float(np.add.reduce(np.array(values, float))) / len(values) if values else math.nan
