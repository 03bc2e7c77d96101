"""ODD descriptions: complete for every scenario, and true to its code and parameters."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from shutil import copy
from typing import Annotated, Any, ClassVar, Literal

import pytest
from annotated_types import Ge, Le

from sabm_mesa import (
    ClassicalMind,
    KeynesianBeautyContest,
    Phase,
    SmartAgent,
    action,
)
from sabm_mesa.agents.memory import HIGHEST, LOWEST
from sabm_mesa.analysis.contributions import published
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.describe import as_markdown, describe, describe_recording
from sabm_mesa.describe.texts import CONCEPTS, in_figures, odd_file, references
from sabm_mesa.errors import MindSpecError, ParameterError
from sabm_mesa.models.beauty_contest.guessing import nagel_level, reward_per_winner
from sabm_mesa.models.evacuation.model import CONGESTED, HEARING
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.recording import Recording
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.run import run_all
from tests.core.support import TINY, Cell, Tiny, neighbours

from .support import blocks, described, said, section, words

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
NAME = re.compile(r"`(\w+)`")
SMALL = {"0", "1", "2", "3", "4", "7"}
"""Figures of formulas, scales of levels, and numbers of elements."""


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
    for title in ("Minds", "Unreadable answers", "Calibration and our own choices"):
        assert section(found, title)
    markdown = as_markdown(found)
    assert all(f"# {heading}\n" in markdown for heading in headings)
    assert "No text of yours in: " not in markdown
    assert not re.search(r"\{\w+\}", said(found).replace("{parameter: value}", ""))


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_parameter_column_and_mind_has_its_meaning(name: str) -> None:
    found = described(name)
    parameters = section(found, "Parameters")
    for parameter, each in found["parameters"].items():
        if parameter != "rng":
            shown = in_figures(each["default"])
            row = [parameter, shown, each["legal"], each["meaning"]]
            assert str(row) in parameters
            assert each["meaning"]
            assert each["value"] == each["default"]
    for columns in (found["model_columns"], found["agent_columns"]):
        tables = [b for b in blocks(found, "Observation") if b[0] == ["column", "meaning"]]
        told = next(table for table in tables if [row[0] for row in table[1:]] == columns)
        assert [row[0] for row in told[1:] if not row[1]] == []
    assert "rng" not in [row[0] for row in blocks(found, "Parameters")[0]]
    minds = blocks(found, "Minds")[0]
    assert set(found["minds"]) < set(minds)
    assert all(minds.values())


@pytest.mark.parametrize("name", [*WRITTEN_OUT, *sorted(set(SCENARIOS) - set(WRITTEN_OUT))])
def test_figures_come_from_the_code(name: str) -> None:
    texts = tomllib.loads(odd_file(scenario(name)).read_text("utf-8"))
    tables = [*texts["submodels"].values(), *texts.get("columns", {}).values()]
    whole = " ".join([*(text for text in texts.values() if isinstance(text, str)), *tables])
    without = re.sub(r"\{\w+\}|\b(?:19|20)\d\d\b", "", whole)
    figures = set(re.findall(r"(?<!\w)\d+(?:\.\d+)?", without))
    family = "fishery" if scenario(name).prompt_file == scenario("fishery").prompt_file else name
    assert figures - SMALL <= WRITTEN_OUT.get(family, set())


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("name", SCENARIOS)
def test_each_phase_names_the_questions_that_it_asks(name: str, tmp_path) -> None:
    model = scenario(name)
    with Recording(tmp_path / "recording.sqlite") as recording:
        run_all(model, {"n_rounds": 2}, seed=1, recording=recording)
    asks = Recorded(tmp_path / "recording.sqlite").asks()
    asked = set(zip(asks.phase, asks.name, strict=True))
    docs = [(phase.name, name) for phase in model.phases for name in NAME.findall(phase.doc)]
    assert asked
    assert asked <= set(docs)
    choices = {name for each in parameters_of(model).values() for name in each.choices}
    known = {*PromptBook(model.prompt_file).entries, *parameters_of(model), *choices}
    assert [each for _, each in docs if each not in known] == []


def test_the_steps_are_the_phases_of_the_model() -> None:
    steps = next(b for b in blocks(described("bertrand"), ELEMENTS[2][2:]) if isinstance(b, list))
    assert [step.partition(": ")[0] for step in steps] == [
        "Phase `plan`", "Phase `communicate`", "Phase `plan`", "Phase `act`",
        "End of the round", "Observation",
    ]  # fmt: skip
    assert steps[1] == (
        "Phase `communicate`: each firm says something to the other firms (`communicate`, at most "
        "60 words); later speakers hear it. It takes place if the firms talk in this "
        "round. Order: one after another, in an order that is drawn anew each time; each "
        "agent sees the effect of the decisions before. Each agent has 3 turns."
    )


class Talker(Cell):
    """A cell that talks."""

    async def communicate(self):
        """Say something.

        Returns:
            The words.
        """
        return await super().communicate()


def test_figures_that_are_written_out_are_those_of_the_code() -> None:
    assert reward_per_winner(1, "independent") == 100
    assert inspect.signature(nagel_level).parameters["reference"].default == 50
    assert HIGHEST - LOWEST == 9
    assert HEARING == 5
    assert CONGESTED == 3
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
    assert "at most 2 rounds (`n_rounds`)" in said(short, "3")
    assert "24 " not in said(short, "2", "3", "5", "6")


def test_minds_that_need_a_key_are_named_and_not_set_up() -> None:
    minds = {"llm:gpt-x": 3, "human": 1, "gguf:model.gguf": 1, "fixed:7": 2}
    found = describe(KeynesianBeautyContest, parameters={"n_players": 7, "minds": minds})
    assert "3 × llm:gpt-x" in said(found, "5")
    rules = blocks(found, "Minds")[0]
    assert "temperature 0.7, top_p 1, at most 256 tokens" in rules["llm:gpt-x"]
    assert rules["human"].startswith("A person")
    assert rules["gguf:model.gguf"].startswith("A language model that runs on this machine.")
    assert rules["fixed:7"] == "Always answers 7."
    left = {"minds": "llm:m", "top_p": None, "max_tokens": None}
    for temperature, said_of_it in [
        (0.5, "temperature 0.5 (the rest is left to the server); "),
        (None, "Sampling is left to the server; answer format `labelled`."),
    ]:
        found = describe(KeynesianBeautyContest, parameters=left | {"temperature": temperature})
        assert said_of_it in blocks(found, "Minds")[0]["llm:m"]
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
    assert blocks(found, "Purpose and patterns")[0] == inspect.getdoc(Tiny)
    assert found["odd_missing"][0] == "2 Entities, state variables, and scales"
    assert "4.2 Emergence" in found["odd_missing"]
    assert found["odd_missing"][-1] == "7 Submodels"
    text = as_markdown(found)
    assert text.startswith("# Tiny (`tiny`)\n\nA tiny scenario for the tests of the core: agents")
    missing = "2, 3, 4.1, 4.2, 4.3, 4.4, 4.5, 4.6, 4.7, 4.8, 4.9, 4.10, 4.11, 5, 6, 7"
    assert f"No text of yours in: {missing}. Write them into tiny.odd.toml" in words(text)
    assert "1. Phase `act`. Order: all decide at the same time" in text
    assert blocks(found, "Sensing")[1:] == [
        {"communicate": "me, seen", "act": "me, seen"},
    ]
    assert "| `n` | 3 | a whole number without fixed limits |  |\n" in text


def test_texts_beside_a_prompt_file_of_ones_own(tmp_path) -> None:
    class Own(Tiny):
        prompt_file = str(tmp_path / "own.toml")

    copy(TINY, tmp_path / "own.toml")
    texts = tmp_path / "own.odd.toml"
    texts.write_text(
        'purpose = "For {n} of {source}, at most {highest}."\n[columns]\n"s*m" = "the sum."\n'
        '[submodels]\nSum = "All values."\n[values]\nsource = "model.scenario_name"\n'
        'highest = "sabm_mesa.agents.memory:HIGHEST"\n'
    )
    found = describe(Own, parameters={"n": 4})
    assert blocks(found, "Purpose and patterns") == ["For 4 of tiny, at most 10."]
    assert blocks(found, "Sum") == ["All values."]
    assert ["sum", "the sum."] in blocks(found, "Observation")[1]
    assert "7 Submodels" not in found["odd_missing"]
    texts.write_text('scenarios = ["other"]\npurpose = "Of another."')
    assert "7 Submodels" in describe(Own)["odd_missing"]
    for wrong, line in [
        ('purpos = "x"', "unknown entry 'purpos'; known: purpose"),
        ("purpose = 1", "'purpose' must be text"),
        ('scenarios = "own"', "'scenarios' must be a list of names"),
        ('values = "x"', "[values] must be a table of texts"),
        ('purpose = "{m}"', "{m} is neither a parameter nor found at None"),
        ('purpose = "{m}"\n[values]\nm = "nosuch.module:M"', "found at 'nosuch.module:M'"),
        ("purpose", "is not valid TOML"),
    ]:
        texts.write_text(wrong)
        with pytest.raises(ParameterError, match=re.escape(line)):
            describe(Own)


def test_figures_in_words() -> None:
    numbers = [2 / 3, 0.66667, 1 / 150, 0.1, 3200.0000000000005, 4e-6, 12]
    shown = ["2/3", "0.6667", "1/150", "0.1", "3200", "4e-06", "12"]
    assert [*map(in_figures, numbers)] == shown
    others = [True, None, (1, 0.5), {"a": 2}, timedelta(days=63), "x"]
    assert [*map(in_figures, others)] == ["true", "none", "1, 0.5", "a: 2", "63", "x"]


def test_references_are_those_that_are_named() -> None:
    text = "Fischbacher & Gächter 2010 (types); Calvano et al.; steps after Nagel 1995"
    assert [each.split(",")[0] for each in references(text)] == ["Fischbacher", "Nagel"]
    cited = as_markdown(described("bertrand")).partition("## References")[2]
    assert "second update" in cited
    assert "Zero-knowledge cooperation" in cited


def test_minds_of_theory_that_know_more_than_the_prompts_tell_are_listed_under_sensing() -> None:
    known = blocks(described("bertrand"), "Sensing")[-1]

    assert known["classical:best_response"] == "`market`, `high`"
    assert known["classical:tit_for_tat"] == "`high`"
    assert "informed" not in str(blocks(described("kbc"), "Sensing"))


# Sections by hand.


def step(*phases: Phase, agents: type[SmartAgent] = Talker) -> str:
    """The steps of a round as one text."""

    class Made(Tiny):
        def __init__(self, **settings) -> None:
            super().__init__(**settings)
            self.populate(agents, 1)

    Made.phases = phases
    return "\n".join(blocks(describe(Made), ELEMENTS[2][2:])[0])


def done(model: Tiny, cell: Cell) -> bool:
    """Whether all is done."""
    return bool(model and cell)


@pytest.mark.parametrize(
    ("phase", "there", "not_there"),
    [
        (action(), ["at the same time, on the same"], ["turns", "acts at most", "Participants"]),
        (action(turns=2), ["has 2 turns."], []),
        (action(at_most=2), ["acts at most 2 times in its turn; the next"], ["until"]),
        (action(at_most=3, until=done), ["3 times in its turn, until all is done; the"], []),
        (action(at_most=3, until=lambda *_: True), ["turn, until it is done;"], []),
        (action(when=lambda _: True), ["`act`. Order"], ["takes place"]),
        (action(who=Talker), ["Participants: the agents of `Talker`."], []),
        (action(who=Cell), ["`act`. Order"], ["Participants"]),
        (action(reach=neighbours, order="fixed"), ["at the same time, with the same result"], []),
    ],
)
def test_a_phase_tells_what_is_not_the_rule(phase: Phase, there: list, not_there: list) -> None:
    text = step(phase).split("\n")[0]
    assert [each for each in there if each not in text] == []
    assert [each for each in not_there if each in text] == []


class Typed(Tiny):
    """A model.

    Args:
        n: number of cells.
    """

    def __init__(
        self,
        n: Annotated[int, Ge(1), Le(9)] = 3,
        low: Annotated[float, Ge(0)] = 0.5,
        high: Annotated[float, Le(4)] = 2.0,
        free: int | None = None,
        names: list[str] | None = None,
        sizes: Sequence[int] = (),
        table: Mapping[str, float] | None = None,
        tables: tuple[dict[str, int], ...] = (),
        kind: Literal["a", "b"] = "a",
        on: bool = False,
        path: str | Path | None = None,
        several: list = (),
        **settings,
    ) -> None:
        super().__init__(n=n, **settings)
        self.given = (low, high, free, names, sizes, table, tables, kind, on, path, several)


@pytest.mark.parametrize(
    ("name", "type_", "limits", "legal"),
    [
        ("n", "int", [1, 9], "a whole number from 1 to 9"),
        ("low", "float", [0, None], "a number of 0 or more"),
        ("high", "float", [None, 4], "a number of 4 or less"),
        ("free", "int | None", None, "a whole number without fixed limits, or none"),
        ("names", "list[str] | None", None, "a list, or none"),
        ("sizes", "Sequence[int]", None, "a list"),
        ("table", "Mapping[str, float] | None", None, "a mapping, or none"),
        ("tables", "tuple[dict[str, int], ...]", None, "a list"),
        ("kind", "Literal['a', 'b']", None, "a or b"),
        ("on", "bool", None, "true or false"),
        ("path", "str | Path | None", None, "text, or a path, or none"),
        ("several", "list", None, "a list"),
    ],
)
def test_types_and_limits_in_words(name: str, type_: str, limits: Any, legal: str) -> None:
    found = describe(Typed)["parameters"][name]
    assert (found["type"], found["range"], found["legal"]) == (type_, limits, legal)
    assert found["choices"] == (["a", "b"] if name == "kind" else None)
    assert found["meaning"] == ("number of cells." if name == "n" else "")


def test_the_settings_of_a_language_model_are_told_where_they_are_given() -> None:
    given = {"minds": "llm:m", "answer_format": "json", "top_p": None}
    given |= {"reasoning_effort": "low", "max_thought_tokens": 99}
    rules = blocks(describe(KeynesianBeautyContest, parameters=given), "Minds")[0]
    for part in ("temperature 0.7, at most 256", "(the rest", "thinking low", "99 thought tokens"):
        assert part in rules["llm:m"]
    assert "answer format `json`" in rules["llm:m"]
    usual = blocks(described("kbc"), "Minds")[0]["llm:MODEL"]
    assert "the rest" not in usual
    assert "effort" not in usual


class Adder(ClassicalMind):
    """Adds up."""

    async def answer(self, _ask: Any) -> object:
        return 0


class Doubler(Adder):
    """Doubles."""


class Aided(Cell):
    classical_minds: ClassVar = {"default": Adder, "other": Doubler}


class Unaided(Cell):
    classical_minds: ClassVar = {"default": Doubler, "again": Doubler}


class Mixed(Tiny):
    def __init__(self, **settings) -> None:
        super().__init__(**settings)
        self.populate(Aided, 1)
        self.populate(Unaided, 1)


def test_rules_that_differ_between_classes_name_the_class() -> None:
    rules = blocks(describe(Mixed), "Minds")[0]
    assert rules["classical"] == "`Aided`: Adds up. `Unaided`: Doubles."
    assert rules["classical:other"] == "`Aided`: Doubles."
    assert rules["classical:again"] == "`Unaided`: The same as `classical`."
    assert describe(Mixed)["minds"] == ["classical", "classical:other", "classical:again"]


def test_runs_of_two_scenarios_cannot_be_described_together(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with Recording(path) as recording:
        run_all(Tiny, {"n_rounds": 1, "minds": "fixed:3"}, seed=4, recording=recording)
        run_all(
            KeynesianBeautyContest, {"n_rounds": 1, "n_players": 2}, seed=4, recording=recording
        )
    with pytest.raises(ParameterError, match="has runs of tiny"):
        describe_recording(path, [0, 1])
    assert describe_recording(path, [0])["name"] == "tiny"
    assert describe_recording(path, [1])["name"] == "kbc"
