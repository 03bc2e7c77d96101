"""The plan of an audit: an experiment in several cells, each with a different presentation.

A cell is the whole experiment. The first one is the unchanged experiment, and each other one
changes one factor to another level. All cells have the same seeds. The default factors are those of
`KNOWN` that change a prompt of the experiment: before anything is run, a mind collects the
questions with each level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sabm_mesa.core.answers import DEFAULT_FORMAT
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.core.prompts import PERSONA_FORMATS, PromptBook
from sabm_mesa.errors import ParameterError, PromptError, UnknownName
from sabm_mesa.llm import Connection
from sabm_mesa.minds.specs import Minds
from sabm_mesa.models.base import SmartModel
from sabm_mesa.runs.cost import Estimate, Line, StubMind
from sabm_mesa.studies.experiments.design import Experiment, Scale
from sabm_mesa.studies.experiments.expecting import expected_cost
from sabm_mesa.studies.experiments.plan import (
    SEED,
    Plan,
    asks_language_model,
    described,
    plan,
    with_pending_run,
)
from sabm_mesa.studies.experiments.running import EARLIER, earlier_plans

MODEL = "model"
"""The factor of the minds."""
KNOWN = {
    "wording": "variant",
    "format": "answer_format",
    "options": "option_order",
    "speakers": "speaker_order",
    "persona": "persona_format",
}
"""Factor of the presentation → the parameter that it sets."""
LEVELS: Mapping[str, Sequence[str]] = {
    "options": ("given", "reversed"),
    "speakers": ("spoken", "reversed"),
    "persona": PERSONA_FORMATS,
}
"""Factor → its levels, if these are the same for all scenarios."""
SAME_CONTENT = "reworded"
"""The prefix of the names of variants with the same facts in other words."""
ROUNDS_READ = 3
"""The number of rounds in which the prompts of two levels are compared."""


@dataclass(frozen=True)
class Factor:
    """Something that an audit varies.

    Attributes:
        name: its name in the report.
        parameter: the parameter of the model that it sets; ``minds`` of the factor `MODEL`.
        levels: its values; the first one is that of the experiment.
    """

    name: str
    parameter: str
    levels: tuple[Any, ...]

    @property
    def labels(self) -> list[str]:
        """The names of the levels."""
        if self.name == MODEL:
            return [described(level) for level in self.levels]
        return [str(level) for level in self.levels]


@dataclass(frozen=True)
class AuditPlan:
    """The cells of an audit and their runs.

    Attributes:
        experiment: the experiment.
        scale: ``quick`` or ``paper``.
        runs: the number of runs per condition and cell.
        factors: the factors.
        levels: for each cell the number of the level of each factor.
        plans: the plan of each cell.
        left_out: factor → why it is not varied.
    """

    experiment: Experiment
    scale: str
    runs: int
    factors: Sequence[Factor]
    levels: Sequence[tuple[int, ...]]
    plans: Sequence[Plan]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def seeds(self) -> list[int]:
        """The seeds, the same in all cells."""
        return self.plans[0].seeds

    @cached_property
    def n_runs(self) -> int:
        """The number of all runs."""
        return sum(len(cell_plan.cells) for cell_plan in self.plans)

    def cell_labels(self, cell: int) -> list[str]:
        """The level of each factor in a cell, in words.

        Args:
            cell: the number of the cell, from 0.
        """
        numbers = self.levels[cell]
        return [factor.labels[i] for factor, i in zip(self.factors, numbers, strict=True)]

    def change(self, cell: int) -> tuple[str, str]:
        """The factor that a cell changes, and its level; twice ``""`` for the first cell.

        Args:
            cell: the number of the cell, from 0.
        """
        for factor, i in zip(self.factors, self.levels[cell], strict=True):
            if i:
                return factor.name, factor.labels[i]
        return "", ""


def audit_plan(
    experiment: Experiment,
    scale: str = "quick",
    *,
    minds: Sequence[Minds] | Mapping[str, Minds] = ("classical",),
    given: Mapping[str, Sequence[Any] | None] | None = None,
    runs: int | None = None,
    seed: int = SEED,
    budget_usd: float | None = None,
    max_asks: int | None = None,
    prices: str | Path | None = None,
) -> AuditPlan:
    """The plan of an audit of an experiment.

    Args:
        experiment: the experiment.
        scale: ``"quick"`` or ``"paper"``.
        minds: the minds of all conditions, several of which are the levels of the factor
            ``model``; or condition, or slot → its minds.
        given: factor, or any parameter of the scenario → its levels, the first of which is that of
            the experiment; None for the default levels of a factor of `KNOWN`. None: all of `KNOWN`
            that change a prompt.
        runs: the number of runs per condition and cell; None: that of the scale.
        seed: the first seed.
        budget_usd: the limit for the high estimate of the cost of all runs, in dollars.
        max_asks: the limit for the high estimate of requests.
        prices: the user's price file, or None.

    Raises:
        UsageError: for factors, levels, minds or numbers that cannot be used, and when the audit
            costs more than the budget.
    """
    _check(experiment)
    several = isinstance(minds, Sequence) and not isinstance(minds, str) and len(minds) > 1
    for_all: Any = minds if isinstance(minds, Mapping) else minds[0]
    base = plan(experiment, scale, minds=for_all, runs=runs, seed=seed)
    if isinstance(minds, Mapping) and {"minds", MODEL} & set(given or ()):
        raise ParameterError(
            f"--minds {next(iter(minds))}=SPEC sets minds and does not vary them: to vary those of "
            "all, give --minds SPEC several times."
        )
    given = _without_minds(given, several=several)
    factors, left_out = _factors(base, given)
    if several:
        factors.append(Factor(MODEL, "minds", tuple(minds)))
    if not factors:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ParameterError(
            f"Nothing in {experiment.name} can be varied ({why}). Give levels of a parameter with "
            "--factor NAME=A,B, or several --minds."
        )

    def in_cell(levels: Sequence[int]) -> Plan:
        chosen = {factor: factor.levels[int(i)] for factor, i in zip(factors, levels, strict=True)}
        set_ = {factor.parameter: level for factor, level in chosen.items() if factor.name != MODEL}
        specs = next((level for factor, level in chosen.items() if factor.name == MODEL), for_all)
        size = experiment.scales[scale]
        sizes = {**experiment.scales, scale: Scale(runs=size.runs, set={**size.set, **set_})}
        changed = experiment.model_copy(update={"scales": sizes})
        return plan(changed, scale, minds=specs, runs=runs, seed=seed)

    unchanged = (0,) * len(factors)
    levels = [unchanged] + [
        (*unchanged[:i], level, *unchanged[i + 1 :])
        for i, factor in enumerate(factors)
        for level in range(1, len(factor.levels))
    ]
    plans = [in_cell(cell) for cell in levels]
    audit = AuditPlan(experiment, scale, base.runs, factors, levels, plans, left_out)
    _check_budget(audit, budget_usd, max_asks, prices)
    return audit


def _without_minds(
    given: Mapping[str, Sequence[Any] | None] | None, *, several: bool
) -> Mapping[str, Sequence[Any] | None] | None:
    """The factors without the minds, whose levels come from several ``--minds``."""
    named = {name for name in given or () if name in {"minds", MODEL}}
    if given is None or not named:
        return given
    if not several or any(given[name] is not None for name in named):
        raise ParameterError("To vary the minds, give --minds several times.")
    return {name: levels for name, levels in given.items() if name not in named}


def _check(experiment: Experiment) -> None:
    if not experiment.claims:
        raise ParameterError(f"{experiment.name} has no claims, and an audit tests claims.")


# Factors.


def _factors(
    base: Plan, given: Mapping[str, Sequence[Any] | None] | None
) -> tuple[list[Factor], dict[str, str]]:
    """The factors that are varied, and why others are not."""
    experiment = base.experiment
    varied = {name for condition in experiment.conditions for name in condition.set}
    if given is not None:
        return [_given(base, name, levels, varied) for name, levels in given.items()], {}
    factors, left_out = [], {}
    for name, parameter in KNOWN.items():
        factor = _by_itself(base, name)
        if parameter in varied:
            left_out[name] = "the conditions of the experiment differ in it"
        elif len(factor.levels) < 2:
            left_out[name] = "the scenario has no other one"
        else:
            try:
                silent = _silent_levels(base, factor)
            except PromptError:
                if name != "persona":
                    raise
                left_out[name] = "its personas have no text in the other formats"
                continue
            kept = tuple(level for level in factor.levels if level not in silent)
            if len(kept) < 2:
                left_out[name] = "it changes no prompt of this experiment"
            else:
                factors.append(replace(factor, levels=kept))
    return factors, left_out


def _by_itself(base: Plan, name: str) -> Factor:
    """A factor of `KNOWN` with its levels: that of the experiment, then the others.

    The answer format has two levels: plain text, labelled or as published, and JSON.
    """
    parameter = KNOWN[name]
    default = parameters_of(base.model)[parameter].default
    first = base.cells[0].parameters.get(parameter, default)
    levels = LEVELS.get(name)
    if name == "format":
        first = first or DEFAULT_FORMAT
        levels = (DEFAULT_FORMAT,) if first == "json" else ("json",)
    elif levels is None:
        variants = PromptBook(base.model.prompt_file).variants
        levels = ["default", *(variant for variant in variants if variant.startswith(SAME_CONTENT))]
    return Factor(name, parameter, (first, *(level for level in levels if level != first)))


def _given(base: Plan, name: str, levels: Sequence[Any] | None, varied: set[str]) -> Factor:
    experiment, known = base.experiment, parameters_of(base.model)
    parameter = KNOWN.get(name, name)
    if parameter not in known:
        raise UnknownName("factor", name, [*KNOWN, *known])
    if parameter in varied:
        raise ParameterError(
            f"--factor {name}: the conditions of {experiment.name} differ in {parameter}, so that "
            "it cannot also be varied."
        )
    if levels is None:
        if name not in KNOWN:
            raise ParameterError(f"--factor {name} needs its levels: --factor {name}=A,B.")
        levels = _by_itself(base, name).levels
    if len({str(level) for level in levels}) < max(2, len(levels)):
        raise ParameterError(
            f"--factor {name} needs at least two levels, all different (got "
            f"{', '.join(map(str, levels))})."
        )
    factor = Factor(name, parameter, tuple(levels))
    if parameter in KNOWN.values() and (silent := _silent_levels(base, factor)):
        raise ParameterError(
            f"--factor {name}: {silent[0]!r} changes no prompt of {experiment.name} from "
            f"{factor.levels[0]!r}; leave it out."
        )
    return factor


class _Reader(StubMind):
    """A mind that keeps its questions, and decides as the classical minds do."""

    def __init__(self) -> None:
        super().__init__("llm:reader", {}, None)
        self.read: list[str] = []

    async def answer(self, ask: Ask) -> object:
        self.read.append(ask.digest())
        return await super().answer(ask)


def _silent_levels(base: Plan, factor: Factor) -> list[Any]:
    """The levels whose prompts are those of the first level in every condition."""
    asked = [list(_prompts(base, {factor.parameter: level})) for level in factor.levels]
    return [
        level
        for level, prompts in zip(factor.levels[1:], asked[1:], strict=True)
        if prompts == asked[0]
    ]


def _prompts(base: Plan, changes: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the digests of the first questions of each condition."""
    firsts = {cell.condition: cell for cell in base.cells if cell.seed == base.seeds[0]}
    for condition, cell in firsts.items():
        if cell.fork_of:
            continue
        reader = _Reader()
        given = with_pending_run(base, cell, Connection(), minds="classical")
        model: SmartModel = base.model_of(condition)(
            **{**given, **changes, "minds": reader}, rng=cell.seed, recording=False
        )
        reader.play_in(model)
        for _ in range(ROUNDS_READ):
            model.step()
        model.close()
        yield reader.read


# The cost.


def _check_budget(
    audit: AuditPlan, budget_usd: float | None, max_asks: int | None, prices: str | Path | None
) -> None:
    """Refuse an audit whose high estimate is above a cap."""
    minds = [mind for cell in audit.plans for mind in cell.minds.values()]
    if (budget_usd is None and max_asks is None) or not any(map(asks_language_model, minds)):
        return
    total = expected_cost_of_audit(audit, Path("nowhere"), prices).total
    usd, asks = total.usd.high, total.requests.high
    costs = ""
    if budget_usd is not None and math.isnan(usd):
        costs = "an unknown price, so that no budget in dollars can be planned: use --max-asks"
    elif budget_usd is not None and usd > budget_usd:
        costs = f"up to {_dollars(usd)} dollars: give --budget-usd {_dollars(usd)}"
    elif max_asks is not None and asks > max_asks:
        costs = f"up to {math.ceil(asks):,} requests: give --max-asks {math.ceil(asks)}"
    if costs:
        raise ParameterError(
            f"The audit has {len(audit.plans)} cells and costs {costs}, or choose fewer levels "
            "(--factor) or fewer --runs."
        )


def _dollars(usd: float) -> str:
    places = 2 if usd >= 1 else 4
    return f"{math.ceil(usd * 10**places) / 10**places:.{places}f}"


def expected_cost_of_audit(
    audit: AuditPlan, folder: Path, prices: str | Path | None = None
) -> Estimate:
    """Estimate the cost of the missing runs of an audit.

    Args:
        audit: the audit.
        folder: its folder; finished runs in it cost nothing.
        prices: the user's price file, or None.

    Returns:
        An estimate with one line per cell, after one for the earlier runs of each model.
    """
    before = earlier_plans(audit.plans)
    named = [
        ("earlier runs",
         expected_cost(earlier_plan, folder / EARLIER, prices, among=before))
        for earlier_plan in before
    ] + [
        (f"cell {number}",
         expected_cost(cell_plan, folder, prices, earlier=False, among=audit.plans))
        for number, cell_plan in enumerate(audit.plans, 1)
    ]  # fmt: skip
    parts = [part for _, part in named]
    lines = [
        Line(name, ", ".join(dict.fromkeys(line.mind for line in part.lines)), part.total)
        for name, part in named
        if part.lines
    ]
    return Estimate(
        scenario=audit.experiment.scenario,
        title=f"audit of {audit.experiment.name}",
        runs=sum(part.runs for part in parts),
        n_rounds=max(part.n_rounds for part in parts),
        minds={name: 1 for part in parts for name in part.minds},
        lines=lines,
        notes=list(dict.fromkeys(note for part in parts for note in part.notes)) if lines else [],
    )
