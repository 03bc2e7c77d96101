"""Plots of the evacuation."""

import pandas as pd
import pytest
from matplotlib import rcParams
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba
from matplotlib.text import Text
from PIL import Image

from sabm_mesa import EmergencyEvacuation
from sabm_mesa.models.evacuation.plots import (
    EXIT_COLOURS,
    FASTEST,
    FloorPlan,
    animate,
    cumulative_escapes,
    escapes_by_exit,
    fastest,
    figures,
    occupancy,
    published,
    snapshots,
)
from sabm_mesa.models.evacuation.room import Room


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


def line(ax, label: str):
    (found,) = [line for line in ax.lines if line.get_label() == label]
    return found


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

    assert line(ax, "these runs, mean").get_xdata().tolist() == [0, 1, 2, 3]
    assert line(ax, "these runs, mean").get_ydata().tolist() == [0, 2, 2.5, 3]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Rounds played", "People, of 3")
    assert len(ax.lines) == 1


def test_the_published_rows_stand_beside_runs_of_as_many_people() -> None:
    (ax,) = cumulative_escapes(by_hand({0: [(50, 0), (60, 40)]}, n=100)).axes

    for name, row in published()["escaped"].items():
        marks = line(ax, f"Wu et al. 2024, table 2: {name}")
        assert marks.get_xdata().tolist() == published()["rounds"]
        assert marks.get_ydata().tolist() == row
    assert line(ax, "this run").get_ydata().tolist() == [0, 50, 100]


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
    bound = line(ax, FASTEST).get_ydata()

    assert bound[:2].tolist() == line(ax, "these runs, mean").get_ydata()[:2].tolist()
    assert (bound >= line(ax, "these runs, mean").get_ydata()).all()
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


def test_escapes_by_exit() -> None:
    data = by_hand({0: [(0, 1), (1, 1), (2, 1)], 1: [(3, 0)]})
    (ax,) = escapes_by_exit(data).axes

    assert line(ax, "a (2.5)").get_ydata().tolist() == [0, 1.5, 2, 2.5]
    assert line(ax, "b (0.5)").get_ydata().tolist() == [0, 0.5, 0.5, 0.5]
    assert line(ax, "a (2.5)").get_color() == EXIT_COLOURS[0]
    assert len(ax.lines) == 6


def test_snapshots_of_many_people_end_with_the_dead(small) -> None:
    _, agents, room = small
    dead = agents.assign(status="dead", x=agents["x"].fillna(1), y=agents["y"].fillna(1))
    figure = snapshots(dead, room=room, rounds=(1, 2, 3, 4))

    assert figure.axes[0].get_title(loc="left") == "round 1 · 0 out · 30 dead"
    assert len(figure.axes) == 6
    assert not figure.axes[4].axison


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


def test_without_a_room_its_size_and_exits_come_from_the_data(small) -> None:
    _, agents, room = small
    plan = FloorPlan.of(None, agents, room.names)

    assert plan.walls.shape == (13, 15)
    used = agents[agents["status"] == "escaped"].dropna(subset=["x"])
    assert {name: len(cells) for name, cells in plan.exits.items()} == {
        name: len(used[used["exit"] == name][["x", "y"]].drop_duplicates()) for name in room.names
    }
    assert all(set(cells) <= set(room.exit_cells[name]) for name, cells in plan.exits.items())
    nobody_out = agents[agents["status"] == "inside"]
    assert FloorPlan.of(None, nobody_out).walls.shape[0] <= 13


def test_occupancy_counts_rounds(small) -> None:
    _, agents, room = small
    figure = occupancy(agents, room=room)
    heat = figure.axes[0].images[0].get_array()

    assert heat.sum() == pytest.approx(agents["x"].notna().sum() / 2)
    assert heat.mask.sum() == (room.solid).sum()
    x, y, _ = agents.dropna(subset=["x"])[["x", "y", "run"]].astype(int).to_numpy()[0]
    stood = agents[(agents["x"] == x) & (agents["y"] == y)]
    assert heat[x, y] == pytest.approx(len(stood) / 2)


def test_occupancy_says_what_its_colours_mean(small) -> None:
    _, agents, room = small
    for data, mean in ((agents, ", mean of the runs"), (agents[agents["run"] == 0], "")):
        bar = occupancy(data, room=room).axes[1]
        words = f"Rounds with somebody in the cell{mean} (square-root colour scale)"
        assert bar.get_xlabel() == words


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("width", "height"), [(33, 33), (99, 20), (80, 12), (15, 40)])
def test_panels_keep_away_from_the_subtitle(width, height) -> None:
    _, agents, room = played(1, n_people=20, width=width, height=height)
    figure = snapshots(agents, "baseline", room=room)
    figure.draw_without_rendering()
    (below,) = [t.get_window_extent().y0 for t in figure.texts if "baseline" in t.get_text()]

    titles = [t for t in figure.findobj(Text) if t.get_text().startswith("round ")]
    top = max(title.get_window_extent().y1 for title in titles)
    assert below - top > 0.08 * figure.dpi


@pytest.mark.slow
def test_the_animation_has_a_frame_a_round(small, tmp_path) -> None:
    _, agents, room = small
    path = tmp_path / "run.gif"
    animate(agents, "small", room=room).save(path, writer="pillow", dpi=40)

    with Image.open(path) as picture:
        assert picture.n_frames == agents[agents["run"] == 0]["round"].nunique()
        first = picture.convert("RGB").tobytes()
        picture.seek(picture.n_frames - 1)
        assert picture.convert("RGB").tobytes() != first


@pytest.mark.parametrize("known", [True, False])
def test_no_text_is_cut_off(small, known) -> None:
    model, agents, room = small
    words = (
        "llm:a-model-with-a-long-name@http://127.0.0.1:8000/v1 × 12, fixed:0 × 12, uncooperative"
    )
    found = figures(model, agents, words, room=room if known else None)

    assert list(found) == ["escapes", "exits", "snapshots", "occupancy"]
    for figure in found.values():
        figure.draw_without_rendering()
        page = figure.bbox
        texts = [*figure.texts, *(ax.title for ax in figure.axes)]
        texts += [text for ax in figure.axes for text in [ax.xaxis.label, ax.yaxis.label]]
        for box in (text.get_window_extent() for text in texts if text.get_text()):
            assert box.x0 >= 0
            assert box.y0 >= 0
            assert box.x1 <= page.width
            assert box.y1 <= page.height


def test_runs_in_which_nobody_escapes_are_drawn() -> None:
    wall = [[3, y] for y in range(1, 6)]
    options = {"exits": {"out": [[6, 3]]}, "positions": [[1, 1], [1, 2]], "obstacles": wall}
    model, agents, _ = played(1, n_people=2, width=7, height=7, n_rounds=2, **options)

    for figure in figures(model, agents).values():
        figure.draw_without_rendering()


def test_drawing_leaves_no_trace(small) -> None:
    before = dict(rcParams)
    model, agents, room = small
    copies = model.copy(), agents.copy()
    for figure in figures(model, agents, room=room).values():
        figure.draw_without_rendering()

    assert dict(rcParams) == before
    pd.testing.assert_frame_equal(model, copies[0])
    pd.testing.assert_frame_equal(agents, copies[1])


def test_wrong_data_are_refused(small) -> None:
    model, agents, _ = small

    with pytest.raises(ValueError, match="no column escaped"):
        cumulative_escapes(model.drop(columns="escaped"))
    with pytest.raises(ValueError, match="no rows"):
        escapes_by_exit(model.head(0))
    with pytest.raises(ValueError, match="no exit"):
        escapes_by_exit(model[["run", "round", "escaped", "inside"]])
    with pytest.raises(ValueError, match="more than one row"):
        cumulative_escapes(pd.concat([model, model]))
    for draw in (snapshots, occupancy, animate):
        with pytest.raises(ValueError, match="no rows"):
            draw(agents.head(0))
        with pytest.raises(ValueError, match="no column target"):
            draw(agents.drop(columns="target"))
