"""The plan of an audit: an experiment in several cells, each with a different presentation.

A cell is the whole experiment with one level of every factor; the first cell is the unchanged
experiment. All cells have the same seeds. The default factors are those of `KNOWN` that change a
prompt of the experiment: before anything is run, a mind collects the questions with each level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sabm_mesa.analysis.factorial import Design, balanced_fraction, fewest_cells, fraction
from sabm_mesa.core.answers import DEFAULT_FORMAT
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.parameters import check_int, parameters_of
from sabm_mesa.core.prompts import PERSONA_FORMATS, PromptBook
from sabm_mesa.errors import ParameterError, PromptError, UnknownName
from sabm_mesa.llm import Connection
from sabm_mesa.minds.specs import Minds
from sabm_mesa.models.base import SmartModel
from sabm_mesa.runs.cost import Estimate, Line, StubMind
from sabm_mesa.studies.audit.verdicts import coinciding
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
        design: the levels of the factors in the cells.
        plans: the plan of each cell.
        left_out: factor → why it is not varied.
    """

    experiment: Experiment
    scale: str
    runs: int
    factors: Sequence[Factor]
    design: Design
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

    @cached_property
    def coinciding(self) -> list[str]:
        """A line on each pair of levels that occur in the same cells; most designs have none."""
        lines = []
        for pair in coinciding(self.design):
            names = [f"{self.factors[f].name} = {self.factors[f].labels[n]}" for f, n in pair]
            lines.append(
                f"{names[0]} and {names[1]} are in exactly the same cells: their effects cannot be "
                "distinguished. More --cells can."
            )
        return lines

    def cell_labels(self, cell: int) -> list[str]:
        """The level of each factor in a cell, in words.

        Args:
            cell: the number of the cell, from 0.
        """
        numbers = self.design.cells[cell]
        return [factor.labels[int(i)] for factor, i in zip(self.factors, numbers, strict=True)]


def audit_plan(
    experiment: Experiment,
    scale: str = "quick",
    *,
    minds: Sequence[Minds] | Mapping[str, Minds] = ("classical",),
    given: Mapping[str, Sequence[Any] | None] | None = None,
    cells: int | None = None,
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
        cells: the number of cells; None: the smallest balanced design.
        runs: the number of runs per condition and cell; None: that of the scale.
        seed: the first seed.
        budget_usd: the limit for the high estimate of the cost of all runs, in dollars.
        max_asks: the limit for the high estimate of requests.
        prices: the user's price file, or None.

    Raises:
        UsageError: for factors, levels, minds or numbers that cannot be used, and when no design
            fits into the budget.
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

    sizes = [len(factor.levels) for factor in factors]
    affordable = _affordable(factors, in_cell, budget_usd, max_asks, prices)
    design = _design(sizes, cells, affordable, experiment.name)
    plans = [in_cell(row) for row in design.cells.tolist()]
    return AuditPlan(experiment, scale, base.runs, factors, design, plans, left_out)


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


# The number of cells.


def _affordable(
    factors: Sequence[Factor],
    in_cell: Callable[[Sequence[int]], Plan],
    budget_usd: float | None,
    max_asks: int | None,
    prices: str | Path | None,
) -> Callable[[int], str]:
    """Why a number of cells is too expensive; ``""`` when it fits or nothing limits it."""
    costs: list[Estimate] = []
    once: list[Estimate] = []  # earlier runs, the same for all cells of a model
    if budget_usd is not None or max_asks is not None:
        model_factor = next((i for i, factor in enumerate(factors) if factor.name == MODEL), None)
        n_models = 1 if model_factor is None else len(factors[model_factor].levels)
        for i in range(n_models):
            cell = in_cell([i if j == model_factor else 0 for j in range(len(factors))])
            if any(map(asks_language_model, cell.minds.values())):
                costs.append(expected_cost(cell, Path("nowhere"), prices, earlier=False))
                if cell.earlier is not None:
                    once.append(expected_cost(cell.earlier, Path("nowhere"), prices))

    def too_much(n_cells: int) -> str:
        if not costs:
            return ""
        share = n_cells / max(1, len(costs))
        parts = [(share, cost.total) for cost in costs] + [(1.0, cost.total) for cost in once]
        usd = sum(times * cost.usd.high for times, cost in parts)
        asks = sum(times * cost.requests.high for times, cost in parts)
        if budget_usd is not None and math.isnan(usd):
            return "the price of a model is not known, so that no budget in dollars can be planned"
        if budget_usd is not None and usd > budget_usd:
            return f"up to {_dollars(usd)} dollars: give --budget-usd {_dollars(usd)}"
        if max_asks is not None and asks > max_asks:
            return f"up to {math.ceil(asks):,} requests: give --max-asks {math.ceil(asks)}"
        return ""

    return too_much


def _dollars(usd: float) -> str:
    places = 2 if usd >= 1 else 4
    return f"{math.ceil(usd * 10**places) / 10**places:.{places}f}"


def _design(
    sizes: Sequence[int], cells: int | None, too_much: Callable[[int], str], name: str
) -> Design:
    least, full = fewest_cells(sizes), math.prod(sizes)
    if cells is not None:
        check_int("cells", cells, 2)
        if not least <= cells <= full:
            raise ParameterError(
                f"--cells: an audit of {name} with factors of {list(sizes)} levels has {least} to "
                f"{full} cells (got {cells})."
            )
    wanted = least if cells is None else cells
    if why := too_much(wanted):
        more = "fewer levels (--factor), fewer --runs, or a larger budget"
        smallest = "The smallest design" if cells is None else "The design"
        raise ParameterError(f"{smallest} has {wanted} cells and costs {why}, or choose {more}.")
    if cells is not None:
        return fraction(sizes, cells)
    most = next((n - 1 for n in range(least + 1, 2 * least + 1) if too_much(n)), 2 * least)
    return balanced_fraction(sizes, min(most, full))


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
