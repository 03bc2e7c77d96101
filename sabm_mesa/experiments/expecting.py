"""What is to be expected of an experiment before anything is spent: its verdicts and its cost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.analysis.inference import holm
from sabm_mesa.cost import Cost, Estimate, Line, Range, Typical, estimate
from sabm_mesa.experiments.claims import ALPHA, MOST_RUNS, judged
from sabm_mesa.experiments.design import COMPARED, Claim
from sabm_mesa.experiments.finding import name_of, run_numbers
from sabm_mesa.experiments.parties import remembering, to_be_held
from sabm_mesa.experiments.plan import Cell, Plan, described
from sabm_mesa.experiments.running import PARTY, RECORDING
from sabm_mesa.llm import Connection

FORKED = "Of runs that go on with others, at the least the share of their own rounds is counted."
PARTIES = "What is remembered of a party is not in the tokens: nobody knows yet what will be said."


def too_few_runs(plan: Plan) -> str:
    """Why the runs of a plan cannot bear out some claims, whatever comes out; ``""`` when they can.

    Args:
        plan: the experiment.
    """
    claims = judged(plan)
    best = _smallest(claims, plan.runs)
    open_ = [p for p in best if p > ALPHA]
    if not open_:
        return ""
    takes = next((n for n in range(plan.runs, MOST_RUNS) if max(_smallest(claims, n)) <= ALPHA), 0)
    runs = "1 run" if plan.runs == 1 else f"{plan.runs} runs"
    which = "no claim" if len(open_) == len(claims) else f"{len(open_)} of {len(claims)} claims"
    verb = "can" if len(open_) == len(claims) else "cannot"
    return (
        f"With {runs} a condition {which} {verb} be told, whatever comes out: the smallest p, "
        f"corrected for the number of claims, is {min(open_):.2g}, and the level {ALPHA:g}. "
        f"It takes {takes} runs (--runs {takes})."
    )


def _smallest(claims: Iterable[Claim], runs: int) -> list[float]:
    """The smallest corrected p-value that each claim can have with so many runs a condition."""
    ways = [math.comb(2 * runs, runs) if c.kind in COMPARED else 2**runs for c in claims]
    return [float(p) for p in holm(min(1.0, 2 / n) for n in ways)]


def expected_cost(plan: Plan, folder: str | Path, prices: str | Path | None = None) -> Estimate:
    """What the missing runs of an experiment cost, parties included; nothing is sent.

    Args:
        plan: the experiment.
        folder: its folder; what is finished there costs nothing any more.
        prices: a price file of one's own, or None.

    Returns:
        An estimate with one line a condition, and all minds in one text; runs that were begun count
        whole.

    Raises:
        UsageError: for parameters, minds or prices that cannot be used.
        RecordingError: when the folder holds other runs.
    """
    path, parties = Path(folder) / RECORDING, plan.parties
    missing: list[tuple[Plan, Path]] = [(plan, path)]
    if parties is not None:
        held = path.parent / PARTY / RECORDING
        found = run_numbers(parties, held)
        if all(found.get(name_of(cell), (0, ""))[1] == "finished" for cell in parties.cells):
            runs = [(name, number) for (name, _), (number, _) in found.items()]
            plan = remembering(plan, held, pd.DataFrame(runs, columns=["condition", "run"]))
            missing = [(plan, path)]
        else:
            missing = [(parties, held), (plan, Path(folder) / "nothing that remembers it")]
    parts = [
        _estimated(each, cells, parties, prices)
        for each, place in missing
        for cells in _missing(each, place)
    ]
    notes = [note for _, part in parts for note in part.notes]
    notes += [FORKED] if any(cell.fork_of for cell in plan.cells) else []
    notes += [PARTIES] if len(missing) > 1 else []
    paid = any(part.lines for _, part in parts)
    return Estimate(
        scenario=plan.experiment.scenario,
        title=plan.experiment.name,
        runs=sum(part.runs for _, part in parts),
        n_rounds=max((part.n_rounds for _, part in parts), default=0),
        minds={" / ".join(dict.fromkeys(described(each) for each in plan.minds.values())): 1},
        lines=[_line(name, part) for name, part in parts if part.lines],
        notes=list(dict.fromkeys(notes)) if paid else [],
        typical=_added([part.typical for _, part in parts if part.typical is not None]),
    )


def _missing(plan: Plan, path: Path) -> list[list[Cell]]:
    """The runs of each condition that are not finished."""
    found = run_numbers(plan, path)
    cells: dict[str, list[Cell]] = {}
    for cell in plan.cells:
        if found.get(name_of(cell), (0, ""))[1] != "finished":
            cells.setdefault(cell.condition, []).append(cell)
    return list(cells.values())


def _estimated(
    plan: Plan, cells: list[Cell], parties: Plan | None, prices: str | Path | None
) -> tuple[str, Estimate]:
    """A condition, and what its missing runs cost: of a fork the rounds from there on."""
    cell = cells[0]
    given: dict[str, Any] = {**cell.parameters, **cell.changes, "rng": cell.seed}
    if cell.party and parties is not None and "party" not in given:
        free = [
            replace(p, parameters={**p.parameters, "minds": "classical"}) for p in parties.cells
        ]
        given["party"] = to_be_held(replace(parties, cells=free), cell.party, Connection())
    found = estimate(plan.model, given, len(cells), prices=prices)
    if cell.fork_of:
        share = 1.0 - cell.at / found.n_rounds
        lines = [replace(line, cost=_from(line.cost, share)) for line in found.lines]
        found = replace(found, lines=lines, typical=None)
    return cell.condition, found


def _line(condition: str, part: Estimate) -> Line:
    return Line(condition, ", ".join(dict.fromkeys(line.mind for line in part.lines)), part.total)


def _from(cost: Cost, share: float) -> Cost:
    """The cost of the last part of a run; prompts may grow, so at the most that of the whole."""
    spans = (getattr(cost, name) for name in Cost.__slots__)
    return Cost(*(Range(each.low * share, each.high) for each in spans))


def _added(known: list[Typical]) -> Typical | None:
    sums = (sum(getattr(each, name) for each in known) for name in Typical.__slots__)
    return Typical(*sums) if known else None
