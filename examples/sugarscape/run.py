"""Sugarscape with trade without a browser: ``python examples/sugarscape/run.py``."""

from sugarscape import Sugarscape

model = Sugarscape(rng=42)
model.run_model()
print(f"{model.traders} of {model.parameters['n_traders']} traders are left")
