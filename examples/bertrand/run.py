"""The Bertrand competition without a browser: ``python examples/bertrand/run.py``."""

from sabm_mesa import BertrandCompetition

model = BertrandCompetition(n_rounds=300, minds="classical:win_continue_lose_reverse", rng=42)
model.run_model()
print(
    model.model_frame()[["round", "price_1", "price_2", "collusion_index"]].to_string(index=False)
)
