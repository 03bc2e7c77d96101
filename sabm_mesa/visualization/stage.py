"""What is behind a scenario's page: the model on show, and the settings for the next one."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabm_mesa.errors import ParameterError, SabmError
from sabm_mesa.llm import Budget, Connection
from sabm_mesa.parameters import parameters_of
from sabm_mesa.recording import Recording
from sabm_mesa.reruns import going_on, unfinished
from sabm_mesa.spending import spent_before
from sabm_mesa.visualization.access import check_address, check_minds
from sabm_mesa.visualization.controls import LANGUAGE_MODELS, controls_of, parameters_from
from sabm_mesa.visualization.looks import Look
from sabm_mesa.visualization.show import Show
from sabm_mesa.visualization.words import FREE, noun_of, told, who_decides, who_would_decide
from sabm_mesa.written import parse_minds, parse_value

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

SERVICES = {"base_url": "", "max_asks": "", "budget_usd": ""}
"""What is set on the page besides parameters, with its default."""


class Stage:
    """The one model of a page, with what is set for the next one.

    Args:
        scenario: the model class.
        fixed: parameters that the page starts with.

    Attributes:
        show: the model on show.
        values: parameter or service → what its control holds, where it was set.
        problem: why the controls could not be used, or ``""``.
        wrong: the parameter or service that this is about, as far as it names one, or ``""``.
        busy: whether the next model is being made.
        changes: how often something was changed on the page.
    """

    def __init__(self, scenario: type[SmartModel], fixed: dict[str, Any]) -> None:
        self.scenario, self.look = scenario, Look(scenario)
        self.controls, self.fixed = controls_of(scenario), fixed
        self.values: dict[str, Any] = {}
        self.problem, self.wrong, self.busy = "", "", False
        self.changes, self.interval_s = 0, 0.0
        self._folder = tempfile.TemporaryDirectory(prefix="sabm-view-", ignore_cleanup_errors=True)
        self._runs, self._closed = 0, False
        self._used: dict[str, Any] = {}
        self._checking = threading.Lock()
        try:
            self.show = self._make()
        except BaseException:
            self._folder.cleanup()
            raise

    @property
    def dirty(self) -> bool:
        """Whether the controls say something else than the model on show was made with."""
        return self.values != self._used

    @property
    def costs(self) -> bool:
        """Whether answers for the model on show may cost money."""
        return any(agent.mind.paid for agent in self.show.model.population)

    @property
    def kept_path(self) -> Path | None:
        """The recording of the model on show, where it stays when the page is left."""
        path = self.show.model.recording_path
        return path if self.costs else None

    @property
    def may_go_on(self) -> bool:
        """Whether a run that has failed can be gone on with from its recording."""
        return self.show.status == "failed" and self.kept_path is not None

    def upcoming(self) -> tuple[str, str]:
        """Who will decide in the next model, in a sentence, and whether it may cost money."""
        if "minds" in self.fixed:
            return who_decides(self.show.model)
        default = str(parameters_of(self.scenario)["minds"].default)
        try:
            minds = parse_minds(str(self.values.get("minds", "")).strip() or default)
        except SabmError as error:
            return str(error), FREE
        return who_would_decide(minds, noun_of(self.show.model))

    def set(self, name: str, value: Any) -> None:
        """Keep what a control holds, for the next model, and check it on a thread."""
        self.values = {**self.values, name: value}
        self.changes += 1
        threading.Thread(target=self._check, args=(self.values,), name="sabm-check").start()

    def reset(self) -> None:
        """Make a new model with what the controls say; the one on show is stopped and closed."""
        self._set_up(self._make, 0)

    def play(self, rounds: float = float("inf")) -> None:
        """Play on, at first with a model of what the controls say now.

        A run that has failed goes on from its recording, where there is one.
        """
        if self.show.status == "ready" and (self.dirty or self.problem):
            self._set_up(self._make, rounds)
        elif self.may_go_on:
            self._set_up(self._resumed, rounds)
        else:
            self.show.play(rounds)

    def step(self) -> None:
        """Play one round."""
        self.play(1)

    def pace(self, seconds: float) -> None:
        """Let a round take so many seconds at the least."""
        self.interval_s = self.show.interval_s = seconds

    def close(self) -> None:
        """Stop and close the model, and remove what was recorded of it for downloads."""
        self._closed = True
        self.show.close(then=self._folder.cleanup)

    def state(self) -> object:
        """What the page is drawn from: it is drawn again when this changes."""
        show, model = self.show, self.show.model
        said = len(getattr(model, "said", ()))
        run = (self._runs, show.status, show.problem, show.version)
        spent = repr(model.spent())  # an unknown price is no number, which equals nothing
        return self.changes, *run, model.round, spent, model.in_flight, said

    def _set_up(self, make: Callable[[], Show], rounds: float) -> None:
        """Make the next model on a thread: rooms can be large, and libraries load slowly."""
        if not self.busy:
            self.busy, self.problem, self.wrong = True, "", ""
            self.changes += 1
            threading.Thread(target=self._replace, args=(make, rounds), name="sabm-setup").start()

    def _check(self, values: dict[str, Any]) -> None:
        """Say what is wrong with the controls, unless they have been changed or used since."""
        with self._checking:  # one after another: of many changes only the last one counts
            if values is not self.values or self.busy or self._closed:
                return
            try:
                self._trial(values)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
                found = self._about(told(error))
            else:
                found = "", ""
            if values is self.values and not self.busy:
                self.wrong, self.problem = found
                self.changes += 1

    def _replace(self, make: Callable[[], Show], rounds: float) -> None:
        try:
            show = make()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            self.wrong, self.problem = self._about(told(error))
        else:
            before, self.show = self.show, show
            before.close()
            show.play(rounds)
            if self._closed:
                self.close()
        finally:
            self.busy = False
            self.changes += 1

    def _about(self, problem: str) -> tuple[str, str]:
        """The control that a problem is about, or ``""``, and the problem with its label."""
        for control in (*self.controls, *LANGUAGE_MODELS):
            label = f"“{control.label}”"
            if label in problem or _is_about(problem, control.name):
                return control.name, problem if label in problem else f"{label}: {problem}"
        return "", problem

    def _trial(self, values: dict[str, Any]) -> tuple[dict[str, Any], Connection, SmartModel]:
        """What the controls say, and a model made with it that is recorded nowhere."""
        parameters = {**self.fixed, **parameters_from(self.controls, values)}
        if "minds" not in self.fixed:
            check_minds(parameters.get("minds", "classical"))
        connection = _connection({**SERVICES, **values})
        trial = self.scenario(**parameters, connection=connection, recording=False)
        return parameters, connection, trial

    def _make(self) -> Show:
        values = dict(self.values)
        parameters, connection, trial = self._trial(values)
        recording: Path | None = None  # what is paid for is kept in the folder of the package
        if not any(agent.mind.paid for agent in trial.population):
            recording = Path(self._folder.name) / f"{self._runs}.sqlite"
        if self._runs:  # no more is asked, and paid for, while the next model is made
            self.show.close()
        model = self.scenario(**parameters, connection=connection, recording=recording)
        self._runs += 1
        self._used = values
        return self._shown(Show(model, self.look))

    def _resumed(self) -> Show:
        path = self.show.model.recording_path
        assert path is not None
        connection = _connection({**SERVICES, **self.values})
        opened = Recording(path)
        try:
            found = unfinished(path)
            if connection.budget is not None:
                spent = spent_before(opened, found, connection.prices)
                connection = replace(connection, budget=connection.budget.after(spent))
            (model,) = going_on(opened, found, connection, scenario=self.scenario)
        except BaseException:
            opened.close()
            raise
        self._runs += 1
        return self._shown(Show(model, self.look, opened.close))

    def _shown(self, show: Show) -> Show:
        show.interval_s = self.interval_s
        return show


def _is_about(problem: str, name: str) -> bool:
    """Whether a message is about a parameter: some of their names are words of any sentence."""
    spoken = {"rng": "the seed", "minds": "(?:the mind|minds|classical mind)"}
    called = f"(?:{re.escape(name)}|{spoken[name]})" if name in spoken else re.escape(name)
    about = rf"\b{called}(?: has to\b|:| spec\b| of \w+:?)|^Unknown {called}\b"
    return re.search(about, problem) is not None


def _connection(values: dict[str, Any]) -> Connection:
    caps: list[Any] = []
    for control in LANGUAGE_MODELS[1:]:
        cap = parse_value(values[control.name].strip() or "none")
        if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int | float)):
            raise ParameterError(f"“{control.label}” takes a number, not {cap!r}.")
        caps.append(cap)
    asks, usd = caps
    url = values["base_url"].strip() or None
    check_address(url)
    return Connection(url, budget=Budget(usd, asks))
