"""The prisoner's dilemma without a browser: ``python examples/prisoners_dilemma/run.py``."""

from prisoners_dilemma import PrisonersDilemma

for matching in ("partner", "stranger"):
    minds = {"classical": 6, "classical:take": 2}
    model = PrisonersDilemma(matching=matching, minds=minds, rng=42)
    model.run_model()
    print(f"{matching}: {model.shared:.0%} share, {model.kept:.0%} of the promises are kept")
