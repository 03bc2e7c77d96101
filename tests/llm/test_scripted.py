"""The client that answers from a script."""

import pytest

from sabm_mesa.errors import MindError, RateLimited
from sabm_mesa.llm import Completion, ScriptedClient
from tests.llm.support import ask, complete, outcomes


def test_it_answers_in_order_and_says_when_it_has_run_out() -> None:
    client = ScriptedClient(["one", Completion("two", prompt_tokens=5), RateLimited("no")])
    one, two, three, four = outcomes(client, [ask(text) for text in "abcd"])
    assert (one.text, one.model, two.prompt_tokens) == ("one", "stub", 5)
    assert isinstance(three, RateLimited)
    assert isinstance(four, MindError)
    assert str(four) == "The script ran out at request 4."
    assert [request.messages[0][1] for request in client.requests] == list("abcd")


def test_it_answers_with_a_function_of_the_request() -> None:
    client = ScriptedClient(lambda request: request.messages[0][1].upper())
    assert [done.text for done in complete(client, ask("a"), ask("b"))] == ["A", "B"]


def test_a_request_has_a_hash_of_all_it_says() -> None:
    requests = [
        ask("a"), ask("b"), ask("a", model="m"), ask("a", temperature=0.5), ask("a", max_tokens=5),
        ask("a", top_p=0.5), ask("a", schema={"type": "object"}),
    ]  # fmt: skip
    assert len({request.digest() for request in requests}) == len(requests)
    assert ask("a").digest() == ask("a").digest()
    assert len(ask("a").digest()) == 64


@pytest.mark.parametrize("text", ["Ünïcödé 漢字 🙂", "", "\x00\n"])
def test_any_text_has_a_hash(text: str) -> None:
    assert ask(text).digest()
