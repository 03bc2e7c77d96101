"""The emergency evacuation without a browser: ``python examples/evacuation/run.py``."""

from sabm_mesa import EmergencyEvacuation

model = EmergencyEvacuation(n_people=100, rng=42)
model.run_model()
print(model.model_frame()[["round", "escaped", "inside", "evenness"]].to_string(index=False))
