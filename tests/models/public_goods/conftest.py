"""Runs that the tests of this scenario read."""

import pytest

from sabm_mesa.models.pairs.cocktail_party.model import CocktailParty
from sabm_mesa.runs.run import run_models


@pytest.fixture(scope="module")
def party(tmp_path_factory):
    """A recorded cocktail party of ten agents and three rounds."""
    path = tmp_path_factory.mktemp("party") / "party.sqlite"
    run_models([CocktailParty(n_rounds=3, rng=1, recording=path)])
    return path
