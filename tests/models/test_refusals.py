"""No limit that was not stated: each reason for a refusal is a fact of the prompt.

Every question of every scenario is given answers at and beyond its limits. Each limit in the reason
for a refusal stands in the prompt of that question, which also asks for what the reason says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

from sabm_mesa.core.answers import AnswerSpec, Choice, InvalidAnswer, Number, Text
from sabm_mesa.core.asks import Ask
from sabm_mesa.minds.base import Mind
from sabm_mesa.models.registry import scenario
from tests.models.test_told import RUNS

FORMATS = ("paper", "json")
OF_THE_ANSWER = {"found", "field", "reason"}
"""Fields of a reason that repeat the answer."""
STATED = {
    "empty": "",
    "not_a_number": r"an integer|a number",
    "not_an_integer": r"an integer",
    "out_of_range": r"from \S+ to \S+",
    "too_small": r"at least",
    "too_large": r"at most",
    "not_an_option": r"exactly one of",
    "wrong_number": r"\d to \d",
    "has_numbers": r"without any digits",
}
"""Reason → what its prompt says."""


def probes(spec: AnswerSpec) -> Iterator[Any]:
    """Answers at and beyond the limits of a spec."""
    if isinstance(spec, Number):
        ends = [end for end in (spec.low, spec.high) if math.isfinite(end)]
        yield from (*ends, *(end - 1 for end in ends), *(end + 1 for end in ends))
        yield from (-1e9, -1, 0, 0.5, 1, 1e3, 1e9, "seven")
    elif isinstance(spec, Choice):
        yield from (*spec.options, "neither of them", "7")
    else:
        assert isinstance(spec, Text), spec
        words = " ".join(getattr(spec, "words", ()))
        yield from ("", "a word", "word 7 word", "word " * 900, words, words + " so" * 90)
        yield from getattr(spec, "taken", ())


class Probed(Mind):
    """A mind whose questions are given answers that may be refused."""

    def __init__(self, mind: Mind, refused: set[str]) -> None:
        self.mind, self.refused = mind, refused
        self.spec, self.instant, self.paid = mind.spec, mind.instant, mind.paid
        self.informed = mind.informed

    async def answer(self, ask: Ask) -> Any:
        for answer in probes(ask.spec):
            try:
                ask.spec.check(answer)
            except InvalidAnswer as problem:
                self.refused.add(problem.code)
                is_stated(problem, ask)
        return await self.mind.answer(ask)


def is_stated(problem: InvalidAnswer, ask: Ask) -> None:
    for answer_format in FORMATS:
        form = ask.book.form(ask.spec, answer_format)
        values = {**ask.book.shown(vars(ask.facts)), "form": form}
        told = ask.book.render(ask.scenario, values) + "\n" + ask.book.render(ask.name, values)
        assert re.search(STATED[problem.code], told), (problem.code, told)
        for name, limit in problem.fields.items():
            if name not in OF_THE_ANSWER:
                assert re.search(rf"(?<![\d.]){re.escape(str(limit))}(?![\d])", told), (name, told)


@pytest.mark.parametrize("name", RUNS)
def test_each_reason_for_a_refusal_is_a_fact_of_the_prompt(name: str) -> None:
    refused: set[str] = set()
    for parameters in RUNS[name][:2]:
        model = scenario(name)(minds="classical", rng=3, recording=False, **parameters)
        for agent in model.population:
            agent.mind = Probed(agent.mind, refused)
        for _ in range(2):
            model.step()

    assert refused


def test_a_price_of_any_height_is_a_decision() -> None:
    spec = scenario("bertrand")(n_rounds=2).legal_price

    assert [spec.read(text).value for text in ("0", "1.5", "1000")] == [0, 1.5, 1000]
