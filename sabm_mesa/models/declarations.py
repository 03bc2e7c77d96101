"""Declarations of a scenario: score, measures of messages, earlier runs, exam, page.

A scenario sets them as class attributes (see `Declarations`, a base of
`sabm_mesa.models.base.SmartModel`), so experiments, the judge, the exams and the viewer are
independent of scenarios.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from sabm_mesa.core.messages import Message
from sabm_mesa.core.phrases import Phrase
from sabm_mesa.errors import UsageError, format_user_error

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.analysis.charts import Chart
    from sabm_mesa.analysis.pictures import ModelPicture, Scene

D = TypeVar("D")
NO_SOURCE = "none given"
"""The source of a scenario that declares none."""


@dataclass(frozen=True)
class Score:
    """The score of one agent in one run, from the agent data.

    Attributes:
        label: its name with its unit, as on the axis of a plot.
        size: the parameter that is the number of agents.
        column: the agent column from which it is computed.
        over: ``"run"``: the sum of the column over the rounds of the run; ``"round"``: its mean
            over the rounds, for runs of different lengths.
        until: a value of the column. If set, the score is the number of rounds until the column has
            this value, inclusive; if it never does, the number of rounds of the run plus one.
        pairs: whether agents meet in pairs; otherwise all play in one population.
        lower_is_better: whether a lower score is better.
        of: the class of agents whose minds are ranked, if there are several classes; the other
            classes use their classical minds.
    """

    label: str
    size: str
    column: str = "payoff"
    over: Literal["run", "round"] = "run"
    pairs: bool = False
    lower_is_better: bool = False
    until: str = ""
    of: str = ""

    def of_agents(self, data: pd.DataFrame) -> pd.DataFrame:
        """The score of each agent in each run.

        Args:
            data: the agent data: one row per agent, run and round.

        Returns:
            ``run``, ``agent``, ``mind`` and ``score``; a round without a value counts as 0.
        """
        if self.of:
            data = data[data["class"] == self.of]
        column = data[self.column]
        if self.until:
            values = (column != self.until).astype(float)
        else:
            values = column.astype(float).fillna(0.0)
        table = data[["run", "round", "agent", "mind"]].assign(score=values)
        scores = table.groupby(["run", "agent"], as_index=False, sort=True).agg(
            mind=("mind", "first"), score=("score", "sum")
        )
        if self.until:
            scores["score"] += 1.0
        elif self.over == "round":
            scores["score"] /= scores["run"].map(table.groupby("run")["round"].nunique())
        return scores


@dataclass(frozen=True)
class MessageMeasure:
    """A measure of the messages of a run.

    Attributes:
        label: a description in a few words.
        of: computes run → value (or None) from the messages of several runs, in order (``run``,
            ``round``, ``speaker``, ``text``), and the lowest and the highest number that counts.
    """

    label: str
    of: Callable[[pd.DataFrame, float, float], Mapping[int, float | None]]


@dataclass(frozen=True)
class BuildsOn:
    """A declaration that runs of a scenario build on an earlier run of another scenario.

    Attributes:
        parameter: the parameter for the earlier run.
        scenario: the scenario of the earlier run.
        read: reads an earlier run once, for several runs, from a value of the parameter; the
            parameter also accepts its result.
        recorded: returns the part of the earlier run that is recorded as the value of the
            parameter.
        pending: makes a placeholder for an earlier run that has not been played yet, from its model
            and its name.
    """

    parameter: str
    scenario: str
    read: Callable[[Any], Any]
    recorded: Callable[[Any], Any]
    pending: Callable[[Any, str], Any]


def in_words(words: Sequence[str]) -> str:
    """The words of a name as a title: ``Stag hunt``."""
    return " ".join(words).capitalize()


@dataclass(frozen=True)
class NameOfClass:
    """A class attribute whose value follows from the name of the class, unless one is given.

    Attributes:
        join: makes the value from the words of the name, in lower case.
    """

    join: Callable[[Sequence[str]], str]

    def __get__(self, _instance: object, owner: type) -> str:
        """The value for a class."""
        name = owner.__name__.strip("_")
        words = re.split(r"_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", name)
        return self.join([word.lower() for word in words])


@dataclass(frozen=True)
class Beside:
    """A class attribute that names a module or file beside the scenario's ``model.py``, if any.

    Attributes:
        name: the name of the module, or of the file with its ending.
    """

    name: str

    def __get__(self, _instance: object, owner: type) -> str | Path:
        """The module or the path for a class; ``""`` if there is none."""
        for cls in owner.__mro__:
            package, _, module = cls.__module__.rpartition(".")
            if package and module == "model":
                is_file = "." in self.name
                path = Path(str(sys.modules[cls.__module__].__file__)).with_name(
                    self.name if is_file else f"{self.name}.py"
                )
                if path.is_file():
                    return path if is_file else f"{package}.{self.name}"
        return ""


class Declarations:
    """The declarations of a scenario for studies and the viewer; they do not affect runs.

    In a package, the modules ``plots``, ``page``, ``class_game``, ``exam`` and ``behaviour`` and
    the file ``words.toml`` are found beside the scenario's ``model.py``. A scenario in another file
    names them.

    Class attributes:
        title: the name in words; by default that of the class.
        source: the publications that it follows; `NO_SOURCE` by default.
        loaded_from: the file of a scenario that was loaded from a file, relative to the working
            folder; set when it is loaded.
        given_rounds: the number of rounds at the start whose state is given. Their rows are in the
            data, but not in the measures.
        column_bounds: column of the model or agent data → its minimum and maximum possible value,
            if the rules set them; tests of a mean need them.
        kept_columns: the model columns whose last value stays true after a run has ended, such as
            a stock or the people outside; means over runs of different length count it.
        plots: the module with its plots.
        pictures: pictures of its current state, in space or on a network, for the viewer and the
            end of each run.
        page: the module with its `ScenarioPage` as ``PAGE``.
        class_game: the module with its `ClassGame` as ``GAME``.
        score: the score by which a tournament ranks minds, or None.
        theory_marks: name → predictions of theory for plots of experiments: label → model column,
            or a number.
        message_words: the path of the words on its subject for the coder of messages (see
            `sabm_mesa.analysis.messages.read_words`).
        message_measures: name → measure of the messages of a run, in addition to their codes.
        builds_on: the earlier run of another scenario that a run builds on, or None.
        exam: the module with its `sabm_mesa.models.exam.Exam` as ``EXAM``: the preliminary test of
            language models.
        behaviour: the module with its `Behaviour` as ``BEHAVIOUR``: the behavioural models that
            apply to its decisions.
    """

    scenario_name: ClassVar[str] = NameOfClass("-".join)  # type: ignore[assignment]  # a text
    title: ClassVar[str] = NameOfClass(in_words)  # type: ignore[assignment]
    source: ClassVar[str] = NO_SOURCE
    loaded_from: ClassVar[str] = ""
    given_rounds: ClassVar[int] = 0
    column_bounds: ClassVar[Mapping[str, tuple[float, float]]] = {}
    kept_columns: ClassVar[Collection[str]] = ()
    plots: ClassVar[str] = Beside("plots")  # type: ignore[assignment]
    pictures: ClassVar[Sequence[ModelPicture]] = ()
    page: ClassVar[str] = Beside("page")  # type: ignore[assignment]
    class_game: ClassVar[str] = Beside("class_game")  # type: ignore[assignment]
    score: ClassVar[Score | None] = None
    theory_marks: ClassVar[Mapping[str, Mapping[str, str | float]]] = {}
    message_words: ClassVar[str | Path] = Beside("words.toml")  # type: ignore[assignment]
    message_measures: ClassVar[Mapping[str, MessageMeasure]] = {}
    builds_on: ClassVar[BuildsOn | None] = None
    exam: ClassVar[str] = Beside("exam")  # type: ignore[assignment]
    behaviour: ClassVar[str] = Beside("behaviour")  # type: ignore[assignment]


@dataclass(frozen=True)
class ScenarioPage:
    """The parts of the viewer's page that a scenario customises.

    The module that a scenario names as its `page` contains one as ``PAGE``. Every part is optional;
    models are those of the scenario.

    Attributes:
        titles: column → title, if the title does not follow from the name. In ``price_{}`` →
            ``Price of {}`` the braces match the end of the column; a number is replaced by the name
            of the agent.
        round_name: the word for a round, and the displayed number of the first round (0 in the
            data).
        start: initial parameters of the controls, so that the first run shows results in a few
            seconds; the others start with their defaults.
        card_run: parameters of the run for the picture on the home page.
        card_chart: the name of the chart in this picture; ``""``: the first one.
        charts: returns the charts of a run as data for the browser, from the model, the model data
            and the agent data (both may be empty). None: a line for each model column.
        questions: a question → the settings that answer it; a click plays with them. They must cost
            nothing.
        scene: returns the world of a round as data for the browser, from the model, the agent data
            of the round (None: the start), and model column → its value in the round (empty at the
            start). None: only the `pictures` of the model.
        public_scene: whether players may see the scene during a game.
        hearers: returns the hearers of a message as text, from the model and the message. None: the
            agents in `to` of the message, or all.
        public_columns: returns the model columns that players may see during a game, from the
            model. None: all of them.
        table: returns a table beside the charts with its caption, or None, from the model and the
            model data (one row per round; empty before the first). None: no table.
        heading: returns the heading of the page, from the model; the table is then above the
            numbers of the round. None: the title of the scenario.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    round_name: tuple[str, int] = ("round", 1)
    start: Mapping[str, Any] = field(default_factory=dict)
    questions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    card_run: Mapping[str, Any] = field(default_factory=dict)
    card_chart: str = ""
    charts: Callable[[Any, pd.DataFrame, pd.DataFrame], Sequence[Chart]] | None = None
    scene: Callable[[Any, pd.DataFrame | None, Mapping[str, Any]], Scene] | None = None
    public_scene: bool = True
    hearers: Callable[[Any, Message], str] | None = None
    public_columns: Callable[[Any], Sequence[str]] | None = None
    table: Callable[[Any, pd.DataFrame], tuple[str, pd.DataFrame] | None] | None = None
    heading: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class Debrief:
    """Comparison of the decisions of a class after a game.

    Attributes:
        column: the agent column of the decision.
        label: a short description of the decision, with its unit.
        low: returns the smallest value, from the model.
        high: returns the largest value, from the model.
        theory: returns label → theoretical value, from the model and the mean of all decisions in
            the round before (None in the first round).
        people: names of published distributions of people's choices (``people.toml``), from the
            model.
        course: returns a sentence about the course, from the model and the means of the people in
            the first and the last round; None: a sentence with both means.
    """

    column: str
    label: str
    low: Callable[[Any], float]
    high: Callable[[Any], float]
    theory: Callable[[Any, float | None], Mapping[str, float]] = lambda _, _before: {}
    people: Callable[[Any], Sequence[str]] = lambda _: ()
    course: Callable[[Any, float, float], str] | None = None


@dataclass(frozen=True)
class ToldRound:
    """A finished round of a class game, as input for the text that a player reads about it.

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
        """Agent column → value, for the agent at the seat; empty if it had left before."""
        rows = self.agents[self.agents["agent"] == self.agent]
        return {} if rows.empty else dict(rows.iloc[0])


@dataclass(frozen=True)
class ClassGame:
    """A scenario as a game for a class.

    The module that a scenario names as its `class_game` contains one as ``GAME``. Every part is
    optional; models are those of the scenario. Texts in the language files are given by their keys
    (a `Phrase` of ``class_texts.toml``), others in plain English.

    Attributes:
        rule: the rules in one sentence for people. ``""``: the first sentence of the spec sheet.
        people: the minimum and maximum number of people for whom one group works well.
        minutes: the approximate duration of a game.
        lesson: the settings of its lesson, as in the link to a new game; ``""``: no lesson.
        parameters: parameter → its value in a new game, if it differs from the scenario's default.
        choices: parameter → the values from which a host chooses.
        people_answer: the names of the questions that people answer, while a mind answers the
            others. None: people answer all questions.
        board: returns the board beside the inputs of the form, as plain data, from the ask: a
            mapping with the ``kind`` ``"line"`` (``low``, ``high``, ``step``), ``"prices"`` (as a
            line, and ``tags`` with a ``name`` and ``at``), ``"lake"`` (``stock``, ``capacity``,
            ``unit``), ``"pot"`` (``endowment``, ``multiplier``, ``unit``), ``"matrix"`` (``rows``:
            the own options, ``columns``, and ``cells`` of own and other payoff) or ``"map"``
            (``width``, ``height``, ``me``, ``target``, and ``options`` with an ``option`` and
            ``at``; ``whole``: whether the whole map is shown with named options, else a tap on a
            cell is the answer; the scene of the page is below it). A ``text`` is the question in
            words for people, as in `questions`. If it is None or returns None, an answer that is a
            number between two limits has a line.
        questions: the name of a question → the question in short words for people; the prompt is
            then collapsed.
        told: returns the sentences that a player reads after a round, if players see results; None:
            tables only.
        picture: returns a small picture of a round for a player, as plain data, or None: a mapping
            with the ``kind`` ``"line"`` (``low``, ``high``, and ``marks`` with a ``label`` and
            ``at``), ``"pot"`` (``share``, ``parts``: the pot is split into equal parts) or
            ``"path"`` (``width``, ``height``, and the cells of the ``path``, on the scene).
        never: the word for a score with `Score.until` that is not reached yet, and the word for one
            that was never reached.
        debrief: the comparison of the decisions of a class; None: none.
    """

    rule: str = ""
    people: tuple[int, int] | None = None
    minutes: int = 0
    lesson: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, Callable[[], Sequence[str]]] = field(default_factory=dict)
    people_answer: Collection[str] | None = None
    board: Callable[[Any], Mapping[str, Any] | None] | None = None
    questions: Mapping[str, str] = field(default_factory=dict)
    told: Callable[[ToldRound], Sequence[str]] | None = None
    picture: Callable[[ToldRound], Mapping[str, Any] | None] = lambda _: None
    never: tuple[str, str] = (Phrase("seat.not_yet"), Phrase("seat.never"))
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

    It is searched by its full name, or by its last part beside the file of the scenario.

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
        declared = getattr(import_module(name), variable, None)
    except Exception as error:
        raise UsageError(
            f"The {what} {name} cannot be imported: {format_user_error(error)}"
        ) from error
    if not isinstance(declared, kind):
        raise UsageError(
            f"The {what} {name} needs {variable} = {kind.__name__}(…), from "
            "sabm_mesa.models.declarations."
        )
    return declared


def rounded(value: float) -> float:
    """A number with three significant digits, or all digits before its point.

    Args:
        value: the number.
    """
    whole = not math.isfinite(value) or abs(value) >= 1000
    return float(value) if whole else float(f"{value:.3g}")
