"""The charts of guessing games: picks by round, their histogram, and depth of reasoning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import COLOURS, Chart, Series, dots, lines, points_of
from sabm_mesa.analysis.pictures import Scene, SceneMark
from sabm_mesa.core.phrases import Amount, Phrase
from sabm_mesa.models.beauty_contest.guessing import HIGHER, level_k_marks

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

WIDTH, HEIGHT = 40, 14
"""Number of bins, and the height of the histogram in marks."""
UNREADABLE = "unreadable"
CLASSES: Mapping[float, tuple[str, str]] = {
    HIGHER: ("deeper", "#08306B"),
    3: ("step 3", "#2171B5"),
    2: ("step 2", "#6BAED6"),
    1: ("step 1", "#BDD7E7"),
    0: ("step 0", "#EFF3FF"),
    -1: ("other side of the reference", style.ORANGE),
    math.nan: (UNREADABLE, "#FFFFFF"),
}
"""Class of `nagel_level` → its name and colour, the deepest at the bottom; NaN: no answer."""


def picks_by_round(
    model_data: pd.DataFrame, agent_data: pd.DataFrame, high: float, people: Sequence[float] = ()
) -> Chart:
    """All picks by type of mind, with their mean, the target, and the mean of people.

    Args:
        model_data: one row per round, with ``mean`` and ``target``.
        agent_data: one row per agent and round, with ``mind`` and ``choice``.
        high: the largest legal pick.
        people: the mean picks of people by round.
    """
    means = lines(model_data, {"mean": "mean", "target": "target"}, ("#000000", style.VERMILLION))
    picks = [*dots(agent_data, "choice", "players"), *means]
    if people:
        path = [(number, float(mean)) for number, mean in enumerate(people)]
        picks.append(Series("people (Nagel 1995)", path, colour=style.GREY, dashed=True))
    return Chart("picks", "Picks by round", picks, "Pick", high=high)


def histogram(
    name: str, title: str, agent_data: pd.DataFrame, high: float, p: float,
    beside: Sequence[Series] = (),
) -> Chart:  # fmt: skip
    """The distribution of picks by type of mind, with those of levels 0 to 3 (Nagel 1995).

    Args:
        title: a description of the picks.
        agent_data: the picks, with ``mind`` and ``choice``.
        high: the largest legal pick; picks are drawn in per cent of it.
        p: the factor of the target.
        beside: predictions and results of people, in per cent.
    """
    valid = agent_data.dropna(subset=["choice"]) if len(agent_data) else agent_data
    series = []
    for i, (mind, rows) in enumerate(valid.groupby("mind", sort=False) if len(valid) else ()):
        picks = (100 * rows["choice"].astype(float) / high).round()
        shares = 100 * picks.value_counts().sort_index() / len(valid)
        series.append(Series(str(mind), points_of(shares), "bars", COLOURS[i % len(COLOURS)]))
    marks = [(100 * pick / high, 0.0) for pick in level_k_marks(3, high / 2, p).values()]
    places = ", ".join(f"{pick:.3g}" for pick, _ in marks)
    levels = Series(f"levels 0 to 3: {places}", sorted(marks), "dots", style.VERMILLION)
    unit = "Pick" if high == 100 else "Pick (% of the range)"
    return Chart(name, title, [*series, levels, *beside], "Picks (%)", last=100, x=unit)


def depth_by_round(agent_data: pd.DataFrame, of: str = "") -> Chart:
    """The shares of the classes of reasoning by round.

    Args:
        agent_data: one row per agent and round, with ``level``.
        of: the type of mind in the data, if there are others.
    """
    series = []
    for level, (label, colour) in CLASSES.items():
        is_class = agent_data["level"].isna() if level != level else agent_data["level"] == level
        shares = 100 * is_class.groupby(agent_data["round"]).mean()
        if label != UNREADABLE or is_class.any():
            series.append(Series(label, points_of(shares), "bars", colour))
    title = f"Depth of reasoning by round{f': {of}' if of else ''}"
    return Chart("depth", title, series, "Answers (%)", high=100)


def scene_of_picks(
    model: SmartModel, high: float, people: pd.DataFrame | None, numbers: Mapping[str, Any]
) -> Scene:
    """The players over their picks; before the first round they wait below the axis.

    Args:
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
    known = {name: numbers.get(name) for name in ("target", "mean")}
    shown = {
        name: float(value)
        for name, value in known.items()
        if value is not None and not pd.isna(value)
    }
    at = {name: WIDTH * min(value / high, 1.0) for name, value in shown.items()}
    # The mean is usually right of the target, so no line crosses a label.
    tops = {"mean": HEIGHT + 0.6, "target": HEIGHT + 2.8}
    sides = {"mean": "start" if at.get("mean", 0) < 0.85 * WIDTH else "middle", "target": "middle"}
    axis = [(0, -0.2, WIDTH, -0.2, 1.0)]
    ticks = [(WIDTH * k / 4, -1.0, f"{high * k / 4:g}", "middle") for k in range(5)]
    values = {name: Amount(value) for name, value in shown.items()}
    words = {name: Phrase(f"contest.{name}_at", value=value) for name, value in values.items()}
    return Scene(
        "histogram", Phrase("contest.picture"), (-2, -3.2, WIDTH + 4, HEIGHT + 8), tuple(marks),
        ties=(*axis, *((at[name], -0.2, at[name], tops[name], 2.0) for name in shown)),
        labels=(
            *ticks,
            *((at[name], tops[name] + 0.6, text, sides[name]) for name, text in words.items()),
        ),
        legend=(
            (Phrase("contest.winner"), style.ORANGE, "o"),
            (Phrase("contest.others"), style.BLUE, "o"),
            *([(Phrase("contest.undecided"), style.GREY, "o")] if below else []),
        ),
        words=Phrase("contest.world", **values) if values else Phrase("contest.nobody_yet"),
    )  # fmt: skip
