"""Random streams: all random numbers of a run come from its seed.

A model draws from its own generator. Each agent has a stream derived from the seed and its id, and
another one for its birth. Each attempt at a paid question has a stream derived from the seed and
the position of the question in the run.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from random import Random
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from sabm_mesa.core.asks import Key
from sabm_mesa.core.parameters import check_int
from sabm_mesa.errors import about

Seed = Annotated[int, Ge(0)] | Sequence[int] | np.random.SeedSequence | np.random.Generator | None
"""Values that Mesa accepts as `rng`."""
Entropy = tuple[int, ...]
"""A seed as integers."""


@about("rng")
def entropy(rng: Any) -> Entropy:
    """The seed as integers, from any value that Mesa accepts as `rng`; a random seed for None.

    A generator is drawn from.

    Raises:
        ParameterError: for anything else.
    """
    if rng is None:
        return (int(np.random.SeedSequence().generate_state(1)[0]),)
    if isinstance(rng, np.random.Generator):
        return (int(rng.integers(2**32)),)
    if isinstance(rng, np.random.SeedSequence):
        return tuple(int(word) for word in rng.generate_state(4))
    if isinstance(rng, Sequence) and not isinstance(rng, str) and len(rng) > 0:
        return tuple(check_int("the seed", word, 0) for word in rng)
    return (check_int("the seed", rng, 0),)


def agent_rng(seed: Entropy, agent: int) -> np.random.Generator:
    """The stream of an agent."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(agent,)))


def agent_random(seed: Entropy, agent: int) -> Random:
    """The stream of an agent for Python's `random`."""
    return Random(f"{seed}/{agent}")


def birth_rng(seed: Entropy, agent: int) -> np.random.Generator:
    """The stream from which a newborn agent draws its mind and persona."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(agent, 0)))


def attempt_rng(seed: Entropy, key: Key, attempt: int) -> np.random.Generator:
    """The stream of one attempt (from 0) at the question at a position of the run."""
    position = (key.round, zlib.crc32(key.phase.encode()), key.agent, key.call, attempt)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=position))
