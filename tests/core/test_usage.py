"""What asks cost: sums by round and in total."""

import math

from sabm_mesa import Decision, Reply
from sabm_mesa.usage import Failures, Tally
from tests.core.support import Priced, tiny


def test_decisions_are_counted_with_their_attempts() -> None:
    tally = Tally()
    tally.add_decision(Decision(3), 1)
    tally.add_decision(Decision(3, attempts=2), 2)
    tally.add_decision(Decision(None, reason="It was empty.", attempts=3), 2)

    assert (tally.asks, tally.reasks, tally.invalid) == (3, 3, 1)
    assert tally.by_agent == {2: Failures(invalid=1, reasks=3)}


def test_replies_are_summed() -> None:
    tally = Tally()
    tally.add_reply(
        Reply("1", prompt_tokens=1, completion_tokens=2, cached_tokens=3, cost_usd=0.5), 1
    )
    tally.add_reply(Reply("1", prompt_tokens=10, retries=2), 2)
    tally.add_reply(Reply("", finish_reason="content_filter"), 2)
    tally.add_reply(Reply("I thi", finish_reason="length"), 3)

    assert tally == Tally(
        prompt_tokens=11, completion_tokens=2, cached_tokens=3, cost_usd=0.5, retries=2,
        refused=1, truncated=1,
    )  # fmt: skip
    assert tally.by_agent == {2: Failures(retries=2, refused=1), 3: Failures(truncated=1)}


def test_tallies_are_added_and_are_rows() -> None:
    total = Tally(asks=1, cost_usd=0.25)
    total.add(Tally(asks=2, invalid=1, cost_usd=0.5))

    assert dict(total) == {
        "asks": 3,
        "invalid": 1,
        "reasks": 0,
        "retries": 0,
        "refused": 0,
        "truncated": 0,
        "prompt_tokens": 0,
        "cached_tokens": 0,
        "completion_tokens": 0,
        "cost_usd": 0.75,
    }
    total.add(Tally(cost_usd=math.nan))
    assert math.isnan(total.cost_usd)


def test_a_model_counts_by_round_and_in_total() -> None:
    def answer(ask):
        return "x" if ask.key.agent == ask.key.round + 1 else "1"

    model = tiny(n=2, n_rounds=3, minds=Priced(answer), rng=1, recording=False)
    model.run_model()
    frame = model.model_frame()

    assert list(frame["asks"]) == [2, 2, 2]
    assert list(frame["invalid"]) == [1, 1, 0]
    assert list(frame["prompt_tokens"]) == [40, 40, 20]
    assert list(frame["completion_tokens"]) == [12, 12, 6]
    assert list(frame["cost_usd"]) == [1.0, 1.0, 0.5]
    assert dict(model.tally) == {
        "asks": 2,
        "invalid": 0,
        "reasks": 0,
        "retries": 2,
        "refused": 0,
        "truncated": 0,
        "prompt_tokens": 20,
        "cached_tokens": 4,
        "completion_tokens": 6,
        "cost_usd": 0.5,
    }
    assert (model.total.asks, model.total.invalid, model.total.reasks) == (6, 2, 4)
    assert (model.total.prompt_tokens, model.total.cost_usd) == (100, 2.5)
