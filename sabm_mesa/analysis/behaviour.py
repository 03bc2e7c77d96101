"""Behavioural models: the likelihood of each recorded decision under a theory of behaviour.

A scenario has a module ``behaviour.py`` (class attribute `SmartModel.behaviour`) with a
`Behaviour`: the models that apply to its decisions, and the facts that a player knew before each
decision. The same facts come from a recording (`Behaviour.rows`) and from a question to a mind
(`Behaviour.known`). So a model that is fitted to a recording can also decide in new runs (``--minds
fitted:FILE``).

All decisions of many players are one `Panel`: flat arrays, one row per decision, sorted by player
and then by time. Models compute with whole arrays, so estimation needs no loop over players.

To add a model, write a subclass of `BehaviouralModel` (for finite options: of `ChoiceModel`; for
several types of players: of `TypesModel`, or an instance of `Mixture`), and add its name to the
`Behaviour` of each scenario that it describes. Estimation, intervals, selection and the command
``sabm fit`` need no change.
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
"""The log-likelihood of a decision that a model excludes, so that one lapse does not rule out a
model.
"""
FINEST = 101
"""Number of different decisions for which real numbers within limits count."""


# The data.


@dataclass(frozen=True)
class PlayedRun:
    """A recorded run, as input for the study of behaviour.

    Attributes:
        run: the number of the run in the recording.
        scenario: the name of the scenario.
        seed: the seed, as JSON.
        condition: the condition.
        parameters: the parameters at the start.
        decisions: one row per decision, as `Recorded.decisions` gives it.
        agents: one row per agent and round, as ``agents.csv``.
        rounds: one row per round, as ``model.csv``.
        messages: one row per message, as `Recorded.messages` gives it.
        finished: whether it was completed.
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
        known: fact → its value, an array or a number that the player knew. It has the same number
            of axes in all rows; shorter arrays are padded with NaN. It contains everything that a
            model needs from earlier rounds, such as the last decisions of others, since rows of
            invalid answers are left out.
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
        player: shape (n,): the index of the player of each row, in non-decreasing order.
        time: shape (n,): the round, increasing for each player.
        decisions: shape (n,): a number, or the index of the option.
        known: fact → array of shape (n, …): its value before the decision.
        invalid: number of decisions that are left out because the answer was invalid.
    """

    players: tuple[Decider, ...]
    player: Ints
    time: Ints
    decisions: Floats
    known: Mapping[str, Floats]
    invalid: int = 0

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Panel:
        """Make a panel from rows in any order, with the facts that all rows have.

        Args:
            rows: the decisions.

        Raises:
            UsageError: when the number of axes of an array differs between rows.
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
        """Shape (n,): the index of each row among the rows of its player."""
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
        """For each row, the sum over the earlier rows of its player.

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
        """The values as one row per player, for models that iterate over time.

        Args:
            values: shape (n, …).
            fill: the value after the last decision of a player.

        Returns:
            Shape (players, longest, …); ``padded[panel.player, panel.position]`` returns the
            original rows.
        """
        longest = int(self.position.max()) + 1 if len(self) else 0
        padded = np.full((len(self.players), longest, *values.shape[1:]), fill, dtype=values.dtype)
        padded[self.player, self.position] = values
        return padded

    def distinct(self, *names: str) -> tuple[list[dict[str, Floats]], Ints]:
        """The distinct values of some known facts, for computing a function once per value.

        Args:
            names: the names of the facts.

        Returns:
            The distinct values, and for each row the index of its value.
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
            wanted: shape (players,): whether to include each player.
        """
        players = np.array([wanted(player) for player in self.players], dtype=bool)
        chosen = players[self.player] if len(self) else np.zeros(0, dtype=bool)
        kept, player = np.unique(self.player[chosen], return_inverse=True)
        return Panel(
            tuple(self.players[i] for i in kept),
            np.asarray(player, dtype=np.int64),
            self.time[chosen],
            self.decisions[chosen],
            {name: values[chosen] for name, values in self.known.items()},
        )

    def with_decisions(self, decisions: Floats) -> Panel:
        """The same panel with other decisions.

        Args:
            decisions: shape (n,).
        """
        panel = replace(self, decisions=decisions)
        panel.__dict__["_found"] = self._found  # it depends on the facts only
        return panel


def once_a_panel(
    compute: Callable[Concatenate[Panel, _P], _T],
) -> Callable[Concatenate[Panel, _P], _T]:
    """Cache a function of a panel and hashable arguments, for the lifetime of the panel.

    Args:
        compute: the function; it must not depend on an estimated parameter.
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
    """One array with all rows; shorter ones are padded with NaN."""
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
        low: the lower limit in estimation.
        high: the upper limit in estimation.
        unit: its unit; ``""`` for a pure number.
        log: whether starting values are spread over its logarithm (`low` is then positive).
        step: the grid step for a discontinuous likelihood; 0: any value between the limits.
    """

    name: str
    label: str
    low: float
    high: float
    unit: str = ""
    log: bool = False
    step: float = 0.0

    def share(self, value: float) -> float:
        """The position of a value between the limits, from 0 to 1; on a log scale if `log`.

        Args:
            value: the value.
        """
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)

    def at(self, share: float) -> float:
        """The value at a position between the limits: the inverse of `share`.

        Args:
            share: the position, from 0 to 1.
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
        needs: the names of the facts (`Panel.known`) that it reads; it does not apply to scenarios
            without them.
    """

    name: str
    title: str
    source: str
    parameters: tuple[FreeParameter, ...]
    needs: tuple[str, ...] = ()

    @abstractmethod
    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihood of each decision, given the facts and the player's earlier decisions.

        Args:
            parameters: the vector of parameters.
            panel: the decisions.

        Returns:
            Shape (n,), at least `LEAST`. The sum over the rows of a player is the log-likelihood of
            the player, so held-out players and runs are scored in the same way.
        """

    @abstractmethod
    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a decision for each row, given the player's earlier decisions.

        Args:
            parameters: the vector of parameters.
            panel: the decisions; the decision of a row does not affect its own draw.
            rng: the generator to draw from.

        Returns:
            Shape (n,).
        """

    def draws(
        self, parameters: Floats, panel: Panel, rng: np.random.Generator, n: int
    ) -> Floats:  # fmt: skip
        """Draw several decisions for each row, as `draw` does.

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
        """Simulate all decisions, each given the simulated earlier ones; others decide as recorded.

        Args:
            parameters: the vector of parameters.
            panel: the players and the known facts.
            rng: the generator to draw from.
        """
        decisions = panel.decisions.copy()
        for position in range(int(panel.position.max()) + 1 if len(panel) else 0):
            drawn = self.draw(parameters, panel.with_decisions(decisions), rng)
            now = panel.position == position
            decisions[now] = drawn[now]
        return panel.with_decisions(decisions)

    def check(self, parameters: Mapping[str, float]) -> Floats:
        """Convert named parameters to a vector.

        Args:
            parameters: name → value.

        Raises:
            UsageError: when one is missing, unknown, not a number, or outside its limits.
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
                    f"{parameter.name} of {self.name} must be a number, not {value!r}."
                )
            if not parameter.low <= value <= parameter.high:
                raise UsageError(
                    f"{parameter.name} of {self.name} must be from {parameter.low:g} "
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
        """Return the logarithm of the probability of the chosen option."""
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
    """Random play: each legal decision is equally likely. The baseline of all comparisons."""

    name, title, source = "uniform", "each legal decision equally likely", "chance"
    parameters = ()

    @abstractmethod
    def count(self, panel: Panel) -> Floats:
        """The number of legal decisions, or the length of their range for real numbers.

        Args:
            panel: the decisions.

        Returns:
            Shape (n,).
        """

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The same value for each legal decision."""
        del parameters
        log_likelihood: Floats = -np.log(self.count(panel))
        return log_likelihood

    def uncertainty(self, panel: Panel) -> Floats:
        """The maximum gain in log-likelihood: the logarithm of the number of decisions.

        Real numbers count as `FINEST` decisions.

        Args:
            panel: the decisions.

        Returns:
            Shape (n,).
        """
        uncertainty: Floats = np.log(self.count(panel))
        return uncertainty


class ChanceOfOptions(Chance, ChoiceModel):
    """A random choice among the options of a row."""

    needs = ("own",)

    def count(self, panel: Panel) -> Floats:
        """The number of options."""
        n_options: Floats = (~np.isnan(panel.known["own"])).sum(axis=1).astype(np.float64)
        return n_options

    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """The same probability for each option of a row."""
        del parameters
        legal = ~np.isnan(panel.known["own"])
        probabilities: Floats = legal / legal.sum(axis=1, keepdims=True)
        return probabilities


class TypesModel(BehaviouralModel):
    """Players of several types: each player has one fixed, unobserved type."""

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
        """The log-likelihood of each decision, for each type of the player.

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
        """Draw a decision for each row, for players of one type.

        Args:
            kind: the number of the type, from 0.
            parameters: the vector of parameters.
            panel: the decisions.
            rng: the generator to draw from.
        """

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The log of the mean over types, weighted by the posterior from earlier decisions."""
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
        """Draw a type, given the player's earlier decisions, and then a decision of the type."""
        decisions: Floats = self.draws(parameters, panel, rng, 1)[0]
        return decisions

    def draws(
        self, parameters: Floats, panel: Panel, rng: np.random.Generator, n: int
    ) -> Floats:  # fmt: skip
        """Draw several decisions; the posterior of the types is computed once."""
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
        """Draw the type of each player, and then all of its decisions in order."""
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

    Its parameters are ``share_TYPE`` for each type, followed by the parameters of the types.

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
        """The first parameters, normalised by their sum."""
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
        """Draw a decision from the model of the type."""
        model = list(self.types.values())[kind]
        return model.draw(parameters[self._places[kind]], panel, rng)

    def check(self, parameters: Mapping[str, float]) -> Floats:
        """Convert named parameters to a vector; the shares must sum to 1."""
        checked = super().check(parameters)
        if abs(checked[: self.n_types].sum() - 1) > 1e-6:
            raise UsageError(f"The shares of {self.name} must add up to 1.")
        return checked


def floored(likelihood: Floats) -> Floats:
    """The logarithm of likelihoods, bounded below by `LEAST`.

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
    """A published estimate for people.

    Attributes:
        who: the people, in a few words.
        model: the name of the model.
        parameters: parameter → its value.
        source: the publication, with the section or table.
    """

    who: str
    model: str
    parameters: Mapping[str, float]
    source: str


@dataclass(frozen=True)
class Behaviour:
    """The decisions of a scenario that behavioural models describe.

    The module that a scenario names as its `behaviour` contains one as ``BEHAVIOUR``.

    Attributes:
        what: the decision in a few words, such as "a pick".
        models: the models, the most common one first. A model does not apply to a run whose rows
            lack the facts in `BehaviouralModel.needs`.
        rows: a function that returns the decisions of a run with the facts known before each.
            Invalid answers are included as rows without a decision. A run without rows is skipped.
        known: a function that returns the same facts from a question to a mind; None for other
            questions, such as one for a message.
        answer: a function that returns the answer to a question for a drawn decision, or for None
            the answer to another question.
        people: published estimates of people.
        informed: the information beyond the prompt that fitted models need, see
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
        """Return the model with a name.

        Args:
            name: its name.

        Raises:
            UnknownName: when the scenario has no such model.
        """
        from sabm_mesa.errors import UnknownName

        for model in self.models:
            if model.name == name:
                return model
        raise UnknownName("behavioural model", name, [model.name for model in self.models])


def load_behaviour(module: str) -> Behaviour | None:
    """Load the behaviour that a scenario declares; None if it declares none.

    Args:
        module: the value of the scenario's `behaviour`, or ``""``.

    Raises:
        UsageError: when the module cannot be imported or contains no `Behaviour`.
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
