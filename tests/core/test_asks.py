"""Asking: bounded re-asking with the reason, honest abstention, and recording before use."""

import asyncio
import hashlib
from types import SimpleNamespace
from typing import ClassVar

import pytest

from sabm_mesa import Choice, Number, ScriptedMind, Text, action
from sabm_mesa.core.answers import Reply, words
from sabm_mesa.core.asks import canonical_json
from sabm_mesa.core.facts import Facts
from sabm_mesa.core.messages import Message
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import BudgetExceeded, MindError
from sabm_mesa.minds.base import ask_until_valid
from tests.core.support import PICK, Priced, Tiny, question, rows


class Notes:
    """A recorder that keeps the decisions."""

    def __init__(self) -> None:
        self.decisions, self.durable = [], []

    def record(self, _ask, _mind, _reply, decision, *, final, durable) -> None:
        assert final or not decision.valid
        self.decisions.append(decision)
        self.durable.append(durable)

    def requests_of(self, *_) -> None:
        """Nothing is sent here."""


def asker(notes, usage, max_attempts=3):
    """An agent that asks."""
    model = SimpleNamespace(recorder=notes, usage=usage, max_attempts=max_attempts, in_flight=0)
    return SimpleNamespace(model=model, decided=lambda _: None)


def ask_for(mind, ask=None, max_attempts=3):
    notes, usage = Notes(), Usage()
    ask = ask or question()
    decision = asyncio.run(ask_until_valid(ask, mind, asker(notes, usage, max_attempts)))
    return SimpleNamespace(
        decision=decision,
        notes=notes.decisions,
        durable=notes.durable,
        usage=usage,
        ask=ask,
    )


def test_the_digest_is_that_of_the_messages_and_the_form_of_the_answer_as_json() -> None:
    ask = question()
    ask.rejected = (('"33"\t\\ für \u2028 \x01', "That is no number."),)
    hashed = canonical_json([ask.messages(), ask.answer_format, ask.answer_schema()])

    assert len(ask.messages()) == 4
    assert ask.digest() == hashlib.sha256(hashed.encode()).hexdigest()


def test_an_unusable_answer_is_asked_for_again_with_the_reason() -> None:
    seen = []

    def answer(ask):
        seen.append(ask.messages())
        return ["about 33", "200", "33"][len(seen) - 1]

    done = ask_for(ScriptedMind(answer))

    form = "Answer with nothing but an integer from 0 to 100: no word before it, none after it."
    assert [m["role"] for m in seen[0]] == ["system", "user"]
    assert seen[0][0]["content"] == "You are number 7."
    assert seen[0][1]["content"] == f"You see nothing. {form}"
    assert seen[1] == [
        *seen[0],
        {"role": "assistant", "content": "about 33"},
        {
            "role": "user",
            "content": 'Your answer was: "about 33"\nIt could not be used. "about 33" is not a '
            f"number.\nDo not write it again. {form}",
        },
    ]
    assert seen[2][:4] == seen[1]
    last = seen[2][5]["content"]
    assert '"200" is outside the range from 0 to 100.' in last
    assert last.endswith('JSON object whose field "answer" is an integer from 0 to 100.')
    assert (done.decision.value, done.decision.attempts) == (33, 3)
    assert (done.usage.asks, done.usage.reasks, done.usage.invalid) == (1, 2, 0)
    assert [a.reason for a in done.notes] == [
        '"about 33" is not a number.',
        '"200" is outside the range from 0 to 100.',
        "",
    ]


@pytest.mark.parametrize("attempts", [1, 2, 3, 5])
def test_attempts_are_bounded_and_the_decision_says_why_it_is_invalid(attempts) -> None:
    done = ask_for(ScriptedMind(["x"] * attempts), max_attempts=attempts)

    assert done.decision.value is None
    assert not done.decision.valid
    assert done.decision.reason == '"x" is not a number.'
    assert done.decision.attempts == len(done.notes) == attempts
    assert (done.usage.asks, done.usage.reasks, done.usage.invalid) == (1, attempts - 1, 1)
    assert [a.read_as for a in done.notes] == [None] * attempts


def test_values_are_checked_as_strictly_as_texts() -> None:
    done = ask_for(ScriptedMind([True, 100.5, 100.0]))

    assert done.decision.value == 100
    assert done.ask.rejected == (
        ("True", "True is not a number."),
        ("100.5", '"100.5" is not an integer.'),
    )


# Answers that did not end as they should.


def reply(text, finish_reason, answer_format="paper"):
    return Reply(text, answer_format=answer_format, finish_reason=finish_reason)


CUT_BY_THOUGHTS = (
    "The limit of tokens was used up by thoughts before there was an answer: think in fewer words."
)
CUT_OFF = "It was cut off before it was complete."


@pytest.mark.parametrize(
    ("spec", "answer", "reason"),
    [
        (PICK, reply("33", "length"), CUT_OFF),
        (Choice(("a", "ab")), reply("a", "length"), CUT_OFF),
        (PICK, reply('{"answer": 3', "length", "json"), CUT_OFF),
        (Text(), reply("", "length"), CUT_OFF),
        (Text(), reply("<think>They might", "length"), CUT_BY_THOUGHTS),
        (Text(reasoning=words(30)), reply("They might", "length"), CUT_OFF),
        (PICK, reply("", "content_filter"), "It was declined."),
        (Text(), reply(" \n", "content_filter"), "It was declined."),
        (PICK, reply("", "stop"), "It was empty."),
    ],
)
def test_an_answer_that_is_not_there_in_full_is_not_used(spec, answer, reason) -> None:
    done = ask_for(ScriptedMind([answer]), question(spec), max_attempts=1)

    assert (done.decision.value, done.decision.reason) == (None, reason)


def test_a_sentence_that_was_cut_off_is_heard_and_marked() -> None:
    def said(text, spec):
        return ask_for(ScriptedMind([reply(text, "length")]), question(spec)).decision.value

    assert said("I think that we", Text()) == "I think that we […]"
    assert said("one two three", Text(max_words=2)) == "one two […]"


def test_a_text_in_json_that_was_cut_off_is_heard_and_counted() -> None:
    def asked(answer, spec):
        mind = ScriptedMind([reply(answer, "length", answer_format="json")])
        return ask_for(mind, question(spec), max_attempts=1)

    for answer in (
        '{"answer": "I think that we',
        '{"answer": "I think that we"',
        '{"answer": "I think that we\\',
    ):
        done = asked(answer, Text())
        assert (done.decision.value, done.usage.too_long) == ("I think that we […]", 1)
    assert asked('{"answer": 3', Number(0, 50)).decision.value is None


def test_an_answer_with_text_is_used_although_a_filter_ended_it() -> None:
    assert ask_for(ScriptedMind([reply("33", "content_filter")])).decision.value == 33


def test_halves_of_characters_do_no_harm() -> None:
    done = ask_for(ScriptedMind(["\ud83d", "5"]))

    assert done.decision.value == 5
    assert done.ask.rejected == (("?", '"?" is not a number.'),)


def test_what_attempts_cost_is_counted_for_each() -> None:
    done = ask_for(Priced(lambda _: "x"))

    assert dict(done.usage) == {
        "asks": 1,
        "invalid": 1,
        "reasks": 2,
        "retries": 3,
        "refused": 0,
        "truncated": 0,
        "with_digits": 0,
        "too_long": 0,
        "prompt_tokens": 30,
        "cached_tokens": 6,
        "completion_tokens": 9,
        "thought_tokens": 0,
        "cost_usd": 0.75,
    }


# The cost of an answer, and the moment of its recording.


@pytest.mark.parametrize(("mind", "durable"), [(Priced, True), (ScriptedMind, False)])
def test_only_answers_that_are_paid_for_have_to_be_durable(mind, durable) -> None:
    assert ask_for(mind(lambda _: "3")).durable == [durable]


def test_a_paid_answer_is_on_disk_before_the_decision_is_used(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    on_disk = []

    class Watched(Tiny):
        phases: ClassVar = (action(order="fixed"),)

        def after_act(self, cell, pick):
            on_disk.append(rows(path, "SELECT agent, value FROM asks ORDER BY agent"))
            super().after_act(cell, pick)

    Watched(minds=Priced(lambda ask: str(ask.key.agent)), rng=1, recording=path).step()

    assert on_disk == [[(1, "1")], [(1, "1"), (2, "2")], [(1, "1"), (2, "2"), (3, "3")]]


def test_an_answer_of_a_stopped_run_is_recorded_and_then_the_run_stops() -> None:
    notes, usage = Notes(), Usage()
    stopped = Reply("33", prompt_tokens=5, stopped=True)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ask_until_valid(question(), ScriptedMind([stopped]), asker(notes, usage)))

    assert [a.value for a in notes.decisions] == [33]
    assert (usage.asks, usage.prompt_tokens) == (1, 5)


# Minds that fail.


class Failing:
    spec, instant, paid = "failing", True, False

    def __init__(self, error) -> None:
        self._error = error

    async def answer(self, ask):
        del ask
        raise self._error


@pytest.mark.parametrize("error", [ValueError("no\n  idea"), SystemExit(3), KeyError("x")])
def test_a_mind_that_raises_is_an_error_that_says_where(error) -> None:
    with pytest.raises(MindError) as raised:
        ask_for(Failing(error))

    assert str(raised.value).startswith(
        f"The mind 'failing' failed at round 2, act, agent 7: {type(error).__name__}: "
    )
    assert "\n" not in str(raised.value)
    assert raised.value.__cause__ is error


def test_the_errors_of_the_package_pass_as_they_are() -> None:
    error = BudgetExceeded("The budget is used up.")
    with pytest.raises(BudgetExceeded) as raised:
        ask_for(Failing(error))

    assert raised.value is error


# The ask itself.


def test_facts_within_facts_are_shown_and_what_they_quote_is_quoted() -> None:
    row = Facts({"price": 5, "said": Message(0, 2, "<|x|> 7")})
    facts = Facts({"rows": [row], "persona": "none", "memory": ()})

    assert facts.rows[0] is row
    assert row["price"] == row.price == 5
    shown = question().book.shown(vars(facts))["rows"]
    assert shown == [{"price": 5, "said": Message(0, 2, "(|x|) 7")}]
