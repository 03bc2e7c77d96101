"""Trials of a language model with a scenario's own questions, in every answer format.

The first rounds of a run are played once for each form. The model answers the first questions of
each kind. Examples of legal answers replace all other answers and unusable ones. Nothing is asked
again, so that the share of valid answers is that of single attempts.

`sit_exam` then holds the preliminary test of the scenario (`sabm_mesa.models.exam`).
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sabm_mesa.core.answers import DEFAULT_FORMAT, FORMATS, Format, InvalidAnswer, Reply
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.thoughts import split_thoughts
from sabm_mesa.errors import MindSpecError, ParameterError
from sabm_mesa.llm import Connection
from sabm_mesa.minds.base import Mind
from sabm_mesa.minds.llm import LLMSettings
from sabm_mesa.minds.specs import is_local, language_model
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.exam import Exam, Marks
from sabm_mesa.runs.cost import estimate, with_context

TIMES = 4
"""The number of questions of each kind in each form."""
ROUNDS = 2
"""The number of rounds: some questions are not asked in the first one."""
SETTINGS = frozenset(field.name for field in fields(LLMSettings))
"""The parameters of a run that also hold in its preliminary test."""


@dataclass
class Tried:
    """The answers of a model to one question in one form.

    Attributes:
        question: the name of the question.
        form: the answer format.
        answers: the number of answers.
        valid: the number of usable answers.
        tokens: tokens received, of all.
        seconds: the sum of the seconds from request to answer.
        reason: why the first unusable answer was refused; ``""`` without one.
    """

    question: str
    form: Format
    answers: int = 0
    valid: int = 0
    tokens: int = 0
    seconds: float = 0.0
    reason: str = ""


@dataclass
class Trial:
    """The outcome of a trial.

    Attributes:
        spec: the mind.
        scenario: the name of the scenario.
        tried: one entry for each question and form.
        wall_s: form → elapsed seconds for its answers, several at once.
        default: the default form of the mind.
        asks: the number of questions of a run with these parameters, including repeated ones.
        usd: the cost of such a run in dollars; NaN when the price is unknown.
    """

    spec: str
    scenario: str
    tried: list[Tried] = field(default_factory=list)
    wall_s: dict[Format, float] = field(default_factory=dict)
    default: Format = DEFAULT_FORMAT
    asks: float = 0.0
    usd: float = 0.0

    def valid_of(self, form: Format) -> tuple[int, int]:
        """The number of valid answers in a form, and of all.

        Args:
            form: the form.
        """
        rows = [answer for answer in self.tried if answer.form == form]
        return sum(row.valid for row in rows), sum(row.answers for row in rows)

    @property
    def best(self) -> Format:
        """The form with the highest share of valid answers; the default form wins ties."""

        def rank(form: Format) -> tuple[float, bool]:
            valid, n = self.valid_of(form)
            return (valid / n if n else 0.0), form == self.default

        return max(self.wall_s, key=rank)

    @property
    def run_s(self) -> float:
        """The estimated seconds of a run with the best form."""
        n = self.valid_of(self.best)[1]
        return self.asks * self.wall_s[self.best] / n if n else math.nan

    @property
    def recommendation(self) -> str:
        """The form to choose, with the counts of all forms."""
        shares = []
        for form in sorted(self.wall_s, key=lambda form: form != self.best):
            valid, n = self.valid_of(form)
            shares.append(f"{form}: {valid} of {n} valid")
        shares_line = "; ".join(shares)
        if not self.valid_of(self.best)[0]:
            return f"{shares_line}. No form works: choose a larger model."
        if self.best == self.default:
            return f"{shares_line}. The default form is the best one: nothing must be set."
        return f"{shares_line}. Recommended: --set answer_format={self.best}"


def try_model(
    scenario: type[SmartModel],
    parameters: Mapping[str, Any],
    spec: str,
    connection: Connection,
    *,
    times: int = TIMES,
    forms: Sequence[Format] = FORMATS,
    progress: Callable[[Tried], object] = lambda _: None,
) -> Trial:
    """Ask a language model the questions of a scenario in every answer format.

    Args:
        scenario: the model class.
        parameters: the parameters of a run; minds and the answer format are ignored.
        spec: the mind, a language model.
        connection: how it is reached, with its caps.
        times: the number of questions of each kind in each form.
        forms: the forms.
        progress: called after each answer.

    Raises:
        MindSpecError: for a mind that is not a language model.
        UsageError: for parameters that cannot be used.
        RunError: when the model cannot be asked.
    """
    if not language_model(spec):
        raise MindSpecError(f"{spec!r} is not a language model: use llm:MODEL, local or gguf:FILE.")
    if times < 1:
        raise ParameterError(f"times must be 1 or more (got {times}).", parameter="times")
    connection = with_context(connection, scenario, {**parameters, "minds": spec})
    default = parameters.get("answer_format") or ("json" if is_local(spec) else DEFAULT_FORMAT)
    outcome = Trial(spec, scenario.scenario_name, default=default)
    given = {"rng": 0, **parameters, "max_attempts": 1}
    for form in forms:
        asked = _Asked(form, times, progress)
        given["answer_format"] = form
        services = {"connection": connection, "recording": False}
        model = scenario(**{**given, **services, "minds": spec})
        for agent in model.population:
            agent.mind = _TriedMind(agent.mind, asked)
        started = time.perf_counter()
        while model.running and model.round + 1 < ROUNDS:
            model.step()
        outcome.wall_s[form] = time.perf_counter() - started
        outcome.tried += asked.rows.values()
        model.close()
    chosen = {**parameters, "minds": spec, "answer_format": outcome.best, "connection": connection}
    total = estimate(scenario, chosen).total
    outcome.asks, outcome.usd = total.asks.likely, total.usd.likely
    return outcome


def sit_exam(
    exam: Exam,
    scenario: type[SmartModel],
    spec: str,
    connection: Connection,
    *,
    times: int = TIMES,
    settings: Mapping[str, Any] | None = None,
) -> Marks:
    """Let a mind sit the preliminary test of a scenario.

    Args:
        exam: the test.
        scenario: the scenario.
        spec: the mind.
        connection: how it is reached, with its caps.
        times: the number of problems of each kind, if the test does not set it.
        settings: parameters of the run that replace those of the test.

    Raises:
        UsageError: for settings that cannot be used.
        RunError: when the model cannot be asked.
    """
    given = {"rng": 0, **exam.parameters(scenario, times), **(settings or {}), "minds": spec}
    connection = with_context(connection, exam.model, given)
    model = exam.model(**given, connection=connection, recording=False)
    model.run_model()
    model.close()
    return exam.marks(model)


class _Asked:
    """The answers in one form."""

    def __init__(self, form: Format, times: int, progress: Callable[[Tried], object]) -> None:
        self.form, self._times, self._progress = form, times, progress
        self._taken: Counter[str] = Counter()
        self.rows: dict[str, Tried] = {}

    def takes(self, question: str) -> bool:
        """Whether the model is asked a question again."""
        self._taken[question] += 1
        return self._taken[question] <= self._times

    def add(self, ask: Ask, reply: Reply) -> bool:
        """Count an answer, and return whether it can be used."""
        row = self.rows.setdefault(ask.name, Tried(ask.name, self.form))
        row.answers += 1
        row.tokens += reply.completion_tokens
        row.seconds += reply.latency_s
        if isinstance(reply.answer, str):
            reply.answer = split_thoughts(reply.answer).answer
        try:
            ask.read(reply)
        except InvalidAnswer as problem:
            row.reason = row.reason or " ".join(ask.book.reason(problem).split())
            valid = False
        else:
            row.valid += 1
            valid = True
        self._progress(row)
        return valid


class _TriedMind(Mind):
    """Lets the model answer the first questions; examples of legal answers answer the others."""

    paid = False

    def __init__(self, tried: Mind, asked: _Asked) -> None:
        self.spec, self.answer_format = tried.spec, asked.form
        self.enforces_json = tried.enforces_json
        self._tried, self._asked = tried, asked

    async def answer(self, ask: Ask) -> Reply | object:
        """Let the model answer while the trial needs answers.

        Raises:
            LLMError: when the model could not be asked.
        """
        if self._asked.takes(ask.name):
            reply = await self._tried.answer(ask)
            assert isinstance(reply, Reply)
            if self._asked.add(ask, reply):
                return reply
        example: object = ask.spec.example(ask.rng)
        return example
