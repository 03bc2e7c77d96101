"""Measures, behavioural models and the preliminary test of a commons.

The measures follow Piatti et al. 2024, arXiv 2404.16698 v4, section 2.4.

A decision of the behavioural models is a degree of cooperation: 1 is a request of the threshold or
less, 0 a request of an equal share of the whole stock or more
(`sabm_mesa.models.commons.theory.cooperation`). The expected cooperation of the others is the mean
degree of the harvests reported last month; before the first report, it is the first belief of the
subjects of Fischbacher and Gächter 2010. Months in which the two amounts are equal are
uninformative and left out. Messages and agreed limits are not among the facts.

Evidence: in field experiments on commons, people follow the others; conformity with increasing best
responses describes the mean harvests, while altruism, reciprocity and inequity aversion do not
(Velez, Stranlund and Murphy 2005, University of Massachusetts Amherst, working paper 2005-4).
Laboratory experiments on commons show the types of public goods games, by linear profiles (van
Klingeren 2022, PLoS ONE 17(5), e0268616).

The test has problems on four skills that keep a commons alive. In the program of the authors an
unreadable answer became 0, which is right in some problems; here it is wrong.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, Row
from sabm_mesa.analysis.cooperation import cooperation_facts, cooperation_models
from sabm_mesa.analysis.intervals import require_columns
from sabm_mesa.core.answers import Number, free
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.commons.agents import NAMES, example
from sabm_mesa.models.commons.minds import ORDINARY
from sabm_mesa.models.commons.theory import (
    cooperation,
    has_collapsed,
    regrown,
    sustainable_harvest,
    threshold,
)
from sabm_mesa.models.declarations import Exam, Study
from sabm_mesa.models.exam import Problem, Problems

CONFIDENCE = 0.95


def efficiency(total: float, horizon: int, stock: int) -> float:
    """The harvest relative to the largest sustainable one.

    u = 1 − max(0, T·f(0) − Σ R) / (T·f(0)), f(0) = floor(h(0) / 2).

    Args:
        total: harvest of all in the whole run (units).
        horizon: months, T.
        stock: units at the beginning, h(0) (2 or more).

    Returns:
        0 (nothing was harvested) to 1.
    """
    most = horizon * sustainable_harvest(stock)
    return 1 - max(0.0, most - total) / most


def equality(gains: Sequence[float]) -> float:
    """One minus the Gini coefficient of the gains.

    ``e = 1 − Σ_i Σ_j |R_i − R_j| / (2·n·Σ_i R_i)``.

    Args:
        gains: units by agent (0 or more).

    Returns:
        1 if all gained the same, 1 / n if one gained everything; NaN without gains.
    """
    values = np.asarray(gains, dtype=float)
    total = values.sum()
    if total <= 0:
        return math.nan
    differences = np.abs(values[:, None] - values[None, :]).sum()
    return float(1 - differences / (2 * values.size * total))


def over_usage(harvests: Sequence[float], thresholds: Sequence[float]) -> float:
    """The share of harvests above the sustainable amount per person of the month.

    o = Σ_i Σ_t 1[r_t^i > f(t)] / (n·m), with one harvest a person and month. The published tables
    do not follow this formula: their denominator seems to include utterances.

    Args:
        harvests: units, one for each person and month.
        thresholds: the sustainable amount of a person in that month, for each of them.

    Returns:
        0 to 1; NaN without a harvest.
    """
    above = np.asarray(harvests, dtype=float) > np.asarray(thresholds, dtype=float)
    return float(above.mean()) if above.size else math.nan


def run_measures(
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    horizon: int,
    stock: int,
    first_round: int = 0,
) -> dict[str, Any]:
    """The measures of one run.

    Args:
        model_data: one row per month, with columns ``round`` and ``threshold``.
        agent_data: one row per agent and month, with columns ``round``, ``agent`` and ``harvest``
            (units; NaN while an agent does not take part).
        horizon: months of a run at most.
        stock: units at the beginning.
        first_round: the first round that is measured, from 0.

    Returns:
        ``survival_time`` (months played until the commons collapsed, the month of the collapse
        included, or all), ``survived`` (whether that is the horizon; as published, also when the
        last harvest destroyed the commons), ``gain`` (units a person, mean), ``efficiency``,
        ``equality`` and ``over_usage`` (all 0 to 1; NaN without months).
    """
    require_columns(model_data, ["round", "threshold"])
    require_columns(agent_data, ["round", "agent", "harvest"])
    months = model_data[model_data["round"] >= first_round]
    rows = agent_data[agent_data["round"] >= first_round].dropna(subset=["harvest"])
    thresholds = months.set_index("round")["threshold"]
    gains = rows["harvest"].astype(float).groupby(rows["agent"]).sum()
    length = horizon - first_round
    played = not rows.empty
    return {
        "survival_time": len(months),
        "survived": len(months) == length,
        "gain": float(gains.mean()) if played else math.nan,
        "efficiency": efficiency(float(gains.sum()), length, stock) if played else math.nan,
        "equality": equality(gains.tolist()),
        "over_usage": over_usage(rows["harvest"].tolist(), rows["round"].map(thresholds).tolist()),
    }


def survival(model_data: pd.DataFrame, collapse_below: int) -> pd.DataFrame:
    """The length of each run, and whether it ended in a collapse.

    Args:
        model_data: one row per run and month, with columns ``run``, ``round`` and ``left`` (units
            left after the harvest).
        collapse_below: the commons has collapsed when less than this is left (units).

    Returns:
        One row per run: ``run``, ``months`` and ``collapsed``. The length of a run that did not
        collapse is censored.
    """
    require_columns(model_data, ["run", "round", "left"])
    last = model_data.sort_values("round").groupby("run").tail(1).sort_values("run")
    return pd.DataFrame(
        {
            "run": last["run"].to_numpy(),
            "months": last["round"].to_numpy() + 1,
            "collapsed": has_collapsed(last["left"].to_numpy(), collapse_below),
        }
    )


def kaplan_meier(months: Sequence[int], collapsed: Sequence[bool]) -> pd.DataFrame:
    """The share of surviving commons by month: the Kaplan–Meier estimate.

    Source: Kaplan & Meier 1958, JASA 53(282); computed by `scipy.stats.ecdf`.

    Args:
        months: months that each run lasted (at least one run).
        collapsed: whether it ended in a collapse; otherwise it is censored.

    Returns:
        One row for each length, in rising order, after one for month 0: ``month``,
        ``survival`` (the share of longer runs), and ``low`` and ``high``, the ends of the 95 %
        interval (Greenwood's variance on the log-log scale; NaN where it is not defined, as
        before the first collapse).

    Raises:
        ValueError: when there is no run, or the lengths of the arguments differ.
    """
    from scipy import stats

    lengths, ended = np.asarray(months, dtype=float), np.asarray(collapsed, dtype=bool)
    if not lengths.size or lengths.shape != ended.shape:
        raise ValueError("kaplan_meier needs at least one run, and for each whether it collapsed")
    sample = stats.CensoredData(uncensored=lengths[ended], right=lengths[~ended])
    estimate = stats.ecdf(sample).sf
    with warnings.catch_warnings():
        # SciPy warns if the interval is undefined (NaN).
        warnings.simplefilter("ignore", RuntimeWarning)
        ends: Any = estimate.confidence_interval(CONFIDENCE, method="log-log")
    survival = pd.DataFrame(
        {
            "month": estimate.quantiles,
            "survival": estimate.probabilities,
            "low": ends.low.probabilities,
            "high": ends.high.probabilities,
        }
    )
    start = pd.DataFrame({"month": [0.0], "survival": [1.0], "low": [math.nan], "high": [math.nan]})
    return pd.concat([start, survival], ignore_index=True)


def rows(run: PlayedRun) -> Iterator[Row]:
    """The requests of a run."""
    stocks = dict(zip(run.rounds["round"], run.rounds["stock"], strict=True))
    report = run.parameters.get("report")
    reported = bool(run.parameters["communication"] if report is None else report)
    catches: dict[int, float] = {}
    last_stock = 0
    present = run.agents[run.agents["harvest"].notna()]
    for _, month in present.groupby("round"):
        time, n = int(month["round"].iloc[0]), len(month)
        stock = int(stocks[time])
        for row in month.to_dict("records"):
            agent, wanted = int(row["agent"]), row["wanted"]
            if stock // n > threshold(stock, n):
                valid = wanted is not None and not math.isnan(wanted)
                degree = cooperation(wanted, stock, n) if valid else None
                player = Decider(run.run, agent, str(row["mind"]), run.condition)
                yield Row(player, time, degree, _known(agent, catches, last_stock, stock, n))
        last_stock = stock
        catches = dict(zip(month["agent"], month["harvest"], strict=True)) if reported else {}


def known(ask: Ask) -> Mapping[str, Any] | None:
    """The facts of a harvester that requests units; None for other questions."""
    if ask.name != "act":
        return None
    facts = ask.facts
    last = facts.last_month or {"catches": (), "stock": 0}
    catches = {catch["name"]: catch["harvest"] for catch in last["catches"]}
    return _known(facts.name, catches, last["stock"], facts.stock, len(facts.names))


def _known(
    me: object, catches: Mapping[Any, float], last_stock: int, stock: int, n: int
) -> dict[str, float]:
    """The facts of a harvester that knows the catches of last month, its own included."""
    others = [
        cooperation(catch, last_stock, len(catches))
        for name, catch in catches.items()
        if name != me and me in catches
    ]
    return cooperation_facts(others, max(stock // n - threshold(stock, n), 1))


def answer(ask: Ask, degree: float | None) -> object:
    """Request units; otherwise stay silent, and agree to nothing."""
    if degree is not None:
        stock, n = ask.facts.stock, len(ask.facts.names)
        low, high = threshold(stock, n), stock // n
        return round(high - degree * (high - low))
    match ask.name:
        case "communicate":
            return ask.book.render("classical_silent", {})
        case "next_speaker":
            return ask.book.render("nobody", {})
        case "agreed":
            return ask.book.render("no", {})
        case "importance":
            return ORDINARY
    return ask.book.render(f"classical_{ask.name}", {})


_BEHAVIOUR = Behaviour(
    what="a request",
    models=cooperation_models(),
    rows=rows,
    known=known,
    answer=answer,
    informed=("last_month",),
)


SKILLS = ("dynamics", "action", "same", "belief")
CAPACITY = 100
STOCKS = (10, CAPACITY)
AMOUNTS = (0, CAPACITY // len(NAMES))
"""Units that each takes, for the skill ``dynamics`` (our choice)."""


def solution(skill: str, stock: int, amount: int) -> int:
    """The right answer, or for the skill ``action`` the largest right one, for a stock h."""
    if skill == "dynamics":
        return regrown(max(0, stock - len(NAMES) * amount), CAPACITY)
    return threshold(stock, len(NAMES))


def is_right(skill: str, correct: int, answer: int) -> bool:
    """Whether an answer is right; a smaller harvest is sustainable, too (``action``)."""
    return 0 < answer <= correct if skill == "action" and correct else answer == correct


class SkillTest(Problems):
    """Problems with random stocks, in one of the wordings of a commons."""

    scenario_name = "commons-skills"
    prompt_file = Path(__file__).with_name("prompts.toml")
    defaults: ClassVar[dict[str, Any]] = {"temperature": 0.0, "max_tokens": 8000, "top_p": 1.0}

    def __init__(
        self, wording: Literal["fishery", "pasture", "pollution"] = "fishery", **settings: Any
    ) -> None:
        self.wording = wording
        super().__init__(**settings)

    def problems(self, n: int) -> list[Problem]:
        """Problems of each skill, `n` of each."""
        return [self._problem(skill) for skill in SKILLS for _ in range(n)]

    def _problem(self, skill: str) -> Problem:
        stock, amount = (int(self.rng.integers(a, b + 1)) for a, b in (STOCKS, AMOUNTS))
        values: dict[str, object] = {
            "wording": self.wording, "name": NAMES[0], "names": NAMES, "n_agents": len(NAMES),
            "capacity": CAPACITY, "example": example(CAPACITY), "stock": stock, "amount": amount,
            "communication": False, "reported": False, "minutes": False,
        }  # fmt: skip
        correct = solution(skill, stock, amount)
        spec = Number(0, CAPACITY if skill == "dynamics" else stock, integer=True, reasoning=free)
        return Problem(skill, f"screen_{skill}", values, spec, partial(is_right, skill, correct))


_EXAM = Exam(
    title="four skills that keep a commons alive",
    source="Piatti et al. 2024, section 3.7",
    right="the stock of the next month (dynamics), a sustainable harvest (action), the largest "
    "one if all take the same (same) and with one's beliefs on the others (belief)",
    published="with 150 problems of each kind, the share of right answers goes with the survival "
    "time of the commons: R² 0.69 (dynamics), 0.92 (action), 0.76 (same), 0.82 (belief); models "
    "take a sustainable amount in 30 % of the problems at most",
    model=SkillTest,
    parameters=lambda scenario, n: {"wording": scenario.wording, "n_problems": n},
    marks=SkillTest.marks,
)


STUDY = Study(
    column_bounds={"over_usage": (0.0, 1.0)},
    kept_columns=("left",),
    behaviour=_BEHAVIOUR,
    exam=_EXAM,
)
