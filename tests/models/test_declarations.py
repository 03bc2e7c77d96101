"""Declarations of a scenario: its page in the viewer."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.errors import UsageError
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import Study, file_beside
from sabm_mesa.models.registry import SCENARIOS, scenario


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_round_without_a_question_is_declared_as_given(name: str) -> None:
    model = scenario(name)(n_rounds=2, rng=1)
    model.run_model()
    asks = model.model_frame()["asks"].tolist()

    assert [round_ for round_, n in enumerate(asks) if not n] == [*range(model.given_rounds)]


def test_modules_are_found_beside_the_model(tmp_path, monkeypatch) -> None:
    kbc = scenario("kbc")
    assert kbc.page is import_module("sabm_mesa.models.beauty_contest.kbc.charts").PAGE
    assert file_beside(kbc, "words.toml") == Path(kbc.prompt_file).with_name("words.toml")
    assert (scenario("cocktail-party").study.exam, SmartModel.study) == (None, Study())
    (tmp_path / "lakeside").mkdir()
    for name, code in {
        "__init__": "",
        "charts": "from sabm_mesa.models.declarations import ScenarioPage\n"
        "PAGE = ScenarioPage(card_chart='lake')\n",
        "model": "from sabm_mesa.models.commons.model import Fishery\n"
        "class Lake(Fishery): scenario_name = 'lake'\nclass Other(Lake): page = 'mine'\n",
    }.items():
        (tmp_path / f"lakeside/{name}.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    model = import_module("lakeside.model")
    assert model.Lake.page.card_chart == "lake"
    assert model.Lake.study is scenario("fishery").study
    assert model.Other.page == "mine"


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_card_of_each_page_is_a_run_of_its_scenario(name: str) -> None:
    page = scenario(name).page

    known = parameters_of(scenario(name))
    for parameter, value in page.card_run.items():
        known[parameter].check(value)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("TITLES = {}", "odd.charts needs PAGE = ScenarioPage(…), from sabm_mesa.models"),
        ("PAGE = {'titles': {}}", "odd.charts needs PAGE = ScenarioPage(…)"),
        (
            "from sabm_mesa.models.declarations import ScenarioPage as P\nPAGE = P(title={})",
            "odd.charts cannot be imported: TypeError: ScenarioPage.__init__() got an unexpected",
        ),
        ("import absent_module", "odd.charts cannot be imported: ModuleNotFoundError: No module"),
        ("PAGE = (", "odd.charts cannot be imported: SyntaxError: "),
    ],
)
def test_a_page_that_cannot_be_used_is_refused_in_one_line(
    code: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = "from sabm_mesa import SmartModel\nclass Odd(SmartModel): pass\n"
    (tmp_path / "odd").mkdir()
    for name, text in {"__init__": "", "charts": code, "model": model}.items():
        (tmp_path / f"odd/{name}.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "odd"]:
        monkeypatch.delitem(sys.modules, name)

    with pytest.raises(UsageError) as refused:
        _ = import_module("odd.model").Odd.page

    assert str(refused.value).startswith(told)
