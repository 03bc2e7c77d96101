"""The page of the public goods game: its charts, and the pots with what everybody gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, dots, lines
from sabm_mesa.analysis.pictures import Scene, SceneMark, circles
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.public_goods.model import PublicGoods


def charts(model: PublicGoods, model_data: pd.DataFrame, agent_data: pd.DataFrame) -> list[Chart]:
    """Contributions of all players and their mean, the efficiency, and the free riders."""
    mean = lines(model_data, {"contribution": "mean"}, ("#000000",))
    given = [*dots(agent_data, "contribution", "players"), *mean]
    top = float(model.endowment)
    shares = {"efficiency": "efficiency", "zero_share": "players who gave nothing"}
    return [
        Chart("contributions", "Contributions by round", given, "Dollars", high=top),
        Chart("shares", "Efficiency and free riding by round", lines(model_data, shares), "Share"),
    ]


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
            wide = 0.5 if len(members) < 8 else 3 / len(members)
            marks.append(SceneMark(member, *at, colour, "o", wide, text, f"Player {member}"))
            inner = x + 0.5 * (at[0] - x), y + 0.5 * (at[1] - y)
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
    card_run={
        "n_players": 24,
        "group_size": 4,
        "matching": "stranger",
        "endowment": 20,
        "multiplier": 1.6,
    },
    card_chart="contributions",
    charts=charts,
    scene=scene,
    public_scene=False,
)
