"""Estimates before anything is spent, against the cost of the runs."""

import json
import math
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sabm_mesa import (
    BertrandCompetition,
    EmergencyEvacuation,
    Fishery,
    KeynesianBeautyContest,
    Number,
    ScriptedMind,
)
from sabm_mesa.cli.cost import in_words
from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import MindSpecError, ParameterError, UnknownName
from sabm_mesa.llm import Connection, ScriptedClient
from sabm_mesa.llm.budget import ANSWER_TOKENS
from sabm_mesa.llm.quirks import thinks_unasked
from sabm_mesa.minds.llm import LLMMind, LLMSettings
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.runs.cost import (
    Cost,
    Estimate,
    Range,
    dry_run,
    estimate,
    with_context,
)
from tests.core.support import PICK, Priced, Tiny
from tests.llm.support import completion
from tests.llm_server import writer
from tests.llm_server.stub import SENTENCES
from tests.llm_server.wire import tokens

KBC, BERTRAND = KeynesianBeautyContest, BertrandCompetition
LLM = {"minds": "llm:stub"}
SMALLER: dict[str, dict[str, Any]] = {
    "bertrand": {"n_rounds": 25},
    "cocktail-party": {"n_rounds": 3, "max_turns": 6},
    "evacuation": {"n_people": 15, "n_rounds": 12},
    "games": {"game": "eleven_twenty", "n_rounds": 6},
    "sentence-making": {"n_agents": 5, "n_sentences": 2, "max_turns": 6},
}
"""For scenarios whose defaults take seconds."""
AMOUNTS = ("asks", "requests", "prompt_tokens", "completion_tokens")


def alike(n: float) -> Range:
    """A number that is certain."""
    return Range(n, n, n)


def asks(found: Estimate) -> dict[str, Range]:
    return {line.question: line.cost.asks for line in found.lines}


# Answers of a language model


def terse(messages: Any, body: Any) -> str:
    """As short as a legal answer can be."""
    last = writer(messages, body).split("\n")[-1]
    return "No" if last in SENTENCES else last


def verbose(messages: Any, body: Any) -> str:
    """As long as `max_tokens` allows (with four characters a token)."""
    *reasoning, last = writer(messages, body).split("\n")
    prose = " ".join(SENTENCES * 20)[: 4 * body["max_tokens"]]
    if last in SENTENCES:
        return prose
    return f"{prose[: -len(last) - 1]}\n{last}" if reasoning else last


def sloppy(messages: Any, body: Any) -> str:
    """One of twelve first answers cannot be read."""
    said = writer(messages, body)
    unreadable = len(messages) == 2 and said not in SENTENCES and sum(said.encode()) % 12 == 0
    return f"{said}!?" if unreadable else said


def played(
    model: Any,
    given: dict[str, Any],
    brain: Any,
    seed: int = 1,
    thoughts: int = 0,
) -> Any:
    """The usage of a run; a server with four characters a token answers."""

    def complete(request: Any) -> Reply:
        messages = [{"role": role, "content": content} for role, content in request.messages]
        body = {"messages": messages, "max_tokens": request.max_tokens or ANSWER_TOKENS}
        if request.schema is not None:
            schema = {"schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        said = brain(messages, body)
        sent = sum(tokens(content) for _, content in request.messages)
        received = tokens(said) + thoughts
        return completion(
            said, "stub", prompt_tokens=sent, completion_tokens=received, thought_tokens=thoughts
        )

    settings = model(**given, recording=False).llm_settings
    mind = LLMMind("stub", ScriptedClient(complete), settings)
    run = model(**given, minds=mind, rng=seed, recording=False)
    run.run_model()
    return run.total


def misses(found: Estimate, usage: Any) -> list[str]:
    """The amounts that lie outside the estimate."""
    spent = (usage.asks, usage.asks + usage.reasks, usage.prompt_tokens, usage.completion_tokens)
    ranges = [getattr(found.total, name) for name in AMOUNTS]
    return [
        f"{name}: {value} not in {each}"
        for name, value, each in zip(AMOUNTS, spent, ranges, strict=True)
        if not each.low <= value <= each.high
    ]


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        ("gpt-5-mini", True), ("gpt-5.1-2025-11-13", True), ("gpt-5-chat-latest", False),
        ("gpt-4o-mini", False), ("o3-mini", True), ("openai/o1", True), ("gpt-4o1", False),
        ("deepseek/deepseek-r1-0528", True), ("deepseek-reasoner", True), ("deepseek-chat", False),
        ("google/gemini-2.5-pro", True), ("gemini-2.5-flash-lite", False), ("gemini-2.0", False),
        ("grok-4-1-fast-non-reasoning", False), ("grok-4-fast-reasoning", True), ("grok-3", False),
        ("kimi-k2-thinking-turbo", True), ("claude-sonnet-4-5", False), ("stub", False),
    ],
)  # fmt: skip
def test_models_that_are_known_to_think(model: str, thinks: bool) -> None:
    assert thinks_unasked(model) is thinks


def test_the_thoughts_of_a_model_that_is_known_to_think_are_counted() -> None:
    tokens = {
        name: estimate(KBC, {"minds": f"llm:{name}"}).total.completion_tokens
        for name in ("gpt-5-mini", "gpt-4o-mini")
    }
    more = {end: getattr(tokens["gpt-5-mini"], end) - getattr(tokens["gpt-4o-mini"], end)
            for end in Range.__slots__}  # fmt: skip

    # 168 answers: none at the low end, a quarter of 4,096, and all 16,384 in 1.2 attempts.
    assert more == {"low": 0, "likely": 168 * 1024, "high": pytest.approx(168 * 1.2 * 16_384)}
    (note, *_) = estimate(KBC, {"minds": "llm:gpt-5-mini"}).notes
    assert "up to 16,384 thought tokens an answer (gpt-5-mini: known to think)" in note


def test_speakers_who_name_the_next_one_may_speak_as_often_as_there_is_time() -> None:
    found = asks(estimate(Fishery, {**LLM, "n_rounds": 2, "max_entries": 12}))

    # 12 entries with the report that opens the talk leave 11 in each of two months.
    months = {name: each.high / 2 for name, each in found.items()}
    assert months["communicate"] == months["next_speaker"]
    assert months["communicate"] == 11


@pytest.mark.parametrize(("n_agents", "talks"), [(2, 1), (3, 3)])
def test_talks_may_last_as_long_as_they_can(n_agents: int, talks: int) -> None:
    found = estimate(
        scenario("cocktail-party"),
        {"n_agents": n_agents, "n_rounds": 1, "max_turns": 20, "minds": "llm:gpt-4o-mini"},
    )

    asks = {line.question: line.cost.asks.high for line in found.lines}
    assert asks == {"invite": n_agents, "accept": n_agents, "say": 20 * talks}


def test_an_order_without_a_limit_has_no_upper_bound() -> None:
    def endless(_model, agents):
        yield from agents

    class Endless(Tiny):
        phases = (replace(Tiny.phases[0], order=endless),)

    found = estimate(Endless, LLM)
    assert math.isnan(found.total.asks.high)
    assert math.isnan(found.total.usd.high)
    assert f"{Tiny.phases[0].name} has no upper bound: each decision says who is asked next." in (
        found.notes
    )
    assert "no bound" in in_words(found)


# How many asks


def test_the_asks_of_a_contest_are_exact() -> None:
    found = estimate(KBC, LLM)
    assert asks(found) == {"act": alike(24 * 4), "communicate": alike(24 * 3)}
    # A fifth of the answers is unusable at most.
    assert found.total.requests == Range(168, 168, pytest.approx(1.2 * 168))
    assert estimate(KBC, {**LLM, "max_attempts": 1}).total.requests == alike(168)
    assert estimate(KBC, LLM, runs=15).total.asks == alike(15 * 168)
    assert estimate(KBC, {**LLM, "n_rounds": 1}).total.asks == alike(24)


@pytest.mark.parametrize(
    ("given", "talk", "plan", "act"),
    [
        ({}, 2 * 3 * 60, 2 * 3, 2 * 60),
        ({"communication": False}, None, 2 * 3, 2 * 60),
        ({"n_firms": 3}, 3 * 3 * 60, 3 * 3, 3 * 60),
    ],
)
def test_the_asks_of_a_competition_are_exact_but_for_its_talks(
    given: dict[str, Any], talk: int | None, plan: int, act: int
) -> None:
    # Nothing happens in round 0; each firm speaks three times, and plans every 20 rounds.
    found = asks(estimate(BERTRAND, {**LLM, "n_rounds": 61, **given}))
    talked = found.pop("communicate", None)
    assert talked == (talk and Range(talk / 3, talk, talk))
    assert found == {"plan": alike(plan), "act": alike(act)}


def test_a_run_that_ended_early_can_end_at_once_or_go_on() -> None:
    months = asks(estimate(Fishery, LLM))  # it collapses in the second month
    expected = {"act": 5, "plan": 5, "communicate": 5, "summary": 1, "agreed": 1}
    assert {name: months[name] for name in expected} == {
        # Five speak in the dry run; the ten entries leave nine after the report.
        name: Range(each, 2 * each, 12 * (9 if name == "communicate" else each))
        for name, each in expected.items()
    }


def test_an_evacuation_lasts_as_long_as_nobody_moves() -> None:
    given = {**LLM, "n_people": 10, "n_rounds": 12}
    found = asks(estimate(EmergencyEvacuation, given))["act"]
    assert found.low == 12  # one of them at least, in every round
    assert found.low < found.likely < found.high
    assert found.high == 10 * 12


def test_rounds_beyond_those_played_are_scaled() -> None:
    found = estimate(Tiny, {**LLM, "n": 40, "n_rounds": 500})
    most = 40 * 500
    assert asks(found) == {"act": Range(*(pytest.approx(x * most) for x in (0.95, 1, 1.05)))}
    assert found.notes[1] == "75 of 500 rounds were played; others alike."


def test_prompts_go_on_growing_in_rounds_beyond_those_played(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def per_ask(n_rounds: int, n: int) -> float:
        found = estimate(KBC, {**LLM, "n_rounds": n_rounds, "n_players": n}).total
        return found.prompt_tokens.likely / found.asks.likely

    monkeypatch.setattr("sabm_mesa.runs.cost.MAX_ASKS", 60)
    # Prompts show the talk: twice the players, and more rounds, make longer prompts.
    assert per_ask(4, 3) < per_ask(4, 6)
    assert per_ask(60, 3) > 5 * per_ask(4, 3)


# How many tokens and dollars


def test_a_typical_run_by_hand() -> None:
    """One round: 24 prompts, 4 characters a token and 8 around them; an answer has 40 and 2."""
    sent = []

    def answer(ask: Any) -> str:
        sent.append(sum(len(part) for part in ask.question))
        return "5"

    KBC(n_rounds=1, minds=ScriptedMind(answer), rng=0).run_model()
    found = estimate(KBC, {"n_rounds": 1, "minds": "llm:gpt-4o-mini"}, runs=3).total
    # The scenario text and the question are two messages.
    prompt, answers = 3 * sum(n / 4 + 8 for n in sent), 3 * 24 * 42
    assert found.asks.likely == 3 * 24
    assert found.prompt_tokens.likely == pytest.approx(prompt)
    assert found.completion_tokens.likely == pytest.approx(answers)
    assert found.usd.likely == pytest.approx((0.15 * prompt + 0.6 * answers) / 1e6, rel=1e-3)
    assert found.prompt_tokens.low == pytest.approx(3 * sum(sent) / 5, rel=1e-3)


@pytest.mark.parametrize("limit", [None, 10])
def test_an_answer_is_at_most_as_long_as_its_schema_or_as_allowed(limit: int | None) -> None:
    found = estimate(Tiny, {**LLM, "n": 4, "n_rounds": 3, "max_tokens": limit}).total
    assert found.asks == alike(12)
    most = min(len(json.dumps(PICK.answer_schema())) / 2.5, limit or ANSWER_TOKENS)
    high = 12 * (most + 0.2 * (limit or ANSWER_TOKENS))
    assert found.completion_tokens == Range(12, 24, pytest.approx(high))


def test_dollars_by_hand(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"stub" = { input = 2, output = 8, cached = 0.5 }\n')
    found = estimate(KBC, {**LLM, "n_players": 5}, prices=prices)
    sent, received = found.lines[0].cost.prompt_tokens, found.lines[0].cost.completion_tokens
    usd = found.lines[0].cost.usd
    # At the low end the server has all that is sent in its cache, at the high end nothing.
    assert usd.low == pytest.approx((0.5 * sent.low + 8 * received.low) / 1e6, abs=1e-5)
    for end in ("likely", "high"):
        dollars = (2 * getattr(sent, end) + 8 * getattr(received, end)) / 1e6
        assert getattr(usd, end) == pytest.approx(dollars, abs=1e-5)
    assert found.total.usd.high == pytest.approx(sum(line.cost.usd.high for line in found.lines))


def test_thoughts_are_counted_as_far_as_they_are_allowed() -> None:
    given = {**LLM, "n_players": 5, "n_rounds": 1, "max_tokens": 50}
    plain = estimate(KBC, given).total.completion_tokens
    found = estimate(KBC, {**given, "max_thought_tokens": 400})
    thought = found.total.completion_tokens
    assert thought.low == plain.low
    assert thought.likely == plain.likely + 5 * 100
    assert thought.high == pytest.approx(plain.high + 5 * 400 * 1.2)
    assert "up to 400 thought tokens an answer" in found.notes[0]
    effort = estimate(KBC, {**given, "reasoning_effort": "low"}).total.completion_tokens
    assert effort.high == pytest.approx(plain.high + 5 * ANSWER_TOKENS * 1.2)
    assert "no thoughts" in estimate(KBC, given).notes[0]


def test_what_a_model_that_thinks_costs_lies_in_the_estimate() -> None:
    given = {"n_players": 5, "n_rounds": 2, "max_thought_tokens": 300}
    assert not misses(estimate(KBC, {**given, **LLM}), played(KBC, given, writer, thoughts=250))


@pytest.mark.slow
def test_published_costs_of_a_run_lie_in_the_estimate() -> None:
    """Piatti et al. 2024, appendix D.1, at the prices of April 2024: one run of 12 months."""
    published = {  # dollars
        "gpt-4o-2024-05-13": 5, "gpt-4-turbo-2024-04-09": 11, "gpt-4-0613": 30,
        "claude-3-opus-20240229": 20, "claude-3-haiku-20240307": 0.3, "gpt-3.5-turbo-0125": 0.5,
    }  # fmt: skip
    for model, dollars in published.items():
        found = estimate(Fishery, {"minds": f"llm:{model}", "n_rounds": 12}).total
        assert found.prompt_tokens.low < 680_000 < found.prompt_tokens.high
        assert found.completion_tokens.low < 124_000 < found.completion_tokens.high
        assert found.usd.low < dollars < found.usd.high


@pytest.mark.slow
def test_the_published_cost_of_a_case_study_is_near_the_estimate_of_its_main_experiment() -> None:
    """Wu et al. 2024, limitations: $900 for all work on the contest, of GPT-4 at $30 and $60.

    Its figure 4(a) has three conditions of 15 runs; the sum covers further tests, too.
    """
    found = estimate(KBC, {"minds": "llm:gpt-4-0314"}, runs=45).total.usd
    assert found.likely < 900 < 2 * found.high


def test_an_unknown_price_is_not_zero() -> None:
    found = estimate(KBC, {"minds": {"llm:gpt-4o": 12, "llm:nobody": 12}})
    dollars = {(line.question, line.mind): line.cost.usd for line in found.lines}
    assert dollars["act", "llm:gpt-4o"].low > 0
    assert math.isnan(dollars["act", "llm:nobody"].low)
    assert math.isnan(found.total.usd.low)
    assert math.isnan(found.total.usd.high)
    assert found.notes[-1].startswith("The price of nobody is not known")


# The cost of the runs


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_spent_lies_in_the_estimate(name: str) -> None:
    model, given = scenario(name), SMALLER.get(name, {})
    found = estimate(model, {**given, **LLM})
    for name_ in AMOUNTS:
        each = getattr(found.total, name_)
        assert each.low <= each.likely <= each.high
    for brain in (writer, terse, verbose, sloppy):
        usage = played(model, given, brain)
        assert usage.asks > 10
        assert not misses(found, usage)


# Paid minds


def test_only_those_who_are_paid_are_counted() -> None:
    found = estimate(KBC, {"minds": {"llm:a": 5, "classical": 12, "fixed:7": 3, "llm:b": 4}})
    counts = {(line.question, line.mind): line.cost.asks for line in found.lines}
    assert counts == {
        ("act", "llm:a"): alike(20), ("act", "llm:b"): alike(16),
        ("communicate", "llm:a"): alike(15), ("communicate", "llm:b"): alike(12),
    }  # fmt: skip
    assert found.minds == {"llm:a": 5, "classical": 12, "fixed:7": 3, "llm:b": 4}


@pytest.mark.parametrize("minds", ["classical", "fixed:7", {"classical": 20, "fixed:0": 4}])
def test_without_a_language_model_there_is_nothing_to_pay(minds: Any) -> None:
    found = estimate(KBC, {"minds": minds})
    assert found.lines == found.notes == []
    assert found.total == Cost()


def test_mind_objects_are_never_called() -> None:
    def refuse(_: Any) -> Any:
        raise AssertionError("it was called")

    model = LLMMind("gpt-4o", ScriptedClient(refuse), LLMSettings(max_tokens=10), spec="mine")
    minds = [model, Priced(refuse), ScriptedMind(refuse), model, "classical"]
    found = estimate(KBC, {"minds": minds, "n_players": 5, "n_rounds": 1})
    costs = {line.mind: line.cost for line in found.lines}
    assert {mind: cost.asks.high for mind, cost in costs.items()} == {"mine": 2, "priced": 1}
    assert costs["mine"].completion_tokens == Range(2, 2 * 10, 2 * 10 * 1.2)
    assert costs["mine"].usd.high > 0
    assert math.isnan(costs["priced"].usd.high)


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"minds": "llm:"}, MindSpecError),
        ({"minds": {"llm:a": 3}}, MindSpecError),
        ({"minds": {"llm:a": 3}, "n_players": 1000}, MindSpecError),
        ({"minds": [3] * 24}, MindSpecError),
        ({"minds": "llm:a", "condition": "none"}, UnknownName),
        ({"minds": "llm:a", "player": 3}, UnknownName),
    ],
)
def test_wrong_use(parameters: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        estimate(KBC, parameters)


def test_the_number_of_runs() -> None:
    with pytest.raises(ParameterError, match="The number of runs must be 1 or more"):
        estimate(KBC, LLM, runs=0)


def test_no_network_is_touched_and_the_same_is_said_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    opened = list[Any]()
    monkeypatch.setattr(socket.socket, "connect", lambda *address: opened.append(address))
    given = {"minds": {"llm:a@http://127.0.0.1:9/v1": 6, "llm:b": 6}, "n_people": 12}
    found = [estimate(EmergencyEvacuation, {**given, "n_rounds": 6}) for _ in range(2)]
    assert found[0].lines
    assert repr(found[0]) == repr(found[1])
    assert not opened
    assert not list(tmp_path.iterdir())


def test_the_context_of_a_local_model_has_room_for_questions_that_are_asked_again() -> None:
    given = {"minds": "local", "n_players": 2, "n_rounds": 1}
    once, thrice = (
        with_context(Connection(), KBC, given | {"max_attempts": attempts}).context
        for attempts in (1, 3)
    )
    assert thrice - once >= 512  # of tokens: two rejected answers, and what is wrong with them


# The examples that stub minds answer with


def test_examples_are_legal() -> None:
    rng = np.random.default_rng(1)
    specs = {spec for each in (KBC, Fishery) for spec in _specs(each)}
    assert len(specs) > 4
    for spec in specs:
        drawn = {spec.example(rng) for _ in range(50)}
        assert len(drawn) > 1
        for each in drawn:
            assert spec.check(each) == each

    every_number = Number(-math.inf, math.inf)
    assert all(-1e9 <= every_number.example(rng) <= 1e9 for _ in range(20))


def _specs(model: Any) -> set[Any]:
    _, (stub,) = dry_run(model, LLM)
    return {spec for specs in stub.specs.values() for spec in specs}
