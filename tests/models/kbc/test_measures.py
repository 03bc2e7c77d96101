"""The share of messages that agree or take up a number."""

import math

from sabm_mesa.core.messages import Message
from sabm_mesa.models.kbc.measures import agreement_share


def test_the_share_of_a_discussion_coded_by_hand() -> None:
    discussion = [
        Message(0, 1, "I will go for 33."),  # first to name it
        Message(0, 2, "Then 22 is better."),  # a new number
        Message(0, 3, "Let us all pick 22."),  # takes up 22
        Message(0, 1, "I stay with 33."),  # only its own number
        Message(0, 4, "I agree."),  # agreement
    ]

    assert agreement_share(discussion) == 2 / 5


def test_numbers_of_earlier_rounds_can_be_taken_up() -> None:
    earlier = [Message(0, 1, "I say 20.")]

    assert agreement_share([Message(0, 2, "20 again")]) == 0
    assert agreement_share([Message(0, 2, "20 again")], earlier) == 1
    assert agreement_share([Message(0, 1, "20 again")], earlier) == 0


def test_a_number_has_to_be_named_before() -> None:
    assert agreement_share([Message(0, 1, "20"), Message(0, 2, "20")]) == 0.5


def test_nothing_said_is_nan() -> None:
    assert math.isnan(agreement_share([]))
    assert math.isnan(agreement_share([Message(0, 1, " ")]))
    assert agreement_share([Message(0, 1, ""), Message(0, 2, "I agree")]) == 1
