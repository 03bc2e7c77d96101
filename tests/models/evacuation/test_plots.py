"""Plots of the evacuation."""

import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba

from sabm_mesa import EmergencyEvacuation
from sabm_mesa.models.evacuation.plots import (
    EXIT_COLOURS,
    FASTEST,
    cumulative_escapes,
    fastest,
    figures,
    published,
    snapshots,
)
from sabm_mesa.models.evacuation.room import Room
from tests.models.support import labelled


def played(n_runs=2, **options):
    models = [EmergencyEvacuation(rng=i, **options) for i in range(n_runs)]
    for model in models:
        model.run_model()
    frames = [m.model_frame(i) for i, m in enumerate(models)]
    agents = [m.agent_frame(i) for i, m in enumerate(models)]
    return pd.concat(frames), pd.concat(agents), models[0].room


def by_hand(escapes: dict[int, list[tuple[int, int]]], n=3) -> pd.DataFrame:
    """Model data from (escaped by a, escaped by b) by run and round."""
    rows = [
        (run, number, a + b, a, b, n - a - b)
        for run, counts in escapes.items()
        for number, (a, b) in enumerate(counts)
    ]
    columns = ["run", "round", "escaped", "escaped_a", "escaped_b", "inside"]
    return pd.DataFrame(rows, columns=columns)


@pytest.fixture(scope="module")
def small():
    return played(n_people=30, width=15, height=13, obstacles=[[5, 5], [5, 6]])


def test_the_published_rows_are_those_of_table_2() -> None:
    table = published()

    assert table["rounds"] == list(range(5, 51, 5))
    assert {name: (row[0], row[-1]) for name, row in table["escaped"].items()} == {
        "no communication": (9.4, 99.8),
        "communication": (9.8, 100.0),
        "communication, uncooperative": (9.4, 99.0),
    }
    assert all(len(row) == 10 for row in table["escaped"].values())
    assert all(row == sorted(row) for row in table["escaped"].values())


def test_runs_that_ended_early_stay_at_their_last_value() -> None:
    data = by_hand({0: [(0, 1), (1, 1), (2, 1)], 1: [(3, 0)]})
    (ax,) = cumulative_escapes(data, "hand").axes

    assert labelled(ax, "these runs, mean").get_xdata().tolist() == [0, 1, 2, 3]
    assert labelled(ax, "these runs, mean").get_ydata().tolist() == [0, 2, 2.5, 3]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Rounds played", "People, of 3")
    assert len(ax.lines) == 1


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("room", "drawn"),
    [
        (None, 3),
        (Room(), 3),
        (Room(obstacles=True), 0),
        (Room(40, 33), 0),
        (Room(exits={"a": [[0, 5]], "b": [[0, 9]]}), 0),
    ],
    ids=["unknown", "published", "obstacles", "wider", "other exits"],
)
def test_the_published_rows_stand_beside_runs_in_the_published_room(room, drawn) -> None:
    model, agents, _ = played(1, n_people=100, n_rounds=2)
    found = figures(model, agents, room=room)["escapes"].axes[0].lines

    assert sum("table 2" in str(line.get_label()) for line in found) == drawn


def test_no_run_is_above_the_fastest_evacuation(small) -> None:
    model, agents, room = small
    (ax,) = figures(model, agents, room=room)["escapes"].axes
    bound = labelled(ax, FASTEST).get_ydata()

    assert bound[:2].tolist() == labelled(ax, "these runs, mean").get_ydata()[:2].tolist()
    assert (bound >= labelled(ax, "these runs, mean").get_ydata()).all()
    assert bound[-1] == 30
    for known in ({"room": room}, {"agent_data": agents}):
        (plain,) = cumulative_escapes(model, **known).axes
        assert FASTEST not in [drawn.get_label() for drawn in plain.lines]


def test_the_fastest_evacuation_by_hand() -> None:
    # After the first round one person is out, one stands three steps from the exit, one eight.
    room = Room(12, 5, exits={"out": [[2, 0]]})
    columns = ["run", "round", "status", "x", "y"]
    rows = [
        *((0, 0, status, x, y) for status, x, y in [("escaped", 2, 0), ("inside", 2, 3)]),
        (0, 0, "inside", 1, 8),
        (0, 1, "escaped", 2, 0),
    ]
    data = pd.DataFrame(rows, columns=columns)

    assert fastest(data, room, 10).tolist() == [0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3]
    assert fastest(data, room, 0).tolist() == [0]
    # A second run, in which all of three are dead after their only round.
    dead = pd.DataFrame([(1, 0, "dead", 2, y) for y in (1, 2, 3)], columns=columns)
    both = fastest(pd.concat([data, dead]), room, 3)
    assert both.tolist() == [0, 0.5, 1, 1.5]
    # A run may have been forked from a room with diagonal steps.
    straight = Room(12, 5, exits={"out": [[2, 0]]}, diagonals=False)
    assert fastest(data, straight, 10).tolist() == fastest(data, room, 10).tolist()
    with pytest.raises(ValueError, match="no rows"):
        fastest(data.head(0), room, 3)
    with pytest.raises(ValueError, match="no column y"):
        fastest(data.drop(columns="y"), room, 3)


def test_snapshots_show_everybody_inside_where_it_is(small) -> None:
    _, agents, room = small
    figure = snapshots(agents, "small", room=room, rounds=(1, 3))

    for ax, after in zip(figure.axes, (1, 3), strict=True):
        now = agents[(agents["run"] == 0) & (agents["round"] == after - 1)]
        now = now[now["status"] == "inside"]
        (dots,) = [c for c in ax.collections if isinstance(c, PathCollection)]
        assert sorted(map(tuple, dots.get_offsets())) == sorted(
            zip(now["y"], now["x"], strict=True)
        )
        colours = [to_rgba(EXIT_COLOURS[room.names.index(t)]) for t in now["target"]]
        assert [tuple(c) for c in dots.get_facecolor()] == colours
        assert ax.get_ylim() == (12.5, -0.5)
        assert len(ax.patches) == 7
        out = 30 - len(now)
        assert ax.get_title(loc="left") == f"round {after} · {out} out · {len(now)} in"
    assert (agents[agents["status"] == "escaped"]["x"].notna()).any()
