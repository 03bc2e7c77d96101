"""Behavioural models of scenarios: what a mind is asked with is what its recording tells."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sabm_mesa.analysis.behaviour import Behaviour, Decider, Panel, Row
from sabm_mesa.analysis.estimation import best_shares, fit
from sabm_mesa.core.asks import Ask
from sabm_mesa.minds.base import ClassicalMind, Mind
from sabm_mesa.minds.fitted import FittedMind
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.beauty_contest.repeated.theory import first_period_shares
from sabm_mesa.models.beauty_contest.study import PEOPLE, guessing_facts, guessing_models
from sabm_mesa.models.bertrand.model import BertrandCompetition
from sabm_mesa.models.commons.model import Fishery
from sabm_mesa.models.commons.theory import threshold
from sabm_mesa.models.games.model import FiniteGame
from sabm_mesa.models.public_goods.model import PublicGoods
from sabm_mesa.recording.decisions import played_runs

GROUPS = {"n_players": 8, "group_size": 4, "matching": "stranger", "endowment": 20}


MIXED = {"classical:logit": 1, "classical:tit_for_tat": 1}
SETTINGS: dict[Any, dict[str, Any]] = {
    PublicGoods: GROUPS, BertrandCompetition: {"communication": True}, FiniteGame: {"n_players": 8},
    Fishery: {"collapse_below": 1},
}  # fmt: skip


class Noting(ClassicalMind):
    """Answers as another mind, and notes the facts of each question."""

    def __init__(self, mind: Mind, behaviour: Behaviour, notes: list[Mapping[str, Any]]) -> None:
        super().__init__(mind.spec)
        self.mind, self.behaviour, self.notes = mind, behaviour, notes
        self.informed = (*mind.informed, *behaviour.informed)

    async def answer(self, ask: Ask) -> object:
        known = self.behaviour.known(ask)
        if known is not None:
            self.notes.append(known)
        return await self.mind.answer(ask)


def played(model: SmartModel) -> tuple[Behaviour, Panel]:
    """Play a model that records, and return the panel of its recording."""
    behaviour = model.study.behaviour
    assert behaviour is not None
    model.run_model()
    (run,) = played_runs(model.recording)
    return behaviour, Panel.of(behaviour.rows(run))


@pytest.mark.parametrize(
    "make",
    [
        lambda to: PublicGoods(rng=1, recording=to, n_rounds=4, multiplier=1.6, **GROUPS),
        lambda to: BertrandCompetition(rng=1, recording=to, n_rounds=4, communication=False),
        lambda to: BertrandCompetition(rng=1, recording=to, n_rounds=4, demand="logit", n_firms=3),
        lambda to: FiniteGame(rng=1, recording=to, minds=MIXED, n_rounds=5),
        lambda to: FiniteGame(rng=1, recording=to, game="three_player_dilemma", n_rounds=3,
                              matching="stranger", n_players=6, minds="classical:logit"),
        lambda to: Fishery(rng=1, recording=to, n_rounds=6, newcomer_month=3),
        lambda to: Fishery(rng=1, recording=to, n_rounds=4, communication=False),
        lambda to: FiniteGame(rng=1, recording=to, game="stag_hunt", n_rounds=3, n_players=4,
                              matching="stranger", option_order="reversed"),
    ],
    ids=["public-goods", "bertrand", "three firms", "dilemma", "strangers", "fishery",
         "silent fishery", "reversed options"],
)  # fmt: skip
def test_a_question_tells_the_facts_that_its_recording_tells(make, tmp_path: Path) -> None:
    model = make(tmp_path / "recording.sqlite")
    behaviour = model.study.behaviour
    assert behaviour is not None
    notes: dict[int, list[Mapping[str, Any]]] = {}
    for agent in model.agents:
        own = notes[agent.unique_id] = []
        agent.mind = Noting(agent.mind, behaviour, own)
    _, panel = played(model)

    assert len(panel) == sum(map(len, notes.values())) > 0
    for i in range(len(panel)):
        told = notes[panel.players[panel.player[i]].agent][panel.position[i]]
        for name, values in panel.known.items():
            fact = np.asarray(told[name])
            assert fact == pytest.approx(values[i][_inside(fact)], nan_ok=True), name


def test_the_levels_in_the_published_picks_are_the_published_ones() -> None:
    intervals, shares = first_period_shares()
    counts = np.round(67 * np.array(shares))
    facts = guessing_facts(50.0, 2 / 3, 0.0, 100.0, whole=True)
    every = Panel.of(Row(Decider(0, i, "x"), 0, float(i), facts) for i in range(101))
    picks = np.arange(101)
    inside = np.array([(picks >= low) & (picks <= high) for low, high in intervals])
    mixture, free = guessing_models()[0], np.full(4, np.nan)

    def fitted(sigma: float) -> tuple[float, list[float]]:
        likely = np.exp(mixture.by_type(np.array([0, 0, 0, 0, sigma]), every))
        logs = np.log(np.maximum(inside @ likely.T, 1e-300)).T
        mixed = best_shares(np.repeat(logs, counts.astype(int), axis=1), free)
        value = float(counts @ np.log(np.maximum(mixed @ np.exp(logs), 1e-300)))
        return value, mixed.tolist()

    _, (_, *levels) = max(fitted(sigma) for sigma in np.geomspace(0.001, 1, 100))
    people = next(each for each in PEOPLE if each.model == "level_k").parameters
    assert levels == pytest.approx([people[f"share_level_{k}"] for k in (1, 2, 3)], abs=0.035)


def _inside(fact: np.ndarray) -> tuple[slice, ...]:
    """The part of an array that was filled up with NaN."""
    return tuple(slice(size) for size in fact.shape)


@pytest.mark.parametrize(
    ("model", "parameters", "column", "amount"),
    [
        (PublicGoods, [0.5, 0.0, 1e-6], "contribution", lambda _: 10),
        (PublicGoods, [1.0, 0.0, 1e-6], "contribution", lambda _: 20),
        (Fishery, [0.0, 0.0, 1e-6], "wanted", lambda stock: stock // 5),
        (Fishery, [1.0, 0.0, 1e-6], "wanted", lambda stock: threshold(stock, 5)),
        (BertrandCompetition, [0.5, 0.0, 1e-6], "price", lambda _: 7),  # between 6 and 8
    ],
)
def test_a_fitted_model_without_error_decides_what_its_line_says(
    model, parameters: list[float], column: str, amount
) -> None:
    game = model(rng=2, n_rounds=3, **SETTINGS[model])
    behaviour = game.study.behaviour
    assert behaviour is not None
    name = "reaction" if model is BertrandCompetition else "conditional"
    theory, vector = behaviour.model(name), np.array(parameters)
    for agent in game.agents:
        agent.mind = FittedMind("fitted:x", behaviour, theory, vector)
    game.run_model()
    rounds = game.model_frame().set_index("round")

    assert game.total.invalid == 0
    decided = game.agent_frame().query(f"round >= {game.given_rounds}")
    for row in decided.to_dict("records"):
        expected = amount(rounds["stock"][row["round"]] if "stock" in rounds else None)
        assert row[column] == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "name", "parameters"),
    [
        (PublicGoods, "conditional", [0.0, 0.8, 0.1]),
        (Fishery, "conditional", [0.3, 0.6, 0.15]),
        (FiniteGame, "ewa", [0.9, 0.6, 0.3, 6.0, 1.0]),
        (FiniteGame, "strategies", [0.2, 0.0, 0.0, 0.8, 0.0, 0.05]),
        (BertrandCompetition, "reaction", [0.2, 0.6, 0.1]),
    ],
    ids=[
        "types",
        "harvests",
        "ewa",
        "strategies",
        "reaction",
    ],
)
def test_a_fitted_model_plays_and_its_play_is_likely_under_it(
    model, name: str, parameters: list[float], tmp_path: Path
) -> None:
    settings = SETTINGS[model]
    game = model(rng=2, recording=tmp_path / "recording.sqlite", n_rounds=30, **settings)
    behaviour = game.study.behaviour
    assert behaviour is not None
    theory, vector = behaviour.model(name), np.array(parameters)
    for agent in game.agents:
        agent.mind = FittedMind("fitted:x", behaviour, theory, vector)
    _, panel = played(game)
    found = fit(theory, panel, start=vector)

    true = theory.log_likelihood(vector, panel).sum()
    assert panel.invalid == 0
    assert true <= found.log_likelihood + 1e-6 < true + 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mind", "selected"),
    [("best_response", "best_reply"), ("win_continue_lose_reverse", "inertia"),
     ("tit_for_tat", "reaction")],
)  # fmt: skip
def test_pricing_rules_are_told_apart_by_their_recordings(
    mind: str, selected: str, tmp_path: Path
) -> None:
    settings = {"communication": False, "n_rounds": 80, "minds": f"classical:{mind}"}
    behaviour, panel = played(
        BertrandCompetition(rng=1, recording=tmp_path / "recording.sqlite", **settings)
    )
    fits = [fit(each, panel) for each in behaviour.models]

    assert min(fits, key=lambda each: each.bic).model.name == selected


@pytest.mark.slow
def test_conditional_cooperators_and_free_riders_are_told_apart_player_by_player(
    tmp_path: Path,
) -> None:
    minds = {"classical:perfect_cooperation": 18, "fixed:0": 6}
    settings = GROUPS | {"n_players": 24, "minds": minds}
    behaviour, panel = played(
        PublicGoods(rng=3, recording=tmp_path / "recording.sqlite", **settings)
    )
    mixture = behaviour.model("cooperation_types")
    found = fit(mixture, panel)
    share = mixture.posterior(found.parameters, panel)  # type: ignore[attr-defined]
    free_rider = [each.mind == "fixed:0" for each in panel.players]

    assert (share[:, 1] > 0.99).tolist() == free_rider
    assert found.by_name["share_free_rider"] == pytest.approx(0.25, abs=0.01)
    assert found.by_name["slope"] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mind", "selected"),
    [
        ("tit_for_tat", "TFT"), ("grim", "Grim"), ("win_stay_lose_shift", "WSLS"),
        ("fictitious_play", "fictitious_play"), ("logit", "fictitious_play"),
    ],
)  # fmt: skip
def test_rules_of_repeated_games_are_told_apart_by_their_recordings(
    mind: str, selected: str, tmp_path: Path
) -> None:
    learns = selected == "fictitious_play"
    model = FiniteGame(
        rng=1, recording=tmp_path / "recording.sqlite", n_rounds=40, n_players=24,
        game="rock_paper_scissors" if learns else "prisoners_dilemma", matching="stranger",
        minds={f"classical:{mind}": 12, "classical:altruist" if learns else "classical:logit": 12},
    )  # fmt: skip
    behaviour, panel = played(model)
    own = panel.of_players(lambda each: each.mind == f"classical:{mind}")
    rivals = "strategies" if not learns else "ewa", "fictitious_play", "reinforcement"
    fits = [fit(behaviour.model(name), own) for name in rivals]
    best = min(fits, key=lambda each: each.bic)
    shares = {k: v for k, v in best.by_name.items() if k.startswith("share_")}
    name = max(shares, key=shares.__getitem__).removeprefix("share_") if shares else best.model.name

    assert name == selected
