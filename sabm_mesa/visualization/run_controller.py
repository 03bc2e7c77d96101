"""One model on show: played on its own thread, painted between rounds, closed at the end.

Mesa's `SolaraViz` steps the model where the page is drawn: its Step button blocks the page for a
whole round, its Reset leaves a round that is under way running, and an error of the constructor
ends the page. With language models a round takes minutes, so the viewer has this controller in
the place of Mesa's.

Rounds and looks at the model take turns on the one thread of a controller. So a chart never sees
half a round, and the page only ever hands on what is done: it answers at once whatever goes on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from weakref import WeakSet

from sabm_mesa.core.engine import WIND_UP_S
from sabm_mesa.recording.export import csv_of
from sabm_mesa.visualization.connections import look_now
from sabm_mesa.visualization.labels import error_line
from sabm_mesa.visualization.scenario_view import Heard, Said, ScenarioView, Worlds

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.analysis.charts import Chart
    from sabm_mesa.analysis.pictures import Scene
    from sabm_mesa.models.base import SmartModel


REPAINT_S = 0.15
"""Seconds between two looks at the model while rounds follow one another, at least."""
LOOKING_SHARE = 0.4
"""Looks may take this share of the time of a run at most, so that fast runs stay fast."""
PACE_S = 0.5
"""Seconds that a round takes at least, unless the page says something else."""
PLAN = "plan"
"""The name of the phase in which agents make plans."""
Status = Literal["ready", "playing", "pausing", "paused", "over", "failed"]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Shown:
    """Content of the page on the rounds that are done.

    Attributes:
        model_data: one row a round.
        agent_data: one row an agent and round.
        charts: the charts.
        played: the last round that they show; −1 for none.
        table: the scenario's own table with its caption, if it has one.
        problem: why the charts could not be made, or ``""``.
    """

    model_data: pd.DataFrame
    agent_data: pd.DataFrame
    charts: tuple[Chart, ...] = ()
    played: int = -1
    table: tuple[str, pd.DataFrame] | None = None
    problem: str = ""


_controllers: WeakSet[RunController] = WeakSet()
"""The controllers on show in this process, so that its end can close them."""


class RunController:
    """A model on show.

    Args:
        model: the model, before its first round.
        scenario_view: how the scenario is shown.
        release: called on the thread as soon as the run has ended.

    Attributes:
        shown: the visible part of the rounds that are done; replaced as a whole.
        version: grows with every change of `shown`.
        problem: why the run ended before its time, or ``""``.
        planned: the rounds in which agents planned.
        interval_s: seconds that a round takes at least while rounds follow one another.
    """

    def __init__(
        self,
        model: SmartModel,
        scenario_view: ScenarioView,
        release: Callable[[], object] = lambda: None,
    ) -> None:
        self.model, self.scenario_view = model, scenario_view
        self.shown = Shown(model.model_frame(), model.agent_frame())
        self.problem = ""
        self.planned: set[int] = set()
        self.interval_s = PACE_S
        self.version = 0
        self._heard = Heard(scenario_view, model)
        self._worlds = Worlds(scenario_view, model)
        self._wanted = 0.0
        self._playing = self._pausing = False
        self._ended = self._closed = self._gone = False
        self._then: Callable[[], object] | None = None
        self._release: Callable[[], object] | None = release
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="sabm-show", daemon=True)
        self._thread.start()
        _controllers.add(self)

    @property
    def status(self) -> Status:
        """The status of the run; ``"pausing"`` while a last round is under way."""
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
        """Whether a round was played or is under way."""
        return self.model.round >= 0

    @property
    def ended(self) -> bool:
        """Whether no round will be played any more."""
        return self.status in {"over", "failed"}

    def play(self, rounds: float = float("inf")) -> None:
        """Play on.

        Args:
            rounds: this many rounds at most.
        """
        with self._changed:
            self._wanted, self._pausing = rounds, rounds == 0
            self._changed.notify_all()

    def pause(self) -> None:
        """Pause as soon as the round under way is done."""
        self.play(0)

    def close(self, then: Callable[[], object] | None = None) -> None:
        """End the run, also in the middle of a round, and the thread. It does not wait for them.

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
        """Wait until the thread has ended; whether it has.

        Args:
            timeout_s: seconds to wait at most.
        """
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def said(self) -> dict[int, list[Said]]:
        """Round → its messages, also those of the round under way; silent rounds are not in.

        Returns:
            The messages by round, in the order of the rounds.
        """
        return self._heard.by_round()

    def model_csv(self) -> str:
        """The model data as CSV."""
        return csv_of(self.shown.model_data)

    def agents_csv(self) -> str:
        """The agent data as CSV."""
        return csv_of(self.shown.agent_data)

    def scenes(self, round_: int) -> tuple[Scene, ...]:
        """The world after a round; empty where the scenario has none.

        Args:
            round_: the round; −1 for the start.
        """
        return self._worlds.after(round_, self.shown.agent_data)

    def _work(self) -> None:
        looked_at, look_s = time.monotonic(), self._look()
        while self._next_round():
            started = time.monotonic()
            self._play_round()
            now = time.monotonic()
            due = looked_at + max(REPAINT_S, look_s / LOOKING_SHARE)
            idle = started + self.interval_s - look_s
            if not self._goes_on() or now >= due or now <= idle:
                look_s = self._look()
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
        """Wait for the next round; False when there will be none."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or (self._goes_on() and not self.problem))
            if self._closed:
                return False
            # It is taken as it begins: a press while it ends is wanted on top of it.
            self._wanted, self._playing = self._wanted - 1, True
        return True

    def _play_round(self) -> None:
        try:
            self.model.step()
            self._heard.keep()
            if _planned(self.model):
                self.planned.add(self.model.round)
        except Exception as error:  # noqa: BLE001 - an error of a scenario is a line on the page
            self.problem = error_line(error)
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

    def _look(self) -> float:
        """Take what there is to see from the model; the seconds that it took."""
        if self._closed:
            return 0.0
        started, before = time.monotonic(), self.shown
        try:
            frames = self.model.model_frame(), self.model.agent_frame()
            played = rounds_done(self.model) - 1
            before = replace(before, model_data=frames[0], agent_data=frames[1], played=played)
            table = self.scenario_view.table(self.model, frames[0])
            charts = self.scenario_view.charts(self.model, *frames)
            self._worlds.keep(played, frames[1])
        except Exception as error:  # noqa: BLE001 - no chart may end a run that is paid for
            if not self._closed:  # then the folder of the run may be gone
                self._publish(replace(before, problem=error_line(error)))
        else:
            self._publish(Shown(*frames, charts, played, table))
        return time.monotonic() - started

    def _publish(self, shown: Shown) -> None:
        self.shown = shown
        self._ended = not self.model.running
        self.version += 1
        look_now()


def _planned(model: SmartModel) -> bool:
    """Whether agents were asked for plans in the round, as its phases say."""
    plans = [phase for phase in model.phases if phase.name == PLAN]
    return any(phase.when is None or phase.when(model) for phase in plans)


def rounds_done(model: SmartModel) -> int:
    """How many rounds were played to their end; one that failed is none of them."""
    return len(model.datacollector.model_vars["asks"])


def stop_all() -> list[RunController]:
    """Close all models on show without waiting for them.

    Returns:
        The controllers that were open.
    """
    shows = list(_controllers)
    for controller in shows:
        controller.close()
    return shows


def close_all() -> None:
    """Close all models on show, and wait until answers under way are recorded."""
    shows = stop_all()
    deadline = time.monotonic() + WIND_UP_S
    for controller in shows:
        controller.join(max(0.0, deadline - time.monotonic()))
