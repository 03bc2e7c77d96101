"""A market with births without a browser: ``python examples/market/run.py``."""

from market import Market

for harvest in (6, 8, 10):
    model = Market(harvest=harvest, rng=42)
    model.run_model()
    print(f"harvest {harvest}: {model.eaters} eaters, a loaf costs {model.price:.2f}")
