"""The cocktail party without a browser: ``python examples/cocktail_party/run.py``."""

from sabm_mesa import CocktailParty

for minds in ("classical", "classical:random"):
    party = CocktailParty(n_agents=10, n_rounds=30, minds=minds, rng=42)
    party.run_model()
    measures = party.end_measures()
    print(f"{minds}: different partners among all of the last 10 rounds "
          f"{party.distinct_conversation_ratio:.2f}, tight pairs {measures['tight_pairs']}, "
          f"modularity {measures['modularity']:.2f} "
          f"(random partners {measures['modularity_random']:.2f})")  # fmt: skip
