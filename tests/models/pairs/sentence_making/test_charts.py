"""The charts of the joint sentence making."""

from sabm_mesa import SentenceMaking
from tests.models.support import charts_of, values_of


def test_the_scores_are_those_of_the_data() -> None:
    model = SentenceMaking(n_agents=4, n_rounds=3, rng=2)
    model.run_model()
    drawn, data = charts_of(model), model.model_frame()

    assert values_of(drawn["valid"], "valid") == list(data["valid_ratio"])
    assert values_of(drawn["spread"], "variance") == list(data["variance"])
