"""Cost and failures of asks: by round, by agent, in total, and at the end."""

import math

import pytest

from sabm_mesa import Reply
from sabm_mesa.cli.report import warnings
from sabm_mesa.core.usage import NO_FAILURES, Failures, Usage
from sabm_mesa.runs.run import run_models
from tests.core.support import Priced, Tiny, Waiting, tiny


def test_replies_are_summed() -> None:
    usage = Usage()
    usage.add_reply(
        Reply("1", prompt_tokens=1, completion_tokens=2, cached_tokens=3, cost_usd=0.5), 1
    )
    usage.add_reply(Reply("1", prompt_tokens=10, retries=2), 2)
    usage.add_reply(Reply("", finish_reason="content_filter"), 2)
    usage.add_reply(Reply("I thi", finish_reason="length"), 3)

    assert usage == Usage(
        prompt_tokens=11, completion_tokens=2, cached_tokens=3, cost_usd=0.5, retries=2,
        refused=1, truncated=1,
    )  # fmt: skip
    assert usage.by_agent == {2: Failures(retries=2, refused=1), 3: Failures(truncated=1)}


def test_an_unknown_cost_makes_the_sum_unknown() -> None:
    usage = Usage()
    for cost in (0.5, math.nan, 0.25):
        usage.add_reply(Reply("1", cost_usd=cost), 1)

    assert math.isnan(usage.cost_usd)


def test_tallies_are_added_and_are_rows() -> None:
    total = Usage(asks=1, cost_usd=0.25)
    total.add(Usage(asks=2, invalid=1, cost_usd=0.5))

    assert dict(total) == {
        "asks": 3,
        "invalid": 1,
        "reasks": 0,
        "retries": 0,
        "refused": 0,
        "truncated": 0,
        "with_digits": 0,
        "too_long": 0,
        "prompt_tokens": 0,
        "cached_tokens": 0,
        "completion_tokens": 0,
        "thought_tokens": 0,
        "cost_usd": 0.75,
    }
    total.add(Usage(cost_usd=math.nan))
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
    assert dict(model.usage) == {
        "asks": 2,
        "invalid": 0,
        "reasks": 0,
        "retries": 2,
        "refused": 0,
        "truncated": 0,
        "with_digits": 0,
        "too_long": 0,
        "prompt_tokens": 20,
        "cached_tokens": 4,
        "completion_tokens": 6,
        "thought_tokens": 0,
        "cost_usd": 0.5,
    }
    assert (model.total.asks, model.total.invalid, model.total.reasks) == (6, 2, 4)
    assert (model.total.prompt_tokens, model.total.cost_usd) == (100, 2.5)


# Failures.


def answer(ask):
    """Agent 1 is refused once, 2 never answers usably, 3 is cut off and sent again, 4 is fine."""
    agent, attempt = ask.key.agent, len(ask.rejected)
    if agent == 1 and not attempt:
        return Reply("", finish_reason="content_filter")
    if agent == 2:
        return Reply("no")
    if agent == 3 and not attempt:
        return Reply("4", finish_reason="length", retries=2)
    return Reply("4", finish_reason="stop")


EXPECTED = {
    1: Failures(reasks=1, refused=1),
    2: Failures(invalid=1, reasks=2),
    3: Failures(reasks=1, retries=2, truncated=1),
    4: NO_FAILURES,
}


def only_in_round_1(ask):
    return answer(ask) if ask.key.round == 1 else Reply("4")


@pytest.mark.parametrize("latencies", [0, 1, 2])
def test_what_went_wrong_is_counted_by_round_and_by_agent(latencies) -> None:
    minds = Waiting(only_in_round_1, latencies)
    model = tiny(n=4, n_rounds=3, minds=minds, rng=1, recording=False)
    model.run_model()
    of_model, of_agents = model.model_frame(), model.agent_frame()

    for i, name in enumerate(Failures._fields):
        total = sum(failures[i] for failures in EXPECTED.values())
        assert list(of_model[name]) == [0, total, 0]
        assert getattr(model.total, name) == total
    found = of_agents[of_agents["round"] == 1].set_index("agent")[list(Failures._fields)]
    assert {agent: Failures(*row) for agent, *row in found.itertuples()} == EXPECTED
    assert not of_agents[of_agents["round"] != 1][list(Failures._fields)].to_numpy().any()


def test_what_went_wrong_with_one_that_left_is_in_the_models_row_and_the_summary() -> None:
    class Leaving(Tiny):
        def update(self):
            super().update()
            if self.round == 1:
                self.cells[1].remove()

    model = Leaving(n=4, n_rounds=3, minds=Waiting(answer), rng=1, recording=False)
    summary = run_models([model]).summary()

    assert list(model.model_frame()["invalid"]) == [1, 1, 0]
    assert model.agent_frame()["invalid"].sum() == 1
    (run,) = summary["runs"]
    assert run["failures_without_row"] == {2: Failures(invalid=1, reasks=2)._asdict()}
    for name in Failures._fields:
        assert summary[name] == run[name] == model.model_frame()[name].sum()
        left = run["failures_without_row"][2][name]
        assert model.agent_frame()[name].sum() + left == run[name]


@pytest.mark.parametrize(
    ("total", "lines"),
    [
        (Usage(asks=5), []),
        (
            Usage(asks=1200, invalid=2),
            [
                "Warning: 2 of 1,200 questions got no usable answer; nothing was put in its place.",
            ],
        ),
        (
            Usage(asks=7, reasks=3, refused=1, truncated=4, retries=1),
            [
                "Warning: 3 of 10 answers could not be used, so the question was asked again.",
                "Warning: 1 of 10 answers were refused.",
                "Warning: 4 of 10 answers were truncated at the limit of tokens.",
                "Note: requests that had to be sent again: 1.",
            ],
        ),
    ],
)
def test_the_warning_names_what_went_wrong(total, lines) -> None:
    assert warnings(total) == lines
