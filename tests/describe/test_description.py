"""Descriptions as data: parameters, columns and prompts are those of the model."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.describe import as_markdown, describe
from sabm_mesa.models.registry import SCENARIOS, scenario

from .support import described


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_columns_are_those_of_a_run(name: str) -> None:
    model = scenario(name)(n_rounds=2, rng=1)
    model.run_model()
    data = described(name)
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


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_numeric_parameter_has_a_range_or_says_that_it_has_none(name: str) -> None:
    for parameter, each in described(name)["parameters"].items():
        if re.search(r"\b(int|float)\b", each["type"].partition("[")[0]):
            assert (each["range"] is None) == ("without fixed limits" in each["legal"]), parameter
    assert described("bertrand")["parameters"]["n_firms"]["range"] == [2, 26]
    assert described("bertrand")["parameters"]["demand"]["choices"] == ["linear", "logit"]
    assert "| `initial_prices` | none | a number without fixed limits" in as_markdown(
        described("bertrand")
    )


def test_the_text_shows_what_a_condition_changes() -> None:
    text = as_markdown(described("kbc"))
    assert "`uncooperative`\n\n```text\nact_line: You do not like to cooperate with the" in text
    assert "`baseline`\n\n```text\n(changes nothing: the prompts below)\n" in text


def test_prompts_have_their_hashes() -> None:
    book = KeynesianBeautyContest().book
    assert {
        entry: each["sha256"] for entry, each in described("kbc")["prompts"].items()
    } == book.hashes()
    assert described("kbc")["prompts_sha256"] == book.digest()
    assert f"`[act] {book.hashes()['act']}`\n\n```text\n" in as_markdown(described("kbc"))


def test_annotations_that_are_no_texts() -> None:
    class Contest(KeynesianBeautyContest):
        def __init__(self, n=3, more=4, **settings) -> None:
            super().__init__(n_players=n + more, **settings)

        __init__.__annotations__["n"] = int | None

    parameters = describe(Contest)["parameters"]
    n, more = parameters["n"], parameters["more"]
    assert (n["type"], n["default"], n["meaning"]) == ("int | None", 3, "")
    assert (more["type"], more["default"]) == ("any", 4)


def test_describing_and_pages_import_no_statistics_plots_viewer_or_client() -> None:
    code = (
        "import sys; from sabm_mesa.describe import as_markdown, describe; "
        "from sabm_mesa.models.registry import SCENARIOS, scenario; "
        # The equilibria of a game and the first contributions of people need SciPy.
        "names = [name for name in SCENARIOS if name not in ('games', 'public-goods')]; "
        "models = [scenario(name) for name in names]; "
        "[(model.page, model.class_game) for model in models]; "
        "print(*(len(as_markdown(describe(model))) for model in models)); "
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lengths, modules = done.stdout.splitlines()
    assert len(lengths.split()) == len(SCENARIOS) - 2
    heavy = {"scipy.stats", "scipy.optimize", "matplotlib", "solara", "openai", "aiohttp"}
    assert heavy & set(modules.split()) == set()
