"""The players of finite games, and what they know."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import AnswerSpec, Choice, Decision, Number, Text
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.prompts import parse
from sabm_mesa.models.games.rules import (
    Amounts,
    Choices,
    Figure,
    GameForm,
    Move,
    Option,
)
from sabm_mesa.models.games.theory import Course

if TYPE_CHECKING:
    from sabm_mesa.models.games.model import FiniteGame


class PastPlay(NamedTuple):
    """A past game, as known to all its players.

    Attributes:
        number: its number among the player's own games, from 1.
        path: all choices, in the order of the moves; empty when it had none that counts.
        payoffs: the payoff of each player of the group.
    """

    number: int
    path: Choices
    payoffs: tuple[float, ...]


@dataclass(frozen=True)
class PlayerView:
    """The facts of a question as rules compute with them.

    Attributes:
        player: its number in its group, from 0.
        agent: its id.
        form: the game, with the names of options and in the unit of money of this run.
        n_rounds: maximum number of games.
        continuation: the probability of another game after each game; None if the end is known.
        plays: its own past games, oldest first.
        path: the moves of this game so far.
    """

    player: int
    agent: int
    form: GameForm
    n_rounds: int
    continuation: float | None
    plays: Sequence[PastPlay]
    path: Choices

    @property
    def move(self) -> int:
        """The number of the player's next move; in games in turns, the current move."""
        return self.player if self.form.together else min(len(self.path), len(self.form.moves) - 1)


def view_of(ask: Ask) -> PlayerView:
    """The knowledge of a rule that is asked; the facts are those of `Player.facts`."""
    known = ask.facts
    return PlayerView(
        player=known.player,
        agent=ask.key.agent,
        form=form_of(known.game),
        n_rounds=known.n_rounds,
        continuation=known.continuation,
        plays=[PastPlay(play["number"], play["path"], play["payoffs"]) for play in known.plays],
        path=known.path,
    )


class Player(SmartAgent):
    """A player of a finite game.

    Attributes:
        role: its number in its group, from 1; it is constant.
        group: the number of its group in this round, from 1.
        choices: its valid choices of this round, by the number of the move.
        choice: its choices by the names in the file; None without a valid one.
        payoff: its payoff in this round; NaN if a choice of its group is missing.
        plays: its own past games, oldest first.
    """

    model: FiniteGame

    def __init__(self, model: FiniteGame) -> None:
        super().__init__(model)
        self.role = (self.unique_id - 1) % model.rules.form.n_players + 1
        self.group = 0
        self.choices: dict[int, float] = {}
        self.choice: str | float | None = None
        self.payoff = math.nan
        self.plays: list[PastPlay] = []

    async def communicate(self) -> Decision:
        """Send a message to the others of the group."""
        return await self.ask("communicate", Text(max_words=40), **self.facts())

    async def act(self) -> Decision:
        """Choose simultaneously with all others."""
        move = self.role - 1
        return await self.ask("act", answer_spec(self.model.form, move), **self.facts())

    async def move(self) -> Decision:
        """Make the next move of the group's game, if it is the player's turn."""
        path = self.model.path_of(self)
        move = None if path is None else self.model.form.move_after(path)
        if path is None or move is None or self.model.form.moves[move].player != self.role - 1:
            return Decision(None, attempts=0)  # the game is over
        return await self.ask("move", answer_spec(self.model.form, move, path), **self.facts())

    def facts(self) -> dict[str, Any]:
        """The facts that the player knows: the rules, past games, messages and choices."""
        model, form = self.model, self.model.form
        members = [member.unique_id for member in model.groups[self.group - 1]]
        path = model.path_of(self) or ()
        return {
            "player": self.role - 1,
            "game": model.game_fact,
            "rule": rule_in_words(form, model.currency),
            "currency": model.currency,
            "n_rounds": model.n_rounds,
            "continuation": model.continuation,
            "matching": model.matching,
            "talk": model.talk,
            "plays": [
                {**play._asdict(), "options": _labels(form, play.path)} for play in self.plays
            ],
            "path": path,
            "options": _labels(form, path),
            "agent": self.unique_id,
            "members": members,
            "said": [message for message in model.said if message.sender in members],
        }


def rule_in_words(form: GameForm, currency: str) -> str:
    """The rule of a game in the words of its file, with the figures of a run."""
    values: dict[str, object] = {figure.name: number(figure.value) for figure in form.figures}
    values |= {"n_players": form.n_players, "n_others": form.n_players - 1, "currency": currency}
    amounts = form.moves[0].amounts
    if amounts is not None and form.together:
        low, high = form.ends(amounts)
        values |= {"low": number(low), "high": number(high), "step": number(amounts.step)}
    return "".join(
        text + ("" if name is None else str(values[name])) for text, name in parse(form.rule)
    )


def game_fact(form: GameForm) -> dict[str, Any]:
    """A game as a fact: the fields of `GameForm`, its outcomes in the order of the options."""
    places = [{option.value: i for i, option in enumerate(move.options)} for move in form.moves]
    outcomes = sorted(
        form.outcomes, key=lambda play: [places[k].get(v, v) for k, v in enumerate(play.path)]
    )
    moves = [
        {
            "name": move.name,
            "player": move.player,
            "options": [asdict(option) for option in move.options],
            "amounts": move.amounts and move.amounts.model_dump(),
        }
        for move in form.moves
    ]
    return {
        **asdict(replace(form, moves=(), outcomes=())),
        "moves": moves,
        "outcomes": [
            {**outcome._asdict(), "options": _labels(form, outcome.path)} for outcome in outcomes
        ],
    }


def form_of(game: Mapping[str, Any]) -> GameForm:
    """The game in a fact (see `game_fact`)."""
    return _form(json.dumps(game))


@lru_cache(maxsize=128)
def _form(game: str) -> GameForm:
    known = json.loads(game)
    moves = tuple(
        Move(
            move["name"],
            move["player"],
            tuple(Option(**option) for option in move["options"]),
            move["amounts"] and Amounts.model_construct(**move["amounts"]),
        )
        for move in known["moves"]
    )
    outcomes = tuple(
        Course(tuple(outcome["path"]), tuple(outcome["payoffs"])) for outcome in known["outcomes"]
    )
    figures = tuple(Figure(**figure) for figure in known["figures"])
    return GameForm(
        n_players=known["n_players"],
        together=known["together"],
        moves=moves,
        outcomes=outcomes,
        formulas=tuple(known["formulas"]),
        figures=figures,
        rule=known["rule"],
    )


def answer_spec(form: GameForm, move: int, path: Choices = ()) -> AnswerSpec:
    """The spec of a legal answer to a move."""
    options, amounts = form.options(move, path), form.moves[move].amounts
    whole = all(option.value.is_integer() for option in options)
    if amounts is None or not whole or amounts.step != 1:
        return Choice(tuple(option.label for option in options), label="choice")
    return Number(options[0].value, options[-1].value, integer=True, label="amount")


def value_of(form: GameForm, move: int, path: Choices, answer: object) -> float:
    """The value of the option or amount that an answer names."""
    named = {option.label: option.value for option in form.options(move, path)}
    return named[answer if isinstance(answer, str) else f"{answer:.10g}"]


def label_of(form: GameForm, move: int, value: float) -> str:
    """The name of a choice in prompts."""
    for option in form.moves[move].options:
        if option.value == value:
            return option.label
    return number(value)


def number(value: float) -> str:
    """A number in prompts."""
    return f"{value:.10g}"


def _labels(form: GameForm, path: Choices) -> list[str]:
    """The names of the choices of a course."""
    return [label_of(form, move, value) for move, value in enumerate(path)]
