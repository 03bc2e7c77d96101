"""The conformance check: every scenario passes, and each broken promise is reported."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import SmartModel
from sabm_mesa.models.registry import SCENARIOS, load, scenario
from sabm_mesa.testing import POINTS, check_scenario, examine
from sabm_mesa.testing.case import Case
from sabm_mesa.testing.checks import CHECKS
from tests.cli.support import Sabm
from tests.testing import fishing
from tests.testing.fishing import PROMPTS, Fishing

PARTY = {"n_agents": 3, "max_turns": 3}
SMALL: dict[str, dict[str, Any]] = {
    "beauty-contest": {"n_players": 3},
    "cocktail-party": PARTY,
    "evacuation": {"n_people": 5, "width": 9, "height": 9},
    "kbc": {"n_players": 3},
    "public-goods": {"n_players": 3},
    "sentence-making": {**PARTY, "n_sentences": 1},
}
"""Scenario → parameters that make its runs small."""


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_conforms(name: str) -> None:
    check_scenario(scenario(name), **SMALL.get(name, {}))


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("beauty-contest", {"n_players": 3, "elicitation": "full", "high": [50, 200],
                            "integer": True}),
        ("bertrand", {"demand": "logit", "n_firms": 3}),
        ("cocktail-party", {**PARTY, "minds": "classical:random"}),
        ("evacuation", {"n_people": 5, "width": 9, "height": 9, "movement": "simultaneous",
                        "obstacles": [[4, 4]]}),
        ("fishery", {"newcomer_month": 2}),
        ("games", {"game": "trust", "n_players": 4, "talk": True}),
        ("games", {"game": "stag_hunt", "labels": "invented"}),
        ("kbc", {"n_players": 3, "personas": "agreeable", "reward_rule": "exclusive"}),
        ("pasture", {"communication": False}),
        ("public-goods", {"n_players": 4, "matching": "chain"}),
        ("public-goods", {"n_players": 6, "group_size": 3, "matching": "stranger"}),
        ("sentence-making", {**PARTY, "n_sentences": 1, "interaction": "individual"}),
    ],
)  # fmt: skip
def test_every_way_to_play_conforms(name: str, parameters: dict[str, Any]) -> None:
    check_scenario(scenario(name), **parameters)


def test_a_scenario_of_ones_own_conforms_with_parameters_and_without() -> None:
    check_scenario(Fishing)
    check_scenario(fishing.Seasonal)
    check_scenario(Fishing, n_fishers=2, n_rounds=1, minds="fixed:3", personas={"agreeable": 2})


def points(model: Any, **parameters: Any) -> dict[str, str]:
    """Point → what is said of it, for all that do not hold."""
    with pytest.raises(AssertionError) as caught:
        check_scenario(model, **parameters)
    first, *lines = str(caught.value).split("\n")
    assert first == f"The scenario {getattr(model, '__name__', model)} does not conform:"
    found = [re.fullmatch(r"- ([a-z_, ]+): (.+)", line) for line in lines]
    return {point: match[2] for match in found if match for point in match[1].split(", ")}


def said(model: type[SmartModel], point: str, folder: Path) -> str:
    """The words of one point about a scenario."""
    if point == "form":
        return points(model)["form"]
    case = Case(model, {"n_rounds": 3}, folder, 9)
    try:
        return "\n".join(CHECKS[point](case))
    except Exception as error:  # noqa: BLE001 - the check reports each
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    ("model", "point", "told"),
    [
        (fishing.Demanding, "form", "the parameter n_lakes needs a default"),
        (fishing.Beyond, "form", "the default of n_fishers must be a whole number of 4 or more "),
        (
            fishing.Unknown,
            "form",
            "the annotation Lakes of lake cannot be read: import it, but",
        ),
        (
            fishing.Unlimited,
            "form",
            "The annotation Annotated[int, AtLeast(4)] of n_fishers can",
        ),
        (fishing.Paged, "form", "the card of the page names 'n_boats', which is no parameter"),
        (fishing.Closed, "form", "variant are missing: take **settings and pass them on"),
        (
            fishing.Planned,
            "form",
            "UsageError: Planned needs the method after_plan(self, agent, d",
        ),
        (fishing.Ended, "form", "UsageError: Ended.__init__ sets self.running = False, so that "),
        (fishing.Untold, "classical minds", "a rule reads the fact 'boats' of the question 'act'"),
        (fishing.UntoldFlag, "classical minds", "a rule reads the fact 'boats' of the question"),
        (fishing.UntoldPart, "classical minds", "a rule reads the fact 'fleet.boats' of the"),
        (fishing.Counting, "same seed", "ScenarioError: Counting sets self.round in a round, "),
        (fishing.Forgetful, "replay", "ReplayMismatch: Run 0 "),
        (fishing.Renamed, "fork", "has no attribute 'first_stock'"),
        (fishing.Trusting, "invalid answers", "ScenarioError: fishing, round 0: TypeError"),
        (fishing.Late, "whole run", "ScenarioError: fishing, round 7: ArithmeticError: no fish"),
    ],
)
def test_a_broken_promise_is_reported(
    model: type[SmartModel], point: str, told: str, tmp_path: Path
) -> None:
    assert told in said(model, point, tmp_path)


def test_runs_that_differ_with_one_seed_are_not_compared_otherwise() -> None:
    assert [*points(fishing.Lucky)] == ["same seed"]


def test_what_is_no_scenario_at_all() -> None:
    assert points(3) == {"form": "a scenario is a subclass of SmartModel, not 3"}
    assert set(points(SmartModel)) == {"form"}


def test_the_spec_sheet_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fishing, "__doc__", " ")
    told = "the module tests.testing.fishing needs a docstring that says what happens"

    assert points(Fishing) == {"form": told}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("You are poor.", "{{ wealth }}",
         "the placeholder {{ wealth }}, which is unknown there. Known"),
        ('act = "{{ stock }} tonnes. {{ form }}"', 'acts = "{{ stock }}"',
         "variants.brief replaces 'acts'"),
        ("How many do you catch? {{ form }}", "How many do you catch?",
         "the entry 'act' lacks {{ form }}, which says how to answer"),
        ("You are poor.", "{stock}",
         "'act' shows {stock} as it stands; a fact is written {{ stock }} (condition poor)"),
        ('scenario = "You and {{ n_others }} others fish in one lake. {{ persona }}"',
         'scenario = " "',
         "the entry 'scenario' is empty (condition baseline)"),
        ("act = \"There are {{ stock }} tonnes of fish. How many do you catch? {{ form }}\"", "",
         "There is no prompt entry 'act'"),
    ],
)  # fmt: skip
def test_incomplete_prompts_are_told_of(
    before: str, after: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PROMPTS.read_text("utf-8")
    assert before in text
    path = tmp_path / "prompts.toml"
    path.write_text(text.replace(before, after), "utf-8")
    monkeypatch.setattr(Fishing, "prompt_file", str(path))

    with pytest.raises(AssertionError, match=r"\n- (prompts|first run): ") as caught:
        check_scenario(Fishing)
    assert told in str(caught.value)


def test_a_problem_that_is_met_everywhere_is_told_of_once() -> None:
    told = (
        "The scenario Fishing does not conform:\n- form: UnknownName: Unknown parameter of Fishing"
        " 'n_boats'. Known: "
    )
    with pytest.raises(AssertionError) as caught:
        check_scenario(Fishing, n_boats=3)
    assert str(caught.value).startswith(told)
    assert str(caught.value).count("\n") == 1

    with pytest.raises(AssertionError) as caught:
        check_scenario(fishing.Mistaken)
    assert re.fullmatch(
        "The scenario Mistaken does not conform:\n- first run: "
        r"ScenarioError: fishing, round 0: ArithmeticError: no fish \(fishing\.py, line \d+\)",
        str(caught.value),
    )


def test_nothing_is_recorded_but_by_the_check_itself(tmp_path: Path) -> None:
    check_scenario(Fishing, n_fishers=2, n_rounds=1, recording=tmp_path / "r.sqlite")

    assert list(tmp_path.iterdir()) == []


PLAIN = '''
"""Coins on a network."""
import random
from pathlib import Path

import mesa
from sabm_mesa import Choice, Minds


class Person(mesa.Agent):
    coins = 0

    def step(self):
        said = self.model.minds.ask(self, "toss", Choice(("toss", "stay")), coins=self.coins)
        self.coins += said.value == "toss" and SOURCE.randrange(1_000_000)


class Tossing(mesa.Model):
    def __init__(self, n=3, rng=None):
        super().__init__(rng=rng)
        prompts = Path(__file__).with_name("tossing.toml")
        self.minds = Minds(self, "fixed:toss", prompts=prompts)
        self.datacollector = mesa.DataCollector(agent_reporters={"coins": "coins"})
        Person.create_agents(self, n)

    def step(self):
        self.agents.do("step")
        self.datacollector.collect(self)
'''


@pytest.mark.parametrize("source", ["random", "self.random"])
def test_numbers_that_a_plain_model_draws_from_another_source_are_found(
    source: str, tmp_path: Path
) -> None:
    path = tmp_path / f"tossing_{len(source)}.py"
    path.write_text(PLAIN.replace("SOURCE", source), "utf-8")
    path.with_name("tossing.toml").write_text(
        '[prompts]\nscenario = "A game. {{ persona }}"\n'
        'toss = "You have {{ coins }} coins. {{ form }}"\n',
        "utf-8",
    )
    found = examine(load(str(path)))

    assert list(found.not_checked) == ["Tossing is a plain Mesa model"]
    assert found.not_checked["Tossing is a plain Mesa model"] == [
        point for point in POINTS if point not in {"same seed", "prompts", "classical minds"}
    ]
    if source == "self.random":
        assert found.problems == {}
    else:
        ((problem, points),) = found.problems.items()
        assert points == ["same seed"]
        assert problem.startswith("two runs with one seed (drawing) differ: 'coins' in round 0")


UNTOLD = "a rule reads the fact 'coins' of the question 'toss', which no prompt shows: write "


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("You have {{ coins }} coins.", []),
        (
            "You have {{ coin }} coins.",
            ["- first run: PromptError: tossing_by_rule_"],
        ),
        ("You have {coins} coins.", ["- prompts: the entry 'toss' shows {coins} as it stands; "]),
        ("Toss?", [f"- classical minds: {UNTOLD}{{{{ coins }}}} into the prompt, or "]),
    ],
)
def test_a_fact_that_the_prompt_of_a_plain_model_does_not_show_is_one_line(
    question: str, told: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"tossing_by_rule_{len(question)}.py"
    rule = 'classical={"toss": lambda ask: "stay" if ask.facts.coins else "toss"}'
    code = PLAIN.replace("SOURCE", "self.random").replace('"fixed:toss", prompts=prompts', "RULE")
    path.write_text(code.replace("RULE", f"prompts=prompts, {rule}"), "utf-8")
    path.with_name("tossing.toml").write_text(
        f'[prompts]\nscenario = "A game. {{{{ persona }}}}"\ntoss = "{question} {{{{ form }}}}"\n',
        "utf-8",
    )

    lines = Sabm(capsys)("check", path).out.splitlines()
    problems = [line for line in lines if line.startswith("- ")]
    assert len(problems) == len(told)
    assert all(line.startswith(start) for line, start in zip(problems, told, strict=True))


QUIET = '''
"""People who may speak."""
from sabm_mesa import ClassicalMind, SmartAgent, SmartModel, Text, communication


class Shy(ClassicalMind):
    async def answer(self, ask):
        return "Hello" if ask.rng.random() < 0.5 else ""


class Guest(SmartAgent):
    async def communicate(self):
        """Say a word, or nothing."""
        return await self.ask("communicate", Text(optional=True), said=self.conversation())


class QuietParty(SmartModel):
    prompt_file = "quiet.toml"
    phases = (communication(),)
    model_columns = ("n_said",)
    defaults = {"n_rounds": 3}
    classical_minds = {"shy": Shy}
    n_said = 0

    def __init__(self, n_guests: int = 4, **settings):
        super().__init__(**settings)
        self.populate(Guest, n_guests)

    def after_communicate(self, guest, words):
        self.say(guest, words.value)

    def update(self):
        self.n_said = len(self.said)
'''


def test_a_short_scenario_whose_agents_may_be_silent_conforms(tmp_path: Path) -> None:
    path = tmp_path / "quiet_party.py"
    path.write_text(QUIET, "utf-8")
    path.with_name("quiet.toml").write_text(
        "[prompts]\nscenario = 'You are at a party. {{ persona }}'\n"
        "communicate = '{{ said | length }} words were said. {{ form }}'\n",
        "utf-8",
    )

    check_scenario(load(str(path)))
