"""Declarations of a scenario: its page in the viewer."""

from __future__ import annotations

from pathlib import Path

import pytest

from sabm_mesa.core.parameters import check_values, parameters_of
from sabm_mesa.errors import UsageError
from sabm_mesa.models.declarations import ScenarioPage, load_page
from sabm_mesa.models.registry import SCENARIOS, scenario


def test_a_scenario_without_a_page_has_the_default_of_each_part() -> None:
    assert load_page("") == ScenarioPage()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_round_without_a_question_is_declared_as_given(name: str) -> None:
    model = scenario(name)(n_rounds=2, rng=1)
    model.run_model()
    asks = model.model_frame()["asks"].tolist()

    assert [round_ for round_, n in enumerate(asks) if not n] == [*range(model.given_rounds)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_card_of_each_page_is_a_run_of_its_scenario(name: str) -> None:
    page = load_page(scenario(name).page)

    assert set(page.card_run) <= set(parameters_of(scenario(name)))
    check_values(scenario(name), page.card_run)


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


def test_a_page_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="The page no_such_page cannot be imported: ModuleNotFou"):
        load_page("no_such_page")
