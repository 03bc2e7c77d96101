"""Boids without a browser: ``python examples/boids/run.py``."""

from boids import Flock

for minds in ("fixed:straight", "classical"):
    model = Flock(minds=minds, rng=42)
    print(f"{minds}: order {model.order:.2f} at first,", end=" ")
    model.run_model()
    print(f"{model.order:.2f} after {model.round + 1} rounds")
