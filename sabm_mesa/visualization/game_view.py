"""The views of games that hosts, walls and phones see."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from sabm_mesa.visualization.scenario_view import ModelView, ScenarioView

if TYPE_CHECKING:
    from sabm_mesa.runs.game import Game


class GameView(ModelView):
    """Reads the state of a game between rounds, in the thread that plays it.

    Args:
        game: the game, before it is started.
    """

    def __init__(self, game: Game) -> None:
        super().__init__(game.model, ScenarioView(type(game.model)))
        self.look()
        game.watch = self.look


VIEWS: WeakKeyDictionary[Game, GameView] = WeakKeyDictionary()
"""The views of all games of this server."""
