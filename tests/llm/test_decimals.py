"""Patterns of decimals: they match the decimals between two ends, and nothing else."""

import math
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sabm_mesa.llm.decimals import PLACES, between, with_patterns, without_limits

ENDS = st.integers(-3000, 3000).map(lambda n: n / 10) | st.integers(-50, 50) | st.just(math.inf)
SHORT = st.integers(-(10**7), 10**7).map(lambda n: n / 10**PLACES)


@given(ENDS, ENDS, st.data())
def test_a_pattern_matches_the_decimals_between_its_ends(low, high, data) -> None:
    low = -low if low == math.inf else low
    assume(low <= high)
    pattern = re.compile(between(low, high))
    ends = [end for end in (low, high) if math.isfinite(end)]
    near = st.sampled_from([end + step for end in ends or [0] for step in (-1, -1e-4, 0, 1e-4, 1)])
    number = round(data.draw(SHORT | near), PLACES) + 0.0
    whole = number == int(number)
    spellings = {f"{number:.{PLACES}f}", f"{int(number)}" if whole else f"{number:.{PLACES}f}"}

    for text in spellings - {"-0.0000"}:
        assert bool(pattern.fullmatch(text)) == (low <= number <= high), (pattern.pattern, text)


@pytest.mark.parametrize(
    "text", ["", ".5", "5.", "05", "1e3", "+5", "1,000", "5.00001", "$5", "5 "]
)
def test_a_pattern_matches_nothing_but_plain_decimals(text: str) -> None:
    assert not re.fullmatch(between(0, 2000), text)


def test_a_schema_has_patterns_for_bounded_decimals_and_nothing_else() -> None:
    price = {"type": "number", "minimum": 0, "maximum": 14}
    schema = {
        "type": "object",
        "properties": {
            "answer": price, "any": {"type": "number"},
            "pattern": {"type": "integer", "minimum": 1},
            "said": {"type": "string", "maxLength": 8},
            "list": {"type": "array", "items": price, "maxItems": 2},
        },
    }  # fmt: skip
    pattern = {"type": "string", "pattern": f"^{between(0, 14)}$"}

    assert with_patterns(schema)["properties"] == {
        **schema["properties"], "answer": pattern,
        "list": {"type": "array", "items": pattern, "maxItems": 2},
    }  # fmt: skip
    assert without_limits(schema)["properties"] == {
        "answer": {"type": "number"}, "any": {"type": "number"}, "pattern": {"type": "integer"},
        "said": {"type": "string"}, "list": {"type": "array", "items": {"type": "number"}},
    }  # fmt: skip
