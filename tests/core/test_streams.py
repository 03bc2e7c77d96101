"""Seeds, streams and versions, by which a run can be repeated."""

import pickle
from copy import deepcopy

import numpy as np
import pytest

from sabm_mesa import ScriptedMind, action
from sabm_mesa.core.streams import agent_rng, entropy
from sabm_mesa.errors import ParameterError
from tests.core.support import rows, tiny


def draws(model):
    """The numbers that the model and its agents draw."""
    return [
        *model.rng.integers(10**9, size=3).tolist(),
        model.random.random(),
        *(number for cell in model.cells for number in cell.rng.integers(10**9, size=3).tolist()),
        *(cell.random.random() for cell in model.cells),
    ]


def seeded(rng, n=3):
    return tiny(n=n, minds="fixed:1", rng=rng)


@pytest.mark.parametrize(
    ("rng", "found"),
    [
        (5, (5,)),
        (0, (0,)),
        (2**70, (2**70,)),
        (np.int64(5), (5,)),
        (5.0, (5,)),
        ([1, 2], (1, 2)),
        ((1, 2, 3), (1, 2, 3)),
        (range(2), (0, 1)),
    ],
    ids=repr,
)
def test_a_seed_as_integers(rng, found) -> None:
    assert entropy(rng) == found
    assert draws(seeded(rng)) == draws(seeded(rng))


@pytest.mark.parametrize(
    "seed", [(0,), (2**32 - 1,), (2**32,), (2**70 + 3,), (0, 0), (7, 2**40), (1, 2, 3, 4, 5, 6)]
)
@pytest.mark.parametrize("agent", [0, 1, 2**32 - 1])
def test_the_stream_of_an_agent_is_that_of_numpys_seed_sequence(seed, agent) -> None:
    whole = np.random.SeedSequence(seed, spawn_key=(agent,))
    expected, stream = np.random.default_rng(whole), agent_rng(seed, agent)

    assert stream.bit_generator.state == expected.bit_generator.state
    assert deepcopy(stream).random() == pickle.loads(pickle.dumps(stream)).random()
    for _ in range(2):
        assert [a.random() for a in stream.spawn(2)] == [b.random() for b in expected.spawn(2)]
    sequence = stream.bit_generator.seed_seq
    assert sequence.generate_state(3).tolist() == whole.generate_state(3).tolist()


@pytest.mark.parametrize("rng", [-1, [1, -1], [], "5", 1.5, True, object(), [None]])
def test_what_is_no_seed(rng) -> None:
    with pytest.raises(ParameterError, match="the seed must be a whole number of 0 or more"):
        entropy(rng)


def test_a_seed_sequence_is_not_changed_and_gives_the_same_run() -> None:
    sequence = np.random.SeedSequence(5)
    children = np.random.SeedSequence(5).spawn(2)

    assert draws(seeded(sequence)) == draws(seeded(np.random.SeedSequence(5)))
    assert sequence.n_children_spawned == 0
    assert entropy(children[0]) != entropy(children[1]) != entropy(sequence)


def test_a_generator_is_drawn_from() -> None:
    generator = np.random.default_rng(5)
    first, second = seeded(generator), seeded(generator)

    assert first.entropy != second.entropy
    assert draws(first) == draws(seeded(np.random.default_rng(5)))


def test_without_a_seed_one_is_drawn_and_kept(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    model = tiny(minds="fixed:1", recording=path)
    model.step()
    drawn = draws(model)

    assert model.entropy != seeded(None).entropy
    assert rows(path, "SELECT seed FROM runs") == [(f"[{model.entropy[0]}]",)]
    assert drawn == draws(seeded(list(model.entropy)))


def test_different_seeds_give_different_draws() -> None:
    assert len({tuple(draws(seeded(rng))) for rng in (0, 1, 2, [0, 1], [1, 0])}) == 5


def test_a_mind_draws_from_its_agents_stream_whatever_the_order() -> None:
    def play(order):
        drawn = {}

        def answer(ask):
            drawn[ask.key.agent] = int(ask.rng.integers(101))
            return drawn[ask.key.agent]

        tiny(action(order=order), n=5, minds=ScriptedMind(answer), rng=9).step()
        return drawn

    assert play("fixed") == play("simultaneous") == play(lambda _, agents: agents[::-1])
