"""Recommendations in evacuees' messages, and the evenness of counts."""

import math

import pytest

from sabm_mesa.models.evacuation.study import evenness, recommended

EXITS = ("left", "bottom", "right")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Take the left exit: from here it is the quickest way out.", ("left",)),
        ("Bottom exit seems closer with fewer people.", ("bottom",)),
        ("Avoid the left exit, go right!", ("right",)),
        ("The LEFT exit is crowded but the bottom one is clear.", ("bottom",)),
        ("The right exit is less crowded.", ("right",)),
        ("The left exit isn\u2019t far. Right is too far.", ("left",)),
        ("Don't go left", ()),
        ("I left my bag", ("left",)),  # it reads words, not meanings
        ("Leftovers everywhere", ()),
        ("", ()),
    ],
)
def test_exits_that_are_spoken_for(text, expected) -> None:
    assert recommended(text, EXITS) == expected


def test_other_names_of_exits() -> None:
    assert recommended("Use North_Gate now", ("north_gate", "gate")) == ("north_gate",)
    assert recommended("Use the Gate", ("Gate",)) == ("Gate",)


def test_evenness() -> None:
    assert evenness([10, 10, 10]) == pytest.approx(1)
    assert evenness([5, 0]) == 0
    shares_ = (0.5, 0.25, 0.25)
    entropy = -sum(share * math.log(share) for share in shares_)
    assert evenness([2, 1, 1]) == pytest.approx(entropy / math.log(3))
    assert math.isnan(evenness([0, 0]))
    assert math.isnan(evenness([7]))
