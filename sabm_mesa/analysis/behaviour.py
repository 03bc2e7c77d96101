"""Behavioural models: the likelihood of each recorded decision under a theory of behaviour.

The `study` of a scenario (`sabm_mesa.models.declarations.Study`) has a `Behaviour`: the models that
apply to its decisions, and the facts that a player knew before each decision. The same facts come
from a recording (`Behaviour.rows`) and from a question to a mind (`Behaviour.known`). So a model
that is fitted to a recording can also decide in new runs (``--minds fitted:FILE``).

All decisions of many players are one `Panel`: flat arrays, one row per decision, sorted by player
and then by time. Models compute with whole arrays, so estimation needs no loop over players.

To add a model, write a subclass of `ChoiceModel` (finite options), of `NumberModel` (a mean with
normal errors), or of `BehaviouralModel`; a `Mixture` has several types of players. Add an instance
to the `Behaviour` of each scenario that it describes. Estimation, intervals, selection and the
command ``sabm fit`` need no change.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sabm_mesa.errors import UnknownName, UsageError

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
LEAST = math.log(1e-12)
"""The log-likelihood of a decision that a model excludes, so that one lapse does not rule out a
model.
"""
LIMITS = ("low", "high", "step")
"""The facts of each decision: the smallest and the largest legal one, and the distance between two
neighbouring ones. For options these are 0, their number minus 1, and 1.
"""


# The data.


@dataclass(frozen=True)
class PlayedRun:
    """A recorded run, as input for the study of behaviour.

    Attributes:
        seed: the seed, as JSON.
        parameters: the parameters at the start.
        decisions: one row per decision, as `Recorded.decisions` gives it.
        agents: one row per agent and round, as ``agents.csv``.
        rounds: one row per round, as ``model.csv``.
        messages: one row per message, as `Recorded.messages` gives it.
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
    """One agent of one run: the number of the run, its id, the spec of its mind, the condition."""

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
        known: fact → its value, an array or a number that the player knew; `LIMITS` are among them.
            A fact has the same number of axes in all rows; shorter arrays are padded with NaN. The
            facts contain everything that a model needs from earlier rounds, such as the last
            decisions of others, since rows of invalid answers are left out.
    """

    player: Decider
    time: int
    decision: float | None
    known: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Panel:
    """Decisions of several players, one row each.

    Attributes:
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
    def first(self) -> Ints:
        """Shape (players,): the index of the first row of each player."""
        return np.searchsorted(self.player, np.arange(len(self.players)))

    @cached_property
    def position(self) -> Ints:
        """Shape (n,): the index of each row among the rows of its player."""
        return np.arange(len(self)) - self.first[self.player]

    def totals(self, values: Floats) -> Floats:
        """The sums over the rows of each player, from shape (…, n) to shape (…, players)."""
        return np.add.reduceat(values, self.first, axis=-1)

    def before(self, values: Floats) -> Floats:
        """For each row, the sum over the earlier rows of its player; shape (…, n)."""
        up_to = np.cumsum(values, axis=-1) - values
        sums: Floats = up_to - up_to[..., self.first][..., self.player]
        return sums

    def cells(self, decisions: Floats) -> Ints:
        """The number of steps of decisions from the smallest legal one; shape (…, n)."""
        steps = np.rint((decisions - self.known["low"]) / self.known["step"])
        return np.maximum(steps, 0).astype(np.int64)

    def of_players(self, wanted: Callable[[Decider], bool]) -> Panel:
        """The decisions of some of the players."""
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
        """The same panel with other decisions, shape (n,)."""
        return replace(self, decisions=decisions)


def _stacked(name: str, values: Sequence[Any]) -> Floats:
    """One array with all rows; shorter ones are padded with NaN."""
    arrays = [np.asarray(value, dtype=np.float64) for value in values]
    if len({array.ndim for array in arrays}) > 1:
        raise UsageError(
            f"The runs differ in the axes of {name}, such as games of two and of three players: "
            "fit them apart."
        )
    stack = np.full((len(arrays), *np.max([array.shape for array in arrays], axis=0)), math.nan)
    for i, array in enumerate(arrays):
        inside: Any = (i, *(slice(size) for size in array.shape))
        stack[inside] = array
    return stack


# The models.


@dataclass(frozen=True)
class FreeParameter:
    """A parameter of a behavioural model.

    Attributes:
        label: a description in a few words.
        low: the lower limit in estimation.
        high: the upper limit in estimation.
        unit: its unit; ``""`` for a pure number.
        log: whether starting values are spread over its logarithm (`low` is then positive).
    """

    name: str
    label: str
    low: float
    high: float
    unit: str = ""
    log: bool = False

    def share(self, value: float) -> float:
        """The position of a value between the limits, from 0 to 1; on a log scale if `log`."""
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)

    def at(self, share: float) -> float:
        """The value at a position between the limits, from 0 to 1: the inverse of `share`."""
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
        needs: the names of the facts (`Panel.known`) that it reads; it does not apply to runs
            without them.
    """

    name: str
    title: str
    source: str
    parameters: tuple[FreeParameter, ...]
    needs: tuple[str, ...] = LIMITS

    @abstractmethod
    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihood of each decision, given the facts and the player's earlier decisions.

        Returns:
            Shape (n,), at least `LEAST`. The sum over the rows of a player is the log-likelihood of
            the player.
        """

    @abstractmethod
    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a decision for each row, shape (n,), given the player's earlier decisions.

        The decision of a row does not affect its own draw.
        """

    def simulate(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Panel:
        """Simulate all decisions, each given the simulated earlier ones; the facts stay."""
        for position in range(int(panel.position.max(initial=-1)) + 1):
            drawn = self.draw(parameters, panel, rng)
            panel = panel.with_decisions(
                np.where(panel.position == position, drawn, panel.decisions)
            )
        return panel

    def check(self, parameters: Mapping[str, float]) -> Floats:
        """Convert named parameters to a vector.

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


class Uniform(BehaviouralModel):
    """Random play: each legal decision is equally likely. The baseline of all comparisons."""

    name, title, source = "uniform", "each legal decision equally likely", "chance"
    parameters = ()

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The same value for each legal decision."""
        del parameters
        log_likelihood: Floats = -np.log(n_legal(panel))
        return log_likelihood

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a legal decision."""
        del parameters
        cells = np.floor(rng.random(len(panel)) * n_legal(panel))
        decisions: Floats = panel.known["low"] + panel.known["step"] * cells
        return decisions


def n_legal(panel: Panel) -> Floats:
    """The number of legal decisions in each row."""
    known = panel.known
    steps: Floats = np.floor((known["high"] - known["low"]) / known["step"] + 1e-9)
    return steps + 1


class ChoiceModel(BehaviouralModel):
    """A model of choices between finitely many options: a decision is the index of one of them."""

    @abstractmethod
    def probabilities(self, parameters: Floats, panel: Panel) -> Floats:
        """The probability of each option before each decision, shape (n, options).

        The decisions before a row may be used for it. Options that a row does not have get 0.
        """

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """Return the logarithm of the probability of the chosen option."""
        shares = self.probabilities(parameters, panel)
        return floored(shares[np.arange(len(panel)), panel.decisions.astype(np.int64)])

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw an option; one number is drawn for each row."""
        return drawn_options(self.probabilities(parameters, panel), rng)


class NumberModel(BehaviouralModel):
    """A model of numbers: a mean, with a normal error that is censored at the limits.

    A decision has the probability of the interval of one step around it. The lowest and the highest
    one have the probability of all values beyond them (a censored regression: Tobin 1958,
    Econometrica 26(1), 24-36). The last parameter is the standard deviation of the error.
    """

    @abstractmethod
    def mean(self, parameters: Floats, panel: Panel) -> Floats:
        """The decisions without error, shape (n,)."""

    def deviation(self, parameters: Floats, panel: Panel) -> Floats:
        """The standard deviation of the error, shape (n,)."""
        return np.full(len(panel), parameters[-1])

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The logarithm of the probability of each decision, exact in both tails."""
        from scipy.special import ndtr

        low, high, half = panel.known["low"], panel.known["high"], panel.known["step"] / 2
        mean, deviation = self.mean(parameters, panel), self.deviation(parameters, panel)
        at = panel.decisions
        below = np.where(at < low + half, -np.inf, (at - half - mean) / deviation)
        above = np.where(at > high - half, np.inf, (at + half - mean) / deviation)
        flip = below > 0
        return floored(ndtr(np.where(flip, -below, above)) - ndtr(np.where(flip, -above, below)))

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a number around the mean."""
        errors = self.deviation(parameters, panel) * rng.standard_normal(len(panel))
        numbers = self.mean(parameters, panel) + errors
        return np.clip(numbers, panel.known["low"], panel.known["high"])


class Mixture(BehaviouralModel):
    """Players of several types: each player has one fixed, unobserved type.

    Its parameters are ``share_TYPE`` for each type, followed by the parameters of the types.
    Parameters of types with the same name are one parameter.
    """

    def __init__(
        self, name: str, title: str, source: str, types: Sequence[BehaviouralModel]
    ) -> None:
        self.name, self.title, self.source, self.types = name, title, source, types
        free = {parameter.name: parameter for model in types for parameter in model.parameters}
        shares = (
            FreeParameter(f"share_{model.name}", f"share of {model.name}", 0.0, 1.0)
            for model in types
        )
        self.parameters = (*shares, *free.values())
        self.needs = tuple(dict.fromkeys(need for model in types for need in model.needs))
        names = [parameter.name for parameter in self.parameters]
        self._places = [[names.index(p.name) for p in model.parameters] for model in types]

    def by_type(self, parameters: Floats, panel: Panel) -> Floats:
        """The log-likelihood of each decision for each type of the player, shape (types, n)."""
        models = zip(self.types, self._places, strict=True)
        return np.array([model.log_likelihood(parameters[at], panel) for model, at in models])

    def log_likelihood(self, parameters: Floats, panel: Panel) -> Floats:
        """The log of the mean over types, weighted by the posterior from earlier decisions."""
        by_type = self.by_type(parameters, panel)
        before = panel.before(by_type) + self._log_shares(parameters)
        log_likelihood: Floats = log_sum(before + by_type) - log_sum(before)
        return np.maximum(log_likelihood, LEAST)

    def posterior(self, parameters: Floats, panel: Panel) -> Floats:
        """The probability of each type given all decisions of a player, shape (players, types)."""
        joint = panel.totals(self.by_type(parameters, panel)) + self._log_shares(parameters)
        shares: Floats = np.exp(joint - log_sum(joint)).T
        return shares

    def draw(self, parameters: Floats, panel: Panel, rng: np.random.Generator) -> Floats:
        """Draw a type, given the player's earlier decisions, and then a decision of the type."""
        before = panel.before(self.by_type(parameters, panel)) + self._log_shares(parameters)
        kinds = drawn_options(np.exp(before - log_sum(before)).T, rng)
        models = zip(self.types, self._places, strict=True)
        drawn = [model.draw(parameters[at], panel, rng) for model, at in models]
        decisions: Floats = np.choose(kinds.astype(np.int64), drawn)
        return decisions

    def check(self, parameters: Mapping[str, float]) -> Floats:
        """Convert named parameters to a vector; the shares must sum to 1."""
        checked = super().check(parameters)
        if abs(checked[: len(self.types)].sum() - 1) > 1e-6:
            raise UsageError(f"The shares of {self.name} must add up to 1.")
        return checked

    def _log_shares(self, parameters: Floats) -> Floats:
        """Shape (types, 1)."""
        logs: Floats = np.log(np.maximum(parameters[: len(self.types)], 1e-300))[:, None]
        return logs


def floored(likelihood: Floats) -> Floats:
    """The logarithm of probabilities, bounded below by `LEAST`."""
    logs: Floats = np.log(np.maximum(likelihood, math.exp(LEAST)))
    return logs


def log_sum(values: Floats) -> Floats:
    """The logarithm of the sum of the exponentials over the first axis."""
    top = values.max(axis=0)
    sums: Floats = top + np.log(np.exp(values - top).sum(axis=0))
    return sums


def drawn_options(probabilities: Floats, rng: np.random.Generator) -> Floats:
    """Draw the index of an option in each row, from probabilities of shape (n, options)."""
    up_to = np.cumsum(probabilities, axis=1)
    at = rng.random((len(up_to), 1)) * up_to[:, -1:]
    options: Floats = np.minimum((up_to <= at).sum(axis=1), up_to.shape[1] - 1).astype(np.float64)
    return options


# What a scenario declares.


@dataclass(frozen=True)
class PublishedEstimate:
    """A published estimate for people: the values of the parameters of a model, with the source."""

    who: str
    model: str
    parameters: Mapping[str, float]
    source: str


@dataclass(frozen=True)
class Behaviour:
    """The decisions of a scenario that behavioural models describe.

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

    def model(self, name: str) -> BehaviouralModel:
        """Return the model with a name."""
        for model in self.models:
            if model.name == name:
                return model
        raise UnknownName("behavioural model", name, [model.name for model in self.models])
