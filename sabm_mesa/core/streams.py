"""Random streams: all that is drawn in a run comes from its seed.

A model draws from its own generator. Each agent has a stream that is derived from the seed and the
id of the agent, and another one for its birth; each attempt at a question that is paid for has one
that is derived from the seed and the place of the question in the run.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from random import Random
from typing import Annotated, Any, cast

import numpy as np
import numpy.typing as npt
from annotated_types import Ge

from sabm_mesa.core.asks import Key
from sabm_mesa.core.parameters import check_int
from sabm_mesa.errors import about

Seed = Annotated[int, Ge(0)] | Sequence[int] | np.random.SeedSequence | np.random.Generator | None
"""Values that Mesa takes as `rng`."""
Entropy = tuple[int, ...]
"""A seed as integers."""
TOGETHER = 32
"""Streams of agents whose seeds are hashed at once."""
_POOL, _STATE = (0x43B0D7E5, 0x931E8875), (0x8B51F9DD, 0x58F38DED)
_MIXED = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
"""Constants of `numpy.random.SeedSequence`, whose streams do not change between versions: first
value and factor of the hashes into its pool and out of it, and the factors that mix a hash in."""


@about("rng")
def entropy(rng: Any) -> Entropy:
    """The seed as integers, from all that Mesa takes as `rng`; drawn anew from None.

    Args:
        rng: an integer or a sequence of them, a SeedSequence, a Generator (which is drawn from),
            or None.

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
    """The stream of an agent.

    Args:
        seed: the seed of the run.
        agent: the id of the agent.
    """
    return np.random.Generator(np.random.PCG64(cast(Any, _AgentSeed(seed, agent))))


class _AgentSeed(np.random.bit_generator.ISpawnableSeedSequence):
    """``SeedSequence(seed, spawn_key=(agent,))``; NumPy takes ten times as long for that one."""

    def __init__(self, seed: Entropy, agent: int) -> None:
        self._seed, self._agent = seed, agent

    @cached_property
    def _whole(self) -> np.random.SeedSequence:
        return np.random.SeedSequence(self._seed, spawn_key=(self._agent,))

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """The state of a generator; another one as NumPy makes it."""
        if n_words != 4 or dtype is not np.uint64:
            return self._whole.generate_state(n_words, dtype)
        block, place = divmod(self._agent, TOGETHER)
        return _states(self._seed, block)[place]

    def spawn(self, n_children: int) -> list[Any]:
        """Seeds of more streams, as NumPy makes them."""
        return self._whole.spawn(n_children)


@lru_cache(maxsize=16)
def _states(seed: Entropy, block: int) -> npt.NDArray[np.uint64]:
    """The states of generators of agents with ids in a row; shape (TOGETHER, 4)."""
    words = sum(max(1, -(-each.bit_length() // 32)) for each in seed)
    into, out = _constants(*_POOL, 16 + 4 * max(0, words - 4), 5), _constants(*_STATE, 0, 9)
    agents = np.arange(block * TOGETHER, (block + 1) * TOGETHER).astype(np.uint32)[:, None]
    hashed = (agents ^ into[:4]) * into[1:]
    hashed ^= hashed >> 16
    pool = np.random.SeedSequence(seed).pool * _MIXED[0] - hashed * _MIXED[1]
    pool ^= pool >> 16
    states = (np.concatenate((pool, pool), axis=1) ^ out[:8]) * out[1:]
    states ^= states >> 16
    return states.astype("<u4").view("<u8").astype(np.uint64)


@cache
def _constants(first: int, factor: int, after: int, n: int) -> npt.NDArray[np.uint32]:
    """The next constants of a hash, of which each is the one before times a factor."""
    powers = [first * pow(factor, after + i, 2**32) % 2**32 for i in range(n)]
    return np.array(powers, dtype=np.uint32)


def agent_random(seed: Entropy, agent: int) -> Random:
    """The stream of an agent for Python's `random`.

    Args:
        seed: the seed of the run.
        agent: the id of the agent.
    """
    return Random(f"{seed}/{agent}")


def birth_rng(seed: Entropy, agent: int) -> np.random.Generator:
    """The stream from which an agent that is born draws its mind and persona.

    Args:
        seed: the seed of the run.
        agent: the id of the agent.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(agent, 0)))


def attempt_rng(seed: Entropy, key: Key, attempt: int) -> np.random.Generator:
    """The stream of one attempt at a question.

    Args:
        seed: the seed of the run.
        key: the place of the question in the run.
        attempt: the number of the attempt, from 0.
    """
    place = (key.round, zlib.crc32(key.phase.encode()), key.agent, key.call, attempt)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))
