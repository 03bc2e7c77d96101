"""What the answers of a screening say: the measures of each test, and whether a mind passes it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from sabm_mesa.models.bertrand_competition import BertrandCompetition
from sabm_mesa.models.commons_screening import SKILLS
from sabm_mesa.screening.battery import Published, Test
from sabm_mesa.screening.running import Frames, Screening

ENOUGH = 0.9
"""The share of the answers that has to be right (our choice)."""
HIGHEST_PICK = 67
"""The highest pick that is not dominated: the next integer to the highest possible target."""
CONFIDENCE = 0.95
SETTLED = 10
"""The round from which on prices have to lie within the band (our choice)."""


@dataclass(frozen=True)
class Score:
    """What a mind did in a test.

    Attributes:
        test: the test.
        mind: the spec of the mind.
        passes: whether it passes by the rule of the test.
        words: the main measures in a few words.
        measures: measure → its value; NaN when there is none.
    """

    test: Test
    mind: str
    passes: bool
    words: str
    measures: Mapping[str, float]


def scores(screening: Screening) -> list[Score]:
    """The scores, test by test and mind by mind.

    Args:
        screening: the answers.
    """
    return [
        _score(test, mind, screening.frames[test.name])
        for test in screening.battery.tests
        for mind in screening.minds
    ]


def as_frame(found: Sequence[Score], published: Sequence[Published] = ()) -> pd.DataFrame:
    """The measures as a tidy table, and the published numbers below them.

    Args:
        found: the scores.
        published: what is published; only what is a number has a row.

    Returns:
        ``mind``, ``test`` (empty for all tests), ``measure``, ``value`` and, of a published
        number, its ``source``.
    """
    rows: list[tuple[str, str, str, float, str]] = [
        (score.mind, score.test.name, measure, value, "")
        for score in found
        for measure, value in ({"passes": float(score.passes)} | dict(score.measures)).items()
    ]
    rows += [
        (each.mind, each.test, each.measure, each.value, each.source)
        for each in published
        if each.value is not None
    ]
    return pd.DataFrame(rows, columns=["mind", "test", "measure", "value", "source"])


def _score(test: Test, mind: str, frames: Frames) -> Score:
    mine = {name: frame[frame["mind"] == mind] for name, frame in frames.items()}
    passes, words, measures = _OF_SCENARIO[test.scenario](mine)
    return Score(test, mind, passes, words, {**measures, **_spent(mine["runs"])})


def _spent(runs: pd.DataFrame) -> dict[str, float]:
    names = ("asks", "invalid", "prompt_tokens", "completion_tokens")
    paid = {"cost_usd": float(runs["paid_usd"].sum(skipna=False))}
    return {name: float(runs[name].sum()) for name in names} | paid


def _kbc(mine: Frames) -> tuple[bool, str, dict[str, float]]:
    asked = mine["decisions"]
    picks = mine["agent_data"]["choice"].dropna().astype(float)
    levels = mine["agent_data"]["level"].dropna().astype(float)
    n = len(asked)
    measures = {
        "answers": float(n),
        "usable": len(picks) / n,
        "undominated": float((picks <= HIGHEST_PICK).sum()) / n,
        "reasoned": float(asked["reasoning"].fillna("").ne("").mean()),
        "pick_median": float(picks.median()),
        "pick_low": float(picks.min()),
        "pick_high": float(picks.max()),
        "level_median": float(levels.median()),
    }
    words = (
        "no usable pick"
        if picks.empty
        else (
            f"{percent(measures['usable'])} usable, "
            f"{percent(measures['reasoned'])} with reasoning; "
            f"median pick {number(measures['pick_median'])} "
            f"({number(measures['pick_low'])} to {number(measures['pick_high'])}), "
            f"median level {number(measures['level_median'])}"
        )
    )
    return measures["undominated"] >= ENOUGH, words, measures


def _path_test(mine: Frames) -> tuple[bool, str, dict[str, float]]:
    walked = mine["agent_data"]
    measures: dict[str, float] = {"answers": float(len(walked))}
    parts = []
    for start, rows in walked.groupby("start", sort=False):
        moves, fewest = rows["moves"].astype(float), float(rows["shortest"].iloc[0])
        of_start = {
            "answered": float(rows["answered"].astype(float).mean()),
            "legal": float(rows["legal"].astype(float).mean()),
            "reached": float(moves.notna().mean()),
            "shortest": float(rows["is_shortest"].astype(float).mean()),
            "moves": float(moves.mean()),
            "fewest": fewest,
        }
        measures |= {f"{name} from {start}": value for name, value in of_start.items()}
        parts.append(f"from {start} {_way(rows, of_start)}")
    shortest = [value for name, value in measures.items() if name.startswith("shortest")]
    return min(shortest) >= ENOUGH, "; ".join(parts), measures


def _way(rows: pd.DataFrame, measures: Mapping[str, float]) -> str:
    """Where the answers from one start lead, in a few words."""
    if not measures["answered"]:
        return "no list of cells"
    exits = " or ".join(dict.fromkeys(rows["exit"].dropna()))
    if not exits:
        return f"no exit reached, {percent(measures['legal'])} with legal moves only"
    return (
        f"{percent(measures['reached'])} reach {exits} in {number(measures['moves'])} moves, "
        f"{percent(measures['shortest'])} with the fewest ({number(measures['fewest'])})"
    )


def _bertrand(mine: Frames) -> tuple[bool, str, dict[str, float]]:
    decided, prices = mine["decisions"], mine["agent_data"]
    first = mine["asks"][mine["asks"]["attempt"] == 0]
    low, high = band(mine["runs"])
    # The prices of round 0 are given, and where no answer was usable a price is that of before.
    own = prices[(prices["round"] > 0) & ~prices["kept"].astype(bool)]
    price, late = own["price"].astype(float), prices[prices["round"] >= SETTLED]
    in_band = price[own["round"] >= SETTLED].between(low, high)
    changes = price.groupby([own["run"], own["agent"]]).diff()
    measures = {
        "answers": float(len(decided)),
        "usable": float(decided["valid"].astype(float).mean()),
        "usable_at_first": float(first["valid"].astype(float).mean()),
        "in_band": float(in_band.sum()) / len(late),
        "band_low": low,
        "band_high": high,
        "price": float(price.mean()),
        "price_step": float(changes.abs().mean()),
        "profit": float(own["profit"].astype(float).mean()),
    }
    words = (
        "no usable price"
        if own.empty
        else (
            f"{percent(measures['usable'])} usable prices "
            f"({percent(measures['usable_at_first'])} at the first attempt); mean price "
            f"{number(measures['price'])}, changing by {number(measures['price_step'])} a round, "
            f"mean profit {number(measures['profit'])}; "
            f"{percent(measures['in_band'])} within {low:g} to {high:g} from round {SETTLED} on"
        )
    )
    passes = measures["usable"] >= ENOUGH and measures["in_band"] >= ENOUGH
    return passes, words, measures


def band(runs: pd.DataFrame) -> tuple[float, float]:
    """The prices that are a best reply to some legal price: the lowest and the highest.

    Args:
        runs: the runs of a price competition; all have the same market.
    """
    given: dict[str, Any] = json.loads(runs["parameters"].iloc[0])
    model = BertrandCompetition(**{**given, "minds": "classical", "recording": False})
    legal, n = model.legal_price, model.n_firms
    low, high = (model.market.best_response([end] * (n - 1)) for end in (legal.low, legal.high))
    # With the defaults the cartel price is the best reply to the highest legal price.
    return low, max(high, model.market.cartel_price())


def _commons(mine: Frames) -> tuple[bool, str, dict[str, float]]:
    answers = mine["agent_data"]
    measures: dict[str, float] = {"answers": float(len(answers))}
    parts = []
    for skill, (share, low, high) in shares(answers).items():
        measures |= {skill: share, f"{skill} low": low, f"{skill} high": high}
        usable = answers.loc[answers["skill"] == skill, "choice"].notna().mean()
        measures[f"{skill} usable"] = float(usable)
        parts.append(f"{skill} {percent(share)} ({100 * low:.0f} to {100 * high:.0f})")
    return min(measures[skill] for skill in SKILLS) >= ENOUGH, ", ".join(parts), measures


def shares(answers: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    """Kind of problem → the share that was solved, and its 95 % interval.

    Args:
        answers: one row a problem, with columns ``skill`` and ``passed``.

    Source: the interval of Wilson 1927, JASA 22(158); computed by `scipy.stats`.
    """
    from scipy.stats import binomtest

    found = {}
    for skill in SKILLS:
        marks = answers.loc[answers["skill"] == skill, "passed"].astype(bool)
        test = binomtest(int(marks.sum()), len(marks))
        ends = test.proportion_ci(CONFIDENCE, method="wilson")
        found[skill] = float(marks.mean()), float(ends.low), float(ends.high)
    return found


_OF_SCENARIO: Mapping[str, Callable[[Frames], tuple[bool, str, dict[str, float]]]] = {
    "kbc": _kbc,
    "path-test": _path_test,
    "bertrand": _bertrand,
    "commons-screening": _commons,
}


def percent(share: float) -> str:
    """A share in per cent; a dash for NaN."""
    return "–" if math.isnan(share) else f"{100 * share:.0f} %"


def number(value: float) -> str:
    """A number in three digits, or all before its point; a dash for NaN."""
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
