"""The charts of the cocktail party: who meets, and how far apart pairs are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import Chart, Series, Span, lines, points_of
from sabm_mesa.analysis.pictures import Scene, SceneMark, draw_scenes
from sabm_mesa.models.declarations import ScenarioPage
from sabm_mesa.models.pairs.cocktail_party import study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sabm_mesa.models.pairs.cocktail_party.model import CocktailParty

PERIODS = 2
"""Number of parts of a run, each with a network."""
WIDEST = 8.0
"""Maximum width of a line."""


def charts(
    _model: CocktailParty, model_data: pd.DataFrame, agent_data: pd.DataFrame
) -> list[Chart]:
    """Partners of the guests, numbers of talks, and the distance of what pairs say."""
    ratios = {
        "distinct_conversation_ratio": "partners",
        "distinct_invitation_ratio": "invitations",
    }
    met = lines(model_data, ratios)
    if len(agent_data):
        met.append(
            Series("by chance", points_of(_expected(agent_data)), colour=style.GREY, dashed=True)
        )
    counts = {"conversations": "conversations", "invitations": "invitations"}
    filling = [Span(0, study.WINDOW - 1, "window not full")] if len(model_data) else []
    return [
        Chart(
            "ratios", "Who meets by round", met, "Different ones (share of all)", high=1,
            spans=filling,
        ),
        Chart("meetings", "Conversations by round", lines(model_data, counts), "Number"),
        Chart(
            "distances", "Distance of what pairs say by round", _distances(model_data, agent_data),
            "Cosine distance (0 to 1)", high=1, spans=filling,
        ),
    ]  # fmt: skip


def _expected(agent_data: pd.DataFrame) -> pd.Series[float]:
    """Round → mean over agents of the expected ratio for the same number of random partners."""
    others = agent_data["agent"].nunique() - 1
    counts = [len(study.words(cell)) for cell in agent_data["partners"]]
    table = agent_data.assign(n=counts).pivot_table(
        index="round", columns="agent", values="n", aggfunc="sum"
    )
    window = table.rolling(study.WINDOW, min_periods=1).sum()
    return window.map(lambda talks: study.expected_distinct_ratio(talks, others)).mean(axis=1)


def _distances(model_data: pd.DataFrame, agent_data: pd.DataFrame) -> list[Series]:
    """The semantic distance of tight, of loose and of all pairs."""
    series = lines(model_data, {"semantic_distance": "all pairs"}, (style.BLACK,))
    if len(agent_data):
        data = study.distances_by_round(agent_data.assign(run=0))
        names = {"tight": f"tight pairs (over {study.TIGHT} talks)", "loose": "loose pairs"}
        series += lines(data, names, (style.BLUE, style.VERMILLION))
    return series


def figures(
    model: CocktailParty, _model_data: pd.DataFrame, agent_data: pd.DataFrame, subtitle: str
) -> dict[str, Figure]:
    """The networks of talks in the first and in the second half of the first run."""
    data = agent_data[agent_data["run"] == agent_data["run"].min()]
    rounds = sorted(data["round"].unique().tolist())
    middle = -(-len(rounds) // PERIODS)
    scenes = {
        f"Rounds {part[0] + 1} to {part[-1] + 1}": scene(model, data[data["round"].isin(part)], {})
        for part in (rounds[:middle], rounds[middle:])
        if part
    }
    title = "Who talks with whom: the wider a line, the more talks"
    drawn = {name: replace(one, title=title, legend=()) for name, one in scenes.items()}
    return {"network": draw_scenes(drawn, subtitle)}


def scene(model: CocktailParty, people: pd.DataFrame | None, _numbers: Mapping[str, Any]) -> Scene:
    """The guests on a circle, and a line for each pair that talks, wider for more talks.

    Args:
        people: the agent data of one or several rounds; None for the start.
        _numbers: the model data of the round.
    """
    n = model.n_agents
    at = {
        guest: (math.sin(2 * math.pi * guest / n), math.cos(2 * math.pi * guest / n))
        for guest in range(1, n + 1)
    }
    rows = [] if people is None else zip(people["agent"], people["partners"], strict=True)
    talks = Counter(
        (guest, int(other)) for guest, others in rows for other in study.words(others)
        if guest < int(other)
    )  # fmt: skip
    busy = {guest for talk in talks for guest in talk}
    talked, alone = style.SKY_BLUE, style.GREY
    size = min(0.3, 4 / n)
    marks = tuple(
        SceneMark(guest, x, y, talked if guest in busy else alone, size=size, text=f"L{guest}")
        for guest, (x, y) in at.items()
    )
    return Scene(
        "party", "Who talks with whom", (-1.25, -1.25, 2.5, 2.5), marks,
        ties=tuple((*at[a], *at[b], min(WIDEST, 1.0 + k)) for (a, b), k in sorted(talks.items())),
        legend=(("in a talk", talked, "o"), ("alone", alone, "o")),
        words=f"{len(talks)} pairs, {n - len(busy)} alone",
    )  # fmt: skip


PAGE = ScenarioPage(
    questions={
        "Partners are chosen at random: do groups form?": {"minds": "classical:random"},
        "Twenty guests instead of ten: what happens?": {"n_agents": 20},
        "Talks of two sentences: what happens?": {"max_turns": 2},
    },
    charts=charts,
    figures=figures,
    scene=scene,
)
