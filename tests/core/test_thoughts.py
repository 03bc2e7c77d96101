"""Thoughts: what is one, and that none reaches another agent, a prompt or the conversation."""

import re
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sabm_mesa import KeynesianBeautyContest, Recorded, replay
from sabm_mesa.core.answers import Reply
from sabm_mesa.core.thoughts import split_thoughts
from sabm_mesa.llm import Client, Request
from sabm_mesa.llm.client import Sender
from sabm_mesa.llm.reading import read_reply
from sabm_mesa.minds.llm import LLMMind
from tests.core.support import Priced
from tests.llm_server import writer
from tests.runs.reruns import SMALL


@pytest.mark.parametrize(
    ("text", "answer", "thoughts"),
    [
        ("33", "33", ""),
        ("  33\n", "  33\n", ""),
        ("I think: 33", "I think: 33", ""),
        ("a < b and [b] > c", "a < b and [b] > c", ""),
        ("<think>Low.</think>33", "33", "Low."),
        ("<think>\nLow.\n</think>\n\n33", "33", "Low."),
        ("<think>\n\n</think>\n\n33", "33", ""),
        ("Low.</think>33", "33", "Low."),  # begun by the template
        ("Low.\n</think>\n\n33</think>\n22", "22", "Low.\n\n33"),
        ("<think>Low", "", "Low"),
        ("<think", "", ""),
        ("33 <think", "33", ""),
        ("33\n<think>Or 22?", "33", "Or 22?"),
        ("<think>Low.</think>33<think>Or 22?</thi", "33", "Low.\n\nOr 22?</thi"),
        ("<think><think>Low.</think>33", "33", "Low."),
        ("<think>a<think>b</think>c</think>33", "33", "a\n\nb\n\nc"),
        ("<think>a</think>3<think>b</think>3", "33", "a\n\nb"),
        ("<thi<think>a</think>nk>b", "", "a\n\nb"),
        ("<THINK>a</Think >33", "33", "a"),
        ('<think signature="x">a</think>33', "33", "a"),
        ("<thinking>a</thinking>33", "33", "a"),
        ("<thought>a</thought>33", "33", "a"),
        ("<reasoning>a</reasoning>33", "33", "a"),
        ("<seed:think>a</seed:think>33", "33", "a"),
        ("[THINK]a[/THINK]33", "33", "a"),
        ("◁think▷a◁/think▷33", "33", "a"),
        ("<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>33<|END_RESPONSE|>", "33", "a"),
        ("<|begin_of_thought|>a<|end_of_thought|>33", "33", "a"),
        ("<|channel|>analysis<|message|>a<|end|><|channel|>final<|message|>33", "33", "a"),
        ("<|channel|>final<|message|>33<|return|>", "33", ""),
        ("<|channel|>analysis<|message|>a", "", "a"),
        ('<think>a</think>{"answer": 33}', '{"answer": 33}', "a"),
        ('{"answer": "\\u003cthink\\u003ea\\u003c/think\\u003eHi"}', '{"answer": "Hi"}', "a"),
        ('{"answer": "<think>a<\\/think>Hi"}', '{"answer": "Hi"}', "a"),
    ],
)
def test_what_is_a_thought(text: str, answer: str, thoughts: str) -> None:
    assert split_thoughts(text) == (answer, thoughts)


@given(st.text() | st.lists(st.sampled_from(["<think>", "</think>", "</", "<", "think>", "a "])))
def test_an_answer_holds_no_thought_any_more(parts: Any) -> None:
    text = "".join(parts)
    answer, _ = split_thoughts(text)

    assert split_thoughts(answer).answer == answer
    assert not re.search(r"</?think>", answer)


# Whole runs: random thoughts in every form, with answers that are good, bad, or cut short.

plain = st.text(st.characters(codec="utf-8", exclude_characters="<>[]◁▷|\\"), max_size=30)


def in_parts(thought: str, answer: str) -> dict[str, Any]:
    said = [{"type": "thinking", "thinking": [{"type": "text", "text": thought}]}]
    return {"content": [*said, {"type": "text", "text": answer}]}


FORMS = {
    "in the text": lambda t, a: {"content": f"<think>{t}</think>{a}"},
    "begun by the template": lambda t, a: {"content": f"{t}</think>{a}"},
    "cut short": lambda t, _: {"content": f"<think>{t}"},
    "after the answer": lambda t, a: {"content": f"{a}<think>{t}"},
    "twice": lambda t, a: {"content": f"<think>{t}</think>{a}<think>{t}</think>"},
    "reasoning": lambda t, a: {"content": a, "reasoning": t},
    "reasoning_content": lambda t, a: {"content": a, "reasoning_content": t},
    "both": lambda t, a: {"content": a, "reasoning_content": t, "reasoning": t},
    "details": lambda t, a: {"content": a, "reasoning_details": [{"text": t}]},
    "all in thoughts": lambda t, _: {"content": None, "reasoning_content": t},
    "parts": in_parts,
    "Google's parts": lambda t, a: {"content": [{"text": t, "thought": True}, {"text": a}]},
}


drawn = st.tuples(
    plain,
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(["33", "no", ""]),
    st.sampled_from(["stop", "length"]),
)


class Thinker(Sender):
    """A server that answers each request with a thought of its own, in a form drawn for it."""

    def __init__(self, answers: list[tuple[str, str, str, str]]) -> None:
        super().__init__()
        self.answers = cycle(answers)
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Reply:
        self.requests.append(request)
        thought, form, answer, reason = next(self.answers)
        message = FORMS[form](f"zq{thought}zq", self.written(answer, request))
        body = {"choices": [{"message": message, "finish_reason": reason}]}
        reply = Reply("")
        read_reply(body, request, reply)
        return reply

    def written(self, answer: str, _request: Request) -> str:
        return answer


@settings(max_examples=30, deadline=None)
@given(st.lists(drawn, min_size=1, max_size=30), st.sampled_from(["paper", "json"]))
def test_no_byte_of_a_thought_is_ever_sent_or_said(
    answers: list[tuple[str, str, str, str]], answer_format: str
) -> None:
    thinker = Thinker(answers)
    model = KeynesianBeautyContest(
        n_players=3, n_rounds=2, minds=LLMMind("thinker", Client(thinker)), rng=1, recording=False,
        answer_format=answer_format,
    )  # fmt: skip
    model.run_model()

    sent = "".join(text for request in thinker.requests for _, text in request.messages)
    said = "".join(message.text for message in model.said)
    assert len(thinker.requests) >= 9
    assert "zq" not in sent + said


class Talker(Thinker):
    """The same, with answers that are made for the question where one of 33 is drawn."""

    def written(self, answer: str, request: Request) -> str:
        if answer != "33":
            return answer
        messages = [{"role": role, "content": text} for role, text in request.messages]
        return writer(messages, {"messages": messages})


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("name", SMALL)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(answers=st.lists(drawn, min_size=1, max_size=20))
def test_no_scenario_sends_or_says_a_thought(
    name: str, answers: list[tuple[str, str, str, str]]
) -> None:
    kind, parameters = SMALL[name]
    thinker = Talker(answers)
    model = kind(
        **parameters | {"n_rounds": 2},
        minds=LLMMind("thinker", Client(thinker)),
        rng=1,
        recording=False,
    )
    model.run_model()

    sent = "".join(text for request in thinker.requests for _, text in request.messages)
    said = "".join(str(message) for message in getattr(model, "said", ()))
    assert thinker.requests
    assert "zq" not in sent + said


def test_thoughts_are_recorded_beside_the_answer_and_repeated(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    mind = Priced(lambda ask: Reply(f"<think>Of {ask.key.agent}.</think>33", thoughts="Low."))
    model = KeynesianBeautyContest(n_players=2, n_rounds=1, minds=mind, recording=path, rng=1)
    model.run_model()
    model.close()

    asks = Recorded(path).asks()
    assert asks["raw"].tolist() == ["33", "33"]
    assert sorted(asks["thoughts"]) == ["Low.\n\nOf 1.", "Low.\n\nOf 2."]
    assert asks["thought_tokens"].tolist() == [0, 0]
    (again,) = replay(path, minds={"priced": mind}).models
    assert again.agent_frame()["choice"].tolist() == [33, 33]
