"""Audits: does a claim of an experiment survive another wording, another model, other parameters?

An audit is a generated experiment. A cell is the whole experiment: the first one is the experiment
as it is, and each other one changes one factor to another level. All cells have the same seeds, and
run as conditions of one experiment.

The effect of a claim is its quantity: a measure, or the difference of two conditions in runs of the
same seed. The seed is the unit of all tests: the sign test of `sabm_mesa.analysis.tests`, one-sided
at half the level of the experiment (2.5 %). `NOTE` defines the verdicts. A claim is robust if each
test of a cell is significant, so that no correction is needed (intersection-union test; Berger
1982, "Multiparameter Hypothesis Testing and Acceptance Sampling", Technometrics 24).
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.intervals import Floats
from sabm_mesa.analysis.tests import Estimand, Inference, holm, infer, sign_test
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.minds.specs import Minds
from sabm_mesa.studies.experiments.claims import Claim
from sabm_mesa.studies.experiments.results import effect_by_seed, measured, why_not_judged
from sabm_mesa.studies.experiments.running import (
    SEED,
    Outcome,
    Plan,
    described,
    minds_of,
    plan,
)
from sabm_mesa.studies.experiments.schema import ALPHA, Experiment
from sabm_mesa.studies.report import Report, Table

WORDING = "wording"
"""The factor of the parameter ``variant``."""
SAME_CONTENT = "reworded"
"""The prefix of the names of variants with the same facts in other words."""
KEPT = 0.5
"""The share of the effect in the other cells below which a cell makes a claim fragile."""
NOT_READ = (
    "every cell gave the same numbers: these minds do not read texts, and the audit shows seeds "
    "only"
)
Word = Literal["robust", "fragile", "fails", "inconclusive", "not judged"]
WORDS: tuple[Word, ...] = ("robust", "fragile", "fails", "inconclusive", "not judged")
Sides = Sequence[tuple[int, float]]
"""The limits of a claim: (1, limit) above it, (−1, limit) below it."""
MOST_ROWS = 40
"""The maximum number of cells of claims that readers see; the CSV file has all."""
NOTE = (
    "A cell is the whole experiment; each but the first changes one factor to another level. A "
    "claim is robust when its effect is significantly on the claim's side in every cell. It is "
    "fragile when it is not in some cell, although it is by the mean of the others, and the effect "
    "there is significantly less than half of theirs (of a claim with two limits: significantly "
    "outside them). It fails when the mean of all cells is significantly on the other side. Else "
    "these runs are inconclusive. It is not judged when these minds cannot judge it at all. All "
    "cells have the same seeds. The seed is the unit of the sign test, one-sided at half of "
    "{alpha}. Effects are medians over seeds, and their intervals belong to the same test. The "
    "tests of fragile cells are corrected for their number (Holm 1979). Figures: the effect in "
    "each cell in order of its size, with the limit of the claim, and the level of each factor."
)
_ROW = 0.19
"""The height of a row of levels in inches."""


# The plan.


@dataclass(frozen=True)
class Factor:
    """Something that an audit varies; the first level is that of the experiment."""

    name: str
    levels: tuple[Any, ...]

    @property
    def parameter(self) -> str:
        """The parameter that it sets."""
        return "variant" if self.name == WORDING else self.name

    @property
    def labels(self) -> list[str]:
        """The names of the levels."""
        return [described(level) if self.name == "minds" else str(level) for level in self.levels]


@dataclass(frozen=True)
class Audit:
    """An audit.

    Attributes:
        levels: for each cell the number of the level of each factor.
        plan: the runs of all cells, as conditions of one experiment.
    """

    experiment: Experiment
    factors: Sequence[Factor]
    levels: Sequence[tuple[int, ...]]
    plan: Plan

    @property
    def changes(self) -> list[str]:
        """The change of each cell, in words."""
        return [_change(self.factors, levels) for levels in self.levels]

    @property
    def design(self) -> str:
        """The design in words."""
        varied = ", ".join(f"{factor.name} ({len(factor.levels)})" for factor in self.factors)
        return (
            f"Factors with their number of levels: {varied}. Cell 1 is the experiment as it is, "
            "and each other cell changes one factor."
        )

    def claim(self, claim: Claim, change: str) -> Claim:
        """The claim in a cell."""
        names = {name: getattr(claim, name, None) for name in ("condition", "than", "other_effect")}
        there = {
            name: tuple(_named(each, change) for each in value)
            if isinstance(value, tuple)
            else _named(value, change)
            for name, value in names.items()
            if value
        }
        return claim.model_copy(update=there)


def _change(factors: Sequence[Factor], levels: Sequence[int]) -> str:
    changed = [f"{f.name} = {f.labels[i]}" for f, i in zip(factors, levels, strict=True) if i]
    return changed[0] if changed else "the experiment as it is"


def _named(condition: str, change: str) -> str:
    """The name of a condition or group in a cell."""
    return f"{condition} ({change})" if "=" in change else condition


def plan_audit(
    experiment: Experiment,
    scale: str = "quick",
    *,
    minds: Sequence[Minds] | Mapping[str, Minds] = ("classical",),
    given: Mapping[str, Sequence[Any]] | None = None,
    runs: int | None = None,
    seed: int = SEED,
) -> Audit:
    """The plan of an audit of an experiment.

    Args:
        scale: ``"quick"`` or ``"paper"``.
        minds: the minds of all conditions, several of which are the levels of the factor
            ``minds``; or condition, or slot → its minds.
        given: factor (``wording``, or any parameter of the scenario) → its levels, the first of
            which is that of the experiment. None: the wording of the experiment, and all variants
            whose names begin with `SAME_CONTENT`.
        runs: the number of runs per condition and cell; None: that of the scale.
        seed: the first seed.

    Raises:
        UsageError: for factors, levels, minds or numbers that cannot be used.
    """
    if not experiment.claims:
        raise ParameterError(f"{experiment.name} has no claims, and an audit tests claims.")
    for_all: Any = minds if isinstance(minds, Mapping) else minds[0]
    base = plan(experiment, scale, minds=for_all, runs=runs, seed=seed)
    factors = _factors(base, given)
    if not isinstance(minds, Mapping) and len(minds) > 1:
        factors.append(Factor("minds", tuple(minds)))
    if not factors:
        raise ParameterError(
            f"{experiment.name} has no other wording: give levels of a parameter with --factor "
            "NAME=A,B, or several --minds."
        )
    unchanged = (0,) * len(factors)
    cells = [unchanged] + [
        (*unchanged[:i], level, *unchanged[i + 1 :])
        for i, factor in enumerate(factors)
        for level in range(1, len(factor.levels))
    ]
    conditions, groups, who = [], [], dict[str, Minds]()
    for cell in cells:
        change = _change(factors, cell)
        chosen = {f.parameter: f.levels[i] for f, i in zip(factors, cell, strict=True)}
        deciding = minds_of(experiment, chosen.pop("minds", for_all))
        for condition in experiment.conditions:
            name, parent = _named(condition.name, change), condition.fork_of
            there = {
                "name": name, "fork_of": parent and _named(parent, change),
                "set": {**chosen, **condition.set},
            }  # fmt: skip
            conditions.append(condition.model_copy(update=there))
            who |= {} if parent else {name: deciding[condition.name]}
        for group in experiment.groups:
            members = tuple(_named(member, change) for member in group.conditions)
            there = {"name": _named(group.name, change), "conditions": members}
            groups.append(group.model_copy(update=there))
    whole = experiment.model_copy(update={"conditions": tuple(conditions), "groups": tuple(groups)})
    planned = plan(whole, scale, minds=who, runs=runs, seed=seed)
    return Audit(experiment, factors, cells, planned)


def _factors(base: Plan, given: Mapping[str, Sequence[Any]] | None) -> list[Factor]:
    """The factors that are varied, without the minds."""
    experiment, known = base.experiment, parameters_of(base.model)
    varied = {name for condition in experiment.conditions for name in condition.set}
    if given is None:
        first = base.cells[0].parameters.get("variant", "default")
        variants = PromptBook(base.model.prompt_file).variants
        same = (v for v in variants if v == "default" or v.startswith(SAME_CONTENT))
        wordings = tuple(dict.fromkeys([first, *same]))
        return [Factor(WORDING, wordings)] if len(wordings) > 1 and "variant" not in varied else []
    factors = [Factor(name, tuple(levels)) for name, levels in given.items()]
    for factor in factors:
        if factor.name == "minds":
            raise ParameterError("To vary the minds, give --minds SPEC several times.")
        if factor.parameter not in known:
            raise UnknownName("factor", factor.name, [WORDING, *known])
        if factor.parameter in varied:
            raise ParameterError(
                f"--factor {factor.name}: the conditions of {experiment.name} differ in "
                f"{factor.parameter}, so that it cannot also be varied."
            )
        if len(set(factor.labels)) < max(2, len(factor.levels)):
            raise ParameterError(
                f"--factor {factor.name} needs at least two levels, all different (got "
                f"{', '.join(factor.labels)})."
            )
    return factors


# The verdicts.


@dataclass(frozen=True)
class Judged:
    """The verdict on one claim.

    Attributes:
        why: why nothing can be concluded, or ``""``.
        effect: the median over seeds of the mean of all cells, with its 95 % interval.
        n_seeds: the number of seeds with a value in every cell.
        cells: one row per cell: ``cell`` (from 1), ``effect`` (median over seeds), ``low``,
            ``high`` (95 %), ``side`` (whether the effect is on the claim's side), ``shown``
            (whether the test shows the claim), ``p_fragile`` (corrected; NaN if the other cells do
            not show the claim), ``fragile``.
    """

    word: Word
    why: str
    effect: float
    low: float
    high: float
    n_seeds: int
    cells: pd.DataFrame


def judge(effects: npt.ArrayLike, sides: Sides, alpha: float = ALPHA) -> Judged:
    """The verdict on a claim from its effect in each cell and seed.

    Effects have the shape (n_cells, n_seeds); a seed with a NaN in any cell is left out.
    """
    y = np.asarray(effects, dtype=np.float64)
    y = y[:, ~np.isnan(y).any(axis=0)]
    n, level = y.shape[1], alpha / 2
    fewest = Estimand(above=0).fewest_runs(level)
    why = ""
    if not sides:
        why = "the claim sets no limit (equal effects without a margin)"
    elif n < fewest:
        why = f"only {n} seeds have a value in every cell, and it takes {fewest}"
    elif (y == y[:, :1]).all():
        why = "all seeds give the same numbers, and count as one"
    cells = _cells(y, sides, alpha)
    whole = _tested(y.mean(axis=0), sides)
    word: Word = "inconclusive"
    if not why:
        if cells["shown"].all():
            word = "robust"
        elif cells["fragile"].any():
            word = "fragile"
        elif whole.p_against <= level:
            word = "fails"
    return Judged(word, why, whole.estimate, whole.low, whole.high, n, cells)


def _cells(y: Floats, sides: Sides, alpha: float) -> pd.DataFrame:
    raw = [
        _p_fragile(y[cell], np.delete(y, cell, axis=0).mean(axis=0), sides, alpha / 2)
        for cell in range(len(y))
    ]
    # A cell without a detected claim in the others is no test that was left out: it counts.
    p_fragile = np.where(np.isnan(raw), math.nan, holm(np.nan_to_num(raw, nan=1.0)))
    rows = []
    for cell, (values, p) in enumerate(zip(y, p_fragile, strict=True), 1):
        test = _tested(values, sides)
        side = all(side * (test.estimate - limit) > 0 for side, limit in sides)
        shown = bool(sides) and test.p_for <= alpha / 2
        fragile = bool(p <= alpha / 2) and not shown
        rows.append((cell, test.estimate, test.low, test.high, side, shown, p, fragile))
    columns = ["cell", "effect", "low", "high", "side", "shown", "p_fragile", "fragile"]
    return pd.DataFrame(rows, columns=columns)


def _p_fragile(here: Floats, others: Floats, sides: Sides, level: float) -> float:
    """The p-value of less than `KEPT` of the effect; NaN if other cells do not show the claim."""
    if not sides or not _tested(others, sides).p_for <= level:
        return math.nan
    if len(sides) > 1:
        return _tested(here, sides).p_against
    side, limit = sides[0]
    left = side * (here - limit) - KEPT * side * (others - limit)
    return sign_test(left, 0.0, "below")


def _tested(values: Floats, sides: Sides) -> Inference:
    """The sign test of the median on the inner side of all limits."""
    limits = dict(sides)
    return infer(values, above=limits.get(1), below=limits.get(-1))


def verdicts(audit: Audit, measures: pd.DataFrame) -> list[Judged]:
    """A verdict on each claim; ``not judged`` if these minds cannot, or do not read texts."""
    found, whole = [], audit.plan.experiment
    for claim in audit.experiment.claims:
        in_cells = [audit.claim(claim, change) for change in audit.changes]
        rows = [effect_by_seed(whole, measures, there) for there in in_cells]
        table = pd.DataFrame(rows).reset_index(drop=True)
        judged = judge(table, claim.limits(), audit.experiment.alpha)
        reasons = (why_not_judged(audit.plan, there) for there in in_cells)
        same = table.eq(table.iloc[0]) | (table.isna() & table.iloc[0].isna())
        why = next(filter(None, reasons), "")
        if same.all(axis=None) and not audit.plan.has_language_models:
            why = why or NOT_READ
        if why:
            cells = judged.cells.assign(shown=False, fragile=False, p_fragile=math.nan)
            judged = replace(judged, word="not judged", why=why, cells=cells)
        found.append(judged)
    return found


# The report.


def report_of(audit: Audit, outcome: Outcome) -> Report:
    """The report of an audit: ``claims``, ``effects``, ``cells``, ``measures``."""
    experiment, changes = audit.experiment, np.array(audit.changes)
    measures = measured(outcome)
    found = verdicts(audit, measures)
    levels = [[f.labels[i] for f, i in zip(audit.factors, n, strict=True)] for n in audit.levels]
    cells = pd.DataFrame(levels, columns=[factor.name for factor in audit.factors])
    cells.insert(0, "cell", range(1, len(cells) + 1))
    claims, effects = [], []
    for n, (claim, judged) in enumerate(zip(experiment.claims, found, strict=True), 1):
        table = judged.cells
        claims.append({
            "claim": n, "text": claim.text, "verdict": judged.word, "why": judged.why,
            "effect": judged.effect, "low": judged.low, "high": judged.high,
            "smallest": table["effect"].min(), "largest": table["effect"].max(),
            "survives": int(table["side"].sum()), "cells": len(table), "seeds": judged.n_seeds,
            "fragile_in": ", ".join(changes[table["fragile"].to_numpy(bool)]),
        })  # fmt: skip
        effects.append(cells.assign(claim=n, change=changes).merge(table))
    words = [judged.word for judged in found]
    counts = ", ".join(f"{words.count(word)} {word}" for word in WORDS if word in words)
    warnings = list(dict.fromkeys(_sentence(judged.why) for judged in found if judged.why))
    runs = outcome.all_runs
    if invalid := int(runs["invalid"].sum()):
        asks = int(runs["asks"].sum())
        warnings.append(f"{invalid:,} of {asks:,} questions got no usable answer.")
    tables = [
        Table("claims", pd.DataFrame(claims), {
            "claim": "claim", "text": "text", "verdict": "verdict",
            ("effect", "low", "high"): "effect in all cells (95 %)",
            "survives": "cells on its side", "fragile_in": "fragile with",
        }, "The claims, and what other presentations do to them"),
        Table("effects", pd.concat(effects, ignore_index=True), {
            "claim": "claim", "change": "cell", ("effect", "low", "high"): "effect (95 %)",
            "shown": "shown", "p_fragile": "p (fragile)",
        }, "The cells", most=MOST_ROWS),
        Table("cells", cells, {}),
        Table("measures", measures, {}),
    ]  # fmt: skip
    return Report(
        f"Audit of {experiment.name}: {experiment.title}",
        f"Decided by: {audit.plan.decided_by}. Cells: {len(cells)}; verdicts on claims: {counts}.",
        warnings,
        tables,
        {f"claim-{n + 1}": curve(audit, n, judged) for n, judged in enumerate(found)},
        {
            "experiment": experiment.name, "question": experiment.question,
            "scale": audit.plan.scale, "scenario": experiment.scenario,
            "seeds_per_cell": audit.plan.runs, "runs": len(outcome.runs),
            "earlier_runs": len(runs) - len(outcome.runs), "first_seed": audit.plan.seeds[0],
            "factors": {factor.name: factor.labels for factor in audit.factors},
            "asks": int(runs["asks"].sum()), "invalid": invalid,
            "paid_usd": float(runs["paid_usd"].sum(skipna=False)), "recording": str(outcome.path),
        },
        [audit.design, NOTE.format(alpha=f"{100 * experiment.alpha:g} %")],
        outcome.replays,
    )  # fmt: skip


def curve(audit: Audit, index: int, judged: Judged) -> Any:
    """The specification curve of a claim (Simonsohn, Simmons and Nelson 2020)."""
    claim, factors = audit.experiment.claims[index], audit.factors
    table = judged.cells.sort_values("effect", kind="stable").reset_index(drop=True)
    below = _ROW * (sum(len(factor.levels) for factor in factors) + 1.5 * len(factors))
    words = str(judged.word)
    if words != "not judged":
        words += f": on the claim's side in {int(table['side'].sum())} of {len(table)} cells"
    figure = style.new_figure(
        f"{audit.experiment.name}, claim {index + 1}",
        f"{claim.text} {_sentence(words)} {audit.plan.runs} seeds.", height=2.8 + below,
    )  # fmt: skip
    top, bottom = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": [2.6, below], "hspace": 0.02}
    )
    what = "Difference" if len(claim.places) > 1 else "Median"
    title = f"{what}: {audit.experiment.measure(claim.measure).title}"
    style.plain_axes(top, ylabel=textwrap.fill(title, 30))
    looks = (
        (table["shown"], style.GREEN, "o", "claim shown"),
        (table["fragile"], style.VERMILLION, "s", "fragile"),
        (~table["shown"] & ~table["fragile"], style.GREY, "D", "neither"),
    )
    for chosen, colour, marker, name in looks:
        if len(mine := table[chosen.astype(bool)]):
            top.errorbar(
                mine.index, mine["effect"],
                yerr=[mine["effect"] - mine["low"], mine["high"] - mine["effect"]],
                fmt=marker, color=colour, markersize=5, elinewidth=1.2, capsize=0, label=name,
            )  # fmt: skip
    for _, limit in claim.limits():
        top.axhline(limit, color=style.BLACK, linewidth=0.9, linestyle=(0, (4, 3)))
    top.tick_params(axis="x", length=0, labelbottom=False)
    style.add_legend(top, loc="lower right", bbox_to_anchor=(1, 1), ncols=3)
    _draw_levels(bottom, table, audit)
    return figure


def _draw_levels(ax: Any, table: pd.DataFrame, audit: Audit) -> None:
    ticks: list[float] = []
    names: list[str] = []
    y = 0.0
    for column, factor in enumerate(audit.factors):
        ax.text(
            -0.01, y, factor.name, transform=ax.get_yaxis_transform(), ha="right", va="center",
            fontsize=style.TICK, fontweight="bold", parse_math=False,
        )  # fmt: skip
        for level, label in enumerate(factor.labels):
            y += 1
            ticks.append(y)
            names.append(label if len(label) <= 24 else f"{label[:23]}…")
            here = np.array(audit.levels)[table["cell"].to_numpy() - 1, column] == level
            ax.plot(table.index, np.full(len(table), y), ".", color="#D8D8D8", markersize=4)
            ax.plot(table.index[here], np.full(here.sum(), y), "o", color=style.BLUE, markersize=5)
        y += 1.5
    style.plain_axes(ax, xlabel="Cell, in order of the effect")
    ax.set_yticks(ticks, names, fontsize=style.TICK, parse_math=False)
    ax.set_ylim(y - 0.8, -0.7)
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xticks(table.index, [str(cell) for cell in table["cell"]], fontsize=style.TICK)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."
