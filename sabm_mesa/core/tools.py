"""Functions as answers: `Tools`, of which a mind calls one with typed arguments.

The signature of a function gives the legal arguments, and its docstring describes it::

    def move(direction: Literal["left", "right"], steps: Annotated[int, Ge(1), Le(3)]) -> str:
        '''Walk along the street.

Args:
            direction: where to.
            steps: how many metres.
        '''

Models with function calls are asked for a call in their own form. Other models, people and rules
answer as for `OneOf`, with the same values, so recordings and replays do not depend on the form.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import annotated_types
import docstring_parser

from sabm_mesa.core.answers import AnswerSpec, Choice, Number, Reasoning, Text
from sabm_mesa.core.fields import Chosen, Fields, OneOf
from sabm_mesa.core.thoughts import join_thoughts, split_thoughts
from sabm_mesa.errors import ParameterError, UsageError

_YES_NO = ("yes", "no")
_REASONING = "reasoning"


class Call(NamedTuple):
    """A function that was called, and its result.

    Attributes:
        name: the name of the function.
        arguments: name → value of its arguments.
        result: the value that it returned.
    """

    name: str
    arguments: Mapping[str, Any]
    result: Any

    def __str__(self) -> str:
        """The call and its result in one line, for the mind that called it."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.name}({given})" + ("" if self.result is None else f" → {self.result}")


@dataclass(frozen=True)
class _Tool:
    """A function with the specs of its arguments.

    Attributes:
        function: the function.
        specs: the specs of arguments that replace their annotations.
        hints: the annotations of arguments whose options stand for values of other types; None:
            from the signature.
        line: its description in one line; None: from its docstring.
    """

    function: Callable[..., Any]
    specs: Mapping[str, AnswerSpec]
    hints: Mapping[str, Any] | None = None
    line: str | None = None


def tool(function: Callable[..., Any], /, **specs: AnswerSpec) -> Any:
    """A function for `Tools`, with specs for arguments whose limits change during a run.

    Args:
        function: the function.
        specs: name of the argument → definition of its legal values, such as
            ``partner=Choice(names)``.

    Raises:
        ParameterError: for an argument that the function does not have.
    """
    known = _arguments(function)
    if unknown := [name for name in specs if name not in known]:
        raise ParameterError(f"{_name(function)} has no argument {unknown[0]!r}.")
    return _Tool(function, specs)


@dataclass(frozen=True, slots=True, init=False)
class Tools(OneOf):
    """One of several functions with typed arguments: ``Tools(move=move, speak=agent.speak)``.

    The value has the form of `OneOf`: a dict with one entry, the name of the function and its
    arguments (`Chosen`); `call` calls the function. The model calls it (in ``after_PHASE``), so
    only the model changes the world. An argument may be an ``int`` or ``float`` (with the limits of
    `annotated_types`), a ``bool``, a ``str``, a `Literal`, an `Enum` of texts, or ``Annotated``
    with a spec such as ``Annotated[str, Text(max_words=20)]``. An argument with a default keeps it.

    Args:
        reasoning: the private reasoning before the call: `words`, `free`, or None.
        functions: the name of each function and the function, or a `tool`.

    Attributes:
        tools: the name of each function and the function, with specs of its arguments.
        docs: the first line of the docstring of each.

    Raises:
        ParameterError: for an argument with unknown legal values.
    """

    tools: tuple[tuple[str, _Tool], ...] = field(compare=False, repr=False)
    docs: tuple[tuple[str, str], ...]

    kind = "tools"

    def __init__(self, *, reasoning: Reasoning | None = None, **functions: Any) -> None:
        if not functions:
            raise ParameterError("Tools needs a function, such as Tools(move=move).")
        tools = {name: _as_tool(name, given) for name, given in functions.items()}
        parts = {name: _fields(name, given) for name, given in tools.items()}
        OneOf.__init__(self, reasoning=reasoning, **parts)
        object.__setattr__(self, "tools", tuple(tools.items()))
        docs = tuple((name, _doc(given.function)[0]) for name, given in tools.items())
        object.__setattr__(self, "docs", docs)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the questions, without functions, which may refer to a model."""
        parts = (self.reasoning, self.label, self.options, self.docs)
        lines = tuple((name, _line(name, given)) for name, given in self.tools)
        return _without_functions, (*parts, lines)

    def check(self, value: Any) -> Chosen:
        """Return the call, from a mapping with one entry, or a name without arguments.

        Arguments may have the types of the signature: ``True``, a number of a `Literal`, a member
        of an `Enum`.
        """
        return OneOf.check(self, self._in_words(value))

    def from_json(self, call: Any, path: str) -> Chosen:
        """Take it from its own form, or from that of a tool call."""
        return OneOf.from_json(self, self._in_words(call), path)

    def _in_words(self, value: Any) -> Any:
        """A call whose arguments are options, if the signature has other types."""
        tools = dict(self.tools)
        if not isinstance(value, Mapping) or len(value) != 1:
            return value
        ((name, given),) = value.items()
        if name not in tools or not isinstance(given, Mapping):
            return value
        hints = _converted(tools[name])
        return {name: {key: _option(hints.get(key), part) for key, part in given.items()}}

    def call(self, value: Chosen | Mapping[str, Any]) -> Call:
        """Call the function of a decision with its arguments.

        Args:
            value: the value of the decision.

        Returns:
            The call with its result.
        """
        chosen = self.check(value)
        called = dict(self.tools)[chosen.name]
        hints = _converted(called)
        arguments = {name: _back(hints.get(name), given) for name, given in chosen.fields.items()}
        return Call(chosen.name, arguments, called.function(**arguments))

    def with_options_reversed(self) -> Tools:
        """The functions in the opposite order, with the options of their arguments."""
        tools = dict(self.tools)
        reversed_ = {
            name: _Tool(
                tools[name].function,
                dict(spec.with_options_reversed().fields),
                _converted(tools[name]),
            )
            for name, spec in reversed(self.options)
        }
        return Tools(reasoning=self.reasoning, **reversed_)

    def placeholders(self) -> dict[str, Any]:
        """The names, and a line for each function with a docstring."""
        lines = (_line(name, given) for name, given in self.tools)
        return {**OneOf.placeholders(self), "functions": "\n".join(filter(None, lines))}

    def definitions(self) -> list[dict[str, Any]]:
        """The functions in the form of chat completions: name, description, JSON schema.

        Requested reasoning is the first argument of each.
        """
        tools, reasoned = dict(self.tools), self.reasoning is not None
        return [
            _definition(name, tools[name].function, spec, reasoned=reasoned)
            for name, spec in self.options
        ]


def _without_functions(
    reasoning: Reasoning | None,
    label: str,
    options: tuple[tuple[str, Fields], ...],
    docs: tuple[tuple[str, str], ...],
    lines: tuple[tuple[str, str], ...],
) -> Tools:
    """The same questions with functions that cannot be called, for another process."""
    made = object.__new__(Tools)
    tools = tuple((name, _Tool(_elsewhere, {}, {}, line)) for name, line in lines)
    given = {
        "reasoning": reasoning, "label": label, "options": options, "docs": docs, "tools": tools,
    }  # fmt: skip
    for name, value in given.items():
        object.__setattr__(made, name, value)
    return made


def _elsewhere(**_arguments: Any) -> None:
    raise UsageError("Only a model calls the functions of its Tools, in the process of the run.")


def call_as_text(text: str, spec: AnswerSpec) -> tuple[str, str]:
    """The answer from calls that a model made in its own form.

    Args:
        text: JSON with the list ``calls``, each with ``name`` and ``arguments``, and the ``text``
            that the model wrote beside them.
        spec: the definition of a legal answer.

    Returns:
        The answer in the format ``"json"``, and the rest of the text, which is a thought if no
        reasoning was requested. With several calls, there is no answer.
    """
    made = json.loads(text)
    calls, (beside, thoughts) = made["calls"], split_thoughts(made["text"])
    if len(calls) != 1:
        return json.dumps(calls, ensure_ascii=False), join_thoughts(thoughts, beside)
    (call,) = calls
    arguments = call["arguments"]
    if not spec.reasoning:
        answer: dict[str, Any] = {"answer": {str(call["name"]): arguments}}
        return json.dumps(answer, ensure_ascii=False), join_thoughts(thoughts, beside)
    reasoning = beside
    if isinstance(arguments, Mapping) and _REASONING in arguments:
        reasoning = str(arguments[_REASONING])
        arguments = {name: value for name, value in arguments.items() if name != _REASONING}
    answer = {_REASONING: reasoning, "answer": {str(call["name"]): arguments}}
    return json.dumps(answer, ensure_ascii=False), thoughts


def _as_tool(name: str, given: Any) -> _Tool:
    tool = given if isinstance(given, _Tool) else _Tool(given, {})
    if not callable(tool.function):
        raise ParameterError(f"{name} must be a function, not {given!r}.")
    if inspect.iscoroutinefunction(tool.function):
        raise ParameterError(f"{name} must be a plain function, without `async`.")
    return tool


def _fields(name: str, given: _Tool) -> Fields:
    """The arguments of a function as fields."""
    hints = _hints(given.function)
    specs: dict[str, Any] = {}
    for argument in _arguments(given.function):
        if argument == _REASONING:
            raise ParameterError(
                f"{name} cannot have an argument called {argument!r}, which is the word for the "
                "private reasoning before a call: choose another name."
            )
        try:
            specs[argument] = given.specs.get(argument) or _spec(hints.get(argument))
        except ParameterError as problem:
            raise ParameterError(f"{name}, argument {argument}: {problem}") from None
    return Fields(reasoning=None, **specs)


def _arguments(function: Callable[..., Any]) -> list[str]:
    """The required arguments of a call; arguments with a default keep it."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ParameterError(f"{_name(function)} has no signature that can be read.") from None
    needed = [p for p in parameters if p.default is inspect.Parameter.empty]
    odd = [p for p in needed if p.kind not in _BY_NAME]
    if odd:
        raise ParameterError(f"{_name(function)} needs arguments with names, not {odd[0]}.")
    return [p.name for p in needed]


_BY_NAME = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    plain = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(plain, include_extras=True)
    except (NameError, TypeError) as error:
        raise ParameterError(
            f"The annotations of {_name(function)} cannot be read ({error})."
        ) from None


def _spec(hint: Any) -> AnswerSpec:
    """The definition of the legal values of an annotation."""
    metadata: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rest = get_args(hint)
        metadata = tuple(rest)
    given = next((part for part in metadata if isinstance(part, AnswerSpec)), None)
    if given is not None:
        return given
    if get_origin(hint) is Literal:
        return Choice(tuple(map(str, get_args(hint))))
    if hint is bool:
        return Choice(_YES_NO)
    if hint is int or hint is float:
        return _number(metadata, integer=hint is int)
    if hint is str:
        if metadata and any(isinstance(part, annotated_types.BaseMetadata) for part in metadata):
            raise ParameterError(
                "set the limit of a text in a spec, such as Annotated[str, Text(max_words=20)]."
            )
        return Text()
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Choice(tuple(str(member.value) for member in hint))
    raise ParameterError(
        "its legal values are not known: annotate it as int, float, bool, str, Literal, an Enum, "
        "or Annotated with a spec, such as Annotated[str, Text(max_words=20)]."
    )


def _number(metadata: tuple[Any, ...], *, integer: bool) -> Number:
    low, high = -math.inf, math.inf
    for limit in metadata:
        for one in limit if isinstance(limit, annotated_types.GroupedMetadata) else (limit,):
            match one:
                case annotated_types.Ge(ge=end) if isinstance(end, int | float):
                    low = max(low, end)
                case annotated_types.Le(le=end) if isinstance(end, int | float):
                    high = min(high, end)
                case annotated_types.Gt(gt=end) if integer and isinstance(end, int):
                    low = max(low, end + 1)
                case annotated_types.Lt(lt=end) if integer and isinstance(end, int):
                    high = min(high, end - 1)
                case annotated_types.BaseMetadata():
                    raise ParameterError(f"the limit {one} is not supported; use Ge and Le.")
    return Number(low, high, integer)


def _converted(given: _Tool) -> Mapping[str, Any]:
    """The annotations of arguments whose options stand for values of other types."""
    if given.hints is not None:
        return given.hints
    converted = {}
    for name, hint in _hints(given.function).items():
        plain, *metadata = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if name not in given.specs and not any(isinstance(m, AnswerSpec) for m in metadata):
            converted[name] = plain
    return converted


def _option(hint: Any, value: Any) -> Any:
    """The option that stands for a value of the type of an annotation."""
    if hint is bool:
        known = {True: "yes", False: "no", "true": "yes", "false": "no"}
        plain = value.casefold() if isinstance(value, str) else value
        return known.get(plain, value) if isinstance(plain, str | bool) else value
    if isinstance(value, Enum):
        return str(value.value)
    if get_origin(hint) is Literal and value in get_args(hint) and not isinstance(value, bool):
        return str(value)
    return value


def _back(hint: Any, value: Any) -> Any:
    """The value of an argument in the type of its annotation."""
    if hint is bool:
        return value == _YES_NO[0]
    if get_origin(hint) is Literal:
        return next((option for option in get_args(hint) if str(option) == value), value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next((member for member in hint if str(member.value) == value), value)
    return value


def _doc(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The first line of a docstring, and its descriptions of the arguments."""
    doc = docstring_parser.parse(inspect.getdoc(function) or "")
    explained = {p.arg_name: " ".join(p.description.split()) for p in doc.params if p.description}
    return doc.short_description or "", explained


def _line(name: str, given: _Tool) -> str:
    """The meaning of a function and its arguments in one line; empty without a docstring."""
    if given.line is not None:
        return given.line
    doc, explained = _doc(given.function)
    known = _arguments(given.function)
    parts = [
        doc,
        *(f"{argument}: {text}" for argument, text in explained.items() if argument in known),
    ]
    line = " ".join(filter(None, parts))
    return f"{name}: {line}" if line else ""


def _definition(
    name: str, function: Callable[..., Any], spec: Fields, *, reasoned: bool
) -> dict[str, Any]:
    doc, explained = _doc(function)
    schema = spec.schema()
    if reasoned:
        properties = {_REASONING: {"type": "string"}, **schema["properties"]}
        schema = {**schema, "properties": properties, "required": list(properties)}
    properties = {
        argument: {**part, "description": explained[argument]} if argument in explained else part
        for argument, part in schema["properties"].items()
    }
    description = {"description": doc} if doc else {}
    parameters = {**schema, "properties": properties}
    return {"type": "function", "function": {"name": name, **description, "parameters": parameters}}


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
