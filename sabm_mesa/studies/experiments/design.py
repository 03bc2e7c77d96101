"""The file of an experiment: its schema, and strict reading.

An experiment is one TOML file: conditions of a scenario, measures, claims, published figures and
plots. Pydantic checks types and keys; then references between entries and to the scenario are
checked. All mistakes that can be detected together are reported together.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from sabm_mesa.analysis.messages import CODES
from sabm_mesa.analysis.tests import Of
from sabm_mesa.core.parameters import check_int, parameters_of
from sabm_mesa.core.toml_io import read_toml
from sabm_mesa.errors import ParameterError, UnknownName, UsageError
from sabm_mesa.minds.base import assumptions_of
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import is_file, load, scenario
from sabm_mesa.studies.people import human_distributions

Data = Literal["model", "agents", "messages"]
Kind = Literal["below", "above", "within", "less", "more", "like", "equal_effects", "trend"]
Cost = Literal["small", "medium", "large"]
TAKES = (
    "mean", "change", "slope", "sd", "min", "max", "sum", "mode", "share", "first", "settles",
    "trend",
)  # fmt: skip
"""How a measure is computed in any scenario (see `Measure.take`)."""
SCALES = ("quick", "paper")
COMPARED = ("less", "more", "like", "equal_effects")
"""Kinds of claims that compare conditions."""
ALPHA = 0.05
"""The default `alpha`: the probability of any wrong verdict if no claim were true or false."""
COSTS: Mapping[Cost, int] = {"small": 2_000, "medium": 20_000, "large": 10**9}
"""Cost class → the maximum number of questions to language models at paper scale."""
OF_MESSAGES = ("round", "speaker", "text", *CODES)
"""The columns of the messages."""


def _as_tuple(value: Any) -> Any:
    """A list as a tuple; a single value as a tuple of one."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _as_pair(value: Any) -> Any:
    values = _as_tuple(value)
    if len(values) != 2:
        raise PydanticCustomError("length", "must be a list of 2 (got {got}).", {"got": value})
    return values


def _as_tables(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("tables", "must be a list of tables.")
    return tuple(value)


Texts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Numbers = Annotated[tuple[float, ...], BeforeValidator(_as_tuple)]
Rounds = Annotated[tuple[int, ...], BeforeValidator(_as_tuple)]


class Entry(BaseModel):
    """A table of an experiment file: no other keys, no conversion between types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Scale(Entry):
    """The size of an experiment.

    Attributes:
        runs: the number of runs per condition.
        set: parameters of all conditions at this scale.
    """

    runs: int
    set: Mapping[str, Any] = Field(default_factory=dict)


class Condition(Entry):
    """One condition of an experiment.

    Attributes:
        name: its name.
        label: its name on plots and in reports.
        set: its parameters.
        minds: the minds of the published runs, if they define the condition, or if its claims are
            only about language models, which other minds cannot judge.
        mix: slot → number of agents, if several kinds of minds play (see `Experiment.slots`).
        fork_of: the condition whose runs it continues, or ``""``.
        at: scale → the round of the fork.
        builds_on: ``EXPERIMENT/CONDITION``: an earlier run that all runs of the condition build on
            (see `SmartModel.builds_on`); or ``""``. It is played once, by the language model of the
            condition, or by classical minds without one.
        scenario: another scenario with the same columns, such as another commons; ``""``: that of
            the experiment.
    """

    name: str
    label: str
    scenario: str = ""
    set: Mapping[str, Any] = Field(default_factory=dict)
    minds: str = ""
    mix: Mapping[str, int] = Field(default_factory=dict)
    fork_of: str = ""
    at: Mapping[str, int] = Field(default_factory=dict)
    builds_on: str = ""


class Group(Entry):
    """Several conditions that a claim combines: the mean of their runs of the same seed.

    Attributes:
        name: its name, which claims can use in place of a condition.
        label: its name in reports.
        conditions: the names of its conditions.
    """

    name: str
    label: str
    conditions: Texts


class Measure(Entry):
    """One number of a run.

    Attributes:
        name: its name in ``measures.csv``.
        label: a description in a few words.
        columns: its data columns; with several, all values have the same weight.
        take: how: ``mean``, ``sd``, ``min``, ``max``, ``sum`` of the values, or their ``mode`` (the
            most frequent one, the smallest of several); ``change`` from the first to the last
            round; ``slope`` per round; ``share`` of the values from `low` to `high`; ``first``
            round with all values from `low` to `high`; ``settles``: the round from which on all
            stay within `high` of the final price (see `settling_round`); ``trend``: Kendall's tau
            of the values and their rounds, from −1 (a fall in every round) to 1 (a rise in every
            round; Kendall 1938); or a measure of messages that the scenario declares (see
            `SmartModel.message_measures`).
        data: its data: of the ``model``, of its ``agents``, or their ``messages`` with the codes of
            the message coder as columns.
        rounds: the first and the last round that count, from 0; negative numbers count from the
            end. A shorter run keeps its last values.
        agent: the number of the only agent that counts in data of ``agents``; 0: all agents.
        low: see `take`.
        high: see `take`.
        never: the value of a run in which the event of ``first``, ``settles`` or a measure of
            messages does not happen; NaN: none. Without it a claim on an early event is judged only
            by the runs with that event.
        bounds: the least and the greatest possible value of the measure in a run, which a claim
            about a mean needs; by default they follow from the take and the scenario's bounds of
            the columns (see `bounds_of`).
        unit: the unit, or ``""``.
    """

    name: str
    label: str
    columns: Texts
    take: str = "mean"
    data: Data = "model"
    rounds: Annotated[tuple[int, int], BeforeValidator(_as_pair)] = (0, -1)
    agent: int = 0
    low: float = float("-inf")
    high: float = float("inf")
    never: float = float("nan")
    bounds: Annotated[tuple[float, float] | None, BeforeValidator(_as_pair)] = None
    unit: str = ""


class Claim(Entry):
    """A published statement about a measure that runs can support or not.

    Attributes:
        text: the claim in a sentence.
        source: its publication.
        measure: the name of the measure.
        kind: the measure of `condition` is ``below`` or ``above`` `value`; ``within`` `low` and
            `high`; ``less`` or ``more`` than that of `than`; ``like`` it, up to `margin`;
            ``equal_effects``: the difference between `condition` and `than` is that between
            the two of `other_effect`, up to `margin` (without one the verdict is whether they
            differ);
            ``trend``: the measure, which is a ``trend``, is above `value`, or, if `falling`, below
            it.
        estimand: the quantity of the claim: the ``median`` of the runs (for two conditions the
            median difference), their ``mean``, whose measure needs bounds, or the ``share`` of runs
            in which something holds (the measure is 0 or 1 in each run). ``""``: the mean of a
            measure that is a share, else the median.
        condition: its condition or group of conditions.
        than: the condition or group for comparison.
        other_effect: see `kind`: two conditions or groups.
        than_measure: the measure for comparison, if that is another one, such as the same number of
            another player; without `than` it is taken from the same runs.
        value: see `kind`.
        low: see `kind`.
        high: see `kind`.
        margin: see `kind`.
        falling: see `kind`.
        ours: the part of the statement that is our choice (such as a limit that the source does not
            give).
        assumption: the assumption of classical minds that implies the claim (a name in their
            `assumes`), or ``""``.
    """

    text: str
    source: str
    measure: str
    kind: Kind
    condition: str
    estimand: Literal["", "mean", "median", "share"] = ""
    than: str = ""
    other_effect: Texts = ()
    than_measure: str = ""
    value: float = 0.0
    low: float = float("-inf")
    high: float = float("inf")
    margin: float = 0.0
    falling: bool = False
    ours: str = ""
    assumption: str = ""


class Figures(Entry):
    """Published numbers.

    Attributes:
        condition: their condition; ``""`` for people.
        source: their publication.
        numbers: the published numbers.
        measure: the comparable measure, or ``""``.
        column: the model column of the course, or ``""``.
        rounds: their rounds.
        label: their subject, for plots.
        scale: the scale of comparable runs; ``""``: any.
    """

    condition: str
    source: str
    numbers: Numbers
    measure: str = ""
    column: str = ""
    rounds: Rounds = ()
    label: str = ""
    scale: Literal["", "quick", "paper"] = ""


class Plot(Entry):
    """A plot that puts the conditions of an experiment side by side.

    Attributes:
        kind: ``rounds``: the mean of model columns by round and condition, with a bootstrap
            interval over runs; ``values``: the distribution of an agent column in one round.
        title: its title.
        columns: the columns; with several, their mean.
        label: the axis of the values, with its unit.
        round: the round of a distribution.
        theory: the predictions to draw, by their name in `SmartModel.theory_marks`, or ``""``.
        human: the distribution of people to draw, by its name in
            `sabm_mesa.studies.people.human_distributions`, or ``""``.
    """

    kind: Literal["rounds", "values"]
    title: str
    columns: Texts
    label: str
    round: int = 0
    theory: str = ""
    human: str = ""


class Experiment(Entry):
    """A published experiment.

    Attributes:
        name: its name: that of its file.
        title: a description of its content.
        question: the question in a sentence.
        source: the publication.
        scenario: the scenario.
        minds: the minds that decided in the published runs.
        cost: its cost class at paper scale (see `COSTS`).
        scales: ``quick`` and ``paper``.
        conditions: the conditions.
        groups: groups of conditions that claims combine.
        measures: the measures.
        claims: the published claims.
        published: the published numbers.
        slots: kinds of minds that conditions mix → the default mind: ``given`` (the minds for all),
            or a spec.
        plots: the plots that compare conditions.
        show: the scenario's plots of each condition in the report.
        set: parameters of all conditions.
        alpha: the level of the verdicts: the probability of any wrong one, if no claim were true or
            false.
        notes: facts that were calibrated, chosen by us, or are unknown.
    """

    name: str
    title: str
    question: str
    source: str
    scenario: str
    minds: str
    cost: Cost
    scales: Mapping[str, Scale]
    conditions: Annotated[tuple[Condition, ...], BeforeValidator(_as_tables)] = ()
    groups: Annotated[tuple[Group, ...], BeforeValidator(_as_tables)] = ()
    measures: Annotated[tuple[Measure, ...], BeforeValidator(_as_tables)] = ()
    claims: Annotated[tuple[Claim, ...], BeforeValidator(_as_tables)] = ()
    published: Annotated[tuple[Figures, ...], BeforeValidator(_as_tables)] = ()
    slots: Mapping[str, str] = Field(default_factory=dict)
    plots: Annotated[tuple[Plot, ...], BeforeValidator(_as_tables)] = ()
    show: Texts = ()
    set: Mapping[str, Any] = Field(default_factory=dict)
    alpha: float = ALPHA
    notes: Texts = ()

    def condition(self, name: str) -> Condition:
        """The condition of a name."""
        return next(condition for condition in self.conditions if condition.name == name)

    def members(self, name: str) -> tuple[str, ...]:
        """The conditions of a group, or the condition, with a name."""
        members = [group.conditions for group in self.groups if group.name == name]
        return members[0] if members else (name,)

    def measure(self, name: str) -> Measure:
        """The measure of a name."""
        return next(measure for measure in self.measures if measure.name == name)


TABLES: Mapping[str, type[Entry]] = {
    "conditions": Condition, "groups": Group, "measures": Measure, "claims": Claim,
    "published": Figures, "plots": Plot,
}  # fmt: skip
"""Key of a list of tables → the noun for one of its tables."""


def of_claim(measure: Measure, claim: Claim) -> Of:
    """The quantity of the runs that a claim is about.

    Args:
        measure: its measure.
        claim: the claim.
    """
    return claim.estimand or ("mean" if measure.take == "share" else "median")


def measures_of(claim: Claim) -> tuple[str, str]:
    """The measure of a claim, and the one for comparison, which may be the same."""
    return claim.measure, claim.than_measure or claim.measure


def bounds_of(experiment: Experiment, *measures: str) -> tuple[float, float] | None:
    """The bounds of measures in one run, or None if unknown.

    Args:
        experiment: the experiment.
        measures: their names.
    """
    all_bounds = [_bounds(experiment, experiment.measure(name)) for name in measures]
    known = [bounds for bounds in all_bounds if bounds is not None]
    if len(known) < len(all_bounds):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _bounds(experiment: Experiment, measure: Measure) -> tuple[float, float] | None:
    if measure.bounds is not None:
        return measure.bounds
    if measure.take == "share":
        return 0.0, 1.0
    if measure.take == "trend":
        return -1.0, 1.0
    declared = scenario(experiment.scenario).column_bounds if experiment.scenario else {}
    codes = dict.fromkeys(CODES, (0.0, 1.0)) if measure.data == "messages" else {}
    known = [{**declared, **codes}.get(column) for column in measure.columns]
    if any(bound is None for bound in known):
        return None
    low = min(bound[0] for bound in known if bound is not None)
    high = max(bound[1] for bound in known if bound is not None)
    match measure.take:
        case "mean" | "min" | "max" | "mode":
            return low, high
        case "change":
            return low - high, high - low
        case "sd":
            return 0.0, (high - low) / 2
    return None


def experiment_names() -> list[str]:
    """The names of the experiments that come with the package, in alphabetical order."""
    return sorted(_built_in())


def is_own(experiment: Experiment) -> bool:
    """Whether an experiment is from the user, not a published one of the package.

    Args:
        experiment: the experiment.
    """
    return experiment.name not in _built_in()


@cache
def _built_in() -> dict[str, Path]:
    """Name → file, of the experiments in the folders of the scenarios."""
    paths = _models_folder().glob("*/experiments/*.toml")
    return {path.stem: path for path in paths}


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
    return parse_experiment(str(name), _built_in()[str(name)].read_text("utf-8"))


def experiments_of(scenario: str) -> list[Experiment]:
    """The experiments of a scenario that come with the package, in alphabetical order.

    Only their files are checked, since checking a file imports its scenario.

    Args:
        scenario: the name of the scenario.
    """
    texts = {name: _built_in()[name].read_text("utf-8") for name in experiment_names()}
    line = f'\nscenario = "{scenario}"\n'
    return [parse_experiment(name, text) for name, text in texts.items() if line in text]


def parse_experiment(name: str, text: str) -> Experiment:
    """An experiment from the text of its file.

    Args:
        name: its name.
        text: the TOML; no scenario in it is a file.

    Raises:
        ParameterError: when entries cannot be used; it names all that can be detected together.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"Experiment {name}: {error}.") from None
    return _checked(name, data)


def _checked(name: str, data: dict[str, Any]) -> Experiment:
    experiment: Experiment | None
    wrong: list[str] = []
    try:
        experiment = Experiment.model_validate({**data, "name": name})
    except ValidationError as invalid:
        errors = invalid.errors(include_url=False)
        wrong = [_message(error) for error in errors]
        experiment = _repaired(name, data, errors)
    if experiment is not None:
        wrong += _mistakes(experiment)
    if wrong or experiment is None:
        raise ParameterError(_all(name, wrong))
    return experiment


def _all(name: str, wrong: Sequence[str]) -> str:
    if len(wrong) == 1:
        return f"Experiment {name}, {wrong[0]}"
    listed = " ".join(f"({number}) {mistake}" for number, mistake in enumerate(wrong, 1))
    return f"Experiment {name} has {len(wrong)} mistakes: {listed}"


def _place(at: Sequence[str | int]) -> tuple[type[Entry], str, Sequence[str | int]]:
    """The table of an error, its name in messages, and the position of the error within it."""
    if len(at) > 1 and at[0] in TABLES:
        return TABLES[str(at[0])], f"{at[0]} {int(at[1]) + 1}", at[2:]
    if len(at) > 1 and at[0] == "scales":
        return Scale, f"scale {at[1]}", at[2:]
    return Experiment, "", at


_TYPES = {"string_type": "str", "int_type": "int", "float_type": "float"}


def _message(error: ErrorDetails) -> str:
    """One error of pydantic as a sentence that names the entry."""
    table, where, within = _place(error["loc"])
    before = f"{where}: " if where else ""
    if not within:
        return f"{before}it must be a table."
    key, got = str(within[0]), repr(error["input"])
    entry = ", ".join(map(str, ([where] if where else []) + [*within]))
    match error["type"]:
        case "missing":
            return f"{before}the entry {key!r} is missing."
        case "extra_forbidden":
            return f"{before}{UnknownName('entry', key, table.model_fields)}"
        case "literal_error":
            known = map(str, get_args(table.model_fields[key].annotation))
            return f"{entry}: {UnknownName('value', str(error['input']), known)}"
        case "tables" | "length":
            return (
                f"{entry} {error['msg']}"
                if error["type"] == "tables"
                else (f"{entry}: {error['msg']}")
            )
        case "dict_type" | "mapping_type" | "model_type":
            return f"{entry}: must be a table (got {got})."
    entry = ", ".join(filter(None, (where, key)))
    return f"{entry}: must be of type {_TYPES.get(error['type'], error['type'])} (got {got})."


def _repaired(name: str, data: Any, errors: Sequence[ErrorDetails]) -> Experiment | None:
    """The experiment without wrong entries, for further checks; None when it cannot be repaired."""
    data = copy.deepcopy({**data, "name": name})
    for error in errors:
        *path, key = error["loc"]
        at: Any = data
        for step in path:
            at = at[step]
        field = _place(error["loc"])[0].model_fields.get(str(key))
        match error["type"]:
            case "extra_forbidden":
                del at[key]
            case "missing" | "literal_error" if field is not None:
                at[key] = _neutral(field.annotation)
            case _:
                return None
    try:
        return Experiment.model_validate(data)
    except ValidationError:
        return None


def _neutral(annotation: Any) -> Any:
    """A neutral value of a type."""
    if annotation == Mapping[str, Scale]:
        return {scale: {"runs": 1} for scale in SCALES}
    if get_origin(annotation) is Literal:
        return get_args(annotation)[0]
    return {str: "", int: 1, float: 0.0}.get(annotation, ())


def _mistakes(experiment: Experiment) -> list[str]:
    """Invalid references of an experiment, and contradictory entries."""
    wrong = [
        f"the scale {scale!r} is missing." for scale in SCALES if scale not in experiment.scales
    ]
    if not 0 < experiment.alpha < 1:
        wrong.append(f"alpha must be between 0 and 1 (got {experiment.alpha:g}).")
    wrong += [*_of_names(experiment), *_of_references(experiment), *_of_trend_claims(experiment)]
    for measure in experiment.measures:
        if measure.agent and measure.data != "agents":
            wrong.append(f'{measure.name}: an agent needs data = "agents".')
    for condition in experiment.conditions:
        wrong += [
            f"{condition.name}: {mistake}" for mistake in _of_condition(experiment, condition)
        ]
    try:
        model = scenario(experiment.scenario) if experiment.scenario else None
    except UnknownName as error:
        return [str(error), *wrong]
    if model is not None:
        wrong += _of_parameters(experiment, list(parameters_of(model)))
        wrong += _of_declarations(experiment, model)
        if not wrong:
            wrong += _of_estimands(experiment)
        wrong += _of_earlier_runs(experiment, model)
        wrong += _of_other_scenarios(experiment, model)
    return wrong


def _of_names(experiment: Experiment) -> Iterator[str]:
    conditions = [condition.name for condition in experiment.conditions]
    measures = [measure.name for measure in experiment.measures]
    for kind, given in (("condition", conditions), ("measure", measures)):
        if not given or len(set(given)) < len(given):
            yield f"it needs one {kind} or more, each with its own name."
    groups = [group.name for group in experiment.groups]
    for name in sorted(name for name in groups if name in conditions or groups.count(name) > 1):
        yield f"{name} is the name of a group and of another entry."
    for name in sorted(set(experiment.slots) & set(conditions)):
        yield f"{name} is the name of a slot and of a condition."


def _of_references(experiment: Experiment) -> Iterator[str]:
    known = {
        "measure": [measure.name for measure in experiment.measures],
        "condition": [condition.name for condition in experiment.conditions],
        "condition or group": [
            *(condition.name for condition in experiment.conditions),
            *(group.name for group in experiment.groups),
        ],
        "condition to fork": [
            condition.name for condition in experiment.conditions if not condition.fork_of
        ],
    }
    for where, kind, name in _named(experiment):
        if name and name not in known[kind]:
            yield f"{where}: {UnknownName(kind, name, known[kind])}"


def _of_trend_claims(experiment: Experiment) -> Iterator[str]:
    """Yield the claims about a trend whose measure is none."""
    takes = {measure.name: measure.take for measure in experiment.measures}
    for number, claim in enumerate(experiment.claims, 1):
        if claim.kind == "trend" and takes.get(claim.measure) != "trend":
            yield f'claims {number}: a claim of the kind trend needs a measure with take = "trend".'


def _of_estimands(experiment: Experiment) -> Iterator[str]:
    """Yield the claims whose quantity has no valid test, or that lack entries of their kind."""
    for number, claim in enumerate(experiment.claims, 1):
        of = of_claim(experiment.measure(claim.measure), claim)
        if claim.kind == "equal_effects" and len(claim.other_effect) != 2:
            yield f"claims {number}: equal_effects needs other_effect with two conditions."
        if claim.kind == "like" and not claim.margin > 0:
            yield f"claims {number}: like needs a margin above 0."
        if of == "mean" and bounds_of(experiment, *measures_of(claim)) is None:
            yield (
                f"claims {number}: no test of a mean is valid without bounds: give {claim.measure} "
                'bounds = [LOW, HIGH], or the claim estimand = "median" or "share".'
            )


def _of_condition(experiment: Experiment, condition: Condition) -> Iterator[str]:
    if condition.fork_of and set(condition.at) != set(SCALES):
        yield "at must name quick and paper."
    if condition.fork_of and condition.builds_on:
        yield f"it builds on the same run as {condition.fork_of}: leave builds_on out."
    for slot, n in condition.mix.items():
        if slot not in experiment.slots:
            yield f"mix: {UnknownName('slot', slot, experiment.slots)}"
        else:
            try:
                check_int(slot, n, 1)
            except ParameterError as error:
                yield f"mix: {error}"


def _of_parameters(experiment: Experiment, known: Sequence[str]) -> Iterator[str]:
    given = [("set", experiment.set)]
    given += [(f"scale {name}, set", scale.set) for name, scale in experiment.scales.items()]
    given += [(f"{condition.name}, set", condition.set) for condition in experiment.conditions]
    for where, parameters in given:
        for name in parameters:
            if name not in known:
                yield f"{where}: {UnknownName('parameter', name, known)}"


def classical_by_class(model: type[SmartModel]) -> dict[str, Mapping[str, Any]]:
    """The name of a class of agents → its classical minds, or ``""`` → those of the scenario.

    Args:
        model: the model class. A model without such minds is built to get its classes.

    Raises:
        UsageError: when it cannot be built.
    """
    if model.classical_minds:
        return {"": model.classical_minds}
    trial = model(minds="fixed:0", recording=False)
    return {
        agent_class.__name__: trial.classical_of(agent_class)
        for agent_class in trial.agent_classes()
    }


def _of_assumptions(experiment: Experiment, model: type[SmartModel]) -> Iterator[str]:
    """Yield the assumptions of claims that no classical mind declares."""
    named = [
        (n, claim.assumption) for n, claim in enumerate(experiment.claims, 1) if claim.assumption
    ]
    by_class = classical_by_class(model) if named else {}
    factories = [factory for known in by_class.values() for factory in known.values()]
    declared = dict.fromkeys(name for factory in factories for name in assumptions_of(factory))
    for number, name in named:
        if name not in declared:
            yield f"claims {number}: {UnknownName('assumption', name, declared)}"


def _of_declarations(experiment: Experiment, model: type[SmartModel]) -> Iterator[str]:
    """Names that the scenario does not declare."""
    for measure in experiment.measures:
        if measure.take in model.message_measures and measure.data != "messages":
            yield f'{measure.name}: {measure.take} needs data = "messages".'
        elif measure.take not in (known := (*TAKES, *model.message_measures)):
            yield f"{measure.name}: {UnknownName('take', measure.take, known)}"
    yield from _of_assumptions(experiment, model)
    for number, plot in enumerate(experiment.plots, 1):
        if plot.theory and plot.theory not in model.theory_marks:
            yield f"plots {number}: {UnknownName('theory', plot.theory, model.theory_marks)}"
        if plot.human and plot.human not in human_distributions():
            human = UnknownName("distribution of people", plot.human, human_distributions())
            yield f"plots {number}: {human}"


def _of_earlier_runs(experiment: Experiment, model: type[SmartModel]) -> Iterator[str]:
    """Yield the faults of earlier runs that conditions build on."""
    named = sorted(
        {condition.builds_on for condition in experiment.conditions if condition.builds_on}
    )
    sources = sorted({name.rpartition("/")[0] for name in named})
    if not named:
        return
    if model.builds_on is None:
        yield f"runs of {experiment.scenario} build on no other run."
    elif len(sources) > 1:
        yield f"its conditions build on several experiments: {sources}."
    else:
        try:
            earlier = load_experiment(sources[0])
        except UsageError as error:
            yield str(error)
            return
        if earlier.scenario != model.builds_on.scenario:
            yield (
                f"{earlier.name} runs {earlier.scenario}, but {experiment.scenario} continues runs "
                f"of {model.builds_on.scenario}."
            )
            return
        known = [condition.name for condition in earlier.conditions if not condition.fork_of]
        for reference in named:
            if (name := reference.rpartition("/")[2]) not in known:
                yield str(UnknownName(f"condition of {earlier.name}", name, known))


def _of_other_scenarios(experiment: Experiment, model: type[SmartModel]) -> Iterator[str]:
    """Yield the faults of conditions with another scenario."""
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


def _named(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    """The measures and conditions in other entries, and their places."""
    yield from _named_by_claims(experiment)
    for number, published in enumerate(experiment.published, 1):
        yield f"published {number}", "measure", published.measure
        yield f"published {number}", "condition", published.condition
    for group in experiment.groups:
        for name in group.conditions:
            yield f"group {group.name}", "condition", name
    for condition in experiment.conditions:
        yield condition.name, "condition to fork", condition.fork_of


def _named_by_claims(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    for number, claim in enumerate(experiment.claims, 1):
        yield f"claims {number}", "measure", claim.measure
        yield f"claims {number}", "condition or group", claim.condition
        if claim.than_measure:
            yield f"claims {number}", "measure", claim.than_measure
        if claim.kind in COMPARED and not (claim.than or claim.than_measure):
            yield f"claims {number}", "condition", "(none: than is missing)"
        elif claim.kind in COMPARED and claim.than:
            yield f"claims {number}", "condition or group", claim.than
        for name in claim.other_effect:
            yield f"claims {number}", "condition or group", name


class PublishedModel(Entry):
    """A language model of published runs, and its availability.

    Attributes:
        provider: its provider or maker.
        withdrawn: the day of its withdrawal, as ``YYYY-MM-DD``, or a few words; ``""``: it is
            available.
        successors: models that can replace it, with the day of their version.
        source: where these facts are published.
    """

    provider: str
    withdrawn: str
    successors: Texts = ()
    source: str


@cache
def published_models() -> dict[str, PublishedModel]:
    """Name of a language model of published runs → its availability (``models.toml``)."""
    text = files("sabm_mesa.studies.experiments").joinpath("models.toml").read_text("utf-8")
    return {
        name: PublishedModel.model_validate(entry) for name, entry in tomllib.loads(text).items()
    }


def models_of(experiment: Experiment) -> list[str]:
    """The names of the language models of the published runs.

    Args:
        experiment: the experiment.
    """
    named = [experiment.minds, *(condition.minds for condition in experiment.conditions)]
    return list(dict.fromkeys(re.findall(r"llm:([^\s,]+)", " ".join(named))))


def _models_folder() -> Path:
    return Path(str(files("sabm_mesa.models")))


def check_columns(experiment: Experiment, known: Mapping[Data, Sequence[str]]) -> None:
    """Check that every column exists that measures, plots and published courses name.

    Args:
        experiment: the experiment.
        known: the columns of the data of the ``model``, of its ``agents`` and of the ``messages``.

    Raises:
        ParameterError: for a missing column.
    """
    for what, data, column in _named_columns(experiment):
        if column not in known[data]:
            raise ParameterError(
                f"Experiment {experiment.name}, {what}: there is no column {column!r} in the data "
                f"of the {data}; there are {', '.join(known[data])}."
            )


def _named_columns(experiment: Experiment) -> Iterator[tuple[str, Data, str]]:
    """Yield the part that names a column, the data it is in, and its name."""
    for measure in experiment.measures:
        for column in measure.columns:
            yield f"measure {measure.name}", measure.data, column
    for plot in experiment.plots:
        for column in plot.columns:
            yield f"plot {plot.title!r}", "agents" if plot.kind == "values" else "model", column
    for published in experiment.published:
        if published.column:
            yield f"published course of {published.condition}", "model", published.column
