"""Definitions of a legal answer that a question may be given, and those that are refused."""

from typing import Any

import pytest
from pydantic import BaseModel

from sabm_mesa import Number
from sabm_mesa.core.structured import as_spec
from sabm_mesa.errors import ParameterError


class Offer(BaseModel):
    """An answer of one part."""

    amount: int


def test_a_spec_stays_and_a_model_has_one_spec() -> None:
    spec = Number(0, 9)

    assert as_spec(spec) is spec
    assert as_spec(Offer) is as_spec(Offer)


@pytest.mark.parametrize("given", [["a", "b"], {"a": 1}, int, "text", None])
def test_anything_else_is_refused_in_one_line(given: Any) -> None:
    with pytest.raises(ParameterError, match="is no legal answer: give Number"):
        as_spec(given)
