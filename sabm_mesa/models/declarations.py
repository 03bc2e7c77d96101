"""Declarations of a scenario: measures of messages, earlier runs, screening tests, its page.

A scenario names these in class attributes (see `sabm_mesa.models.base.SmartModel`), so that
experiments, the judge, the screening and the viewer need to know no scenario.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from sabm_mesa.analysis.announcements import Find
from sabm_mesa.core.messages import Message
from sabm_mesa.errors import UsageError, format_user_error

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.analysis.charts import Chart
    from sabm_mesa.analysis.pictures import Scene

D = TypeVar("D")
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
class Announcement:
    """The announcements of agents in their messages, beside what they then do.

    Attributes:
        label: a description in a few words, such as "number announced and picked".
        column: the agent column of what is done.
        find: the parameters of a run → the finder of values in its messages (see
            `sabm_mesa.analysis.announcements`).
        kept: whether an announced value is kept by what is done.
        later: rounds from the talk to what is done; 0: in the same round.
    """

    label: str
    column: str
    find: Callable[[Mapping[str, Any]], Find]
    kept: Callable[[Any, Any], bool]
    later: int = 0


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
class ScenarioPage:
    """The parts of a scenario in the viewer that differ from those of all others.

    The module that a scenario names as its `page` holds one as ``PAGE``. Every part is optional;
    models are those of the scenario.

    Attributes:
        titles: column → title, where the title does not follow from the name. In ``price_{}`` →
            ``Price of {}`` the braces stand for whatever the column ends in, or for the name of the
            agent with that number.
        round_name: the word for a round, and the number that people read for the first one (which
            has the number 0 in the data).
        start: parameters that the controls of the page hold when it is opened, so that the first
            run shows something in a few seconds; all others have their defaults.
        card_run: parameters of the run whose picture is on the home page.
        card_chart: the name of that picture among the charts; ``""`` for the first one.
        home_run: parameters of a run with classical minds that moves on the home page: its world,
            or its first chart; None: none.
        charts: the charts of one run, as data that the browser paints, from the model, the model
            data and the agent data (both may be empty). None: a line for each model column.
        scene: the world of one round as the browser paints it, from the model and the agent data of
            the round (None: the start). None: there is none but the `pictures` of the model.
        hearers: names the hearers of a message, from the model and the message. None: those in
            `to` of the message, or all.
        public_columns: the model columns that players may see during a game, from the model,
            for every mind decides on its observation alone. None: all of them.
        table: a table beside the charts with its caption, from the model and the model data (one
            row a round or more), or None. None: there is no table.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    round_name: tuple[str, int] = ("round", 1)
    start: Mapping[str, Any] = field(default_factory=dict)
    card_run: Mapping[str, Any] = field(default_factory=dict)
    card_chart: str = ""
    home_run: Mapping[str, Any] | None = None
    charts: Callable[[Any, pd.DataFrame, pd.DataFrame], Sequence[Chart]] | None = None
    scene: Callable[[Any, pd.DataFrame | None], Scene] | None = None
    hearers: Callable[[Any, Message], str] | None = None
    public_columns: Callable[[Any], Sequence[str]] | None = None
    table: Callable[[Any, pd.DataFrame], tuple[str, pd.DataFrame] | None] | None = None


@dataclass(frozen=True)
class Debrief:
    """Comparison of the decisions of a class after a game.

    Attributes:
        column: the agent column of the decision.
        label: the decision in a few words, with its unit.
        low: the least value, from the model.
        high: the largest value, from the model.
        theory: value in words → value, from the model.
        people: names of published distributions of people's choices (``people.toml``), from the
            model.
    """

    column: str
    label: str
    low: Callable[[Any], float]
    high: Callable[[Any], float]
    theory: Callable[[Any], Mapping[str, float]] = lambda _: {}
    people: Callable[[Any], Sequence[str]] = lambda _: ()


@dataclass(frozen=True)
class ToldRound:
    """A round of a class game that is over, as one of its people is told of it.

    Attributes:
        model: the model.
        agent: the id of the agent at the seat.
        values: model column → its value in the round.
        agents: the agent data of the round.
        name: returns the name of an agent from its id.
    """

    model: Any
    agent: int
    values: Mapping[str, Any]
    agents: pd.DataFrame
    name: Callable[[int], str]

    @property
    def own(self) -> Mapping[str, Any]:
        """Agent column → value, of the agent at the seat; empty when it had left before."""
        rows = self.agents[self.agents["agent"] == self.agent]
        return {} if rows.empty else dict(rows.iloc[0])


@dataclass(frozen=True)
class ClassGame:
    """A scenario as a game for a class.

    The module that a scenario names as its `class_game` holds one as ``GAME``. Every part is
    optional; models are those of the scenario.

    Attributes:
        rule: the rules in one sentence for people. ``""``: the first sentence of the spec sheet.
        people: the least and the most people for whom one group works well.
        minutes: how long a game takes, roughly.
        parameters: parameter → its value in a new game, where it is another than the scenario's.
        choices: parameter → its values, which a host chooses from.
        people_answer: the names of the questions that people answer where a mind stands in, which
            answers the others. None: people answer all of them.
        board: what a person decides on beside the inputs of the form, as plain data, from the ask:
            a mapping whose ``kind`` is ``"line"`` (``low``, ``high``, ``step``, and ``marks`` with
            a ``label`` and ``at``), ``"prices"`` (as a line, and ``tags`` with a ``name`` and
            ``at``), ``"lake"`` (``stock``, ``capacity``, ``unit``), ``"pot"`` (``endowment``,
            ``multiplier``, ``unit``), ``"matrix"`` (``rows``: the own options, ``columns``, and
            ``cells`` of own and other payoff) or ``"map"`` (``width``, ``height``, ``me``,
            ``target``, and lists of cells: ``exits``, ``walls``, ``people``, and ``options`` with
            an ``option`` and ``at``). A ``text`` stands for that of the question, which is folded
            below then. None, or None from it: a line where the answer is a number between two
            others.
        told: the sentences that a person reads after a round, where players see results; None:
            tables alone.
        never: the word for a score that waits for something (`Score.until`) while it has not come,
            and the one for when it never came.
        debrief: what a class compares its decisions with; None: nothing.
    """

    rule: str = ""
    people: tuple[int, int] | None = None
    minutes: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, Callable[[], Sequence[str]]] = field(default_factory=dict)
    people_answer: Collection[str] | None = None
    board: Callable[[Any], Mapping[str, Any] | None] | None = None
    told: Callable[[ToldRound], Sequence[str]] | None = None
    never: tuple[str, str] = ("not yet", "never")
    debrief: Debrief | None = None


def load_page(name: str) -> ScenarioPage:
    """Return the page of a scenario.

    Args:
        name: the module that it names as its `page`, or ``""``.

    Raises:
        UsageError: when the module cannot be imported, or has no page.
    """
    return _load("page", name, "PAGE", ScenarioPage)


def load_plots(name: str, beside: str) -> ModuleType:
    """Return the module with the plots of a scenario.

    It is found by its full name, or by its last name beside the file of the scenario.

    Args:
        name: the module that it names as its `plots`.
        beside: the module of the scenario.

    Raises:
        UsageError: when the module cannot be imported.
    """
    package = beside.rpartition(".")[0]
    try:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name or not package:
                raise
            return import_module(f"{package}.{name}")
    except Exception as error:
        raise UsageError(
            f"The plots {name} of {beside} cannot be imported: {format_user_error(error)}"
        ) from error


def load_class_game(name: str) -> ClassGame:
    """Return the class game of a scenario.

    Args:
        name: the module that it names as its `class_game`, or ``""``.

    Raises:
        UsageError: when the module cannot be imported, or has no game.
    """
    return _load("class game", name, "GAME", ClassGame)


def _load(what: str, name: str, variable: str, kind: type[D]) -> D:
    if not name:
        return kind()
    try:
        found = getattr(import_module(name), variable, None)
    except Exception as error:
        raise UsageError(
            f"The {what} {name} cannot be imported: {format_user_error(error)}"
        ) from error
    if not isinstance(found, kind):
        raise UsageError(
            f"The {what} {name} needs {variable} = {kind.__name__}(…), of "
            "sabm_mesa.models.declarations."
        )
    return found


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
