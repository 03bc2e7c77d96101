"""Opinions on a small world without a browser: ``python examples/opinions/run.py``."""

from opinions import Opinions

for rewired in (0.0, 0.1, 1.0):
    model = Opinions(rewired=rewired, rng=42)
    model.run_model()
    print(f"rewired {rewired}: spread {model.spread:.1f}, between neighbours {model.distance:.1f}")
