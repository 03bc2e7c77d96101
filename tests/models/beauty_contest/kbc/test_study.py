"""The share of messages that agree or take up a number."""

import math

from sabm_mesa.core.messages import Message
from sabm_mesa.models.beauty_contest.kbc.study import Agreement


def test_the_share_of_a_discussion_coded_by_hand() -> None:
    discussion = [
        Message(0, 1, "I will go for 33."),  # first to name it
        Message(0, 2, "Then 22 is better."),  # a new number
        Message(0, 3, "Let us all pick 22."),  # takes up 22
        Message(0, 1, "I stay with 33."),  # only its own number
        Message(0, 4, "I agree."),  # agreement
    ]

    assert Agreement().share(discussion) == 2 / 5


def test_numbers_of_earlier_rounds_can_be_taken_up() -> None:
    def again(sender: int, *earlier: Message) -> float:
        agreement = Agreement()
        agreement.share(earlier)
        return agreement.share([Message(1, sender, "20 again")])

    named = Message(0, 1, "I say 20.")
    assert again(2) == 0
    assert again(2, named) == 1
    assert again(1, named) == 0


def test_a_number_has_to_be_named_before() -> None:
    assert Agreement().share([Message(0, 1, "20"), Message(0, 2, "20")]) == 0.5


def test_nothing_said_is_nan() -> None:
    assert math.isnan(Agreement().share([]))
    assert math.isnan(Agreement().share([Message(0, 1, " ")]))
    assert Agreement().share([Message(0, 1, ""), Message(0, 2, "I agree")]) == 1
