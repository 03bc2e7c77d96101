"""Memories that minds summarise and histories as chat turns, with a real server."""

from __future__ import annotations

import json

import pytest

from sabm_mesa import (
    ClassicalMind,
    Number,
    Recorded,
    SmartAgent,
    SmartModel,
    Summary,
    action,
    last,
)
from sabm_mesa.errors import MindError, ParameterError
from sabm_mesa.minds.scripted import ScriptedMind
from sabm_mesa.runs.cost import estimate
from sabm_mesa.runs.rerun import resume
from sabm_mesa.runs.run import run_models
from tests.llm_server import LLMServer
from tests.runs.reruns import Drawing, no_key, replayed, same_data

PROMPTS = """
[prompts]
scenario = "You sell bread."
act = "{{ memory }}\\nYour price? {{ form }}"
summarise = "{{ memory }}\\nSum it up. {{ form }}"
"""
TAKE = Number(0, 9, integer=True)


class Seller(SmartAgent):
    memory = Summary(every=2, words=4)

    async def act(self):
        return await self.ask("act", TAKE)


class Talker(Seller):
    memory = None
    history = last(2)


class Bakery(SmartModel):
    scenario_name = "bakery"
    phases = (action(),)
    seller = Seller

    def __init__(self, **settings):
        super().__init__(**settings)
        self.populate(self.seller, 1)

    def after_act(self, seller, price):
        if seller.memory is not None:
            seller.memory.add(f"price {price.value}")


@pytest.fixture
def bakery(tmp_path, monkeypatch):
    path = tmp_path / "bakery.toml"
    path.write_text(PROMPTS, "utf-8")
    monkeypatch.setattr(Bakery, "prompt_file", str(path), raising=False)
    with no_key(monkeypatch):
        yield Bakery


class Chatty(Bakery):
    seller = Talker


@pytest.fixture
def chatty(bakery):
    Chatty.prompt_file = bakery.prompt_file
    return Chatty


def brain(summary):
    """Answers the number of messages of the chat; and the text for a summary."""

    def answer(messages, _body):
        sums_up = messages[-1]["content"].count("Sum it up")
        return summary if sums_up else str(len(messages))

    return answer


def played(kind, path, server, **given):
    minds = f"llm:m@{server.url}"
    return run_models([kind(minds=minds, n_rounds=5, rng=1, recording=path, **given)])


def questions(server):
    return [seen.body["messages"][-1]["content"].split("\n")[:-1] for seen in server.requests]


def test_a_mind_summarises_every_two_items_and_its_text_takes_their_place(bakery, tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=brain("I ask for little bread")) as server:
        done = played(bakery, path, server)
        asked = questions(server)
    cut = "I ask for little […]"
    asks = Recorded(path).asks()
    assert asks["name"].tolist() == [
        "act", "act", "summarise", "act", "act", "summarise", "act",
    ]  # fmt: skip
    assert asks["round"].tolist() == [0, 1, 2, 2, 3, 4, 4]
    assert asks["call"].tolist() == [0, 0, 0, 1, 0, 0, 1]
    shown = ["\n".join(lines) for lines in asked]
    assert "price 2" in shown[1]
    assert shown[2].count("price 2") == 2
    assert cut in shown[3]
    assert "price" not in shown[3]
    assert cut in shown[4]
    assert shown[4].count("price 2") == 1
    assert cut in shown[5]
    assert shown[5].count("price 2") == 2
    assert done.models[0].total.asks == 7
    replayed(path, done)


def test_a_summary_that_cannot_be_used_keeps_the_items_and_is_asked_for_later(bakery) -> None:
    names = []

    def answer(ask):
        names.append((ask.name, len(ask.facts.memory)))
        return "" if ask.name == "summarise" else "3"

    bakery(minds=ScriptedMind(answer), n_rounds=5, rng=1, max_attempts=1).run_model()
    assert names == [
        ("act", 0), ("act", 1), ("summarise", 2), ("act", 2),
        ("act", 3), ("summarise", 4), ("act", 4),
    ]  # fmt: skip


def test_rules_are_not_asked_and_read_all_items(bakery) -> None:
    seen = []

    class Fixed(ClassicalMind):
        async def answer(self, ask):
            seen.append((ask.name, len(ask.facts.memory)))
            return 3

    bakery(minds=Fixed(), n_rounds=4, rng=1).run_model()
    assert seen == [("act", n) for n in range(4)]


@pytest.mark.parametrize("kind", ["bakery", "chatty"])
@pytest.mark.parametrize("most", [1, 3])
def test_a_run_that_was_cut_off_is_resumed_to_the_same_data(kind, most, request, tmp_path) -> None:
    kind = request.getfixturevalue(kind)
    whole = run_models([kind(minds=Drawing(), n_rounds=5, rng=1, recording=tmp_path / "w.sqlite")])
    path = tmp_path / "c.sqlite"
    with pytest.raises(MindError):
        run_models([kind(minds=Drawing(most), n_rounds=5, rng=1, recording=path)])
    same_data(resume(path, minds={"drawing": Drawing()}), whole)


def test_the_last_two_questions_and_answers_are_turns_of_the_chat(chatty, tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=brain("")) as server:
        done = played(chatty, path, server)
        sent = [seen.body["messages"] for seen in server.requests]
    roles = [[message["role"] for message in messages] for messages in sent]
    turn = ["user", "assistant"]
    assert roles == [["system", *turn * n, "user"] for n in (0, 1, 2, 2, 2)]
    assert [m["content"] for m in sent[4] if m["role"] == "assistant"] == ["Answer: 6", "Answer: 6"]
    assert sent[1][1] == sent[0][1]
    replayed(path, done)


def test_answers_in_a_history_are_in_the_format_of_the_run(chatty, tmp_path) -> None:
    said = '{"answer": 4}'
    with LLMServer(brain=lambda *_: said) as server:
        played(chatty, tmp_path / "r.sqlite", server, answer_format="json")
        (*_, last_sent) = server.requests
    answers = [m["content"] for m in last_sent.body["messages"] if m["role"] == "assistant"]
    assert [json.loads(answer) for answer in answers] == [{"answer": 4}] * 2


def test_an_estimate_counts_summaries_and_the_turns_that_are_sent(bakery, chatty) -> None:
    given = {"minds": "llm:gpt-4o-mini", "n_rounds": 5}
    found = {line.question: line.cost for line in estimate(bakery, given).lines}
    assert found["summarise"].asks.likely == 2
    assert found["act"].asks.likely == 5
    with_turns = estimate(chatty, given).total.prompt_tokens.likely
    chatty.seller = type("Silent", (Talker,), {"history": None})
    assert with_turns > 1.5 * estimate(chatty, given).total.prompt_tokens.likely
    chatty.seller = Talker


def test_numbers_below_one_are_refused() -> None:
    for make in (lambda: Summary(every=0), lambda: Summary(words=0), lambda: last(0)):
        with pytest.raises(ParameterError):
            make()
