"""Behavioural models: how likely each recorded decision is under a theory of behaviour.

A scenario says in a module ``behaviour.py`` (class attribute `SmartModel.behaviour`) which models
apply to its decisions, and what a player knew before each of them: a `Behaviour`. The same facts
come from a recording (`Behaviour.rows`) and from a question to a mind (`Behaviour.known`), so that
a model that is fitted to a recording also decides in new runs (``--minds fitted:FILE``).

All decisions of many players are one `Panel`: flat arrays, one row a decision, sorted by player and
then by time. A model computes with whole arrays, so that an estimate needs no loop over players.

To add a model: a subclass of `BehaviouralModel` (finite options: of `ChoiceModel`; several types of
players: of `TypesModel`, or an instance of `Mixture`), and its name in the `Behaviour` of each
scenario that it describes. Estimation, intervals, selection and the command ``sabm fit`` need no
change.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from sabm_mesa.errors import UsageError, format_user_error

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_P = ParamSpec("_P")
_T = TypeVar("_T")
LEAST = math.log(1e-12)
"""The log-likelihood of a decision that a model excludes, so that one lapse rules no model out."""
FINEST = 101
"""Real numbers within limits count as this many different decisions where decisions are counted."""


# The data.


@dataclass(frozen=True)
class PlayedRun:
    """A recorded run as its behaviour is studied.

    Attributes:
        run: its number in the recording.
        scenario: the name of the scenario.
        seed: the seed, as JSON.
        condition: the condition.
        parameters: the parameters with which it began.
        decisions: one row a decision, as `Recorded.decisions` gives it.
        agents: one row an agent and round, as ``agents.csv``.
        rounds: one row a round, as ``model.csv``.
        messages: one row a message, as `Recorded.messages` gives it.
        finished: whether it was played to its end.
    """

    run: int
    scenario: str
    seed: str
    condition: str
    parameters: Mapping[str, Any]
    decisions: pd.DataFrame
    agents: pd.DataFrame
    rounds: pd.DataFrame
    messages: pd.DataFrame
    finished: bool


@dataclass(frozen=True)
class Decider:
    """One agent of one run.

    Attributes:
        run: the number of the run.
        agent: its id.
        mind: the spec of its mind.
        condition: the condition of the run.
    """

    run: int
    agent: int
    mind: str
    condition: str = "baseline"


@dataclass(frozen=True)
class Row:
    """One decision.

    Attributes:
        player: the player.
        time: the round.
        decision: a number, or the index of the option; None when the answer was invalid.
        known: name → what the player knew, as an array or a number. Of the same shape in all rows,
            but for sizes: shorter arrays are filled up with NaN. Everything that a model needs of
            earlier rounds is here (rows of invalid answers are left out), such as the last
            decisions of others.
    """

    player: Decider
    time: int
    decision: float | None
    known: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Panel:
    """Decisions of several players.

    Attributes:
        players: the players.
        player: shape (n,): the index of the player of each row, never falling.
        time: shape (n,): the round, rising for each player.
        decisions: shape (n,): a number, or the index of the option.
        known: name → array of shape (n, …): what the player knew before the decision.
        invalid: decisions that are left out, since the answer was invalid.
    """

    players: tuple[Decider, ...]
    player: Ints
    time: Ints
    decisions: Floats
    known: Mapping[str, Floats]
    invalid: int = 0

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Panel:
        """Make a panel of rows in any order; it has the facts that all of them have.

        Args:
            rows: the decisions.

        Raises:
            UsageError: when an array has another number of axes in some rows.
        """
        given = list(rows)
        valid = [row for row in given if row.decision is not None]
        different = {row.player for row in valid}
        players = tuple(sorted(different, key=lambda player: (player.run, player.agent)))
        index = {player: i for i, player in enumerate(players)}
        valid.sort(key=lambda row: (index[row.player], row.time))
        first = valid[0].known if valid else {}
        names = [name for name in first if all(name in row.known for row in valid)]
        return cls(
            players,
            np.array([index[row.player] for row in valid], dtype=np.int64),
            np.array([row.time for row in valid], dtype=np.int64),
            np.array([row.decision for row in valid], dtype=np.float64),
            {name: _stacked(name, [row.known[name] for row in valid]) for name in names},
            len(given) - len(valid),
        )

    def __len__(self) -> int:
        return len(self.decisions)

    @cached_property
    def position(self) -> Ints:
        """Shape (n,): the number of a row among those of its player, from 0."""
        first = np.searchsorted(self.player, np.arange(len(self.players)))
        return np.arange(len(self)) - first[self.player]

    def totals(self, values: Floats) -> Floats:
        """The sums over the rows of each player.

        Args:
            values: shape (…, n).

        Returns:
            Shape (…, players).
        """
        first = np.searchsorted(self.player, np.arange(len(self.players)))
        return np.add.reduceat(values, first, axis=-1)

    def before(self, values: Floats) -> Floats:
        """For each row the sum over the earlier rows of its player.

        Args:
            values: shape (…, n).

        Returns:
            Shape (…, n).
        """
        up_to = np.cumsum(values, axis=-1) - values
        first = np.searchsorted(self.player, np.arange(len(self.players)))
        sums: Floats = up_to - up_to[..., first][..., self.player]
        return sums

    def padded(self, values: npt.NDArray[Any], fill: float = math.nan) -> npt.NDArray[Any]:
        """The values of each player in a row of its own, for models that go through time.

        Args:
            values: shape (n, …).
            fill: the value after the last decision of a player.

        Returns:
            Shape (players, longest, …); ``padded[panel.player, panel.position]`` gives the rows
            back.
        """
        longest = int(self.position.max()) + 1 if len(self) else 0
        padded = np.full((len(self.players), longest, *values.shape[1:]), fill, dtype=values.dtype)
        padded[self.player, self.position] = values
        return padded

    def distinct(self, *names: str) -> tuple[list[dict[str, Floats]], Ints]:
        """The different values of some known facts, for what is computed once for each of them.

        Args:
            names: the names of the facts.

        Returns:
            The different ones, and for each row the index of its own.
        """
        key = tuple(names)
        if key not in self._found:
            flat = [self.known[name].reshape(len(self), -1) for name in names]
            joined = np.nan_to_num(np.concatenate(flat, axis=1), nan=math.inf)
            _, first, index = np.unique(joined, axis=0, return_index=True, return_inverse=True)
            facts = [{name: self.known[name][i] for name in names} for i in first]
            self._found[key] = facts, np.asarray(index, dtype=np.int64).reshape(-1)
        return self._found[key]

    @cached_property
    def _found(self) -> dict[tuple[str, ...], tuple[list[dict[str, Floats]], Ints]]:
        return {}

    def of_players(self, wanted: Callable[[Decider], bool]) -> Panel:
        """The decisions of some of the players.

        Args:
            wanted: whether a player is among them.
        """
        chosen = np.array([wanted(player) for player in self.players], dtype=bool)
        return self.of_rows(chosen[self.player] if len(self) else np.zeros(0, dtype=bool))

    def of_rows(self, chosen: npt.NDArray[np.bool_]) -> Panel:
        """Some of the decisions.

        Args:
            chosen: shape (n,).
        """
        kept, player = np.unique(self.player[chosen], return_inverse=True)
        return Panel(
            tuple(self.players[i] for i in kept),
            np.asarray(player, dtype=np.int64),
            self.time[chosen],
            self.decisions[chosen],
            {name: values[chosen] for name, values in self.known.items()},
        )

    def with_decisions(self, decisions: Floats) -> Panel:
        """The same players with other decisions.

        Args:
            decisions: shape (n,).
        """
        panel = replace(self, decisions=decisions)
        panel.__dict__["_found"] = self._found  # it depends on the facts alone
        return panel


def once_a_panel(
    compute: Callable[Concatenate[Panel, _P], _T],
) -> Callable[Concatenate[Panel, _P], _T]:
    """Compute a function of a panel and of hashable arguments once, as long as the panel is there.

    Args:
        compute: the function; it depends on no parameter that is estimated.
    """
    results: WeakKeyDictionary[Panel, dict[Any, _T]] = WeakKeyDictionary()

    @wraps(compute)
    def computed(panel: Panel, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        of_panel, key = results.setdefault(panel, {}), (args, tuple(kwargs.items()))
        if key not in of_panel:
            of_panel[key] = compute(panel, *args, **kwargs)
        return of_panel[key]

    return computed  # type: ignore[return-value]  # the panel is always given by its place


def _stacked(name: str, values: Sequence[Any]) -> Floats:
    """One array of all rows; shorter ones are filled up with NaN."""
    arrays = [np.asarray(value, dtype=np.float64) for value in values]
    if len({array.ndim for array in arrays}) > 1:
        raise UsageError(
            f"The runs differ in the axes of {name}, such as games of two and of three players: "
            "fit them apart."
        )
    shapes = {array.shape for array in arrays}
    if len(shapes) == 1:
        return np.array(arrays)
    largest = np.max(list(shapes), axis=0)
    stack = np.full((len(arrays), *largest), math.nan)
    for i, array in enumerate(arrays):
        inside: Any = tuple(slice(size) for size in array.shape)
        stack[i][inside] = array
    return stack


# The models.


@dataclass(frozen=True)
class FreeParameter:
    """A parameter of a behavioural model.

    Attributes:
        name: its name, such as ``"lambda"``.
        label: a description in a few words.
        low: the smallest value that is tried.
        high: the largest value that is tried.
        unit: its unit; ``""`` for a pure number.
        log: whether starts are spread over its logarithm (`low` is then positive).
        step: the distance of the values that are tried, where the likelihood jumps; 0: any value
            between the limits.
    """

    name: str
    label: str
    low: float
    high: float
    unit: str = ""
    log: bool = False
    step: float = 0.0

    def share(self, value: float) -> float:
        """The place of a value between the limits, from 0 to 1; by its logarithm where `log`.

        Args:
            value: the value.
        """
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)

    def at(self, share: float) -> float:
        """The value at a place between the limits: the inverse of `share`.

        Args:
            share: the place, from 0 to 1.
        """
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + (self.high - self.low) * share


class BehaviouralModel(ABC):
    """A theory of behaviour with parameters.

    A vector of parameters has shape (number of parameters,), in the order of `parameters`.

    Attributes:
        name: its name on the command line and in files, such as ``"level_k"``.
        title: its name in words.
        source: the publication.
        parameters: its parameters.
        needs: the names of the facts (`Panel.known`) that it reads; a scenario whose rows lack one
            cannot use it.
    """

    name: str
    title: str
    source: str
    parameters: tuple[FreeParameter, ...]
    needs: tuple[str, ...] = ()

    @abstractmethod
    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihood of each decision, given what was known and the player's earlier ones.

        Args:
            parameters: the vector of parameters.
            panel: the decisions.

        Returns:
            Shape (n,), at least `LEAST`. The sum over the rows of a player is the log-likelihood of
            the player, so that held-out players and runs are scored alike.
        """

    @abstractmethod
    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a decision instead of each row, given the player's earlier ones.

        Args:
            parameters: the vector of parameters.
            panel: the decisions; the one of a row itself makes no difference to its draw.
            rng: the generator to draw from.

        Returns:
            Shape (n,).
        """

    def draws(
        self, parameters: Floats, panel: Panel, rng: np.random.Generator, n: int
    ) -> Floats:  # fmt: skip
        """Draw several decisions instead of each row, as `draw` does.

        Args:
            parameters: the vector of parameters.
            panel: the decisions.
            rng: the generator to draw from.
            n: the number of draws.

        Returns:
            Shape (draws, n).
        """
        return np.array([self.draw(parameters, panel, rng) for _ in range(n)])

    def simulate(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Panel:
        """Draw all decisions anew, each given the ones drawn before; others decide as recorded.

        Args:
            parameters: the vector of parameters.
            panel: the players, and what they knew.
            rng: the generator to draw from.
        """
        decisions = panel.decisions.copy()
        for position in range(int(panel.position.max()) + 1 if len(panel) else 0):
            drawn = self.draw(parameters, panel.with_decisions(decisions), rng)
            now = panel.position == position
            decisions[now] = drawn[now]
        return panel.with_decisions(decisions)

    def check(self, parameters: Mapping[str, float]) -> Floats:
        """The vector of parameters from their names.

        Args:
            parameters: name → value.

        Raises:
            UsageError: when one is missing, not known, no number, or outside its limits.
        """
        names = [parameter.name for parameter in self.parameters]
        if set(parameters) != set(names):
            raise UsageError(
                f"The model {self.name} has the parameters {', '.join(names)}, not "
                f"{', '.join(parameters) or 'none'}."
            )
        for parameter in self.parameters:
            value = parameters[parameter.name]
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise UsageError(
                    f"{parameter.name} of {self.name} has to be a number, not {value!r}."
                )
            if not parameter.low <= value <= parameter.high:
                raise UsageError(
                    f"{parameter.name} of {self.name} has to be from {parameter.low:g} "
                    f"to {parameter.high:g}, not {value:g}."
                )
        return np.array([parameters[name] for name in names], dtype=np.float64)


class ChoiceModel(BehaviouralModel):
    """A model of choices between finitely many options: a decision is the index of one of them."""

    @abstractmethod
    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """The probability of each option before each decision.

        Args:
            parameters: the vector of parameters.
            panel: the decisions; those before a row may be used for it.

        Returns:
            Shape (n, options); 0 for options that a row does not have.
        """

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The logarithm of the probability of the chosen option."""
        shares = self.probabilities(parameters, panel)
        chosen = shares[np.arange(len(panel)), panel.decisions.astype(np.int64)]
        return floored(chosen)

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw an option; one number is drawn for each row."""
        return drawn_options(self.probabilities(parameters, panel), rng)

    def draws(
        self, parameters: Floats, panel: Panel, rng: np.random.Generator, n: int
    ) -> Floats:  # fmt: skip
        """Draw several options; the probabilities are computed once."""
        shares = self.probabilities(parameters, panel)
        return np.array([drawn_options(shares, rng) for _ in range(n)])


class Chance(BehaviouralModel):
    """A player by chance: each legal decision is equally likely. The zero of all comparisons."""

    name, title, source = "uniform", "each legal decision equally likely", "chance"
    parameters = ()

    @abstractmethod
    def count(self, panel: Panel) -> Floats:
        """The number of legal decisions, or the length of their range where they are real numbers.

        Args:
            panel: the decisions.

        Returns:
            Shape (n,).
        """

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The same for each legal decision."""
        del parameters
        log_likelihood: Floats = -np.log(self.count(panel))
        return log_likelihood

    def uncertainty(self, panel: Panel) -> Floats:
        """The log-likelihood that a model could gain: the logarithm of the number of decisions.

        Real numbers count as `FINEST` ones.

        Args:
            panel: the decisions.

        Returns:
            Shape (n,).
        """
        uncertainty: Floats = np.log(self.count(panel))
        return uncertainty


class ChanceOfOptions(Chance, ChoiceModel):
    """A choice by chance among the options of a row."""

    needs = ("own",)

    def count(self, panel: Panel) -> Floats:
        """The number of options."""
        n_options: Floats = (~np.isnan(panel.known["own"])).sum(axis=1).astype(np.float64)
        return n_options

    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """The same for each option that a row has."""
        del parameters
        legal = ~np.isnan(panel.known["own"])
        probabilities: Floats = legal / legal.sum(axis=1, keepdims=True)
        return probabilities


class TypesModel(BehaviouralModel):
    """Players of several types: each player has one type, which stays, and is not observed."""

    @abstractmethod
    def shares(self, parameters: Floats) -> Floats:
        """The share of each type.

        Args:
            parameters: the vector of parameters.

        Returns:
            Shape (types,), with sum 1.
        """

    @abstractmethod
    def by_type(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihood of each decision if its player is of each type.

        Args:
            parameters: the vector of parameters.
            panel: the decisions.

        Returns:
            Shape (types, n).
        """

    @abstractmethod
    def draw_type(
        self, kind: int, parameters: Floats, panel: Panel, rng: np.random.Generator
    ) -> Floats:
        """Draw a decision instead of each row, for players of one type.

        Args:
            kind: the number of the type, from 0.
            parameters: the vector of parameters.
            panel: the decisions.
            rng: the generator to draw from.
        """

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The logarithm of the mean over types, given what earlier decisions say of the type."""
        by_type = self.by_type(parameters, panel)
        before = panel.before(by_type) + _logs(self.shares(parameters))[:, None]
        log_likelihood: Floats = _log_sum(before + by_type) - _log_sum(before)
        return np.maximum(log_likelihood, LEAST)

    def posterior(self, parameters: Floats, panel: Panel) -> Floats:
        """The probability that each player is of each type, given all its decisions.

        Returns:
            Shape (players, types).
        """
        joint = panel.totals(self.by_type(parameters, panel))
        joint = joint + _logs(self.shares(parameters))[:, None]
        shares: Floats = np.exp(joint - _log_sum(joint)).T
        return shares

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a type, given the earlier decisions of the player, and then a decision of it."""
        decisions: Floats = self.draws(parameters, panel, rng, 1)[0]
        return decisions

    def draws(
        self, parameters: Floats, panel: Panel, rng: np.random.Generator, n: int
    ) -> Floats:  # fmt: skip
        """Draw several decisions; what earlier ones say of the type is computed once."""
        before = panel.before(self.by_type(parameters, panel))
        before = before + _logs(self.shares(parameters))[:, None]
        likely = np.exp(before - _log_sum(before)).T
        drawn = np.empty((n, len(panel)))
        for row in drawn:
            kinds = drawn_options(likely, rng).astype(np.int64)
            for kind in range(len(before)):
                row[:] = np.where(kinds == kind, self.draw_type(kind, parameters, panel, rng), row)
        return drawn

    def simulate(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Panel:
        """Draw the type of each player, and then all its decisions, each given the earlier ones."""
        shares = np.broadcast_to(
            self.shares(parameters), (len(panel.players), len(self.shares(parameters)))
        )
        kinds = drawn_options(shares, rng)[panel.player].astype(np.int64)
        decisions = panel.decisions.copy()
        for position in range(int(panel.position.max()) + 1 if len(panel) else 0):
            now = panel.position == position
            given = panel.with_decisions(decisions)
            for kind in np.unique(kinds[now]).tolist():
                of_kind = now & (kinds == kind)
                decisions[of_kind] = self.draw_type(kind, parameters, given, rng)[of_kind]
        return panel.with_decisions(decisions)


class Mixture(TypesModel):
    """Types with free shares. Parameters of types with the same name are one parameter.

    Its parameters are ``share_TYPE`` for each type, and then those of the types.

    Args:
        name: see `BehaviouralModel`.
        title: see `BehaviouralModel`.
        source: see `BehaviouralModel`.
        types: name of the type → its model.
    """

    def __init__(
        self, name: str, title: str, source: str, types: Mapping[str, BehaviouralModel]
    ) -> None:
        self.name, self.title, self.source = name, title, source
        self.types = dict(types)
        free: dict[str, FreeParameter] = {}
        for model in self.types.values():
            free |= {parameter.name: parameter for parameter in model.parameters}
        self.n_types = len(self.types)
        self.parameters = (
            *(FreeParameter(f"share_{kind}", f"share of {kind}", 0.0, 1.0) for kind in self.types),
            *free.values(),
        )
        self.needs = tuple(dict.fromkeys(n for model in self.types.values() for n in model.needs))
        places = {parameter.name: i for i, parameter in enumerate(self.parameters)}
        self._places = [
            [places[parameter.name] for parameter in model.parameters]
            for model in self.types.values()
        ]

    def shares(self, parameters: Floats) -> Floats:
        """The first parameters, over their sum."""
        given = parameters[: self.n_types]
        shares: Floats = given / given.sum()
        return shares

    def by_type(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihoods of the models of the types."""
        models = zip(self.types.values(), self._places, strict=True)
        return np.array([model.log_likelihood(parameters[at], panel) for model, at in models])

    def draw_type(
        self, kind: int, parameters: Floats, panel: Panel, rng: np.random.Generator
    ) -> Floats:
        """Draw a decision of the model of the type."""
        model = list(self.types.values())[kind]
        return model.draw(parameters[self._places[kind]], panel, rng)

    def check(self, parameters: Mapping[str, float]) -> Floats:
        """The vector of parameters from their names; the shares have to add up to 1."""
        checked = super().check(parameters)
        if abs(checked[: self.n_types].sum() - 1) > 1e-6:
            raise UsageError(f"The shares of {self.name} have to add up to 1.")
        return checked


def floored(likelihood: Floats) -> Floats:
    """The logarithm of likelihoods, at least `LEAST`.

    Args:
        likelihood: probabilities or densities.
    """
    logs: Floats = np.log(np.maximum(likelihood, math.exp(LEAST)))
    return logs


def drawn_options(probabilities: Floats, rng: np.random.Generator) -> Floats:
    """Draw an option in each row; one number is drawn for each.

    Args:
        probabilities: shape (n, options).
        rng: the generator to draw from.

    Returns:
        Shape (n,): the indices of the options.
    """
    up_to = np.cumsum(probabilities, axis=1)
    at = rng.random((len(up_to), 1)) * up_to[:, -1:]
    options: Floats = np.minimum((up_to <= at).sum(axis=1), up_to.shape[1] - 1).astype(np.float64)
    return options


def _logs(shares: Floats) -> Floats:
    logs: Floats = np.log(np.maximum(shares, 1e-300))
    return logs


def _log_sum(values: Floats) -> Floats:
    """The logarithm of the sum of the exponentials over the first axis."""
    top = values.max(axis=0)
    sums: Floats = top + np.log(np.exp(values - top).sum(axis=0))
    return sums


# What a scenario declares.


@dataclass(frozen=True)
class PublishedEstimate:
    """An estimate of people that was published.

    Attributes:
        who: the people, in a few words.
        model: the name of the model.
        parameters: parameter → its value.
        source: the publication, with the place in it.
    """

    who: str
    model: str
    parameters: Mapping[str, float]
    source: str


@dataclass(frozen=True)
class Behaviour:
    """The decisions of a scenario that behavioural models describe.

    The module that a scenario names as its `behaviour` holds one as ``BEHAVIOUR``.

    Attributes:
        what: the decision in a few words, such as "a pick".
        models: the models that apply, the most common one first. One whose facts the rows of a run
            lack (`BehaviouralModel.needs`) does not apply to it.
        rows: the decisions of a run with what was known before each of them. It leaves invalid
            answers in, as rows without a decision. Without any row the run is of no use.
        known: the same facts from a question to a mind; None when the question is another one, such
            as to say something.
        answer: the answer to a question, from a decision that was drawn; or, when it is None, the
            answer to another question.
        people: published estimates of people.
        informed: what minds that play a fitted model know beyond the prompt, see
            `sabm_mesa.minds.base.Mind.informed`.
    """

    what: str
    models: Sequence[BehaviouralModel]
    rows: Callable[[PlayedRun], Iterable[Row]]
    known: Callable[[Any], Mapping[str, Any] | None]
    answer: Callable[[Any, float | None], object]
    people: Sequence[PublishedEstimate] = field(default=())
    informed: tuple[str, ...] = ()
    NAME: ClassVar[str] = "BEHAVIOUR"

    def model(self, name: str) -> BehaviouralModel:
        """The model of a name.

        Args:
            name: its name.

        Raises:
            UnknownName: when the scenario has none of this name.
        """
        from sabm_mesa.errors import UnknownName

        for model in self.models:
            if model.name == name:
                return model
        raise UnknownName("behavioural model", name, [model.name for model in self.models])


def load_behaviour(module: str) -> Behaviour | None:
    """The behaviour that a scenario declares; None without one.

    Args:
        module: the module that it names as its `behaviour`, or ``""``.

    Raises:
        UsageError: when the module cannot be imported, or holds none.
    """
    if not module:
        return None
    try:
        behaviour = getattr(import_module(module), Behaviour.NAME, None)
    except Exception as error:
        raise UsageError(
            f"The behaviour {module} cannot be imported: {format_user_error(error)}"
        ) from error
    if not isinstance(behaviour, Behaviour):
        raise UsageError(
            f"The behaviour {module} needs BEHAVIOUR = Behaviour(…), of "
            "sabm_mesa.analysis.behaviour."
        )
    return behaviour
