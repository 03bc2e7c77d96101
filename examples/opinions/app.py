"""Opinions on a small world in the browser: ``solara run examples/opinions/app.py``."""

from pathlib import Path

from sabm_mesa.models.registry import load
from sabm_mesa.visualization.viewer.scenario import View

page = View(load(str(Path(__file__).with_name("opinions.py"))))
