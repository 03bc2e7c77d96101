"""A host's live view of a game: its numbers, its world, its charts and its conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from sabm_mesa.visualization.labels import error_line
from sabm_mesa.visualization.run_controller import Shown
from sabm_mesa.visualization.scenario_view import Heard, Said, ScenarioView, Worlds

if TYPE_CHECKING:
    from sabm_mesa.analysis.pictures import Scene
    from sabm_mesa.runs.game import Game


class GameView:
    """Reads the state of a game between rounds, in the thread that plays it.

    Args:
        game: the game, before it is started.

    Attributes:
        shown: the visible part of the finished rounds; replaced as a whole.
        version: grows with every change of `shown`.
    """

    def __init__(self, game: Game) -> None:
        self.game, self.model = game, game.model
        self.scenario_view = ScenarioView(type(game.model))
        self.shown = Shown(self.model.model_frame(), self.model.agent_frame())
        self.version = 0
        self._worlds = Worlds(self.scenario_view, self.model)
        self._worlds.keep(-1, self.shown.model_data, self.shown.agent_data)
        self._heard = Heard(self.scenario_view, self.model)
        game.watch = self._watch

    def said(self) -> dict[int, list[Said]]:
        """Round → its messages, including those of the current round."""
        return self._heard.by_round()

    def scenes(self, round_: int) -> tuple[Scene, ...]:
        """The world after a round; empty if the scenario has none.

        Args:
            round_: the round; −1 for the start.
        """
        return self._worlds.after(round_, self.shown.model_data, self.shown.agent_data)

    def _watch(self) -> None:
        model = self.model
        try:
            self._heard.keep()
            frames = model.model_frame(), model.agent_frame()
            self.shown = replace(self.shown, model_data=frames[0], agent_data=frames[1])
            charts = self.scenario_view.charts(model, *frames)
            self._worlds.keep(len(frames[0]) - 1, *frames)
            self.shown = Shown(*frames, charts, len(frames[0]) - 1)
        except Exception as error:  # noqa: BLE001 - no chart may end a game that people play
            self.shown = replace(self.shown, problem=error_line(error))
        self.version += 1


VIEWS: WeakKeyDictionary[Game, GameView] = WeakKeyDictionary()
"""The views of all games of this server."""
