"""The players of the public goods game, and their observations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.agents.memory import newest
from sabm_mesa.core.answers import Decision, Number, words
from sabm_mesa.core.asks import Observation

if TYPE_CHECKING:
    from sabm_mesa.agents.pairs import Chat
    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.models.public_goods.model import PublicGoods


@dataclass(frozen=True, slots=True)
class PastGame:
    """A past game in a player's memory.

    Attributes:
        number: its number among the player's own games, from 1.
        partners: the names of the others; empty if players have no names.
        n_others: number of others in its group.
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
    n_others: int
    n_absent: int
    contribution: float | None
    pot: float
    share: float
    payoff: float
    others_mean: float | None


@dataclass(frozen=True, slots=True)
class PlayerView(Observation):
    """The observation of a player: the rules, its partners, its past games, and its chats.

    Attributes:
        name: its own name; ``""`` where players have none.
        partners: the names of the others in this game; empty where players have none.
        n_players: players in its group.
        endowment: dollars of each player at the start.
        multiplier: factor by which the pot grows.
        matching: how groups are formed.
        n_rounds: number of announced games; None when prompts do not state it.
        games: its remembered past games, oldest first.
        party: its agent at the cocktail party; None if it was not there.
        chats: its talks there, oldest first.
    """

    name: str
    partners: tuple[str, ...]
    n_players: int
    endowment: float
    multiplier: float
    matching: str
    n_rounds: int | None
    games: Sequence[PastGame]
    party: int | None = None
    chats: tuple[Chat, ...] = ()

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value; amounts are in dollars.

        Args:
            book: the prompts of the run.
        """
        n_others = self.n_players - 1
        return {
            "memory": self._memory(book),
            "name": book.render("own_name", {"name": self.name}) if self.name else "",
            "others": _others(book, self.partners, n_others),
            "n_players": self.n_players,
            "endowment": dollars(self.endowment),
            "multiplier": f"{self.multiplier:.10g}",
            "matching": self._matching(book),
            "games": self._games(book),
            "persona": book.persona(self.persona),
        }

    def _matching(self, book: PromptBook) -> str:
        if self.n_rounds is None:
            return ""
        return book.render(f"matching_{self.matching}", {"n_rounds": self.n_rounds})

    def _games(self, book: PromptBook) -> str:
        lines = [_game_line(book, game, self.endowment) for game in self.games]
        return book.render("games", {"games": "\n".join(lines)}) if lines else ""

    def _memory(self, book: PromptBook) -> str:
        if self.party is None:
            return ""
        chats = [_chat_text(book, chat, self.party) for chat in self.chats]
        if not chats:
            return book.render("party_alone", {"name": self.name})
        return book.render("party", {"name": self.name, "chats": "\n\n".join(chats)})


class Player(SmartAgent):
    """A player, who puts a part of its endowment into the pot of its group.

    Args:
        model: the model.

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
        return await self.ask("act", _amount(self.model.endowment), self.observe())

    def observe(self) -> PlayerView:
        """The current observation of the player."""
        model = self.model
        others = model.others_of(self)
        return PlayerView(
            name=self.name,
            partners=tuple([other.name for other in others if other.name]),
            n_players=len(others) + 1,
            endowment=model.endowment,
            multiplier=model.multiplier,
            matching=model.matching,
            n_rounds=model.announced_rounds,
            games=newest(self.games, model.memory),
            party=self.agent_at_party,
            chats=self.chats,
            persona=self.persona,
        )


@lru_cache
def _amount(endowment: float) -> Number:
    """The answer spec of a contribution, shared by all players of a game."""
    return Number(0, endowment, reasoning=words(60), label="contribution")


def dollars(amount: float) -> str:
    """An amount in prompts, with cents if there are any."""
    return f"{amount:.2f}".removesuffix(".00")


def _others(book: PromptBook, partners: tuple[str, ...], n_others: int) -> str:
    if partners:
        return book.render("others_named", {"names": ", ".join(partners)})
    entry = "others_one" if n_others == 1 else "others_many"
    return book.render(entry, {"n_others": n_others})


def _game_line(book: PromptBook, game: PastGame, endowment: float) -> str:
    took_part = game.contribution is not None
    gain = game.payoff - endowment
    values = {
        "number": game.number,
        "others": _others(book, game.partners, game.n_others),
        "pot": dollars(game.pot),
        "share": dollars(game.share),
        "payoff": dollars(game.payoff),
        "contribution": dollars(game.contribution or 0.0),
        "net": book.render("net_loss" if gain < 0 else "net_gain", {"amount": dollars(abs(gain))}),
        "absent": book.render("game_absent", {"n": game.n_absent}) if game.n_absent else "",
    }
    return book.render("game" if took_part else "game_missed", values)


def _chat_text(book: PromptBook, chat: Chat, me: int) -> str:
    partner = book.render("party_name", {"number": chat.partner_of(me)})
    lines = [
        book.render(
            "party_own" if message.sender == me else "party_other",
            {"number": message.sender, "text": book.quote(message.text)},
        )
        for message in book.quoted_in_order(chat.messages)
    ]
    return book.render("party_chat", {"partner": partner, "lines": "\n".join(lines)})
