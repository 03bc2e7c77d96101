"""Dialects: a parameter that a model at an endpoint does not support is renamed or left out.

There is no list of models. A request is first sent as asked. When the server refuses it and names
an unsupported parameter, the parameter is sent by its other name or left out. This holds for all
later requests to that model, also of other runs and after a resume. The log says so once, and each
answer is recorded with the parameters as asked and as sent.

A value out of range is not a matter of dialect: the user gets the server's message.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Mapping
from typing import Any

from sabm_mesa.llm.translation import texts_in

_FORM = "response_format"
OTHER_NAME = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
    "seed": "random_seed",
}
"""Names that a parameter has elsewhere: OpenAI's newer models, and Mistral's ``random_seed``."""
_SAMPLING = ("temperature", "top_p")
TAKEN_AS_NAMED = {
    *_SAMPLING,
    *OTHER_NAME,
    _FORM,
    "reasoning_effort",
}
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
_NO_DIALECT = re.compile(
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
"""Limits of a schema, which a server may name when it does not support them."""
_BOTH = re.compile(r"\bboth\b|only one|together|at the same time|mutually exclusive", re.IGNORECASE)
_to_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode
_log = logging.getLogger(__name__)


class Dialect:
    """The parameters that one model at one endpoint supports.

    Args:
        where: the endpoint in words.
        model: the name of the model.

    Attributes:
        changes: parameter → the name by which it is sent, or None when it is left out.
        version: the number of changes so far.
    """

    def __init__(self, where: str, model: str) -> None:
        self._where, self._model = where, model
        self.changes: dict[str, str | None] = {}
        self.form = 0
        self.version = 0

    def mend(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as they are sent to the model.

        Args:
            asked: the parameters as they were asked for; ``response_format`` is the schema alone.
        """
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

        Args:
            asked: the parameters as they were asked for.
            status: the status of the refusal.
            body: its body, from JSON.

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
        if _NO_DIALECT.search(message) and not refuses_limits:
            return ""
        # An older form of the schema is tried before anything else is left out.
        for name in sorted(named, key=lambda parameter: parameter != _FORM):
            if name == _FORM:
                if self.form + 1 < len(_FORMS):
                    return self._loosen(1 if refuses_limits else max(2, self.form + 1))
                continue
            if name == "reasoning_effort" and _EFFORT_VALUE.search(message):
                continue
            sent = self.changes.get(name, name)
            other = OTHER_NAME.get(name)
            if other and sent == name and (name != "seed" or other in message):
                return self._change(name, other)
            if sent is not None and status != 500:
                return self._change(name, None)
        return ""

    def adopt(self, asked: Mapping[str, Any], sent: Mapping[str, Any]) -> None:
        """Take over the changes of a recorded run.

        Args:
            asked: parameters as they were asked for.
            sent: the same as they were sent.
        """
        for name in set(asked) & TAKEN_AS_NAMED:
            if name == _FORM:
                self.form = max(self.form, _KINDS.index(str(sent.get(_FORM, "none"))))
            elif name not in sent and name not in self.changes:
                other = OTHER_NAME.get(name)
                self.changes[name] = other if other in sent else None

    def _is_named(self, name: str, message: str, body: Any) -> bool:
        sent = self.changes.get(name, name)
        if sent is None or (name == _FORM and self.form == len(_FORMS) - 1):
            return False
        if _param(body) == sent:
            return True
        words = _FORM_WORDS if name == _FORM else (sent, _camel(sent))
        if any(
            re.search(rf"(?<![\w]){re.escape(word)}(?![\w])", message, re.IGNORECASE)
            for word in words
        ):
            # "Use 'max_completion_tokens' instead" names what to send, not what was sent.
            return sent != "max_completion_tokens" or not re.search(
                r"use\W+max_completion_tokens", message, re.IGNORECASE
            )
        return name == _FORM and "response format" in message.casefold()

    def _loosen(self, form: int) -> str:
        refused, self.form = self.form, form
        return self._learned(_FORM, f"a schema as {_KINDS[refused]}", _KINDS[form])

    def _change(self, name: str, new: str | None) -> str:
        self.changes[name] = new
        return self._learned(name, name, new)

    def _learned(self, name: str, what: str, new: str | None) -> str:
        self.version += 1
        _log.warning(
            "The model %r at %s does not take %s: it is %s.", self._model, self._where, what,
            "left out" if new is None else f"sent as {new}",
        )  # fmt: skip
        return name


def recorded(asked: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    """The recorded parameters as JSON: those sent, and those asked for if they differ.

    Args:
        asked: the parameters as they were asked for.
        sent: the same as they were sent.
    """
    asked_values, sent_values = _plain(asked), _plain(sent)
    return _to_json(
        {"sent": sent_values}
        if sent_values == asked_values
        else {"asked": asked_values, "sent": sent_values}
    )


def dropped(asked: Mapping[str, Any], sent: Mapping[str, Any], needed: Collection[str]) -> str:
    """The first parameter that a study depends on and that is not sent; ``""`` when all are sent.

    Args:
        asked: the parameters as they were asked for.
        sent: the parameters as sent.
        needed: the parameters that the study depends on.
    """
    for name in needed:
        missing = name not in sent and OTHER_NAME.get(name) not in sent
        if name in asked and missing:
            return name
    return ""


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
    if _FORM in plain:
        form = plain[_FORM]
        kind = form.get("type") if isinstance(form, dict) else None
        named = form.get("json_schema") or {} if isinstance(form, dict) else {}
        loose = named.get("name") == _LOOSE
        places = {"json_schema": int(loose), "json_object": 2 if "schema" in form else 3}
        at = places.get(str(kind), 0)
        plain[_FORM] = _KINDS[at]
    return plain


def _param(body: Any) -> str:
    """The field ``param`` of an error."""
    if isinstance(body, list) and body:
        return _param(body[0])
    if isinstance(body, Mapping):
        parameter = body.get("param") or _param(body.get("error"))
        return parameter if isinstance(parameter, str) else ""
    return ""


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
