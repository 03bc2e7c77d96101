"""The content that a person of a class sees beside the question of the public goods game."""

from types import SimpleNamespace

from sabm_mesa.models.public_goods.class_game import board


def test_the_question_stays_short_when_there_are_many_earlier_rounds() -> None:
    seen = SimpleNamespace(endowment=100, multiplier=1.3)
    found = board(SimpleNamespace(facts=seen))  # type: ignore[arg-type]
    assert found["text"] == "How many of your 100 dollars do you put into the pot?"
