"""What a published experiment is: conditions, scales, measures, claims and published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Data = Literal["model", "agents", "messages"]
Take = Literal[
    "mean", "change", "slope", "sd", "min", "max", "sum", "mode", "share", "first", "settles",
    "agreed",
]  # fmt: skip
Kind = Literal["below", "above", "within", "less", "more", "like"]
Cost = Literal["small", "medium", "large"]
SCALES = ("quick", "paper")
COMPARED = ("less", "more", "like")
"""Kinds of claims that compare two conditions."""
COSTS: Mapping[Cost, int] = {"small": 2_000, "medium": 20_000, "large": 10**9}
"""Cost class → questions to language models at paper scale, at the most."""


@dataclass(frozen=True)
class Scale:
    """How large an experiment is.

    Attributes:
        runs: runs a condition.
        set: parameters of all conditions at this scale.
    """

    runs: int
    set: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Condition:
    """One condition of an experiment.

    Attributes:
        name: its name.
        label: its name on plots and in reports.
        set: the parameters that make it.
        minds: who decided in the published runs, when that is what makes the condition, or what is
            claimed of it is of language models alone: other minds then tell nothing of the claims.
        mix: slot → number of agents, when several kinds of minds play (see `Experiment.slots`).
        fork_of: the condition whose runs it goes on with, or ``""``.
        at: scale → the round at which it departs from that condition.
        party: ``EXPERIMENT/CONDITION``: the condition of an experiment with a cocktail party which
            the agents remember; or ``""``. One party is held before all runs of the condition, by
            its language model, or by classical guests where none decides.
    """

    name: str
    label: str
    set: Mapping[str, Any] = field(default_factory=dict)
    minds: str = ""
    mix: Mapping[str, int] = field(default_factory=dict)
    fork_of: str = ""
    at: Mapping[str, int] = field(default_factory=dict)
    party: str = ""


@dataclass(frozen=True)
class Measure:
    """One number of a run.

    Attributes:
        name: its name in ``measures.csv``.
        label: what it is, in a few words.
        columns: the data columns it is computed from; of several, all values count alike.
        take: how: ``mean``, ``sd``, ``min``, ``max``, ``sum`` of the values, or their ``mode`` (the
            most frequent one, the smallest of several); ``change`` from the first to the last
            round; ``slope`` a round; ``share`` of the values from `low` to `high`; ``first``
            round with all values from `low` to `high`; ``settles``: the round from which on all
            stay within `high` of the final price (see `convergence_round`); ``agreed``: the first
            round with an explicit price agreement, among the messages.
        data: of the ``model``, of its ``agents``, or of what they said: the ``messages`` with the
            codes of the message coder as columns.
        rounds: the first and the last round that count, from 0; negative from the end of the run.
            A run that ended earlier keeps its last values.
        agent: the number of the agent that counts, of the data of ``agents``; 0: all of them.
        low: see `take`.
        high: see `take`.
        never: the value of a run in which what ``first``, ``settles`` or ``agreed`` look for does
            not come about; NaN: none. Without it a claim that something happens early is judged
            by those runs alone in which it happens at all.
        unit: the unit, or ``""``.
    """

    name: str
    label: str
    columns: tuple[str, ...]
    take: Take = "mean"
    data: Data = "model"
    rounds: tuple[int, int] = (0, -1)
    agent: int = 0
    low: float = float("-inf")
    high: float = float("inf")
    never: float = float("nan")
    unit: str = ""


@dataclass(frozen=True)
class Claim:
    """What a publication says, as a statement about a measure that runs can bear out or not.

    Attributes:
        text: the claim in a sentence.
        source: where it is made.
        measure: the name of the measure.
        kind: the measure of `condition` is ``below`` or ``above`` `value`; ``within`` `low` and
            `high`; ``less`` or ``more`` than that of `than`; ``like`` it, up to `margin`.
        condition: the condition it is about.
        than: the condition it is compared with.
        value: see `kind`.
        low: see `kind`.
        high: see `kind`.
        margin: see `kind`.
        ours: what of the statement is our choice (a limit that the source does not give).
    """

    text: str
    source: str
    measure: str
    kind: Kind
    condition: str
    than: str = ""
    value: float = 0.0
    low: float = float("-inf")
    high: float = float("inf")
    margin: float = 0.0
    ours: str = ""


@dataclass(frozen=True)
class Figures:
    """Published numbers.

    Attributes:
        condition: the condition they are of; ``""`` when they are of people.
        source: where they are published.
        numbers: the published numbers.
        measure: the measure that the number is comparable with, or ``""``.
        column: the model column that they are the course of, or ``""``.
        rounds: their rounds.
        label: who or what they are of, for plots.
        scale: the scale at which runs can be compared with them; ``""``: at all.
    """

    condition: str
    source: str
    numbers: tuple[float, ...]
    measure: str = ""
    column: str = ""
    rounds: tuple[int, ...] = ()
    label: str = ""
    scale: Literal["", "quick", "paper"] = ""


@dataclass(frozen=True)
class Ratio:
    """What a measure is in one condition relative to another: the ratio of their means over runs.

    Attributes:
        label: what it is, in a few words.
        measure: the name of the measure.
        condition: the condition above the line.
        than: the condition below it.
        number: the published ratio.
        source: where it, or the numbers it is of, are published.
    """

    label: str
    measure: str
    condition: str
    than: str
    number: float
    source: str


@dataclass(frozen=True)
class Plot:
    """A plot that puts the conditions of an experiment side by side.

    Attributes:
        kind: ``rounds``: the mean of model columns by round and condition, with a bootstrap
            interval over runs; ``values``: how an agent column is distributed in one round.
        title: its title.
        columns: the columns; of several, the mean.
        label: the axis of the values, with its unit.
        round: the round of a distribution.
        theory: what theory says, by its name (see `sabm_mesa.experiments.theory`), or ``""``.
        human: the distribution of people that is drawn beside it, by its name, or ``""``.
    """

    kind: Literal["rounds", "values"]
    title: str
    columns: tuple[str, ...]
    label: str
    round: int = 0
    theory: str = ""
    human: str = ""


@dataclass(frozen=True)
class Experiment:
    """A published experiment.

    Attributes:
        name: its name, such as ``kbc-figure-4a``.
        title: what it shows.
        question: the question in a sentence.
        source: the publication.
        scenario: the scenario.
        minds: who decided in the published runs.
        cost: how many questions a run at paper scale asks (see `COSTS`).
        scales: ``quick`` and ``paper``.
        conditions: the conditions.
        measures: the measures.
        claims: what was claimed.
        published: the published numbers.
        ratios: published ratios of conditions.
        slots: kinds of minds that conditions mix → who decides when nobody is named for one:
            ``given`` (the minds that are given for all), or a spec.
        plots: the plots that compare conditions.
        show: the scenario's own plots that the report shows of each condition.
        set: parameters of all conditions.
        notes: what was calibrated, chosen by us, or is not known.
    """

    name: str
    title: str
    question: str
    source: str
    scenario: str
    minds: str
    cost: Cost
    scales: Mapping[str, Scale]
    conditions: Sequence[Condition]
    measures: Sequence[Measure]
    claims: Sequence[Claim] = ()
    published: Sequence[Figures] = ()
    ratios: Sequence[Ratio] = ()
    slots: Mapping[str, str] = field(default_factory=dict)
    plots: Sequence[Plot] = ()
    show: tuple[str, ...] = ()
    set: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def condition(self, name: str) -> Condition:
        """The condition of a name."""
        return next(each for each in self.conditions if each.name == name)

    def measure(self, name: str) -> Measure:
        """The measure of a name."""
        return next(each for each in self.measures if each.name == name)
