"""Trying a language model: small questions to it, questions of a scenario, its preliminary test.

`probe_minds`
    finds its quirks, and its entry for a file of endpoints. Two small questions are billed, and
    twice as many for a thinking model: one with all sampling parameters, and one with a schema
    whose answer no model would give by itself. Refused requests cost nothing.
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
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sabm_mesa.core import engine
from sabm_mesa.core.answers import DEFAULT_FORMAT, FORMATS, Format, InvalidAnswer, Reply
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.thoughts import ends_thought, split_thoughts
from sabm_mesa.errors import (
    LLMError,
    MindSpecError,
    OutputError,
    ParameterError,
    SabmError,
    key,
    one_line,
)
from sabm_mesa.llm import Budget, Client, Connection, Endpoint, Request, connect
from sabm_mesa.llm.endpoints import OPENAI_URL, is_secret, read_endpoints
from sabm_mesa.llm.quirks import OTHER_NAME
from sabm_mesa.minds.base import Mind
from sabm_mesa.minds.llm import LLMSettings
from sabm_mesa.minds.local import local_client
from sabm_mesa.minds.specs import check_form, is_local, language_model, model_and_endpoint
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import Exam, Marks
from sabm_mesa.recording.export import write_file
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
_SAMPLED = {"temperature": 0.7, "top_p": 0.9, "seed": 1}
_AT_ZERO = {"temperature": 0.0, "seed": 1}
TIMES = 4
"""The number of questions of each kind in each form."""
ROUNDS = 2
"""The number of rounds: some questions are not asked in the first one."""
SETTINGS = frozenset(field.name for field in fields(LLMSettings))
"""The parameters of a run that also hold in its preliminary test."""


class State(StrEnum):
    """Outcome of a check."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """One check and its outcome.

    Attributes:
        name: the subject of the check.
        state: the outcome.
        said: the outcome in words, with a remedy when it is not ``ok``.
    """

    name: str
    state: State
    said: str


@dataclass
class ProbedModel:
    """Facts about one model at one endpoint, from its answers to a few questions.

    Attributes:
        spec: the mind.
        model: the name of the model.
        endpoint: its endpoint.
        checks: the findings in words.
        facts: the findings as plain data.
    """

    spec: str
    model: str
    endpoint: Endpoint
    checks: list[Check] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine, without an entry in a file of endpoints."""
        return is_local(self.spec)

    @property
    def fine(self) -> bool:
        """Whether it answered."""
        return all(check.state is not State.PROBLEM for check in self.checks)

    @property
    def name(self) -> str:
        """The name of its entry: its own, or one made of the address."""
        return self.endpoint.name or entry_name(self.endpoint.url)

    def entry(self) -> str:
        """Its entry for a file of endpoints, with the dialect as comments."""
        variable = self.endpoint.key_env
        lines = [
            *(f"# {check.name}: {check.said}" for check in self.checks),
            f"# mind: llm:{self.model}@{self.name}",
            f"[endpoints.{self.name}]",
            f"base_url = {json.dumps(self.endpoint.url or OPENAI_URL)}",
        ]
        if variable and key(variable):
            lines.append(f"key_env = {json.dumps(variable)}")
        if self.endpoint.key_header:
            lines.append(f"key_header = {json.dumps(self.endpoint.key_header)}")
        secret = [name for name in self.endpoint.headers if is_secret(name)]
        if headers := {k: v for k, v in self.endpoint.headers.items() if k not in secret}:
            lines.append(f"headers = {_toml(headers)}")
        lines += [f"# headers: add {name}, which is secret and not copied" for name in secret]
        if self.endpoint.extra_body:
            lines.append(f"extra_body = {_toml(self.endpoint.extra_body)}")
        if self.endpoint.max_concurrency is not None:
            lines.append(f"max_concurrency = {self.endpoint.max_concurrency}")
        return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A value of a file of endpoints, on one line of TOML."""
    if isinstance(value, Mapping):
        fields = (f"{json.dumps(name)} = {_toml(inner)}" for name, inner in value.items())
        return f"{{ {', '.join(fields)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def probe_minds(specs: Sequence[str], connection: Connection) -> Iterator[ProbedModel]:
    """Ask each language model a few small questions.

    Raises:
        MindSpecError: for a mind that is not a language model.
        UsageError: for an endpoint that does not exist.
    """
    probed = []
    for spec in specs:
        check_form(spec)
        kind, _, rest = spec.partition(":")
        if is_local(spec):
            here = ProbedModel(spec, language_model(spec), Endpoint(label="this machine"))
            probed.append((here, ""))
            continue
        if kind != "llm" or not rest:
            raise MindSpecError(f"{spec!r} is not a language model: llm:MODEL@NAME, local.")
        model, named = model_and_endpoint(rest)
        probed.append((ProbedModel(spec, model, connection.endpoint(named or None)), named))
    for finding, named in probed:
        limited = Connection(
            connection.base_url,
            connection.endpoints,
            timeout_s=connection.timeout_s,
            max_retries=1,
            budget=Budget(max_asks=MOST_ASKS),
        )
        try:
            if finding.is_local:
                client = local_client(finding.spec, limited)
            else:
                client = connect(named or None, limited, finding.model)
            engine.run(_probe(client, finding))
        except SabmError as error:
            finding.checks.append(Check("answers", State.PROBLEM, str(error)))
        yield finding


async def _probe(client: Client, finding: ProbedModel) -> None:
    first = await client.complete(_question(finding.model, "Answer with the word yes.", _SAMPLED))
    finding.checks.append(Check("answers", State.OK, in_words(first)))
    under_schema: Reply | LLMError
    try:
        under_schema = await client.complete(
            _question(finding.model, "What is 2 + 2? Answer in JSON.", _AT_ZERO, _SCHEMA)
        )
    except LLMError as error:
        under_schema = error
    answers = [first, *([under_schema] if isinstance(under_schema, Reply) else [])]
    finding.checks += [
        _dialect(answers, finding.facts),
        _thoughts(answers, finding.facts),
        _schema(under_schema, finding.facts),
    ]
    finding.facts |= {
        "requests": sum(1 + answer.retries for answer in answers),
        "prompt_tokens": sum(answer.prompt_tokens for answer in answers),
        "completion_tokens": sum(answer.completion_tokens for answer in answers),
        "latency_s": statistics.median(answer.latency_s for answer in answers),
        "served_model": first.model,
    }


def _question(
    model: str, text: str, sampling: dict[str, Any], schema: dict[str, Any] | None = None
) -> Request:
    return Request(model, (("user", text),), max_tokens=MAX_TOKENS, schema=schema, **sampling)


def _dialect(answers: Sequence[Reply], facts: dict[str, Any]) -> Check:
    """The parameters that are renamed or left out."""
    changes: dict[str, str | None] = {}
    for answer in answers:
        parameters = json.loads(answer.parameters)
        asked, sent = parameters.get("asked", {}), parameters["sent"]
        for name, value in asked.items():
            if name not in sent:
                changes[name] = other if (other := OTHER_NAME.get(name)) in sent else None
            elif name == "response_format" and sent[name] != value:
                changes[name] = str(sent[name])
    facts["dialect"] = changes
    changed = "; ".join(
        f"{name} is {'left out' if new is None else f'sent as {new}'}"
        for name, new in sorted(changes.items())
    )
    return Check("dialect", State.OK, changed or "no parameter was refused")


def _thoughts(answers: Sequence[Reply], facts: dict[str, Any]) -> Check:
    """Whether it thinks."""
    facts["thought_tokens"] = tokens = sum(answer.thought_tokens for answer in answers)
    texts = [str(answer.answer) for answer in answers]
    shown = any(answer.thoughts for answer in answers) or any(
        ends_thought(text) or split_thoughts(text).thoughts for text in texts
    )
    facts["thinks"] = thinks = bool(shown or tokens or any(map(_has_room, answers)))
    if not thinks:
        return Check("thoughts", State.OK, "it does not think, or hides it")
    counted = f" ({tokens:,} tokens)" if tokens else ""
    return Check("thoughts", State.OK, f"it thinks{counted}")


def _has_room(done: Reply) -> bool:
    """Whether it got room for thoughts, since they had used up the limit of its answer."""
    parameters = json.loads(done.parameters)
    limits = [parameters.get(kind, {}).get("max_tokens") for kind in ("asked", "sent")]
    return None not in limits and limits[1] > limits[0]


def _schema(done: Reply | LLMError, facts: dict[str, Any]) -> Check:
    """Whether a schema is enforced."""
    if isinstance(done, LLMError):
        facts["schema"] = "refused"
        return Check("schema", State.WARNING, f"refused: {done}")
    form = json.loads(done.parameters)["sent"].get("response_format")
    answer = split_thoughts(str(done.answer)).answer
    try:
        value = json.loads(answer)["answer"]
    except (ValueError, TypeError, KeyError):
        value = None
    if value in _CODES:
        facts["schema"] = "enforced"
        return Check("schema", State.OK, f"enforced, sent as {form}")
    facts["schema"] = "ignored" if form else "not taken"
    outcome = "taken and not enforced" if form else "not taken"
    return Check(
        "schema", State.WARNING, f"{outcome}: --set answer_format=json relies on the prompt alone"
    )


def in_words(done: Reply) -> str:
    """The model that answered, its time, tokens and cost."""
    tokens = f"{done.prompt_tokens} tokens sent, {done.completion_tokens} received"
    cost = "price unknown" if math.isnan(done.cost_usd) else f"${done.cost_usd:.6f}"
    return f"{done.model} answered in {done.latency_s:.1f} s ({tokens}, {cost})"


def entry_name(url: str | None) -> str:
    """The name of an endpoint, made of its address."""
    host = urlsplit(url or OPENAI_URL).hostname or ""
    parts = [part for part in host.split(".") if part not in {"api", "www"}]
    numbers = not parts or all(part.isdigit() for part in parts) or ":" in host
    name = "local" if numbers or host == "localhost" else parts[-2 if parts[1:] else 0]
    return name if re.match(r"[A-Za-z]", name) else f"at-{name}"


def write_entries(path: Path, findings: Sequence[ProbedModel]) -> list[str]:
    """Add entries to a file of endpoints.

    Args:
        findings: models that answered; those with an entry in the file are left out.

    Returns:
        The names that were added.

    Raises:
        ParameterError: when the file is not a file of endpoints.
        OutputError: when it cannot be written, or has another endpoint of that name.
    """
    known = dict(read_endpoints(path)) if path.exists() else {}
    new: dict[str, ProbedModel] = {}
    for finding in findings:
        there = known.get(finding.name) or (
            new[finding.name].endpoint if finding.name in new else None
        )
        if there is None:
            new[finding.name] = finding
        elif (there.url or OPENAI_URL) != (finding.endpoint.url or OPENAI_URL):
            raise OutputError(
                f"{path} has another endpoint {finding.name!r} already: rename it there, or write "
                "to another file."
            )
    before = path.read_text("utf-8").rstrip("\n") + "\n\n" if known else ""
    if new:
        write_file(path, before + "\n".join(finding.entry() for finding in new.values()))
    return list(new)


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
    if not language_model(spec):
        raise MindSpecError(f"{spec!r} is not a language model: use llm:MODEL, local or gguf:FILE.")
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
