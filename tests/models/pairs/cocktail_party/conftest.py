"""Runs that the tests of this scenario read."""

import pytest

from sabm_mesa import CocktailParty, ScriptedMind
from tests.models.pairs.cocktail_party.support import (
    Script,
    played,
)


@pytest.fixture
def scripted():
    script = Script()
    return played(script), script.asked


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a#1 party.sqlite"
    minds = ScriptedMind(Script())
    CocktailParty(n_agents=4, n_rounds=2, minds=minds, rng=7, recording=path).run_model()
    return path
