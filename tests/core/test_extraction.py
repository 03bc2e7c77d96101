"""`reading="extract"`: a language model is asked which value its unread answer gave."""

import asyncio
from types import SimpleNamespace

import pytest

from sabm_mesa import Budget, Choice, Connection, KeynesianBeautyContest, Recorded, ScriptedMind
from sabm_mesa.core.answers import words
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import BudgetExceeded
from sabm_mesa.minds.base import ask_until_valid
from sabm_mesa.runs.rerun import replay, resume
from tests.core.support import PICK, question
from tests.core.test_asks import Notes, asker
from tests.llm_server import LLMServer

TORN = "There is 20, and there is 40. Who knows?"


def ask(answers, spec=PICK, reading="extract", max_attempts=3, answer_format=None):
    """The decision for a script of answers, its attempts, and the chats that were sent."""
    chats, notes, usage = [], Notes(), Usage()

    def script(asked):
        chats.append(asked.chat())
        return answers[len(chats) - 1]

    mind = ScriptedMind(script)
    mind.answer_format = answer_format
    asked = question(spec)
    asked.reading = reading
    decision = asyncio.run(ask_until_valid(asked, mind, asker(notes, usage, max_attempts)))
    read_as = [note.reading and note.reading.read_as for note in notes.attempts]
    return SimpleNamespace(decision=decision, read_as=read_as, chats=chats, usage=usage, ask=asked)


def test_one_short_request_asks_which_value_the_answer_gave() -> None:
    done = ask([TORN, '{"answer": 40}'])

    assert (done.decision.value, done.decision.attempts) == (40, 2)
    assert done.read_as == [None, "extracted"]
    assert (done.usage.asks, done.usage.reasks) == (1, 1)
    ((role, text),) = done.chats[1]  # neither the scenario nor the question
    assert role == "user"
    assert TORN in text
    assert 'JSON object whose field "answer" is an integer from 0 to 100.' in text


@pytest.mark.parametrize(
    "extracted",
    ['{"answer": null}', '{"answer": 30}', '{"answer": 101}', '{"answer": "20 or 40"}', ""],
)
def test_what_the_answer_does_not_give_is_not_used_and_the_question_is_asked_again(extracted):
    done = ask([TORN, extracted, "20"])

    assert (done.decision.value, done.read_as) == (20, [None, None, "exact"])
    last = done.chats[2]
    assert last[:2] == done.chats[0]
    assert [role for role, _ in last] == ["system", "user", "assistant", "user"]
    assert last[2] == ("assistant", TORN)
    assert last[3][1].endswith('JSON object whose field "answer" is an integer from 0 to 100.')


def test_an_option_has_to_stand_in_the_answer() -> None:
    spec = Choice(("left", "right", "up"), reasoning=words(9))

    torn = "Left is short. Right is safe."
    assert ask([torn, '{"answer": "right"}'], spec).decision.value == "right"
    assert ask([torn, '{"answer": "up"}'], spec, max_attempts=2).decision.value is None


@pytest.mark.parametrize(
    "answer", ["", "I choose 133.", "I'm sorry, I cannot answer.", "Let me think."]
)
def test_where_no_value_or_an_illegal_one_is_given_nothing_is_extracted(answer: str) -> None:
    assert ask([answer, "20"]).read_as == [None, "exact"]


@pytest.mark.parametrize(
    ("given", "attempts"),
    [
        ({"reading": "unambiguous"}, [None, "labelled"]),
        ({"reading": "exact"}, [None, "exact"]),
        ({"answer_format": "paper"}, [None, "labelled"]),  # of people
        ({"max_attempts": 1}, [None]),
    ],
)
def test_it_is_off_by_default_and_within_the_attempts(given, attempts) -> None:
    second = "40" if given.get("reading") == "exact" else "Answer: 40"
    done = ask([TORN, second], **given)

    assert done.read_as == attempts
    assert all(chat[0][0] == "system" for chat in done.chats)


def brain(messages, body):
    """A model that cannot decide, and knows afterwards what it said; it counts its requests."""
    brain.bodies.append(body)
    return '{"answer": 40}' if len(messages) == 1 else TORN


def contest(server, path, **given):
    brain.bodies = []
    return KeynesianBeautyContest(
        n_players=2, n_rounds=2, minds=[f"llm:m@{server.url}", "fixed:5"], recording=path,
        reading="extract", rng=1, **given,
    )  # fmt: skip


def test_the_request_is_recorded_counted_and_repeated(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=brain) as server:
        model = contest(server, path)
        model.run_model()

    answer = brain.bodies[1]["response_format"]["json_schema"]["schema"]["properties"]["answer"]
    assert answer == {"anyOf": [PICK.schema(), {"type": "null"}]}
    plain = [body.get("response_format") is None for body in brain.bodies]
    assert plain == [True, False, True, True, False]  # the third one is talk
    asks = Recorded(path).asks()
    asks = asks[(asks["agent"] == 1) & (asks["phase"] == "act")]
    assert asks["valid"].astype(bool).tolist() == [False, True] * 2
    assert asks["read_as"].tolist()[1::2] == ["extracted"] * 2
    assert (asks["prompt_tokens"] > 0).all()
    assert Recorded(path).asks()["prompt_tokens"].sum() == model.total.prompt_tokens
    (again,) = replay(path).models  # without the server
    assert again.agent_frame().equals(model.agent_frame())


def test_it_stays_below_the_caps_and_a_resume_asks_nothing_twice(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=brain) as server:
        model = contest(server, path, connection=Connection(budget=Budget(max_asks=4)))
        with pytest.raises(BudgetExceeded):
            model.run_model()
        model.close()
        assert len(brain.bodies) == 4  # the second extraction would pass the cap
        resumed = resume(path, connection=Connection()).models[0]
        assert len(brain.bodies) == 5

    assert resumed.total.reasks == 2
    assert resumed.total.invalid == 0
