"""Schelling's city without a browser: ``python examples/schelling/run.py``."""

from schelling import City

for minds in ("classical:tolerant", "classical"):
    model = City(minds=minds, rng=42)
    print(f"{minds}: {model.alike:.2f} of the neighbours are alike at first,", end=" ")
    model.run_model()
    print(f"{model.alike:.2f} after {model.round + 1} rounds")
