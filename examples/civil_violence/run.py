"""Civil violence without a browser: ``python examples/civil_violence/run.py``."""

from civil_violence import CivilViolence

for legitimacy in (0.5, 0.7, 0.9):
    model = CivilViolence(legitimacy=legitimacy, rng=42)
    model.run_model()
    print(f"legitimacy {legitimacy}: {model.active} active, {model.jailed} in jail at the end")
