"""`sabm describe`: what a person finds out about a scenario before running it."""

from __future__ import annotations

import json

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.describe import as_text, describe
from sabm_mesa.registry import SCENARIOS, scenario

from .support import Sabm

KBC = describe(KeynesianBeautyContest)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_text_and_the_json_say_the_same(sabm: Sabm, name: str) -> None:
    text = sabm("describe", name).out
    data = json.loads(sabm("describe", name, "--json").out)
    assert data["name"] == name
    assert data["spec_sheet"] in text
    groups = ("parameters", "conditions", "variants", "personas", "prompts", "answer_forms")
    assert all(entry in text for group in groups for entry in data[group])
    assert all(mind in text for mind in data["minds"])
    assert ", ".join(data["model_columns"]) in text
    assert ", ".join(data["agent_columns"]) in text


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_columns_are_those_of_a_run(name: str) -> None:
    model = scenario(name)(n_rounds=2, rng=1)
    model.run_model()
    data = describe(scenario(name))
    assert data["model_columns"] == list(model.model_frame().columns)
    assert data["agent_columns"] == list(model.agent_frame().columns)
    assert set(model.datacollector.model_reporters) < set(data["model_columns"])
    assert set(model.datacollector.agent_reporters) < set(data["agent_columns"])


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_parameter_has_its_default_and_a_type_without_aliases(name: str) -> None:
    model = scenario(name)()
    parameters = describe(type(model))["parameters"]
    assert {p: each["default"] for p, each in parameters.items()} == model.parameters
    aliases = {"Personas", "Minds", "Seed", "Prices", "Exits", "Obstacles", "Format", "any"}
    assert not [p for p, each in parameters.items() if each["type"] in aliases]


def test_prompts_that_only_another_scenario_uses_are_left_out(sabm: Sabm) -> None:
    fishery = describe(scenario("fishery"))["prompts"]
    assert {"fishery_role", "act", "number_paper"} <= set(fishery)
    assert not [entry for entry in fishery if entry.startswith(("pasture_", "pollution_"))]
    text = sabm("describe", "fishery").out
    assert "[act]" in text
    assert "[number_paper]" not in text


def test_the_prompts_of_a_condition_and_none_at_all(sabm: Sabm) -> None:
    line = "You do not like to cooperate with the other"
    assert line in sabm("describe", "kbc", "--condition", "uncooperative").out.split("Prompts,")[1]
    assert line not in sabm("describe", "kbc").out.split("Prompts,")[1]
    rules = sabm("describe", "kbc", "--no-prompts").out
    assert KBC["spec_sheet"] in rules
    assert "Conditions\n----------\nbaseline, " in rules
    assert "{form}" not in rules
    assert sabm("describe", "kbc", "--condition", "nice").status == 2


def test_types_of_parameters() -> None:
    types = {name: each["type"] for name, each in KBC["parameters"].items()}
    assert types["n_players"] == "int"
    assert types["temperature"] == "float | None"
    assert types["personas"] == "str | Mapping[str, int] | Sequence[str] | None"
    assert types["answer_format"] == "Literal['paper', 'json']"
    assert types["prompts"] == "str | Path | None"


def test_the_text_shows_what_a_condition_and_a_variant_change() -> None:
    text = as_text(KBC)
    assert "\nuncooperative\n  act_line: You do not like to cooperate with the other" in text
    assert "\nbaseline\n  (changes nothing: the prompts below)\n" in text
    assert "\n  act: Which number do you choose, and why? {form}\n" in text


def test_the_data_holds_what_a_condition_and_a_variant_change() -> None:
    assert KBC["conditions"]["baseline"] == {}
    assert set(KBC["conditions"]["cooperative"]) == {"communicate_line", "act_line"}
    assert set(KBC["variants"]["screening"]) == {"scenario", "act"}


def test_prompts_have_their_hashes() -> None:
    book = KeynesianBeautyContest().book
    assert {entry: each["sha256"] for entry, each in KBC["prompts"].items()} == book.hashes()
    assert KBC["prompts_sha256"] == book.digest()


def test_annotations_that_are_no_texts() -> None:
    class Contest(KeynesianBeautyContest):
        def __init__(self, n=3, more=4, **settings) -> None:
            super().__init__(n_players=n + more, **settings)

        __init__.__annotations__["n"] = int | None

    parameters = describe(Contest)["parameters"]
    assert parameters["n"] == {"type": "int | None", "default": 3}
    assert parameters["more"] == {"type": "any", "default": 4}
