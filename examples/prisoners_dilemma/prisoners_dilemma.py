"""The prisoner's dilemma in pairs with talk: two whisper to one another, then both choose.

Rules. ``n_players`` players (an even number) are put in pairs, anew in each round with ``matching``
``stranger``. With ``talk``, the two of a pair whisper a sentence to one another, one after the
other; nobody else hears it. Then all choose at once to share or to take. Both share: 3 points each;
both take: 1 each; one takes: 5 for it and 0 for the other (Axelrod 1984). An unreadable sentence is
not said; without a readable choice the player gets nothing, and its partner 1.

Measures. ``shared`` (the share of the choices), ``kept`` (the share of promises to share that were
kept; a promise is a sentence with the words "I will share").

Classical minds. Tit for tat (Rapoport, in Axelrod 1984) shares first and does then as the partner
of the last round did; it promises what it does. ``classical:take`` promises to share, and takes.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge

from sabm_mesa import (
    Choice,
    ClassicalMind,
    Decision,
    ParameterError,
    Phase,
    Score,
    SmartAgent,
    SmartModel,
    Text,
)

SHARE, TAKE = "share", "take"
POINTS = {(SHARE, SHARE): 3, (SHARE, TAKE): 0, (TAKE, SHARE): 5, (TAKE, TAKE): 1}
PROMISE = "i will share"


class TitForTat(ClassicalMind):
    """Shares first, and then does as the last partner did (Rapoport, in Axelrod 1984)."""

    async def answer(self, ask: Any) -> str:
        """Return the choice, or a sentence that promises it."""
        choice = TAKE if ask.facts.last == TAKE else SHARE
        return choice if ask.name == "act" else ask.book.render(f"says_{choice}", {})


class Taker(ClassicalMind):
    """Promises to share, and takes."""

    async def answer(self, ask: Any) -> str:
        """Return the choice, or the promise."""
        return TAKE if ask.name == "act" else ask.book.render("says_share", {})


class Player(SmartAgent):
    """A player with a partner."""

    model: PrisonersDilemma
    partner: Player
    choice, last, own, payoff = "", "", "", 0

    async def whisper(self) -> Decision:
        """Say a sentence to the partner; the second of the two has heard the first."""
        return await self.ask("whisper", Text(max_words=30), **self.facts())

    async def act(self) -> Decision:
        """Share or take."""
        return await self.ask("act", Choice((SHARE, TAKE)), **self.facts())

    def facts(self) -> dict[str, Any]:
        """What the player knows: the choices of the last round, and the talk of this one."""
        return {
            "partner": self.partner.unique_id,
            "last": self.last or "nothing",
            "own": self.own or "nothing",
            "said": self.conversation(),
        }


class PrisonersDilemma(SmartModel):
    """The prisoner's dilemma in pairs; see the docstring of the module."""

    scenario_name = "prisoners-dilemma"
    title = "The prisoner's dilemma in pairs with talk"
    source = "Axelrod 1984"
    prompt_file = Path(__file__).with_name("prisoners_dilemma.toml")
    phases = (
        Phase("whisper", "shuffled", when=lambda m: m.talk, reach=lambda _, p: [p.partner]),
        Phase("act"),
    )
    model_columns = ("shared", "kept")
    agent_columns = ("choice", "payoff")
    classical_minds: ClassVar = {"default": TitForTat, "take": Taker}
    score = Score("Points in a run", "n_players", pairs=True)
    changeable = frozenset({"talk"})

    def __init__(
        self,
        n_players: Annotated[int, Ge(2)] = 8,
        matching: Literal["partner", "stranger"] = "partner",
        talk: bool = True,
        n_rounds: int = 10,
        **settings: Any,
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        if n_players % 2:
            raise ParameterError("n_players must be even.", parameter="n_players")
        self.matching, self.talk, self.shared, self.kept = matching, talk, math.nan, math.nan
        self.players = self.populate(Player, n_players)
        self.match(self.players)

    def match(self, players: list[Player]) -> None:
        """Put players in pairs, the first with the second and so on."""
        for one, other in zip(players[::2], players[1::2], strict=True):
            one.partner, other.partner = other, one

    def begin_round(self) -> None:
        """Put strangers in new pairs."""
        if self.matching == "stranger":
            self.match([self.players[i] for i in self.rng.permutation(len(self.players))])

    def after_whisper(self, player: Player, sentence: Decision) -> None:
        """Let the partner hear it, and nobody else."""
        self.say(player, sentence.value, to=player.partner)

    def after_act(self, player: Player, choice: Decision) -> None:
        """Note the choice."""
        player.choice = choice.value

    def update(self) -> None:
        """Pay the points, and let the players remember."""
        for player in self.players:
            mine, other = player.choice, player.partner.choice
            player.payoff = POINTS.get((mine, other), 1 if mine else 0)
            player.last, player.own = other or "", mine or ""
        readable = [player.choice == SHARE for player in self.players if player.choice]
        self.shared = sum(readable) / len(readable) if readable else math.nan
        promised = {message.sender for message in self.said if PROMISE in message.text.lower()}
        kept = [player.choice == SHARE for player in self.players if player.unique_id in promised]
        self.kept = sum(kept) / len(kept) if kept else math.nan
