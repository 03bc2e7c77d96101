"""Finite games without a browser: ``python examples/games/run.py``."""

from sabm_mesa import FiniteGame

model = FiniteGame(minds=["classical:tit_for_tat", "fixed:B"], n_rounds=10, rng=42)
model.run_model()
print(model.agent_frame().groupby("agent")["payoff"].sum().to_dict())

for disguise in ({}, {"labels": "invented", "currency": "crowns", "scale": 25}):
    model = FiniteGame(game="stag_hunt", n_players=20, matching="stranger", rng=42, **disguise)
    model.run_model()
    print(model.model_frame()[["round", "share_stag", "payoff", "equilibrium"]].tail(1))
