"""The drawings of a screening, and the tables with the single answers behind them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from sabm_mesa.analysis.plots.commons_screening import skills
from sabm_mesa.analysis.plots.path_test import routes
from sabm_mesa.models.path_test import EXITS, SIZE
from sabm_mesa.screening.battery import COMMONS
from sabm_mesa.screening.running import Screening
from sabm_mesa.screening.scores import ENOUGH, Score

_NAME = re.compile(r"[^A-Za-z0-9.]+")
_LONGEST_NAME = 60
_PATHS = "path-test"


@dataclass(frozen=True)
class Drawing:
    """One drawing.

    Attributes:
        name: its file name without ending.
        title: what it shows.
        figure: the figure of matplotlib.
        test: the name of the test under which it stands; ``""`` for all tests.
    """

    name: str
    title: str
    figure: Any
    test: str = ""


def drawings(screening: Screening, scores: Sequence[Score]) -> list[Drawing]:
    """The drawings: what each mind solved; or the routes that each mind named.

    Args:
        screening: the answers.
        scores: what they say.
    """
    if screening.battery.name == COMMONS:
        title = "The share of problems that was solved, with 95 % intervals"
        return [Drawing("commons-skills", title, _solved(scores))]
    walked = screening.frames[_PATHS]["agent_data"]
    n = len(screening.seeds)
    answers = "1 answer" if n == 1 else f"{n} answers"
    return [
        Drawing(
            f"routes-{number}-{_NAME.sub('-', mind)[:_LONGEST_NAME].strip('-.')}",
            f"Ways out of the room that {mind} named, over the shortest ones",
            routes(
                walked[walked["mind"] == mind], f"{mind} · {answers} from each start",
                size=SIZE, exits=EXITS,
            ),
            _PATHS,
        )
        for number, mind in enumerate(screening.minds, 1)
    ]  # fmt: skip


def answers(screening: Screening) -> dict[str, pd.DataFrame]:
    """File name → the single answers of the tests that are drawn.

    Args:
        screening: the answers.
    """
    if screening.battery.name == COMMONS:
        columns = ["mind", "wording", "run", "skill", "stock", "amount", "choice", "correct",
                   "passed"]  # fmt: skip
        told = [
            screening.frames[test.name]["agent_data"].assign(wording=test.name)
            for test in screening.battery.tests
        ]
        return {"problems.csv": pd.concat(told, ignore_index=True)[columns]}
    columns = ["mind", "run", "start", "route", "legal", "exit", "moves", "shortest"]
    return {"routes.csv": screening.frames[_PATHS]["agent_data"][columns]}


def _solved(scores: Sequence[Score]) -> Any:
    rows = [
        {"mind": each.mind, "wording": each.test.title, "skill": skill,
         "share": each.measures[skill], "low": each.measures[f"{skill} low"],
         "high": each.measures[f"{skill} high"]}
        for each in scores
        for skill in each.measures
        if f"{skill} low" in each.measures
    ]  # fmt: skip
    return skills(pd.DataFrame(rows), enough=ENOUGH)
