"""A warehouse without a browser: ``python examples/warehouse/run.py``."""

from warehouse import Warehouse

model = Warehouse(rng=42)
model.run_model()
print(model.model_frame()[["round", "delivered", "asks", "invalid"]])
