"""The cocktail party in the browser: ``solara run examples/cocktail_party/app.py``."""

from sabm_mesa import CocktailParty
from sabm_mesa.visualization.pages.scenario import View

page = View(CocktailParty)
