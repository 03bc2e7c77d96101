"""Numbers in words."""

from __future__ import annotations

import math

import pytest

from sabm_mesa.studies.page import numbers, p_in_words

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([4.583, 2.4, 7.33], ["4.58", "2.40", "7.33"]),
        ([1234.5, 0.5], ["1,234", "0"]),
        ([-0.01234], ["−0.0123"]),
        ([0.0, NAN, INF, -INF], ["0", "–", "∞", "−∞"]),
        ([100.0], ["100"]),
        ([10.0, -3.14159], ["10.0", "−3.1"]),
        ([0.0000001], ["0.00"]),
        ([5e-6], ["0.000005"]),
    ],
)
def test_numbers_of_a_group_have_the_same_decimals(values: list[float], texts: list[str]) -> None:
    assert numbers(*values) == texts


@pytest.mark.parametrize(
    ("p", "words"),
    [(0.0234, "p = 0.023"), (0.001, "p = 0.001"), (0.00099, "p < 0.001"), (1.0, "p = 1"),
     (NAN, "p = –")],
)  # fmt: skip
def test_a_p_value(p: float, words: str) -> None:
    assert p_in_words(p) == words
