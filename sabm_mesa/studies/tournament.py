"""Tournaments: minds play against one another, and are ranked by the scores of their agents.

A scenario declares its score (`SmartModel.score`), and whether minds meet in pairs or all in one
population. All runs are a sweep over seatings (see `sabm_mesa.runs.sweep`): they are in one
recording, the same call plays missing ones, and the same seeds give the same results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from sabm_mesa.analysis.intervals import estimate_mean
from sabm_mesa.core.parameters import check_int, parameters_of
from sabm_mesa.core.parsing import check_not_empty
from sabm_mesa.errors import MindSpecError, ParameterError
from sabm_mesa.llm import Connection
from sabm_mesa.minds.files.mind import mind_file, path_and_name
from sabm_mesa.minds.specs import check_forms, is_file
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import Score
from sabm_mesa.models.registry import scenario as registered
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.sweep import SEED, Sweep, Watch, sweep
from sabm_mesa.studies import plots
from sabm_mesa.studies.report import Report, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("classical", "fixed", "llm", "local", "gguf", "py", "human")
"""Kinds of specs of minds; anything else names a file."""
DIGITS = 9
"""The number of decimals for comparisons of scores: smaller differences are rounding errors."""
RUNS = 10
"""The default number of seeds: enough for an interval."""
MOST_COLUMNS = 8
"""The maximum number of entrants whose scores against each other readers see."""
REASONS = 10
"""The maximum number of reasons for invalid decisions that readers see."""


@dataclass(frozen=True)
class Entrant:
    """A mind that plays in a tournament; its version is the SHA-256 of its file, if it has one."""

    name: str
    spec: str
    version: str = ""


def spec_of(given: str) -> str:
    """The spec of an entrant: what is not of one of the `KINDS` is a file."""
    check_not_empty(given)
    return given if given.partition(":")[0].partition("?")[0] in KINDS else f"py:{given}"


def entrants(given: Sequence[str]) -> list[Entrant]:
    """The entrants of a tournament; files are run once, in their own processes.

    Raises:
        MindSpecError: for specs or files that cannot be used, for a repeated mind, or for fewer
            than two.
    """
    specs = [spec_of(mind) for mind in given]
    check_forms(specs, ())
    if twice := [spec for i, spec in enumerate(specs) if spec in specs[:i]]:
        raise MindSpecError(f"{twice[0]} is entered twice: name each mind once.")
    if len(specs) < 2:
        raise MindSpecError(
            "A tournament needs two minds or more: name more files, or --against classical."
        )
    versions, problems = dict[str, str](), []
    for spec in specs:
        try:
            versions[spec] = mind_file(spec).version if is_file(spec) else ""
        except MindSpecError as problem:
            problems.append(str(problem))
    if problems:
        raise MindSpecError(" ".join(problems))
    names = [_short(spec) for spec in specs]
    return [
        Entrant(name if names.count(name) == 1 else spec.removeprefix("py:"), spec, versions[spec])
        for name, spec in zip(names, specs, strict=True)
    ]


def score_of(scenario: type[SmartModel]) -> Score:
    """The score by which the minds of a scenario are ranked."""
    if scenario.score is None:
        raise ParameterError(
            f"The scenario {scenario.scenario_name} declares no score by which minds could be "
            "ranked (class attribute `score`), as others do, such as kbc."
        )
    return scenario.score


def seatings(
    scenario: type[SmartModel],
    score: Score,
    entered: Sequence[Entrant],
    parameters: Mapping[str, Any],
) -> tuple[int, list[list[str]]]:
    """The number of agents, and the seatings: one spec per agent in each.

    In pairs each mind meets every mind, including itself, on both seats. In one population all
    minds have the same number of seats. There are as many seatings as entrants, each shifted by one
    seat, so each mind has each seat equally often.

    Raises:
        ParameterError: when a given number of agents cannot be divided equally.
    """
    specs = [entrant.spec for entrant in entered]
    given = parameters.get(score.size)
    if score.pairs:
        if given not in {None, 2}:
            raise ParameterError(
                f"A tournament of {scenario.scenario_name} is played in pairs: {score.size} is 2 "
                f"there, not {given}."
            )
        return 2, [[one, other] for one in specs for other in specs]
    n = len(specs)
    if given is None:
        default = int(parameters_of(scenario)[score.size].default or n)
        seats = -(-default // n) * n
    else:
        seats = check_int(score.size, given, n)
        if seats % n:
            raise ParameterError(
                f"{score.size}: {seats} agents cannot be shared out equally among {n} minds; "
                f"{seats // n * n} or {(seats // n + 1) * n} can."
            )
    return seats, [[specs[(i + first) % n] for i in range(seats)] for first in range(n)]


def _short(spec: str) -> str:
    if not is_file(spec):
        return spec
    path, name = path_and_name(spec)
    return Path(path).stem + (f":{name}" if name else "")


def games_of(
    scenario: type[SmartModel],
    recorded: Recorded,
    runs: pd.DataFrame,
    score: Score,
    entered: Sequence[Entrant],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The games: the score and the decisions of every agent in every run.

    Returns:
        One row per agent and run, whose ``opponent`` is missing but in pairs; and one row per
        entrant and reason of invalid decisions, with ``times``.
    """
    name_of = {entrant.spec: entrant.name for entrant in entered}
    data, decisions = recorded.agent_data(), recorded.decisions()
    data = data[data["run"].isin(runs["run"])]
    games = score.of_agents(scenario.decided_rounds(data))
    decisions = decisions.astype({"valid": int}).merge(games[["run", "agent"]])
    by_agent = decisions.groupby(["run", "agent"])["valid"].agg(decisions="size", valid="sum")
    games = games.join(by_agent, on=["run", "agent"]).fillna({"decisions": 0, "valid": 0})
    games = games.astype({"decisions": int})
    games["invalid"] = games["decisions"] - games["valid"].astype(int)
    others = games.groupby("run")["mind"].transform(lambda minds: minds.to_numpy()[::-1])
    games["opponent"] = others.map(name_of) if score.pairs else None
    games["entrant"] = games["mind"].map(name_of)
    games["seed"] = games["run"].map(runs.set_index("run")["seed"])
    reasons = decisions.loc[decisions["valid"] == 0, ["mind", "reason"]]
    reasons = reasons.assign(entrant=reasons["mind"].map(name_of))
    counted = reasons.groupby(["entrant", "reason"], as_index=False).size()
    counted = counted.rename(columns={"size": "times"})
    columns = [
        "run", "seed", "agent", "entrant", "opponent", "score", "decisions", "invalid",
    ]  # fmt: skip
    order = ["entrant", "times", "reason"]
    return games[columns], counted.sort_values(order, ascending=[True, False, True])


def ranking_of(
    games: pd.DataFrame, reasons: pd.DataFrame, score: Score, entered: Sequence[Entrant]
) -> pd.DataFrame:
    """The ranking: one row per entrant, the best first; ties share a rank.

    The unit is the seed, since games with the same seed have the same start: an entrant's score
    with a seed is its mean over opponents other than itself, seats and agents. The interval is the
    one of `sabm_mesa.analysis.intervals.mean_interval` over seeds. ``games`` are those against
    others, ``decisions`` and ``invalid`` are of all games, and ``reason`` is the most frequent one.
    """
    rows = []
    for entrant in entered:
        mine = games[games["entrant"] == entrant.name]
        others = mine[mine["opponent"] != entrant.name]
        by_seed = _scores_by_seed(mine)
        _, mean, low, high = estimate_mean(by_seed)
        why = reasons.loc[reasons["entrant"] == entrant.name, "reason"]
        rows.append(
            {
                "entrant": entrant.name, "spec": entrant.spec, "score": mean, "low": low,
                "high": high, "seeds": len(by_seed), "games": others["run"].nunique(),
                "decisions": int(mine["decisions"].sum()), "invalid": int(mine["invalid"].sum()),
                "reason": "" if why.empty else why.iloc[0],
            }
        )  # fmt: skip
    table = pd.DataFrame(rows)
    rank = table["score"].round(DIGITS).rank(method="min", ascending=score.lower_is_better)
    table.insert(0, "rank", rank.astype(int))
    return table.sort_values("rank", kind="stable", ignore_index=True)


def _scores_by_seed(games: pd.DataFrame) -> pd.Series[float]:
    """The mean score of each entrant with each seed, against others than itself."""
    others = games[games["opponent"] != games["entrant"]]
    return others.groupby(["entrant", "seed"])["score"].mean()


def matrix_of(games: pd.DataFrame, score: Score, names: Sequence[str]) -> pd.DataFrame:
    """The results of entrants against one another: a square table, entrants by opponents.

    In pairs: the mean score of the row against the column. In one population: the mean difference
    between the scores of row and column in the same run.
    """
    if score.pairs:
        means = games.pivot_table("score", "entrant", "opponent", aggfunc="mean")
        return means.loc[list(names), list(names)]
    by_run = games.pivot_table("score", "run", "entrant", aggfunc="mean")
    rows = {one: {other: (by_run[one] - by_run[other]).mean() for other in names} for one in names}
    return pd.DataFrame(rows, index=list(names)).T


@dataclass(frozen=True)
class Tournament:
    """A tournament that was played.

    Attributes:
        agents: the number of agents of a run.
        ranking: see `ranking_of`.
        games: see `games_of`, as the reasons.
        matrix: see `matrix_of`; the best first.
    """

    scenario: type[SmartModel]
    score: Score
    entered: Sequence[Entrant]
    agents: int
    sweep: Sweep
    ranking: pd.DataFrame
    games: pd.DataFrame
    reasons: pd.DataFrame
    matrix: pd.DataFrame

    def report(self) -> Report:
        """The report: the tables ``ranking``, ``matrix``, ``reasons`` and ``games``."""
        score = self.score
        how = "in pairs" if score.pairs else f"agents in one population: {self.agents}"
        label = score.label + (" (lower is better)" if score.lower_is_better else "")
        kept = len(self.sweep.specs) - self.sweep.ran
        before = f" (from before: {kept})" if kept else ""
        subtitle = f"{self.scenario.title} · seeds a seating: {len(self.sweep.seeds)}"
        spent = float(self.sweep.runs["cost_usd"].sum(skipna=False))
        prices = "The price of a model is not known: list it in a price file (--prices)."
        paid = f" Spent on these runs in all: ${spent:.4f}." if spent > 0 else ""
        matrix = self.matrix.rename_axis("entrant").rename_axis(columns=None).reset_index()
        names = map(str, matrix) if len(matrix) <= MOST_COLUMNS else ()
        against: dict[Any, str] = {name: name for name in names}
        reasons = "Reasons of invalid decisions" if len(self.reasons) else ""
        return Report(
            f"{self.scenario.title}: tournament",
            f"Minds: {len(self.entered)}; {how}; runs: {len(self.sweep.specs)}{before}.{paid}",
            [prices] if math.isnan(spent) else [],
            [
                Table("ranking", self.ranking, {
                    "rank": "rank", "entrant": "mind", ("score", "low", "high"): label,
                    "decisions": "decisions", "invalid": "invalid",
                }, note="95 % intervals over seeds."),
                Table("matrix", matrix, against, "The row minus the column, in the same run"
                      if not score.pairs else "The row against the column"),
                Table("reasons", self.reasons, {"entrant": "mind", "times": "times",
                      "reason": "reason"} if reasons else {}, title=reasons, most=REASONS),
                Table("games", self.games, {}),
            ],
            {"ranking": self._picture(label, subtitle)},
            {
                "scenario": self.scenario.scenario_name, "parameters": self.sweep.parameters,
                "format": "pairs" if score.pairs else "population", "agents": self.agents,
                "score": score.label, "lower_is_better": score.lower_is_better,
                "seeds": self.sweep.seeds, "runs": len(self.sweep.specs),
                "entrants": [asdict(entrant) for entrant in self.entered], "cost_usd": spent,
            },
        )  # fmt: skip

    def _picture(self, label: str, subtitle: str) -> Figure:
        """The score of each entrant with each seed, the best at the top."""
        by_seed = _scores_by_seed(self.games).rename_axis(index={"entrant": "condition"})
        names = {}
        for name, invalid in zip(self.ranking["entrant"], self.ranking["invalid"], strict=True):
            shown = str(name).replace("$", r"\$")  # a file's name is no formula
            names[str(name)] = f"{shown} ({invalid:,} invalid)" if invalid else shown
        return plots.by_condition(
            by_seed.rename("value").reset_index().assign(measure="score"), names, {"score": label},
            title="Tournament: ranking", subtitle=subtitle,
        )  # fmt: skip


def play(
    scenario: type[SmartModel] | str,
    minds: Sequence[str],
    *,
    folder: str | Path,
    parameters: Mapping[str, Any] | None = None,
    runs: int = RUNS,
    seed: int = SEED,
    connection: Connection | None = None,
    watch: Watch = lambda _done, _total: None,
) -> Tournament:
    """Play a tournament, or the missing part of it.

    Args:
        scenario: the model class, or the name of a scenario.
        minds: the minds that play: files, ``FILE:NAME`` or the specs of minds.
        folder: the folder for the recording and the tables of the sweep.
        parameters: the parameters of the scenario.
        runs: the number of runs of each seating; run i has the seed ``seed + i``.
        seed: the first seed.
        connection: how language models are reached, with its budget.
        watch: called with the numbers of finished runs and of all runs.

    Raises:
        UsageError: for minds or parameters that cannot be used; then no file is written.
        RunError: when a run fails, or the folder cannot be used; the same call continues.
    """
    model = registered(scenario) if isinstance(scenario, str) else scenario
    score, given = score_of(model), dict(parameters or {})
    entered = entrants(minds)
    agents, seated = seatings(model, score, entered, given)
    given[score.size] = agents
    varied = [{score.of: minds} for minds in seated] if score.of else seated
    done = sweep(
        model, {"minds": varied}, folder=folder, parameters=given, runs=runs, seed=seed,
        connection=connection, watch=watch,
    )  # fmt: skip
    games, reasons = games_of(model, Recorded(done.path), done.runs, score, entered)
    ranking = ranking_of(games, reasons, score, entered)
    matrix = matrix_of(games, score, list(ranking["entrant"]))
    return Tournament(model, score, entered, agents, done, ranking, games, reasons, matrix)
