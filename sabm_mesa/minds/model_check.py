"""Checks of a language model before it decides: its dialect, and its entry in a file of endpoints.

The questions are those of `sabm doctor --minds` and of *Check the model* in the viewer.

At most seven small questions are billed, and twice as many for a thinking model: one with all
sampling parameters, one with a schema whose answer no model would give by itself, and five equal
ones at temperature 0. Refused requests cost nothing.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sabm_mesa.core import engine
from sabm_mesa.core.thoughts import ends_thought, split_thoughts
from sabm_mesa.errors import LLMError, MindSpecError, OutputError, SabmError, key
from sabm_mesa.llm import Budget, Client, Completion, Connection, Endpoint, Request, connect
from sabm_mesa.llm.dialect import OTHER_NAME
from sabm_mesa.llm.endpoints import OPENAI_URL, is_secret, read_endpoints
from sabm_mesa.minds.local import local_client
from sabm_mesa.minds.specs import check_form, is_local, language_model, model_and_endpoint
from sabm_mesa.recording.export import write_text_file

EQUAL = 5
"""The number of equal questions, to which a repeatable model gives equal answers."""
QUESTIONS = 2 + EQUAL
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

    Args:
        specs: the minds.
        connection: how endpoints are reached.

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
    under_schema: Completion | LLMError
    try:
        under_schema = await client.complete(
            _question(finding.model, "What is 2 + 2? Answer in JSON.", _AT_ZERO, _SCHEMA)
        )
    except LLMError as error:
        under_schema = error
    sentence = _question(finding.model, "Write one sentence about the sea.", _AT_ZERO)
    equal = await asyncio.gather(*(client.complete(sentence) for _ in range(EQUAL)))
    answers = [first, *equal, *([under_schema] if isinstance(under_schema, Completion) else [])]
    finding.checks += [
        _dialect(answers, finding.facts),
        _thoughts(answers, finding.facts),
        _schema(under_schema, finding.facts),
        _equal(equal, finding.facts),
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


def _dialect(answers: Sequence[Completion], facts: dict[str, Any]) -> Check:
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


def _thoughts(answers: Sequence[Completion], facts: dict[str, Any]) -> Check:
    """Whether it thinks, and the form of its thoughts."""
    tokens = sum(answer.thought_tokens for answer in answers)
    forms = {
        "in fields of their own": any(answer.thoughts for answer in answers),
        "in the text, begun by the template": any(ends_thought(answer.text) for answer in answers),
        "in the text, between marks": any(
            split_thoughts(answer.text).thoughts for answer in answers
        ),
        "not shown, and counted": bool(tokens),
        "neither shown nor counted": any(_has_room(answer) for answer in answers),
    }
    form = next((name for name, holds in forms.items() if holds), None)
    facts["thoughts"] = form
    facts["thought_tokens"] = tokens
    if form is None:
        return Check("thoughts", State.OK, "it does not think, or hides it")
    counted = f" ({tokens:,} tokens)" if tokens else ""
    return Check("thoughts", State.OK, f"it thinks; its thoughts are {form}{counted}")


def _has_room(done: Completion) -> bool:
    parameters = json.loads(done.parameters)
    limits = [parameters.get(kind, {}).get("max_tokens") for kind in ("asked", "sent")]
    return None not in limits and limits[1] > limits[0]


def _schema(done: Completion | LLMError, facts: dict[str, Any]) -> Check:
    """Whether a schema is enforced."""
    if isinstance(done, LLMError):
        facts["schema"] = "refused"
        return Check("schema", State.WARNING, f"refused: {done}")
    form = json.loads(done.parameters)["sent"].get("response_format")
    answer = split_thoughts(done.text).answer
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


def _equal(answers: Sequence[Completion], facts: dict[str, Any]) -> Check:
    """Whether equal questions get equal answers."""
    facts["different_answers"] = n = len({split_thoughts(answer.text).answer for answer in answers})
    if n == 1:
        return Check("repeats", State.OK, f"{EQUAL} equal questions got equal answers")
    outcome = f"{EQUAL} equal questions at temperature 0 and seed 1 got {n} different answers"
    return Check("repeats", State.WARNING, f"{outcome}: only its recording repeats a run exactly")


def in_words(done: Completion) -> str:
    """The model that answered, its time, tokens and cost.

    Args:
        done: its answer.
    """
    tokens = f"{done.prompt_tokens} tokens sent, {done.completion_tokens} received"
    cost = "price unknown" if math.isnan(done.cost_usd) else f"${done.cost_usd:.6f}"
    return f"{done.model} answered in {done.latency_s:.1f} s ({tokens}, {cost})"


def entry_name(url: str | None) -> str:
    """The name of an endpoint, made of its address.

    Args:
        url: the address; None for OpenAI's own.
    """
    host = urlsplit(url or OPENAI_URL).hostname or ""
    parts = [part for part in host.split(".") if part not in {"api", "www"}]
    numbers = not parts or all(part.isdigit() for part in parts) or ":" in host
    name = "local" if numbers or host == "localhost" else parts[-2 if parts[1:] else 0]
    return name if re.match(r"[A-Za-z]", name) else f"at-{name}"


def write_entries(path: Path, findings: Sequence[ProbedModel]) -> list[str]:
    """Add entries to a file of endpoints.

    Args:
        path: the file; it is created when it does not exist.
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
        write_text_file(path, before + "\n".join(finding.entry() for finding in new.values()))
    return list(new)
