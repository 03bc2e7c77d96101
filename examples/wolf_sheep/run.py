"""Wolves, sheep and grass without a browser: ``python examples/wolf_sheep/run.py``."""

from wolf_sheep import WolfSheep

for n_wolves in (0, 4, 8):
    model = WolfSheep(n_wolves=n_wolves, rng=42)
    model.run_model()
    print(f"{n_wolves} wolves at first: {model.wolves} wolves and {model.sheep} sheep in the end")
