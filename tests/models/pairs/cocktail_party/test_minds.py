"""The classical guests."""

import pytest

from sabm_mesa import CocktailParty


def test_random_guests_are_the_null_model() -> None:
    """Over runs the ratio of random guests is the expected one, and that of sociable ones lower."""

    def ratio(minds):
        models = [CocktailParty(n_rounds=10, minds=minds, rng=seed) for seed in range(2)]
        for model in models:
            model.run_model()
        sent = [i.agents for model in models for i in model.invitations]
        last = [model.distinct_invitation_ratio for model in models]
        return sum(last) / len(last), len(sent)

    random, _ = ratio("classical:random")
    sociable, _ = ratio("classical")

    assert random == pytest.approx(0.64, abs=0.05)  # 0.623 for 10 draws; some invite nobody
    assert sociable < random - 0.03
