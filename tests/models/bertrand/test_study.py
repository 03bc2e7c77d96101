"""The measures of the Bertrand competition: talk about prices, and whole runs."""

import math

import pytest

from sabm_mesa import BertrandCompetition
from sabm_mesa.core.messages import Message
from sabm_mesa.models.bertrand.study import price_messages, run_measures, stated_prices
from tests.models.bertrand.support import played


def test_agreements_count_only_after_a_price_has_been_named() -> None:
    """Firm 1 names a price, firm 2 agrees: 6 messages, or 5 where firm 2 opens the talk."""
    counts = played(initial_prices=[2, 3]).model_frame()["price_messages"]

    assert counts[0] == 0
    assert set(counts[1:]) == {5, 6}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Let us both charge $7.50.", (7.5,)),
        ("I suggest 7, or better 7.5!", (7, 7.5)),
        ("Between 6 and 8, say.", (6, 8)),
        ("In round 7 we sold 10 units 3 times, firm 3.", ()),
        ("For 10 rounds raise it by 2 or 5 %; 6-8 is fine, #3 too.", ()),
        ("My cost is 2, and costs of 2 are low.", ()),
        ("I earned 3,200 at 6 and 1.5 more.", (6,)),
        ("Price 20 or 1?", ()),
        ("Hello there.", ()),
    ],
)
def test_stated_prices(text: str, found: tuple[float, ...]) -> None:
    assert stated_prices(text, 2, 14) == found


def test_messages_that_name_a_price_or_agree_to_one() -> None:
    texts = ["I agree.", "How about 7?", "I agree.", "I agree.", "Hm."]
    said = [Message(0, sender, text) for sender, text in zip((1, 1, 1, 2, 2), texts, strict=True)]

    assert price_messages(said, 2, 14) == 2
    assert price_messages([], 2, 14) == 0


def test_round_0_is_in_no_measure() -> None:
    model = BertrandCompetition(
        n_rounds=10, rng=1, minds="fixed:8", communication=False, initial_prices=3
    )
    model.run_model()
    data, ends = model.model_frame(), model.end_measures()

    assert (ends["convergence_price"], ends["collusion_index"]) == (8, 1)
    assert (ends["collusive_share"], ends["spell"]) == (1, 9)
    assert (ends["rounds"], ends["averaged_rounds"]) == (10, 9)
    assert data.loc[0, ["price_1", "price_2"]].tolist() == [3, 3]  # the given start is in the data
    assert data["collusion_index"].isna().tolist() == [True] + 9 * [False]
    assert data["collusive_share"].isna().tolist() == [True] + 9 * [False]


def test_a_given_start_within_the_band_is_no_collusion() -> None:
    model = BertrandCompetition(
        n_rounds=4, rng=1, minds="fixed:5", communication=False, initial_prices=8
    )
    model.run_model()

    assert model.end_measures()["collusive_share"] == 0
    assert not model.model_frame()["collusion"].any()


def test_prices_settle_in_the_first_round_that_is_decided() -> None:
    model = BertrandCompetition(
        n_rounds=60, rng=1, minds="fixed:5", communication=False, initial_prices=5
    )
    model.run_model()

    assert model.end_measures()["convergence_round"] == 1


def test_the_measures_of_a_run() -> None:
    data = {
        "price_1": [7.0] * 60,
        "price_2": [7.0] * 60,
        "collusion_index": [0.0] * 10 + [0.75] * 50,
        "spell": [*range(1, 31), 0, *range(1, 30)],
        "collusive_share": [1.0] * 30 + [30 / 31] * 29 + [59 / 60],
        "messages": [6] * 60,
        "price_messages": [1] * 60,
    }

    assert run_measures(data, 2, 0.5) == {
        "rounds": 60,
        "averaged_rounds": 50,
        "convergence_price": 7,
        "convergence_round": 0,
        "collusion_index": 0.75,
        "spell": 29,
        "collusive_share": 59 / 60,
        "messages": 360,
        "price_messages": 60,
    }
    empty = run_measures({name: [] for name in data}, 2, 0.5)
    assert (empty["rounds"], empty["spell"]) == (0, 0)
    assert math.isnan(empty["collusion_index"])
    assert math.isnan(empty["collusive_share"])
