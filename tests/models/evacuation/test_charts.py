"""The charts of the evacuation, and the room as it is painted, live and from a recording alike."""

import pandas as pd
import pytest
from matplotlib.collections import PathCollection

from sabm_mesa import EmergencyEvacuation
from sabm_mesa.models.evacuation.charts import FASTEST, fastest, figures, published, scene
from sabm_mesa.models.evacuation.room import Room
from tests.models.support import charts_of, series_of, values_of


def played(**options) -> EmergencyEvacuation:
    model = EmergencyEvacuation(rng=1, **options)
    model.run_model()
    return model


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


@pytest.mark.parametrize(
    ("given", "first"),
    [
        ({"n_people": 5}, None),
        ({}, (4, 9.8)),
        ({"communication": False}, (4, 9.4)),
        ({"condition": "uncooperative"}, (9, 31.2)),
        ({"obstacles": True}, None),
        ({"width": 40}, None),
        ({"exits": {"a": [[0, 5]], "b": [[0, 9]]}}, None),
    ],
)
def test_the_published_means_of_the_condition_stand_beside_the_published_room_only(
    given, first
) -> None:
    escapes = charts_of(EmergencyEvacuation(rng=1, **given))["escapes"]
    table = [series for label, series in series_of(escapes).items() if label == "Wu et al. 2024"]
    assert len(table) == (first is not None)
    assert all(series.dashed and first in series.points for series in table)


def test_no_run_is_above_the_fastest_evacuation(small) -> None:
    escapes = charts_of(small)["escapes"]
    bound, run = values_of(escapes, FASTEST), values_of(escapes, "this run")

    assert bound[0] == run[0]
    assert all(most >= out for most, out in zip(bound, run, strict=True))
    assert bound[-1] == 30


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

    assert fastest(data, room, 10).tolist() == [1, 1, 1, 2, 2, 2, 2, 2, 3, 3]
    assert fastest(data, room, 0).tolist() == []
    # In another run all of three are dead after their only round.
    dead = pd.DataFrame([(1, 0, "dead", 2, y) for y in (1, 2, 3)], columns=columns)
    assert fastest(dead, room, 3).tolist() == [0, 1, 2]
    # A run may have been forked from a room with diagonal steps.
    straight = Room(12, 5, exits={"out": [[2, 0]]}, diagonals=False)
    assert fastest(data, straight, 10).tolist() == fastest(data, room, 10).tolist()
    with pytest.raises(ValueError, match="no rows"):
        fastest(data.head(0), room, 3)
    with pytest.raises(ValueError, match="no column y"):
        fastest(data.drop(columns="y"), room, 3)


def test_snapshots_show_everybody_where_it_is(small) -> None:
    agents = small.agent_frame()
    figure = figures(small, small.model_frame(), agents, "small")["snapshots"]

    last = small.round + 1
    shown = [f"Round {after}" for after in (1, 5, 10, 20, 30, 40) if after <= last]
    panels = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert [ax.get_title(loc="left") for ax in panels] == shown
    marks = scene(small, agents[agents["round"] == 0], {}).marks
    dots = [dots for dots in panels[0].collections if isinstance(dots, PathCollection)]
    places = sorted(tuple(place) for each in dots for place in each.get_offsets())
    assert places == sorted((mark.x, mark.y) for mark in marks)


def test_nobody_vanishes_those_who_are_out_stand_beside_their_exit() -> None:
    model = EmergencyEvacuation(n_people=12, n_rounds=40, width=12, height=12, rng=1)
    start = scene(model, None, {})
    assert {(each.x, each.y) for each in start.marks} == {(p.y, p.x) for p in model.people}
    model.run_model()
    data = model.agent_frame()
    for round_, people in data.groupby("round"):
        shown = scene(model, people, {})
        assert [each.id for each in shown.marks] == people["agent"].tolist()
        left, top, wide, high = shown.floor
        out = [
            each.id
            for each in shown.marks
            if not (left <= each.x <= left + wide and top <= each.y <= top + high)
        ]
        assert out == people.loc[people["status"] == "escaped", "agent"].tolist()
        assert len({(each.x, each.y) for each in shown.marks}) == 12
        assert shown.words.startswith(f"{len(out)} out"), round_
