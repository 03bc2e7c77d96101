"""Tournaments: minds play one another, and are ranked by what their agents got.

Which score a scenario has it declares itself (`SmartModel.score`), and whether minds meet in pairs
or all in one population. All runs are a sweep over seatings (see `sabm_mesa.sweeps`): they are in
one recording, the same call finishes what is missing, and the same seeds give the same results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.analysis.plots import tournament as plots
from sabm_mesa.llm import Connection
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.score import Score
from sabm_mesa.recording.export import write_frames
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.outputs import DPI, as_json, write_whole, write_words
from sabm_mesa.registry import scenario as registered
from sabm_mesa.sweeps import SEED, Sweep, Watch, sweep
from sabm_mesa.tournament.entrants import Entrant, entrants, score_of, seatings
from sabm_mesa.tournament.tables import games_of, matrix_of, ranking_of

__all__ = ["Entrant", "Tournament", "play"]

RUNS = 10
"""Seeds of a tournament when nothing else is said: enough for an interval."""


@dataclass(frozen=True)
class Tournament:
    """A tournament that was played.

    Attributes:
        scenario: the model class.
        entered: the entrants, as they were given.
        agents: agents of a run.
        sweep: the runs.
        ranking: one row an entrant, the best first; see `tables.ranking_of`.
        games: one row an agent and run; see `tables.games_of`.
        reasons: one row an entrant and reason of invalid decisions, with ``times``.
        matrix: entrants by opponents, the best first; see `tables.matrix_of`.
        files: the files that were written.
    """

    scenario: type[SmartModel]
    entered: Sequence[Entrant]
    agents: int
    sweep: Sweep
    ranking: pd.DataFrame
    games: pd.DataFrame
    reasons: pd.DataFrame
    matrix: pd.DataFrame
    files: Sequence[Path]

    @property
    def score(self) -> Score:
        """What the entrants are scored by."""
        return score_of(self.scenario)

    def summary(self) -> dict[str, Any]:
        """What came of it, as in ``tournament.json``: the same for the same seeds and files."""
        grid, score = self.sweep.grid, self.score
        return {
            "scenario": grid.model.scenario_name,
            "parameters": dict(grid.parameters),
            "format": "pairs" if score.pairs else "population",
            "agents": self.agents,
            "score": score.label,
            "lower_is_better": score.lower_is_better,
            "seeds": list(grid.seeds),
            "runs": len(grid.cells),
            "entrants": [asdict(each) for each in self.entered],
            "ranking": self.ranking.to_dict("records"),
            "matrix": {str(name): dict(row) for name, row in self.matrix.iterrows()},
            "reasons": self.reasons.to_dict("records"),
            "cost_usd": float(self.sweep.runs["cost_usd"].sum(skipna=False)),
        }


def play(
    scenario: type[SmartModel] | str,
    minds: Sequence[str],
    *,
    folder: str | Path,
    parameters: Mapping[str, Any] | None = None,
    runs: int = RUNS,
    seed: int = SEED,
    on: str = "here",
    workers: int | None = None,
    connection: Connection | None = None,
    watch: Watch = lambda _done, _total: None,
) -> Tournament:
    """Play a tournament, or what is missing of it, and write its tables and plots.

    Args:
        scenario: the model class, or the name of a scenario.
        minds: who plays: files, ``FILE:NAME`` or the specs of minds.
        folder: where everything is written: ``recording.sqlite``, ``ranking.csv``, ``games.csv``,
            ``matrix.csv``, ``reasons.csv``, ``ranking.png``, ``matrix.png``, ``tournament.json``,
            and the tables of the sweep.
        parameters: the parameters of the scenario.
        runs: runs of each seating, with the seeds ``seed``, ``seed + 1``, ….
        seed: the first seed.
        on: where free runs are played: ``"here"``, ``"processes"`` or ``"ray"``.
        workers: how many processes; as many as there are cores when None.
        connection: how language models are reached, with its budget.
        watch: called with the number of runs that are done and of all runs.

    Raises:
        UsageError: for minds or parameters that cannot be used; there is no file then.
        RunError: when a run fails, or the folder cannot be used; the same call goes on.
    """
    model = registered(scenario) if isinstance(scenario, str) else scenario
    score, given = score_of(model), dict(parameters or {})
    entered = entrants(minds)
    agents, seated = seatings(model, entered, given)
    given[score.size] = agents
    done = sweep(
        model, {"minds": seated}, folder=folder, parameters=given, runs=runs, seed=seed, on=on,
        workers=workers, connection=connection, watch=watch,
    )  # fmt: skip
    games, reasons = games_of(Recorded(done.path), done.runs, score, entered)
    ranking = ranking_of(games, reasons, score, entered)
    matrix = matrix_of(games, score, list(ranking["entrant"]))
    played = Tournament(model, entered, agents, done, ranking, games, reasons, matrix, [])
    return replace(played, files=_write(played, Path(folder)))


def _write(played: Tournament, folder: Path) -> list[Path]:
    score = played.score
    n = len(played.sweep.grid.seeds)
    subtitle = f"{played.scenario.title} · {n} seed{'s' if n > 1 else ''} a seating"
    label = score.label + (" (lower is better)" if score.lower_is_better else "")
    figures = {
        "ranking": plots.ranking(played.ranking, label, subtitle),
        "matrix": plots.matrix(played.matrix, label, subtitle, differences=not score.pairs),
    }
    tables = {
        "ranking": played.ranking,
        "games": played.games,
        "matrix": played.matrix.rename_axis("entrant").rename_axis(columns=None).reset_index(),
        "reasons": played.reasons,
    }
    return [
        *write_frames(folder, tables, "csv"),
        *(
            write_whole(folder / f"{name}.png", partial(figure.savefig, dpi=DPI))
            for name, figure in figures.items()
        ),
        write_words(folder / "tournament.json", as_json(played.summary()) + "\n"),
    ]
