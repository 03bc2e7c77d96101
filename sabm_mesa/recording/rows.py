"""The rows of a recording: one dataclass per table.

The SQL of a table, the statement that inserts a row, the check of a stranger's file and the frames
follow from its dataclass: fields are columns, in this order.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from operator import attrgetter
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    Json,
    TypeAdapter,
    create_model,
)
from pydantic_core import CoreSchema

from sabm_mesa.core.answers import Decision, Reply
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.jsonable import to_json
from sabm_mesa.core.usage import Usage

Statement = tuple[str, tuple[Any, ...]]
"""SQL and its values."""
MESSAGE_COLUMNS = ("speaker", "name", "phase", "position", "to", "text")
"""The values of a message in `MessageData`."""


class _JsonOf:
    """Marks a text that holds JSON of a type."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The check of such a text."""
        json_of: Any = Json
        return handler.generate_schema(json_of[self._kind])


_Name = Annotated[str, Field(max_length=10_000)]
_Number = Annotated[int, Field(ge=0, lt=2**53)]
_Flag = Annotated[int, Field(ge=0, le=1)]
_Id = Annotated[str, Field(pattern=r"^[0-9A-Za-z_]{1,64}$")]
_Time = Annotated[str, Field(max_length=40)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Names = Annotated[dict[_Name, _Name], Field(max_length=100_000)]
_ColumnNames = Annotated[list[_Name], Field(max_length=1_000)]
NOT_STORED = {"stored": False}
"""The metadata of a field that is no column."""


class Fork(BaseModel):
    """A change during a run, as in `RunRow.forks`."""

    at: _Number
    set: dict[_Name, Any]
    prompts: _Names | None
    versions: _Names = {}


class Reached(BaseModel, extra="allow"):
    """The connection to language models, as in `RunRow.connection`."""

    base_url: _Name | None = None
    endpoints: _Names = {}


class _Row:
    """A row of a table."""

    table: ClassVar[str]
    keys: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class RunRow(_Row):
    """A run. Its values are objects; those of lists and mappings are stored as JSON.

    Attributes:
        run: 0, 1, 2, … within this file.
        uid: the same run in any file.
        command: the same for the runs that were started together.
        scenario: the name of the scenario.
        model: ``module:class``.
        file: the file of a scenario that is not installed, relative to the working folder; or
            ``""``.
        parameters: all parameters with their initial values.
        forks: the changes during the run (`Fork`).
        tags: name → text by which the run is found again; see `sabm_mesa.runs.planned`.
        parent: uid of the run it was forked from.
        seed: the seed.
        minds: spec → number of agents.
        prompts: prompt entry → hash.
        versions: package → version, and spec → SHA-256 of files of minds.
        connection: how language models are reached (`Reached`).
        model_columns: the columns of the model data.
        agent_columns: the columns of the agent data, from ``agent`` on.
        started: ISO 8601, UTC.
        ended: the same.
        session: the writer, which holds ``FILE.session.lock`` while it lives.
        status: the status.
        problem: why it failed.
        end_reason: why a finished run ended, if its scenario says so.
        measures: the end measures of a finished run.
        texts: hash → template, also of the entries of forks. They are rows of `PromptRow`.
    """

    table = "runs"
    keys = "PRIMARY KEY (run), UNIQUE (uid))"
    run: _Number = 0
    uid: _Id = ""
    command: _Id = ""
    scenario: _Name
    model: _Name
    file: _Name
    parameters: Annotated[Mapping[str, Any], _JsonOf(dict[_Name, Any])]
    forks: Annotated[Sequence[Mapping[str, Any]], _JsonOf(list[Fork])] = ()
    tags: Annotated[Mapping[str, str], _JsonOf(_Names)] = field(default_factory=dict)
    parent: _Id | None = None
    seed: Annotated[Sequence[int], _JsonOf(tuple[Annotated[int, Field(ge=0)], ...])]
    minds: Annotated[Mapping[str, int], _JsonOf(dict[_Name, _Number])]
    prompts: Annotated[Mapping[str, str], _JsonOf(_Names)]
    versions: Annotated[Mapping[str, str], _JsonOf(_Names)]
    connection: Annotated[Mapping[str, Any], _JsonOf(Reached)]
    model_columns: Annotated[Sequence[str], _JsonOf(_ColumnNames)]
    agent_columns: Annotated[Sequence[str], _JsonOf(_ColumnNames)]
    started: _Time = ""
    ended: _Time | None = None
    session: _Id = ""
    status: Annotated[str, Field(pattern=r"^(running|finished|failed)$")] = "running"
    problem: str | None = None
    end_reason: str | None = None
    measures: Annotated[Mapping[str, Any], _JsonOf(dict[_Name, Any])] | None = field(
        default=None, repr=False
    )
    texts: Mapping[str, str] = field(default_factory=dict, repr=False, metadata=NOT_STORED)


@dataclass(frozen=True, slots=True)
class PromptRow(_Row):
    """The template of a prompt entry, by its hash."""

    table = "prompts"
    keys = "PRIMARY KEY (hash)) WITHOUT ROWID"
    hash: _Name
    text: str


@dataclass(frozen=True, slots=True)
class TextRow(_Row):
    """A message that was sent, or the provenance of answers, by its hash."""

    table = "texts"
    keys = "PRIMARY KEY (hash))"
    hash: _Name
    text: str


@dataclass(slots=True)  # not frozen: that takes three times as long, twice an ask
class AskRow(_Row):
    """An attempt at an ask.

    The row of a request is on disk before the request leaves, with the most that it can cost, and
    without an answer. The answer completes it. A row that never got an answer is a lost request.

    Attributes:
        run: the run.
        round: the round.
        phase: the phase.
        agent: the agent.
        call: which ask of the agent in this phase.
        attempt: which attempt at it.
        sent: the number of the request in the run, from 1; 0 when none was sent.
        name: the prompt entry.
        mind: the spec of the mind.
        messages: [[role, hash], …]; None: not sent.
        request: SHA-256 of the exact request.
        raw: the answer as it came, without thoughts; None: there is no answer.
        thoughts: private thoughts that came with it.
        form: how a text is read; ``value``: the answer is JSON of a value.
        value: what was read; None when invalid.
        read_as: the step that read it: exact, marked …; None when invalid.
        reasoning: the reasoning that came with it.
        valid: whether it is valid.
        reason: why it is invalid.
        prompt_tokens: tokens sent.
        cached_tokens: those of them in the server's cache.
        completion_tokens: tokens received.
        thought_tokens: those of them that the server says were thoughts.
        cost_usd: dollars; None when the price is not known.
        latency_s: seconds.
        served_model: the model, as the server names it; without an answer, as it was asked for.
        finish_reason: why the answer ended.
        retries: how often the request was sent again.
        response_id: that the server gave the response; None: none.
        provenance: hash of JSON: model, provider, system_fingerprint; parameters as sent, and as
            asked where they differ; None: nothing was sent.
        copied: whether it was answered, and paid for, in the parent of a fork.
        position: the turn of the phase, from 0, as if all were one by one.
        final: whether this attempt decided; otherwise the question was asked again.
    """

    table = "asks"
    keys = "PRIMARY KEY (run, round, phase, agent, call, attempt, sent)) WITHOUT ROWID"
    run: _Number
    round: _Number
    phase: _Name
    agent: int
    call: _Number
    attempt: _Number
    sent: _Number
    name: _Name
    mind: _Name
    messages: Annotated[str, _JsonOf(list[tuple[_Name, _Name]])] | None
    request: _Name | None
    raw: str | None
    thoughts: str
    form: Literal["paper", "json", "labelled", "value"]
    value: Annotated[str, _JsonOf(Any)] | None
    read_as: _Name | None
    reasoning: str | None
    valid: _Flag
    reason: str
    prompt_tokens: _Number
    cached_tokens: _Number
    completion_tokens: _Number
    thought_tokens: _Number
    cost_usd: _Amount | None
    latency_s: _Amount
    served_model: _Name
    finish_reason: _Name
    retries: _Number
    response_id: _Name | None
    provenance: _Name | None
    copied: _Flag
    position: int
    final: _Flag

    @property
    def key(self) -> tuple[int, str, int, int, int]:
        """Round, phase, agent, call and attempt."""
        return self.round, self.phase, self.agent, self.call, self.attempt


@dataclass(frozen=True, slots=True)
class ModelData(_Row):
    """The model data of a round, in the order of `RunRow.model_columns`."""

    table = "model_data"
    keys = "PRIMARY KEY (run, round)) WITHOUT ROWID"
    run: _Number
    round: _Number
    data: Annotated[str, _JsonOf(list[Any])]


@dataclass(frozen=True, slots=True)
class AgentData(_Row):
    """The data of each agent of a round, in the order of `RunRow.agent_columns`."""

    table = "agent_data"
    keys = "PRIMARY KEY (run, round)) WITHOUT ROWID"
    run: _Number
    round: _Number
    data: Annotated[str, _JsonOf(list[list[Any]])]


@dataclass(frozen=True, slots=True)
class MessageData(_Row):
    """The messages of a round: `MESSAGE_COLUMNS` of each, in the order of turns.

    The hearers are a list of ids, or null for all.
    """

    table = "message_data"
    keys = "PRIMARY KEY (run, round)) WITHOUT ROWID"
    run: _Number
    round: _Number
    data: Annotated[str, _JsonOf(list[tuple[Any, _Name | None, _Name, int, list[Any] | None, str]])]


OF_REPLY = (
    "thoughts", "prompt_tokens", "cached_tokens", "completion_tokens", "thought_tokens",
    "latency_s", "finish_reason", "retries",
)  # fmt: skip
"""The columns of an attempt that are fields of its `Reply`."""
KINDS: tuple[Any, ...] = (
    RunRow, PromptRow, TextRow, AskRow, ModelData, AgentData, MessageData,
)  # fmt: skip
# The other columns are those of the last attempt, of which max() is: "Bare columns in an aggregate
# query" (sqlite.org/lang_select.html).
_DECISIONS = """CREATE VIEW decisions AS SELECT run, round, phase, agent, call, name, mind, valid,
value, read_as, reasoning, reason, max(attempt) + 1 AS attempts,
sum(prompt_tokens) AS prompt_tokens, sum(cached_tokens) AS cached_tokens,
sum(completion_tokens) AS completion_tokens,
CASE WHEN count(cost_usd) = count(*) THEN total(cost_usd) END AS cost_usd,
round(total(latency_s), 12) AS latency_s, copied, position, final
FROM answers GROUP BY run, round, phase, agent, call"""
_SQL_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL"}


@cache
def checker(kind: Any) -> TypeAdapter[Any]:
    """Validates column → value of a row."""
    hints = get_type_hints(kind, include_extras=True)
    columns_: dict[str, Any] = {name: (hints[name], ...) for name in columns(kind)}
    config = ConfigDict(strict=True, protected_namespaces=())
    return TypeAdapter(create_model(kind.__name__, __config__=config, **columns_))


@cache
def columns(kind: Any) -> tuple[str, ...]:
    """The columns of a table."""
    return tuple(column.name for column in fields(kind) if column.metadata != NOT_STORED)


@cache
def schema() -> tuple[str, ...]:
    """The statements that create a recording in an empty file."""
    return (
        *map(_table, KINDS),
        "CREATE INDEX runs_by_spec ON runs (json_extract(tags, '$.spec'))",
        "CREATE VIEW answers AS SELECT * FROM asks WHERE raw IS NOT NULL",
        _DECISIONS,
    )


def _table(kind: Any) -> str:
    hints = get_type_hints(kind)
    defined = []
    for name in columns(kind):
        optional = get_origin(hints[name]) in {Union, UnionType}
        types = get_args(hints[name]) if optional else (hints[name],)
        sql = _SQL_TYPES.get(types[0], "TEXT")
        defined.append(f"{name} {sql}" + ("" if optional else " NOT NULL"))
    return f"CREATE TABLE {kind.table} ({', '.join(defined)}, {kind.keys}"


@cache
def _insert(kind: Any, verb: str) -> str:
    return f"{verb} INTO {kind.table} VALUES ({', '.join('?' * len(columns(kind)))})"


@cache
def _values(kind: Any) -> attrgetter[tuple[Any, ...]]:
    return attrgetter(*columns(kind))


def insert(row: Any, verb: str = "INSERT") -> Statement:
    """The statement that writes a row."""
    kind: Any = type(row)
    values = _values(kind)(row)
    if kind is RunRow:
        values = tuple(v if isinstance(v, str | int | None) else to_json(v) for v in values)
    return _insert(kind, verb), values


@lru_cache(maxsize=4096)
def text_hash(text: str) -> str:
    """The hash of a text, by which rows name it."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def insert_text(text: str) -> Statement:
    """The statement that writes a text, unless it is there."""
    return insert(TextRow(text_hash(text), text), "INSERT OR IGNORE")


def insert_request(
    run: int, ask: Ask, sent: int, mind: str, model: str, most: Usage
) -> list[Statement]:
    """The statements that write the row of a request before it is sent.

    Args:
        most: the highest cost of the answer.
    """
    unanswered = Reply(
        None,
        answer_format=ask.attempt_format,
        prompt_tokens=most.prompt_tokens,
        completion_tokens=most.completion_tokens,
        cost_usd=most.cost_usd,
        model=model,
        note=sent,
    )
    row = ask_row(run, ask, mind, unanswered, Decision(None, read_as=None), final=False)
    row.raw, row.form = None, ask.attempt_format
    return [*(insert_text(text) for _, text in ask.chat()), insert(row)]


def insert_attempt(row: AskRow, ask: Ask, reply: Reply) -> list[Statement]:
    """The statements that write an attempt: its texts, and its row.

    If a request was sent for it, its row is completed.
    """
    noted = reply.note is not None
    texts = [text for _, text in ask.chat()] if reply.request and not noted else []
    if provenance := _provenance(reply):
        texts.append(provenance)
    return [*map(insert_text, texts), insert(row, "INSERT OR REPLACE" if noted else "INSERT")]


def ask_row(
    run: int, ask: Ask, mind: str, reply: Reply, decision: Decision, *, final: bool
) -> AskRow:
    """The row of an attempt."""
    is_read = decision.read_as is not None
    is_text, provenance, messages = isinstance(reply.answer, str), _provenance(reply), None
    if reply.note or reply.request:
        messages = to_json([(role, text_hash(text)) for role, text in ask.chat()])
    return AskRow(
        run,
        *ask.key,
        attempt=len(ask.rejected),
        sent=reply.note or 0,
        name=ask.name,
        mind=decision.by or mind,
        messages=messages,
        request=reply.request or None,
        raw=str(reply.answer) if is_text else to_json(reply.answer),
        form=reply.answer_format if is_text else "value",
        value=to_json(decision.value) if is_read else None,
        read_as=decision.read_as,
        reasoning=decision.reasoning if is_read else None,
        valid=is_read,
        reason=decision.reason,
        cost_usd=None if math.isnan(reply.cost_usd) else reply.cost_usd,
        served_model=reply.model,
        response_id=reply.response_id or None,
        provenance=text_hash(provenance) if provenance else None,
        copied=False,
        position=ask.position,
        final=final,
        **{name: getattr(reply, name) for name in OF_REPLY},
    )


def _provenance(reply: Reply) -> str:
    """The provenance of an answer, as JSON; ``""`` when nothing was sent."""
    return _provenance_of(
        reply.parameters,
        model=reply.asked_model,
        provider=reply.provider,
        system_fingerprint=reply.system_fingerprint,
    )


@lru_cache(maxsize=256)
def _provenance_of(parameters: str, **stated: str) -> str:
    named = {name: text for name, text in stated.items() if text}
    return to_json(named | json.loads(parameters)) if parameters else ""
