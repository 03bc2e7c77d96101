"""Forecasts before an experiment: possible verdicts and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from sabm_mesa.analysis.tests import MOST_RUNS, holm
from sabm_mesa.llm import Connection
from sabm_mesa.runs.cost import Cost, Estimate, Line, Range, estimate
from sabm_mesa.studies.experiments.claims import estimand_of, judged
from sabm_mesa.studies.experiments.design import Claim
from sabm_mesa.studies.experiments.plan import (
    ExperimentRun,
    Plan,
    described,
    with_earlier_runs,
    with_pending_run,
)
from sabm_mesa.studies.experiments.running import (
    EARLIER,
    RECORDING,
    earlier_plans,
    find,
    unfinished,
)

FORKED = "Runs that continue others count at least with their own rounds."
EARLIER_RUNS = "The tokens do not include what comes from an earlier run that is still missing."


def too_few_runs(plan: Plan) -> str:
    """The reason why no result of a plan's runs can support some claims; ``""`` when they can.

    Args:
        plan: the experiment.
    """
    claims = judged(plan)
    alpha = plan.experiment.alpha
    best = _smallest(plan, claims, plan.runs)
    open_ = [p for p in best if p > alpha]
    if not open_:
        return ""
    more = range(plan.runs, MOST_RUNS)
    takes = next((n for n in more if max(_smallest(plan, claims, n)) <= alpha), 0)
    runs = "1 run" if plan.runs == 1 else f"{plan.runs} runs"
    which = "no claim" if len(open_) == len(claims) else f"{len(open_)} of {len(claims)} claims"
    verb = "can" if len(open_) == len(claims) else "cannot"
    return (
        f"With {runs} a condition {which} {verb} be detected, whatever comes out: the smallest p, "
        f"corrected for the number of claims, is {min(open_):.2g}, and the level {alpha:g}. "
        + (f"It takes {takes} runs (--runs {takes})." if takes else "No number of runs would do.")
    )


def _smallest(plan: Plan, claims: Sequence[Claim], runs: int) -> list[float]:
    """The smallest possible corrected p-value of each claim with ``runs`` runs per condition."""
    least = [estimand_of(plan.experiment, claim).least_p(runs) for claim in claims]
    return [float(p) for p in holm(min(1.0, 2 * p) for p in least)]


def expected_cost(
    plan: Plan,
    folder: str | Path,
    prices: str | Path | None = None,
    *,
    earlier: bool = True,
    among: Sequence[Plan] = (),
) -> Estimate:
    """Estimate the cost of the missing runs of an experiment.

    Args:
        plan: the experiment.
        folder: its folder; finished runs in it cost nothing.
        prices: a price file of the user, or None.
        earlier: whether earlier runs count.
        among: plans that share the recording, this one included.

    Returns:
        An estimate with one line per condition, and all minds in one text; interrupted runs count
        in full.

    Raises:
        UsageError: for parameters, minds or prices that cannot be used.
        RecordingError: when the folder has other runs.
    """
    path = Path(folder) / RECORDING
    missing: list[tuple[Plan, Path]] = [(plan, path)]
    if plan.earlier is not None:
        played = path.parent / EARLIER / RECORDING
        before = earlier_plans(among or [plan])
        if not unfinished(plan.earlier, played, before):
            runs = [(name, run.run) for (name, _), run in find(plan.earlier, played).items()]
            frame = pd.DataFrame(runs, columns=["condition", "run"])
            built = with_earlier_runs(plan, played, frame)
            missing = [(built, path)]
            among = [built, *among]
        else:
            missing = [(plan, Path(folder) / "nothing that builds on it")]
            if earlier:
                missing.insert(0, (plan.earlier, played))
    parts = [
        _estimated(missing_plan, cells, prices)
        for missing_plan, recording in missing
        for cells in _missing(missing_plan, recording, among)
    ]
    notes = [note for _, part in parts for note in part.notes]
    notes += [FORKED] if any(cell.fork_of for cell in plan.cells) else []
    notes += [EARLIER_RUNS] if missing[-1][1] != path else []
    paid = any(part.lines for _, part in parts)
    return Estimate(
        scenario=plan.experiment.scenario,
        title=plan.experiment.name,
        runs=sum(part.runs for _, part in parts),
        n_rounds=max((part.n_rounds for _, part in parts), default=0),
        minds={" / ".join(dict.fromkeys(described(mind) for mind in plan.minds.values())): 1},
        lines=[_line(name, part) for name, part in parts if part.lines],
        notes=list(dict.fromkeys(notes)) if paid else [],
    )


def _missing(plan: Plan, path: Path, among: Sequence[Plan]) -> list[list[ExperimentRun]]:
    """The runs of each condition that are not finished."""
    cells: dict[str, list[ExperimentRun]] = {}
    for cell in unfinished(plan, path, among):
        cells.setdefault(cell.condition, []).append(cell)
    return list(cells.values())


def _estimated(
    plan: Plan, cells: list[ExperimentRun], prices: str | Path | None
) -> tuple[str, Estimate]:
    """A condition, and the cost of its missing runs; for a fork, only of the later rounds."""
    cell = cells[0]
    given = with_pending_run(plan, cell, Connection(), minds="classical") | {"rng": cell.seed}
    estimated = estimate(plan.model_of(cell.condition), given, len(cells), prices=prices)
    if cell.fork_of:
        share = 1.0 - cell.at / estimated.n_rounds
        lines = [replace(line, cost=_from(line.cost, share)) for line in estimated.lines]
        estimated = replace(estimated, lines=lines)
    return cell.condition, estimated


def _line(condition: str, part: Estimate) -> Line:
    return Line(condition, ", ".join(dict.fromkeys(line.mind for line in part.lines)), part.total)


def _from(cost: Cost, share: float) -> Cost:
    """The cost of the last part of a run; its high end is that of the whole: prompts grow."""
    spans = (getattr(cost, name) for name in Cost.__slots__)
    return Cost(*(Range(span.low * share, span.likely * share, span.high) for span in spans))
