"""Declarations of a scenario to studies: measures of messages, earlier runs, screening tests.

A scenario names these in class attributes (see `sabm_mesa.models.base.SmartModel`), so that
experiments, the judge and the screening need to know no scenario.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

ENOUGH = 0.9
"""The share of right answers with which a mind passes a screening test (our choice)."""
Frames = Mapping[str, "pd.DataFrame"]
"""Name → frame of a recording (see `Recorded.frames`)."""


@dataclass(frozen=True)
class MessageMeasure:
    """A measure of the messages of a run.

    Attributes:
        label: a description in a few words.
        of: computes it from the messages of several runs, in the order in which they were said
            (``run``, ``round``, ``speaker``, ``text``), and the lowest and the highest number that
            counts: run → value, None when the run has none.
    """

    label: str
    of: Callable[[pd.DataFrame, float, float], Mapping[int, float | None]]


@dataclass(frozen=True)
class BuildsOn:
    """How runs of a scenario build on an earlier run of another scenario.

    Attributes:
        parameter: the parameter that takes the earlier run.
        scenario: the scenario of the earlier run.
        read: reads an earlier run once, for several runs, from what the parameter may be; the
            parameter also takes what it returns.
        recorded: the part of it that is recorded as the value of the parameter.
        pending: stands for an earlier run before it is played, made from its model and its name.
    """

    parameter: str
    scenario: str
    read: Callable[[Any], Any]
    recorded: Callable[[Any], Any]
    pending: Callable[[Any, str], Any]


@dataclass(frozen=True)
class Finding:
    """The result of one mind in one screening test.

    Attributes:
        passes: whether it passes by the rule of the test.
        words: the main measures in a few words.
        measures: measure → its value; NaN when there is none.
    """

    passes: bool
    words: str
    measures: Mapping[str, float]


@dataclass(frozen=True)
class ScreeningFigure:
    """One figure of a screening.

    Attributes:
        name: its file name without ending.
        title: a description of its content.
        figure: the figure of matplotlib.
        test: the name of the test under which it stands; ``""`` for all tests.
    """

    name: str
    title: str
    figure: Any
    test: str = ""


@dataclass(frozen=True)
class Screened:
    """All answers to the tests of one screener.

    Attributes:
        titles: name of a test → its title.
        minds: the specs of the minds.
        runs: runs of each test and mind.
        frames: test → the frames of its runs, each row with its ``mind``.
        findings: (test, mind) → its result.
    """

    titles: Mapping[str, str]
    minds: Sequence[str]
    runs: int
    frames: Mapping[str, Frames]
    findings: Mapping[tuple[str, str], Finding]


class Screener(ABC):
    """Judges the answers to the screening tests of a scenario.

    The tests themselves are in the file ``screening.toml`` of the scenario's folder.
    """

    @abstractmethod
    def find(self, frames: Frames) -> Finding:
        """The result of one mind in one test.

        Args:
            frames: the frames of its runs.
        """

    def drawings(self, screened: Screened) -> list[ScreeningFigure]:
        """Figures of the answers; none as a rule.

        Args:
            screened: the answers of all minds.
        """
        del screened
        return []

    def tables(self, screened: Screened) -> dict[str, pd.DataFrame]:
        """File name → single answers, for a CSV file; none as a rule.

        Args:
            screened: the answers of all minds.
        """
        del screened
        return {}


def percent(share: float) -> str:
    """A share in per cent; a dash for NaN."""
    return "–" if math.isnan(share) else f"{100 * share:.0f} %"


def number(value: float) -> str:
    """A number in three digits, or all before its point; a dash for NaN."""
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
