"""Running the missing part of an audit, and judging the claims from its runs.

All cells are in one recording. Finished runs are not played again, interrupted ones continue, and
missing ones are played, those of all cells at the same time and within one budget. Earlier runs
that these build on are the same in all cells, and come first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.llm import Connection
from sabm_mesa.runs.run import Watch
from sabm_mesa.studies.audit.plan import AuditPlan
from sabm_mesa.studies.audit.verdicts import Judged, judge
from sabm_mesa.studies.experiments.claims import (
    effect_by_seed,
    limits,
    measured,
    why_not_judged,
)
from sabm_mesa.studies.experiments.design import Claim
from sabm_mesa.studies.experiments.plan import asks_language_model
from sabm_mesa.studies.experiments.running import (
    RECORDING,
    Outcome,
    frames,
    play,
    read,
)

NOT_READ = (
    "every cell gave the same numbers: these minds do not read texts, and the audit shows seeds "
    "only"
)


@dataclass(frozen=True)
class Audited:
    """An audit that was run.

    Attributes:
        plan: the plan.
        path: the recording.
        runs: one row per run: ``cell``, ``condition``, ``seed`` and the columns of `Recorded.runs`.
        measures: one row per cell, run and measure: ``cell``, ``condition``, ``run``, ``seed``,
            ``measure``, ``value``.
        effects: one row per claim, cell and seed: ``claim`` (its number, from 1), ``cell`` (from
            0), ``seed``, ``effect``.
        judged: the verdict on each claim.
        ran: the number of runs that were played or resumed now.
        earlier: the earlier runs that the cells build on: the same in every cell with the same
            minds, with the same presentation.
    """

    plan: AuditPlan
    path: Path
    runs: pd.DataFrame
    measures: pd.DataFrame
    effects: pd.DataFrame
    judged: Sequence[Judged]
    ran: int
    earlier: Sequence[Outcome] = ()

    @property
    def all_runs(self) -> pd.DataFrame:
        """All paid runs, including the earlier ones."""
        return pd.concat(
            [*(outcome.all_runs for outcome in self.earlier), self.runs], ignore_index=True
        )

    @property
    def paths(self) -> list[Path]:
        """The recordings, that of the cells first."""
        return [self.path, *dict.fromkeys(outcome.path for outcome in self.earlier)]

    @property
    def claims(self) -> list[tuple[Claim, Judged]]:
        """The claims with their verdicts."""
        return list(zip(self.plan.experiment.claims, self.judged, strict=True))

    def summary(self) -> dict[str, Any]:
        """The verdicts in a form for JSON."""
        plan = self.plan
        return {
            "experiment": plan.experiment.name,
            "scale": plan.scale,
            "runs": plan.runs,
            "seeds": plan.seeds,
            "cells": len(plan.plans),
            "factors": {factor.name: factor.labels for factor in plan.factors},
            "left_out": dict(plan.left_out),
            "asks": int(self.all_runs["asks"].sum()),
            "invalid": int(self.all_runs["invalid"].sum()),
            "paid_usd": float(self.all_runs["paid_usd"].sum(skipna=False)),
            "claims": [self._in_json(claim, judged) for claim, judged in self.claims],
        }

    def _in_json(self, claim: Claim, judged: Judged) -> dict[str, Any]:
        return {
            "claim": claim.text,
            "verdict": judged.word,
            "why": judged.why,
            "effect": judged.effect,
            "low": judged.low,
            "high": judged.high,
            "seeds": judged.n_seeds,
            "smallest": float(judged.cells["effect"].min()),
            "largest": float(judged.cells["effect"].max()),
            "survives": judged.survives,
            "detected_for": judged.detected_for,
            "detected_against": judged.detected_against,
            "cells": len(judged.cells),
            "fragile_in": [
                dict(zip(("factor", "level"), self.plan.change(cell), strict=True))
                for cell in judged.fragile_in
            ],
        }


def run(
    audit: AuditPlan,
    folder: str | Path,
    *,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
    begin: Callable[[], None] = lambda: None,
) -> Audited:
    """Run the missing part of an audit.

    Args:
        audit: the plan.
        folder: where its recording is, or will be.
        connection: how language models are reached; its budget also counts the recorded costs.
        watch: called with the models every tenth of a second.
        begin: called after all checks, before the first run.

    Raises:
        UsageError: for parameters or minds that cannot be used.
        RunError: when a run fails; its answers are recorded, and the same call continues.
    """
    built, earlier, ran = play(audit.plans, folder, connection=connection, watch=watch, begin=begin)
    before = list({id(outcome): outcome for outcome in earlier if outcome is not None}.values())
    return read_audit(replace(audit, plans=built), Path(folder) / RECORDING, ran, before)


def read_audit(
    audit: AuditPlan, path: Path, ran: int = 0, earlier: Sequence[Outcome] = ()
) -> Audited:
    """Read the runs of an audit from its recording, and judge the claims.

    Args:
        audit: the plan, with the earlier runs that its runs build on as parameters.
        path: the recording of all runs.
        ran: the number of runs that were played now.
        earlier: the earlier runs.

    Raises:
        RecordingError: when it cannot be read.
    """
    measures = audit.experiment.measures
    data = frames(path, coded=any(measure.data == "messages" for measure in measures))
    outcomes = [read(plan, path, data=data) for plan in audit.plans]
    values = [measured(outcome) for outcome in outcomes]
    claims = audit.experiment.claims
    effects = [_effects(audit, values, claim) for claim in claims]
    alpha = audit.experiment.alpha
    judged = [
        _judged(audit, claim, table, judge(table, limits(claim), alpha))
        for claim, table in zip(claims, effects, strict=True)
    ]
    rows = [
        (number, cell, seed, value)
        for number, table in enumerate(effects, 1)
        for cell, by_seed in enumerate(table.to_numpy())
        for seed, value in zip(table.columns, by_seed, strict=True)
    ]
    return Audited(
        audit, path,
        _by_cell([outcome.runs for outcome in outcomes]), _by_cell(values),
        pd.DataFrame(rows, columns=["claim", "cell", "seed", "effect"]), judged, ran, earlier,
    )  # fmt: skip


def _effects(audit: AuditPlan, values: Sequence[pd.DataFrame], claim: Claim) -> pd.DataFrame:
    """The effect of a claim by cell (rows) and seed (columns)."""
    effects = [effect_by_seed(audit.experiment, cell_values, claim) for cell_values in values]
    return pd.DataFrame(effects).reset_index(drop=True)


def _why(audit: AuditPlan, effects: pd.DataFrame) -> str:
    """The reason when cells are all the same and cannot judge a claim; else ``""``."""
    same = effects.eq(effects.iloc[0]) | (effects.isna() & effects.iloc[0].isna())
    minds = [mind for plan in audit.plans for mind in plan.minds.values()]
    return NOT_READ if same.all(axis=None) and not any(map(asks_language_model, minds)) else ""


def _judged(audit: AuditPlan, claim: Claim, effects: pd.DataFrame, judged: Judged) -> Judged:
    """The verdict; ``not judged`` if these minds cannot judge the claim or do not read texts."""
    why = next(filter(None, (why_not_judged(plan, claim) for plan in audit.plans)), "")
    if why := why or _why(audit, effects):
        cells = judged.cells.assign(detected="", shown=False, fragile=False, p_fragile=math.nan)
        return replace(judged, word="not judged", why=why, cells=cells)
    return judged


def _by_cell(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    named = [table.assign(cell=cell) for cell, table in enumerate(tables)]
    whole = pd.concat(named, ignore_index=True)
    return whole[["cell", *whole.columns.drop("cell")]]
