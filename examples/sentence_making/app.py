"""The joint sentence making in the browser: ``solara run examples/sentence_making/app.py``."""

from sabm_mesa import SentenceMaking
from sabm_mesa.visualization.pages.scenario import View

page = View(SentenceMaking)
