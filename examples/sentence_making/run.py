"""A party, and what its guests write: ``python examples/sentence_making/run.py``."""

from pathlib import Path
from tempfile import TemporaryDirectory

from sabm_mesa import CocktailParty, SentenceMaking

with TemporaryDirectory() as folder:
    party = Path(folder) / "party.sqlite"
    CocktailParty(n_agents=10, n_rounds=30, rng=42, recording=party).run_model()
    for interaction in ("individual", "collective", "bridged"):
        model = SentenceMaking(interaction=interaction, party=str(party), rng=42)
        model.run_model()
        print(interaction, {name: round(x, 3) for name, x in model.end_measures().items()})
