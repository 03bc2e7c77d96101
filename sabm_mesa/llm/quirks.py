"""Quirks: what one model at one endpoint lacks or has.

There is no list of models: the client reacts to what a server says.

Parameters
    A request is first sent as asked. When the server refuses it and names a parameter that it does
    not take, the parameter is sent by its other name or left out. This holds for all later requests
    to the model, also of other runs and after a resume. The log says so once, and each answer is
    recorded with the parameters as asked and as sent. A value out of range is no quirk: the user
    gets the server's message.
Thoughts
    A server counts thoughts in the limit of tokens, so a limit made for answers is used up before
    the answer begins. Thoughts have an allowance (room) of their own, and the limit sent is the sum
    of both. When a run does not set it (`max_thought_tokens`), it is 0 until the model is known to
    think, and `THOUGHTS` from then on. A model is known to think when an answer has thoughts or
    thought tokens, or is empty at the limit. An answer that was cut off without room is asked for
    again with room; both are paid for, and the second counts as a retry. When the chat template
    begins the thought, a cut-off answer has no mark of it: if the second answer shows thoughts, the
    first text counts as a thought; otherwise the first answer is used.

Sources: OpenAI counts thoughts in ``max_completion_tokens`` and advises to reserve 25,000 tokens at
first (its guide "Reasoning models"); Gemini counts them in the limit too.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sabm_mesa.core.answers import BY_LENGTH, Reply
from sabm_mesa.core.thoughts import begins_thought, ends_thought, split_thoughts
from sabm_mesa.errors import BadRequest
from sabm_mesa.llm.reading import texts_in

_FORM = "response_format"
OTHER_NAME = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
    "seed": "random_seed",
}
"""Names that a parameter has elsewhere: OpenAI's newer models, and Mistral's ``random_seed``."""
_SAMPLING = ("temperature", "top_p")
_NAMED = {*_SAMPLING, *OTHER_NAME, _FORM, "reasoning_effort"}
"""Parameters that are renamed or left out; a user's own ``extra_body`` is not."""
_EFFORT_VALUE = re.compile(
    r"(?:supported|valid|allowed) (?:values|levels)|one of|should be|invalid value", re.IGNORECASE
)
"""Words of a refusal that lists the valid efforts: the user must change the effort."""
_FORM_WORDS = (
    "response_format", "json_schema", "json schema", "json_object", "structured output", "grammar",
)  # fmt: skip
_REFUSING = {400, 404, 415, 422, 500, 501}
"""Statuses with which servers refuse a parameter; llama.cpp sends 500 for forms."""
_OF_A_VALUE = re.compile(
    r"too (?:large|big|high|long|small|low)|exceed|maximum|context|at least|at most (?!1\b)"
    r"|must be (?!at most 1\b|1\b|unset|omitted|none|null|\S*text)"
    r"|(?:greater|less|larger|smaller) than"
    r"|between \S+ and|out of range|not in the range|insufficient",
    re.IGNORECASE,
)
"""Words of a refusal that is about a value: the user must change it."""
_LIMITS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern")
"""Keywords of JSON schemas that some servers refuse in their strict mode."""
_LIMIT = re.compile(rf"\b(?:{'|'.join(_LIMITS)}|grammar|regex)\b")
_BOTH = re.compile(r"\bboth\b|only one|together|at the same time|mutually exclusive", re.IGNORECASE)

THOUGHTS = 16_384
"""The allowance for the thoughts of a model that is known to think, in tokens."""
UNSURE = 4096
"""The allowance after an empty answer at the limit, when the model may not think."""
_LEAST = 256
"""The least allowance: when a server accepts less, only the limit of the answer is sent."""
_THINKS = re.compile(
    r"""(?:^|[/.])(?:
        o[1-9](?:$|-)
        | gpt-5(?!.*chat)
        | gemini-(?:2\.5|[3-9])(?!.*lite)
        | deepseek-r(?:1|easoner)
        | grok-(?:3-mini|[4-9])
        | qwq | magistral
    )|(?:think|thinking|reasoning)(?:$|[-:])""",
    re.VERBOSE | re.IGNORECASE,
)
"""The names of models that think without being asked to, in the lists of prices."""
_DOES_NOT_THINK = re.compile(r"non-(?:thinking|reasoning)", re.IGNORECASE)
_TOO_LARGE = re.compile(
    r"max(?:imum)?_?(?: ?completion_?)?(?: ?output)?_? ?tokens|context|n_predict", re.IGNORECASE
)
"""Words of a server that refuses so large a limit."""
_CONTEXT = re.compile(r"context", re.IGNORECASE)
"""Words of a refusal that depends on the length of the prompt."""
_to_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode
_log = logging.getLogger(__name__)


class Quirks:
    """The quirks of one model at one endpoint.

    Attributes:
        changes: parameter → the name by which it is sent, or None when it is left out.
        form: the index of the form in which schemas are sent (`_FORMS`).
        version: the number of changes so far.
        room: the allowance for thoughts; 0 as long as the model is not known to think.
        most_room: the highest allowance that the server accepts.
        opened: whether thoughts may lack their first mark, since the chat template begins them.
        known: whether an answer has shown if the model thinks.
    """

    def __init__(self, where: str, model: str) -> None:
        self._where, self._model = where, model
        self.changes: dict[str, str | None] = {}
        self.form = self.version = 0
        self.room, self.most_room, self.opened, self.known = 0, THOUGHTS, False, False

    def adopt(self, before: Sequence[str], *, thought: bool = False) -> None:
        """Take over the findings of a recorded run.

        Args:
            before: the provenances of its answers that were not sent as asked, as JSON.
            thought: whether answers had thoughts. The recording has no marks, so a template may
                have begun them.
        """
        self.opened = self.opened or thought
        for provenance in map(json.loads, before):
            asked, sent = provenance["asked"], provenance["sent"]
            for name in set(asked) & _NAMED:
                if name == _FORM:
                    self.form = max(self.form, _KINDS.index(str(sent.get(_FORM, "none"))))
                elif name not in sent and name not in self.changes:
                    other = OTHER_NAME.get(name)
                    self.changes[name] = other if other in sent else None
            limit = _limit(asked)
            if limit and _limit(sent) > limit and "max_thought_tokens" not in asked:
                # What was sent may have been less: the first room, or as much as a prompt left.
                self.room, self.known = self.most_room, True

    # Parameters

    def apply(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as they are sent to the model; ``response_format`` is asked as schema."""
        sent: dict[str, Any] = {}
        for name, value in asked.items():
            if name == _FORM:
                value = _FORMS[self.form](value)  # noqa: PLW2901
                if value is None:
                    continue
            new = self.changes.get(name, name)
            if new is not None:
                sent[new] = value
        return sent

    def learn(self, asked: Mapping[str, Any], status: int, body: Any) -> str:
        """Learn from a refusal.

        Returns:
            The parameter that is renamed or left out from now on; ``""`` when the refusal is about
            something else.
        """
        if status not in _REFUSING:
            return ""
        message = texts_in(body)
        named = [name for name in asked if self._is_named(name, message, body)]
        if set(_SAMPLING) <= {*named} and _BOTH.search(message):
            return self._change("top_p", None)
        refuses_limits = _FORM in named and self.form == 0 and bool(_LIMIT.search(message))
        if _OF_A_VALUE.search(message) and not refuses_limits:
            return ""
        # An older form of the schema is tried before anything else is left out.
        for name in sorted(named, key=lambda parameter: parameter != _FORM):
            if name == _FORM:
                if self.form + 1 < len(_FORMS):
                    refused = self.form
                    self.form = 1 if refuses_limits else max(2, self.form + 1)
                    return self._say(_FORM, f"a schema as {_KINDS[refused]}", _KINDS[self.form])
                continue
            if name == "reasoning_effort" and _EFFORT_VALUE.search(message):
                continue
            sent, other = self.changes.get(name, name), OTHER_NAME.get(name)
            if other and sent == name and (name != "seed" or other in message):
                return self._change(name, other)
            if sent is not None and status != 500:
                return self._change(name, None)
        return ""

    def _is_named(self, name: str, message: str, body: Any) -> bool:
        sent = self.changes.get(name, name)
        if sent is None or (name == _FORM and self.form == len(_FORMS) - 1):
            return False
        if _param(body) == sent:
            return True
        first, *others = sent.split("_")
        in_camel_case = first + "".join(map(str.capitalize, others))
        words = _FORM_WORDS if name == _FORM else (sent, in_camel_case)
        if any(
            re.search(rf"(?<![\w]){re.escape(word)}(?![\w])", message, re.IGNORECASE)
            for word in words
        ):
            # "Use 'max_completion_tokens' instead" names what to send, not what was sent.
            return sent != "max_completion_tokens" or not re.search(
                r"use\W+max_completion_tokens", message, re.IGNORECASE
            )
        return name == _FORM and "response format" in message.casefold()

    def _change(self, name: str, new: str | None) -> str:
        self.changes[name] = new
        return self._say(name, name, new)

    def _say(self, name: str, what: str, new: str | None) -> str:
        self.version += 1
        _log.warning(
            "The model %r at %s does not take %s: it is %s.", self._model, self._where, what,
            "left out" if new is None else f"sent as {new}",
        )  # fmt: skip
        return name

    # Thoughts

    def more_room(self, done: Reply, max_tokens: int, room: int) -> int:
        """Learn from an answer that had a limit whether the model thinks.

        Returns:
            The room to ask again with; 0 when the answer stays.
        """
        thoughtful = _is_thoughtful(done)
        self.known = self.known or thoughtful or done.finish_reason != BY_LENGTH
        if not self.room and self.most_room and thoughtful:
            self.room = self.most_room
            _log.warning(
                "The model %r at %s thinks: from now on it is allowed %d tokens for its thoughts, "
                "in addition to the %d of an answer (max_thought_tokens sets them).",
                self._model, self._where, self.room, max_tokens,
            )  # fmt: skip
        wanted = self.room if self.known else min(UNSURE, self.most_room)
        cut_off = done.finish_reason == BY_LENGTH and not done.stopped
        return wanted if cut_off and wanted > room else 0

    def better(self, first: Reply, second: Reply, max_tokens: int, room: int) -> bool:
        """Whether the second answer, which had more room, is the one that counts."""
        self.more_room(second, max_tokens, self.room)
        self.known = True
        return self.room > room or _is_out_of_room(first)

    def less_room(self, room: int, error: BadRequest) -> int:
        """The room to try after a refusal.

        Raises:
            BadRequest: the error itself, when it is not about the limit of tokens.
        """
        if not room or not _TOO_LARGE.search(str(error)):
            raise error
        half = room // 2 if room // 2 >= _LEAST else 0
        if _CONTEXT.search(str(error)):  # holds for this prompt alone
            return half
        if room <= self.most_room:
            self.most_room = half
            self.room = min(self.room, half)
        return min(room, self.most_room)

    def set_thought_apart(self, done: Reply) -> Reply:
        """The answer; a text that was cut off within its thought becomes a thought."""
        text = str(done.answer)
        self.opened = self.opened or ends_thought(text)
        apart = done.thoughts or begins_thought(text) or ends_thought(text)
        if self.opened and done.finish_reason == BY_LENGTH and not apart:
            done.answer, done.thoughts = "", text
        return done


def thinks_unasked(model: str) -> bool:
    """Whether the name of a language model says that it thinks by default.

    Only estimates of cost use this; requests depend on its answers alone.
    """
    return _THINKS.search(model) is not None and _DOES_NOT_THINK.search(model) is None


def recorded(asked: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    """The recorded parameters as JSON: those sent, and those asked for if they differ."""
    asked_values, sent_values = _plain(asked), _plain(sent)
    if sent_values == asked_values:
        return _to_json({"sent": sent_values})
    return _to_json({"asked": asked_values, "sent": sent_values})


def left_out(asked: Mapping[str, Any], sent: Mapping[str, Any], needed: Collection[str]) -> str:
    """The first needed parameter that is asked for and not sent; ``""`` when all are sent."""
    missing = (name for name in needed if name in asked and name not in sent)
    return next((name for name in missing if OTHER_NAME.get(name) not in sent), "")


def _is_thoughtful(done: Reply) -> bool:
    """Whether an answer shows that its model thinks."""
    shown = done.thoughts or done.thought_tokens or split_thoughts(str(done.answer)).thoughts
    return bool(shown) or _is_out_of_room(done)


def _is_out_of_room(done: Reply) -> bool:
    """Whether an answer ended at the limit of tokens before it began."""
    return done.finish_reason == BY_LENGTH and not split_thoughts(str(done.answer)).answer.strip()


def _limit(parameters: Mapping[str, Any]) -> int:
    limits = (parameters.get(name) for name in ("max_completion_tokens", "max_tokens"))
    return next((value for value in limits if isinstance(value, int)), 0)


def _without_limits(schema: Any) -> Any:
    """A JSON schema without bounds, lengths and patterns, for servers that refuse them."""
    if isinstance(schema, list):
        return [_without_limits(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    limits = _LIMITS if isinstance(schema.get("type"), str) else ()
    return {name: _without_limits(part) for name, part in schema.items() if name not in limits}


def _json_schema(name: str, schema: Any) -> Any:
    named = {"name": name, "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


_LOOSE = "answer_without_limits"
_FORMS = (
    lambda schema: _json_schema("answer", schema),
    lambda schema: _json_schema(_LOOSE, _without_limits(schema)),  # strict mode of OpenAI
    lambda schema: {"type": "json_object", "schema": schema},  # Together
    lambda _: {"type": "json_object"},  # DeepSeek
    lambda _: None,
)
"""Forms in which servers accept a schema, the strictest first; the prompt also states it in
words."""
_KINDS = (
    "json_schema", "json_schema without limits", "json_object with a schema", "json_object", "none",
)  # fmt: skip


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Recorded parameters: schemas as one word."""
    plain = dict(parameters)
    form = plain.get(_FORM)
    if form is not None:
        loose = (form.get("json_schema") or {}).get("name") == _LOOSE
        places = {"json_schema": int(loose), "json_object": 2 if "schema" in form else 3}
        plain[_FORM] = _KINDS[places.get(str(form.get("type")), 0)]
    return plain


def _param(body: Any) -> str:
    """The field ``param`` of an error."""
    if isinstance(body, list) and body:
        return _param(body[0])
    if isinstance(body, Mapping):
        parameter = body.get("param") or _param(body.get("error"))
        return parameter if isinstance(parameter, str) else ""
    return ""
