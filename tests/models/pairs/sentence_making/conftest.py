"""Runs that the tests of this scenario read."""

import pytest

from sabm_mesa import CocktailParty, ScriptedMind
from tests.models.pairs.cocktail_party.support import Script


@pytest.fixture
def party(tmp_path):
    """The party of four of the test of the cocktail party: 1-2, 1-3 and 3-4 talked once each."""
    path = tmp_path / "party.sqlite"
    minds = ScriptedMind(Script())
    CocktailParty(n_agents=4, n_rounds=2, minds=minds, rng=7, recording=path).run_model()
    return str(path)
