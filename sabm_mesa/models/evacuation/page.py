"""The page of the emergency evacuation: the room, its charts, and the published table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, Series, lines
from sabm_mesa.analysis.pictures import Scene, SceneMark
from sabm_mesa.core.messages import Message
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.core.phrases import Phrase, known, slug
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.evacuation import plots
from sabm_mesa.models.evacuation.plots import FloorPlan

if TYPE_CHECKING:
    from sabm_mesa.models.evacuation.model import EmergencyEvacuation


ROOM = ("width", "height", "obstacles", "exits")
"""The parameters of the room; the published table is for their defaults."""
MARKERS = {"confident": "o", "afraid": "^"}
WALL, OBSTACLE = "#4D4D4D", "#B3B3B3"
OUTSIDE, EDGE, ROW = 5.0, 1.0, 13
"""Margins in cells outside walls with and without exits, and people per row outside."""


def charts(
    model: EmergencyEvacuation, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[Chart]:
    """People out, in total with the published means of the condition and by exit; people inside."""
    del agent_data
    plan = FloorPlan.of(model.room, pd.DataFrame())
    names = {f"{plots.PREFIX}{name}": name for name in plan.colours}
    by_exit = lines(model_data, names, tuple(plan.colours.values()))
    known = plots.published()
    beside = []
    if model.room.is_published and model.n_people == known["n_people"]:
        condition = "communication" if model.communication else "no communication"
        if model.condition != "baseline":
            condition = f"{condition}, {model.condition}"
        outs = known["escaped"].get(condition, ())
        points = [(n - 1, float(out)) for n, out in zip(known["rounds"], outs, strict=False)]
        beside = [Series(known["source"], points, dashed=True)] if points else []
    all_ = lines(model_data, {"escaped": "this run"})
    inside = lines(model_data, {"inside": "inside", "dead": "dead"}, (style.BLUE, style.VERMILLION))
    people, top = f"People, of {model.n_people}", float(model.n_people)
    out = [*all_, *beside]
    return [
        Chart("escapes", "People who have escaped by round", out, people, high=top),
        Chart("exits", "People who have escaped, by exit, by round", by_exit, "People"),
        Chart("inside", "People inside by round", inside, people, high=top),
    ]


def scene(
    model: EmergencyEvacuation, people: pd.DataFrame | None, _numbers: Mapping[str, Any]
) -> Scene:
    """The room with all people; people who are out stand beside their exit.

    The colour of a person shows its target, its shape the mental trait.
    """
    plan = FloorPlan.of(model.room, pd.DataFrame())
    height, width = plan.walls.shape
    colours = plan.colours
    ground = [
        (float(y), float(x), WALL if plan.walls[x, y] == 1 else OBSTACLE)
        for x, y in np.argwhere(plan.walls > 0).tolist()
    ]
    for name, cells in plan.exits.items():
        ground += [(float(y), float(x), colours[name]) for x, y in cells]
    marks, out = [], dict.fromkeys(plan.exits, 0)
    for id_, x, y, target, exit_, persona, status in _rows(model, people):
        colour = colours.get(exit_ or target, style.GREY)
        shape = MARKERS.get(persona.partition("_")[0], "o")
        at = (x, y)
        if exit_ in out:
            at = _beside(plan.exits[exit_], out[exit_], width)
            out[exit_] += 1
        if None not in at:
            text = "×" if status == "dead" else ""
            row, column = map(float, at)
            marks.append(SceneMark(id_, column, row, colour, shape, 0.8, text, f"Person {id_}"))
    inside = model.n_people - sum(out.values())
    named = {name: known(f"words.{slug(name)}", name) for name in out}
    by_exit = [Phrase("room.exit_count", exit=named[name], n=n) for name, n in out.items()]
    gaps = [cell for cells in plan.exits.values() for cell in cells]
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
    published = parameters_of(type(model))
    own_room = any(model.parameters[name] != published[name].default for name in ROOM)
    if own_room or model_data.empty:
        return None
    known = plots.published()
    escaped = model_data.set_index(model_data["round"] + 1)["escaped"]
    last = int(escaped.index.max())
    rows = pd.DataFrame({"rounds played": list(known["rounds"])})
    now = escaped.reindex(range(1, max(last, *known["rounds"]) + 1))
    ended = model_data["inside"].iloc[-1] == 0
    now = now.ffill() if ended else now
    rows["this run"] = [now.get(round_) for round_ in known["rounds"]]
    for condition, values in known["escaped"].items():
        rows[f"published: {condition}"] = list(values)
    exits = [name for name in model_data.columns if str(name).startswith(plots.PREFIX)]
    by_exit = ", ".join(
        f"{str(name).removeprefix(plots.PREFIX)} {model_data[name].iloc[-1]}" for name in exits
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
    scene=scene,
    hearers=hearers,
    public_columns=public_columns,
    table=table,
)
