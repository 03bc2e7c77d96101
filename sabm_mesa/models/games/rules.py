"""The rules of a finite game, read from one TOML file.

`GameForm` is the part that players know: players, moves, options and payoffs. `Rules` adds the part
that they do not know: names, source, and results of people. Docs: ``docs/how-to/games.md``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from sabm_mesa.core.prompts import parse
from sabm_mesa.core.toml_io import expand_home, read_toml
from sabm_mesa.errors import ParameterError, PromptError, UnknownName, about, one_line
from sabm_mesa.models.games.formulas import FUNCTIONS, check_formula, evaluate
from sabm_mesa.models.games.theory import Course

Floats = npt.NDArray[np.float64]
Choices = tuple[float, ...]
"""The choices so far, in the order of the moves: values of options, or amounts."""
LIBRARY = Path(__file__).with_name("library")
MOST_PLAYERS, MOST_MOVES, MOST_OPTIONS, MOST_OUTCOMES = 8, 100, 1001, 100_000
"""Limits of a file; the last one limits the combinations of choices."""
ROUNDING = 0.03
"""Tolerance for the sum of published shares."""
_OF_PROFILE = (
    "own", "others", "total", "mean", "lowest", "highest", "others_lowest", "others_highest", "n",
)  # fmt: skip
"""Names in formulas of simultaneous games."""
_OF_RULE = ("n_players", "n_others", "low", "high", "step", "currency")
"""Placeholders of a rule, in addition to figures and options."""
_TAKEN = {*_OF_PROFILE, *_OF_RULE, *FUNCTIONS}


# What a file may say.


def _name(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in _TAKEN:
        raise ValueError(
            f"{name!r} is no name: small letters, digits and _, and none of "
            f"{', '.join(sorted(_TAKEN))}."
        )
    return name


def _different(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise ValueError("must name different options.")
    return names


def _kind(given: Any) -> str:
    """The form of an entry: a tag that no key of a file equals."""
    if isinstance(given, Mapping | BaseModel):
        return "a table"
    each = isinstance(given, list) and given and all(isinstance(e, list | dict) for e in given)
    return "of each player" if each else "names"


Name = Annotated[str, AfterValidator(_name)]
Amount = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]
Paid = list[Amount]


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Amounts(_Table):
    """A range of amounts.

    Attributes:
        low: the smallest amount, or a formula of the earlier moves.
        high: the largest amount, or a formula of the earlier moves.
        step: the distance between two amounts.
        money: whether they are money.
    """

    low: Amount | str = Field(alias="from")
    high: Amount | str = Field(alias="to")
    step: Annotated[Amount, Field(gt=0)] = 1.0
    money: bool = False

    @property
    def fixed(self) -> bool:
        """Whether both limits are known before the game."""
        return not isinstance(self.low, str) and not isinstance(self.high, str)

    @model_validator(mode="after")
    def _are_not_too_many(self) -> Self:
        if isinstance(self.low, str) or isinstance(self.high, str):
            return self
        if not 0 <= (self.high - self.low) / self.step < MOST_OPTIONS:
            raise ValueError(f"must hold from 1 to {MOST_OPTIONS} amounts.")
        return self


_Names = Annotated[
    list[Name], Field(min_length=1, max_length=MOST_OPTIONS), AfterValidator(_different)
]
_Options = Annotated[
    Annotated[_Names, Tag("names")] | Annotated[Amounts, Tag("a table")], Discriminator(_kind)
]


class _Move(_Table):
    player: int = Field(ge=1)
    name: Name | None = None
    options: _Options


class _Outcome(_Table):
    path: list[str] = Field(min_length=1)
    payoffs: Paid


class _People(_Table):
    player: Annotated[int, Field(ge=1)] | None = None
    move: str | None = None
    option: str = ""
    value: Amount | None = None
    shares: Paid = []
    of: str = "people"
    source: str = ""


class _File(_Table):
    title: str = Field(min_length=1)
    source: str = ""
    players: int = Field(2, ge=2, le=MOST_PLAYERS)
    options: Annotated[
        Annotated[_Names, Tag("names")]
        | Annotated[Amounts, Tag("a table")]
        | Annotated[list[_Options], Tag("of each player")],
        Discriminator(_kind),
    ] = []
    values: list[Amount] | None = None
    payoffs: str | list[Any] | None = None
    moves: list[_Move] = Field([], min_length=1, max_length=MOST_MOVES)
    outcomes: list[_Outcome] = []
    money: dict[Name, Amount] = {}
    numbers: dict[Name, Amount] = {}
    rule: str = ""
    rounds: int | None = Field(None, ge=1, le=1_000_000)
    continuation: float | None = Field(None, gt=0, lt=1)
    talk: bool = False
    people: list[_People] = []


# The game.


@dataclass(frozen=True, slots=True)
class Option:
    """One of the options of a move: its name in prompts, and its number in formulas and paths."""

    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Move:
    """One decision of one player (from 0): options, or amounts. Formulas use its name."""

    name: str
    player: int
    options: tuple[Option, ...] = ()
    amounts: Amounts | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A named number, for formulas and the rule."""

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
        outcomes: the payoffs of every course; empty for formulas.
        formulas: one payoff formula for all players, or one per player.
        figures: the named numbers, also the values of options that formulas name.
        rule: the rules in words, with figures in braces; required with formulas.
    """

    n_players: int
    together: bool
    moves: tuple[Move, ...]
    outcomes: tuple[Course, ...] = ()
    formulas: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    rule: str = field(default="", compare=False)

    def move_after(self, path: Choices) -> int | None:
        """The number of the next move in a game in turns; None if the game is over."""
        if len(path) == len(self.moves) or any(outcome.path == path for outcome in self.outcomes):
            return None
        return len(path)

    def options(self, move: int, path: Choices = ()) -> tuple[Option, ...]:
        """The options, or amounts, of a move.

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
        """The smallest and the largest amount of a move."""
        low, high = (
            evaluate(end, self._values(path)) if isinstance(end, str) else end
            for end in (amounts.low, amounts.high)
        )
        return low, high

    def payoffs(self, path: Choices) -> tuple[float, ...]:
        """The payoff of each player at the end of a course."""
        if self.outcomes:
            return next(outcome.payoffs for outcome in self.outcomes if outcome.path == path)
        formulas = self.formulas * (self.n_players // len(self.formulas))
        return tuple(
            evaluate(formula, self._values(path, player)) for player, formula in enumerate(formulas)
        )

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

    def table(self) -> Floats:
        """The payoffs of a simultaneous game, shape (options of player 1, …, of player n, n)."""
        sizes = tuple(len(self.options(k)) for k in range(self.n_players))
        known = {outcome.path: outcome.payoffs for outcome in self.outcomes}
        paid = np.array([known[path] if known else self.payoffs(path) for path in self.courses()])
        table: Floats = paid.reshape((*sizes, self.n_players))
        return table

    def scaled(self, scale: float) -> GameForm:
        """The same game with scaled amounts of money."""

        def times(amount: float) -> float:
            return round(amount * scale, 9)

        def of_move(move: Move) -> Move:
            amounts = move.amounts
            if amounts is None or not amounts.money:
                return move
            low, high = (e if isinstance(e, str) else times(e) for e in (amounts.low, amounts.high))
            scaled = {"low": low, "high": high, "step": times(amounts.step)}
            return replace(move, amounts=amounts.model_copy(update=scaled))

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
        )

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


@lru_cache(maxsize=128)
def table_of(form: GameForm) -> Floats:
    """`GameForm.table`, cached."""
    return form.table()


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
    rounds: int
    continuation: float | None
    talk: bool
    people: tuple[PeopleResult, ...]
    data: Mapping[str, Any]

    def name_of(self, move: int, value: float) -> str | float:
        """The name in the file of the option with a value; an amount is returned as is."""
        if not self.options[move]:
            return value
        values = [option.value for option in self.form.moves[move].options]
        return self.options[move][values.index(value)]

    def labelled(self, labels: Sequence[str]) -> GameForm:
        """The game with other option names.

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


# Reading.


@about("game")
def load_game(given: str | Mapping[str, Any]) -> Rules:
    """The rules of a game.

    Raises:
        ParameterError: for an unusable file; the message names the position.
        UnknownName: for an unknown name.
    """
    if isinstance(given, Mapping):
        return _read(given, "the game")
    if not isinstance(given, str):
        raise ParameterError(f"a game is a name, a TOML file or a table, not {given!r}.")
    if given in library():
        path = LIBRARY / f"{given}.toml"
    elif given.endswith(".toml"):
        path = expand_home(given)
    else:
        raise UnknownName("game", given, library(), "Or FILE.toml.")
    return _read(read_toml(path, "game", ParameterError), path.name)


def _read(data: Mapping[str, Any], where: str) -> Rules:
    """The rules in the table of a file; `where` is its name for errors."""
    try:
        return _Reading(_File.model_validate(dict(data))).rules(data)
    except ValidationError as error:
        problem = _problem(error.errors(include_url=False)[0], data)
    except ParameterError as error:
        problem = str(error)
    raise ParameterError(f"{where}: {problem}", parameter="game")


def _problem(error: ErrorDetails, data: Any) -> str:
    """The place of an error of pydantic in a file, and the problem."""
    place, known = "", f"; known: {', '.join(sorted(_File.model_fields))}"
    for part in error["loc"]:  # keys and positions, and tags of unions
        if isinstance(part, int):
            place, data = f"{place}[{part}]", data[part]
        elif isinstance(data, Mapping) and (part in data or error["type"] == "missing"):
            place, data = f"{place}.{part}".removeprefix("."), data.get(part, data)
    match error["type"]:
        case "missing":
            problem = "is missing."
        case "extra_forbidden":
            problem = f"is not known{known if len(error['loc']) == 1 else ''}."
        case "value_error":
            problem = str(error["ctx"]["error"])
        case _:
            said = error["msg"].removeprefix("Input ")
            problem = f"{said[0].lower()}{said[1:]} (got {one_line(repr(error['input']))[:60]})."
    return f"{place} {problem}"


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Prefix the message of an error with its place."""
    try:
        yield
    except (ParameterError, PromptError) as error:
        raise ParameterError(f"{place}: {error}") from None


class _Reading:
    """Makes the rules of a file; an error names its place."""

    def __init__(self, file: _File) -> None:
        self.file, self.n, self.given = file, file.players, file.model_fields_set
        self.names: list[tuple[str, ...]] = []
        self.figures = [Figure(name, value, money=True) for name, value in file.money.items()]
        self.figures += [Figure(name, value, money=False) for name, value in file.numbers.items()]

    def rules(self, data: Mapping[str, Any]) -> Rules:
        """The rules; `data` is the table of the file."""
        file = self.file
        form = self._form()
        self._check(form)
        return Rules(
            title=file.title.strip(),
            source=file.source.strip(),
            form=form,
            options=tuple(self.names),
            rounds=file.rounds or (100 if file.continuation else 1),
            continuation=file.continuation,
            talk=file.talk,
            people=tuple(self._people(form)),
            data=dict(data),
        )

    def _form(self) -> GameForm:
        file, kinds = self.file, sorted(self.given & {"options", "moves"})
        if len(kinds) != 1:
            raise ParameterError("options and moves are the two kinds of games: give one of them.")
        if set(file.money) & set(file.numbers):
            raise ParameterError("numbers has a name of [money] again.")
        (kind,) = kinds
        self._forbid(_UNUSED[kind], kind)
        moves = tuple(self._together() if kind == "options" else self._in_turn())
        others = {figure.name for figure in self.figures}
        others |= {move.name for move in moves if kind == "moves"}
        if twice := sorted(others & {name for options in self.names for name in options}):
            raise ParameterError(
                f"{kind} names the option {twice[0]!r}, which is a number or a move too."
            )
        form = GameForm(
            self.n, kind == "options", moves, figures=tuple(self.figures), rule=self._rule(moves)
        )
        if "outcomes" in self.given:
            self._forbid({"payoffs"}, "outcomes")
            return replace(form, outcomes=tuple(self._outcomes(form)))
        if file.payoffs is None:
            raise ParameterError("payoffs is missing.")
        formulas = [file.payoffs] if isinstance(file.payoffs, str) else file.payoffs
        if all(isinstance(formula, str) for formula in formulas):
            return self._with_formulas(form, formulas)
        if not form.together:
            raise ParameterError("payoffs is one formula a player; else give outcomes.")
        self._check_size(form, "payoffs")
        return replace(form, outcomes=tuple(self._nested(form, file.payoffs, "payoffs", ())))

    # Moves.

    def _together(self) -> Iterator[Move]:
        given = self.file.options
        of_each = isinstance(given, list) and not isinstance(given[0], str)
        each: Sequence[Any] = given if of_each else [given] * self.n  # type: ignore[assignment]
        if len(each) != self.n:
            raise ParameterError(
                f"options are those of {len(each)} players, and there are {self.n}."
            )
        for k, options in enumerate(each):
            place = f"options[{k}]" if of_each else "options"
            yield self._move("choice", k, options, place, set(), self.file.values)

    def _in_turn(self) -> Iterator[Move]:
        known = {figure.name for figure in self.figures}
        for i, entry in enumerate(self.file.moves):
            name, place = entry.name or f"move_{i + 1}", f"moves[{i}]"
            if entry.player > self.n:
                raise ParameterError(f"{place}.player is a whole number from 1 to {self.n}.")
            if name in known:
                raise ParameterError(f"{place}.name {name!r} is there twice.")
            yield self._move(name, entry.player - 1, entry.options, f"{place}.options", known)
            known.add(name)

    def _move(
        self, name: str, player: int, options: Any, place: str, known: set[str], values: Any = None
    ) -> Move:
        if isinstance(options, Amounts):
            self.names.append(())
            for end, given in (("from", options.low), ("to", options.high)):
                if isinstance(given, str):
                    with _at(f"{place}.{end}"):
                        check_formula(given, known)
            return Move(name, player, amounts=options)
        numbers = range(len(options)) if values is None else values
        if len(set(numbers)) != len(options):
            raise ParameterError(f"values must be {len(options)} different numbers, one an option.")
        self.names.append(tuple(options))
        pairs = zip(options, numbers, strict=True)
        return Move(name, player, tuple(Option(label, float(value)) for label, value in pairs))

    # Payoffs.

    def _nested(self, form: GameForm, cell: Any, place: str, path: Choices) -> Iterator[Course]:
        """The outcomes in nested lists, from the option of the next player on."""
        if len(path) == self.n:
            yield Course(path, self._paid(cell, place))
            return
        options = form.options(len(path))
        if not isinstance(cell, list) or len(cell) != len(options):
            raise ParameterError(
                f"{place} must be a list of {len(options)}, one an option of player "
                f"{len(path) + 1}."
            )
        for i, (inner, option) in enumerate(zip(cell, options, strict=True)):
            yield from self._nested(form, inner, f"{place}[{i}]", (*path, option.value))

    def _outcomes(self, form: GameForm) -> Iterator[Course]:
        for i, outcome in enumerate(self.file.outcomes):
            if len(outcome.path) > len(form.moves):
                raise ParameterError(f"outcomes[{i}].path has from 1 to {len(form.moves)} choices.")
            for k, choice in enumerate(outcome.path):
                if choice not in self.names[k]:
                    raise ParameterError(
                        f"outcomes[{i}].path[{k}] {choice!r} is no option of that move."
                    )
            path = [
                form.moves[k].options[self.names[k].index(choice)].value
                for k, choice in enumerate(outcome.path)
            ]
            yield Course(tuple(path), self._paid(outcome.payoffs, f"outcomes[{i}].payoffs"))

    def _paid(self, cell: Any, place: str) -> tuple[float, ...]:
        try:
            paid = _PAID.validate_python(cell, strict=True)
        except ValidationError:
            paid = []
        if len(paid) != self.n:
            raise ParameterError(f"{place} must be {self.n} numbers, one a player.")
        return tuple(paid)

    def _with_formulas(self, form: GameForm, formulas: list[str]) -> GameForm:
        if not form.rule:
            raise ParameterError("rule is missing: formulas of payoffs need the rules in words.")
        if form.together and len(formulas) not in (1, self.n):
            raise ParameterError(f"payoffs is one formula, or {self.n}, one a player.")
        if not form.together and len(formulas) != self.n:
            raise ParameterError(f"payoffs is {self.n} formulas, one a player.")
        values: dict[str, float] = {}
        for move, names in zip(form.moves, self.names, strict=True):
            for name, option in zip(names, move.options, strict=True):
                if values.setdefault(name, option.value) != option.value:
                    raise ParameterError(
                        f"options {name!r} stands at two places, so has two values."
                    )
        options = [Figure(name, value, money=False) for name, value in values.items()]
        form = replace(form, formulas=tuple(formulas), figures=(*form.figures, *options))
        known = {figure.name for figure in form.figures}
        known |= set(_OF_PROFILE) if form.together else {move.name for move in form.moves}
        for i, formula in enumerate(formulas):
            with _at(f"payoffs[{i}]"):
                check_formula(formula, known)
        return form

    # The rest.

    def _rule(self, moves: Sequence[Move]) -> str:
        rule = self.file.rule.strip()
        known = {*_OF_RULE, *(figure.name for figure in self.figures)}
        known |= {name for options in self.names for name in options}
        if any(move.options for move in moves) or "moves" in self.given:
            known -= {"low", "high", "step"}
        with _at("rule"):
            used = {name for _, name in parse(rule) if name is not None}
            if unknown := sorted(used - known):
                raise ParameterError(
                    f"{{{unknown[0]}}} is not known; known: {', '.join(sorted(known))}."
                )
        return rule

    def _people(self, form: GameForm) -> Iterator[PeopleResult]:
        moves = [move.name for move in form.moves]
        for i, entry in enumerate(self.file.people):
            place = f"people[{i}]"
            if not form.together and entry.move not in moves:
                raise ParameterError(f"{place}.move names one of the moves.")
            if entry.player is not None and entry.player > self.n:
                raise ParameterError(f"{place}.player is a whole number from 1 to {self.n}.")
            of_player = None if entry.player is None else entry.player - 1
            move = of_player if form.together else moves.index(str(entry.move))
            if entry.option and entry.option not in self.names[move or 0]:
                raise ParameterError(f"{place}.option {entry.option!r} is no option.")
            value, shares = entry.value, tuple(entry.shares)
            if shares:
                amounts = form.moves[move or 0].amounts
                options = form.options(move or 0) if amounts is not None and amounts.fixed else ()
                if len(shares) != len(options) or not abs(sum(shares) - 1) < ROUNDING:
                    raise ParameterError(
                        f"{place}.shares must be {len(options)} shares, one an amount, with a sum "
                        "of 1."
                    )
                if value is None:
                    products = (o.value * p for o, p in zip(options, shares, strict=True))
                    value = sum(products) / sum(shares)
            if value is None:
                raise ParameterError(f"{place}.value is missing.")
            yield PeopleResult(move, entry.option, value, shares, entry.of, entry.source)

    def _check(self, form: GameForm) -> None:
        """Check that every course has payoffs, and that there are not too many."""
        if form.together:
            self._check_size(form, "options")
        count, ends = 0, {outcome.path for outcome in form.outcomes}
        with _at("outcomes" if form.outcomes else "payoffs"):
            if form.together and form.formulas:
                table_of(form)
                return
            for path in form.courses():
                count += 1
                if count > MOST_OUTCOMES:
                    raise ParameterError(f"there are more than {MOST_OUTCOMES:,} outcomes.")
                if ends and path not in ends:
                    names = [
                        names[int(value)] if names else f"{value:g}"
                        for names, value in zip(self.names, path, strict=False)
                    ]
                    raise ParameterError(f"the path {names} has no payoffs.")
                if form.formulas:
                    form.payoffs(path)
            if form.outcomes and count != len(form.outcomes):
                raise ParameterError("a path is there twice, or continues after an end.")

    def _check_size(self, form: GameForm, key: str) -> None:
        size = math.prod(len(form.options(k)) for k in range(self.n))
        if size > MOST_OUTCOMES:
            raise ParameterError(f"{key} has {size:,} outcomes, above {MOST_OUTCOMES:,}.")

    def _forbid(self, keys: set[str], beside: str) -> None:
        if wrong := sorted(self.given & keys):
            raise ParameterError(f"{wrong[0]} cannot be used with {beside}.")


_PAID = TypeAdapter(Paid)
_UNUSED = {"options": {"outcomes"}, "moves": {"values"}}
"""Kind of game → the entries that it has no use for."""
