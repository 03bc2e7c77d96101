"""The memory of the commons with embeddings: asked for, recorded, counted, and repeated."""

import base64
import json
import math
from datetime import date
from struct import pack

import pytest

from sabm_mesa import Fishery, fork, replay, resume
from sabm_mesa.agents.memory import EmbeddedRelevance, Memory, Stream
from sabm_mesa.core.answers import InvalidAnswer
from sabm_mesa.core.embeddings import Vectors, unit
from sabm_mesa.errors import (
    AccessDenied,
    BadRequest,
    BudgetExceeded,
    MissingKey,
    ParameterError,
    RunError,
)
from sabm_mesa.llm import Budget, Connection
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.cost import Range, estimate
from sabm_mesa.runs.rerun import spent_before
from sabm_mesa.runs.run import run_models
from sabm_mesa.visualization.controls import controls_of
from tests.core.support import Priced, rows
from tests.llm_server import Fault, LLMServer
from tests.models.commons.support import modest, says
from tests.runs.reruns import count, first_question, no_key, process, replayed, same_data

SHORT = {"n_rounds": 3, "max_entries": 4, "n_agents": 3}
PRICES = '[models]\n"e" = { input = 1000.0, output = 0.0 }\n'


@pytest.fixture(autouse=True)
def without_a_key(monkeypatch):
    with no_key(monkeypatch):
        yield


def recorded(path, server, minds=None, **given):
    """A run with embeddings of the server; its minds are a paid script unless others are given."""
    relevance = f"embedding:e@{server.url}"
    return run_models([
        Fishery(**SHORT | given, minds=minds or Priced(modest), rng=1, recording=path,
                memory_relevance=relevance)
    ])  # fmt: skip


def sparing(messages, body):
    """A brain with which the commons lasts."""
    takes = "do you want to catch" in messages[1]["content"]
    return "That is enough.\n5" if takes else first_question(messages, body)


def word(*numbers):
    return base64.b64encode(pack(f"<{len(numbers)}f", *numbers)).decode()


# The choice of memories by their vectors.


def test_relevance_is_the_cosine_of_the_vectors() -> None:
    """(3, 4) and (4, 3): 24 / 25; (3, 4) and (−3, −4): −1; a text without a vector: 0."""
    relevance = EmbeddedRelevance()
    relevance.vectors = {
        "q": unit(word(3, 4)), "a": unit(word(4, 3)), "b": unit(word(-3, -4)),
    }  # fmt: skip
    assert relevance.scores("q", ["a", "b", "c"]) == pytest.approx([0.96, -1, 0])
    assert relevance.scores("other", ["a", "b"]) == [0, 0]


def test_what_is_relevant_by_its_vector_comes_to_mind() -> None:
    """Old: 0.495 + 2 · 0.96 = 2.415; new: 0.5 + 0; an importance of 7 of new adds 2 only."""
    relevance = EmbeddedRelevance()
    relevance.vectors = {"q": unit(word(3, 4)), "old": unit(word(4, 3)), "new": unit(word(4, -3))}
    stream = Stream(relevance=relevance)
    day = date(2024, 1, 1)
    for text, importance in (("old", 1), ("new", 6)):
        stream.add(Memory(text, "thought", importance, day, day))
    assert [each.text for each in stream.recall(["q"], 1, day)] == ["old"]
    assert [each.text for each in stream.recall([""], 1, day)] == ["new"]


def test_agents_of_a_class_share_no_vectors() -> None:
    declared = Stream(relevance=EmbeddedRelevance())
    one, other = declared.empty(), declared.empty()
    one.relevance.vectors["q"] = unit(word(3, 4))
    assert not other.relevance.vectors
    assert not declared.relevance.vectors


@pytest.mark.parametrize(
    "answer",
    ["", word(1, 2), f"{word(1, 2)}\n{word(1, 2, 3)}", f"{word(1, 2)}\n{word(0, 0)}",
     f"{word(1, 2)}\n{word(1, float('nan'))}", f"{word(1, 2)}\nwords", f"{word(1)}\n{word(2)}"],
)  # fmt: skip
def test_what_are_no_two_vectors_of_two_numbers(answer) -> None:
    with pytest.raises(InvalidAnswer):
        Vectors(2, length=2).read(answer)


def test_vectors_are_read_as_they_came() -> None:
    assert Vectors(2).read(f"{word(1, 2)}\n{word(2, 4)}").value == (word(1, 2), word(2, 4))
    assert list(unit(word(0, 2))) == [0, 1]


# Runs.


def test_a_run_asks_for_each_text_once_an_agent_and_is_replayed_without_a_network(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer() as server:
        done = recorded(path, server)
        sent = [tuple(seen.body["input"]) for seen in server.requests]
        stats = server.stats
    asks = Recorded(path).asks(messages=True)
    asked = asks[asks["name"] == "embed"]
    texts = [tuple(m["content"] for m in json.loads(chat)) for chat in asked["messages"]]

    assert len(sent) >= 10
    assert sorted(texts) == sorted(sent)
    once = {
        (agent, text) for agent, all_ in zip(asked["agent"], texts, strict=True) for text in all_
    }
    assert len(once) == stats["embedded"]
    assert "" not in {text for _, text in once}
    assert set(asked["mind"]) == {f"embedding:e@{server.url}"}
    assert asked["prompt_tokens"].sum() == stats["prompt_tokens"] > 0
    (model,) = done.models
    assert model.total.prompt_tokens == asks["prompt_tokens"].sum()
    assert model.total.asks == len(asks)
    assert model.total.invalid == 0
    replayed(path, done)


def test_the_vectors_decide_what_comes_to_mind() -> None:
    """In month 4 there are 13 memories, of which 10 come to mind; else the oldest are left out."""

    def views(**given):
        seen = []

        def answer(ask):
            if ask.name == "act":
                seen.append([memory.text for memory in ask.observation.memory])
            words = f"{ask.name} {ask.key.agent} {ask.key.round} {ask.key.call}"
            return says(words=words, rating=1)(ask)

        Fishery(minds=Priced(answer), n_rounds=4, rng=1, recording=False, **given).run_model()
        return seen[-1]

    def plans(text):
        return [1.0, 0.0] if "plan" in text or text == "lake" else [0.0, 1.0]

    with LLMServer(embed=plans) as server:
        found = views(memory_relevance=f"embedding:e@{server.url}")
    assert [text for text in found if text.endswith(" 5 0 1")] == ["plan 5 0 1"]
    assert not any(text.endswith(" 5 0 1") for text in views())


def test_a_run_that_was_cut_off_goes_on_and_nothing_is_embedded_twice(tmp_path) -> None:
    whole, cut = tmp_path / "whole.sqlite", tmp_path / "cut.sqlite"
    with LLMServer() as server:
        done = recorded(whole, server)
        n = len(server.requests)
    with LLMServer(port=server.port, faults={5: "400"}) as server:
        with pytest.raises(BadRequest, match="model 'e'"):
            recorded(cut, server)
        kept = count(cut, "name = 'embed'")
        assert 5 <= kept < n
    with LLMServer(port=server.port) as server:
        again = resume(cut, minds={"priced": Priced(modest)})
        assert len(server.requests) == n - kept
    same_data(done, again)
    replayed(cut, again)


@pytest.mark.slow
def test_a_process_that_was_killed_has_lost_nothing_that_it_recorded(tmp_path) -> None:
    path = tmp_path / "recording.sqlite"
    with LLMServer(brain=sparing) as server:
        settings = [
            "n_agents=3", "max_entries=3", f"memory_relevance=embedding:e@{server.url}",
        ]  # fmt: skip
        sets = [part for each in settings for part in ("--set", each)]
        run = ["run", "fishery", "--minds", f"llm:stub@{server.url}", "--rounds", 3, *sets]
        with process(["-m", "sabm_mesa", *run, "--seed", 1, "--out", tmp_path]) as other:
            server.wait_until(lambda server: server.stats.get("embedded", 0) > 5)
            other.kill()
            other.wait()
    kept = count(path)
    assert count(path, "name = 'embed'") > 0
    with LLMServer(port=server.port, brain=sparing) as server:
        done = resume(path)
        assert len(server.requests) == count(path) - kept > 0
    replayed(path, done)


def test_a_fork_with_other_minds_keeps_the_vectors_and_asks_for_new_ones(tmp_path) -> None:
    path, other = tmp_path / "r.sqlite", tmp_path / "fork.sqlite"
    with LLMServer() as server:
        recorded(path, server)
        before = len(server.requests)
        other_mind = Priced(lambda ask: modest(ask).replace("I say", "They say"), spec="other")
        after = fork(path, 2, {"minds": other_mind}, other)
        assert len(server.requests) > before
    assert count(other, "name = 'embed' AND copied") == count(path, "name = 'embed' AND round < 2")
    replayed(other, after)


@pytest.mark.parametrize("minds", ["classical", "fixed:3"])
def test_minds_that_read_no_memories_have_nothing_embedded(minds) -> None:
    with LLMServer() as server:
        run = recorded(False, server, minds=minds)
        assert server.requests == []
    assert not any(agent.paid for agent in run.models[0].population)


def test_a_free_mind_of_ones_own_is_recorded_since_embeddings_are_paid_for(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    free = Priced(modest)
    free.paid = False
    with LLMServer() as server:
        done = recorded(None, server, minds=free)
    (path,) = tmp_path.glob("sabm_recordings/*.sqlite")
    assert count(path, "name = 'embed'") > 0
    replay(path, minds={"priced": free})
    assert len(replayed(path, done).models) == 1


def test_dollars_and_caps_count_embeddings(tmp_path) -> None:
    path, prices = tmp_path / "r.sqlite", tmp_path / "prices.toml"
    prices.write_text(PRICES)
    with LLMServer() as server:

        def run(**caps):
            connection = Connection(prices=prices, budget=Budget(**caps) if caps else None)
            return recorded(path, server, connection=connection)

        (model,) = run().models
        cost = Recorded(path).asks().query("name == 'embed'")["cost_usd"]
        assert cost.sum() == pytest.approx(server.stats["prompt_tokens"] / 1000)
        assert model.total.cost_usd == pytest.approx(Recorded(path).runs()["cost_usd"][0])
        sent = len(server.requests)
        with pytest.raises(BudgetExceeded, match="The budget of 4 asks is used up: 4 spent"):
            run(max_asks=4)
        assert len(server.requests) == sent + 4
        # Resumed, what was spent on embeddings counts.
        with pytest.raises(BudgetExceeded, match="4 spent"):
            resume(path, minds={"priced": Priced(modest)})
        assert len(server.requests) == sent + 4
        before = server.stats["prompt_tokens"]
        with pytest.raises(BudgetExceeded, match="dollars"):
            run(max_usd=0.1)
        assert server.stats["prompt_tokens"] - before <= 100


def test_a_server_that_says_no_tokens_has_the_most_counted(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(faults=lambda _number, _body: Fault("no-usage")) as server:
        budget = Budget(max_tokens=10**6)
        recorded(path, server, connection=Connection(budget=budget))
    assert budget.spent.asks == len(server.requests)
    assert count(path, "name = 'embed' AND prompt_tokens = 0") == budget.spent.asks
    before = spent_before(load_runs(path), None)
    assert (before.asks, before.tokens) == (budget.spent.asks, budget.spent.tokens)
    assert before.tokens > 0


@pytest.mark.parametrize(
    ("vector", "n_attempts"), [([], 3), (None, 3), ([0.0, 0.0], 3), (["x"], 3), ([10**400], 3)]
)
def test_vectors_that_cannot_be_used_are_asked_for_again_and_then_count_as_invalid(
    tmp_path, vector, n_attempts
) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(embed=lambda _text: vector) as server:
        done = recorded(path, server, n_rounds=2)
        n = count(path, "name = 'embed'")
        assert n == len(server.requests)
    invalid = rows(path, "SELECT count(*) FROM asks WHERE name = 'embed' AND valid")[0][0]
    assert invalid == 0
    (model,) = done.models
    assert model.total.invalid == n / n_attempts > 0
    assert model.total.reasks == n - n / n_attempts
    replayed(path, done)


def test_an_outage_is_retried_and_a_lasting_one_stops_the_run(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(faults={0: "503", 2: "429"}) as server:
        recorded(path, server, n_rounds=2)
    assert rows(path, "SELECT sum(retries) FROM asks WHERE name = 'embed'") == [(2,)]
    with (
        LLMServer(faults=lambda _n, _body: "error-200") as server,
        pytest.raises(RunError, match="something other than an embedding"),
    ):
        recorded(False, server, n_rounds=2, connection=Connection(max_retries=0))


def test_the_key_is_sent_and_said_nowhere(tmp_path, monkeypatch) -> None:
    secret = "-".join(["sk", *"abcdefgh" * 3])  # nothing in this repository looks like a key
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    path = tmp_path / "r.sqlite"
    with (
        LLMServer(api_key=secret, faults={1: Fault("401", echo_key=True)}) as server,
        pytest.raises(AccessDenied) as caught,
    ):
        recorded(path, server, connection=Connection(server.url))
    assert server.requests[0].status == 200
    assert secret not in str(caught.value)
    assert not any(secret.encode() in file.read_bytes() for file in tmp_path.iterdir())


def test_a_browser_cannot_name_the_address_of_an_embedding_model() -> None:
    assert "memory_relevance" not in {control.name for control in controls_of(Fishery)}


# Bad input.


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "dense",
            "memory_relevance is sparse, embedding:MODEL or embedding:MODEL@URL, not 'dense'",
        ),
        ("embedding:", "memory_relevance is sparse, embedding:MODEL"),
        (3, "memory_relevance is sparse, embedding:MODEL or embedding:MODEL@URL, not 3"),
        ("embedding:e@http://me:secret@host/v1", "must not hold a password"),
        ("embedding:e@http://", "must look like http://127.0.0.1:8000/v1"),
    ],
)
def test_a_measure_of_relevance_that_cannot_be_used(given, said) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        Fishery(memory_relevance=given)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_without_a_key() -> None:
    with pytest.raises(MissingKey, match="There is no API key"):
        Fishery(memory_relevance="embedding:text-embedding-3-small")


def test_the_price_of_an_embedding_model_has_to_be_known_for_a_cap_in_dollars() -> None:
    connection = Connection(base_url="http://127.0.0.1:9/v1", budget=Budget(max_usd=1.0))
    with pytest.raises(ParameterError, match="The price of 'strange' is not known"):
        Fishery(memory_relevance="embedding:strange", connection=connection)
    Fishery(memory_relevance="embedding:text-embedding-3-small", connection=connection)


def test_an_estimate_counts_and_prices_embeddings(tmp_path) -> None:
    (tmp_path / "prices.toml").write_text(PRICES + '"m" = { input = 1.0, output = 1.0 }\n')
    given = {**SHORT, "minds": "llm:m"}
    prices = tmp_path / "prices.toml"
    plain = estimate(Fishery, given, prices=prices)
    found = estimate(Fishery, {**given, "memory_relevance": "embedding:e"}, prices=prices)
    (embeds,) = [line for line in found.lines if line.mind == "embedding:e"]
    assert embeds.question == "embed"
    assert embeds.cost.asks.likely > 0
    assert embeds.cost.completion_tokens == Range()
    assert embeds.cost.usd.high == pytest.approx(embeds.cost.prompt_tokens.high / 1000)
    assert found.total.usd.likely > plain.total.usd.likely
    assert not any("Not counted" in note for note in found.notes)
    (unknown,) = [
        line
        for line in estimate(Fishery, {**given, "memory_relevance": "embedding:x"}).lines
        if line.mind == "embedding:x"
    ]
    assert math.isnan(unknown.cost.usd.low)


def test_what_embeddings_cost_lies_in_the_estimate(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=sparing) as server:
        recorded(path, server, minds=f"llm:stub@{server.url}", n_rounds=6)
        given = {**SHORT, "n_rounds": 6, "minds": f"llm:stub@{server.url}",
                 "memory_relevance": f"embedding:e@{server.url}"}  # fmt: skip
    ((asks, sent),) = rows(
        path, "SELECT count(*), sum(prompt_tokens) FROM asks WHERE mind LIKE 'embedding:%'"
    )
    wide, narrow = (estimate(Fishery, given, recording=each) for each in (None, path))
    for found in (wide, narrow):
        (embeds,) = [line.cost for line in found.lines if line.question == "embed"]
        assert embeds.asks.low <= asks <= embeds.asks.high
        assert embeds.prompt_tokens.low <= sent <= embeds.prompt_tokens.high
        assert not any("is not in it" in note for note in found.notes)
    other = estimate(Fishery, {**given, "memory_relevance": "embedding:f"}, recording=path)
    assert "f is not in it: taken to write and count like e." in other.notes
