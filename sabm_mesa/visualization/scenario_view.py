"""The display of a scenario: its charts, its world and its messages.

A scenario may declare a `ScenarioPage`. Without one, the page shows a line chart of each model
column.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sabm_mesa.analysis.charts import Chart
from sabm_mesa.analysis.pictures import Scene
from sabm_mesa.core.messages import Message
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.describe.docstrings import spec_sheet
from sabm_mesa.minds.specs import describe_minds
from sabm_mesa.visualization.labels import error_line, name_of, titles_of

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.base import SmartModel


CARD_ROUNDS = 60
"""Maximum number of rounds of a run whose chart is on the home page."""
KEPT_WORLDS = 400
"""Maximum number of rounds whose world is kept if the data do not contain it."""


class Said(NamedTuple):
    """A message for display.

    Attributes:
        round: the round.
        speaker: the speaker.
        hearers: the hearers.
        text: the text, as sent.
        sender: the id of the speaker.
        to: the ids of the hearers; None: all.
    """

    round: int
    speaker: str
    hearers: str
    text: str
    sender: int = -1
    to: tuple[int, ...] | None = None


class ScenarioView:
    """The display of a scenario.

    Args:
        scenario: the model class.
    """

    def __init__(self, scenario: type[SmartModel]) -> None:
        self.scenario = scenario
        self._page = scenario.page

    def charts(
        self, model: SmartModel, model_data: pd.DataFrame, agent_data: pd.DataFrame
    ) -> tuple[Chart, ...]:
        """The charts of a run as data for the browser.

        Args:
            model: the model; for a recorded run, the model before its first round.
            model_data: one row per round; empty before the first.
            agent_data: one row per agent and round.
        """
        titles = titles_of(model)
        names = {name: titles[name] for name in model.columns()}
        return tuple(self._page.drawn(model, model_data, agent_data, names))

    def scenes(
        self, model: SmartModel, round_: int, model_data: pd.DataFrame, agent_data: pd.DataFrame
    ) -> tuple[Scene, ...]:
        """The world after a round as data for the browser; empty if there is none.

        Args:
            model: the model; for a recorded run, the model before its first round.
            model_data: one row per round.
            agent_data: one row per agent and round.
        """
        if self._page.scene is None:
            return ()
        if round_ < 0:
            return (self._page.scene(model, None, {}),)
        people = agent_data[agent_data["round"] == round_]
        row = model_data[model_data["round"] == round_].iloc[0]
        return (self._page.scene(model, people, {str(name): row[name] for name in row.index}),)

    def scenes_now(self, model: SmartModel) -> tuple[Scene, ...]:
        """The current pictures of a model as scenes; they show the last round only."""
        return tuple(picture.scene(model) for picture in model.pictures)

    def said(self, model: SmartModel) -> list[Said]:
        """Return the messages of the current or last round."""
        heard_by = self._page.hearers or _hearers
        return [
            Said(
                model.round,
                name_of(model, message.sender),
                heard_by(model, message),
                str(message.text),
                message.sender,
                message.to,
            )
            for message in model.said
        ]

    def table(self, model: SmartModel, model_data: pd.DataFrame) -> tuple[str, pd.DataFrame] | None:
        """A table beside the charts, with its caption, if the scenario has one."""
        return None if self._page.table is None else self._page.table(model, model_data)

    @property
    def has_world(self) -> bool:
        """Whether a round has a world."""
        return self._page.scene is not None

    @property
    def names_models(self) -> bool:
        """Whether each model has its own heading, and a table that describes it."""
        return self._page.heading is not None

    def heading(self, model: SmartModel) -> str:
        """The heading of the page of a model."""
        heading = self._page.heading
        return self.scenario.title if heading is None else heading(model)

    def public_columns(self, model: SmartModel) -> list[str]:
        """The model columns that a player may see while a game continues."""
        choose = self._page.public_columns
        return list(model.columns() if choose is None else choose(model))

    @property
    def public_scene(self) -> bool:
        """Whether players may see the world during a game."""
        return self._page.public_scene

    @property
    def questions(self) -> dict[str, dict[str, Any]]:
        """Questions of the scenario, with the settings that answer them."""
        return {question: dict(settings) for question, settings in self._page.questions.items()}

    @property
    def start(self) -> dict[str, Any]:
        """Initial values of the controls that differ from the defaults."""
        return dict(self._page.start)

    def card(self) -> Chart:
        """The chart of the scenario on the home page: a run with classical minds."""
        default = parameters_of(self.scenario)["n_rounds"].default
        usual: dict[str, Any] = {"n_rounds": min(default or CARD_ROUNDS, CARD_ROUNDS)}
        model = self.scenario(**usual | dict(self._page.card_run), rng=1, recording=False)
        model.run_model()
        charts = self.charts(model, model.model_frame(), model.agent_frame())
        return next((c for c in charts if c.name == self._page.card_chart), charts[0])


@dataclass(frozen=True, eq=False)
class Shown:
    """The displayed content for the finished rounds.

    Attributes:
        model_data: one row per round.
        agent_data: one row per agent and round.
        charts: the charts.
        played: the last round in the charts; −1 for none.
        table: the table of the scenario's page with its caption, if it has one.
        problem: why the charts cannot be made, or ``""``.
    """

    model_data: pd.DataFrame
    agent_data: pd.DataFrame
    charts: tuple[Chart, ...] = ()
    played: int = -1
    table: tuple[str, pd.DataFrame] | None = None
    problem: str = ""


class ModelView:
    """The state of a model for its pages: read between two rounds, in its thread.

    Args:
        model: the model, before its first round.
        scenario_view: how the scenario is shown.

    Attributes:
        shown: the visible part of the finished rounds; replaced as a whole.
        version: grows with every change of `shown`.
    """

    def __init__(self, model: SmartModel, scenario_view: ScenarioView) -> None:
        self.model, self.scenario_view = model, scenario_view
        self.shown = Shown(model.model_frame(), model.agent_frame())
        self.version = 0
        self._closed = False
        self._said: dict[int, list[Said]] = {}
        self._worlds: dict[int, tuple[Scene, ...]] = {}
        self._lock = threading.Lock()

    def said(self) -> dict[int, list[Said]]:
        """Round → its messages, also those of the round under way; silent rounds are not in."""
        now, messages = self.model.round, self.scenario_view.said(self.model)
        with self._lock:
            done = dict(self._said)
        return done | {now: messages} if messages and now not in done else done

    def scenes(self, round_: int) -> tuple[Scene, ...]:
        """The world after a round; empty if the scenario has none."""
        known, shown = self._worlds, self.shown
        if round_ not in known and round_ >= 0:
            frames = shown.model_data, shown.agent_data
            if scenes := self.scenario_view.scenes(self.model, round_, *frames):
                return scenes
        # Fast rounds have no separate picture.
        before = [played for played in list(known) if played <= round_]
        return known[max(before)] if before else ()

    def keep_said(self) -> None:
        """Keep the messages of the finished round."""
        messages = self.scenario_view.said(self.model)
        with self._lock:
            if messages:
                self._said[self.model.round] = messages

    def look(self) -> None:
        """Take a snapshot of the model. No error of a chart ends a run that is paid for."""
        model, view, shown = self.model, self.scenario_view, self.shown
        try:
            self.keep_said()
            frames = model.model_frame(), model.agent_frame()
            played = rounds_done(model) - 1
            shown = replace(shown, model_data=frames[0], agent_data=frames[1], played=played)
            table, charts = view.table(model, frames[0]), view.charts(model, *frames)
            self._worlds[played] = view.scenes(model, played, *frames) + view.scenes_now(model)
            while len(self._worlds) > KEPT_WORLDS:
                del self._worlds[next(iter(self._worlds))]
            shown = Shown(*frames, charts, played, table)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            if self._closed:  # the folder of the run may have been removed
                return
            shown = replace(shown, problem=error_line(error))
        self.shown = shown
        self.version += 1


def rounds_done(model: SmartModel) -> int:
    """The number of completed rounds; a failed round does not count."""
    return len(model.datacollector.model_vars["asks"])


def subtitle_of(model: SmartModel) -> str:
    """The condition, the minds and the seed of a model, as a subtitle."""
    minds = describe_minds(model.minds_in_use())
    return f"{model.condition} · {minds} · seed {'-'.join(map(str, model.entropy))}"


def one_sentence(scenario: type[SmartModel]) -> str:
    """The subject of a scenario: the first line of its docstring, without the name."""
    first = spec_sheet(scenario).partition("\n")[0]
    sentence = first.partition(": ")[2] or first
    return sentence[:1].upper() + sentence[1:]


def rule_of(model: SmartModel) -> str:
    """The rules of a class game in one sentence."""
    return model.class_game.rule or one_sentence(type(model))


def _hearers(model: SmartModel, message: Message) -> str:
    if message.to is None:
        return "all"
    names = [name_of(model, agent) for agent in message.to]
    return ", ".join(names) or "nobody"
