"""What is behind a scenario's page: the model on show, and the settings for the next one."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabm_mesa.errors import ParameterError, SabmError
from sabm_mesa.llm import Budget, Connection
from sabm_mesa.visualization.controls import controls_of, parameters_from
from sabm_mesa.visualization.looks import Look
from sabm_mesa.visualization.show import Show
from sabm_mesa.written import parse_value

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
        busy: whether the next model is being made.
        changes: how often something was changed on the page.
    """

    def __init__(self, scenario: type[SmartModel], fixed: dict[str, Any]) -> None:
        self.scenario, self.look = scenario, Look(scenario)
        self.controls, self.fixed = controls_of(scenario), fixed
        self.values: dict[str, Any] = {}
        self.problem, self.busy = "", False
        self.changes, self.interval_s = 0, 0.0
        self._folder = tempfile.TemporaryDirectory(prefix="sabm-view-", ignore_cleanup_errors=True)
        self._runs, self._closed = 0, False
        self._used: dict[str, Any] = {}
        self.show = self._make()

    @property
    def dirty(self) -> bool:
        """Whether the controls say something else than the model on show was made with."""
        return self.values != self._used

    def set(self, name: str, value: Any) -> None:
        """Keep what a control holds, for the next model."""
        self.values = {**self.values, name: value}
        self.changes += 1

    def reset(self) -> None:
        """Make a new model with what the controls say; the one on show is stopped and closed."""
        self._set_up(0)

    def play(self, rounds: float = float("inf")) -> None:
        """Play on, at first with a model of what the controls say now."""
        if self.show.status == "ready" and (self.dirty or self.problem):
            self._set_up(rounds)
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
        return self.changes, *run, model.round, model.spent(), model.in_flight, said

    def _set_up(self, rounds: float) -> None:
        """Make the next model on a thread: rooms can be large, and libraries load slowly."""
        if not self.busy:
            self.busy, self.problem = True, ""
            self.changes += 1
            threading.Thread(target=self._replace, args=(rounds,), name="sabm-setup").start()

    def _replace(self, rounds: float) -> None:
        try:
            show = self._make()
        except SabmError as error:
            self.problem = str(error)
        else:
            before, self.show = self.show, show
            before.close()
            show.play(rounds)
            if self._closed:
                self.close()
        finally:
            self.busy = False
            self.changes += 1

    def _make(self) -> Show:
        values = dict(self.values)
        parameters = {**self.fixed, **parameters_from(self.controls, values)}
        connection = _connection({**SERVICES, **values})
        trial = self.scenario(**parameters, connection=connection, recording=False)
        recording: Path | None = None  # what is paid for is kept in the folder of the package
        if not any(agent.mind.paid for agent in trial.population):
            recording = Path(self._folder.name) / f"{self._runs}.sqlite"
        model = self.scenario(**parameters, connection=connection, recording=recording)
        self._runs += 1
        self._used = values
        show = Show(model, self.look)
        show.interval_s = self.interval_s
        return show


def _connection(values: dict[str, Any]) -> Connection:
    asks, usd = (parse_value(values[name].strip() or "none") for name in ("max_asks", "budget_usd"))
    for name, cap in (("The most requests", asks), ("The most dollars", usd)):
        if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int | float)):
            raise ParameterError(f"{name} are given as a number, not {cap!r}.")
    return Connection(values["base_url"].strip() or None, budget=Budget(usd, asks))
