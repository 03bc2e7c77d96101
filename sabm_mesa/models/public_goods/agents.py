"""The players of the public goods game."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.agents.memory import newest
from sabm_mesa.core.answers import Decision, Number, words

if TYPE_CHECKING:
    from sabm_mesa.models.pairs.agents import Chat
    from sabm_mesa.models.public_goods.model import PublicGoods


class PastGame(NamedTuple):
    """A past game in a player's memory.

    Attributes:
        number: its number among the player's own games, from 1.
        partners: the names of the others; empty if players have no names.
        n_absent: number of others without a usable answer.
        contribution: the player's contribution; None if it did not take part.
        pot: the multiplied pot.
        share: its share of the pot.
        payoff: its payoff.
        others_mean: mean contribution of the other participants, computed from the pot; None
            without participants.
    """

    number: int
    partners: tuple[str, ...]
    n_absent: int
    contribution: float | None
    pot: float
    share: float
    payoff: float
    others_mean: float | None


class Player(SmartAgent):
    """A player, who puts a part of its endowment into the pot of its group.

    Attributes:
        contribution: its contribution in the last round; None without a game or a usable answer.
        payoff: its payoff in the last round; NaN without a game.
        group: the number of its group in the last round, from 1; None without a game.
        games: its own past games, oldest first.
        agent_at_party: its agent at the cocktail party; None if it was not there.
        name: its name among players who know each other; ``""`` without a party.
        chats: its talks at the party, oldest first.
    """

    model: PublicGoods

    def __init__(self, model: PublicGoods) -> None:
        super().__init__(model)
        self.contribution: float | None = None
        self.payoff = math.nan
        self.group: int | None = None
        self.games: list[PastGame] = []
        self.agent_at_party: int | None = None
        self.name = ""
        self.chats: tuple[Chat, ...] = ()

    @property
    def malicious(self) -> bool:
        """Whether it is one of the malicious players, which give nothing with any `minds`."""
        return self.unique_id > self.model.n_players - self.model.malicious

    async def act(self) -> Decision:
        """Think privately, and name the contribution."""
        return await self.ask("act", _amount(self.model.endowment), **self.facts())

    def facts(self) -> dict[str, Any]:
        """The facts of a question: the rules, its partners, its past games, and its chats."""
        model, me = self.model, self.agent_at_party
        others = model.others_of(self)
        chats = (
            None
            if me is None
            else [
                {"partner": chat.partner_of(me), "messages": chat.messages} for chat in self.chats
            ]
        )
        return {
            "name": self.name,
            "partners": [other.name for other in others if other.name],
            "n_players": len(others) + 1,
            "endowment": model.endowment,
            "multiplier": model.multiplier,
            "matching": model.matching,
            "n_rounds": model.announced_rounds,
            "games": newest(self.games, model.memory),
            "chats": chats,
        }


@lru_cache
def _amount(endowment: float) -> Number:
    """The answer spec of a contribution, shared by all players of a game."""
    return Number(0, endowment, reasoning=words(60), label="contribution")
