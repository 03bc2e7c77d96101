"""The file of an experiment: its schema, and strict reading.

An experiment is one TOML file: conditions of a scenario, measures, claims, published figures and
plots. ``docs/experiments.md`` explains the keys of each table. Pydantic checks types and keys; then
references between entries and to the scenario are checked. Mistakes are one line, which names each
of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from sabm_mesa.analysis.messages import CODES
from sabm_mesa.analysis.tests import Estimand, Of
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.core.toml_io import read_toml
from sabm_mesa.errors import ParameterError, UnknownName, UsageError
from sabm_mesa.minds.base import assumptions_of
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import is_file, load, scenario
from sabm_mesa.studies.experiments.claims import (
    AnyClaim,
    Claim,
    Entry,
    TrendClaim,
    as_pair,
    as_tuple,
)
from sabm_mesa.studies.people import human_distributions

Data = Literal["model", "agents", "messages"]
Cost = Literal["small", "medium", "large"]
TAKES = (
    "mean", "change", "slope", "sd", "min", "max", "sum", "mode", "share", "first", "settles",
    "trend",
)  # fmt: skip
"""How a measure is computed in any scenario (see `Measure.take`)."""
SCALES = ("quick", "paper")
ALPHA = 0.05
"""The default `alpha`: the probability of any wrong verdict if no claim were true or false."""
PEOPLE = "people"
"""The key of published numbers of people."""
COSTS: Mapping[Cost, int] = {"small": 2_000, "medium": 20_000, "large": 10**9}
"""Cost class → the maximum number of questions to language models at paper scale."""
OF_MESSAGES = ("round", "speaker", "text", *CODES)
"""The columns of the messages."""


def _as_tables(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("rule", "must be a list of tables.")
    return tuple(value)


Texts = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
Numbers = Annotated[tuple[float, ...], BeforeValidator(as_tuple)]
Rounds = Annotated[tuple[int, ...], BeforeValidator(as_tuple)]
Tables = BeforeValidator(_as_tables)


class Scale(Entry):
    """The size of an experiment: runs per condition, and parameters of all conditions."""

    runs: int
    set: Mapping[str, Any] = Field(default_factory=dict)


class Condition(Entry):
    """One condition of an experiment.

    The earlier run of `builds_on` is played once, by the language model of the condition, or by
    classical minds without one.
    """

    name: str
    label: str
    scenario: str = ""
    set: Mapping[str, Any] = Field(default_factory=dict)
    minds: str = ""
    mix: Mapping[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    fork_of: str = ""
    at: Mapping[str, int] = Field(default_factory=dict)
    builds_on: str = ""


class Group(Entry):
    """Several conditions that a claim combines: the mean of their runs of the same seed."""

    name: str
    label: str
    conditions: Texts


class Measure(Entry):
    """One number of a run.

    A run that is shorter than `rounds` keeps its last values. By default, `bounds` follow from the
    take and the scenario's bounds of the columns. `never` is NaN for no value: a claim on an early
    event is then judged only by the runs with that event.
    """

    name: str
    label: str
    columns: Texts
    take: str = "mean"
    data: Data = "model"
    rounds: Annotated[tuple[int, int], BeforeValidator(as_pair)] = (0, -1)
    agent: int = 0
    low: float = float("-inf")
    high: float = float("inf")
    never: float = float("nan")
    bounds: Annotated[tuple[float, float] | None, BeforeValidator(as_pair)] = None
    unit: str = ""

    @property
    def title(self) -> str:
        """The label with the unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


class Published(Entry):
    """Published numbers: a table, condition (or ``people``) × measure or round; NaN: none."""

    source: str
    numbers: Mapping[str, Numbers]
    measures: Texts = ()
    column: str = ""
    rounds: Rounds = ()
    label: str = ""
    scale: Literal["", "quick", "paper"] = ""


@dataclass(frozen=True)
class Figures:
    """The published numbers of one condition (``""``: people), of a measure or by round."""

    condition: str
    source: str
    numbers: Numbers
    measure: str = ""
    column: str = ""
    rounds: Rounds = ()
    label: str = ""
    scale: str = ""


class Plot(Entry):
    """A plot that puts the conditions of an experiment side by side."""

    kind: Literal["rounds", "values"]
    title: str
    columns: Texts
    label: str
    round: int = 0
    theory: str = ""
    human: str = ""


class Experiment(Entry):
    """A published experiment, or one of a user; its name is that of its file."""

    name: str
    title: str
    question: str
    source: str
    scenario: str
    minds: str
    cost: Cost
    scales: Mapping[str, Scale]
    conditions: Annotated[tuple[Condition, ...], Tables] = ()
    groups: Annotated[tuple[Group, ...], Tables] = ()
    measures: Annotated[tuple[Measure, ...], Tables] = ()
    claims: Annotated[tuple[AnyClaim, ...], Tables] = ()
    published: Annotated[tuple[Published, ...], Tables] = ()
    slots: Mapping[str, str] = Field(default_factory=dict)
    plots: Annotated[tuple[Plot, ...], Tables] = ()
    show: Texts = ()
    set: Mapping[str, Any] = Field(default_factory=dict)
    alpha: Annotated[float, Field(gt=0, lt=1)] = ALPHA
    notes: Texts = ()

    @property
    def is_own(self) -> bool:
        """Whether it is from the user, not a published one of the package."""
        return self.name not in _built_in()

    def condition(self, name: str) -> Condition:
        """The condition of a name."""
        return next(condition for condition in self.conditions if condition.name == name)

    def members(self, name: str) -> tuple[str, ...]:
        """The conditions of a group, or the condition, with a name."""
        members = [group.conditions for group in self.groups if group.name == name]
        return members[0] if members else (name,)

    def conditions_of(self, claim: Claim) -> list[str]:
        """The conditions of a claim, with those of its groups."""
        return [member for _, name in claim.places for member in self.members(name)]

    def measure(self, name: str) -> Measure:
        """The measure of a name."""
        return next(measure for measure in self.measures if measure.name == name)

    def statistic(self, claim: Claim) -> tuple[Of, tuple[float, float] | None]:
        """The statistic that a claim is about, and the bounds of its measures, None if unknown."""
        of = claim.estimand or ("mean" if self.measure(claim.measure).take == "share" else "median")
        if of == "share":
            # The run of a group is the share of its conditions: a number from 0 to 1.
            names = {group.name for group in self.groups}
            grouped = any(condition in names for _, condition in claim.places)
            return ("mean", (0.0, 1.0)) if grouped else ("share", None)
        bounds = [self._bounds(self.measure(name)) for name, _ in claim.places]
        known = [pair for pair in bounds if pair is not None]
        if len(known) < len(bounds):
            return of, None
        return of, (min(low for low, _ in known), max(high for _, high in known))

    def estimand(self, claim: Claim) -> Estimand:
        """The quantity of a claim with its limits."""
        return claim.quantity(*self.statistic(claim))

    def _bounds(self, measure: Measure) -> tuple[float, float] | None:
        """The bounds of a measure in one run, or None if unknown."""
        if measure.bounds is not None:
            return measure.bounds
        if measure.take in ("share", "trend"):
            return (0.0, 1.0) if measure.take == "share" else (-1.0, 1.0)
        codes = dict.fromkeys(CODES, (0.0, 1.0)) if measure.data == "messages" else {}
        declared = {**scenario(self.scenario).study.column_bounds, **codes}
        if not set(measure.columns) <= set(declared):
            return None
        low = min(declared[column][0] for column in measure.columns)
        high = max(declared[column][1] for column in measure.columns)
        match measure.take:
            case "mean" | "min" | "max" | "mode":
                return low, high
            case "change":
                return low - high, high - low
            case "sd":
                return 0.0, (high - low) / 2
        return None

    @property
    def figures(self) -> list[Figures]:
        """The published numbers: of each measure of a condition, and each course."""
        labels = {condition.name: condition.label for condition in self.conditions}
        figures = []
        for table in self.published:
            for name, numbers in table.numbers.items():
                condition = name if name in labels else ""
                label = table.label or (f"published ({labels[name]})" if condition else "")
                of = partial(Figures, condition, table.source, label=label, scale=table.scale)
                if table.column:
                    figures.append(of(numbers, column=table.column, rounds=table.rounds))
                figures += [
                    of((number,), measure=measure)
                    for measure, number in zip(table.measures, numbers, strict=False)
                    if not isnan(number)
                ]
        return figures


def experiment_names() -> list[str]:
    """The names of the experiments that come with the package, in alphabetical order."""
    return sorted(_built_in())


@cache
def _built_in() -> dict[str, dict[str, Any]]:
    """Name → content, of the experiments in the folders of the scenarios.

    A file with ``scenarios`` is one experiment for each of them, ``FILE-SCENARIO``. A table with
    the name of a scenario has its other values; lists in it go to the end of the common ones.
    """
    experiments = {}
    for path in Path(str(files("sabm_mesa.models"))).rglob("experiments/*.toml"):
        data = tomllib.loads(path.read_text("utf-8"))
        scenarios = data.pop("scenarios", ())
        differences = {name: data.pop(name, {}) for name in scenarios}
        for name, other in differences.items():
            lists = {
                key: data.get(key, []) + value
                for key, value in other.items()
                if isinstance(value, list)
            }
            experiments[f"{path.stem}-{name}"] = {**data, "scenario": name, **other, **lists}
        if not scenarios:
            experiments[path.stem] = data
    return experiments


def load_experiment(name: str | Path) -> Experiment:
    """An experiment of the package, or of the user.

    Args:
        name: its name, or the path of a TOML file. Its scenario may be a file, ``FILE.py`` or
            ``FILE.py:Class``, with a path relative to the folder of the TOML file. This file is
            run.

    Raises:
        UnknownName: for an unknown name.
        ParameterError: when the file cannot be read, or an entry of it cannot be used.
        UsageError: when the file of the scenario cannot be used.
    """
    if str(name).endswith(".toml"):
        path = Path(name)
        data = read_toml(path, "experiment", ParameterError)
        conditions = data.get("conditions")
        for table in [data, *(conditions if isinstance(conditions, list) else ())]:
            if isinstance(table, dict) and is_file(str(table.get("scenario"))):
                file = str(path.parent / str(table["scenario"]))
                table["scenario"] = load(file).scenario_name
        return _checked(path.stem, data)
    if name not in _built_in():
        raise UnknownName("experiment", str(name), experiment_names())
    return _checked(str(name), _built_in()[str(name)])


def experiments_of(scenario: str) -> list[Experiment]:
    """The experiments of a scenario that come with the package, in alphabetical order."""
    return [
        load_experiment(name)
        for name in experiment_names()
        if _built_in()[name]["scenario"] == scenario
    ]


def _checked(name: str, data: Mapping[str, Any]) -> Experiment:
    try:
        experiment = Experiment.model_validate({**data, "name": name})
        wrong = list(_mistakes(experiment))
    except ValidationError as invalid:
        wrong = list(dict.fromkeys(map(_message, invalid.errors(include_url=False))))
    if not wrong:
        return experiment
    if len(wrong) == 1:
        raise ParameterError(f"Experiment {name}, {wrong[0]}")
    listed = " ".join(f"({number}) {mistake}" for number, mistake in enumerate(wrong, 1))
    raise ParameterError(f"Experiment {name} has {len(wrong)} mistakes: {listed}")


def _message(error: ErrorDetails) -> str:
    """One error of pydantic as a sentence that names the entry."""
    at, given = list(error["loc"]), error["input"]
    if at[0] == "claims":
        del at[2:3]  # the kind of the claim
    words: list[str] = []
    for part in at:
        if isinstance(part, int):
            words[-1] += f" {part + 1}"
        else:
            words.append(part)
    where = ", ".join(words)
    if error["type"] == "missing":
        return f"{where} is missing."
    if error["type"] == "extra_forbidden":
        return f"{where} is no entry of this table."
    got = "" if isinstance(given, Mapping) else f" (got {given!r})"
    return f"{where}: {error['msg'].rstrip('.')}{got}."


def _mistakes(experiment: Experiment) -> Iterator[str]:
    """Invalid references of an experiment, and contradictory entries."""
    yield from (
        f"the scale {name!r} is missing." for name in SCALES if name not in experiment.scales
    )
    yield from _of_names(experiment)
    yield from _of_references(experiment)
    yield from _of_tables(experiment)
    for condition in experiment.conditions:
        if condition.fork_of and set(condition.at) != set(SCALES):
            yield f"{condition.name}: at must name quick and paper."
        if condition.fork_of and condition.builds_on:
            yield (
                f"{condition.name}: it builds on the same run as {condition.fork_of}: leave "
                "builds_on out."
            )
    try:
        model = scenario(experiment.scenario)
    except UnknownName as error:
        yield str(error)
        return
    yield from _of_parameters(experiment, list(parameters_of(model)))
    yield from _of_measures(experiment, model)
    yield from _of_claims(experiment, model)
    yield from _of_plots(experiment, model)
    yield from _of_earlier_runs(experiment, model)
    yield from _of_other_scenarios(experiment, model)


def _of_names(experiment: Experiment) -> Iterator[str]:
    conditions = [condition.name for condition in experiment.conditions]
    measures = [measure.name for measure in experiment.measures]
    for kind, given in (("condition", conditions), ("measure", measures)):
        if not given or len(set(given)) < len(given):
            yield f"it needs one {kind} or more, each with its own name."
    groups = [group.name for group in experiment.groups]
    for name in sorted(name for name in groups if name in conditions or groups.count(name) > 1):
        yield f"{name} is the name of a group and of another entry."
    if PEOPLE in conditions:
        yield f"no condition can have the name {PEOPLE}."
    for name in sorted(set(experiment.slots) & set(conditions)):
        yield f"{name} is the name of a slot and of a condition."


def _of_references(experiment: Experiment) -> Iterator[str]:
    """Names of measures, conditions and slots that no entry has."""
    measures = [measure.name for measure in experiment.measures]
    conditions = [condition.name for condition in experiment.conditions]
    places = [*conditions, *(group.name for group in experiment.groups)]
    roots = [condition.name for condition in experiment.conditions if not condition.fork_of]
    named: list[tuple[str, str, Iterable[str], list[str]]] = []
    for n, claim in enumerate(experiment.claims, 1):
        of, there = zip(*claim.places, strict=True)
        named.append((f"claims {n}", "measure", of, measures))
        named.append((f"claims {n}", "condition or group", there, places))
    for n, table in enumerate(experiment.published, 1):
        rows = [name for name in table.numbers if name != PEOPLE]
        named.append((f"published {n}", "measure", table.measures, measures))
        named.append((f"published {n}", "condition", rows, conditions))
    named += [
        (f"group {group.name}", "condition", group.conditions, conditions)
        for group in experiment.groups
    ]
    for condition in experiment.conditions:
        forked = filter(None, [condition.fork_of])
        named.append((condition.name, "condition to fork", forked, roots))
        named.append((f"{condition.name}: mix", "slot", condition.mix, list(experiment.slots)))
    for where, kind, names, known in named:
        for name in dict.fromkeys(names):
            if name not in known:
                yield f"{where}: {UnknownName(kind, name, known)}"


def _of_tables(experiment: Experiment) -> Iterator[str]:
    """The rows of published numbers that do not fit their table."""
    for number, table in enumerate(experiment.published, 1):
        if bool(table.measures) == bool(table.column):
            yield f"published {number}: it needs measures, or a column and its rounds."
            continue
        width = len(table.measures or table.rounds)
        for name, numbers in table.numbers.items():
            if len(numbers) != width:
                what = "measures" if table.measures else "rounds"
                yield f"published {number}: {name} has {len(numbers)} numbers for {width} {what}."


def _of_parameters(experiment: Experiment, known: Sequence[str]) -> Iterator[str]:
    given = [("set", experiment.set)]
    given += [(f"scale {name}, set", scale.set) for name, scale in experiment.scales.items()]
    given += [(f"{condition.name}, set", condition.set) for condition in experiment.conditions]
    for where, parameters in given:
        for name in parameters:
            if name not in known:
                yield f"{where}: {UnknownName('parameter', name, known)}"


def _of_measures(experiment: Experiment, model: type[SmartModel]) -> Iterator[str]:
    for measure in experiment.measures:
        if measure.agent and measure.data != "agents":
            yield f'{measure.name}: an agent needs data = "agents".'
        if measure.take in model.study.message_measures and measure.data != "messages":
            yield f'{measure.name}: {measure.take} needs data = "messages".'
        elif measure.take not in (known := (*TAKES, *model.study.message_measures)):
            yield f"{measure.name}: {UnknownName('take', measure.take, known)}"


def _of_claims(experiment: Experiment, model: type[SmartModel]) -> Iterator[str]:
    """The claims whose measure does not fit, and unknown assumptions."""
    measures = {measure.name: measure for measure in experiment.measures}
    assumptions = dict[str, str]()
    if any(claim.assumption for claim in experiment.claims):
        for minds in classical_by_class(model).values():
            assumptions |= {name: "" for mind in minds.values() for name in assumptions_of(mind)}
    for number, claim in enumerate(experiment.claims, 1):
        if claim.assumption and claim.assumption not in assumptions:
            yield f"claims {number}: {UnknownName('assumption', claim.assumption, assumptions)}"
        if not {measure for measure, _ in claim.places} <= set(measures):
            continue
        if isinstance(claim, TrendClaim) and measures[claim.measure].take != "trend":
            yield f'claims {number}: a claim of the kind trend needs a measure with take = "trend".'
        if experiment.statistic(claim) == ("mean", None):
            yield (
                f"claims {number}: no test of a mean is valid without bounds: give {claim.measure} "
                'bounds = [LOW, HIGH], or the claim estimand = "median" or "share".'
            )


def _of_plots(experiment: Experiment, model: type[SmartModel]) -> Iterator[str]:
    people = human_distributions()
    for number, plot in enumerate(experiment.plots, 1):
        if plot.theory and plot.theory not in model.study.theory_marks:
            yield f"plots {number}: {UnknownName('theory', plot.theory, model.study.theory_marks)}"
        if plot.human and plot.human not in people:
            yield f"plots {number}: {UnknownName('distribution of people', plot.human, people)}"


def _of_earlier_runs(experiment: Experiment, model: type[SmartModel]) -> Iterator[str]:
    """The faults of earlier runs that conditions build on."""
    named = sorted({c.builds_on for c in experiment.conditions if c.builds_on})
    sources = sorted({name.rpartition("/")[0] for name in named})
    if not named:
        return
    if model.study.builds_on is None:
        yield f"runs of {experiment.scenario} build on no other run."
    elif len(sources) > 1:
        yield f"its conditions build on several experiments: {sources}."
    else:
        try:
            earlier = load_experiment(sources[0])
        except UsageError as error:
            yield str(error)
            return
        if earlier.scenario != model.study.builds_on.scenario:
            yield (
                f"{earlier.name} runs {earlier.scenario}, but {experiment.scenario} continues runs "
                f"of {model.study.builds_on.scenario}."
            )
            return
        known = [condition.name for condition in earlier.conditions if not condition.fork_of]
        for reference in named:
            if (name := reference.rpartition("/")[2]) not in known:
                yield str(UnknownName(f"condition of {earlier.name}", name, known))


def _of_other_scenarios(experiment: Experiment, model: type[SmartModel]) -> Iterator[str]:
    """The faults of conditions with another scenario."""
    for condition in experiment.conditions:
        if not condition.scenario:
            continue
        if condition.fork_of or condition.builds_on:
            yield f"{condition.name}: a run that continues or builds on another has its scenario."
        try:
            other = scenario(condition.scenario)
        except UnknownName as error:
            yield f"{condition.name}: {error}"
            continue
        if set(other.model_columns) != set(model.model_columns):
            yield (
                f"{condition.name}: {condition.scenario} has other columns than "
                f"{experiment.scenario}."
            )


def classical_by_class(model: type[SmartModel]) -> dict[str, Mapping[str, Any]]:
    """The name of a class of agents → its classical minds, or ``""`` → those of the scenario.

    A model without such minds is built to get its classes.
    """
    if model.classical_minds:
        return {"": model.classical_minds}
    trial = model(minds="fixed:0", recording=False)
    return {
        agent_class.__name__: trial.classical_of(agent_class)
        for agent_class in trial.agent_classes()
    }


def check_columns(experiment: Experiment, known: Mapping[Data, Sequence[str]]) -> None:
    """Check that every column exists that measures, plots and published courses name."""
    named: list[tuple[str, Data, Sequence[str]]] = [
        *((f"measure {measure.name}", measure.data, measure.columns)
          for measure in experiment.measures),
        *((f"plot {plot.title!r}", "agents" if plot.kind == "values" else "model", plot.columns)
          for plot in experiment.plots),
        *((f"published course of {', '.join(table.numbers)}", "model", [table.column])
          for table in experiment.published if table.column),
    ]  # fmt: skip
    for what, data, columns in named:
        for column in columns:
            if column not in known[data]:
                raise ParameterError(
                    f"Experiment {experiment.name}, {what}: there is no column {column!r} in the "
                    f"data of the {data}; there are {', '.join(known[data])}."
                )
