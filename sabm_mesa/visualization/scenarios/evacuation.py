"""The page of the emergency evacuation: the room on its grid, and the published table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from mesa.visualization import SpaceRenderer
from mesa.visualization.components import AgentPortrayalStyle
from mesa.visualization.space_drawers import OrthogonalSpaceDrawer

from sabm_mesa.analysis.plots import emergency_evacuation as plots
from sabm_mesa.analysis.plots import image, style
from sabm_mesa.analysis.plots.evacuation_now import room_figure, trait_legend
from sabm_mesa.analysis.plots.evacuation_plan import Plan
from sabm_mesa.analysis.plots.evacuation_room import draw_room
from sabm_mesa.parameters import parameters_of

if TYPE_CHECKING:
    from sabm_mesa.agents.emergency_evacuation import Evacuee, Message
    from sabm_mesa.models.emergency_evacuation import EmergencyEvacuation

CARD: tuple[dict[str, Any], str] = ({"n_rounds": 6}, "room")
"""The run whose room is the picture on the home page."""
ROOM = ("width", "height", "obstacles", "exits")
"""The parameters of the room; the published table is of the room that is their default."""
TITLES = {
    "escaped": "Escaped (people)",
    "inside": "Inside (people)",
    "dead": "Dead (people)",
    "evenness": "Evenness of the escapes (0 to 1)",
    "target_evenness": "Evenness of the targets (0 to 1)",
    "mean_distance": "Mean distance (cells)",
    "changed": "Changed exit (people)",
    "status": "State",
}
"""Columns that are called otherwise than they are written."""
COLOUR_MAPS = ("occupancy",)
MARKERS = {"confident": "o", "afraid": "^"}
EDGES = {"strong": ("#000000", 1.1), "weak": ("#FFFFFF", 0.6)}


class RoomDrawer(OrthogonalSpaceDrawer):
    """Draws walls, obstacles and exits in the place of Mesa's grid lines.

    Args:
        model: the evacuation.
    """

    def __init__(self, model: EmergencyEvacuation) -> None:
        super().__init__(model.grid)
        self.plan = Plan.of(model.room, pd.DataFrame())

    def draw_matplotlib(self, ax: Any = None, **_options: Any) -> Any:
        """Draw the room.

        Args:
            ax: the axes.
        """
        draw_room(ax, self.plan)
        return ax


def charts(model: EmergencyEvacuation, subtitle: str, at_rest: bool) -> dict[str, Any]:
    """The room as it is now, the escapes, and at rest the scenario's other plots.

    Args:
        model: the evacuation.
        subtitle: which minds and condition are on show.
        at_rest: whether the model waits.
    """
    found = {"room": room(model, subtitle)}
    data, agents = model.model_frame(), model.agent_frame()
    if data.empty:  # also when it was stopped in its first round
        return found
    if not at_rest:
        return found | {
            "escapes": plots.cumulative_escapes(data, subtitle, room=model.room, agent_data=agents)
        }
    return found | plots.figures(data, agents, subtitle, room=model.room)


def room(model: EmergencyEvacuation, subtitle: str) -> Any:
    """The room on its grid, with everybody who is inside.

    The colour of a person is that of the exit it wants to leave by, or grey as long as it has
    chosen none; its shape and edge show its traits.

    Args:
        model: the evacuation.
        subtitle: which minds and condition are on show.
    """
    drawer = RoomDrawer(model)
    figure, ax, dot = room_figure(drawer.plan, _moment(model), subtitle)
    renderer = SpaceRenderer(model, backend="matplotlib")
    image.forget(renderer.canvas.figure)
    renderer.space_drawer = renderer.backend_renderer.space_drawer = drawer
    renderer.backend_renderer.initialize_canvas(ax)
    colours = drawer.plan.colours

    def portray(person: Evacuee) -> AgentPortrayalStyle:
        mind, _, body = person.persona.partition("_")
        edge, width = EDGES.get(body, EDGES["weak"])
        return AgentPortrayalStyle(
            x=person.pos[1], y=person.pos[0], size=dot, zorder=3,
            color=colours.get(person.target or "", style.GREY),
            marker=MARKERS.get(mind, "o"), edgecolors=edge, linewidths=width,
        )  # fmt: skip

    if hasattr(renderer, "setup_agents"):  # newer Mesa
        renderer.setup_agents(portray)
        renderer.render()
    else:
        renderer.render(agent_portrayal=portray)
    trait_legend(figure, drawer.plan, MARKERS, EDGES)
    return figure


def hearers(model: EmergencyEvacuation, message: Message) -> str:
    """Who heard a message: those near the speaker.

    Args:
        model: the evacuation.
        message: the message.
    """
    present = [p for p in model.people if p.x is not None]
    heard = [p.unique_id for p in present if message in list(p.heard)]
    numbers = [str(number) for number in heard if number != message.speaker]
    if not numbers:
        return "nobody near"
    return f"{len(numbers)} near: {', '.join(numbers)}"


def public_columns(_model: EmergencyEvacuation) -> list[str]:
    """What a player may see of a round: how many are out, and how many are not."""
    return ["escaped", "inside", "dead"]


def table(model: EmergencyEvacuation, model_data: pd.DataFrame) -> tuple[str, pd.DataFrame] | None:
    """The escapes beside those of table 2 of Wu et al. 2024.

    Args:
        model: the evacuation.
        model_data: one row a round.

    Returns:
        The caption, and one row a number of rounds played; None in another room than the
        published one, where there is nothing to compare.
    """
    published = parameters_of(type(model))
    if any(model.parameters[name] != published[name].default for name in ROOM):
        return None
    known = plots.published()
    escaped = model_data.set_index(model_data["round"] + 1)["escaped"]
    last = int(escaped.index.max())
    rows = pd.DataFrame({"rounds played": list(known["rounds"])})
    now = escaped.reindex(range(1, max(last, *known["rounds"]) + 1))
    ended = model_data["inside"].iloc[-1] == 0
    now = now.ffill() if ended else now
    rows["this run"] = [now.get(each) for each in known["rounds"]]
    for condition, values in known["escaped"].items():
        rows[f"published: {condition}"] = list(values)
    exits = [name for name in model_data.columns if str(name).startswith(plots.PREFIX)]
    by_exit = ", ".join(
        f"{str(name).removeprefix(plots.PREFIX)} {model_data[name].iloc[-1]}" for name in exits
    )
    caption = (
        f"People out, beside {known['source']} (means of runs with {known['n_people']} people). "
        f"Out so far by exit: {by_exit}."
    )
    return caption, rows


def _moment(model: EmergencyEvacuation) -> str:
    out = model.n_people - len(model.remaining)
    if model.round < 0:
        return f"before round 0 · {model.n_people} people"
    return f"after round {model.round} · {out} out · {len(model.remaining)} inside"
