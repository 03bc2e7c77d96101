"""Negotiation without a browser: ``python examples/negotiation/run.py``."""

from negotiation import Negotiation

for n_buyers in (4, 8, 16):
    model = Negotiation(n_buyers=n_buyers, rng=42)
    model.run_model()
    print(f"{n_buyers} buyers: A sold {model.sales_a}, B sold {model.sales_b}, for ${model.earned}")
