"""The parts that scenarios declare for the viewer: charts, worlds, boards, and debriefs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from sabm_mesa import SmartModel
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.visualization.web.play import board_of

SMALL: dict[str, dict[str, Any]] = {
    "kbc": {"n_players": 4, "n_rounds": 3},
    "beauty-contest": {"n_players": 4, "n_rounds": 3},
    "bertrand": {"n_rounds": 4, "communication": True},
    "evacuation": {"n_people": 12, "width": 11, "height": 11, "n_rounds": 4},
    "cocktail-party": {"n_agents": 4, "n_rounds": 3},
    "sentence-making": {"n_agents": 4},
}
BOARDS = {
    "kbc": "line", "beauty-contest": "line", "bertrand": "tags", "evacuation": "map",
    "fishery": "level", "pasture": "level", "pollution": "level", "public-goods": "split",
    "games": "matrix",
}  # fmt: skip
ROUNDS = 3


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[SmartModel], list[Ask]]:
    """Keeps the questions that the minds of a model are asked from now on."""

    def keep(model: SmartModel) -> list[Ask]:
        asks: list[Ask] = []
        for mind in {type(agent.mind) for agent in model.agents}:
            answers = mind.answer

            def answer(self: Any, ask: Ask, answers: Any = answers) -> Any:
                asks.append(ask)
                return answers(self, ask)

            monkeypatch.setattr(mind, "answer", answer)
        return asks

    return keep


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_parts_of_a_scenario_fit_its_run(
    asked: Callable[[SmartModel], list[Ask]], name: str
) -> None:
    model = scenario(name)(**SMALL.get(name, {"n_rounds": ROUNDS}), rng=3, recording=False)
    asks = asked(model)
    while model.running and model.round < ROUNDS:
        model.step()
    data, people = model.model_frame(), model.agent_frame()
    page, game = model.page, model.class_game

    if page.charts is not None:
        for data_so_far, people_so_far in ((data, people), (data[:0], people[:0])):
            charts = page.charts(model, data_so_far, people_so_far)
            assert len({each.name for each in charts}) == len(charts) > 0
        for chart in page.charts(model, data, people):
            sent = chart.for_browser()
            assert chart.title
            assert json.loads(json.dumps(sent)) == sent
            assert any(series["points"] for series in sent["series"]) or not chart.series
    if page.scene is not None:
        last = people[people["round"] == people["round"].max()]
        scene = page.scene(model, last, dict(data.iloc[-1]))
        assert {mark.id for mark in scene.marks} <= set(people["agent"])
        assert len(json.loads(json.dumps(scene.frame()))["marks"]) == len(scene.marks)
        assert len(page.scene(model, None, {}).marks) > 0
    boards = {board["kind"] for ask in asks if (board := board_of(ask, model)) is not None}
    if name in BOARDS:
        assert BOARDS[name] in boards
    if game.parameters:
        scenario(name)(**game.parameters, recording=False)
    if game.debrief is not None:
        low, high = game.debrief.low(model), game.debrief.high(model)
        assert low < high
        decided = people[game.debrief.column].dropna()
        assert len(decided)
        assert decided.between(low, high).all()
        assert all(math.isfinite(value) for value in game.debrief.theory(model, None).values())
        assert all(isinstance(each, str) for each in game.debrief.people(model))
