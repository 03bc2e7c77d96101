"""The room: distances, sight and the grid."""

import math
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.errors import ParameterError
from sabm_mesa.models.evacuation.room import RADIUS, Room, bresenham, disc, look


@st.composite
def rooms(draw):
    """Rooms of up to 14 × 14 with obstacles anywhere and one to three exits."""
    height, width = draw(st.integers(5, 14)), draw(st.integers(5, 14))
    cells = [(x, y) for x in range(1, height - 1) for y in range(1, width - 1)]
    obstacles = draw(st.lists(st.sampled_from(cells), unique=True, max_size=len(cells) // 2))
    gaps = [(x, y) for x in range(1, height - 1) for y in (0, width - 1)]
    gaps += [(x, y) for y in range(1, width - 1) for x in (0, height - 1)]
    chosen = draw(st.lists(st.sampled_from(gaps), unique=True, min_size=1, max_size=4))
    exits = {"a": chosen[:2], "b": chosen[2:3], "c": chosen[3:]}
    exits = {name: cells for name, cells in exits.items() if cells}
    return Room(width, height, exits, obstacles, diagonals=draw(st.booleans()))


def crowd(room: Room, seed: int, share: float):
    """The cells of people on some of the free cells."""
    free = np.reshape(room.inside, (-1, 2)).astype(int)
    return free[np.random.default_rng(seed).random(len(free)) < share]


def test_the_published_room() -> None:
    room = Room()

    assert room.exit_cells == {
        "left": ((15, 0), (16, 0), (17, 0)),
        "bottom": ((32, 15), (32, 16), (32, 17)),
        "right": ((17, 32),),
    }
    assert room.solid.sum() == 4 * 32 - 7
    assert len(room.inside) == 31 * 31
    assert [room.side(name) for name in room.names] == ["left", "bottom", "right"]


def test_the_published_obstacles() -> None:
    room = Room(obstacles=True)
    inner = room.solid[1:-1, 1:-1]

    assert inner.sum() == 12 * 22
    assert sorted(set((np.argwhere(inner)[:, 0] + 1).tolist())) == [
        2, 4, 6, 8, 10, 12, 19, 21, 23, 25, 27, 29,
    ]  # fmt: skip
    assert room.solid[2, 4:15].all()
    assert not room.solid[2, 15:18].any()
    assert room.solid[2, 18:29].all()
    assert np.isfinite(room.steps[:, ~room.solid]).all()


def test_the_published_obstacles_stay_inside_a_smaller_room() -> None:
    assert Room(12, 9, obstacles=True).solid[1:-1, 1:-1].sum() == 3 * 7


MAP = """
.......
.#.....
.......
...##..
.......
.......
.......
"""


@pytest.mark.parametrize(
    "obstacles", [MAP, MAP.split("\n")[1:-1], [[1, 1], [3, 3], [3, 4]], ((1, 1), (3, 3), (3, 4))]
)
def test_obstacles_as_text_and_as_cells(obstacles) -> None:
    room = Room(7, 7, obstacles=obstacles)

    assert (np.argwhere(room.solid[1:-1, 1:-1]) + 1).tolist() == [[1, 1], [3, 3], [3, 4]]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"exits": {}}, "exits must map names"),
        ({"exits": {"a": []}}, "exit a has no cells"),
        ({"exits": {"a": [[3, 3]]}}, r"cell \(3, 3\), which is not on the wall"),
        ({"exits": {"a": [[0, 0]]}}, "corners do not count"),
        (
            {"exits": {"a": [[0, 1]], "b": [[0, 1]]}},
            r"\(0, 1\) is listed twice, for the exits a and b",
        ),
        ({"exits": {"a": [[0, 1]], "A": [[0, 2]]}}, "different names"),
        ({"exits": {"two words": [[0, 1]]}}, "must be one word"),
        ({"exits": {"gate2": [[0, 1]]}}, "letters .of any script. and underscores.*without digits"),
        ({"exits": {"_": [[0, 1]]}}, "begins with a letter"),
        ({"exits": {"a": 3}}, "list of cells"),
        ({"obstacles": [[0, 1]]}, "not inside the room"),
        ({"obstacles": [[1, 1.5]]}, "obstacles: y must be"),
        ({"obstacles": "..\n.."}, "needs 7 lines of 7 signs"),
        ({"obstacles": ["......."] * 6 + ["...x..."]}, "unknown sign 'x'"),
    ],
)
def test_a_room_that_cannot_be_is_refused(wrong, reason) -> None:
    with pytest.raises(ParameterError, match=reason):
        Room(**{"width": 7, "height": 7, **wrong})


def test_distance_is_the_mean_over_the_cells_of_an_exit() -> None:
    room = Room(7, 7, {"left": [[2, 0], [3, 0], [4, 0]], "top": [[0, 5]]})

    expected = (math.hypot(0, 4) + 2 * math.hypot(1, 4)) / 3
    assert room.distance[0, 3, 4] == pytest.approx(expected)
    assert room.distance[1, 3, 5] == 3


def test_steps_go_around_obstacles() -> None:
    room = Room(7, 7, {"left": [[3, 0]]}, [[2, 2], [3, 2], [4, 2]])

    assert room.steps[0, 3].tolist() == [0, 1, math.inf, 4, 4, 5, math.inf]
    straight = Room(7, 7, {"left": [[3, 0]]}, [[2, 2], [3, 2], [4, 2]], diagonals=False)
    assert straight.steps[0, 3].tolist() == [0, 1, math.inf, 7, 8, 9, math.inf]


@given(rooms())
def test_steps_are_shortest_paths(room: Room) -> None:
    graph = nx.Graph()
    free = {(int(x), int(y)) for x, y in np.argwhere(~room.solid)}
    graph.add_nodes_from(free)
    for x, y in free:
        graph.add_edges_from(
            ((x, y), (x + dx, y + dy)) for dx, dy in room.moves if (x + dx, y + dy) in free
        )
    for i, cells in enumerate(room.exit_cells.values()):
        expected = nx.multi_source_dijkstra_path_length(graph, set(cells))
        for x, y in np.ndindex(room.solid.shape):
            assert room.steps[i, x, y] == expected.get((x, y), math.inf)


@given(rooms())
def test_every_cell_with_a_way_has_a_lower_neighbour_in_the_floor_field(room: Room) -> None:
    for i in range(len(room.names)):
        for x, y in room.inside:
            if 0 < room.steps[i, x, y] < math.inf:
                near = [(x + dx, y + dy) for dx, dy in room.moves]
                assert min(room.field[i][cell] for cell in near) < room.field[i, x, y]


@pytest.mark.parametrize(
    ("end", "passed"),
    [
        ((1, 1), []),
        ((0, 3), [(0, 1), (0, 2)]),
        ((-3, -3), [(-1, -1), (-2, -2)]),
        ((2, 4), [(0, 1), (1, 2), (1, 3)]),
        ((-1, 3), [(0, 1), (-1, 2)]),
    ],
)
def test_lines_of_cells(end, passed) -> None:
    assert bresenham(*end) == passed


@given(st.sampled_from(disc(RADIUS)))
def test_a_line_is_connected_and_close_to_the_straight_one(end) -> None:
    dx, dy = end
    line = [(0, 0), *bresenham(dx, dy), end]

    assert len(line) == max(abs(dx), abs(dy)) + 1
    for (x, y), (a, b) in pairwise(line):
        assert max(abs(x - a), abs(y - b)) == 1
    for x, y in line:
        assert abs(x * dy - y * dx) / max(abs(dx), abs(dy)) <= 0.5


def test_crowds_by_hand() -> None:
    # The observer stands at (5, 5) and looks at an exit straight to the left.
    room = Room(13, 13, {"left": [[5, 0]], "right": [[5, 12]]})
    people = [(5, 3), (3, 3), (7, 3), (2, 3), (4, 5), (5, 6), (11, 11)]
    (glance,) = look(room, np.array([[5, 5]]), np.array([(5, 5), *people]))

    # To the left: (5, 3), and at exactly 45° (3, 3) and (7, 3); not (2, 3). To the right: (5, 6)
    # and (11, 11), which is 6√2 away at 45°.
    assert glance == ([5, 7], [3, 2], 7, 2)


def test_the_view_ends_at_ten_cells_and_at_obstacles() -> None:
    room = Room(33, 33, {"left": [[16, 0]]}, [[14, 10], [14, 11], [14, 9]])
    people = np.array([(16, 20), (16, 10), (16, 9), (12, 10), (16, 30)])
    glances = look(room, people[:2], people)

    # (16, 10) is exactly 10 away and seen, (16, 9) is not; (12, 10) hides behind an obstacle.
    assert [(glance.in_view, glance.crowds) for glance in glances] == [(2, [1]), (2, [1])]


def test_which_room_is_the_published_one() -> None:
    exits = {name: list(map(list, cells)) for name, cells in Room().exit_cells.items()}

    assert Room().is_published
    assert Room(exits=exits).is_published
    for other in ({"width": 34}, {"obstacles": True}, {"exits": {"left": [[16, 0]]}}):
        assert not Room(**other).is_published
    assert (Room().has_obstacles, Room(obstacles=True).has_obstacles) == (False, True)


def naive_view(room: Room, cell, people) -> tuple[list[float], int, int]:
    """Counts by angles, one person after another."""
    x, y = cell
    seen = []
    for a, b in people:
        close = 0 < math.hypot(a - x, b - y) <= RADIUS
        if close and not any(room.solid[x + i, y + j] for i, j in bresenham(a - x, b - y)):
            seen.append((a - x, b - y))

    def towards(exit_) -> int:
        direction = math.atan2(exit_[1] - y, exit_[0] - x)
        turns = (abs(math.remainder(math.atan2(j, i) - direction, math.tau)) for i, j in seen)
        return sum(turn <= math.pi / 4 + 1e-9 for turn in turns)

    crowds = [
        sum(towards(exit_) for exit_ in cells) / len(cells) for cells in room.exit_cells.values()
    ]
    near = sum(max(abs(i), abs(j)) == 1 for i, j in seen)
    return crowds, len(seen), near


@given(rooms(), st.integers(0, 1000), st.floats(0, 1))
def test_views_are_what_a_naive_look_around_gives(room: Room, seed: int, share: float) -> None:
    people = crowd(room, seed, share)

    for cell, glance in zip(people.tolist(), look(room, people, people), strict=True):
        crowds, in_view, near = naive_view(room, cell, people.tolist())
        assert glance.crowds == pytest.approx(crowds)
        assert (glance.in_view, glance.near) == (in_view, near)
