"""The coder of messages: agreement, and the numbers that are named."""

import pytest

from sabm_mesa.analysis.messages import (
    MessageCoder,
    read_words,
    signals_agreement,
    stated_numbers,
)
from sabm_mesa.errors import ParameterError

AGREEING = [
    "I agree with Player #3.",
    "Agreed, let us all pick the same.",
    "No, I agree.",
    "I was not sure, but I agree now.",
    "That sounds good to me!",
    "I couldn't agree more.",
    "I couldn\u2019t agree more.",
    "I don't disagree.",
    "Count me in. Who else?",
    "I'm in!",
    "33.3 it is, I\u2019m with you.",
    "GREAT IDEA",
]
NOT_AGREEING = [
    "",
    "I will pick 20.",
    "I don't agree.",
    "I don\u2019t think that we agree.",
    "I can't say I agree with that.",
    "I disagree.",
    "Do you agree?",
    "Can we all agree on a number?",
    "If we all agree on 20, everybody wins.",
    "Unless you agree, I pick at random.",
    "Nobody agrees on anything here.",
    "What a disagreeable, agreeable lot.",
    "I am not on board, it makes no sense.",
]


@pytest.mark.parametrize("text", AGREEING)
def test_agreement_is_seen(text: str) -> None:
    assert signals_agreement(text)


@pytest.mark.parametrize("text", NOT_AGREEING)
def test_what_is_not_agreement_is_not(text: str) -> None:
    assert not signals_agreement(text)


NUMBERS = [
    ("I pick 33.", (33,)),
    ("Let's choose 0!", (0,)),
    ("my pick:20", (20,)),
    ("20, then 15 and 20 again", (20, 15)),
    ("33,34 or 35", (33, 34, 35)),
    ("The average is 50, so 33.33.", (50, 33.33)),
    ("2/3 of 50 = 33", (50, 33)),
    ("Two thirds of the mean", ()),
    ("everybody on 100", (100,)),
    ("50.0 and 50", (50,)),
    ("(22) or **14** or \u201c7\u201d", (22, 14, 7)),
    ("20\u2014final", (20,)),
    ("it's 20's turn", (20,)),
    ("Player #5 and Player 7 and #9", ()),
    ("Player 5 says 12", (12,)),
    ("In this game there is no clear player. 20 is mine.", (20,)),
    ("GPT-4, 3rd, x20, 20x, level-2, v1.5a", ()),
    ("20-30 or 20\u201330", ()),
    ("anything from 0 to 100, between 0 and 100", ()),
    ("-5, 101, 1,000, 1,000,000", ()),
    ("50% or 50 % or 50 percent", ()),
    ("24 players share 100 credits in 4 rounds", ()),
    ("$20 and #20", ()),
    ("zero", (0,)),
    ("twenty-two or thirty three, forty", (22, 33, 40)),
    ("a zero-sum game, the one I like", ()),
    ("ninety, nine", (90,)),
    ("one hundred", (100,)),
    ("hmm...20...", (20,)),
    ("at 10:30", ()),
]


@pytest.mark.parametrize(("text", "numbers"), NUMBERS)
def test_numbers_that_are_named(text: str, numbers: tuple[float, ...]) -> None:
    assert stated_numbers(text) == numbers


def test_words_on_the_subject_of_a_scenario_join_those_of_the_coder(tmp_path) -> None:
    path = tmp_path / "words.toml"
    path.write_text(
        '[guidance]\nsides = ["bow"]\nrooms = ["gangway"]\n[information]\nstates = ["steep"]\n'
        '[deck]\nnames = ["poop"]'
    )
    plain, ship = MessageCoder(), MessageCoder(read_words(path))

    for text, code in [("Run to the bow!", "guidance"), ("The gangway is steep.", "information")]:
        assert plain.codes(text) == set()
        assert ship.codes(text) == {code}
    assert ship.codes("Follow me!") == plain.codes("Follow me!") == {"guidance"}


@pytest.mark.parametrize(
    ("text", "is_place"),
    [
        ("Take the left side.", True),
        ("Take the side left of us.", True),
        ("Take the gangway.", True),
        ("Take the left.", False),
        ("Take the side.", False),
        ("Take the side on the left.", False),
        ("Take the left left.", False),
    ],
)
def test_a_place_is_a_room_or_a_side_next_to_a_word_for_a_place(text: str, is_place: bool) -> None:
    coder = MessageCoder(
        {"guidance": {"sides": ["left"], "rooms": ["gangway"], "directions": ["take"]}}
    )
    assert ("guidance" in coder.codes(text)) == is_place


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('guidance = ["bow"]', "guidance must be a table of lists of words"),
        ('[guidance]\nsides = "bow"', "[guidance] sides must be a list of words"),
        ("[guidance]\nsides = [1]", "[guidance] sides must be a list of words"),
        (
            '[guidance]\nsies = ["bow"]',
            "[guidance] has no list 'sies'; it has sides, rooms, places",
        ),
        ("[guidance", "is not valid TOML"),
    ],
)
def test_a_file_of_words_that_cannot_be_used(tmp_path, text: str, said: str) -> None:
    path = tmp_path / "words.toml"
    path.write_text(text)

    with pytest.raises(ParameterError) as refused:
        read_words(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)
