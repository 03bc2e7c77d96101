"""What an estimate says before anything is spent, against what is then spent."""

from __future__ import annotations

import hashlib
import math
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import (
    BertrandCompetition,
    CocktailParty,
    EmergencyEvacuation,
    Fishery,
    KeynesianBeautyContest,
    LLMMind,
    LLMSettings,
    Number,
    Pasture,
    Pollution,
    PublicGoods,
    RepeatedBeautyContest,
    ScriptedClient,
    ScriptedMind,
    SentenceMaking,
)
from sabm_mesa.cost import Cost, Estimate, Range, estimate
from sabm_mesa.cost.habits import answer_tokens, unusable_share
from sabm_mesa.cost.ranges import around
from sabm_mesa.cost.rehearsal import rehearse
from sabm_mesa.cost.stand_ins import Manner, filled
from sabm_mesa.decisions import Choice, Text
from sabm_mesa.errors import MindSpecError, ParameterError, RecordingError, UnknownName
from sabm_mesa.llm import close_all
from sabm_mesa.llm.address import URL_VARIABLE
from sabm_mesa.llm.translation import KEY_VARIABLE
from sabm_mesa.minds import language_model
from sabm_mesa.models.sentence_making import WORD_SETS
from sabm_mesa.parameters import parameters_of
from sabm_mesa.registry import SCENARIOS, scenario
from tests.core.support import Priced, Tiny
from tests.llm_server import LLMServer, nonsense, stub
from tests.llm_server.stub import SENTENCES

KBC, BERTRAND, EVACUATION = KeynesianBeautyContest, BertrandCompetition, EmergencyEvacuation
SMALL: list[tuple[Any, dict[str, Any]]] = [
    (KBC, {"n_players": 6, "n_rounds": 3}),
    (KBC, {"n_players": 5, "n_rounds": 3, "answer_format": "json"}),
    (BERTRAND, {"n_rounds": 22}),
    (EVACUATION, {"n_people": 10, "n_rounds": 6, "width": 11, "height": 11}),
    (RepeatedBeautyContest, {"n_players": 4, "n_rounds": 4, "elicitation": "full"}),
    (PublicGoods, {"n_players": 4, "n_rounds": 5, "matching": "stranger", "group_size": 2}),
    (CocktailParty, {"n_agents": 4, "n_rounds": 3, "max_turns": 4}),
]
IDS = [
    "kbc", "kbc in JSON", "bertrand", "evacuation", "beauty-contest", "public-goods",
    "cocktail-party",
]  # fmt: skip
PARTS = Cost.__slots__


@pytest.fixture(autouse=True)
def own_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    yield
    close_all()


def asks(found: Estimate) -> dict[str, tuple[float, float]]:
    return {line.question: (line.cost.asks.low, line.cost.asks.high) for line in found.lines}


# Brains


def terse(messages: Any, body: Any) -> str:
    """As short as a legal answer can be."""
    (answer,) = stub(messages, body)
    if "response_format" in body:
        return answer
    last = answer.split("\n")[-1]
    return "No" if last in SENTENCES else last


def verbose(messages: Any, body: Any) -> str:
    """As long as the server lets it be (which has four letters a token)."""
    (answer,) = stub(messages, body)
    if "response_format" in body:
        return answer
    prose = " ".join(SENTENCES * 20)
    *reasoning, last = answer.split("\n")
    room = 4 * body["max_tokens"]
    if last in SENTENCES:
        return prose[:room]
    return f"{prose[: room - len(last) - 1]}\n{last}" if reasoning else last


def sloppy(messages: Any, body: Any) -> str:
    """One answer in twelve that is no text cannot be read."""
    (answer,) = stub(messages, body)
    if len(messages) > 2 or answer in SENTENCES:
        return answer
    digest = hashlib.sha256(repr(messages).encode()).digest()
    return answer + "!?" if digest[0] % 12 == 0 else answer


def writer(messages: Any, body: Any) -> Any:
    """Sentences of the words that are given, each with a name of its own; else as the stub."""
    text = messages[-1]["content"]
    if "Write sentence" not in text:
        return stub(messages, body)
    words = next(each for each in WORD_SETS if all(word in text for word in each))
    digest = hashlib.sha256(repr(messages).encode()).hexdigest()
    name = "".join(chr(ord("a") + int(digit, 16)) for digit in digest[:8])
    return f"All of {', '.join(words)} are known to the one who is called {name}."


BRAINS = [stub, terse, verbose, sloppy]


# How many asks


def test_the_asks_of_a_contest_are_exact() -> None:
    found = estimate(KBC, {"minds": "llm:gpt-4o-mini"})
    assert asks(found) == {"act": (24 * 4,) * 2, "communicate": (24 * 3,) * 2}
    assert found.total.asks == Range(168, 168)
    most = sum(n * (1 + unusable_share(n)) for n in (96, 72))
    assert found.total.requests == Range(168, pytest.approx(most))
    assert estimate(KBC, {"minds": "llm:m"}, runs=15).total.asks == Range(15 * 168, 15 * 168)
    assert estimate(KBC, {"minds": "llm:m", "n_rounds": 1}).total.asks == Range(24, 24)


@pytest.mark.parametrize(
    ("parameters", "talk", "plan", "act"),
    [
        ({}, 2 * 3 * 60, 2 * 3, 2 * 60),
        ({"communication": False}, None, 2 * 3, 2 * 60),
        ({"n_firms": 3}, 3 * 3 * 60, 3 * 3, 3 * 60),
        ({"changes": {30: {"communication": False}}}, 2 * 3 * 29, 2 * 3, 2 * 60),
        ({"minds": "llm:m", "n_rounds": 401, "stop_after": None}, 2 * 3 * 400, 2 * 20, 2 * 400),
    ],
)
def test_the_asks_of_a_competition_are_exact(
    parameters: dict[str, Any], talk: int | None, plan: int, act: int
) -> None:
    # Nothing happens in round 0; each firm speaks three times, and plans every 20 rounds.
    found = estimate(BERTRAND, {"minds": "llm:m", "n_rounds": 61, **parameters})
    expected = {"communicate": talk, "plan": plan, "act": act}
    assert asks(found) == {name: (n, n) for name, n in expected.items() if n is not None}


def test_a_competition_can_end_when_all_agree_and_need_not() -> None:
    found = asks(estimate(BERTRAND, {"minds": "llm:m", "n_rounds": 300, "stop_after": 50}))
    assert found["act"] == (2 * 50, 2 * 299)
    assert found["plan"] == (2 * 2, 2 * 14)


def test_a_commons_may_collapse_in_the_first_month_or_last_to_the_end() -> None:
    """At the least one speaks once, at the most all nine turns are taken and all is remembered."""
    found = estimate(Fishery, {"minds": "llm:m"})
    ends = asks(found)
    limit = ends.pop("limit")
    assert ends == {
        "act": (5, 60), "communicate": (1, 9 * 12), "next_speaker": (1, 8 * 12),
        "summary": (1, 12), "agreed": (1, 12), "plan": (5, 60), "interest": (5, 60),
        "reflect": (5, 60), "importance": (5 * 4, 5 * 6 * 12),
    }  # fmt: skip
    assert limit[0] == 0
    assert 12 <= limit[1] < 20
    assert found.typical is not None
    assert found.total.asks.low < found.typical.asks < found.total.asks.high


@pytest.mark.parametrize("months", [1, 30])
def test_the_number_of_months_is_open_at_any_length(months: int) -> None:
    found = asks(estimate(Fishery, {"minds": "llm:m", "n_rounds": months}))
    assert found["act"] == (5, 5 * months)
    least, most = found["communicate"]
    assert (least, max(9 * months, 18)) == (1, max(most, 18))  # chance widens what is little


def test_classical_minds_say_their_own_words_in_a_typical_run() -> None:
    """Agreements make the commons last: without their words they could not come about."""
    played = rehearse(Fishery, {"minds": "llm:m"}, Manner.CLASSICAL, lambda *_: 120)
    assert played.model.end_measures()["survived"]
    assert "limit" in {question for question, _ in played.questions}


@pytest.mark.parametrize(
    ("said", "length", "text"),
    [(None, 10, "xxxxxx; xx"), ("Good day.", 12, "Good day. xx"), ("Good day.", 3, "Goo"),
     (7, 3, "xxx"), ("", 0, "x")],
)  # fmt: skip
def test_a_text_is_filled_up_or_cut(said: object, length: int, text: str) -> None:
    assert filled(said, length) == text


@pytest.mark.parametrize("length", [5, 300])
def test_a_classical_guest_leaves_a_talk_also_when_its_words_are_filled_up_or_cut(
    length: int,
) -> None:
    """Without the word for leaving each talk would last until its turns are used up."""
    given = {"minds": "llm:m", "n_agents": 4, "n_rounds": 2, "max_turns": 50}
    found = rehearse(CocktailParty, given, Manner.CLASSICAL, lambda *_: length)
    assert found.model.chats
    assert found.counts()["say", "llm:m"] < 25 * len(found.model.chats)


def test_an_evacuation_lasts_as_long_as_nobody_moves() -> None:
    found = estimate(EVACUATION, {"minds": "llm:m", "n_people": 20, "n_rounds": 30})
    low, high = asks(found)["act"]
    assert 20 < low < high / 2
    assert 20 * 30 <= high < 1.2 * 20 * 30
    low, high = asks(found)["panic"]
    mean = 20 + 0.2 * 20 * 29
    assert 20 < low < mean < high < 1.5 * mean


def test_the_least_of_another_scenario_is_not_below_nothing() -> None:
    found = estimate(Tiny, {"minds": "llm:m", "n": 4, "n_rounds": 3})
    assert asks(found) == {"act": (12, 12)}


# What is then spent


def play(scenario: Any, parameters: dict[str, Any], brain: Any, seed: int, path: Path) -> Any:
    with LLMServer(brain=brain) as server:
        minds = f"llm:stub@{server.url}"
        model = scenario(**parameters, minds=minds, rng=seed, recording=path)
        model.run_model()
    return model


def spent(path: Path) -> dict[str, list[int]]:
    """Question → asks, requests, tokens sent, tokens received."""
    query = (
        "SELECT name, sum(attempt = 0), count(*), sum(prompt_tokens), sum(completion_tokens) "
        "FROM asks WHERE mind LIKE 'llm:%' GROUP BY name"
    )
    with closing(sqlite3.connect(path)) as connection:
        return {name: counts for name, *counts in connection.execute(query)}


def misses(found: Estimate, actual: dict[str, list[int]]) -> list[str]:
    """Where what was spent lies outside the estimate."""
    costs = {line.question: line.cost for line in found.lines}
    assert set(actual) <= set(costs)
    ranges = [
        (f"{name} {part}", getattr(cost, part), actual.get(name, [0] * 4)[i])
        for name, cost in costs.items()
        for i, part in enumerate(PARTS[:4])
    ]
    totals = [sum(each) for each in zip(*actual.values(), strict=True)]
    ranges += [(part, getattr(found.total, part), totals[i]) for i, part in enumerate(PARTS[:4])]
    return [
        f"{what}: {value} not in {r.low:.1f}–{r.high:.1f}"
        for what, r, value in ranges
        if not r.low <= value <= r.high
    ]


@pytest.mark.parametrize("brain", BRAINS, ids=lambda brain: brain.__name__)
@pytest.mark.parametrize(("scenario", "parameters"), SMALL, ids=IDS)
def test_what_is_spent_lies_in_the_estimate(
    tmp_path: Path, scenario: Any, parameters: dict[str, Any], brain: Any
) -> None:
    given = {**parameters, "minds": "llm:stub"}
    before = estimate(scenario, given)
    learned_from = tmp_path / "pilot.sqlite"
    play(scenario, parameters, brain, 7, learned_from)
    learned = estimate(scenario, given, recording=learned_from)
    assert learned.total.prompt_tokens.high < before.total.prompt_tokens.high
    assert learned.total.completion_tokens.high <= before.total.completion_tokens.high
    for seed in (1, 2):
        path = tmp_path / f"{seed}.sqlite"
        play(scenario, parameters, brain, seed, path)
        actual = spent(path)
        assert not misses(before, actual)
        assert not misses(learned, actual)


@pytest.mark.parametrize(
    ("scenario", "parameters", "brain"),
    [
        (SentenceMaking, {"n_agents": 3, "n_sentences": 2, "max_turns": 4}, writer),
        (SentenceMaking, {"interaction": "individual", "n_agents": 2, "n_sentences": 2}, writer),
        (Fishery, {"n_agents": 3, "max_entries": 3}, stub),
        (Pasture, {"n_agents": 3, "max_entries": 3}, verbose),
        (Pollution, {"n_agents": 3, "max_entries": 3}, terse),
        (PublicGoods, {"n_players": 4, "matching": "chain", "malicious": 1}, sloppy),
        (RepeatedBeautyContest, {"n_players": 4, "n_fixed": 3}, verbose),
    ],
)
def test_what_other_scenarios_spend_lies_in_the_estimate(
    tmp_path: Path, scenario: Any, parameters: dict[str, Any], brain: Any
) -> None:
    given = {**parameters, "n_rounds": 2}
    before = estimate(scenario, {**given, "minds": "llm:stub"})
    path = tmp_path / "run.sqlite"
    assert play(scenario, given, brain, 1, path).total.asks > 3
    assert not misses(before, spent(path))


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_has_an_estimate(name: str) -> None:
    few = {"n_rounds": 2, "n_agents": 4, "n_people": 10}
    known = parameters_of(scenario(name))
    given = {name: value for name, value in few.items() if name in known}
    found = estimate(scenario(name), {**given, "minds": "llm:m"})
    assert found.typical is not None
    assert 0 < found.total.asks.low <= found.typical.asks <= found.total.asks.high
    assert found.total.completion_tokens.high < math.inf


@pytest.mark.parametrize(("scenario", "parameters"), SMALL, ids=IDS)
def test_a_recording_makes_every_part_narrower(
    tmp_path: Path, scenario: Any, parameters: dict[str, Any]
) -> None:
    path = tmp_path / "pilot.sqlite"
    for seed in (7, 8):
        play(scenario, parameters, stub, seed, path)
    given = {**parameters, "minds": "llm:stub"}
    before, learned = estimate(scenario, given), estimate(scenario, given, recording=path)
    for part in PARTS[:4]:
        wide, narrow = getattr(before.total, part), getattr(learned.total, part)
        assert wide.low <= narrow.low <= narrow.high <= wide.high
    wide, narrow = before.total.prompt_tokens, learned.total.prompt_tokens
    assert narrow.high / narrow.low < 0.6 * wide.high / wide.low
    assert "2 runs" in learned.notes[0]


def test_a_small_run_tells_of_a_large_one(tmp_path: Path) -> None:
    path = tmp_path / "pilot.sqlite"
    play(KBC, {"n_players": 8, "n_rounds": 4}, stub, 7, path)
    given = {"n_players": 16, "n_rounds": 4}
    learned = estimate(KBC, {**given, "minds": "llm:stub"}, recording=path)
    assert "number of asks is not taken from it" in learned.notes[1]
    play(KBC, given, stub, 1, tmp_path / "large.sqlite")
    assert not misses(learned, spent(tmp_path / "large.sqlite"))


def test_a_model_that_gives_nothing_usable_is_learned(tmp_path: Path) -> None:
    parameters = {"n_players": 6, "n_rounds": 2}
    path = tmp_path / "pilot.sqlite"
    play(KBC, parameters, nonsense, 7, path)
    learned = estimate(KBC, {**parameters, "minds": "llm:stub"}, recording=path)
    act = next(line.cost for line in learned.lines if line.question == "act")
    assert act.requests.low <= 3 * 12 <= act.requests.high
    play(KBC, parameters, nonsense, 1, tmp_path / "run.sqlite")
    assert not misses(learned, spent(tmp_path / "run.sqlite"))


def test_a_model_that_was_not_recorded_is_taken_to_be_like_those_that_were(tmp_path: Path) -> None:
    path = tmp_path / "pilot.sqlite"
    play(KBC, {"n_players": 6, "n_rounds": 2}, stub, 7, path)
    given = {"n_players": 6, "n_rounds": 2}
    same = estimate(KBC, {**given, "minds": "llm:stub"}, recording=path)
    other = estimate(KBC, {**given, "minds": "llm:gpt-4o"}, recording=path)
    assert other.total.prompt_tokens == same.total.prompt_tokens
    assert "gpt-4o is not in it: taken to write and count like stub." in other.notes


# Recordings that say nothing


def test_recordings_that_cannot_be_learned_from(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    KBC(n_players=2, n_rounds=1, rng=1, recording=path).run_model()
    with pytest.raises(ParameterError, match="holds no run of bertrand; it has kbc"):
        estimate(BERTRAND, {"minds": "llm:m"}, recording=path)
    with pytest.raises(ParameterError, match="No language model has answered in the runs of kbc"):
        estimate(KBC, {"minds": "llm:m"}, recording=path)
    with pytest.raises(RecordingError, match="There is no recording"):
        estimate(KBC, {"minds": "llm:m"}, recording=tmp_path / "none.sqlite")


def test_runs_of_others_in_the_recording_make_no_difference(tmp_path: Path) -> None:
    path, both = tmp_path / "one.sqlite", tmp_path / "both.sqlite"
    parameters = {"n_players": 4, "n_rounds": 2}
    play(KBC, parameters, stub, 7, path)
    play(BERTRAND, {"n_rounds": 3}, stub, 7, both)
    play(KBC, parameters, stub, 7, both)
    found = [
        estimate(KBC, {**parameters, "minds": "llm:stub"}, recording=each).lines
        for each in (path, both)
    ]
    assert found[0] == found[1]


# Dollars


def priced(tmp_path: Path) -> Path:
    path = tmp_path / "prices.toml"
    path.write_text('[models]\n"stub" = { input = 2, output = 8, cached = 0.5 }\n')
    return path


def test_dollars_by_hand(tmp_path: Path) -> None:
    found = estimate(KBC, {"minds": "llm:stub", "n_players": 5}, prices=priced(tmp_path))
    cost = found.lines[0].cost
    sent, received = cost.prompt_tokens, cost.completion_tokens
    # At the least all that is sent is in the server's cache, at the most nothing.
    assert cost.usd.low == pytest.approx((0.5 * sent.low + 8 * received.low) / 1e6, abs=1e-5)
    assert cost.usd.high == pytest.approx((2 * sent.high + 8 * received.high) / 1e6, abs=1e-5)
    assert found.total.usd.high == pytest.approx(sum(line.cost.usd.high for line in found.lines))


def test_dollars_that_were_spent_lie_in_the_estimate(tmp_path: Path) -> None:
    from sabm_mesa import Connection

    given = {"n_players": 6, "n_rounds": 3}
    prices, path = priced(tmp_path), tmp_path / "pilot.sqlite"
    with LLMServer(cache=True) as server:
        connection = Connection(prices=prices)
        minds = f"llm:stub@{server.url}"
        runs = [
            KBC(**given, minds=minds, rng=seed, recording=place, connection=connection)
            for seed, place in ((7, path), (1, False))
        ]
        for run in runs:
            run.run_model()
    dollars = runs[1].total.cost_usd
    asked = {**given, "minds": "llm:stub"}
    before = estimate(KBC, asked, prices=prices).total.usd
    learned = estimate(KBC, asked, recording=path, prices=prices).total.usd
    assert before.low < learned.low < dollars < learned.high < before.high


def test_an_unknown_price_is_not_zero() -> None:
    found = estimate(KBC, {"minds": {"llm:gpt-4o": 12, "llm:nobody": 12}})
    dollars = {(line.question, line.mind): line.cost.usd for line in found.lines}
    assert dollars["act", "llm:gpt-4o"].low > 0
    assert math.isnan(dollars["act", "llm:nobody"].low)
    assert math.isnan(found.total.usd.low)
    assert math.isnan(found.total.usd.high)
    assert found.notes[-1].startswith("The price of nobody is not known")


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


def test_mind_objects_are_never_called() -> None:
    def refuse(_: Any) -> Any:
        raise AssertionError("it was called")

    client = ScriptedClient(refuse)
    model = LLMMind("gpt-4o", client, LLMSettings(max_tokens=10), spec="mine")
    minds = [model, Priced(refuse), ScriptedMind(refuse), model, "classical"]
    found = estimate(KBC, {"minds": minds, "n_players": 5, "n_rounds": 1})
    costs = {line.mind: line.cost for line in found.lines}
    assert {mind: cost.asks.high for mind, cost in costs.items()} == {"mine": 2, "priced": 1}
    assert costs["mine"].completion_tokens.high == pytest.approx(2 * 10 * (1 + unusable_share(2)))
    assert costs["mine"].usd.high > 0
    assert math.isnan(costs["priced"].usd.high)


def test_other_scenarios_are_played_at_random() -> None:
    found = rehearse(Tiny, {"minds": "llm:m", "n": 9}, Manner.CLASSICAL, lambda *_: 2)
    assert len({cell.value for cell in found.model.cells}) > 3


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"minds": "llm:"}, MindSpecError),
        ({"minds": {"llm:a": 3}}, MindSpecError),
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
        estimate(KBC, {"minds": "llm:a"}, runs=0)


# Cheap, quiet, quick


def test_no_network_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(URL_VARIABLE, "http://127.0.0.1:9/v1")
    opened = list[Any]()
    monkeypatch.setattr(socket.socket, "connect", lambda *address: opened.append(address))
    found = estimate(KBC, {"minds": {"llm:a@http://127.0.0.1:9/v1": 12, "llm:b": 12}})
    assert found.total.asks.low == 168
    assert not opened
    assert not list(tmp_path.iterdir())


def test_an_estimate_is_always_the_same() -> None:
    parameters = {"minds": "llm:m", "n_people": 12, "n_rounds": 6}
    assert estimate(EVACUATION, parameters) == estimate(EVACUATION, parameters)


@pytest.mark.parametrize(
    ("scenario", "parameters"),
    [(BERTRAND, {"n_rounds": 300}), (EVACUATION, {"n_people": 400, "n_rounds": 30})],
)
def test_an_estimate_renders_a_sample_of_the_prompts(
    scenario: Any, parameters: dict[str, Any]
) -> None:
    given = {"minds": "llm:m", "rng": 1, **parameters}
    found = rehearse(scenario, given, Manner.CLASSICAL, lambda *_: 200, render=True)
    asked = sum(each.total for each in found.questions.values())
    rendered = sum(len(turn) for each in found.questions.values() for turn in each.samples.values())
    assert 0 < 3 * rendered < asked


def test_a_sample_of_prompts_stands_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def lengths() -> dict[Any, float]:
        given = {"minds": "llm:m", "n_players": 60, "n_rounds": 4, "rng": 1}
        found = rehearse(KBC, given, Manner.CLASSICAL, lambda *_: 200, render=True)
        return {kind: asked.mean_length(4) for kind, asked in found.questions.items()}

    sampled = lengths()
    monkeypatch.setattr("sabm_mesa.cost.rehearsal.DENSE_ASKS", 1000)
    assert sampled == {kind: pytest.approx(mean, rel=0.005) for kind, mean in lengths().items()}


# The parts


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("llm:m", "m"),
        ("llm:m@http://h/v1", "m"),
        ("llm:a@b", "a@b"),
        ("classical", ""),
        ("llm:", ""),
    ],
)
def test_the_model_in_a_spec(spec: str, name: str) -> None:
    assert language_model(spec) == name


@pytest.mark.parametrize(
    ("spec", "low", "high"),
    [
        (Number(0, 100), 1, (20 + 12) / 2.5),
        (Number(0, 100, reasoning=True), 1, 64),
        (Choice(("left", "rightwards")), 1, (10 + 12) / 2.5),
        (Text(), 1, 64),
    ],
)
def test_how_long_a_legal_answer_is(spec: Any, low: float, high: float) -> None:
    assert answer_tokens(spec, "paper", 64) == Range(low, pytest.approx(high))
    assert answer_tokens(spec, "json", 64).low > low


def test_chance_matters_in_few_answers_alone() -> None:
    assert unusable_share(0) == 0
    assert unusable_share(1) == 1
    assert 0.2 < unusable_share(10_000) < 0.22


def test_the_range_around_what_was_seen() -> None:
    # 5 % of 5, and four standard errors: deviations of 0.5, and three of a tenth of 4.5.
    error = math.sqrt((4 * 0.25 + 3 * 0.45**2) / 7 / 4)
    low, high = 4 - 0.25 - 4 * error, 5 + 0.25 + 4 * error
    assert around([[4, 4], [5, 5]], 0.1) == Range(pytest.approx(low), pytest.approx(high))
    assert around([[0], [0]]) == Range(0, 0)
    assert Range(1, 10).narrowed(Range(4, 12)) == Range(4, 10)
    assert Range(1, 3).narrowed(Range(4, 12)) == Range(4, 12)


def test_the_typical_run_lies_within_the_range() -> None:
    for model, rounds in ((KeynesianBeautyContest, 4), (BertrandCompetition, 40)):
        found = estimate(model, {"minds": "llm:gpt-4o-mini", "n_rounds": rounds})
        total, typical = found.total, found.typical
        assert typical is not None
        assert total.asks.low <= typical.asks <= total.asks.high
        assert total.prompt_tokens.low < typical.prompt_tokens < total.prompt_tokens.high
        assert total.completion_tokens.low < typical.completion_tokens
        assert typical.completion_tokens < total.completion_tokens.high
        assert total.usd.low < typical.usd < total.usd.high


def test_a_typical_run_by_hand() -> None:
    """One round: 24 prompts, 4 letters a token and 8 around them; an answer has 40 and a digit."""
    sent = []

    def answer(ask: Any) -> str:
        sent.append(sum(len(part) for part in ask.question))
        return "5"

    played = KeynesianBeautyContest(n_rounds=1, minds=ScriptedMind(answer), rng=0)
    played.run_model()
    found = estimate(KeynesianBeautyContest, {"n_rounds": 1, "minds": "llm:gpt-4o-mini"}, runs=3)

    assert found.typical is not None
    assert found.typical.asks == 3 * 24
    assert found.typical.prompt_tokens == pytest.approx(3 * sum(n / 4 + 8 for n in sent))
    assert found.typical.completion_tokens == pytest.approx(3 * 24 * 41)
    assert found.typical.usd == pytest.approx(
        (found.typical.prompt_tokens * 0.15 + found.typical.completion_tokens * 0.6) / 1e6, rel=1e-4
    )
