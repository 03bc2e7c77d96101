"""Runs in another presentation: recorded, resumed, replayed and forked like any other."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from sabm_mesa.core.answers import Number
from sabm_mesa.core.asks import Ask
from sabm_mesa.errors import SabmError
from sabm_mesa.minds.base import Mind
from sabm_mesa.models.registry import scenario
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.rerun import fork, replay, resume

OTHER = {"answer_format": "json", "option_order": "reversed"}


class Drawing(Mind):
    """A paid mind that draws, and keeps what it reads."""

    spec = "drawing"
    instant = True

    def __init__(self) -> None:
        self.read: list[str] = []

    async def answer(self, ask: Ask) -> object:
        """Return an example of a legal answer; of numbers the smallest, so that the fish last."""
        self.read.append(" ".join(ask.question))
        return ask.spec.low if isinstance(ask.spec, Number) else ask.spec.example(ask.rng)


def fishery(path: Path, mind: Mind, **changes: object):
    return scenario("fishery")(
        minds=mind, personas="local", n_rounds=2, rng=3, recording=path, **changes
    )


def test_they_differ_in_the_prompts_alone_and_can_be_rerun(tmp_path: Path) -> None:
    plain, other, cut = (tmp_path / f"{name}.sqlite" for name in ("plain", "other", "cut"))
    as_it_is, mind = Drawing(), Drawing()
    first, second = fishery(plain, as_it_is), fishery(other, mind, **OTHER)
    first.run_model()
    second.run_model()

    assert "You grew up here" in mind.read[0]
    assert "JSON object" in mind.read[0]
    assert "JSON object" not in as_it_is.read[0]
    assert len(mind.read) == len(as_it_is.read)
    pd.testing.assert_frame_equal(first.model_frame(), second.model_frame())
    replay(other)
    assert load_runs(other)[0].parameters.items() >= OTHER.items()
    begun = fishery(cut, Drawing(), **OTHER)
    begun.step()
    begun.close()
    onward = Drawing()
    done = resume(cut, minds={"drawing": onward})
    pd.testing.assert_frame_equal(done.model_frame(), second.model_frame())
    assert set(onward.read) < set(mind.read)
    branch, reader = tmp_path / "branch.sqlite", Drawing()
    fork(other, 1, {"personas": "newcomer"}, branch, minds={"drawing": reader})
    assert "know the customs" in reader.read[0]
    replay(branch)


def test_a_fork_does_not_change_the_presentation_but_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    fishery(path, Drawing()).run_model()

    with pytest.raises(SabmError, match="cannot change during a run"):
        fork(path, 1, {"option_order": "reversed"}, tmp_path / "fork.sqlite")
