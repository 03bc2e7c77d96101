"""ODD descriptions: complete for every scenario, true to the code, and to what was run."""

from __future__ import annotations

import inspect
import re
import tomllib
from datetime import timedelta
from functools import cache
from shutil import copy
from typing import ClassVar

import pytest

from sabm_mesa import KeynesianBeautyContest, Observation, SmartAgent, action, communication
from sabm_mesa.agents.memory_stream import HIGHEST, LOWEST
from sabm_mesa.analysis.human_contributions import published
from sabm_mesa.analysis.theory.guessing_game import nagel_level, reward_per_winner
from sabm_mesa.describe import as_markdown, as_text, describe
from sabm_mesa.errors import MindSpecError, ParameterError
from sabm_mesa.minds.classical.emergency_evacuation import _trait
from sabm_mesa.models.evacuation_crowd import CONGESTED, HEARING
from sabm_mesa.models.sight import disc
from sabm_mesa.odd.docs_of_code import all_entries
from sabm_mesa.odd.process import questions, rule_in_words
from sabm_mesa.odd.texts import CONCEPTS, in_figures, odd_file, references
from sabm_mesa.registry import SCENARIOS, UNLISTED, model_at, scenario

from .support import TINY, Cell, Tiny

ELEMENTS = [
    "1 Purpose and patterns",
    "2 Entities, state variables, and scales",
    "3 Process overview and scheduling",
    "4 Design concepts",
    "5 Initialization",
    "6 Input data",
    "7 Submodels",
]
WRITTEN_OUT = {
    "kbc": {"100", "50"},  # the reward, and the reference of the levels
    "fishery": {"9"},  # the width of the scale of importance
    "evacuation": {"45", "5", "3"},  # degrees; cells of hearing, a neutral trait; congestion
    "public-goods": {"1.6", "4"},  # the laboratory's multiplier and group
}
"""Figures that stand in the texts themselves, since the code has them in no constant."""
SMALL = {"0", "1", "2", "3", "4", "7"}
"""Figures of formulas, scales of levels, and numbers of elements."""


@cache
def described(name: str) -> dict:
    return describe(scenario(name))


def said(description: dict, *numbers: str) -> str:
    """What some sections say, or all of them."""
    return " ".join(
        str(each["blocks"])
        for each in description["odd"]
        if not numbers or each["number"] in numbers
    )


def section(description: dict, title: str) -> str:
    return next(str(each["blocks"]) for each in description["odd"] if each["title"] == title)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_has_all_elements_and_design_concepts(name: str) -> None:
    found = described(name)
    headings = [f"{each['number']} {each['title']}" for each in found["odd"]]
    whole = [heading for heading in headings if "." not in heading.split(" ")[0]]
    assert whole == ELEMENTS
    concepts = [heading for heading in headings if heading.startswith("4.")]
    assert concepts == [f"4.{n} {title}" for n, title in enumerate(CONCEPTS.values(), 1)]
    assert found["odd_missing"] == []
    empty = [f"{each['number']}" for each in found["odd"] if not all(each["blocks"])]
    assert empty == []
    for title in ("Minds: who decides", "Unreadable answers", "Calibration and our own choices"):
        assert section(found, title)
    text, markdown = as_text(found), as_markdown(found)
    assert all(heading in text and f"# {heading}\n" in markdown for heading in headings)
    assert "Not written down" not in text
    assert not re.search(r"\{\w+\}", said(found).replace("{parameter: value}", ""))


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_parameter_column_and_mind_has_its_meaning(name: str) -> None:
    found = described(name)
    parameters = section(found, "Parameters")
    for parameter, each in found["parameters"].items():
        if parameter != "rng":
            shown = in_figures(each["default"])
            assert f"['{parameter}', '{shown}', {each['meaning']!r}]" in parameters
            assert each["meaning"]
            assert each["value"] == each["default"]
    for columns in (found["model_columns"], found["agent_columns"]):
        tables = [b for b in _blocks(found, "Observation") if b[0] == ["column", "meaning"]]
        told = next(table for table in tables if [row[0] for row in table[1:]] == columns)
        assert [row[0] for row in told[1:] if not row[1]] == []
    minds = _blocks(found, "Minds: who decides")[0]
    assert set(found["minds"]) < set(minds)
    assert all(minds.values())


def _blocks(description: dict, title: str) -> list:
    return next(each["blocks"] for each in description["odd"] if each["title"] == title)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_steps_are_the_phases_of_the_model(name: str) -> None:
    model = scenario(name)
    steps = next(b for b in _blocks(described(name), ELEMENTS[2][2:]) if isinstance(b, list))
    told = [match[1] for step in steps if (match := re.match(r"Phase `(\w+)`", step))]
    assert told == [phase.name for phase in model.phases]
    asked = set(re.findall(r"`(\w+)`", " ".join(s.partition("Questions:")[2] for s in steps)))
    assert asked
    assert asked <= {*described(name)["prompts"], "rules"}


@pytest.mark.parametrize("name", [*WRITTEN_OUT, *sorted(set(SCENARIOS) - set(WRITTEN_OUT))])
def test_figures_come_from_the_code(name: str) -> None:
    texts = tomllib.loads(odd_file(scenario(name).prompt_file).read_text("utf-8"))
    tables = [*texts["submodels"].values(), *texts.get("columns", {}).values()]
    whole = " ".join([*(text for text in texts.values() if isinstance(text, str)), *tables])
    without = re.sub(r"\{\w+\}|\b(?:19|20)\d\d\b", "", whole)
    figures = set(re.findall(r"(?<!\w)\d+(?:\.\d+)?", without))
    family = "fishery" if scenario(name).prompt_file == "commons" else name
    assert figures - SMALL <= WRITTEN_OUT.get(family, set())


def test_figures_that_are_written_out_are_those_of_the_code() -> None:
    assert reward_per_winner(1, "independent") == 100
    assert inspect.signature(nagel_level).parameters["reference"].default == 50
    assert HIGHEST - LOWEST == 9
    assert disc(5) == HEARING
    assert CONGESTED == 3
    assert _trait({"afraid": 3}, "none", 5) == 5
    assert (published()["multiplier"], published()["group_size"]) == (1.6, 4)
    assert round(published()["contributions"][0] / published()["endowment"], 1) == 0.4


def test_the_texts_have_the_figures_of_the_run() -> None:
    market = describe(scenario("bertrand"), "cooperative", {"demand": "logit", "n_firms": 3})
    text = section(market, "Demand and profit") + section(market, "Prices")
    assert "`demand` = logit, a = 2, c = 1" in text
    assert "`initial_prices` (none), or else the cost, 1" in said(market, "5")
    assert "There are 3 firms, named Firm 1, Firm 2, Firm 3." in said(market, "5")
    assert "2 × classical" in said(described("bertrand"), "5")
    assert "condition': 'cooperative'" in said(market, "5")
    assert "'logit (default linear)'" in section(market, "Parameters")
    assert "Here they are 6 and 8, with profits of 3200 and 3600 a firm" in said(
        described("bertrand")
    )
    short = describe(KeynesianBeautyContest, parameters={"n_players": 7, "n_rounds": 2})
    assert "A run starts with 7 players" in said(short, "5")
    assert "after 2 rounds (`n_rounds`)" in said(short, "3")
    assert "24 " not in said(short, "2", "3", "5", "6")


def test_minds_that_need_a_key_are_named_and_not_set_up() -> None:
    minds = {"llm:gpt-x": 3, "human": 1, "gguf:model.gguf": 1, "fixed:7": 2}
    found = describe(KeynesianBeautyContest, parameters={"n_players": 7, "minds": minds})
    assert "3 × llm:gpt-x" in said(found, "5")
    rules = _blocks(found, "Minds: who decides")[0]
    assert "temperature 0.7, top_p 1, 256 tokens" in rules["llm:gpt-x"]
    assert rules["human"].startswith("A person")
    assert rules["gguf:model.gguf"].startswith("A language model that is run in the process.")
    assert rules["fixed:7"] == "Always answers 7."
    left = {"minds": "llm:m", "top_p": None, "max_tokens": None}
    for temperature, said_of_it in [
        (0.5, "temperature 0.5 (the rest is left to the server); "),
        (None, "Sampling is left to the server; answer format `paper`."),
    ]:
        found = describe(KeynesianBeautyContest, parameters=left | {"temperature": temperature})
        assert said_of_it in _blocks(found, "Minds: who decides")[0]["llm:m"]
    embedded = {"memory_relevance": "embedding:e", "minds": "llm:m"}
    commons = describe(scenario("fishery"), parameters=embedded)
    assert "(`memory_relevance`: embedding:e)" in said(commons)
    with pytest.raises(MindSpecError):
        describe(KeynesianBeautyContest, parameters={"minds": "llm:"})


def test_a_description_does_not_depend_on_chance() -> None:
    drawn = {"high": [50, 200]}
    first, again = (describe(scenario("beauty-contest"), parameters=drawn) for _ in range(2))
    assert first == again
    assert "from 0 to `high` (50, 200)" in said(first)
    assert describe(scenario("evacuation")) == described("evacuation")


def test_a_scenario_without_texts_says_what_is_missing() -> None:
    found = describe(Tiny)
    assert found["odd_missing"][0] == "1 Purpose and patterns"
    assert "4.2 Emergence" in found["odd_missing"]
    assert found["odd_missing"][-1] == "7 Submodels"
    text = as_text(found)
    assert "Not written down: 1 Purpose and patterns; 2 Entities" in " ".join(text.split())
    assert "tiny.odd.toml beside the prompt file" in " ".join(text.split())
    assert "1. Phase `act`. Order: all decide at the same time" in text
    assert "Questions: `act` (an integer from 0 to 100)." in text
    assert _blocks(found, "Sensing")[1:] == [
        "`Seen`",
        {"persona": all_entries(Observation, "Attributes")["persona"], "me": "", "seen": ""},
    ]
    assert "  n: 3\n" in text
    assert as_markdown(found).startswith("# Tiny (`tiny`)\n")


def test_texts_beside_a_prompt_file_of_ones_own(tmp_path) -> None:
    class Own(Tiny):
        prompt_file = str(tmp_path / "own.toml")

    copy(TINY, tmp_path / "own.toml")
    texts = tmp_path / "own.odd.toml"
    texts.write_text(
        'purpose = "For {n} of {source}, at most {highest}."\n[columns]\n"s*m" = "the sum."\n'
        '[submodels]\nSum = "All values."\n[values]\nsource = "model.scenario_name"\n'
        'highest = "sabm_mesa.agents.memory_stream:HIGHEST"\n'
    )
    found = describe(Own, parameters={"n": 4})
    assert _blocks(found, "Purpose and patterns") == ["For 4 of tiny, at most 10."]
    assert _blocks(found, "Sum") == ["All values."]
    assert ["sum", "the sum."] in _blocks(found, "Observation")[1]
    assert "1 Purpose and patterns" not in found["odd_missing"]
    texts.write_text('scenarios = ["other"]\npurpose = "Of another."')
    assert "1 Purpose and patterns" in describe(Own)["odd_missing"]
    for wrong, line in [
        ('purpos = "x"', "unknown entry 'purpos'; known: purpose"),
        ("purpose = 1", "'purpose' has to be text"),
        ('scenarios = "own"', "'scenarios' has to be a list of names"),
        ('values = "x"', "[values] has to be a table of texts"),
        ('purpose = "{m}"', "{m} is neither a parameter nor found at None"),
        ('purpose = "{"', "unbalanced braces"),
        ('purpose = "{m}"\n[values]\nm = "nosuch.module:M"', "found at 'nosuch.module:M'"),
        ("purpose", "is not valid TOML"),
    ]:
        texts.write_text(wrong)
        with pytest.raises(ParameterError, match=re.escape(line)):
            describe(Own)


def test_the_spec_sheet_stands_in_for_texts(monkeypatch) -> None:
    sheet = (
        "Title.\n\nPurpose\n    To\n    see.\n\nDesign concepts\n    Emergence: a sum.\n\n"
        "Initialization and input\n    Round 0 has ``n`` 3.\n\nDeviations from it\n    None.\n"
    )
    monkeypatch.setattr(inspect.getmodule(Tiny), "__doc__", sheet)
    found = describe(Tiny)
    assert _blocks(found, "Purpose and patterns") == ["To see."]
    assert _blocks(found, "Design concepts") == ["Emergence: a sum."]
    assert _blocks(found, "Initialization")[0] == "Round 0 has `n` 3."
    assert "Initialization" in _blocks(found, "Input data")[0]
    assert _blocks(found, "Deviations from it") == ["None."]
    assert [each for each in found["odd_missing"] if each.startswith("4.")] == []


def always(model) -> bool:
    return model is not None


class Hearer(SmartAgent):
    async def communicate(self):
        return await self._answer("act")

    async def _answer(self, name):
        return await self.ask("communicate", ..., name)

    async def act(self):
        spec = None
        return await self.ask("act", spec, None)


def test_rules_and_questions_are_read_from_the_code() -> None:
    class Talkers(Tiny):
        phases: ClassVar = (
            communication(when=lambda m: m.round > 0 and m.sum, who=lambda model: model.cells),
            action(when=always),
        )

    talk, act = Talkers.phases
    assert rule_in_words(talk.when) == "`round > 0 and sum`"
    assert rule_in_words(talk.who) == "`cells`"
    assert rule_in_words(act.when) == "`always`"
    assert rule_in_words(eval("lambda m: m.x")) == "a rule in the code"
    entries = ("communicate", "act")
    assert questions(Hearer, "communicate", entries) == {"act": "", "communicate": ""}
    assert questions(Hearer, "act", entries) == {"act": ""}
    assert questions(Cell, "communicate", entries) == {"communicate": ""}


class Watcher(SmartAgent):
    """Only watches."""

    value = None


class Watched(Tiny):
    phases: ClassVar = (action(who=lambda model: model.cells),)

    def __init__(self, **settings) -> None:
        super().__init__(**settings)
        self.populate(Watcher, 2)


def test_agents_that_take_no_part_in_a_phase() -> None:
    model = Watched(n_rounds=1, minds="fixed:3", recording=False)
    model.run_model()
    assert model.sum == 9
    text = as_text(describe(Watched))
    assert "Agents: 2 of `Watcher`. Only watches. State variables:" in text
    assert "Who takes part: `cells`." in text
    assert "Questions: `act` (an integer from 0 to 100)." in " ".join(text.split())


def test_arguments_may_have_their_types() -> None:
    class Shop:
        """A shop.

        Args:
            n_goods (int): how many goods
                there are.
            price (float | None, optional): what one costs.
            open: whether it is.
        """

    assert all_entries(Shop, "Args") == {
        "n_goods": "how many goods there are.",
        "price": "what one costs.",
        "open": "whether it is.",
    }


def test_figures_in_words() -> None:
    numbers = [2 / 3, 1 / 150, 0.1, 3200.0000000000005, 4e-6, 12]
    assert [*map(in_figures, numbers)] == ["2/3", "1/150", "0.1", "3200", "4e-06", "12"]
    others = [True, None, (1, 0.5), {"a": 2}, timedelta(days=63), "x"]
    assert [*map(in_figures, others)] == ["true", "none", "1, 0.5", "a: 2", "63", "x"]


def test_references_are_those_that_are_named() -> None:
    text = "Fischbacher & Gächter 2010 (types); Calvano et al.; steps after Nagel 1995"
    assert [each.split(",")[0] for each in references(text)] == ["Fischbacher", "Nagel"]
    cited = as_markdown(described("bertrand")).partition("## References")[2]
    assert "second update" in cited
    assert "Zero-knowledge cooperation" in cited


@pytest.mark.parametrize("name", ["commons-screening", "path-test"])
def test_models_of_single_commands_have_their_spec_sheets(name: str) -> None:
    model = model_at(UNLISTED[name])
    assert model is not None
    found = describe(model)
    assert _blocks(found, "Purpose and patterns")
    assert "fishery" not in _blocks(found, "Purpose and patterns")[0]
    assert [row[0] for row in _blocks(found, "Observation")[1]][1:] == found["model_columns"]
