"""Values as JSON: sorted sets, ids of agents, coordinates of cells, no addresses in memory."""

from collections import deque
from dataclasses import dataclass
from math import nan

import mesa
import numpy as np
import pytest
from mesa.discrete_space import OrthogonalMooreGrid

from sabm_mesa.core.jsonable import json_roundtrip, to_json

MODEL = mesa.Model(rng=1)
AGENTS = [mesa.Agent(MODEL) for _ in range(3)]
CELLS = list(OrthogonalMooreGrid((2, 2), random=MODEL.random).all_cells)


@dataclass
class Offer:
    """A price and those who may buy."""

    price: float
    buyers: set[str]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"c", "a", "b"}, ["a", "b", "c"]),
        (frozenset({10, 9, 1}), [1, 9, 10]),
        ({1, "a", None}, ["a", 1, None]),
        ({(1, 2), (0, 5)}, [[0, 5], [1, 2]]),
        (AGENTS[1], 2),
        (set(AGENTS), [1, 2, 3]),
        (MODEL.agents, [1, 2, 3]),
        ({AGENTS[0]: [AGENTS[2], None]}, {"1": [3, None]}),
        (CELLS[1], [0, 1]),
        ({CELLS[3], CELLS[0]}, [[0, 0], [1, 1]]),
        ({"near": {CELLS[2]}}, {"near": [[1, 0]]}),
        (Offer(nan, {"b", "a"}), {"price": None, "buyers": ["a", "b"]}),
        (deque([1, 2]), [1, 2]),
        (np.float64(3), 3.0),
        (np.array([1, 2]), [1, 2]),
        ((1, 2), [1, 2]),
        ({(1, 2): 3}, {"(1, 2)": 3}),
        (object(), "object"),
        (len, "<built-in function len>"),
        (to_json, "to_json"),
    ],
)
def test_what_json_lacks_is_its_content(value, expected) -> None:
    assert json_roundtrip(value) == expected
