"""Lines, turns, leaving, and who talks with whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.models.pairs.agents import Dialogue, Invitation, Utterance, pairs_of, read_line


@pytest.mark.parametrize(
    ("answer", "said", "leaves"),
    [
        ("Hello.", "Hello.", False),
        ("I have to leave.", "I have to leave.", False),
        ("Do not LEAVE me.", "Do not LEAVE me.", False),
        ("BELEAVE", "BELEAVE", False),
        ("LEAVE", "", True),
        ("Bye. LEAVE", "Bye.", True),
        ("Bye. **LEAVE**.", "Bye.", True),
        ("Bye. [LEAVE]", "Bye.", True),
        ("'LEAVE'", "", True),
        ("Bye. _LEAVE_", "Bye.", True),
        (None, "", True),
    ],
)
def test_how_a_line_is_read(answer, said, leaves) -> None:
    assert read_line(answer) == (said, leaves)


@pytest.mark.parametrize("end", ["LEAVE", "**LEAVE**", "\nLEAVE."])
def test_who_says_too_much_leaves_all_the_same(end) -> None:
    spec = Utterance(max_words=3)

    assert spec.check(f"a b c {end}") == "a b c […] LEAVE"
    assert spec.check(spec.check(f"a b c {end}")) == "a b c […] LEAVE"
    assert read_line(spec.check(f"a b c d {end}")) == ("a b c […]", True)
    assert spec.check("a b LEAVE") == "a b LEAVE"
    assert spec.check("LEAVE a b c") == "LEAVE a b […]"


@given(st.lists(st.sampled_from(["a", "b LEAVE", "LEAVE", None]), max_size=12), st.integers(2, 8))
def test_turns_alternate_until_somebody_leaves_or_the_turns_are_used_up(answers, most) -> None:
    dialogue = Dialogue(0, (3, 5), most)
    taken = []
    for answer in answers:
        if (speaker := dialogue.speaker) is None:
            break
        taken.append(speaker)
        dialogue.take(answer)

    assert taken == [(3, 5)[i % 2] for i in range(len(taken))]
    assert len(taken) <= most
    assert dialogue.left == (bool(taken) and answers[len(taken) - 1] != "a")
    assert len(dialogue.messages) == sum(a in {"a", "b LEAVE"} for a in answers[: len(taken)])


@given(st.dictionaries(st.integers(1, 6), st.tuples(st.integers(1, 6), st.booleans())))
def test_who_talks_with_whom(choices) -> None:
    sent = [Invitation(0, a, b, ok) for a, (b, ok) in choices.items() if a != b]
    pairs = pairs_of(sent)

    assert {frozenset(pair) for pair in pairs} == {frozenset(i.agents) for i in sent if i.accepted}
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)
    assert pairs == sorted(pairs)
