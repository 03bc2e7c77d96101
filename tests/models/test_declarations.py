"""Declarations of a scenario: its page in the viewer."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.errors import UsageError
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import load_page
from sabm_mesa.models.registry import SCENARIOS, scenario


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_round_without_a_question_is_declared_as_given(name: str) -> None:
    model = scenario(name)(n_rounds=2, rng=1)
    model.run_model()
    asks = model.model_frame()["asks"].tolist()

    assert [round_ for round_, n in enumerate(asks) if not n] == [*range(model.given_rounds)]


def test_modules_are_found_beside_the_model(tmp_path, monkeypatch) -> None:
    kbc = scenario("kbc")
    assert kbc.plots == "sabm_mesa.models.beauty_contest.kbc.plots"
    assert kbc.message_words == Path(kbc.prompt_file).with_name("words.toml")
    assert (scenario("cocktail-party").exam, SmartModel.exam, SmartModel.plots) == ("", "", "")
    (tmp_path / "lakeside").mkdir()
    for name, code in {
        "__init__": "", "page": "", "model": "from sabm_mesa.models.commons.model import Fishery\n"
        "class Lake(Fishery): scenario_name = 'lake'\nclass Other(Lake): page = 'mine'\n",
    }.items():  # fmt: skip
        (tmp_path / f"lakeside/{name}.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    model = import_module("lakeside.model")
    assert model.Lake.page == "lakeside.page"
    assert model.Lake.plots == "sabm_mesa.models.commons.plots"
    assert model.Other.page == "mine"


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_card_of_each_page_is_a_run_of_its_scenario(name: str) -> None:
    page = load_page(scenario(name).page)

    known = parameters_of(scenario(name))
    for parameter, value in page.card_run.items():
        known[parameter].check(value)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("TITLES = {}", "The page odd_page needs PAGE = ScenarioPage(…), from sabm_mesa.models"),
        ("PAGE = {'titles': {}}", "The page odd_page needs PAGE = ScenarioPage(…)"),
        (
            "from sabm_mesa.models.declarations import ScenarioPage as P\nPAGE = P(title={})",
            "The page odd_page cannot be imported: TypeError: ScenarioPage.__init__() got an unex",
        ),
        ("import absent_module", "The page odd_page cannot be imported: ModuleNotFoundError: No "),
        ("PAGE = (", "The page odd_page cannot be imported: SyntaxError: "),
    ],
)
def test_a_page_that_cannot_be_used_is_refused_in_one_line(
    code: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd_page.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "odd_page", raising=False)

    with pytest.raises(UsageError) as refused:
        load_page("odd_page")

    assert str(refused.value).startswith(told)
