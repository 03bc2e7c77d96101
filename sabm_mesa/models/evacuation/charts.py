"""The charts of the evacuation: escapes by round, the room, and the published table."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, Series, lines
from sabm_mesa.analysis.intervals import require_rows
from sabm_mesa.analysis.pictures import Scene, SceneMark, draw_scenes
from sabm_mesa.core.messages import Message
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.core.phrases import Phrase, known, slug
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.evacuation.theory import most_escaped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sabm_mesa.models.evacuation.model import EmergencyEvacuation
    from sabm_mesa.models.evacuation.room import Room

EXIT_COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.ORANGE, style.PURPLE, style.YELLOW)
"""The colours of exits and of people with this target, in the order of the exits."""
PREFIX = "escaped_"
FASTEST = "fastest possible"
SHOWN_ROUNDS = (1, 5, 10, 20, 30, 40)
"""Numbers of played rounds for snapshots, if people are still inside."""
ROOM = ("width", "height", "obstacles", "exits")
"""The parameters of the room; the published table is for their defaults."""
MARKERS = {"confident": "o", "afraid": "^"}
WALL, OBSTACLE = "#4D4D4D", "#B3B3B3"
OUTSIDE, EDGE, ROW = 5.0, 1.0, 13
"""Margins in cells outside walls with and without exits, and people per row outside."""


@cache
def published() -> MappingProxyType[str, Any]:
    """Table 2 of Wu et al. 2024: rounds, and the mean number escaped by condition."""
    text = files(__package__).joinpath("table2.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def _colours(room: Room) -> dict[str, str]:
    """Exit → colour."""
    return {name: EXIT_COLOURS[i % len(EXIT_COLOURS)] for i, name in enumerate(room.exit_cells)}


def charts(
    model: EmergencyEvacuation, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[Chart]:
    """People out, with the published means and the fastest evacuation, by exit, and inside."""
    colours = _colours(model.room)
    by_exit = lines(model_data, {f"{PREFIX}{name}": name for name in colours}, [*colours.values()])
    out = [*lines(model_data, {"escaped": "this run"}), *_published(model)]
    if len(agent_data):
        bound = fastest(agent_data, model.room, len(model_data))
        points = [(i, float(value)) for i, value in enumerate(bound)]
        out.append(Series(FASTEST, points, colour=style.GREY, dashed=True))
    inside = lines(model_data, {"inside": "inside", "dead": "dead"}, (style.BLUE, style.VERMILLION))
    people, top = f"People, of {model.n_people}", float(model.n_people)
    return [
        Chart("escapes", "People who have escaped by round", out, people, high=top, kept=True),
        Chart("exits", "People who have escaped, by exit, by round", by_exit, "People", kept=True),
        Chart("inside", "People inside by round", inside, people, high=top, kept=True),
    ]


def _published(model: EmergencyEvacuation) -> list[Series]:
    """The published means of the condition, for the published room and number of people."""
    table = published()
    if not model.room.is_published or model.n_people != table["n_people"]:
        return []
    condition = "communication" if model.communication else "no communication"
    if model.condition != "baseline":
        condition = f"{condition}, {model.condition}"
    outs = table["escaped"].get(condition, ())
    points = [(n - 1, float(out)) for n, out in zip(table["rounds"], outs, strict=False)]
    label = str(table["source"]).partition(",")[0]
    return [Series(label, points, colour=style.VERMILLION, dashed=True)] if points else []


def fastest(run: pd.DataFrame, room: Room, n: int) -> npt.NDArray[np.float64]:
    """The maximum number of escaped people after each of the first `n` rounds of a run.

    The data begin with the cells after the first round, so the bound applies from there on and
    equals the data before. Diagonal steps count as allowed even in a room without them, since a run
    may have been forked between the two.
    """
    require_rows(run, ["round", "status", "x", "y"])
    steps = (room if room.diagonals else replace(room, diagonals=True)).steps
    widths = [len(cells) for cells in room.exit_cells.values()]
    first = run[run["round"] == run["round"].min()]
    out = first["status"] == "escaped"
    x, y = first.loc[~out, ["x", "y"]].to_numpy(dtype=np.int64).T
    out_by = most_escaped(steps[:, x, y], widths, max(n - 1, 0)) + float(out.sum())
    return np.asarray(out_by[:n], dtype=np.float64)


def figures(
    model: EmergencyEvacuation, _model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str
) -> dict[str, Figure]:
    """The room after several rounds of the first run."""
    run = agent_data[agent_data["run"] == agent_data["run"].min()]
    last = int(run["round"].max()) + 1
    shown = [after for after in SHOWN_ROUNDS if after <= last] or [last]
    scenes = {f"Round {after}": scene(model, run[run["round"] == after - 1], {}) for after in shown}
    return {"snapshots": draw_scenes(scenes, subtitle)}


def scene(
    model: EmergencyEvacuation, people: pd.DataFrame | None, _numbers: Mapping[str, Any]
) -> Scene:
    """The room with all people; people who are out stand beside their exit.

    The colour of a person shows its target, its shape the mental trait.
    """
    room, colours = model.room, _colours(model.room)
    height, width = room.solid.shape
    ground = [
        (float(y), float(x), OBSTACLE if 0 < x < height - 1 and 0 < y < width - 1 else WALL)
        for x, y in np.argwhere(room.solid).tolist()
    ]
    for name, cells in room.exit_cells.items():
        ground += [(float(y), float(x), colours[name]) for x, y in cells]
    marks, out = [], dict.fromkeys(room.exit_cells, 0)
    for id_, x, y, target, exit_, persona, status in _rows(model, people):
        colour = colours.get(exit_ or target, style.GREY)
        shape = MARKERS.get(persona.partition("_")[0], "o")
        at = (x, y)
        if exit_ in out:
            at = _beside(room.exit_cells[exit_], out[exit_], width)
            out[exit_] += 1
        if None not in at:
            text = "×" if status == "dead" else ""
            row, column = map(float, at)
            marks.append(SceneMark(id_, column, row, colour, shape, 0.8, text, f"Person {id_}"))
    inside = model.n_people - sum(out.values())
    named = {name: known(f"words.{slug(name)}", name) for name in out}
    by_exit = [Phrase("room.exit_count", exit=named[name], n=n) for name, n in out.items()]
    gaps = [cell for cells in room.exit_cells.values() for cell in cells]
    beyond = [
        OUTSIDE if any(cell[axis] == end for cell in gaps) else EDGE
        for axis, end in ((1, 0), (0, 0), (1, width - 1), (0, height - 1))
    ]
    left, top, right, bottom = beyond
    extent = (-left, -top, width - 1 + left + right, height - 1 + top + bottom)
    return Scene(
        "room", Phrase("room.title"), extent, tuple(marks), tuple(ground),
        floor=(0, 0, width - 1, height - 1), down=True, dense=True,
        legend=(
            *(
                (Phrase("room.exit_legend", exit=named[name], n=n), colours[name], "o")
                for name, n in out.items()
            ),
            *((Phrase(f"room.{mind}"), style.GREY, shape) for mind, shape in MARKERS.items()),
        ),
        words=Phrase("room.world", out=sum(out.values()), by_exit=by_exit, inside=inside),
    )  # fmt: skip


def _rows(model: EmergencyEvacuation, people: pd.DataFrame | None) -> list[tuple[Any, ...]]:
    """Id, cell, target, exit, persona and status of all people."""
    if people is None:
        return [
            (
                person.unique_id, person.x, person.y, person.target, person.exit,
                person.persona, person.status,
            )
            for person in model.people
        ]  # fmt: skip
    names = ["agent", "x", "y", "target", "exit", "persona", "status"]
    known = people[names].astype(object).where(people[names].notna(), None)
    return [tuple(row) for row in known.itertuples(index=False)]


def _beside(cells: Sequence[tuple[int, int]], i: int, width: int) -> tuple[float, float]:
    """The cell of the next person outside an exit, in rows away from the wall."""
    x, y = sum(cell[0] for cell in cells) / len(cells), sum(cell[1] for cell in cells) / len(cells)
    row, k = divmod(i, ROW)
    along = (-1) ** k * ((k + 1) // 2)
    away = 1.2 + 0.9 * row
    if y < 1 or y > width - 2:
        return x + 0.9 * along, y - away if y < 1 else y + away
    return x - away if x < 1 else x + away, y + 0.9 * along


def hearers(_model: EmergencyEvacuation, message: Message) -> str:
    """Return the hearers of a message: the people near its sender."""
    if not message.to:
        return "nobody near"
    return f"{len(message.to)} near: {', '.join(map(str, message.to))}"


def public_columns(_model: EmergencyEvacuation) -> list[str]:
    """Return the columns that players may see: the numbers of people out, inside and dead."""
    return ["escaped", "inside", "dead"]


def table(model: EmergencyEvacuation, model_data: pd.DataFrame) -> tuple[str, pd.DataFrame] | None:
    """Return the escapes, compared with table 2 of Wu et al. 2024.

    Returns:
        The caption, and one row per number of rounds played; None in another room than the
        published one, and before the first round.
    """
    declared = parameters_of(type(model))
    own_room = any(model.parameters[name] != declared[name].default for name in ROOM)
    if own_room or model_data.empty:
        return None
    known = published()
    escaped = model_data.set_index(model_data["round"] + 1)["escaped"]
    last = int(escaped.index.max())
    rows = pd.DataFrame({"rounds played": list(known["rounds"])})
    now = escaped.reindex(range(1, max(last, *known["rounds"]) + 1))
    ended = model_data["inside"].iloc[-1] == 0
    now = now.ffill() if ended else now
    rows["this run"] = [now.get(round_) for round_ in known["rounds"]]
    for condition, values in known["escaped"].items():
        rows[f"published: {condition}"] = list(values)
    exits = [name for name in model_data.columns if str(name).startswith(PREFIX)]
    by_exit = ", ".join(
        f"{str(name).removeprefix(PREFIX)} {model_data[name].iloc[-1]}" for name in exits
    )
    caption = (
        f"People out, compared with {known['source']} "
        f"(means of runs with {known['n_people']} people). "
        f"Out so far by exit: {by_exit}."
    )
    return caption, rows


PAGE = ScenarioPage(
    questions={
        "Nobody talks: are they slower?": {"communication": False},
        "Obstacles stand in the room: what happens?": {"obstacles": "true"},
        "All walk to the nearest exit: what happens?": {"minds": "classical:nearest_cell"},
    },
    card_chart="inside",
    titles={
        "escaped": "Escaped (people)",
        "escaped_{}": "Escaped, {} (people)",
        "congestion_{}": "Crowd near {} (people)",
        "inside": "Inside (people)",
        "dead": "Dead (people)",
        "evenness": "Evenness of the escapes (0 to 1)",
        "target_evenness": "Evenness of the targets (0 to 1)",
        "mean_distance": "Mean distance (cells)",
        "changed": "Changed exit (people)",
        "status": "State",
    },
    charts=charts,
    figures=figures,
    scene=scene,
    hearers=hearers,
    public_columns=public_columns,
    table=table,
)
