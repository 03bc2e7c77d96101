"""Finite games in the browser: ``solara run examples/games/app.py``."""

from sabm_mesa import FiniteGame
from sabm_mesa.visualization.pages.scenario import View

page = View(FiniteGame)
