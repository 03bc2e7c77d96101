"""The repeated beauty contest without a browser: ``python examples/beauty_contest/run.py``."""

from sabm_mesa import RepeatedBeautyContest

model = RepeatedBeautyContest(minds={"classical": 9, "fixed:0": 1}, n_rounds=5, rng=42)
model.run_model()
print(model.model_frame()[["round", "mean", "target", "ratio"]].round(3).to_string(index=False))
print("Points per player and round:", model.end_measures()["payoff_by_type"])
