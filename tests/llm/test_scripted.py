"""The client that answers from a script."""

from sabm_mesa.errors import MindError, RateLimited
from sabm_mesa.llm import ScriptedClient
from tests.llm.support import ask, completion, outcomes


def test_it_answers_in_order_and_says_when_it_has_run_out() -> None:
    client = ScriptedClient(["one", completion("two", prompt_tokens=5), RateLimited("no")])
    one, two, three, four = outcomes(client, [ask(text) for text in "abcd"])
    assert (one.answer, one.model, two.prompt_tokens) == ("one", "stub", 5)
    assert isinstance(three, RateLimited)
    assert isinstance(four, MindError)
    assert str(four) == "The script ran out at request 4."
    assert [request.messages[0][1] for request in client.requests] == list("abcd")


def test_a_request_has_a_hash_of_all_it_says() -> None:
    requests = [
        ask("a"), ask("b"), ask("a", model="m"), ask("a", temperature=0.5), ask("a", max_tokens=5),
        ask("a", top_p=0.5), ask("a", schema={"type": "object"}),
    ]  # fmt: skip
    assert len({request.digest() for request in requests}) == len(requests)
    assert ask("a").digest() == ask("a").digest()
    assert len(ask("a").digest()) == 64
