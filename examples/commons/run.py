"""The three commons without a browser: ``python examples/commons/run.py``."""

from sabm_mesa import Fishery, Pasture, Pollution

for wording in (Fishery, Pasture, Pollution):
    model = wording(rng=42)
    model.run_model()
    print(wording.__name__, model.end_measures())

model = Fishery(rng=42)
model.run_model()
print(model.model_frame()[["round", "stock", "harvest", "over_usage"]].to_string(index=False))
