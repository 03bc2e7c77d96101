"""The classical writer."""

from tests.models.pairs.sentence_making.support import played


def test_a_classical_writer_sometimes_forgets_a_word(party) -> None:
    model = played(
        None, interaction="bridged", party=party, n_agents=4, n_rounds=4, n_sentences=5, rng=15
    )

    assert (model.total.invalid, model.total.reasks) == (0, 0)
    assert 0.8 < model.end_measures()["valid_ratio"] < 1
