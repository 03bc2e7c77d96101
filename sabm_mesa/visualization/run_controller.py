"""The controller of a displayed model: plays it in a thread and draws it between rounds.

Mesa's `SolaraViz` steps the model in the thread that draws the page: its Step button blocks the
page for a whole round, its Reset does not stop the current round, and an error in the constructor
breaks the page. With language models a round takes minutes, so the viewer uses this controller
instead.

Rounds and snapshots of the model alternate in the single thread of a controller. So a chart never
shows half a round. The page only displays finished snapshots, so it always responds at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal
from weakref import WeakSet

from sabm_mesa.core.engine import WIND_UP_S
from sabm_mesa.errors import MindError, ScenarioError
from sabm_mesa.recording.export import csv_of
from sabm_mesa.visualization.labels import error_line
from sabm_mesa.visualization.scenario_view import ModelView, ScenarioView

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


REPAINT_S = 0.15
"""Minimum number of seconds between two snapshots of the model during a run."""
PACE_S = 0.5
"""Default minimum duration of a round in seconds."""
PLAN = "plan"
"""The name of the phase in which agents make plans."""
Status = Literal["ready", "playing", "pausing", "paused", "over", "failed"]
_log = logging.getLogger(__name__)


_controllers: WeakSet[RunController] = WeakSet()
"""The open controllers of this process, which are closed at its end."""


class RunController(ModelView):
    """The controller of a displayed model.

    Args:
        model: the model, before its first round.
        scenario_view: how the scenario is shown.
        release: called in the thread when the run has ended.

    Attributes:
        problem: why the run ended early, or ``""``.
        in_code: whether the code of the scenario or of a mind ended it.
        planned: the rounds in which agents planned.
        interval_s: the minimum duration of a round in seconds while the run plays.
    """

    def __init__(
        self,
        model: SmartModel,
        scenario_view: ScenarioView,
        release: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(model, scenario_view)
        self.problem, self.in_code = "", False
        self.planned: set[int] = set()
        self.interval_s = PACE_S
        self._wanted = 0.0
        self._playing = self._pausing = False
        self._ended = self._gone = False
        self._then: Callable[[], object] | None = None
        self._release: Callable[[], object] | None = release
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="sabm-show", daemon=True)
        self._thread.start()
        _controllers.add(self)

    @property
    def status(self) -> Status:
        """The status of the run; ``"pausing"`` during the last round before a pause."""
        if self.problem:
            return "failed"
        if self._ended or self._gone:
            return "over"
        if self._wanted or (self._playing and not self._pausing):
            return "playing"
        if self._playing:
            return "pausing"
        return "paused" if self.model.round >= 0 else "ready"

    @property
    def begun(self) -> bool:
        """Whether a round has started."""
        return self.model.round >= 0

    @property
    def ended(self) -> bool:
        """Whether the run has ended."""
        return self.status in {"over", "failed"}

    def play(self, rounds: float = float("inf")) -> None:
        """Start or continue the run."""
        with self._changed:
            self._wanted, self._pausing = rounds, rounds == 0
            self._changed.notify_all()

    def pause(self) -> None:
        """Pause at the end of the current round."""
        self.play(0)

    def close(self, then: Callable[[], object] | None = None) -> None:
        """End the run, even in the middle of a round, and the thread, without waiting for them.

        Args:
            then: called when the run is closed, on the thread if that has not ended yet.
        """
        with self._changed:
            self._closed, self._then = True, then or self._then
            self._changed.notify_all()
            gone = self._gone
        self.model.stop()
        if gone and then is not None:
            then()

    def join(self, timeout_s: float) -> bool:
        """Wait until the thread has ended, and return whether it has."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def model_csv(self) -> str:
        """The model data as CSV."""
        return csv_of(self.shown.model_data)

    def agents_csv(self) -> str:
        """The agent data as CSV."""
        return csv_of(self.shown.agent_data)

    def _work(self) -> None:
        self._look()
        looked_at = time.monotonic()
        while self._next_round():
            started = time.monotonic()
            self._play_round()
            slow = self.interval_s > REPAINT_S
            if slow or not self._goes_on() or time.monotonic() > looked_at + REPAINT_S:
                self._look()
                looked_at = time.monotonic()
            self._rest_until(started + self.interval_s)
        try:
            self.model.close("closed in the viewer")
        except Exception:  # noqa: BLE001 - whatever it is, what the run holds is let go
            _log.exception("The run could not be closed.")
        finally:
            self._let_go()
            with self._changed:
                self._gone, then = True, self._then
            if then is not None:
                then()

    def _next_round(self) -> bool:
        """Wait for the next round; False when the run ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or (self._goes_on() and not self.problem))
            if self._closed:
                return False
            # Count the round when it begins: a click during the round asks for one more.
            self._wanted, self._playing = self._wanted - 1, True
        return True

    def _play_round(self) -> None:
        try:
            self.model.step()
            self.keep_said()
            if _planned(self.model):
                self.planned.add(self.model.round)
        except Exception as error:  # noqa: BLE001 - an error of a scenario is a line on the page
            self.problem = error_line(error)
            self.in_code = isinstance(error, ScenarioError | MindError)
        if not self.model.running:
            self._let_go()
        with self._changed:
            self._playing = False
            if self.problem or not self.model.running:
                self._wanted = 0.0

    def _let_go(self) -> None:
        release, self._release = self._release, None
        if release is not None:
            release()

    def _goes_on(self) -> bool:
        return self.model.running and self._wanted > 0 and not self._closed

    def _rest_until(self, moment: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._goes_on(), moment - time.monotonic())

    def _look(self) -> None:
        if not self._closed:
            self.look()
            self._ended = not self.model.running


def _planned(model: SmartModel) -> bool:
    """Whether agents were asked for plans in the current round."""
    plans = [phase for phase in model.phases if phase.name == PLAN]
    return any(phase.when is None or phase.when(model) for phase in plans)


def stop_all() -> list[RunController]:
    """Close all displayed models without waiting for them.

    Returns:
        The controllers that were open.
    """
    shows = list(_controllers)
    for controller in shows:
        controller.close()
    return shows


def close_all() -> None:
    """Close all displayed models, and wait until pending answers are recorded."""
    shows = stop_all()
    deadline = time.monotonic() + WIND_UP_S
    for controller in shows:
        controller.join(max(0.0, deadline - time.monotonic()))
