"""The page of the cocktail party: its charts, and who talks with whom."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis.charts import COLOURS, Chart, lines
from sabm_mesa.analysis.pictures import Scene, SceneMark
from sabm_mesa.models.declarations import ScenarioPage

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.pairs.cocktail_party.model import CocktailParty


def charts(model: CocktailParty, model_data: pd.DataFrame, agent_data: pd.DataFrame) -> list[Chart]:
    """The ratios, the number of conversations, and the semantic distance."""
    del model, agent_data
    ratios = {
        "distinct_conversation_ratio": "different conversations",
        "distinct_invitation_ratio": "different invitations",
        "repeat_rate": "repeated partners",
    }
    counts = {"conversations": "conversations", "invitations": "invitations"}
    distance = {"semantic_distance": "mean distance"}
    return [
        Chart("ratios", "Who meets by round", lines(model_data, ratios), "Ratio", high=1),
        Chart("meetings", "Conversations by round", lines(model_data, counts), "Number"),
        Chart(
            "distance", "Distance of what is said by round", lines(model_data, distance), "0 to 1"
        ),
    ]


def scene(model: CocktailParty, people: pd.DataFrame | None, _numbers: Mapping[str, Any]) -> Scene:
    """The guests on a circle, and a line for each talk of the round.

    Args:
        model: the party.
        people: the agent data of a round; None for the start.
        _numbers: the model data of the round.
    """
    n = model.n_agents
    at = {
        guest: (math.sin(2 * math.pi * guest / n), math.cos(2 * math.pi * guest / n))
        for guest in range(1, n + 1)
    }
    partners = {} if people is None else dict(zip(people["agent"], people["partners"], strict=True))
    talks = {
        (min(guest, int(other)), max(guest, int(other)))
        for guest, others in partners.items()
        for other in str(others or "").split()
    }
    busy = {guest for talk in talks for guest in talk}
    talked, alone = COLOURS[0], "#8C8C8C"
    size = min(0.3, 4 / n)
    marks = tuple(
        SceneMark(guest, x, y, talked if guest in busy else alone, size=size, text=f"L{guest}")
        for guest, (x, y) in at.items()
    )
    return Scene(
        "party", "Who talks with whom", (-1.25, -1.25, 2.5, 2.5), marks,
        ties=tuple((*at[a], *at[b], 2.0) for a, b in sorted(talks)),
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
    scene=scene,
)
