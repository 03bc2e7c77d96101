"""The players of finite games, and their observations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.core.answers import AnswerSpec, Choice, Decision, Number, Text
from sabm_mesa.core.asks import Observation
from sabm_mesa.core.messages import Message
from sabm_mesa.core.prompts import parse
from sabm_mesa.models.games.rules import Choices, GameForm

if TYPE_CHECKING:
    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.models.games.model import FiniteGame


@dataclass(frozen=True, slots=True)
class PastPlay:
    """A past game, as known to all its players.

    Attributes:
        number: its number among the player's own games, from 1.
        path: all choices, in the order of the moves; empty when it had none that counts.
        payoffs: the payoff of each player of the group.
    """

    number: int
    path: Choices
    payoffs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PlayerView(Observation):
    """The observation of a player.

    Attributes:
        player: its number in its group, from 0.
        form: the game, with the names of options and in the unit of money of this run.
        currency: the unit of money.
        n_rounds: maximum number of games.
        continuation: the probability of another game after each game; None if the end is known.
        matching: how groups are formed.
        talk: whether players talk before they decide.
        plays: its own past games, oldest first.
        path: the moves of this game so far.
        value: its private value in an auction; NaN elsewhere.
        said: the messages of its group before this game.
        speaker: its own number as a sender of messages.
        members: the numbers of its group as senders, in the order of the players.
    """

    player: int
    form: GameForm
    currency: str
    n_rounds: int
    continuation: float | None
    matching: str
    talk: bool
    plays: Sequence[PastPlay]
    path: Choices
    value: float
    said: tuple[Message, ...]
    speaker: int
    members: tuple[int, ...]

    @property
    def move(self) -> int:
        """The number of the player's next move; in games in turns, the current move."""
        return self.player if self.form.together else min(len(self.path), len(self.form.moves) - 1)

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """Placeholder → value.

        Args:
            book: the prompts of the run.
        """
        kind = "option" if self.form.moves[self.move].options else "amount"
        return {
            "persona": book.persona(self.persona),
            "currency": self.currency,
            "n_players": self.form.n_players,
            "number": self.player + 1,
            "rules": self._rules(book),
            "repetition": self._repetition(book),
            "talking": book.render("talking", {}) if self.talk else "",
            "past": self._past(book),
            "said": self._said(book),
            "own_value": self._own_value(book),
            "so_far": self._so_far(book),
            "question": book.render(f"question_{kind}", {}),
        }

    def _rules(self, book: PromptBook) -> str:
        form = self.form
        choices = [self._choice(book, k) for k in range(len(form.moves))]
        if not form.together:
            choices = [
                book.render("step", {"step": step, "choice": choice})
                for step, choice in enumerate(choices, 1)
            ]
        values = {"choices": "\n".join(choices), "payoffs": self._payoffs(book)}
        return book.render("together" if form.together else "in_turn", values)

    def _choice(self, book: PromptBook, k: int) -> str:
        move = self.form.moves[k]
        values: dict[str, object] = {"number": move.player + 1}
        if move.amounts is None:
            options = ", ".join(option.label for option in move.options)
            return book.render("choice_between", values | {"options": options})
        values["step"] = number(move.amounts.step)
        if not move.amounts.fixed:
            return book.render("choice_amount_open", values)
        low, high = self.form.ends(move.amounts)
        return book.render("choice_amount", values | {"low": number(low), "high": number(high)})

    def _payoffs(self, book: PromptBook) -> str:
        form, sale = self.form, self.form.auction
        if sale is not None:
            amounts = form.moves[0].amounts
            values: dict[str, object] = {
                "low": number(sale.least), "high": number(sale.largest),
                "step": number(amounts.step if amounts else 1),
                "price": book.render(f"price_{sale.price}", {}), "currency": self.currency,
            }  # fmt: skip
            return book.render("payoffs_of_auction", values)
        if form.rule:
            return book.render("payoffs_of_rule", {"rule": self._rule()})
        lines = []
        for outcome in _in_order_of_options(form):
            gains = self._gains(book, outcome.payoffs)
            chosen = self._chosen(book, outcome.path)
            lines.append(book.render("outcome", {"choices": chosen, "gains": gains}))
        outcomes = {"currency": self.currency, "outcomes": "\n".join(lines)}
        return book.render("payoffs_of_outcomes", outcomes)

    def _rule(self) -> str:
        """The rules in words, with the figures of this run."""
        form = self.form
        values: dict[str, object] = {figure.name: number(figure.value) for figure in form.figures}
        values |= {"n_players": form.n_players, "n_others": form.n_players - 1}
        amounts = form.moves[0].amounts
        if amounts is not None and form.together:
            low, high = form.ends(amounts)
            values |= {"low": number(low), "high": number(high), "step": number(amounts.step)}
        values["currency"] = self.currency
        return "".join(
            text + ("" if name is None else str(values[name])) for text, name in parse(form.rule)
        )

    def _repetition(self, book: PromptBook) -> str:
        if self.n_rounds == 1:
            return book.render("once", {})
        values = {"n_rounds": self.n_rounds, "continuation": number(self.continuation or 0.0)}
        entry = "repeated" if self.continuation is None else "repeated_by_lot"
        return f"{book.render(entry, values)} {book.render(self.matching, {})}"

    def _past(self, book: PromptBook) -> str:
        lines = []
        for play in self.plays:
            values = {
                "number": play.number,
                "choices": self._chosen(book, play.path),
                "gains": self._gains(book, play.payoffs),
            }
            lines.append(book.render("play" if play.path else "play_void", values))
        past = book.render("past", {"plays": "\n".join(lines)}) if lines else ""
        if self.n_rounds == 1:
            return past
        return f"{past}\n\n{book.render('now', {'number': len(self.plays) + 1})}"

    def _said(self, book: PromptBook) -> str:
        lines = [
            book.render(
                "said_own" if message.sender == self.speaker else "said_other",
                {
                    "number": self.members.index(message.sender) + 1,
                    "text": book.quote(message.text),
                },
            )
            for message in book.quoted_in_order(self.said)
        ]
        return book.render("said", {"lines": "\n".join(lines)}) if lines else ""

    def _own_value(self, book: PromptBook) -> str:
        if math.isnan(self.value):
            return ""
        values = {"value": number(self.value), "currency": self.currency}
        return book.render("own_value", values)

    def _so_far(self, book: PromptBook) -> str:
        if not self.path:
            return book.render("nothing_so_far", {})
        return book.render("so_far", {"choices": self._chosen(book, self.path)})

    def _chosen(self, book: PromptBook, path: Choices) -> str:
        sentences = []
        moves = list(enumerate(path))
        if self.form.together:  # the player's choice first
            moves.sort(key=lambda choice: self.form.moves[choice[0]].player != self.player)
        for k, value in moves:
            move = self.form.moves[k]
            entry = "you_choose" if move.player == self.player else "other_chooses"
            option = label_of(self.form, k, value)
            sentences.append(book.render(entry, {"number": move.player + 1, "option": option}))
        return f"{book.render('between', {})} ".join(sentences)

    def _gains(self, book: PromptBook, payoffs: Iterable[float]) -> str:
        sentences = [
            book.render(
                "you_earn" if player == self.player else "other_earns",
                {"number": player + 1, "amount": number(payoff)},
            )
            for player, payoff in sorted(
                enumerate(payoffs), key=lambda numbered: numbered[0] != self.player
            )
        ]
        return f"{book.render('between', {})} ".join(sentences)


class Player(SmartAgent):
    """A player of a finite game.

    Args:
        model: the model.

    Attributes:
        role: its number in its group, from 1; it is constant.
        group: the number of its group in this round, from 1.
        choices: its valid choices of this round, by the number of the move.
        choice: its choices by the names in the file; None without a valid one.
        payoff: its payoff in this round; NaN if a choice of its group is missing.
        value: its private value in an auction; NaN elsewhere.
        plays: its own past games, oldest first.
    """

    model: FiniteGame

    def __init__(self, model: FiniteGame) -> None:
        super().__init__(model)
        self.role = (self.unique_id - 1) % model.rules.form.n_players + 1
        self.group = 0
        self.choices: dict[int, float] = {}
        self.choice: str | float | None = None
        self.payoff = self.value = math.nan
        self.plays: list[PastPlay] = []

    async def communicate(self) -> Decision:
        """Send a message to the others of the group."""
        return await self.ask("communicate", Text(max_words=40), self.observe())

    async def act(self) -> Decision:
        """Choose simultaneously with all others."""
        move = self.role - 1
        return await self.ask("act", answer_spec(self.model.form, move), self.observe())

    async def move(self) -> Decision:
        """Make the next move of the group's game, if it is the player's turn."""
        path = self.model.path_of(self)
        move = None if path is None else self.model.form.move_after(path)
        if path is None or move is None or self.model.form.moves[move].player != self.role - 1:
            return Decision(None, attempts=0)  # the game is over
        return await self.ask("move", answer_spec(self.model.form, move, path), self.observe())

    def observe(self) -> PlayerView:
        """The current observation of the player."""
        model = self.model
        members = [member.unique_id for member in model.groups[self.group - 1]]
        heard = tuple([message for message in model.said if message.sender in members])
        return PlayerView(
            player=self.role - 1,
            form=model.form,
            currency=model.currency,
            n_rounds=model.n_rounds,
            continuation=model.continuation,
            matching=model.matching,
            talk=model.talk,
            plays=tuple(self.plays),
            path=model.path_of(self) or (),
            value=self.value,
            said=heard,
            speaker=self.unique_id,
            members=tuple(members),
            persona=self.persona,
        )


def answer_spec(form: GameForm, move: int, path: Choices = ()) -> AnswerSpec:
    """The spec of a legal answer to a move.

    Args:
        form: the game.
        move: the number of the move.
        path: the moves before it, in a game in turns.
    """
    options, amounts = form.options(move, path), form.moves[move].amounts
    whole = all(option.value.is_integer() for option in options)
    if amounts is None or not whole or amounts.step != 1:
        return Choice(tuple(option.label for option in options), label="choice")
    return Number(options[0].value, options[-1].value, integer=True, label="amount")


def value_of(form: GameForm, move: int, path: Choices, answer: object) -> float:
    """The value of the option or amount that an answer names.

    Args:
        form: the game.
        move: the number of the move.
        path: the moves before it, in a game in turns.
        answer: the answer, as its spec returns it.
    """
    named = {option.label: option.value for option in form.options(move, path)}
    return named[answer if isinstance(answer, str) else f"{answer:.10g}"]


def label_of(form: GameForm, move: int, value: float) -> str:
    """The name of a choice in prompts.

    Args:
        form: the game.
        move: the number of the move.
        value: the value of the option, or the amount.
    """
    for option in form.moves[move].options:
        if option.value == value:
            return option.label
    return number(value)


def number(value: float) -> str:
    """A number in prompts."""
    return f"{value:.10g}"


def _in_order_of_options(form: GameForm) -> list[Any]:
    """The outcomes, in the order in which the options are shown."""
    places = [{option.value: i for i, option in enumerate(move.options)} for move in form.moves]
    return sorted(
        form.outcomes,
        key=lambda play: [places[k].get(v, v) for k, v in enumerate(play.path)],
    )
