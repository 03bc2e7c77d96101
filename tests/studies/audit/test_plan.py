"""The factors and the number of cells of an audit, and the wrong use that it refuses."""

from __future__ import annotations

import pytest

from sabm_mesa.errors import UsageError
from sabm_mesa.studies.audit.plan import audit_plan
from sabm_mesa.studies.experiments.design import load_experiment, parse_experiment

from .support import EXPERIMENT, experiment

LLM = "llm:gpt-4o-mini"


def test_by_itself_it_varies_what_changes_a_prompt() -> None:
    found = audit_plan(experiment("n_rounds = 2"), runs=2)

    assert {each.name: each.labels for each in found.factors} == {
        "wording": ["default", "reworded_1", "reworded_2", "reworded_3"],
        "format": ["labelled", "json"],
        "speakers": ["spoken", "reversed"],
    }
    assert found.left_out.keys() == {"options", "persona"}
    assert "changes no prompt" in found.left_out["persona"]
    assert [len(each.cells) for each in found.plans] == [4] * len(found.plans)
    assert all(each.seeds == [1, 2] for each in found.plans)
    first = found.plans[0].cells[0].parameters
    assert (first["variant"], first["answer_format"]) == ("default", "labelled")


def test_a_factor_that_the_conditions_differ_in_is_left_out() -> None:
    found = audit_plan(load_experiment("kbc-figure-5"), runs=1)
    assert "wording" in {each.name for each in found.factors}

    own = EXPERIMENT.replace('condition = "cooperative" }', 'variant = "reworded_1" }')
    found = audit_plan(parse_experiment("own", own), runs=1)
    assert found.left_out["wording"] == "the conditions of the experiment differ in it"


def test_the_prompts_that_are_compared_are_those_of_a_game_that_goes_on() -> None:
    talk = audit_plan(load_experiment("govsim-newcomer-fishery"), runs=1)
    assert [each.name for each in talk.factors] == [
        "wording", "format", "options", "speakers", "persona",
    ]  # fmt: skip
    small = EXPERIMENT.replace('scenario = "kbc"', 'scenario = "evacuation"')
    small = small.replace("n_players = 12", "n_people = 4")
    small = small.replace('condition = "cooperative" }', 'condition = "uncooperative" }')
    evacuation = audit_plan(parse_experiment("small", small), runs=1, given={"persona": None})
    assert evacuation.factors[0].labels == ["second_person", "first_person", "list"]


def test_personas_of_a_file_of_ones_own_have_no_other_format_by_themselves(tmp_path) -> None:
    (tmp_path / "own.toml").write_text('[personas]\nhasty = "You are in a hurry."\n', "utf-8")
    own = experiment('personas = "hasty"', f'prompts = "{tmp_path / "own.toml"}"')
    found = audit_plan(own, runs=1)
    assert found.left_out["persona"] == "its personas have no text in the other formats"


def test_personas_and_any_parameter_can_be_factors() -> None:
    given = {"persona": None, "temperature": [0.0, 1.0], "reward_rule": ["independent", "shared"]}
    with pytest.raises(UsageError, match="changes no prompt of planted"):
        audit_plan(experiment(), given=given)
    found = audit_plan(experiment('personas = "calm"'), given={**given, "reward_rule": ["a", "b"]})
    assert [len(each.levels) for each in found.factors] == [3, 2, 2]


def test_several_minds_are_a_factor_and_those_of_a_condition_are_not() -> None:
    found = audit_plan(experiment(), minds=["fixed:3", "fixed:4"], given={"format": None})
    assert [each.name for each in found.factors] == ["format", "model"]
    assert {str(each.minds["baseline"]) for each in found.plans} == {"fixed:3", "fixed:4"}

    found = audit_plan(experiment(), minds={"baseline": "fixed:3"}, given={"format": None})
    assert found.plans[0].minds == {"baseline": "fixed:3", "cooperative": "classical"}


def test_each_cell_but_the_first_changes_one_factor() -> None:
    given = {"wording": ["default", "reworded_1", "reworded_2"], "format": None}
    found = audit_plan(experiment(), given=given, runs=1)

    assert found.levels == [(0, 0), (1, 0), (2, 0), (0, 1)]
    assert [found.change(cell) for cell in range(4)] == [
        ("", ""), ("wording", "reworded_1"), ("wording", "reworded_2"), ("format", "json"),
    ]  # fmt: skip
    assert found.cell_labels(2) == ["reworded_2", "labelled"]
    assert found.plans[2].cells[0].parameters["variant"] == "reworded_2"


def test_an_audit_above_a_budget_is_refused_with_its_costs() -> None:
    with pytest.raises(UsageError) as refused:
        audit_plan(experiment(), minds=[LLM], runs=3, max_asks=10)
    said = str(refused.value)
    assert said.startswith("The audit has 5 cells and costs up to ")
    least = int(said.partition("--max-asks ")[2].partition(",")[0])
    fits = audit_plan(experiment(), minds=[LLM], runs=3, max_asks=least)
    assert len(fits.plans) == 5
    with pytest.raises(UsageError, match="--budget-usd 0"):
        audit_plan(experiment(), minds=[LLM], runs=3, budget_usd=1e-6)
    free = audit_plan(experiment(), runs=3, budget_usd=0.0)  # classical minds cost nothing
    assert len(free.plans) == 5


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"given": {"wordng": None}}, "Did you mean 'wording'"),
        ({"given": {"wording": ["default"]}}, "needs at least two levels"),
        ({"given": {"wording": ["default", "default"]}}, "needs at least two levels"),
        ({"given": {"temperature": None}}, "--factor temperature=A,B"),
        ({"given": {"minds": ["a", "b"]}}, "give --minds several times"),
        ({"given": {"condition": ["baseline", "cooperative"]}}, "differ in condition"),
        ({"given": {"wording": ["default", "no_such"]}}, "no_such"),
        ({"given": {"options": None}}, "changes no prompt"),
    ],
)
def test_what_cannot_be_planned_is_one_line(given, says) -> None:
    with pytest.raises(UsageError) as refused:
        audit_plan(experiment(), **given)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_experiment_without_a_claim_cannot_be_audited() -> None:
    with pytest.raises(UsageError, match="has no claims"):
        audit_plan(load_experiment("kbc-agreeableness"))


def test_where_nothing_can_be_varied_it_says_what_can() -> None:
    text = EXPERIMENT.replace('scenario = "kbc"', 'scenario = "public-goods"')
    text = text.replace("n_rounds = 1 }", 'n_rounds = 1, answer_format = "json" }')
    text = text.replace(
        'condition = "cooperative" }', 'answer_format = "paper", variant = "reworded_1" }'
    )
    text = text.replace('columns = "mean"', 'columns = "contribution"')
    text = text.replace("n_players = 12", "n_players = 4")

    with pytest.raises(UsageError, match="--factor NAME=A,B, or several --minds"):
        audit_plan(parse_experiment("own", text))
