"""The Keynesian beauty contest without a browser: ``python examples/kbc/run.py``."""

from sabm_mesa import KeynesianBeautyContest

model = KeynesianBeautyContest(n_players=24, n_rounds=4, rng=42)
model.run_model()
print(model.model_frame()[["round", "mean", "target", "variance"]].to_string(index=False))
