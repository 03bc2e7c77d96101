"""The fastest evacuation, by hand and against the runs."""

import math

import networkx as nx
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from sabm_mesa import EmergencyEvacuation
from sabm_mesa.models.evacuation.room import Room
from sabm_mesa.models.evacuation.theory import most_escaped

INF = math.inf
STEPS = st.integers(1, 6).map(float) | st.just(INF)


@st.composite
def crowds(draw) -> tuple[np.ndarray, list[int]]:
    """Steps of 0 to 8 people to 1 to 3 exits, and the widths of the exits."""
    n_exits, n = draw(st.integers(1, 3)), draw(st.integers(0, 8))
    row = st.lists(STEPS, min_size=n, max_size=n)
    steps = draw(st.lists(row, min_size=n_exits, max_size=n_exits))
    widths = draw(st.lists(st.integers(1, 2), min_size=n_exits, max_size=n_exits))
    return np.array(steps).reshape(n_exits, n), widths


@st.composite
def worlds(draw) -> EmergencyEvacuation:
    """A small evacuation in a random room."""
    width, height = draw(st.integers(5, 9)), draw(st.integers(5, 9))
    exits = {"a": [[0, 2], [0, 3]], "b": [[height - 1, draw(st.integers(1, width - 2))]]}
    inner = [[x, y] for x in range(2, height - 2) for y in range(1, width - 1)]
    obstacles = draw(st.lists(st.sampled_from(inner), max_size=5)) if inner else []
    free = len(Room(width, height, exits, obstacles).inside)
    return EmergencyEvacuation(
        n_people=draw(st.integers(1, min(20, free))),
        n_rounds=40,
        width=width,
        height=height,
        exits=exits,
        obstacles=obstacles,
        movement=draw(st.sampled_from(["sequential", "simultaneous"])),
        variant=draw(st.sampled_from(["default", "no_diagonals"])),
        communication=False,
        rng=draw(st.integers(0, 1000)),
    )


def steps_of(model: EmergencyEvacuation) -> np.ndarray:
    """Steps of the people of a new model to the exits."""
    x, y = np.array([person.pos for person in model.people]).T
    return model.room.steps[:, x, y]


def fewest_rounds(steps, widths: list[int]) -> float:
    """The first round after which everybody can have escaped."""
    nearest = np.min(steps, axis=0)
    if not np.isfinite(nearest).all():
        return INF
    most = int(nearest.max(initial=0)) + len(nearest)
    return float(np.flatnonzero(most_escaped(steps, widths, most) == len(nearest))[0])


def widths_of(room: Room) -> list[int]:
    return [len(cells) for cells in room.exit_cells.values()]


def test_a_queue_at_a_door_by_hand() -> None:
    three = [[1.0, 1.0, 1.0]]

    assert most_escaped(three, [1], 4).tolist() == [0, 1, 2, 3, 3]
    assert most_escaped(three, [2], 2).tolist() == [0, 2, 3]
    assert fewest_rounds(three, [2]) == 2
    # The second exit is too far to help, and then helps one.
    assert most_escaped([*three, [9, 9, 9]], [1, 1], 3).tolist() == [0, 1, 2, 3]
    assert most_escaped([[1, 1, 1, 1], [9, 9, 9, 3]], [1, 1], 4).tolist() == [0, 1, 2, 4, 4]
    assert fewest_rounds([[1, 1, 1, 1], [9, 9, 9, 3]], [1, 1]) == 3


def test_whoever_is_walled_in_never_escapes() -> None:
    assert most_escaped([[2, INF]], [1], 3).tolist() == [0, 0, 1, 1]
    assert fewest_rounds([[2, INF]], [1]) == INF


def test_without_people() -> None:
    assert fewest_rounds(np.empty((2, 0)), [1, 1]) == 0
    assert most_escaped(np.empty((2, 0)), [1, 1], 2).tolist() == [0, 0, 0]


@given(crowds(), st.integers(0, 10))
def test_the_flow_is_the_largest_matching_of_people_and_places(crowd, rounds: int) -> None:
    """A place is an exit cell in a round; a person can have it from its arrival on."""
    steps, widths = crowd
    graph = nx.Graph()
    people = [("person", i) for i in range(steps.shape[1])]
    graph.add_nodes_from(people)
    graph.add_edges_from(
        (("person", i), (e, cell, t))
        for (e, i), first in np.ndenumerate(steps)
        for cell in range(widths[e])
        for t in range(1, rounds + 1)
        if t >= first
    )
    matching = nx.bipartite.maximum_matching(graph, top_nodes=people)

    assert most_escaped(steps, widths, rounds)[-1] == len(matching) / 2


@given(worlds())
def test_no_run_is_faster(model: EmergencyEvacuation) -> None:
    steps, widths = steps_of(model), widths_of(model.room)
    model.run_model()
    escaped = model.model_frame()["escaped"].to_numpy()

    assert all(escaped <= most_escaped(steps, widths, len(escaped))[1:])
    clear = model.end_measures()["rounds_to_clear"]
    if clear is not None:
        assert clear >= fewest_rounds(steps, widths)


@given(st.integers(0, 1000))
def test_a_person_alone_meets_the_bound(seed: int) -> None:
    model = EmergencyEvacuation(
        n_people=1, width=9, height=7, communication=False, personas="none",
        minds="classical:nearest_cell", rng=seed,
    )  # fmt: skip
    steps = steps_of(model)
    model.run_model()

    clear = model.end_measures()["rounds_to_clear"]
    assume(model.people[0].exit == model.room.names[int(steps.argmin())])
    assert clear == fewest_rounds(steps, widths_of(model.room))
