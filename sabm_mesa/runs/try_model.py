"""Trying a language model: small questions to it, questions of a scenario, its preliminary test.

`probe_minds`
    finds the quirks of a model. Two small questions are billed, and twice as many for a thinking
    model: one with all sampling parameters, and one with a schema whose answer no model would give
    by itself. Refused requests cost nothing.
`try_model`
    plays the first rounds of a run once for each answer format. The model answers the first
    questions of each kind. Examples of legal answers replace all other answers and unusable ones.
    Nothing is asked again, so that the share of valid answers is that of single attempts.
`sit_exam`
    holds the preliminary test of a scenario (`sabm_mesa.models.exam`).
"""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from sabm_mesa.core import engine
from sabm_mesa.core.answers import DEFAULT_FORMAT, FORMATS, Format, InvalidAnswer, Reply
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.thoughts import split_thoughts
from sabm_mesa.errors import LLMError, MindSpecError, ParameterError, SabmError, one_line
from sabm_mesa.llm import Budget, Client, Connection, Request, connect
from sabm_mesa.llm.quirks import OTHER_NAME
from sabm_mesa.minds.base import Mind
from sabm_mesa.minds.llm import LLMSettings
from sabm_mesa.minds.local import local_client
from sabm_mesa.minds.specs import check_form, is_local, language_model, model_and_endpoint
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import Exam, Marks
from sabm_mesa.runs.cost import estimate, with_context

QUESTIONS = 2
MOST_ASKS = 2 * QUESTIONS
"""The maximum number of billed answers of one model, including those without room for thoughts."""
MAX_TOKENS = 64
_CODES = (7193, 2846)
"""Answers that the schema allows, and that no model gives without it."""
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "integer", "enum": list(_CODES)}},
    "required": ["answer"],
    "additionalProperties": False,
}
TIMES = 4
"""The number of questions of each kind in each form."""
ROUNDS = 2
"""The number of rounds: some questions are not asked in the first one."""
SETTINGS = frozenset(field.name for field in fields(LLMSettings))
"""The parameters of a run that also hold in its preliminary test."""


class Check(NamedTuple):
    """One check and its outcome.

    Attributes:
        state: a problem concerns every user, a warning those of one part.
        name: the subject of the check.
        said: the outcome in words, with a remedy when it is not ``ok``.
    """

    state: Literal["ok", "warning", "problem"]
    name: str
    said: str


def probe_minds(
    specs: Sequence[str], connection: Connection
) -> Iterator[tuple[str, Sequence[Check]]]:
    """Ask each language model a few small questions, and report what it supports.

    Raises:
        MindSpecError: for a mind that is not a language model.
    """
    for spec in specs:
        check_language_model(spec)
    for spec in specs:
        how = Connection(
            connection.base_url,
            connection.endpoints,
            timeout_s=connection.timeout_s,
            max_retries=1,
            budget=Budget(max_asks=MOST_ASKS),
        )
        try:
            checks = engine.run(_probe(_client(spec, how), language_model(spec)))
        except SabmError as error:
            checks = [Check("problem", "answers", str(error))]
        yield spec, checks


def check_language_model(spec: str) -> None:
    """Check that a spec names a language model.

    Raises:
        MindSpecError: when it does not.
    """
    check_form(spec)
    if not language_model(spec):
        raise MindSpecError(f"{spec!r} is not a language model: use llm:MODEL, local or gguf:FILE.")


def _client(spec: str, connection: Connection) -> Client:
    if is_local(spec):
        return local_client(spec, connection)
    model, endpoint = model_and_endpoint(spec.partition(":")[2])
    return connect(endpoint or None, connection, model)


async def _probe(client: Client, model: str) -> list[Check]:
    first = await client.complete(
        Request(
            model, (("user", "Answer with the word yes."),),
            max_tokens=MAX_TOKENS, temperature=0.7, top_p=0.9, seed=1,
        )
    )  # fmt: skip
    answers, refusal = [first], ""
    try:
        answers.append(
            await client.complete(
                Request(
                    model, (("user", "What is 2 + 2? Answer in JSON."),),
                    max_tokens=MAX_TOKENS, temperature=0.0, seed=1, schema=_SCHEMA,
                )
            )
        )  # fmt: skip
    except LLMError as error:
        refusal = str(error)
    under_schema = (
        Check("warning", "schema", f"refused: {refusal}") if refusal else _schema(answers[-1])
    )
    return [
        Check("ok", "answers", _in_words(first)),
        _dialect(answers),
        _thoughts(answers),
        under_schema,
    ]


def _dialect(answers: Sequence[Reply]) -> Check:
    """The parameters that are renamed or left out."""
    changes: dict[str, str] = {}
    for answer in answers:
        parameters = json.loads(answer.parameters)
        asked, sent = parameters.get("asked", {}), parameters["sent"]
        for name, value in asked.items():
            if name not in sent:
                other = OTHER_NAME.get(name)
                changes[name] = f"is sent as {other}" if other in sent else "is left out"
            elif name == "response_format" and sent[name] != value:
                changes[name] = f"is sent as {sent[name]}"
    words = "; ".join(f"{name} {change}" for name, change in sorted(changes.items()))
    return Check("ok", "dialect", words or "no parameter was refused")


def _thoughts(answers: Sequence[Reply]) -> Check:
    tokens = sum(answer.thought_tokens for answer in answers)
    thinks = any(
        answer.thoughts or split_thoughts(str(answer.answer)).thoughts for answer in answers
    )
    if not (thinks or tokens):
        return Check("ok", "thoughts", "it does not think, or hides it")
    return Check("ok", "thoughts", f"it thinks ({tokens:,} tokens)" if tokens else "it thinks")


def _schema(reply: Reply) -> Check:
    """Whether a schema is enforced."""
    form = json.loads(reply.parameters)["sent"].get("response_format")
    answer = split_thoughts(str(reply.answer)).answer
    if any(str(code) in answer for code in _CODES):
        return Check("ok", "schema", f"enforced, sent as {form}")
    outcome = "taken and not enforced" if form else "not taken"
    return Check(
        "warning", "schema", f"{outcome}: --set answer_format=json relies on the prompt alone"
    )


def _in_words(reply: Reply) -> str:
    """The model that answered, its time, tokens and cost."""
    tokens = f"{reply.prompt_tokens} tokens sent, {reply.completion_tokens} received"
    cost = "price unknown" if math.isnan(reply.cost_usd) else f"${reply.cost_usd:.6f}"
    return f"{reply.model} answered in {reply.latency_s:.1f} s ({tokens}, {cost})"


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
        """The number of valid answers in a form, and of all."""
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
        parameters: the parameters of a run; minds and the answer format are ignored.
        times: the number of questions of each kind in each form.
        progress: called after each answer.

    Raises:
        MindSpecError: for a mind that is not a language model.
        UsageError: for parameters that cannot be used.
        RunError: when the model cannot be asked.
    """
    check_language_model(spec)
    if times < 1:
        raise ParameterError(f"times must be 1 or more (got {times}).", parameter="times")
    connection = with_context(connection, scenario, {**parameters, "minds": spec})
    default = parameters.get("answer_format") or ("json" if is_local(spec) else DEFAULT_FORMAT)
    outcome = Trial(spec, scenario.scenario_name, default=default)
    given = {"rng": 0, **parameters, "max_attempts": 1}
    for form in forms:
        left, rows = defaultdict[str, int](lambda: times), dict[str, Tried]()
        given["answer_format"] = form
        services = {"connection": connection, "recording": False}
        model = scenario(**{**given, **services, "minds": spec})
        for agent in model.population:
            agent.mind = _TriedMind(agent.mind, form, left, rows, progress)
        started = time.perf_counter()
        while model.running and model.round + 1 < ROUNDS:
            model.step()
        outcome.wall_s[form] = time.perf_counter() - started
        outcome.tried += rows.values()
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
        times: the number of problems of each kind, if the test does not set it.
        settings: parameters of the run that replace those of the test.

    Raises:
        UsageError: for settings that cannot be used.
        RunError: when the model cannot be asked.
    """
    given = {"rng": 0, **exam.parameters(scenario, times), **(settings or {}), "minds": spec}
    model_class = exam.model or scenario
    connection = with_context(connection, model_class, given)
    model = model_class(**given, connection=connection, recording=False)
    model.run_model()
    model.close()
    return exam.marks(model)


class _TriedMind(Mind):
    """Lets the model answer the first questions; examples of legal answers answer the others.

    Args:
        left: question → how often it is still asked; all agents share it.
        rows: question → its answers so far; all agents share it.
    """

    paid = False

    def __init__(
        self,
        tried: Mind,
        form: Format,
        left: dict[str, int],
        rows: dict[str, Tried],
        progress: Callable[[Tried], object],
    ) -> None:
        self.spec, self.answer_format = tried.spec, form
        self.enforces_json = tried.enforces_json
        self._tried, self._form = tried, form
        self._left, self._rows, self._progress = left, rows, progress

    async def answer(self, ask: Ask) -> Reply | object:
        """Let the model answer while the trial needs answers.

        Raises:
            LLMError: when the model could not be asked.
        """
        if self._left[ask.name]:
            self._left[ask.name] -= 1
            reply = await self._tried.answer(ask)
            assert isinstance(reply, Reply)
            row = self._rows.setdefault(ask.name, Tried(ask.name, self._form))
            row.answers += 1
            row.tokens += reply.completion_tokens
            row.seconds += reply.latency_s
            reply.answer = split_thoughts(str(reply.answer)).answer
            try:
                ask.read(reply)
            except InvalidAnswer as problem:
                row.reason = row.reason or one_line(ask.book.reason(problem))
                self._progress(row)
            else:
                row.valid += 1
                self._progress(row)
                return reply
        example: object = ask.spec.example(ask.rng)
        return example
