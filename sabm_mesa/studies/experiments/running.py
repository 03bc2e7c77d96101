"""The runs of an experiment: the plan, playing what is missing, its cost, and reading the runs.

A plan is conditions times seeds, with the chosen minds. All its runs are in one recording, each
tagged with its condition. Finished runs are not played again, interrupted ones continue, and
missing ones are played, all at the same time and within one budget. Earlier runs that these build
on have a separate recording in the folder ``earlier``, and come first.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import pandas as pd

from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.parameters import check_choice, check_int
from sabm_mesa.errors import ParameterError, RecordingError, UnknownName
from sabm_mesa.llm import Connection
from sabm_mesa.minds.llm import varied_sampling
from sabm_mesa.minds.specs import Minds, by_spec, describe_minds, language_model, named_in
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import scenario
from sabm_mesa.recording import RecordedRun, load_runs
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.cost import Cost, Estimate, Line, Range, estimate
from sabm_mesa.runs.planned import RunSpec, find_runs, run_missing
from sabm_mesa.runs.run import Watch
from sabm_mesa.studies.experiments.schema import (
    OF_MESSAGES,
    SCALES,
    Condition,
    Data,
    Experiment,
    Figures,
    check_columns,
    load_experiment,
)
from sabm_mesa.studies.judging import message_coder

GIVEN = "given"
"""In a slot: the given mind for all."""
SEED = 1
"""The default of the first seed, so that the same command finds its runs again."""
RECORDING, EARLIER = "recording.sqlite", "earlier"
FORKED = "Runs that continue others count at least with their own rounds."
EARLIER_RUNS = "The tokens do not include what comes from an earlier run that is still missing."

Name = tuple[str, int]
"""(condition, seed)"""


# Minds.


def minds_of(experiment: Experiment, minds: Minds | Mapping[str, Minds]) -> dict[str, Minds]:
    """Condition → the minds that decide in it.

    The minds decide in all conditions; or they are condition or slot → those in it, with
    ``"classical"`` by default.

    Raises:
        UnknownName: for a condition that does not exist.
        ParameterError: for minds of a condition that continues another one, and for several minds
            in one slot.
    """
    places = [*experiment.slots, *(condition.name for condition in experiment.conditions)]
    by_place: Mapping[str, Minds] = {}
    for_all = cast(Minds, minds)
    if isinstance(minds, Mapping) and set(minds) & set(places):
        by_place, for_all = cast(Mapping[str, Minds], minds), "classical"
    for name in by_place:
        if name not in places:
            raise UnknownName(f"condition of {experiment.name}", name, places)
    for condition in experiment.conditions:
        if condition.fork_of and condition.name in by_place:
            raise ParameterError(
                f"{condition.name} continues the runs of {condition.fork_of}: name the minds "
                "of that one."
            )
    by_condition = {
        condition.name: by_place.get(condition.name)
        or _mixed(experiment, condition, by_place, for_all)
        for condition in experiment.conditions
    }
    return {
        condition.name: by_condition[condition.fork_of or condition.name]
        for condition in experiment.conditions
    }


def _mixed(
    experiment: Experiment, condition: Condition, by_slot: Mapping[str, Minds], for_all: Minds
) -> Minds:
    """The default minds of a condition: those for all, or its mixture of slots."""
    if not condition.mix:
        return for_all
    counts: dict[Any, int] = {}
    for slot, n in condition.mix.items():
        default = experiment.slots[slot]
        mind: Any = by_slot.get(slot, for_all if default == GIVEN else default)
        if isinstance(mind, Mapping | list | tuple):
            raise ParameterError(
                f"{experiment.name} mixes minds itself ({', '.join(experiment.slots)}): name one "
                f"for {slot} (--minds {slot}=SPEC), not several."
            )
        counts[mind] = counts.get(mind, 0) + n
    return next(iter(counts)) if len(counts) == 1 else counts


def specs_of(minds: Minds) -> list[str]:
    """The specs of minds: one for all; spec → number of agents; or one per agent."""
    return named_in(by_spec(minds))


def described(minds: Minds) -> str:
    """Minds in a few words."""
    return describe_minds(by_spec(minds))


# The plan.


@dataclass(frozen=True)
class ExperimentRun:
    """One run of an experiment.

    Attributes:
        parameters: its initial parameters, without the seed.
        fork_of: the condition whose runs it continues, or ``""``.
        at: the round of the fork.
        changes: the parameters that change at the fork.
        builds_on: the condition of the earlier run that it builds on, or ``""``.
    """

    condition: str
    seed: int
    parameters: Mapping[str, Any]
    fork_of: str = ""
    at: int = 0
    changes: Mapping[str, Any] = field(default_factory=dict)
    builds_on: str = ""


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment.

    Attributes:
        runs: runs a condition.
        cells: the runs: condition by condition, in the order of their seeds.
        minds: condition → the minds that decide.
        earlier: the earlier runs that these build on, one per condition, or None.
    """

    experiment: Experiment
    scale: str
    runs: int
    cells: Sequence[ExperimentRun]
    minds: Mapping[str, Minds]
    earlier: Plan | None = None

    @property
    def model(self) -> type[SmartModel]:
        """The model class of the experiment."""
        return scenario(self.experiment.scenario)

    def model_of(self, condition: str) -> type[SmartModel]:
        """The model class of a condition, which may have another scenario."""
        return scenario(self.experiment.condition(condition).scenario or self.experiment.scenario)

    @cached_property
    def specs(self) -> dict[Name, RunSpec]:
        """(condition, seed) → the run, tagged with its condition, in the order of the cells."""
        return {(cell.condition, cell.seed): self._spec(cell) for cell in self.cells}

    def _spec(self, cell: ExperimentRun) -> RunSpec:
        parent = cell.fork_of or cell.condition
        spec = RunSpec(self.model_of(parent), cell.parameters, cell.seed, {"condition": parent})
        if not cell.fork_of:
            return spec
        return spec.forked(cell.at, cell.changes, {"condition": cell.condition})

    def first(self, condition: str) -> ExperimentRun:
        """The first run of a condition."""
        return next(cell for cell in self.cells if cell.condition == condition)

    @property
    def published(self) -> list[Figures]:
        """The published numbers that runs of this scale can be compared with."""
        return [table for table in self.experiment.figures if table.scale in {"", self.scale}]

    @property
    def seeds(self) -> list[int]:
        """The seeds of each condition."""
        return sorted({cell.seed for cell in self.cells})

    @property
    def runs_in_words(self) -> str:
        """The number of runs per condition, in words."""
        return f"{self.runs} run{'s' if self.runs > 1 else ''} a condition"

    @property
    def has_language_models(self) -> bool:
        """Whether any language model decides."""
        return any(language_model(spec) for mind in self.minds.values() for spec in specs_of(mind))

    @property
    def decided_by(self) -> str:
        """The minds that decide, and a note when none is a language model."""
        minds = " / ".join(dict.fromkeys(described(mind) for mind in self.minds.values()))
        return minds if self.has_language_models else f"{minds} (no language model)"

    @cached_property
    def alike(self) -> list[list[str]]:
        """The groups of conditions with the same parameters and minds."""
        groups: dict[str, list[str]] = {}
        for condition in self.experiment.conditions:
            spec = self.specs[condition.name, self.seeds[0]]
            fork = spec.fork
            request = [fork.of.identity, fork.at, dict(fork.changes)] if fork else [spec.identity]
            request = [spec.scenario.scenario_name, *request]
            key = json.dumps(json_roundtrip(request), sort_keys=True)
            groups.setdefault(key, []).append(condition.name)
        return [names for names in groups.values() if len(names) > 1]


def plan(
    experiment: Experiment,
    scale: str = "quick",
    *,
    minds: Minds | Mapping[str, Minds] = "classical",
    runs: int | None = None,
    seed: int = SEED,
) -> Plan:
    """The runs of an experiment; run i of every condition has the seed ``seed + i``.

    Args:
        scale: ``"quick"`` or ``"paper"``.
        minds: the minds that decide in all conditions; or condition, or slot of the experiment →
            those in it, with ``"classical"`` in other conditions.
        runs: the number of runs per condition; None: that of the scale.
        seed: the first seed.

    Raises:
        UsageError: for a scale, minds, a number of runs or a seed that cannot be used.
    """
    check_choice("scale", scale, SCALES)
    chosen = experiment.scales[scale]
    runs = chosen.runs if runs is None else check_int("runs", runs, 1)
    seeds = [check_int("seed", seed, 0) + i for i in range(runs)]
    who = minds_of(experiment, minds)
    common = {**experiment.set, **chosen.set}
    given = {
        condition.name: {**common, **condition.set, "minds": who[condition.name]}
        for condition in experiment.conditions
    }
    builds_on = scenario(experiment.scenario).study.builds_on
    if builds_on is not None:
        for parameters in given.values():
            if (name := builds_on.parameter) in parameters:
                parameters[name] = builds_on.read(parameters[name])  # once, for all runs
    cells = []
    for condition in experiment.conditions:
        parent, at, changes = condition, 0, dict[str, Any]()
        if condition.fork_of:
            parent, at = experiment.condition(condition.fork_of), condition.at[scale]  # noqa: PD008
            before = {**common, **parent.set}
            changes = {k: v for k, v in condition.set.items() if before.get(k) != v}
        earlier = parent.builds_on.rpartition("/")[2]
        cells += [
            ExperimentRun(
                condition.name, seed, given[parent.name], condition.fork_of, at, changes, earlier
            )
            for seed in seeds
        ]
    return Plan(
        experiment, scale, runs, cells, who, _earlier_plan(experiment, scale, who, seeds[0])
    )


# Earlier runs that others build on.


def _earlier_plan(
    experiment: Experiment, scale: str, who: Mapping[str, Minds], seed: int
) -> Plan | None:
    """The earlier runs that conditions build on: one run of each."""
    deciding: dict[str, Minds] = {}
    source = ""
    for condition in experiment.conditions:
        if not condition.builds_on:
            continue
        source, _, name = condition.builds_on.rpartition("/")
        minds = _deciding_earlier(condition.name, who[condition.name])
        if deciding.setdefault(name, minds) != minds:
            raise ParameterError(
                f"Several conditions of {experiment.name} build on {condition.builds_on}: give "
                "them the same minds, since these decide there too."
            )
    if not deciding:
        return None
    whole = load_experiment(source)
    named = tuple(condition for condition in whole.conditions if condition.name in deciding)
    chosen = whole.model_copy(update={"conditions": named})
    return plan(chosen, scale, minds=deciding, runs=1, seed=seed)


def _deciding_earlier(condition: str, minds: Minds) -> Minds:
    """The minds of the earlier run of a condition; rules of another scenario do not fit there."""
    given: Any = minds if isinstance(minds, Mapping | Sequence) else [minds]
    named = [minds] if isinstance(minds, str) else list(given)
    paid = list(dict.fromkeys(m for m in named if not isinstance(m, str) or language_model(m)))
    if len(paid) > 1:
        raise ParameterError(
            f"{condition} builds on an earlier run, in which its language model decides: name one, "
            f"not {len(paid)}."
        )
    return paid[0] if paid else "classical"


def with_earlier_runs(plan: Plan, recording: Path, runs: Mapping[str, int]) -> Plan:
    """The plan of an experiment with the earlier runs as parameters."""
    builds_on = plan.model.study.builds_on
    assert builds_on is not None
    known = {name: builds_on.read(f"{recording}#{run}") for name, run in runs.items()}

    def given(cell: ExperimentRun) -> ExperimentRun:
        earlier = {builds_on.parameter: known[cell.builds_on]} if cell.builds_on else {}
        return replace(cell, parameters={**cell.parameters, **earlier})

    return replace(plan, cells=[given(cell) for cell in plan.cells])


def with_pending_run(
    plan: Plan, cell: ExperimentRun, connection: Connection, **changes: Any
) -> dict[str, Any]:
    """The parameters of a run, with a placeholder for a missing earlier run.

    `changes` change the parameters of the earlier run.
    """
    given: dict[str, Any] = {**cell.parameters, **cell.changes}
    on = plan.model.study.builds_on
    if on is None or plan.earlier is None or not cell.builds_on or on.parameter in given:
        return given
    earlier = plan.earlier.first(cell.builds_on)
    model = plan.earlier.model(
        **{**earlier.parameters, **changes},
        rng=earlier.seed,
        recording=False,
        connection=connection,
    )
    name = f"{plan.earlier.experiment.name}/{cell.builds_on}"
    return {**given, on.parameter: on.pending(model, name)}


# Playing what is missing.


def find(plan: Plan, path: Path) -> dict[Name, RecordedRun]:
    """The runs of an experiment in a recording, by the condition in their tags."""
    runs = find_runs(plan.specs.values(), path)
    if not runs:
        _check_belongs(plan, path)
    return {name: runs[spec.digest] for name, spec in plan.specs.items() if spec.digest in runs}


def unfinished(plan: Plan, path: Path) -> list[ExperimentRun]:
    """The runs of an experiment without a finished run in a recording; see `find`."""
    finished = {name for name, run in find(plan, path).items() if run.finished}
    return [cell for cell in plan.cells if (cell.condition, cell.seed) not in finished]


def _check_belongs(plan: Plan, path: Path) -> None:
    """Check that some runs have the minds and a seed of a plan, also at another scale."""
    runs = load_runs(path, missing_ok=True)
    decide = [json_roundtrip(by_spec(cell.parameters["minds"])) for cell in plan.cells]
    wanted = [([cell.seed], minds) for cell, minds in zip(plan.cells, decide, strict=True)]
    if not runs or any((list(run.seed), run.parameters["minds"]) in wanted for run in runs):
        return
    minds = list(dict.fromkeys(described(run.parameters["minds"]) for run in runs))
    seeds = sorted({seed for run in runs for seed in run.seed})
    there = f"{len(runs)} runs" if len(runs) > 1 else "1 run"
    raise RecordingError(
        f"{path} holds {there} by {' / '.join(minds)}, with the seeds {seeds[0]} to {seeds[-1]}: "
        f"none with the minds and seeds of this {plan.experiment.name} "
        f"({' / '.join(dict.fromkeys(described(minds) for minds in decide))}, {plan.seeds[0]} to "
        f"{plan.seeds[-1]}). Choose another folder (--out)."
    )


@dataclass(frozen=True)
class Outcome:
    """An experiment that was run; its frames have ``condition`` and ``seed`` first.

    Attributes:
        path: the recording.
        runs: one row per run, from `Recorded.runs`.
        messages: the messages with the codes of the rule-based coder.
        ran: the number of runs that were played or resumed now.
        earlier: the earlier runs that these build on, or None.
    """

    plan: Plan
    path: Path
    runs: pd.DataFrame
    model_data: pd.DataFrame
    agent_data: pd.DataFrame
    messages: pd.DataFrame
    ran: int = 0
    earlier: Outcome | None = None

    @property
    def paths(self) -> list[Path]:
        """The recordings, that of the experiment first."""
        return [self.path, *([] if self.earlier is None else [self.earlier.path])]

    @property
    def replays(self) -> list[str]:
        """The commands that repeat these runs without a key."""
        return [shlex.join(["sabm", "replay", str(path)]) for path in self.paths]

    @property
    def numbers(self) -> dict[str, int]:
        """Condition → the number of its last run."""
        return dict(zip(self.runs["condition"], self.runs["run"], strict=True))

    @property
    def all_runs(self) -> pd.DataFrame:
        """All paid runs, including the earlier ones."""
        earlier = [] if self.earlier is None else [self.earlier.runs]
        return pd.concat([*earlier, self.runs], ignore_index=True)

    @property
    def frames(self) -> dict[Data, pd.DataFrame]:
        """The data by their names in measures, without rounds in which nobody decided."""
        decided = self.plan.model.decided_rounds
        return {
            "model": decided(self.model_data), "agents": decided(self.agent_data),
            "messages": self.messages,
        }  # fmt: skip


def run(
    plan: Plan,
    folder: str | Path,
    *,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
    begin: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run the missing part of an experiment.

    Args:
        plan: the experiment.
        folder: where its recording is, or will be.
        connection: how language models are reached; its budget also counts the recorded costs, and
            all experiments that share it.
        watch: called with the models every tenth of a second.
        begin: called after all checks, before the first run.

    Raises:
        UsageError: for parameters or minds that cannot be used.
        RunError: when a run fails; its answers are recorded, and the same call continues.
    """
    path = Path(folder) / RECORDING
    needed = varied_sampling(cell.parameters for cell in plan.cells)
    connection = replace(connection or Connection(), needed=needed)
    earlier, specs = None, dict[Path, list[RunSpec]]()
    if plan.earlier is not None:
        before = path.parent / EARLIER
        if unfinished(plan.earlier, before / RECORDING):
            check(plan, plan.cells, connection)  # nothing is paid that no run can build on
            begin()
        earlier = run(plan.earlier, before, connection=connection, watch=watch)
        plan = with_earlier_runs(plan, earlier.path, earlier.numbers)
        if not earlier.ran:  # else the budget has counted it already
            specs[earlier.path] = list(earlier.plan.specs.values())
    if todo := unfinished(plan, path):
        check(plan, todo, connection)
    if earlier is None or not earlier.ran:
        begin()
    specs[path] = list(plan.specs.values())
    return read(plan, path, ran=run_missing(specs, connection, watch=watch), earlier=earlier)


def read(plan: Plan, path: Path, ran: int = 0, earlier: Outcome | None = None) -> Outcome:
    """Read the runs of an experiment from a recording."""
    runs, known = find(plan, path), Recorded(path).frames()
    where = pd.DataFrame(
        [(runs[name].run, *name) for name in plan.specs], columns=["run", "condition", "seed"]
    )

    def of_cells(name: str) -> pd.DataFrame:
        mine = where.merge(known[name].drop(columns="seed", errors="ignore"), on="run")
        first = ["condition", "seed"]
        return mine[[*first, *mine.columns.drop(first)]]

    return Outcome(
        plan, path, of_cells("runs"), of_cells("model_data"), of_cells("agent_data"),
        message_coder().coded(of_cells("messages")), ran, earlier,
    )  # fmt: skip


def check(plan: Plan, cells: Sequence[ExperimentRun], connection: Connection) -> None:
    """Build one run of each condition, so that errors occur before any file is written."""
    of_model, of_agents = dict[str, None](), dict[str, None]()
    for condition in dict.fromkeys(cell.condition for cell in cells):
        cell = next(cell for cell in cells if cell.condition == condition)
        given = with_pending_run(plan, cell, connection)
        built = plan.model_of(condition)(
            **given, rng=cell.seed, recording=False, connection=connection
        )
        of_model |= dict.fromkeys(built.datacollector.model_reporters)
        of_agents |= dict.fromkeys(built.datacollector.agent_reporters)
    known: dict[Data, list[str]] = {
        "model": ["round", *of_model],
        "agents": ["round", "agent", *of_agents],
        "messages": list(OF_MESSAGES),
    }
    check_columns(plan.experiment, known)


# What is missing costs.


def expected_cost(plan: Plan, folder: str | Path, prices: str | Path | None = None) -> Estimate:
    """Estimate the cost of the missing runs of an experiment, one line per condition.

    Interrupted runs count in full.
    """
    path = Path(folder) / RECORDING
    missing, notes = dict[str, tuple[Plan, list[ExperimentRun]]](), list[str]()
    left = plan.cells
    if plan.earlier is None:
        left = unfinished(plan, path)
    else:
        before = path.parent / EARLIER / RECORDING
        if todo := unfinished(plan.earlier, before):
            missing = {f"{EARLIER}/{cell.condition}": (plan.earlier, [cell]) for cell in todo}
            notes.append(EARLIER_RUNS)
        else:
            runs = {name: run.run for (name, _), run in find(plan.earlier, before).items()}
            plan = with_earlier_runs(plan, before, runs)
            left = unfinished(plan, path)
    for cell in left:
        missing.setdefault(cell.condition, (plan, []))[1].append(cell)
    parts = {name: _estimated(of, cells, prices) for name, (of, cells) in missing.items()}
    notes = [*(note for part in parts.values() for note in part.notes), *notes]
    notes += [FORKED] if any(cell.fork_of for cell in plan.cells) else []
    lines = [
        Line(name, ", ".join(dict.fromkeys(line.mind for line in part.lines)), part.total)
        for name, part in parts.items()
        if part.lines
    ]
    return Estimate(
        scenario=plan.experiment.scenario,
        title=plan.experiment.name,
        runs=sum(part.runs for part in parts.values()),
        n_rounds=max((part.n_rounds for part in parts.values()), default=0),
        minds={" / ".join(dict.fromkeys(described(mind) for mind in plan.minds.values())): 1},
        lines=lines,
        notes=list(dict.fromkeys(notes)) if lines else [],
        questions_per_round=max((part.questions_per_round for part in parts.values()), default=0),
    )


def _estimated(plan: Plan, cells: list[ExperimentRun], prices: str | Path | None) -> Estimate:
    """The cost of the missing runs of a condition; for a fork, only of the later rounds."""
    cell = cells[0]
    given = with_pending_run(plan, cell, Connection(), minds="classical") | {"rng": cell.seed}
    estimated = estimate(plan.model_of(cell.condition), given, len(cells), prices=prices)
    if cell.fork_of:
        share = 1.0 - cell.at / estimated.n_rounds
        lines = [replace(line, cost=_from(line.cost, share)) for line in estimated.lines]
        estimated = replace(estimated, lines=lines)
    return estimated


def _from(cost: Cost, share: float) -> Cost:
    """The cost of the last part of a run; its high end is that of the whole: prompts grow."""
    spans = (getattr(cost, name) for name in Cost.__slots__)
    return Cost(*(Range(span.low * share, span.likely * share, span.high) for span in spans))
