"""Fits to recordings: who decided is found again, and a fingerprint plays as it was fitted."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sabm_mesa.errors import (
    MindSpecError,
    ParameterError,
    RecordingError,
    SabmError,
    UnknownName,
)
from sabm_mesa.minds.fitted import Fingerprint
from sabm_mesa.minds.scripted import ScriptedMind
from sabm_mesa.models import registry
from sabm_mesa.models.games.model import FiniteGame
from sabm_mesa.recording.decisions import played_runs
from sabm_mesa.recording.importing import import_table
from sabm_mesa.studies.fit import (
    draw_fingerprint,
    fit_recording,
    table_of_fits,
    table_of_types,
)

ROOT = Path(__file__).parents[2]
LEVELS = {"share_level_0": 0.1, "share_level_1": 0.6, "share_level_2": 0.3, "share_level_3": 0.0}
QUICK: dict[str, Any] = {"models": ("level_k",)}
SCENARIOS = {
    "kbc": ({"n_rounds": 2}, "level_k", {**LEVELS, "sigma": 0.04}),
    "beauty-contest": ({"n_rounds": 3, "p": 0.7, "window": 1}, "level_1", {"sigma": 0.04}),
    "games": (
        {"game": "stag_hunt", "n_rounds": 3, "n_players": 8, "option_order": "reversed",
         "matching": "stranger", "scale": 3.0},
        "fictitious_play", {"lambda": 4.0},
    ),
}  # fmt: skip


def fingerprint(folder: Path, scenario: str, model: str, parameters: dict[str, float]) -> str:
    file = folder / f"{scenario}.json"
    file.write_text(json.dumps(Fingerprint(scenario, model, parameters).as_json()))
    return f"fitted:{file}"


def played(folder: Path, scenario: str = "kbc", **parameters: object) -> Path:
    file = folder / f"{scenario}.sqlite"
    model = registry.scenario(scenario)(recording=file, **parameters)
    model.run_model()
    model.close()
    return file


def nonsense(_ask):
    return "none"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_mind_knows_what_the_recording_says_that_it_knew(scenario: str, tmp_path: Path) -> None:
    parameters = SCENARIOS[scenario][0]
    behaviour = registry.scenario(scenario).study.behaviour
    assert behaviour is not None
    asked: list[tuple[int, int, dict[str, object]]] = []

    def watch(ask):
        if (known := behaviour.known(ask)) is None:
            return behaviour.answer(ask, None)
        asked.append((ask.key.agent, ask.key.round, known))
        return behaviour.answer(ask, float(ask.rng.integers(2) + 20 * (scenario != "games")))

    file = played(tmp_path, scenario, rng=1, minds=ScriptedMind(watch), **parameters)
    rows = [row for run in played_runs(file) for row in behaviour.rows(run)]

    assert len(rows) == len(asked) > 0
    for row in rows:
        (known,) = [k for a, t, k in asked if (a, t) == (row.player.agent, row.time)]
        assert known.keys() == row.known.keys()
        for name, value in known.items():
            np.testing.assert_array_equal(value, row.known[name])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_fingerprint_plays_and_is_replayed_without_its_file(
    scenario: str, tmp_path: Path
) -> None:
    from sabm_mesa.runs.rerun import replay

    parameters, *of_model = SCENARIOS[scenario]
    spec = fingerprint(tmp_path, scenario, *of_model)
    file = played(tmp_path, scenario, rng=2, minds=spec, **parameters)
    Path(spec.partition(":")[2]).unlink()

    replay(file)
    (run,) = played_runs(file)
    assert set(run.agents["mind"]) == {spec}
    assert run.decisions["valid"].all()


@pytest.mark.slow
def test_the_parameters_of_a_mind_are_found_again_in_its_recording(tmp_path: Path) -> None:
    truth = {**LEVELS, "sigma": 0.04}
    spec = fingerprint(tmp_path, "kbc", "level_k", truth)
    minds = {spec: 300, "fixed:0": 20}
    file = played(tmp_path, n_players=320, n_rounds=1, minds=minds, rng=3)
    study = fit_recording(file, mind=spec, models=("level_k",))

    for name, value in study.fingerprint.parameters.items():
        assert value == pytest.approx(truth[name], abs=0.08, rel=0.15)
    table = table_of_fits(study)
    table = table[table["parameter"] != ""]  # chance has none
    assert table["low"].le(table["estimate"] + 1e-6).all()
    assert table["high"].ge(table["estimate"] - 1e-6).all()
    types = table_of_types(study)
    assert len(types) == 300
    assert (types["type"] == "level_1").mean() == pytest.approx(0.6, abs=0.1)
    assert draw_fingerprint(study).axes
    both = fit_recording(file, models=("level_1",))
    assert {group.name for group in both.groups} == {"all agents", "fixed:0", spec}


@pytest.mark.slow
def test_invalid_answers_are_left_out_and_counted(tmp_path: Path) -> None:
    minds = {"classical": 5, ScriptedMind(nonsense): 1}
    file = played(tmp_path, n_players=6, n_rounds=1, minds=minds, rng=1)
    panel = fit_recording(file, **QUICK).pooled.panel

    assert (len(panel), panel.invalid) == (5, 1)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"models": ("levle_k",)}, UnknownName, "Did you mean 'level_k'"),
        ({"mind": "llm:x"}, UnknownName, "Unknown mind of"),
    ],
)
def test_what_is_not_there_is_named(
    options: dict[str, Any], error: type[SabmError], says: str, tmp_path: Path
) -> None:
    file = played(tmp_path, n_players=4, n_rounds=1, rng=1)
    with pytest.raises(error, match=says):
        fit_recording(file, **options)


def test_recordings_without_the_decisions_or_facts_of_a_model_are_refused(tmp_path: Path) -> None:
    silent = played(tmp_path, n_players=2, n_rounds=1, minds=ScriptedMind(nonsense))
    with pytest.raises(RecordingError, match=r"lacks a pick .* all 2 answers are invalid"):
        fit_recording(silent)
    other = played(tmp_path, "sentence-making", n_rounds=1)
    with pytest.raises(ParameterError, match="No behavioural model is declared"):
        fit_recording(other)
    in_turn = played(tmp_path, "games", game="trust", n_rounds=1)
    with pytest.raises(RecordingError, match="lacks a choice"):
        fit_recording(in_turn)
    with sqlite3.connect(silent) as connection:
        connection.execute("DELETE FROM model_data")
    with pytest.raises(RecordingError, match="There is no run with a round"):
        fit_recording(silent)


@pytest.mark.slow
def test_the_verdict_is_none_of_these_where_decisions_are_unlike_the_best_model(
    tmp_path: Path,
) -> None:
    favourites = {"fixed:7": 12, "fixed:42": 12, "fixed:90": 12}
    file = played(tmp_path, n_players=36, n_rounds=1, minds=favourites, rng=1)
    (group, *_) = fit_recording(file).groups

    assert group.verdict == "none of these"
    assert group.test is not None
    assert "values" in group.test.misses
    (uniform,) = (fit for fit in group.fits if fit.model.name == "uniform")
    assert uniform.gained(group.panel) == 0
    with pytest.raises(ParameterError, match="needs at least 39 data sets"):
        fit_recording(file, absolute=10)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"scenario": "bertrand"}, "belongs to bertrand, not to kbc"),
        ({"model": "level"}, "Unknown behavioural model 'level'"),
        ({"parameters": {"sigma": 1}}, "has the parameters"),
        ({"parameters": None}, "lacks parameters"),
        ({"fingerprint": 9}, "has the fingerprint format 9"),
        ({"fingerprint": None}, "is not a fingerprint"),
        ({"fingerprint": {"fingerprint": 1}}, "is not a fingerprint"),  # fit.json
    ],
)
def test_a_fingerprint_that_cannot_be_played_is_refused_in_one_line(
    change: dict[str, object], says: str, tmp_path: Path
) -> None:
    spec = fingerprint(tmp_path, "kbc", "level_k", {**LEVELS, "sigma": 0.04})
    file = Path(spec.partition(":")[2])
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(MindSpecError, match=says):
        registry.scenario("kbc")(minds=spec, n_players=2)


def test_gpt_4_plays_grim_in_the_published_dilemmas(tmp_path: Path) -> None:
    table = pd.read_csv(ROOT / "docs/data/real/pd.csv.gz")
    table = table[table.eq("act_gpt4").any(axis=1)]  # its games; those of others change no fit
    file = tmp_path / "pd.sqlite"
    columns = {"run": "player1+player2", "mind": "player1|player2", "decision": "answer1|answer2"}
    values = {"J": "cooperate", "F": "defect"}
    import_table(table, FiniteGame, file, columns=columns, values=values)
    study = fit_recording(file, mind="act_gpt4", absolute=0)

    assert study.pooled.verdict == "strategies"
    assert study.fingerprint.parameters["share_Grim"] > 0.99
    assert study.pooled.selected.gained(study.pooled.panel) == pytest.approx(0.866, abs=0.001)
    assert set(table_of_types(study)["type"]) == {"Grim"}
