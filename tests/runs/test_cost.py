"""What an estimate says before anything is spent, against what is then spent."""

import json
import math
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sabm_mesa import (
    BertrandCompetition,
    EmergencyEvacuation,
    Fishery,
    KeynesianBeautyContest,
    LLMMind,
    LLMSettings,
    Number,
    ScriptedClient,
    ScriptedMind,
)
from sabm_mesa.errors import MindSpecError, ParameterError, RecordingError, UnknownName
from sabm_mesa.llm import Completion
from sabm_mesa.llm.budget import ANSWER_TOKENS
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.runs import cost
from sabm_mesa.runs.cost import Cost, Estimate, Range, calibration, estimate
from tests.core.support import PICK, Priced, Tiny
from tests.llm_server import nonsense, writer
from tests.llm_server.stub import SENTENCES
from tests.llm_server.wire import tokens

KBC, BERTRAND = KeynesianBeautyContest, BertrandCompetition
LLM = {"minds": "llm:stub"}
SMALLER: dict[str, dict[str, Any]] = {
    "bertrand": {"n_rounds": 25},
    "cocktail-party": {"n_rounds": 3, "max_turns": 6},
    "evacuation": {"n_people": 15, "n_rounds": 12},
    "sentence-making": {"n_agents": 5, "n_sentences": 2, "max_turns": 6},
}
"""For scenarios whose defaults take seconds."""
AMOUNTS = ("asks", "requests", "prompt_tokens", "completion_tokens")


def asks(found: Estimate) -> dict[str, tuple[float, float]]:
    return {line.question: (line.cost.asks.low, line.cost.asks.high) for line in found.lines}


# What a language model says


def usual(messages: Any, body: Any) -> str:
    said = writer(messages, body)
    return said if isinstance(said, str) else said[0]


def terse(messages: Any, body: Any) -> str:
    """As short as a legal answer can be."""
    last = usual(messages, body).split("\n")[-1]
    return "No" if last in SENTENCES else last


def verbose(messages: Any, body: Any) -> str:
    """As long as `max_tokens` allows (with four characters a token)."""
    *reasoning, last = usual(messages, body).split("\n")
    prose = " ".join(SENTENCES * 20)[: 4 * body["max_tokens"]]
    if last in SENTENCES:
        return prose
    return f"{prose[: -len(last) - 1]}\n{last}" if reasoning else last


def sloppy(messages: Any, body: Any) -> str:
    """One of twelve first answers cannot be read."""
    said = usual(messages, body)
    unreadable = len(messages) == 2 and said not in SENTENCES and sum(said.encode()) % 12 == 0
    return f"{said}!?" if unreadable else said


def played(model: Any, given: dict[str, Any], brain: Any, seed: int = 1, path: Any = False) -> Any:
    """The usage of a run; a server with four characters a token answers."""

    def complete(request: Any) -> Completion:
        messages = [{"role": role, "content": content} for role, content in request.messages]
        body = {"messages": messages, "max_tokens": request.max_tokens or ANSWER_TOKENS}
        if request.schema is not None:
            schema = {"schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        said = brain(messages, body)
        sent = sum(tokens(content) for _, content in request.messages)
        return Completion(said, "stub", prompt_tokens=sent, completion_tokens=tokens(said))

    settings = model(**given, recording=False).llm_settings
    mind = LLMMind("stub", ScriptedClient(complete), settings)
    run = model(**given, minds=mind, rng=seed, recording=path)
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


# How many asks


def test_the_asks_of_a_contest_are_exact() -> None:
    found = estimate(KBC, LLM)
    assert asks(found) == {"act": (24 * 4,) * 2, "communicate": (24 * 3,) * 2}
    # A fifth of the answers is unusable, and what chance adds: four standard deviations.
    most = sum(n + 0.2 * n + 4 * math.sqrt(0.16 * n) for n in (96, 72))
    assert found.total.requests == Range(168, pytest.approx(most))
    assert estimate(KBC, {**LLM, "max_attempts": 1}).total.requests == Range(168, 168)
    assert estimate(KBC, LLM, runs=15).total.asks == Range(15 * 168, 15 * 168)
    assert estimate(KBC, {**LLM, "n_rounds": 1}).total.asks == Range(24, 24)


@pytest.mark.parametrize(
    ("given", "talk", "plan", "act"),
    [
        ({}, 2 * 3 * 60, 2 * 3, 2 * 60),
        ({"communication": False}, None, 2 * 3, 2 * 60),
        ({"n_firms": 3}, 3 * 3 * 60, 3 * 3, 3 * 60),
        ({"changes": {30: {"communication": False}}}, 2 * 3 * 29, 2 * 3, 2 * 60),
    ],
)
def test_the_asks_of_a_competition_are_exact(
    given: dict[str, Any], talk: int | None, plan: int, act: int
) -> None:
    # Nothing happens in round 0; each firm speaks three times, and plans every 20 rounds.
    found = asks(estimate(BERTRAND, {**LLM, "n_rounds": 61, **given}))
    expected = {"communicate": talk, "plan": plan, "act": act}
    assert found == {name: (n, n) for name, n in expected.items() if n is not None}


def test_a_run_can_end_early_and_need_not() -> None:
    firms = asks(estimate(BERTRAND, {**LLM, "n_rounds": 100, "stop_after": 30}))
    assert firms["act"] == (2 * 30, 2 * 99)  # the firms collude from the first month on
    assert firms["plan"] == (2 * 1, pytest.approx(2 * 5, rel=0.1))
    months = asks(estimate(Fishery, LLM))
    for question, each in {"act": 5, "plan": 5, "summary": 1, "agreed": 1}.items():
        assert months[question] == (each, 12 * each)  # it collapses in the first month
    assert months["communicate"][0] <= 1
    assert 9 * 12 <= months["communicate"][1] < 1.5 * 9 * 12


def test_an_evacuation_lasts_as_long_as_nobody_moves() -> None:
    low, high = asks(estimate(EmergencyEvacuation, {**LLM, "n_people": 20, "n_rounds": 30}))["act"]
    assert 20 < low < high / 2
    assert 20 * 30 <= high < 1.2 * 20 * 30


def test_rounds_beyond_those_played_are_scaled() -> None:
    found = estimate(Tiny, {**LLM, "n": 40, "n_rounds": 500})
    most = 40 * 500
    assert asks(found) == {"act": (pytest.approx(0.95 * most), pytest.approx(1.05 * most))}
    assert found.notes[1] == "At least 75 of 500 rounds were played; others alike."


def test_a_series_goes_on_like_its_second_half() -> None:
    series = np.array([0.0, 9.0, 4.0, 6.0, 8.0])
    assert cost.prolonged(series, 5).tolist() == series.tolist()
    assert cost.prolonged(series, 7, 2.5).tolist() == [*series, 6, 6]
    assert cost.prolonged(series, 7, 1.5).tolist() == pytest.approx([*series, 10, 12])


@pytest.mark.slow
def test_of_many_agents_few_are_played() -> None:
    """Asks grow with the players; prompts, which show what all said, grow with them too."""
    some, many = (estimate(KBC, {**LLM, "n_rounds": 2, "n_players": n}) for n in (300, 3_000_000))
    assert some.total.asks == Range(300 * 3, 300 * 3)
    assert many.total.asks == Range(3_000_000 * 3, 3_000_000 * 3)
    assert many.minds == {"llm:stub": 3_000_000}
    assert some.typical is not None
    assert many.typical is not None
    per_ask = [each.typical.prompt_tokens / each.typical.asks for each in (some, many)]
    assert 0.9 < per_ask[1] / per_ask[0] / 10_000 < 1
    one = {"minds": {"llm:stub": 1, "classical": 999_999}, "n_players": 1_000_000}
    assert estimate(KBC, {**one, "n_rounds": 2}).total.asks == Range(3, 3)


# How many tokens and dollars


def test_a_typical_run_by_hand() -> None:
    """One round: 24 prompts, 4 characters a token and 8 around them; an answer has 40 and 1."""
    sent = []

    def answer(ask: Any) -> str:
        sent.append(sum(len(part) for part in ask.question))
        return "5"

    KBC(n_rounds=1, minds=ScriptedMind(answer), rng=0).run_model()
    found = estimate(KBC, {"n_rounds": 1, "minds": "llm:gpt-4o-mini"}, runs=3)
    prompt, answers = 3 * sum(n / 4 + 8 for n in sent), 3 * 24 * 41
    assert found.typical is not None
    assert found.typical.asks == 3 * 24
    assert found.typical.prompt_tokens == pytest.approx(prompt)
    assert found.typical.completion_tokens == pytest.approx(answers)
    dollars = (0.15 * prompt + 0.6 * answers) / 1e6
    assert found.typical.usd == pytest.approx(dollars, rel=1e-4)
    assert found.total.prompt_tokens.low == pytest.approx(3 * sum(sent) / 5, rel=1e-3)


@pytest.mark.parametrize("limit", [None, 10])
def test_an_answer_is_at_most_as_long_as_its_schema_or_as_allowed(limit: int | None) -> None:
    found = estimate(Tiny, {**LLM, "n": 4, "n_rounds": 3, "max_tokens": limit}).total
    assert found.asks == Range(12, 12)
    most = min(len(json.dumps(PICK.schema())) / 2.5, limit or ANSWER_TOKENS)
    unusable = 0.2 + 4 * math.sqrt(0.16 / 12)
    high = 12 * (most + unusable * (limit or ANSWER_TOKENS))
    assert found.completion_tokens == Range(12, pytest.approx(high))


def test_dollars_by_hand(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"stub" = { input = 2, output = 8, cached = 0.5 }\n')
    found = estimate(KBC, {**LLM, "n_players": 5}, prices=prices)
    sent, received = found.lines[0].cost.prompt_tokens, found.lines[0].cost.completion_tokens
    usd = found.lines[0].cost.usd
    # At the low end the server has all that is sent in its cache, at the high end nothing.
    assert usd.low == pytest.approx((0.5 * sent.low + 8 * received.low) / 1e6, abs=1e-5)
    assert usd.high == pytest.approx((2 * sent.high + 8 * received.high) / 1e6, abs=1e-5)
    assert found.total.usd.high == pytest.approx(sum(line.cost.usd.high for line in found.lines))


def test_an_unknown_price_is_not_zero() -> None:
    found = estimate(KBC, {"minds": {"llm:gpt-4o": 12, "llm:nobody": 12}})
    dollars = {(line.question, line.mind): line.cost.usd for line in found.lines}
    assert dollars["act", "llm:gpt-4o"].low > 0
    assert math.isnan(dollars["act", "llm:nobody"].low)
    assert math.isnan(found.total.usd.low)
    assert math.isnan(found.total.usd.high)
    assert found.notes[-1].startswith("The price of nobody is not known")


# What is then spent


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_spent_lies_in_the_estimate(name: str) -> None:
    model, given = scenario(name), SMALLER.get(name, {})
    found = estimate(model, {**given, **LLM})
    assert found.typical is not None
    assert found.total.asks.low <= found.typical.asks <= found.total.asks.high
    for brain in (usual, terse, verbose, sloppy):
        usage = played(model, given, brain)
        assert usage.asks > 10
        assert not misses(found, usage)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (KBC, {"n_players": 6, "n_rounds": 3}),
        (KBC, {"n_players": 5, "n_rounds": 3, "answer_format": "json"}),
        (BERTRAND, {"n_rounds": 12}),
    ],
)
def test_a_pilot_recording_makes_it_narrower(tmp_path: Path, model: Any, given: Any) -> None:
    path = tmp_path / "pilot.sqlite"
    played(model, given, usual, 7, path)
    before = estimate(model, {**given, **LLM})
    learned = estimate(model, {**given, **LLM}, recording=path)
    for name in AMOUNTS:
        wide, narrow = getattr(before.total, name), getattr(learned.total, name)
        assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert learned.total.prompt_tokens.high < 0.6 * before.total.prompt_tokens.high
    assert not misses(learned, played(model, given, usual, 1))
    other = estimate(model, {**given, "minds": "llm:gpt-4o"}, recording=path)
    assert other.total.prompt_tokens == learned.total.prompt_tokens
    assert "gpt-4o is not in it: taken to write and count like stub." in other.notes


def test_a_small_pilot_tells_of_a_large_run(tmp_path: Path) -> None:
    path = tmp_path / "pilot.sqlite"
    played(KBC, {"n_players": 8}, usual, 7, path)
    learned = estimate(KBC, {"n_players": 16, **LLM}, recording=path)
    assert not misses(learned, played(KBC, {"n_players": 16}, usual, 1))


def test_a_model_that_gives_nothing_usable_is_learned(tmp_path: Path) -> None:
    given, path = {"n_players": 6, "n_rounds": 2}, tmp_path / "pilot.sqlite"
    played(KBC, given, nonsense, 7, path)
    learned = estimate(KBC, {**given, **LLM}, recording=path)
    assert not misses(learned, played(KBC, given, nonsense, 1))


def test_what_a_pilot_says_by_hand(tmp_path: Path) -> None:
    """Two picks: one at once, one asked for again; 3 of the 4 answers of 30 tokens, one of 60."""
    path, n_chars = tmp_path / "pilot.sqlite", []
    answers = iter(["5", "no number", "6"])

    def complete(request: Any) -> Completion:
        n_chars.append(sum(len(text) for _, text in request.messages))
        return Completion(
            next(answers), "m", prompt_tokens=100 * len(n_chars), completion_tokens=30,
            cached_tokens=50,
        )  # fmt: skip

    KBC(n_players=2, n_rounds=1, minds=LLMMind("m", ScriptedClient(complete)), rng=1,
        recording=path).run_model()  # fmt: skip
    found = calibration(path, "kbc")
    assert set(found) == {("act", "m"), ("act", "")}
    means = {name: measure[1] for name, measure in found["act", "m"].items()}
    assert means == {
        "tokens_per_char": pytest.approx((100 / n_chars[0] + 200 / n_chars[1]) / 2),
        "said": 0,
        "requests": 1.5,
        "resent": (1 + 500 / 200) / 2,
        "completion": (30 + 60) / 2,
        "cached": (50 / 100 + 100 / 500) / 2,
    }
    # A tenth of the mean, and four errors of two values and one that is half of the mean off.
    low, mean, high = found["act", "m"]["completion"]
    beyond = 4.5 + 4 * math.sqrt((15**2 + 15**2 + 22.5**2) / 3 / 2)
    assert (low, mean, high) == (0, 45, pytest.approx(45 + beyond))


def test_recordings_that_cannot_be_learned_from(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    KBC(n_players=2, n_rounds=1, rng=1, recording=path).run_model()
    with pytest.raises(ParameterError, match="holds no run of bertrand; it has kbc"):
        estimate(BERTRAND, LLM, recording=path)
    with pytest.raises(ParameterError, match="No language model has answered in the runs of kbc"):
        estimate(KBC, LLM, recording=path)
    with pytest.raises(RecordingError, match="There is no recording"):
        estimate(KBC, LLM, recording=tmp_path / "none.sqlite")


def test_runs_of_others_in_the_recording_make_no_difference(tmp_path: Path) -> None:
    given, one, both = {"n_players": 4, "n_rounds": 2}, tmp_path / "one", tmp_path / "both"
    played(KBC, given, usual, 7, one)
    played(BERTRAND, {"n_rounds": 3}, usual, 7, both)
    played(KBC, given, usual, 7, both)
    found = [estimate(KBC, {**given, **LLM}, recording=path).lines for path in (one, both)]
    assert repr(found[0]) == repr(found[1])


# Who is paid


def test_only_those_who_are_paid_are_counted() -> None:
    found = estimate(KBC, {"minds": {"llm:a": 5, "classical": 12, "fixed:7": 3, "llm:b": 4}})
    counts = {(line.question, line.mind): line.cost.asks for line in found.lines}
    assert counts == {
        ("act", "llm:a"): Range(20, 20), ("act", "llm:b"): Range(16, 16),
        ("communicate", "llm:a"): Range(15, 15), ("communicate", "llm:b"): Range(12, 12),
    }  # fmt: skip
    assert found.minds == {"llm:a": 5, "classical": 12, "fixed:7": 3, "llm:b": 4}


@pytest.mark.parametrize("minds", ["classical", "fixed:7", {"classical": 20, "fixed:0": 4}])
def test_without_a_language_model_there_is_nothing_to_pay(minds: Any) -> None:
    found = estimate(KBC, {"minds": minds})
    assert found.lines == found.notes == []
    assert found.total == Cost()
    assert found.typical is None


def test_mind_objects_are_never_called() -> None:
    def refuse(_: Any) -> Any:
        raise AssertionError("it was called")

    model = LLMMind("gpt-4o", ScriptedClient(refuse), LLMSettings(max_tokens=10), spec="mine")
    minds = [model, Priced(refuse), ScriptedMind(refuse), model, "classical"]
    found = estimate(KBC, {"minds": minds, "n_players": 5, "n_rounds": 1})
    costs = {line.mind: line.cost for line in found.lines}
    assert {mind: cost.asks.high for mind, cost in costs.items()} == {"mine": 2, "priced": 1}
    assert costs["mine"].completion_tokens == Range(2, 2 * 10 * 2)  # all of two may be unusable
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
    with pytest.raises(ParameterError, match="The number of runs has to be 1 or more"):
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
    stubs = cost.dry_run(model, LLM).stub_minds.values()
    return {spec for stub in stubs for asks in stub.asked.values() for spec in asks.specs}
