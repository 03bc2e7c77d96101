"""The charts of the public goods game: contributions, their classes, and infection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, Series, dots, lines, points_of
from sabm_mesa.analysis.pictures import Scene, SceneMark, circles
from sabm_mesa.core.phrases import ordinal
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.public_goods.study import infections

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.public_goods.model import PublicGoods

MOST_ORDERS = 4
"""Maximum number of orders of infection in a chart."""
FEW = 8
"""Fewer than this many players have wide marks and their names in the scene."""
CLASSES = {
    "nothing": style.VERMILLION,
    "up to half": style.ORANGE,
    "more than half": style.SKY_BLUE,
    "everything": style.BLUE,
    "no valid amount": style.GREY,
}
"""Class of a contribution → its colour."""


def charts(model: PublicGoods, model_data: pd.DataFrame, agent_data: pd.DataFrame) -> list[Chart]:
    """Contributions of all players and their mean, the efficiency, and the classes of amounts."""
    top = float(model.endowment)
    means = lines(model_data, {"contribution": "mean"}, ("#000000",))
    normal_column = "normal_contribution"
    all_, those = (model_data[name].astype(float) for name in ("contribution", normal_column))
    if not np.allclose(all_, those, equal_nan=True):
        means += lines(model_data, {normal_column: "without malicious players"}, (style.GREEN,))
    given = [*dots(agent_data, "contribution", "players"), *means]
    shares = lines(model_data, {"efficiency": "efficiency", "zero_share": "gave nothing"})
    drawn = [
        Chart("contributions", "Contributions by round", given, "Dollars", high=top),
        Chart("efficiency", "Efficiency and free riding by round", shares, "Share", high=1),
        _classes(agent_data, top),
    ]
    if model.matching != "chain":
        return drawn
    return [*drawn[:1], _infection(agent_data, top)]


def _classes(agent_data: pd.DataFrame, endowment: float) -> Chart:
    """The shares of players that give nothing, some or all of their endowment."""
    playing = agent_data[agent_data["payoff"].notna()]
    classes = playing["contribution"].astype(float).map(lambda c: class_of(c, endowment))
    series = []
    for name, colour in CLASSES.items():
        shares = 100 * (classes == name).groupby(playing["round"]).mean()
        if not len(playing) or (classes == name).any():
            series.append(Series(name, points_of(shares), "bars", colour))
    title = "What players give of their endowment by round"
    return Chart("shares", title, series, "Players (%)", high=100)


def _infection(agent_data: pd.DataFrame, endowment: float) -> Chart:
    """The mean contribution in a chain before and after infection, by order."""
    cases = infections(agent_data).dropna(subset=["before", "after"])
    means = cases[cases["order"] <= MOST_ORDERS].groupby("order")[["before", "after"]].mean()
    colours = (style.SKY_BLUE, style.VERMILLION)
    series = [
        Series(
            f"{name} infection", [(i, float(value)) for i, value in enumerate(means[name])],
            colour=colour,
        )
        for name, colour in zip(("before", "after"), colours, strict=True)
    ]  # fmt: skip
    orders = [f"{ordinal(int(order))} order" for order in means.index]
    last = max(len(orders) - 1, 0)
    return Chart(
        "infection", "Contribution before and after infection", series, "Dollars",
        high=endowment, last=last, x="Infection", names=orders,
    )  # fmt: skip


def class_of(contribution: float, endowment: float) -> str:
    """The class of a contribution, a key of `CLASSES`; NaN is no amount."""
    if np.isnan(contribution):
        return "no valid amount"
    if contribution in (0, endowment):
        return "nothing" if contribution == 0 else "everything"
    return "up to half" if contribution <= endowment / 2 else "more than half"


def scene(model: PublicGoods, people: pd.DataFrame | None, numbers: Mapping[str, Any]) -> Scene:
    """The groups around their pots; the line of a player is as wide as it has given much."""
    given: dict[int, float] = {}
    if people is None:
        ids, size = [player.unique_id for player in model.players], model.group_size
        groups = [ids[at : at + size] for at in range(0, len(ids), size)]
    else:
        groups = [rows["agent"].tolist() for _, rows in people.groupby("group")]
        known = people[people["contribution"].notna()]
        given = dict(zip(known["agent"], known["contribution"].astype(float), strict=True))
    places, centres, extent = circles(groups)
    marks, ties, labels = [], [], []
    pots = [(x, y, "#D5DAE0") for x, y in centres]
    for members, (x, y) in zip(groups, centres, strict=True):
        if people is not None:
            pot = sum(given.get(member, 0.0) for member in members)
            labels += [(x, y + 0.12, f"pot {pot:.4g}", "middle")]
            labels += [
                (x, y - 0.12, f"× {model.multiplier:g} = {model.multiplier * pot:.4g}", "middle")
            ]
        for member in members:
            at, amount = places[member], given.get(member)
            share = 0.0 if amount is None else amount / model.endowment
            colour = style.GREY if amount is None else style.VERMILLION if not share else style.BLUE
            text = "" if amount is None else f"{amount:.3g}"
            wide = 0.5 if len(members) < FEW else 3 / len(members)
            marks.append(SceneMark(member, *at, colour, "o", wide, text, f"Player {member}"))
            inner = x + 0.45 * (at[0] - x), y + 0.45 * (at[1] - y)
            if len(model.players) < FEW:
                labels.append((at[0], at[1] - 0.38, f"Player {member}", "middle"))
            ties += [(*at, *inner, 1 + 14 * share)] if share else []
    return Scene(
        "pots", "Contributions to the pots", extent, tuple(marks), tuple(pots),
        ties=tuple(ties),
        labels=tuple(labels),
        legend=(("gave", style.BLUE, "o"), ("gave nothing", style.VERMILLION, "o")),
        words=f"mean contribution {numbers['contribution']:.4g} of {model.endowment:g}"
        if numbers else "nobody has given yet",
    )  # fmt: skip


PAGE = ScenarioPage(
    card_run={
        "n_players": 24,
        "group_size": 4,
        "matching": "stranger",
        "endowment": 20,
        "multiplier": 1.6,
    },
    card_chart="contributions",
    questions={
        "Make one of four malicious: what happens?": {"n_players": 4, "malicious": 1},
        "Four strangers in each round: do they give less?": {
            "n_players": 16,
            "group_size": "4",
            "matching": "stranger",
            "multiplier": "1.6",
        },
        "All give what they expect of the others: does it last?": {
            "n_players": 4,
            "minds": "classical:perfect_cooperation",
        },
    },
    charts=charts,
    scene=scene,
    public_scene=False,
)
