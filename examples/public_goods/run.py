"""The public goods game without a browser: ``python examples/public_goods/run.py``."""

from sabm_mesa import PublicGoods

model = PublicGoods(
    n_players=24, group_size=4, matching="stranger", endowment=20, multiplier=1.6, rng=42
)
model.run_model()
print(model.model_frame()[["round", "contribution", "pot", "zero_share"]].to_string(index=False))

chain = PublicGoods(n_players=4, matching="chain", malicious=1, rng=42)
chain.run_model()
print({name: value for name, value in chain.end_measures().items() if name[-1].isdigit()})
