"""Sparse text vectors, by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.analysis.sparse_text import SparseText, distances_from_centre, terms, variance


def test_terms_are_words_in_small_letters() -> None:
    assert terms("It's 3 Bells, déjà-vu_x!") == ("it's", "bells", "déjà", "vu", "x")


def test_vectors_by_hand() -> None:
    """Of two documents "sea" is in both (weight 1), "red" and "blue" in one (ln 1.5 + 1)."""
    space = SparseText(["red sea", "blue sea"])
    rare = math.log(3 / 2) + 1
    length = math.hypot(rare, 1)

    assert space.vectors(["red red sea", "green"]) == pytest.approx(
        np.array([[0, 2 * rare, 1], [0, 0, 0]]) / [[math.hypot(2 * rare, 1)], [1]]
    )
    assert space.vectors(["blue sea"])[0] == pytest.approx([rare / length, 0, 1 / length])
    # 1 − |mean|²: the mean is (r, r, 2) / 2L.
    assert variance(["red sea", "blue sea"]) == pytest.approx(
        1 - (2 * rare**2 + 4) / (4 * length**2)
    )


def test_distances_from_the_centre_by_hand() -> None:
    """Two pairs without a common word are at the same angle of 45° to the mean."""
    found = distances_from_centre({(1, 2): ["red sky"], (3, 4): ["blue sea"], (5, 6): ["42"]})

    assert set(found) == {(1, 2), (3, 4)}
    assert found[1, 2] == pytest.approx(1 - math.sqrt(1 / 2))
    assert found[3, 4] == pytest.approx(1 - math.sqrt(1 / 2))
    alone = distances_from_centre({(1, 2): ["red sky"]})
    assert alone[1, 2] == pytest.approx(0)
    assert distances_from_centre({}) == distances_from_centre({(1, 2): ["1", "2"]}) == {}


@given(st.lists(st.text("abc ", max_size=12), max_size=6))
def test_a_variance_lies_between_none_and_one(texts) -> None:
    found = variance(texts)

    assert math.isnan(found) if not texts else -1e-9 <= found < 1
    if texts:
        assert variance([texts[0]] * 3) == pytest.approx(0, abs=1e-9)
        assert variance(texts[::-1]) == pytest.approx(found)
