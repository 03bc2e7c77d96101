"""What goes wrong with asks is data: by round, by agent, in total, and said at the end."""

import pandas as pd
import pytest

from sabm_mesa import Reply
from sabm_mesa.cli.report import warnings
from sabm_mesa.runner import run_models
from sabm_mesa.usage import NO_FAILURES, Failures, Tally
from tests.core.support import Tiny, Waiting, tiny


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


NO_ANSWER = " got no usable answer; {} recorded as invalid, and nothing was put in {} place."
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


def test_where_nothing_went_wrong_nothing_is_kept() -> None:
    model = tiny(n=50, n_rounds=2, minds="fixed:3", rng=1, recording=False)
    model.run_model()

    assert model.tally.by_agent == {}
    assert (model.agent_frame()[list(Failures._fields)] == 0).all(axis=None)


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


def test_the_frames_are_the_same_when_a_copy_is_collected_by_mesa() -> None:
    model = tiny(n=4, n_rounds=2, minds=Waiting(answer), rng=1, recording=False)
    model.run_model()
    mesas = model.datacollector.get_agent_vars_dataframe()
    ours = model.agent_frame()

    names = list(Failures._fields)
    pd.testing.assert_frame_equal(mesas[names].reset_index(drop=True), ours[names])


@pytest.mark.parametrize(
    ("total", "lines"),
    [
        (Tally(asks=5), []),
        (
            Tally(asks=1, invalid=1),
            ["1 of 1 question" + NO_ANSWER.format("it is", "its")],
        ),
        (
            Tally(asks=1200, invalid=2),
            ["2 of 1,200 questions" + NO_ANSWER.format("they are", "their")],
        ),
        (
            Tally(asks=9, reasks=1, refused=1),
            [
                "1 of 10 answers was asked for again because it could not be used.",
                "1 of 10 answers was refused.",
            ],
        ),
        (
            Tally(asks=7, reasks=3, truncated=4, retries=1),
            [
                "3 of 10 answers were asked for again because they could not be used.",
                "4 of 10 answers were truncated at the limit of tokens.",
                "1 request had to be sent again to get 10 answers.",
            ],
        ),
        (Tally(asks=1, retries=2), ["2 requests had to be sent again to get 1 answer."]),
    ],
)
def test_the_warning_names_what_went_wrong(total, lines) -> None:
    assert warnings(total) == [f"Warning: {line}" for line in lines]
