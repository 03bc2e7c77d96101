"""Declarations of a scenario: its charts, its class game, and its parts for studies.

They are class attributes (see `Declarations`, a base of `sabm_mesa.models.base.SmartModel`), so
studies and the viewer are independent of scenarios.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from sabm_mesa.core.messages import Message
from sabm_mesa.core.phrases import Phrase
from sabm_mesa.errors import UsageError, format_user_error

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from sabm_mesa.analysis.behaviour import Behaviour
    from sabm_mesa.analysis.charts import Chart
    from sabm_mesa.analysis.pictures import ModelPicture, Scene

D = TypeVar("D")
MOST_AHEAD = 100
"""Maximum number of planned rounds for which an axis extends to the last one."""
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
            ``run``, ``agent``, its last ``mind``, and ``score``, where a round without a value
            counts as 0.
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
            mind=("mind", "last"), score=("score", "sum")
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


def column_title(
    titles: Mapping[str, str], column: str, names: Sequence[str] = ()
) -> tuple[str, str]:
    """The title of a column, and the name that replaces the braces in it, or ``""``.

    Args:
        titles: those that a scenario declares (`ScenarioPage.titles`).
        column: its name in the data.
        names: the names of the agents, for columns that end with the number of an agent.
    """
    if column == "round":
        return "Round (from 0)", ""
    if column in titles:
        return titles[column], ""
    kind, _, rest = column.partition("_")
    if rest and (title := titles.get(f"{kind}_{{}}")):
        numbered = rest.isdecimal() and 0 < int(rest) <= len(names)
        return title, names[int(rest) - 1] if numbered else rest
    words = re.sub("^n_", "", column).replace("_", " ").strip() or column
    return words[:1].upper() + words[1:] if len(words) > 1 else words, ""


def parameter_label(name: str) -> str:
    """The label of a parameter: ``Number of players`` for ``n_players``."""
    words = name.replace("_", " ")
    words = words.replace("n ", "number of ", 1) if name.startswith("n_") else words
    return words[:1].upper() + words[1:] if len(words) > 1 else words


def file_beside(scenario: type, name: str) -> Path | None:
    """A file of this name beside the module of a scenario or of one that it derives from, if any.

    Args:
        scenario: the class of the scenario.
    """
    for cls in scenario.__mro__:
        if cls.__module__.endswith(".model"):
            path = Path(str(sys.modules[cls.__module__].__file__)).with_name(name)
            if path.is_file():
                return path
    return None


@dataclass(frozen=True)
class Beside(Generic[D]):
    """A class attribute that is a variable of a module beside the scenario's ``model.py``, if any.

    Attributes:
        module: the name of the module.
        variable: the name of the variable.
        kind: its class; without such a module, the value is ``kind()``.
    """

    module: str
    variable: str
    kind: type[D]

    def __get__(self, _instance: object, owner: type) -> D:
        """The value for a class.

        Raises:
            UsageError: when the module cannot be imported, or lacks the variable.
        """
        for cls in owner.__mro__:
            package, _, module = cls.__module__.rpartition(".")
            if module == "model" and find_spec(name := f"{package}.{self.module}"):
                return self._in(name)
        return self.kind()

    def _in(self, name: str) -> D:
        try:
            declared = getattr(import_module(name), self.variable, None)
        except Exception as error:
            raise UsageError(f"{name} cannot be imported: {format_user_error(error)}") from error
        if not isinstance(declared, self.kind):
            raise UsageError(
                f"{name} needs {self.variable} = {self.kind.__name__}(…), from "
                "sabm_mesa.models.declarations."
            )
        return declared


Marks = Mapping[str, Sequence[bool]]
"""Kind of problem → whether each answer is right; an unreadable answer is wrong."""


@dataclass(frozen=True)
class Exam:
    """A preliminary test.

    Attributes:
        title: its name in a few words.
        source: its publication.
        right: which answers are right, in words.
        published: the published results, in our own words.
        parameters: returns the parameters of the run, from the scenario and the number of problems
            of each kind.
        marks: the checker: returns the marks of a finished run.
        model: the model class of its run; None: the scenario.
        threshold: the share of each kind of problem that must be right. The papers give no limits:
            the default is ours.
    """

    title: str
    source: str
    right: str
    published: str
    parameters: Callable[[Any, int], Mapping[str, Any]]
    marks: Callable[[Any], Marks]
    model: type[Any] | None = None
    threshold: float = 0.9

    def passes(self, marks: Marks) -> bool:
        """Whether enough problems of each kind were solved."""
        return all(sum(solved) >= self.threshold * len(solved) for solved in marks.values())


@dataclass(frozen=True)
class Study:
    """The parts of a scenario for studies, as ``STUDY`` in ``study.py``; they do not affect runs.

    Attributes:
        column_bounds: column of the model or agent data → its minimum and maximum possible value,
            if the rules set them; tests of a mean need them.
        kept_columns: the model columns whose last value stays true after a run has ended, such as
            a stock or the people outside; means over runs of different length count it.
        theory_marks: name → predictions of theory for plots of experiments: label → model column,
            or a number.
        message_measures: name → measure of the messages of a run, in addition to their codes.
        builds_on: the earlier run of another scenario that a run builds on, or None.
        behaviour: the behavioural models that apply to its decisions, or None.
        exam: the preliminary test of language models, or None.
        import_settings: parameter → its value when the decisions of a table are played.
    """

    column_bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    kept_columns: Collection[str] = ()
    theory_marks: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict)
    message_measures: Mapping[str, MessageMeasure] = field(default_factory=dict)
    builds_on: BuildsOn | None = None
    behaviour: Behaviour | None = None
    exam: Exam | None = None
    import_settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScenarioPage:
    """The charts and columns of a scenario, as ``PAGE`` in ``charts.py``.

    Every part is optional; models are those of the scenario.

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
        charts: returns the charts of a run, from the model, the model data and the agent data (both
            may be empty). The viewer draws them in the browser, and ``sabm run`` in files, where
            several runs share a chart. None: a line for each model column.
        figures: draws further figures of all runs for files, by name, from the model of the first
            run, the model data, the agent data and the subtitle. None: only the charts.
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
    figures: Callable[..., Mapping[str, Figure]] | None = None
    scene: Callable[[Any, pd.DataFrame | None, Mapping[str, Any]], Scene] | None = None
    public_scene: bool = True
    hearers: Callable[[Any, Message], str] | None = None
    public_columns: Callable[[Any], Sequence[str]] | None = None
    table: Callable[[Any, pd.DataFrame], tuple[str, pd.DataFrame] | None] | None = None
    heading: Callable[[Any], str] | None = None

    def title_of(self, column: str) -> str:
        """The title of a column, by its name in the data."""
        title, name = column_title(self.titles, column)
        return title.format(name) if name else title

    def drawn(
        self,
        model: Any,
        model_data: pd.DataFrame,
        agent_data: pd.DataFrame,
        titles: Mapping[str, str],
    ) -> list[Chart]:
        """The charts of a run, with the scenario's word and numbers for rounds.

        Args:
            model: the model; for a recorded run, the model before its first round.
            model_data: one row per round; empty before the first.
            agent_data: one row per agent and round.
            titles: column → title, for a scenario without charts.
        """
        from sabm_mesa.analysis.charts import column_charts, counted

        if self.charts is not None:
            charts = self.charts(model, model_data, agent_data)
        else:
            charts = column_charts(model_data, titles, model.study.kept_columns)
        noun, first = self.round_name
        last = model.n_rounds - 1 if model.n_rounds <= MOST_AHEAD else None
        return counted(charts, noun, first - model.given_rounds, last)


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
    """A scenario as a game for a class, as ``GAME`` in ``class_game.py``.

    Every part is optional; models are those of the scenario. Texts in the language files are given
    by their keys (a `Phrase` of ``class_texts.toml``), others in plain English.

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
            mapping with the ``kind`` ``"line"`` (``low``, ``high``, ``step``), ``"tags"`` (as a
            line, and ``tags`` with a ``name`` and ``at``), ``"level"`` (``level``, ``capacity``,
            ``unit``), ``"split"`` (``whole``, ``multiplier``, ``unit``), ``"matrix"`` (``rows``:
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
            ``at``), ``"shares"`` (``share``, ``parts``: a whole is split into equal parts) or
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


class Declarations:
    """The declarations of a scenario for studies and the viewer; they do not affect runs.

    In a package, `page`, `class_game` and `study` are found beside the scenario's ``model.py``; a
    scenario in one file sets them.

    Class attributes:
        title: the name in words; by default that of the class.
        source: the publications that it follows; `NO_SOURCE` by default.
        given_rounds: the number of rounds at the start whose state is given. Their rows are in the
            data, but not in the measures.
        pictures: pictures of its current state, in space or on a network, for the viewer and the
            end of each run.
        score: the score by which a tournament ranks minds, or None.
        page: its charts and columns: ``PAGE`` in ``charts.py``.
        class_game: the scenario as a game for a class: ``GAME`` in ``class_game.py``.
        study: measures and models for studies: ``STUDY`` in ``study.py``.
    """

    scenario_name: ClassVar[str] = NameOfClass("-".join)  # type: ignore[assignment]  # a text
    title: ClassVar[str] = NameOfClass(in_words)  # type: ignore[assignment]
    source: ClassVar[str] = NO_SOURCE
    loaded_from: ClassVar[str] = ""
    """The file of a scenario that was loaded from a file; set when it is loaded."""
    given_rounds: ClassVar[int] = 0
    pictures: ClassVar[Sequence[ModelPicture]] = ()
    score: ClassVar[Score | None] = None
    page: ClassVar[ScenarioPage] = Beside("charts", "PAGE", ScenarioPage)  # type: ignore[assignment]
    class_game: ClassVar[ClassGame] = Beside("class_game", "GAME", ClassGame)  # type: ignore[assignment]
    study: ClassVar[Study] = Beside("study", "STUDY", Study)  # type: ignore[assignment]


def rounded(value: float) -> float:
    """A number with three significant digits, or all digits before its point."""
    whole = not math.isfinite(value) or abs(value) >= 1000
    return float(value) if whole else float(f"{value:.3g}")
