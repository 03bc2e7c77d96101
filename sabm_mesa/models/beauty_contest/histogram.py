"""The picture of a guessing game: the picks as a histogram, with their mean and the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.pictures import Scene, SceneMark

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

WIDTH, HEIGHT = 40, 14
"""Number of bins, and the height of the histogram in marks."""


def histogram(
    model: SmartModel, high: float, people: pd.DataFrame | None, numbers: Mapping[str, Any]
) -> Scene:
    """The players over their picks; before the first round they wait below the axis.

    Args:
        model: the model.
        high: the largest legal pick.
        people: the agent data of the round; None for the start.
        numbers: the model data of the round.
    """
    picks, won = {}, set()
    if people is not None:
        picked = people[people["choice"].notna()]
        picks = dict(zip(picked["agent"], picked["choice"].astype(float), strict=True))
        won = set(people.loc[people["won"] == True, "agent"])  # noqa: E712 - it may be missing
    bins = {agent: round(WIDTH * pick / high) for agent, pick in picks.items()}
    step = min(1.0, HEIGHT / max(Counter(bins.values()).values(), default=1))
    size, below, marks = min(0.9, 60 / len(model.population)), 0, []
    heights: Counter[int] = Counter()
    for agent in model.population:
        id_ = agent.unique_id
        if (at := bins.get(id_)) is None:
            place = WIDTH * (below + 0.5) / len(model.population), -2.4
            below += 1
        else:
            place = float(at), step * (heights[at] + 0.5)
            heights[at] += 1
        colour = style.ORANGE if id_ in won else style.BLUE if at is not None else style.GREY
        marks.append(SceneMark(id_, *place, colour, size=size, name=f"Player {id_}"))
    lines = {name: numbers.get(name) for name in ("target", "mean")}
    shown = {name: float(value) for name, value in lines.items() if not pd.isna(value)}
    at = {name: WIDTH * min(value / high, 1.0) for name, value in shown.items()}
    tops = {"target": HEIGHT + 0.6, "mean": HEIGHT + 2.8}
    axis = [(0, -0.2, WIDTH, -0.2, 1.0)]
    ticks = [(WIDTH * k / 4, -1.0, f"{high * k / 4:g}", "middle") for k in range(5)]
    words = {name: f"{name} {value:.4g}" for name, value in shown.items()}
    return Scene(
        "histogram", "Picks of the players", (-2, -3.2, WIDTH + 4, HEIGHT + 8), tuple(marks),
        ties=(*axis, *((at[name], -0.2, at[name], tops[name], 2.0) for name in shown)),
        labels=(
            *ticks,
            *((at[name], tops[name] + 0.6, text, "middle") for name, text in words.items()),
        ),
        legend=(("winner", style.ORANGE, "o"), ("other players", style.BLUE, "o")),
        words=", ".join(words.values()) or "nobody has picked yet",
    )  # fmt: skip
