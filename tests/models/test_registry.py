"""The registry: what can be chosen as a scenario, and what else a recording may name."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sabm_mesa.describe.docstrings import spec_sheet
from sabm_mesa.describe.texts import odd_file
from sabm_mesa.errors import UnknownName
from sabm_mesa.models.registry import (
    SCENARIOS,
    UNLISTED,
    model_at,
    scenario,
)
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.rerun import replay, resume
from sabm_mesa.studies.judging import Judging
from sabm_mesa.studies.probe import Probe
from tests.core.support import Priced, tiny
from tests.runs.reruns import change, count

ROOT = Path(__file__).parents[2]
OWN = {
    "judge": (Judging, {"texts": ["I agree.", "Let us all pick 20."]}, '{"codes": ["agreement"]}'),
    "probe": (Probe, {}, lambda ask: ask.spec.example(np.random.default_rng(1))),
}


def test_a_place_is_known_when_it_is_registered() -> None:
    assert model_at(UNLISTED["judge"]) is Judging
    for name, place in SCENARIOS.items():
        assert model_at(place) is scenario(name)
    assert model_at("subprocess:Popen") is None
    assert model_at("") is None


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_docstring_of_a_module_is_short_since_the_rules_are_in_odd_toml(name: str) -> None:
    sheet = spec_sheet(scenario(name))

    assert len(sheet.splitlines()) <= 25
    assert re.match(r"Replication of .+ 20\d\d: |Published games: ", sheet)
    assert "Unreadable answers" in sheet
    assert "Source" in sheet
    assert odd_file(scenario(name)).is_file()
    (example,) = re.findall(r"start from ``(examples/\w+)``", sheet)
    assert (ROOT / example).is_dir()


@pytest.mark.parametrize("name", UNLISTED)
def test_an_unlisted_model_is_no_scenario_that_is_chosen(name: str) -> None:
    found = model_at(UNLISTED[name])

    assert found is not None
    assert found.scenario_name == name
    assert name not in SCENARIOS
    with pytest.raises(UnknownName, match=rf"'{name}'.* Known: {', '.join(SCENARIOS)}\."):
        scenario(name)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", UNLISTED)
def test_its_recordings_are_replayed_and_gone_on_with_by_others(name: str, tmp_path: Path) -> None:
    model, given, told = OWN[name]
    answer = told if callable(told) else lambda _: told
    path = tmp_path / "r.sqlite"
    model(**given, minds=Priced(answer), rng=1, recording=path).run_model()
    code = (
        "import sys; from sabm_mesa.runs.rerun import replay; "
        "(model,) = replay(sys.argv[1]).models; "
        "print(type(model).__name__, model.total.asks, model.total.invalid)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], check=True, cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.split() == [model.__name__, str(count(path)), "0"]

    (whole,) = replay(path).models
    change(path, "DELETE FROM asks WHERE agent = 2")
    change(path, "DELETE FROM model_data")
    change(path, "DELETE FROM agent_data")
    change(path, "DELETE FROM message_data")
    change(path, "UPDATE runs SET status = 'failed', ended = NULL")
    asked: list[int] = []
    mind = Priced(lambda ask: (asked.append(ask.key.agent), answer(ask))[1])
    (again,) = resume(path, minds={mind.spec: mind}).models

    assert asked == [2]
    assert again.agent_frame(0).equals(whole.agent_frame(0))


def test_the_class_counts_and_not_the_name_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    Judging(texts=["I agree."], rng=1, recording=path).run_model()
    change(path, "UPDATE runs SET scenario = 'kbc'")

    assert type(replay(path).models[0]) is Judging
    tiny(minds="fixed:1", rng=1, recording=tmp_path / "own.sqlite").run_model()
    assert model_at(load_runs(tmp_path / "own.sqlite", 0)[0].model) is None
