"""Anchors: a model that changed is noticed, and one that only varies is not."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from sabm_mesa.errors import ParameterError
from sabm_mesa.llm import Connection, close_all
from sabm_mesa.studies import anchors
from sabm_mesa.studies.anchors import ALPHA, REPEATS, AnchorSession, compare, statistic
from tests.llm_server import LLMServer


def drawn(rng: np.random.Generator, shares: list[np.ndarray]) -> list[list[str]]:
    """The answers of a model that draws from a distribution for each anchor."""
    return [[str(each) for each in rng.choice(len(p), REPEATS, p=p)] for p in shares]


def a_model(rng: np.random.Generator) -> list[np.ndarray]:
    """A model that has five answers to each anchor, some of them hardly ever."""
    return [rng.dirichlet(np.full(5, 0.7)) for _ in range(anchors.N_ANCHORS)]


def test_a_model_that_varies_is_called_changed_in_one_of_a_hundred_cases_at_most() -> None:
    rng = np.random.default_rng(1)
    found = {"same": 0, "changed": 0}
    for _ in range(60):
        one, other = a_model(rng), a_model(rng)
        first = drawn(rng, one)
        found["same"] += statistic(first, drawn(rng, one))[2] <= ALPHA
        found["changed"] += statistic(first, drawn(rng, other))[2] <= ALPHA

    # 1 per cent of 60 are 0.6; more than 3 have a chance of less than 1 in 200.
    assert found["same"] <= 3
    assert found["changed"] >= 54


def test_the_statistic_by_hand() -> None:
    steady = [["a"] * 3] * 4
    assert statistic(steady, steady) == (1.0, 1.0, 1.0)
    within, between, p = statistic(steady, [["b"] * 3] * 4)
    assert (within, between) == (1.0, 0.0)
    # Each anchor is divided as observed in 2 of 20 ways.
    assert p == pytest.approx(0.1**4, abs=5e-4)


def test_a_comparison_in_words_has_its_shares() -> None:
    one = AnchorSession("llm:a", "2026-11-01", "x", [["1", "1"], ["2", "2"]])
    other = AnchorSession("llm:a", "2026-11-02", "x", [["1", "1"], ["3", "3"]])
    (same,) = compare([(one, other)])

    assert not same.changed
    assert "1 of 2 with the same answer" in str(same)
    assert "between sessions 50 %, within 100 %" in str(same)
    assert one.frozen() == {"day": "2026-11-01", "version": "x", "answers": [["1"] * 2, ["2"] * 2]}


def test_answers_to_other_anchors_are_not_compared() -> None:
    one = AnchorSession("llm:a", "2026-11-01", "x", [["1"]])
    other = AnchorSession("llm:a", "2026-11-02", "y", [["1"]])
    with pytest.raises(ParameterError, match="are not the same questions"):
        compare([(one, other)])


@pytest.mark.slow
def test_a_model_that_changed_under_its_name_is_noticed_and_nothing_is_asked_twice(
    tmp_path: Path,
) -> None:
    path, rng = tmp_path / "recording.sqlite", random.Random(3)

    def steady(messages: list[dict[str, str]], *_: object) -> str:
        """The model of before: it answers by the question, with a little chance."""
        return f"word {sum(map(ord, messages[-1]['content'])) % 7 + rng.randrange(2)}"

    def other(messages: list[dict[str, str]], *_: object) -> str:
        return f"other {len(messages[-1]['content']) % 5}"

    def asked(brain: object, day: str) -> int:
        with LLMServer(brain=brain) as server:  # type: ignore[arg-type]
            connection = Connection(base_url=server.url)
            anchors.ask(["llm:a"], path, connection, day=day)
            return len(server.requests)

    n = anchors.N_ANCHORS * REPEATS
    assert [asked(steady, "2026-11-01"), asked(steady, "2026-11-01")] == [n, 0]
    assert [asked(steady, "2026-12-01"), asked(other, "2027-01-01")] == [n, n]
    close_all()

    before, after = compare(anchors.first_and_later(anchors.sessions(path)))
    assert (before.changed, after.changed) == (False, True)
    assert str(after).startswith("Anchors of llm:a, 2026-11-01 and 2027-01-01: changed (0 of 20")
    assert anchors.spent(path)[0] == 3 * n
