"""The fastest evacuation, by hand and against the runs."""

import math

import networkx as nx
import numpy as np
import pytest
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


def room_graph(free: np.ndarray, diagonals: bool = True) -> nx.Graph:
    """The free cells of a room, joined where one step connects them."""
    graph = nx.Graph()
    cells = [(int(x), int(y)) for x, y in np.argwhere(free)]
    graph.add_nodes_from(cells)
    ahead = ((0, 1), (1, 0), (1, 1), (1, -1)) if diagonals else ((0, 1), (1, 0))
    graph.add_edges_from(
        ((x, y), (x + dx, y + dy))
        for x, y in cells
        for dx, dy in ahead
        if (x + dx, y + dy) in graph
    )
    return graph


def steps_to_exits(graph, exits, starts) -> np.ndarray:
    """The fewest steps of people to each exit, by paths in a graph."""
    found = [nx.multi_source_dijkstra_path_length(graph, set(cells)) for cells in exits]
    return np.array([[float(steps.get(cell, INF)) for cell in starts] for steps in found])


def fewest_rounds(steps, widths: list[int]) -> float:
    """The first round after which everybody can have escaped."""
    nearest = np.min(steps, axis=0)
    if not np.isfinite(nearest).all():
        return INF
    most = int(nearest.max(initial=0)) + len(nearest)
    return float(np.flatnonzero(most_escaped(steps, widths, most) == len(nearest))[0])


def widths_of(room: Room) -> list[int]:
    return [len(cells) for cells in room.exit_cells.values()]


def test_a_small_room_by_hand() -> None:
    # A row of four cells with the exit at its left end, and one cell apart from it.
    free = np.array([[1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 1]], dtype=bool)
    graph = room_graph(free)

    steps = steps_to_exits(graph, [[(0, 0)]], [(0, 1), (0, 3), (2, 3)])
    assert steps.tolist() == [[1, 3, INF]]
    assert fewest_rounds(steps[:, :2], [1]) == 3
    assert fewest_rounds(steps[:, ::2], [1]) == INF


def test_diagonal_steps_are_edges_or_not() -> None:
    free = np.ones((2, 2), dtype=bool)

    assert room_graph(free).number_of_edges() == 6
    assert room_graph(free, diagonals=False).number_of_edges() == 4
    assert steps_to_exits(room_graph(free, False), [[(0, 0)]], [(1, 1)]).tolist() == [[2]]


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


def test_what_makes_no_sense_is_refused() -> None:
    for steps, widths, rounds in (
        ([[1]], [0], 1),
        ([[1]], [1, 1], 1),
        ([1], [1], 1),
        (np.empty((0, 2)), [], 1),
        ([[1]], [1], -1),
    ):
        with pytest.raises(ValueError, match=r"widths|0 or more"):
            most_escaped(steps, widths, rounds)


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


@given(crowds())
def test_the_curve_keeps_to_the_simple_limits(crowd) -> None:
    steps, widths = crowd
    curve = most_escaped(steps, widths, 20)
    nearest = steps.min(axis=0)

    assert curve[0] == 0
    assert all(0 <= rise <= sum(widths) for rise in np.diff(curve))
    assert all(curve[t] <= (nearest <= t).sum() for t in range(21))
    clear = fewest_rounds(steps, widths)
    if math.isfinite(clear):
        assert clear == np.flatnonzero(curve == steps.shape[1])[0]
        assert clear >= max(nearest.max(initial=0), steps.shape[1] / sum(widths))
    else:
        assert curve[-1] < steps.shape[1]


@given(worlds())
def test_the_graph_has_the_steps_of_the_room(model: EmergencyEvacuation) -> None:
    graph = room_graph(~model.room.solid, model.room.diagonals)
    starts = [person.pos for person in model.people]

    found = steps_to_exits(graph, model.room.exit_cells.values(), starts)
    assert found.tolist() == steps_of(model).tolist()


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
