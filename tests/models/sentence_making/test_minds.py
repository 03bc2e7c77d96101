"""The classical writer."""

import pytest

from tests.models.sentence_making.support import played


@pytest.mark.parametrize("seed", [15, 34, 35])
def test_a_classical_writer_forgets_no_word_when_it_is_asked_again(party, seed) -> None:
    model = played(
        None, interaction="bridged", party=party, n_agents=4, n_rounds=4, n_sentences=5, rng=seed
    )

    assert model.total.invalid == 0 < model.total.reasks
    assert model.valid_ratio_at_once < model.valid_ratio == 1
