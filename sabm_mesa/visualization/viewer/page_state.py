"""State of a scenario's page: the displayed model, and the settings for the next one."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sabm_mesa.core.engine import WIND_UP_S
from sabm_mesa.core.parameters import check_float, check_int, parameters_of
from sabm_mesa.core.parsing import parse_minds, parse_value
from sabm_mesa.errors import SabmError, ServerInUse, UsageError, about
from sabm_mesa.llm import Budget, Connection
from sabm_mesa.llm.endpoints import endpoints_of_server
from sabm_mesa.minds.specs import check_forms, endpoints_in, is_local
from sabm_mesa.recording import Recording
from sabm_mesa.runs.cost import with_context
from sabm_mesa.runs.rerun import resume_models, to_resume, with_spent
from sabm_mesa.runs.try_model import probe_minds, try_model
from sabm_mesa.visualization.labels import FREE, error_line, noun_of, who_decides, who_would_decide
from sabm_mesa.visualization.run_controller import PACE_S, RunController
from sabm_mesa.visualization.scenario_view import ScenarioView
from sabm_mesa.visualization.viewer.controls import LANGUAGE_MODELS, controls_of, parameters_from

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


N = TypeVar("N", int, float)

TRIED = 2
"""Number of questions of each kind, in each answer format, when a model is checked."""

SERVICES = {"base_url": "", "max_asks": "", "budget_usd": ""}
"""Settings of the page in addition to the parameters, with their defaults."""


class PageState:
    """The model of a page, and the settings of the next one.

    Args:
        scenario: the model class.
        fixed: parameters that the page starts with.

    Attributes:
        controller: the controller of the displayed model.
        values: parameter or service → the value of its control, if it was set.
        problem: why the settings cannot be used, or ``""``.
        wrong: the parameter or service that the problem names, or ``""``.
        busy: whether the next model is being made.
        at: the selected round, from 0; None: the latest one.
        agent: the agent whose story is shown; None: none.
        chart: the index of the shown chart among those that share a place.
        opening: whether the displayed run has started by itself and nobody has pressed Play.
        changes: number of changes on the page.
    """

    def __init__(self, scenario: type[SmartModel], fixed: dict[str, Any]) -> None:
        self.scenario, self.scenario_view = scenario, ScenarioView(scenario)
        self.controls, self.fixed = controls_of(scenario), fixed
        start = self.scenario_view.start
        self.values: dict[str, Any] = {k: v for k, v in start.items() if k not in fixed}
        self.problem, self.wrong, self.busy = "", "", False
        self.at: int | None = None
        self.agent: int | None = None
        self.chart = 0
        self.opening = False
        self.changes, self.interval_s = 0, PACE_S
        self._folder = tempfile.TemporaryDirectory(prefix="sabm-view-", ignore_cleanup_errors=True)
        self._runs, self._closed = 0, False
        self._used: dict[str, Any] = {}
        self._checking = threading.Lock()
        try:
            self.controller = self._make()
        except BaseException:
            self._folder.cleanup()
            raise

    @property
    def dirty(self) -> bool:
        """Whether the settings differ from those of the displayed model."""
        return self.values != self._used

    @property
    def fresh(self) -> bool:
        """Whether Play makes a new model, since the settings are others than those on display."""
        return (self.dirty or bool(self.problem)) and (
            self.opening or self.controller.status == "ready"
        )

    @property
    def opens(self) -> bool:
        """Whether the displayed model may play by itself: its rules cost nothing."""
        minds = self.controller.model.minds_in_use()
        return self.controller.status == "ready" and all(m.startswith("classical") for m in minds)

    @property
    def looked_at(self) -> int:
        """The selected round; if the latest one is selected, this may be the current round."""
        if self.at is not None:
            return self.at
        controller = self.controller
        return controller.model.round if controller.model.playing else controller.shown.played

    @property
    def costs(self) -> bool:
        """Whether answers for the displayed model may cost money."""
        return any(agent.mind.paid for agent in self.controller.model.population)

    @property
    def kept_path(self) -> Path | None:
        """The recording of the displayed model, if it is kept when the page is closed."""
        path = self.controller.model.recording_path
        return path if self.costs else None

    @property
    def may_go_on(self) -> bool:
        """Whether a run that has failed can be resumed from its recording."""
        return self.controller.status == "failed" and self.kept_path is not None

    @property
    def _uses_local_model(self) -> bool:
        """Whether the displayed model asks a model on this machine."""
        return any(is_local(agent.mind.spec) for agent in self.controller.model.population)

    def upcoming(self) -> tuple[str, str]:
        """Describe which minds decide in the next model, and whether it may cost money."""
        if "minds" in self.fixed:
            return who_decides(self.controller.model)
        default = str(parameters_of(self.scenario)["minds"].default)
        try:
            minds = parse_minds(str(self.values.get("minds", "")).strip() or default)
            check_forms(minds, ())
        except SabmError:  # the line below the controls shows it
            return "No mind of this name can decide.", FREE
        return who_would_decide(minds, noun_of(self.controller.model))

    def set(self, name: str, value: Any) -> None:
        """Store the value of a control for the next model, and check it in a thread."""
        self.values = {**self.values, name: value}
        self.changes += 1
        threading.Thread(target=self._check, args=(self.values,), name="sabm-check").start()

    def reset(self) -> None:
        """Make a new model from the settings; the displayed one is stopped and closed."""
        self._set_up(self._make, 0)

    def play(self, rounds: float = float("inf")) -> None:
        """Continue the run, or start one with a new model if the settings have changed.

        A failed run continues from its recording, if there is one.
        """
        if self.fresh:
            self._set_up(self._make, rounds)
        elif self.may_go_on:
            self._set_up(self._resumed, rounds)
        else:
            self.opening = False
            self.controller.play(rounds)

    def open(self) -> None:
        """Play the first run, until somebody touches the page."""
        if self.opens:
            self.opening = True
            self.controller.play()

    def touch(self) -> None:
        """Pause a run that has started by itself."""
        if self.opening:
            self.pause()

    @property
    def questions(self) -> list[str]:
        """The questions of the scenario; none if the page sets parameters."""
        return [] if self.fixed else list(self.scenario_view.questions)

    def play_question(self, number: int) -> None:
        """Play with the settings that answer a question."""
        settings = self.scenario_view.questions[self.questions[number]]
        self.values = {**self.scenario_view.start, **settings}
        self._set_up(self._make, float("inf"))

    def check_model(self, spec: str) -> list[tuple[str, str, str]]:
        """Ask a language model small questions and those of the scenario, as `sabm doctor` does.

        Returns:
            State, subject and words of each finding.

        Raises:
            SabmError: when the spec does not name a model.
        """
        connection = _connection({**SERVICES, **self.values})
        ((_, checks),) = probe_minds([spec], connection)
        lines: list[tuple[str, str, str]] = [*checks]
        if any(check.state == "problem" for check in checks):
            return lines
        given = self.controller.model.parameters
        trial = try_model(self.scenario, given, spec, connection, times=TRIED)
        for form in trial.wall_s:
            valid, n = trial.valid_of(form)
            state = "ok" if valid == n else "warning" if valid else "problem"
            lines.append((state, form, f"{valid} of {n} answers to the scenario's questions valid"))
        return [
            *lines,
            ("ok" if trial.valid_of(trial.best)[0] else "problem", "advice", trial.recommendation),
        ]

    def go(self, round_: int) -> None:
        """Select a round; selecting the latest one follows the run."""
        self.at = round_ if 0 <= round_ < self.controller.shown.played else None
        self.changes += 1

    def choose(self, agent: int | str | None) -> None:
        """Show the story of an agent, or close it if it is shown already."""
        chosen = None if agent is None else int(agent)
        self.agent = None if chosen == self.agent else chosen
        self.changes += 1

    def show_chart(self, place: int) -> None:
        """Show another of the charts that share a place."""
        self.chart = place
        self.changes += 1

    def leave(self) -> None:
        """Close the story of an agent."""
        self.choose(None)

    def pause(self) -> None:
        """Pause at the end of the current round."""
        self.controller.pause()

    def press(self, button: str) -> None:
        """Do what a button of the transport says."""
        if button == "step":
            self.play(1)
        else:
            actions = (self.play, self.pause, self.reset, self.open, self.touch)
            {action.__name__: action for action in actions}[button]()

    def pace(self, seconds: float) -> None:
        """Set the minimum number of seconds of a round."""
        self.interval_s = self.controller.interval_s = seconds
        self.changes += 1

    def close(self) -> None:
        """Stop and close the model, and remove its recording for downloads."""
        self._closed = True
        self.controller.close(then=self._folder.cleanup)

    def state(self) -> object:
        """Return the state that the page shows; the page is redrawn when it changes."""
        return self.changes, self._runs, *_state(self.controller)

    def _set_up(self, make: Callable[[], RunController], rounds: float) -> None:
        """Make the next model in a thread: large rooms and first imports of libraries take time."""
        if not self.busy:
            self.busy, self.problem, self.wrong = True, "", ""
            self.changes += 1
            threading.Thread(target=self._replace, args=(make, rounds), name="sabm-setup").start()

    def _check(self, values: dict[str, Any]) -> None:
        """Report a problem with the settings, unless they have been changed or used since."""
        with self._checking:  # one at a time: only the last of several changes counts
            if values is not self.values or self.busy or self._closed:
                return
            wrong = "", ""
            try:
                self._trial(values)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
                if not (isinstance(error, ServerInUse) and self._uses_local_model):
                    wrong = self._about(error)
            if values is self.values and not self.busy:
                self.wrong, self.problem = wrong
                self.changes += 1

    def _replace(self, make: Callable[[], RunController], rounds: float) -> None:
        """Show the next model instead of the displayed one."""
        try:
            controller = make()
            before, self.controller = self.controller, controller
            self.at = self.agent = None
            self.opening = False
            before.close()
            controller.play(rounds)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            self.wrong, self.problem = self._about(error)
        finally:
            self.busy = False
            self.changes += 1
            if self._closed:
                self.close()

    def _about(self, error: Exception) -> tuple[str, str]:
        """The control that an error concerns, or ``""``, and the message with its label."""
        if isinstance(error, UsageError):
            for control in (*self.controls, *LANGUAGE_MODELS):
                if control.name == error.parameter:
                    return control.name, f"“{control.label}”: {error_line(error)}"
        return "", error_line(error)

    def _trial(self, values: dict[str, Any]) -> tuple[dict[str, Any], Connection, SmartModel]:
        """Return the values of the controls, and an unrecorded model made with them."""
        parameters = {**self.fixed, **parameters_from(self.controls, values)}
        connection = with_context(_connection({**SERVICES, **values}), self.scenario, parameters)
        trial = self.scenario(**parameters, connection=connection, recording=False)
        return parameters, connection, trial

    def _make(self) -> RunController:
        values = dict(self.values)
        try:
            parameters, connection, trial = self._trial(values)
        except ServerInUse:
            if not (self._runs and self._uses_local_model):
                raise
            # A file has one server, which ends with the run that is to be replaced.
            self.controller.close()
            self.controller.join(WIND_UP_S)
            parameters, connection, trial = self._trial(values)
        recording: Path | None = None  # what is paid for is kept in the folder of the package
        if not any(agent.mind.paid for agent in trial.population):
            recording = Path(self._folder.name) / f"{self._runs}.sqlite"
        if self._runs:  # no more questions are asked, and paid for, while the next model is made
            self.controller.close()
        model = self.scenario(**parameters, connection=connection, recording=recording)
        self._runs += 1
        self._used = values
        return self._shown(RunController(model, self.scenario_view))

    def _resumed(self) -> RunController:
        path = self.controller.model.recording_path
        assert path is not None
        connection = _connection({**SERVICES, **self.values})
        connection = connection.for_recorded(endpoints_in(self.controller.model.parameters))
        opened = Recording(path)
        try:
            source = to_resume(path)
            connection = with_spent(connection, source)
            (model,) = resume_models(opened, source, connection, scenario=self.scenario)
        except BaseException:
            opened.close()
            raise
        self._runs += 1
        return self._shown(RunController(model, self.scenario_view, opened.close))

    def _shown(self, controller: RunController) -> RunController:
        controller.interval_s = self.interval_s
        return controller


def _state(controller: RunController) -> tuple[object, ...]:
    model = controller.model
    run = (controller.status, controller.problem, controller.version)
    spent = repr(model.spent())  # an unknown price is NaN, which does not equal itself
    return *run, model.round, spent, model.in_flight, len(model.spoken)


def _connection(values: dict[str, Any]) -> Connection:
    asks, usd = _cap(values, "max_asks", check_int), _cap(values, "budget_usd", check_float)
    url = values["base_url"].strip() or None
    return Connection(url, endpoints_of_server(), budget=Budget(usd, asks))


def _cap(values: dict[str, Any], name: str, check: Callable[[str, Any, int], N]) -> N | None:
    with about(name):
        cap = parse_value(values[name].strip() or "none")
        return None if cap is None else check(name, cap, 0)
