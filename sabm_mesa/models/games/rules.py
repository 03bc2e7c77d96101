"""The rules of a finite game, read from one TOML file.

`GameForm` is the part that players know: players, moves, options and payoffs. `Rules` adds the part
that they do not know: names, source, and results of people. Docs: ``docs/how-to/games.md``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sabm_mesa.core.prompts import parse
from sabm_mesa.core.toml_io import expand_home, read_toml
from sabm_mesa.errors import ParameterError, PromptError, UnknownName, about
from sabm_mesa.models.games.formulas import check_formula, evaluate
from sabm_mesa.models.games.novel import novel_game
from sabm_mesa.models.games.theory import Course

Floats = npt.NDArray[np.float64]
Choices = tuple[float, ...]
"""The choices so far, in the order of the moves: values of options, or amounts."""
NOVEL = "novel:"
"""The prefix of the name of a game with random payoffs."""
LIBRARY = Path(__file__).with_name("library")
MOST_PLAYERS, MOST_MOVES, MOST_OPTIONS, MOST_OUTCOMES = 8, 100, 1001, 100_000
"""Limits of a file; the last one limits the combinations of choices."""
ROUNDING = 0.03
"""Tolerance for the sum of published shares."""
_KEYS = {
    "title", "source", "players", "options", "values", "payoffs", "moves", "outcomes", "money",
    "numbers", "rule", "auction", "rounds", "continuation", "talk", "people",
}  # fmt: skip
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_OF_PROFILE = (
    "own", "others", "total", "mean", "lowest", "highest", "others_lowest", "others_highest", "n",
)  # fmt: skip
"""Names in formulas of simultaneous games."""
_OF_RULE = ("n_players", "n_others", "low", "high", "step", "currency")
"""Placeholders of a rule, in addition to figures and options."""


@dataclass(frozen=True, slots=True)
class Option:
    """One of the options of a move.

    Attributes:
        label: its name in prompts.
        value: its number in formulas and in paths.
    """

    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Amounts:
    """A range of amounts.

    Attributes:
        low: the smallest amount, or a formula of the earlier moves.
        high: the largest amount, or a formula of the earlier moves.
        step: the distance between two amounts.
        money: whether they are money.
    """

    low: float | str
    high: float | str
    step: float = 1.0
    money: bool = field(default=False, compare=False)

    @property
    def fixed(self) -> bool:
        """Whether both limits are known before the game."""
        return not isinstance(self.low, str) and not isinstance(self.high, str)


@dataclass(frozen=True, slots=True)
class Move:
    """One decision of one player.

    Attributes:
        name: the name in formulas.
        player: the player, from 0.
        options: the options; empty for amounts.
        amounts: the amounts; None with options.
    """

    name: str
    player: int
    options: tuple[Option, ...] = ()
    amounts: Amounts | None = None


@dataclass(frozen=True, slots=True)
class Auction:
    """A sealed-bid auction of one object, with private values.

    Attributes:
        price: ``"first"`` or ``"second"``: the rank of the bid that the winner pays.
        least: the smallest private value.
        largest: the largest one.
    """

    price: str
    least: float
    largest: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A named number of the rules.

    Attributes:
        name: the name in formulas and in the rule.
        value: the number.
        money: whether it is money.
    """

    name: str
    value: float
    money: bool = field(compare=False)


@dataclass(frozen=True, slots=True)
class GameForm:
    """A finite game, as known to its players.

    Attributes:
        n_players: number of players.
        together: whether all choose simultaneously; otherwise they move in turn.
        moves: the decisions: one per player, or in order.
        outcomes: the payoffs of every course; empty for formulas or an auction.
        formulas: one payoff formula for all players, or one per player.
        figures: the named numbers, also the values of options that formulas name.
        rule: the rules in words, with figures in braces; required with formulas.
        auction: the auction, or None.
    """

    n_players: int
    together: bool
    moves: tuple[Move, ...]
    outcomes: tuple[Course, ...] = ()
    formulas: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    rule: str = field(default="", compare=False)
    auction: Auction | None = None

    def move_after(self, path: Choices) -> int | None:
        """The number of the next move in a game in turns; None if the game is over.

        Args:
            path: the moves so far.
        """
        if len(path) == len(self.moves) or any(outcome.path == path for outcome in self.outcomes):
            return None
        return len(path)

    def options(self, move: int, path: Choices = ()) -> tuple[Option, ...]:
        """The options, or amounts, of a move.

        Args:
            move: the number of the move.
            path: the earlier moves, in a game in turns.

        Raises:
            ParameterError: when the earlier moves leave no amount, or too many.
        """
        asked = self.moves[move]
        if asked.options:
            return asked.options
        assert asked.amounts is not None
        step, (low, high) = asked.amounts.step, self.ends(asked.amounts, path)
        steps = (high - low) / step + 1e-9
        if not 0 <= steps < MOST_OPTIONS:
            raise ParameterError(
                f"after the moves {[f'{choice:g}' for choice in path]} the next move is an amount "
                f"from {low:g} to {high:g} in steps of {step:g}: it must hold from 1 to "
                f"{MOST_OPTIONS} amounts."
            )
        amounts = [low + i * step for i in range(math.floor(steps) + 1)]
        return tuple(Option(f"{amount:.10g}", amount) for amount in amounts)

    def ends(self, amounts: Amounts, path: Choices = ()) -> tuple[float, float]:
        """The smallest and the largest amount of a move.

        Args:
            amounts: the amounts of the move.
            path: the earlier moves, in a game in turns.
        """
        low, high = (
            evaluate(end, self._values(path)) if isinstance(end, str) else end
            for end in (amounts.low, amounts.high)
        )
        return low, high

    def payoffs(self, path: Choices, values: Sequence[float] = ()) -> tuple[float, ...]:
        """The payoff of each player at the end of a course; the winners of a tied auction share.

        Args:
            path: all choices.
            values: the private values of an auction.
        """
        if self.auction:
            return tuple(self._auctioned(np.array([path]), np.array(values))[0].tolist())
        if self.outcomes:
            return next(outcome.payoffs for outcome in self.outcomes if outcome.path == path)
        return tuple(
            evaluate(formula, self._values(path, player))
            for player, formula in zip(range(self.n_players), self._formulas(), strict=True)
        )

    def winners(self, bids: Choices) -> list[int]:
        """The players with the highest bid of an auction.

        Args:
            bids: the bid of each player.
        """
        return [player for player, bid in enumerate(bids) if bid == max(bids)]

    def price(self, bids: Choices) -> float:
        """The price that the winner of an auction pays.

        Args:
            bids: the bid of each player.
        """
        return sorted(bids)[self._place_of_price()]

    def courses(self) -> Iterator[Choices]:
        """All courses of the game."""
        if self.together:
            values = [[o.value for o in self.options(k)] for k in range(self.n_players)]
            yield from product(*values)
            return
        open_paths: list[Choices] = [()]
        while open_paths:
            path = open_paths.pop()
            move = self.move_after(path)
            if move is None:
                yield path
            else:
                open_paths += [(*path, o.value) for o in reversed(self.options(move, path))]

    def table(self, values: Sequence[float] = ()) -> Floats:
        """The payoffs of a simultaneous game.

        Args:
            values: the private values of an auction.

        Returns:
            Array of shape (options of player 1, …, options of player n, n).
        """
        sizes = tuple(len(self.options(k)) for k in range(self.n_players))
        paths = np.array(list(self.courses()))
        if self.auction:
            paid = self._auctioned(paths, np.array(values))
        else:
            known = {outcome.path: outcome.payoffs for outcome in self.outcomes}
            rows = map(tuple, paths.tolist())
            paid = np.array([known[row] if known else self.payoffs(row) for row in rows])
        return paid.reshape((*sizes, self.n_players))

    def scaled(self, scale: float) -> GameForm:
        """The same game with scaled amounts of money.

        Args:
            scale: the factor of all amounts of money.
        """

        def times(amount: float) -> float:
            return round(amount * scale, 9)

        def of_move(move: Move) -> Move:
            amounts = move.amounts
            if amounts is None or not amounts.money:
                return move
            low, high = (e if isinstance(e, str) else times(e) for e in (amounts.low, amounts.high))
            return replace(
                move, amounts=replace(amounts, low=low, high=high, step=times(amounts.step))
            )

        sale = self.auction

        return replace(
            self,
            moves=tuple(map(of_move, self.moves)),
            outcomes=tuple(
                outcome._replace(payoffs=tuple(map(times, outcome.payoffs)))
                for outcome in self.outcomes
            ),
            figures=tuple(
                replace(figure, value=times(figure.value)) if figure.money else figure
                for figure in self.figures
            ),
            auction=sale and replace(sale, least=times(sale.least), largest=times(sale.largest)),
        )

    def _formulas(self) -> tuple[str, ...]:
        return self.formulas * self.n_players if len(self.formulas) == 1 else self.formulas

    def _values(self, path: Choices, player: int | None = None) -> dict[str, float]:
        """Name → value for formulas."""
        known = {figure.name: figure.value for figure in self.figures}
        if not self.together:
            known |= {move.name: value for move, value in zip(self.moves, path, strict=False)}
        elif player is not None:
            others = [*path[:player], *path[player + 1 :]]
            known |= {
                "own": path[player], "others": sum(others), "total": sum(path),
                "mean": sum(path) / len(path), "lowest": min(path), "highest": max(path),
                "others_lowest": min(others), "others_highest": max(others), "n": len(path),
            }  # fmt: skip
        return known

    def _place_of_price(self) -> int:
        """The index of the price among the bids in rising order."""
        assert self.auction is not None
        return -1 if self.auction.price == "first" else -2

    def _auctioned(self, bids: Floats, values: Floats) -> Floats:
        """The payoffs of auctions, shape (auctions, players)."""
        ranked = np.sort(bids, axis=1)
        price = ranked[:, self._place_of_price()]
        won = bids == ranked[:, -1:]
        paid: Floats = won * (values - price[:, None]) / won.sum(axis=1, keepdims=True)
        return paid


@lru_cache(maxsize=128)
def table_of(form: GameForm, values: tuple[float, ...] = ()) -> Floats:
    """`GameForm.table`, cached.

    Args:
        form: the game.
        values: the private values of an auction.
    """
    return form.table(values)


@dataclass(frozen=True, slots=True)
class PeopleResult:
    """A published result of people in a game.

    Attributes:
        move: the number of the move, from 0; in a simultaneous game, of all players or of one
            player.
        option: the option of the share; ``""`` for a mean amount.
        value: the share, or the mean amount in units of the file.
        shares: the share of each amount, in rising order; empty if unknown.
        of: a description of the people and the experiment.
        source: the publication.
    """

    move: int | None
    option: str
    value: float
    shares: tuple[float, ...]
    of: str
    source: str


@dataclass(frozen=True)
class Rules:
    """The contents of the file of a game.

    Attributes:
        title: the name of the game in words.
        source: its publication.
        form: the game, with the names of the file.
        options: for each move the names of its options; empty for amounts.
        move_names: the names of the moves.
        rounds: number of rounds.
        continuation: the probability of another round after each round; None if the end is known.
        talk: whether players talk before each round.
        people: published results of people.
        data: the recorded table of the file.
    """

    title: str
    source: str
    form: GameForm
    options: tuple[tuple[str, ...], ...]
    move_names: tuple[str, ...]
    rounds: int
    continuation: float | None
    talk: bool
    people: tuple[PeopleResult, ...]
    data: Mapping[str, Any]

    def name_of(self, move: int, value: float) -> str | float:
        """The name in the file of the option with a value; an amount is returned as is.

        Args:
            move: the number of the move.
            value: the value.
        """
        if not self.options[move]:
            return value
        values = [option.value for option in self.form.moves[move].options]
        return self.options[move][values.index(value)]

    def labelled(self, labels: Sequence[str]) -> GameForm:
        """The game with other option names.

        Args:
            labels: the new names, in the order of the options in the file; empty: the names in the
                file.

        Raises:
            ParameterError: when there are too few labels.
        """
        names = list(dict.fromkeys(name for options in self.options for name in options))
        if labels and len(labels) < len(names):
            raise ParameterError(
                f"there are {len(labels)} of these labels for the {len(names)} options of the "
                "game.", parameter="labels",
            )  # fmt: skip
        new = dict(zip(names, labels or names, strict=False))
        moves = tuple(
            replace(
                move,
                options=tuple(
                    replace(option, label=new[name])
                    for option, name in zip(move.options, known, strict=True)
                ),
            )
            for move, known in zip(self.form.moves, self.options, strict=True)
        )
        rule = "".join(
            text + ("" if name is None else new.get(name, f"{{{name}}}"))
            for text, name in parse(self.form.rule)
        )
        return replace(self.form, moves=moves, rule=rule)


def library() -> list[str]:
    """The names of the games in the library."""
    return sorted(path.stem for path in LIBRARY.glob("*.toml"))


@about("game")
def load_game(given: str | Mapping[str, Any]) -> Rules:
    """The rules of a game.

    Args:
        given: the name of a game of the package, a TOML file, ``novel:CLASS:SEED``, or what a
            file holds.

    Raises:
        ParameterError: for an unusable file; the message names the position.
        UnknownName: for an unknown name.
    """
    if isinstance(given, Mapping):
        return _Reading(given, "the game").rules()
    if not isinstance(given, str):
        raise ParameterError(f"a game is a name, a TOML file or a table, not {given!r}.")
    if given.startswith(NOVEL):
        return _Reading(novel_game(given.removeprefix(NOVEL)), given).rules()
    if given in library():
        path = LIBRARY / f"{given}.toml"
    elif given.endswith(".toml"):
        path = expand_home(given)
    else:
        raise UnknownName("game", given, library(), "Or FILE.toml, or novel:CLASS:SEED.")
    return _Reading(read_toml(path, "game", ParameterError), path.name).rules()


class _Reading:
    """Reads the table of a file; every error names its position.

    Args:
        data: the table.
        where: the name of the file.
    """

    def __init__(self, data: Mapping[str, Any], where: str) -> None:
        self.data, self.where = data, where
        self.names: list[tuple[str, ...]] = []
        self.move_names: list[str] = []

    def rules(self) -> Rules:
        """The rules.

        Raises:
            ParameterError: for a table that does not define a game.
        """
        if unknown := sorted(set(self.data) - _KEYS):
            raise self._bad(unknown[0], f"is not known; known: {', '.join(sorted(_KEYS))}.")
        n = self._whole("players", 2, 2, MOST_PLAYERS)
        figures = (*self._figures("money"), *self._figures("numbers"))
        if len({f.name for f in figures}) < len(figures):
            raise self._bad("numbers", "has a name of [money] again.")
        form = self._form(n, figures)
        continuation = self.data.get("continuation")
        if continuation is not None and not (_is_number(continuation) and 0 < continuation < 1):
            raise self._bad("continuation", "is a probability above 0 and below 1.")
        talk = self.data.get("talk", False)
        if not isinstance(talk, bool):
            raise self._bad("talk", "is true or false.")
        self._check(form)
        return Rules(
            title=self._text("title"),
            source=self._text("source", ""),
            form=form,
            options=tuple(self.names),
            move_names=tuple(self.move_names),
            rounds=self._whole("rounds", 100 if continuation else 1, 1, 1_000_000),
            continuation=None if continuation is None else float(continuation),
            talk=talk,
            people=tuple(self._people(form)),
            data=dict(self.data),
        )

    def _form(self, n: int, figures: tuple[Figure, ...]) -> GameForm:
        kinds = [key for key in ("options", "moves", "auction") if key in self.data]
        if len(kinds) != 1:
            raise self._bad(
                "options", "and moves and auction are the three kinds of games: give one of them."
            )
        if kinds == ["auction"]:
            return self._auction(n)
        self._forbid("values" if kinds == ["moves"] else "outcomes", kinds[0])
        moves = self._together(n) if kinds == ["options"] else self._in_turn(n, figures)
        others = {figure.name for figure in figures}
        if "moves" in self.data:
            others |= set(self.move_names)
        if twice := sorted(others & {name for options in self.names for name in options}):
            raise self._bad(
                kinds[0], f"names the option {twice[0]!r}, which is a number or a move too."
            )
        rule = self._rule(moves, figures)
        form = GameForm(n, kinds == ["options"], moves, figures=figures, rule=rule)
        if "outcomes" in self.data:
            self._forbid("payoffs", "outcomes")
            return replace(form, outcomes=self._outcomes(form))
        given = self.data.get("payoffs")
        if given is None:
            raise self._bad("payoffs", "is missing.")
        formulas = [given] if isinstance(given, str) else given
        if isinstance(formulas, list) and all(isinstance(formula, str) for formula in formulas):
            if not rule:
                raise self._bad("rule", "is missing: formulas of payoffs need the rules in words.")
            self._check_formulas(form, formulas)
            return replace(form, formulas=tuple(formulas), figures=(*figures, *self._values()))
        if not form.together:
            raise self._bad("payoffs", "is one formula a player; else give outcomes.")
        return replace(form, outcomes=tuple(self._nested(form, given)))

    # Moves.

    def _together(self, n: int) -> tuple[Move, ...]:
        given = self.data["options"]
        of_each = isinstance(given, list) and all(isinstance(entry, list | dict) for entry in given)
        if of_each and len(given) != n:
            raise self._bad("options", f"are those of {len(given)} players, and there are {n}.")
        self.move_names = ["choice"] * n
        values = self.data.get("values")
        return tuple(
            self._move(k, given[k] if of_each else given, f"options[{k}]" if of_each else "options",
                       values)
            for k in range(n)
        )  # fmt: skip

    def _in_turn(self, n: int, figures: tuple[Figure, ...]) -> tuple[Move, ...]:
        given, moves = self.data["moves"], []
        if not (isinstance(given, list) and given and all(isinstance(e, dict) for e in given)):
            raise self._bad("moves", "is a list of tables [[moves]].")
        if len(given) > MOST_MOVES:
            raise self._bad("moves", f"are {MOST_MOVES} at most.")
        for i, entry in enumerate(given):
            location = f"moves[{i}]"
            if unknown := sorted(set(entry) - {"player", "name", "options"}):
                raise self._bad(f"{location}.{unknown[0]}", "is not known.")
            player = entry.get("player")
            if isinstance(player, bool) or not isinstance(player, int) or not 1 <= player <= n:
                raise self._bad(f"{location}.player", f"is a whole number from 1 to {n}.")
            name = entry.get("name", f"move_{i + 1}")
            self._check_name(name, f"{location}.name")
            if name in self.move_names or name in {f.name for f in figures}:
                raise self._bad(f"{location}.name", f"{name!r} is there twice.")
            self.move_names.append(name)
            moves.append(
                self._move(player - 1, entry.get("options"), f"{location}.options", None, figures)
            )
        return tuple(moves)

    def _move(
        self, player: int, given: Any, location: str, values: Any, figures: tuple[Figure, ...] = ()
    ) -> Move:
        if isinstance(given, Mapping):
            return self._amounts(player, given, location, figures)
        if not (isinstance(given, list) and given and all(isinstance(e, str) for e in given)):
            raise self._bad(location, "is a list of names, or a table with from and to.")
        for i, name in enumerate(given):
            self._check_name(name, f"{location}[{i}]")
        if len(set(given)) < len(given) or len(given) > MOST_OPTIONS:
            raise self._bad(location, f"must name from 1 to {MOST_OPTIONS} different options.")
        numbers = list(range(len(given))) if values is None else values
        right = isinstance(numbers, list) and all(map(_is_number, numbers))
        if not right or len(set(numbers)) != len(given):
            raise self._bad("values", f"must be {len(given)} different numbers, one an option.")
        self.names.append(tuple(given))
        options = zip(given, numbers, strict=True)
        options_ = tuple(Option(name, float(number)) for name, number in options)
        return Move(self.move_names[player if "moves" not in self.data else -1], player, options_)

    def _amounts(
        self, player: int, given: Mapping[str, Any], location: str, figures: tuple[Figure, ...]
    ) -> Move:
        if unknown := sorted(set(given) - {"from", "to", "step", "money"}):
            raise self._bad(f"{location}.{unknown[0]}", "is not known.")
        known = {f.name for f in figures} | set(self.move_names[:-1])
        known = known if "moves" in self.data else set()
        low, high = (
            self._end(given.get(end), f"{location}.{end}", known) for end in ("from", "to")
        )
        step, money = given.get("step", 1), given.get("money", False)
        if not (_is_number(step) and step > 0):
            raise self._bad(f"{location}.step", "is a number above 0.")
        if not isinstance(money, bool):
            raise self._bad(f"{location}.money", "is true or false.")
        steps = (high - low) / step if isinstance(low, float) and isinstance(high, float) else 0
        if not 0 <= steps < MOST_OPTIONS:
            raise self._bad(location, f"must hold from 1 to {MOST_OPTIONS} amounts.")
        self.names.append(())
        name = self.move_names[player if "moves" not in self.data else -1]
        return Move(name, player, (), Amounts(low, high, float(step), money))

    def _end(self, given: Any, location: str, known: set[str]) -> float | str:
        if _is_number(given):
            return float(given)
        if not isinstance(given, str):
            raise self._bad(location, "is a number, or a formula of the moves before.")
        with self._at(location):
            check_formula(given, known)
            return given

    def _auction(self, n: int) -> GameForm:
        for key in ("values", "payoffs", "outcomes", "rule", "money", "numbers"):
            if key != "values":
                self._forbid(key, "auction")
        kind, values = self.data["auction"], self.data.get("values")
        if kind not in ("first", "second"):
            raise self._bad("auction", 'is "first" or "second", the price that is paid.')
        if not isinstance(values, Mapping) or set(values) - {"from", "to", "step"}:
            raise self._bad("values", "is a table with from and to, and a step.")
        table = {"from": 0, **values, "money": True}
        self.move_names = ["bid"] * n
        moves = tuple(self._move(k, table, "values", None) for k in range(n))
        amounts = moves[0].amounts
        assert amounts is not None
        if isinstance(amounts.low, str) or isinstance(amounts.high, str) or amounts.low < 0:
            raise self._bad("values", "are numbers of 0 or more.")
        moves = tuple(replace(move, amounts=replace(amounts, low=0.0)) for move in moves)
        return GameForm(n, True, moves, auction=Auction(kind, amounts.low, amounts.high))

    # Payoffs.

    def _nested(self, form: GameForm, given: Any) -> Iterator[Course]:
        choices = [form.options(k) for k in range(form.n_players)]
        if math.prod(map(len, choices)) > MOST_OUTCOMES:
            raise self._bad("payoffs", f"has more than {MOST_OUTCOMES} outcomes.")
        for profile in product(*(range(len(choice)) for choice in choices)):
            cell, location = given, "payoffs"
            for k, i in enumerate(profile):
                if not isinstance(cell, list) or len(cell) != len(choices[k]):
                    raise self._bad(
                        location,
                        f"must be a list of {len(choices[k])}, one an option of player {k + 1}.",
                    )
                cell, location = cell[i], f"{location}[{i}]"
            yield Course(
                tuple(names[i].value for names, i in zip(choices, profile, strict=True)),
                self._paid(cell, location, form.n_players),
            )

    def _outcomes(self, form: GameForm) -> tuple[Course, ...]:
        outcomes, given = [], self.data["outcomes"]
        if not (isinstance(given, list) and all(isinstance(entry, dict) for entry in given)):
            raise self._bad("outcomes", "is a list of tables with path and payoffs.")
        for i, entry in enumerate(given):
            location, path = f"outcomes[{i}]", entry.get("path")
            if set(entry) != {"path", "payoffs"} or not isinstance(path, list):
                raise self._bad(location, "is a table with path and payoffs.")
            if not 1 <= len(path) <= len(form.moves):
                raise self._bad(f"{location}.path", f"has from 1 to {len(form.moves)} choices.")
            values = []
            for k, choice in enumerate(path):
                named = dict(zip(self.names[k], form.moves[k].options, strict=True))
                if choice not in named:
                    raise self._bad(
                        f"{location}.path[{k}]", f"{choice!r} is no option of that move."
                    )
                values.append(named[choice].value)
            outcomes.append(
                Course(
                    tuple(values),
                    self._paid(entry["payoffs"], f"{location}.payoffs", form.n_players),
                )
            )
        return tuple(outcomes)

    def _paid(self, cell: Any, location: str, n: int) -> tuple[float, ...]:
        if not (isinstance(cell, list) and len(cell) == n and all(map(_is_number, cell))):
            raise self._bad(location, f"must be {n} numbers, one a player.")
        return tuple(map(float, cell))

    def _check_formulas(self, form: GameForm, formulas: list[str]) -> None:
        if len(formulas) not in (1, form.n_players):
            raise self._bad("payoffs", f"is one formula, or {form.n_players}, one a player.")
        if len(formulas) == 1 and not form.together:
            raise self._bad("payoffs", f"is {form.n_players} formulas, one a player.")
        known = {figure.name for figure in (*form.figures, *self._values())}
        known |= set(_OF_PROFILE if form.together else self.move_names)
        for i, formula in enumerate(formulas):
            with self._at(f"payoffs[{i}]"):
                check_formula(formula, known)

    def _values(self) -> list[Figure]:
        """The options with their numbers."""
        by_name: dict[str, float] = {}
        given = self.data.get("values")
        for options in self.names:
            numbers = range(len(options)) if not isinstance(given, list) else given
            for name, number in zip(options, numbers, strict=False):
                if by_name.setdefault(name, float(number)) != float(number):
                    raise self._bad("options", f"{name!r} stands at two places, so has two values.")
        return [Figure(name, value, money=False) for name, value in by_name.items()]

    # The rest.

    def _figures(self, key: str) -> tuple[Figure, ...]:
        given = self.data.get(key, {})
        if not isinstance(given, Mapping):
            raise self._bad(key, "is a table of numbers.")
        for name, value in given.items():
            self._check_name(name, f"{key}.{name}")
            if not _is_number(value):
                raise self._bad(f"{key}.{name}", "is a number.")
        return tuple(Figure(name, float(value), key == "money") for name, value in given.items())

    def _rule(self, moves: tuple[Move, ...], figures: tuple[Figure, ...]) -> str:
        rule = self._text("rule", "")
        known = {
            *_OF_RULE,
            *(f.name for f in figures),
            *(n for options in self.names for n in options),
        }
        if any(move.options for move in moves) or "moves" in self.data:
            known -= {"low", "high", "step"}
        with self._at("rule"):
            try:
                used = {name for _, name in parse(rule) if name is not None}
            except PromptError as problem:
                raise ParameterError(str(problem)) from None
            if unknown := sorted(used - known):
                raise ParameterError(
                    f"{{{unknown[0]}}} is not known; known: {', '.join(sorted(known))}."
                )
        return rule

    def _people(self, form: GameForm) -> Iterator[PeopleResult]:
        given = self.data.get("people", [])
        if not (isinstance(given, list) and all(isinstance(entry, dict) for entry in given)):
            raise self._bad("people", "is a list of tables [[people]].")
        known = {"player", "move", "option", "value", "shares", "of", "source"}
        for i, entry in enumerate(given):
            location = f"people[{i}]"
            if unknown := sorted(set(entry) - known):
                raise self._bad(f"{location}.{unknown[0]}", "is not known.")
            move, option = self._move_of_people(form, entry, location), entry.get("option", "")
            if option and option not in self.names[move or 0]:
                raise self._bad(f"{location}.option", f"{option!r} is no option.")
            shares = self._shares(form, move or 0, entry.get("shares", []), f"{location}.shares")
            value = entry.get("value")
            if shares and value is None:
                options = form.options(move or 0)
                value = sum(o.value * p for o, p in zip(options, shares, strict=True)) / sum(shares)
            if not _is_number(value):
                raise self._bad(f"{location}.value", "is a number.")
            of, source = str(entry.get("of", "people")), str(entry.get("source", ""))
            yield PeopleResult(move, option, float(value), shares, of, source)

    def _move_of_people(
        self, form: GameForm, entry: Mapping[str, Any], location: str
    ) -> int | None:
        if not form.together:
            if entry.get("move") not in self.move_names:
                raise self._bad(f"{location}.move", "names one of the moves.")
            return self.move_names.index(entry["move"])
        player = entry.get("player")
        if player is None:
            return None
        if isinstance(player, bool) or player not in range(1, form.n_players + 1):
            raise self._bad(f"{location}.player", f"is a whole number from 1 to {form.n_players}.")
        return int(player) - 1

    def _shares(self, form: GameForm, move: int, given: Any, location: str) -> tuple[float, ...]:
        if given == []:
            return ()
        amounts = form.moves[move].amounts
        n = len(form.options(move)) if amounts is not None and amounts.fixed else 0
        right = isinstance(given, list) and len(given) == n and all(map(_is_number, given))
        if not right or not abs(sum(given) - 1) < ROUNDING:
            raise self._bad(location, f"must be {n} shares, one an amount, with a sum of 1.")
        return tuple(map(float, given))

    def _check(self, form: GameForm) -> None:
        """Check that every course has payoffs, and that there are not too many."""
        if form.together:
            sizes = [len(form.options(k)) for k in range(form.n_players)]
            if math.prod(sizes) > MOST_OUTCOMES:
                raise self._bad(
                    "options", f"has {math.prod(sizes):,} outcomes, above {MOST_OUTCOMES:,}."
                )
        count, ends = 0, {outcome.path for outcome in form.outcomes}
        with self._at("outcomes" if form.outcomes else "payoffs"):
            if form.together and form.formulas:
                table_of(form)
                return
            for path in form.courses():
                count += 1
                if count > MOST_OUTCOMES:
                    raise ParameterError(f"there are more than {MOST_OUTCOMES:,} outcomes.")
                if ends and path not in ends:
                    names = [
                        self.names[k][int(value)] if self.names[k] else f"{value:g}"
                        for k, value in enumerate(path)
                    ]
                    raise ParameterError(f"the path {names} has no payoffs.")
                if form.formulas:
                    form.payoffs(path)
            if form.outcomes and count != len(form.outcomes):
                raise ParameterError("a path is there twice, or continues after an end.")

    def _text(self, key: str, default: str | None = None) -> str:
        text = self.data.get(key, default)
        if not isinstance(text, str) or (default is None and not text.strip()):
            raise self._bad(key, "is missing." if key not in self.data else "is a text.")
        return text.strip()

    def _whole(self, key: str, default: int, low: int, high: int) -> int:
        value = self.data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self._bad(key, f"is a whole number from {low} to {high:,}.")
        return value

    def _check_name(self, name: Any, location: str) -> None:
        taken = {*_OF_PROFILE, *_OF_RULE, "min", "max", "abs", "floor"}
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in taken:
            raise self._bad(
                location, f"{name!r} is no name: small letters, digits and _, and none of "
                f"{', '.join(sorted(taken))}.",
            )  # fmt: skip

    def _forbid(self, key: str, beside: str) -> None:
        if key in self.data:
            raise self._bad(key, f"cannot be used with {beside}.")

    def _bad(self, location: str, problem: str) -> ParameterError:
        return ParameterError(f"{self.where}: {location} {problem}", parameter="game")

    def _at(self, location: str) -> AbstractContextManager[None]:
        return _placed(f"{self.where}: {location}")


@contextmanager
def _placed(location: str) -> Iterator[None]:
    """Prefix the message of an error with its position."""
    try:
        yield
    except ParameterError as error:
        if str(error).startswith(location):
            raise
        raise ParameterError(f"{location}: {error}", parameter="game") from None


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and abs(value) <= 1e12
    )
