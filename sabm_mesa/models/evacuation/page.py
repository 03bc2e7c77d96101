"""The page of the emergency evacuation: the room on its grid, and the published table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from mesa.visualization import SpaceRenderer
from mesa.visualization.components import AgentPortrayalStyle
from mesa.visualization.space_drawers import OrthogonalSpaceDrawer

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.core.messages import Message
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.evacuation import plots
from sabm_mesa.models.evacuation.plots import FloorPlan, draw_room, room_figure, trait_legend

if TYPE_CHECKING:
    from sabm_mesa.models.evacuation.agents import Evacuee
    from sabm_mesa.models.evacuation.model import EmergencyEvacuation


ROOM = ("width", "height", "obstacles", "exits")
"""The parameters of the room; the published table belongs to their defaults."""
MARKERS = {"confident": "o", "afraid": "^"}
EDGES = {"strong": ("#000000", 1.1), "weak": ("#FFFFFF", 0.6)}


class RoomDrawer(OrthogonalSpaceDrawer):
    """Draws walls, obstacles and exits in the place of Mesa's grid lines.

    Args:
        model: the evacuation.
    """

    def __init__(self, model: EmergencyEvacuation) -> None:
        super().__init__(model.grid)
        self.plan = FloorPlan.of(model.room, pd.DataFrame())

    def draw_matplotlib(self, ax: Any = None, **_options: Any) -> Any:
        """Draw the room.

        Args:
            ax: the axes.
        """
        draw_room(ax, self.plan)
        return ax


def charts(model: EmergencyEvacuation, subtitle: str, at_rest: bool) -> dict[str, Any]:
    """Return the room as it is now, the escapes, and at rest the other plots of the scenario.

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
    """The room on its grid, with all people inside.

    The colour of a person is that of its target, or grey without one; its shape and edge show its
    traits.

    Args:
        model: the evacuation.
        subtitle: which minds and condition are on show.
    """
    drawer = RoomDrawer(model)
    figure, ax, dot = room_figure(drawer.plan, _moment(model), subtitle)
    renderer = SpaceRenderer(model, backend="matplotlib")
    style.close_figure(renderer.canvas.figure)
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


def hearers(_model: EmergencyEvacuation, message: Message) -> str:
    """Return the hearers of a message: the people near its sender.

    Args:
        model: the evacuation.
        message: the message.
    """
    if not message.to:
        return "nobody near"
    return f"{len(message.to)} near: {', '.join(map(str, message.to))}"


def public_columns(_model: EmergencyEvacuation) -> list[str]:
    """Return the columns a human player may see: how many are out, inside and dead."""
    return ["escaped", "inside", "dead"]


def table(model: EmergencyEvacuation, model_data: pd.DataFrame) -> tuple[str, pd.DataFrame] | None:
    """Return the escapes beside those of table 2 of Wu et al. 2024.

    Args:
        model: the evacuation.
        model_data: one row a round.

    Returns:
        The caption, and one row a number of rounds played; None in another room than the
        published one.
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


PAGE = ScenarioPage(
    card_run={"n_rounds": 6},
    card_chart="room",
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
    colour_maps=("occupancy",),
    round_chart=plots.at_round,
    hearers=hearers,
    public_columns=public_columns,
    table=table,
)
