"""The default local model, for tests that really ask it; `make slow` fetches it before."""

from collections.abc import Iterator

import pytest

from sabm_mesa.llm import close_all

TINY = {"n_players": 2, "n_rounds": 1, "rng": 1}
"""A small contest."""


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """End the server after each test."""
    yield
    close_all()
