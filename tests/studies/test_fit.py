"""Fits to recordings: who decided is found again, and a fingerprint plays as it was fitted."""

import json
import math
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sabm_mesa.analysis.behaviour import load_behaviour
from sabm_mesa.analysis.estimation import Fit
from sabm_mesa.analysis.repeated_behaviour import EWA
from sabm_mesa.errors import (
    MindError,
    MindSpecError,
    ParameterError,
    RecordingError,
    SabmError,
    UnknownName,
    UsageError,
)
from sabm_mesa.minds.fitted import Fingerprint
from sabm_mesa.minds.scripted import ScriptedMind
from sabm_mesa.models import registry
from sabm_mesa.models.kbc.model import KeynesianBeautyContest
from sabm_mesa.recording import Recording
from sabm_mesa.recording.decisions import played_runs
from sabm_mesa.studies.fit import (
    FitOptions,
    Fitted,
    fit_recording,
    table_of_fits,
    table_of_types,
)
from sabm_mesa.studies.plots import draw_fingerprint

LEVELS = {"share_level_0": 0.1, "share_level_1": 0.6, "share_level_2": 0.3, "share_level_3": 0.0}
QUICK = FitOptions(models=("level_k",), bootstrap=0, confusion=0)
SCENARIOS = {
    "kbc": ({"n_rounds": 2}, "level_k", {**LEVELS, "sigma": 2.0}),
    "beauty-contest": (
        {"n_rounds": 3, "p": 0.7, "window": 1}, "cognitive_hierarchy", {"tau": 1.5, "sigma": 2.0},
    ),
    "games": (
        {"game": "stag_hunt", "n_rounds": 3, "n_players": 8, "option_order": "reversed",
         "matching": "stranger", "scale": 3.0},
        "noisy_best_reply", {"epsilon": 0.4},
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
    behaviour = load_behaviour(registry.scenario(scenario).behaviour)
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
    truth = {**LEVELS, "sigma": 2.0}
    spec = fingerprint(tmp_path, "kbc", "level_k", truth)
    minds = {spec: 300, "fixed:0": 20}
    file = played(tmp_path, n_players=320, n_rounds=1, minds=minds, rng=3)
    study = fit_recording(file, FitOptions(mind=spec, models=("level_k",), bootstrap=5))

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
    both = fit_recording(file, FitOptions(models=("noisy_best_reply",), bootstrap=0, confusion=0))
    assert {group.name for group in both.groups} == {"all agents", "fixed:0", spec}


@pytest.mark.slow
def test_invalid_answers_are_left_out_and_counted(tmp_path: Path) -> None:
    minds = {"classical": 5, ScriptedMind(nonsense): 1}
    file = played(tmp_path, n_players=6, n_rounds=1, minds=minds, rng=1)
    panel = fit_recording(file, QUICK).pooled.panel

    assert (len(panel), panel.invalid) == (5, 1)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        (FitOptions(models=("levle_k",)), UnknownName, "Did you mean 'level_k'"),
        (FitOptions(mind="llm:x"), UnknownName, "Unknown mind of"),
    ],
)
def test_what_is_not_there_is_named(
    options: FitOptions, error: type[SabmError], says: str, tmp_path: Path
) -> None:
    file = played(tmp_path, n_players=4, n_rounds=1, rng=1)
    with pytest.raises(error, match=says):
        fit_recording(file, options)


@pytest.mark.slow
def test_an_interval_that_ends_where_the_search_does_is_open(tmp_path: Path) -> None:
    file = played(tmp_path, "public-goods", n_players=2, n_rounds=1, minds="fixed:50", rng=1)
    study = fit_recording(file, FitOptions(models=("inequity_aversion",), bootstrap=0))
    assert study.pooled.selected.open_ends("lambda") == (False, True)
    said = " ".join(text.get_text() for text in draw_fingerprint(study).texts)
    assert "the interval ends where the search does" in said.replace("\n", " ")
    shares = fit_recording(played(tmp_path, n_players=2, n_rounds=1, rng=1), QUICK).pooled.selected
    assert not any(shares.open_ends("share_level_3"))  # a share of 0 is a result


def test_recordings_without_the_decisions_or_facts_of_a_model_are_refused(tmp_path: Path) -> None:
    silent = played(tmp_path, n_players=2, n_rounds=1, minds=ScriptedMind(nonsense))
    with pytest.raises(RecordingError, match=r"lacks a pick .* all 2 answers are invalid"):
        fit_recording(silent)
    other = played(tmp_path, "sentence-making", n_rounds=1)
    with pytest.raises(ParameterError, match="No behavioural model is declared"):
        fit_recording(other)
    in_turn = played(tmp_path, "games", game="trust", n_rounds=1)
    with pytest.raises(RecordingError, match=r"quantal_response does not apply .*payoffs"):
        fit_recording(in_turn, FitOptions(models=("quantal_response",)))
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
    (group, *_) = fit_recording(file, FitOptions(bootstrap=0, confusion=0)).groups

    assert group.verdict == "none of these"
    assert group.test is not None
    assert "values" in group.test.misses
    assert any(each.fit.model.name == "uniform" and each.gained == 0 for each in group.fitted)
    with pytest.raises(ParameterError, match="needs at least 39 data sets"):
        fit_recording(file, FitOptions(absolute=10))


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
    spec = fingerprint(tmp_path, "kbc", "level_k", {**LEVELS, "sigma": 2.0})
    file = Path(spec.partition(":")[2])
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(MindSpecError, match=says):
        registry.scenario("kbc")(minds=spec, n_players=2)


def test_a_file_that_is_missing_or_no_json_is_no_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("level 1")
    for name, says in {"nowhere": "Cannot read the fingerprint", "text": "is not a fing"}.items():
        with pytest.raises(MindSpecError, match=says):
            registry.scenario("kbc")(minds=f"fitted:{tmp_path / name}", n_players=2)


def test_a_model_without_its_facts_cannot_decide(tmp_path: Path) -> None:
    spec = fingerprint(tmp_path, "games", "quantal_response", {"lambda": 2.0})
    model = registry.scenario("games")(game="trust", minds=spec, rng=1)
    with pytest.raises(MindError, match="needs payoffs, which players of this run do not know"):
        model.step()


def test_a_parameter_whose_interval_spans_half_of_its_limits_is_not_identified() -> None:
    found = Fit(EWA, np.array([0.9, 0.5, 0.4, 5.0, 1.0]), -400.0, 960)
    intervals = {"phi": (0.85, 0.93), "kappa": (0.15, 1.0), "lambda": (2.0, 9.0)}

    assert Fitted(found, intervals, {}, math.nan).unidentified == ["kappa"]


def test_rows_of_a_behaviour_that_fail_are_named_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Recording(tmp_path / "a.sqlite") as recording:
        KeynesianBeautyContest(n_players=3, n_rounds=1, rng=1, recording=recording).run_model()
    known = load_behaviour(KeynesianBeautyContest.behaviour)
    assert known is not None
    wrong = replace(known, rows=lambda run: [run.parameters["missing"]])
    monkeypatch.setattr("sabm_mesa.studies.fit.load_behaviour", lambda _: wrong)

    with pytest.raises(UsageError, match="The rows of the behaviour of kbc fail: KeyError"):
        fit_recording(tmp_path / "a.sqlite", FitOptions())
