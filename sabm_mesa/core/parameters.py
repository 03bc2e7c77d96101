"""The parameters of a scenario: declared by its constructor, checked by pydantic, kept with a run.

The signature of the constructor declares them. A limit is part of the annotation and nowhere else;
the viewer's controls and the descriptions show it::

    n_players: Annotated[int, Ge(2)] = 24
    discount: Annotated[float, Ge(0), Lt(1)] = 0.9
    matching: Literal["partner", "stranger"] = "partner"
    window: Annotated[int, Ge(1)] | None = None

Whole numbers, numbers, truth values and names are checked; the constructor checks values of other
types, and rules on several parameters.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, cached_property, lru_cache, partial, wraps
from numbers import Real
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Interval
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, SchemaError

from sabm_mesa.errors import (
    ParameterError,
    SabmError,
    UnknownName,
    UsageError,
    format_user_error,
    one_line,
)

S = TypeVar("S", bound=str)
F = TypeVar("F", bound=Callable[..., None])

SERVICES = frozenset({"connection", "recording"})
"""Constructor arguments that are not parameters of the run: they do not change its outcome."""
MOST = 1_000_000_000
"""The maximum of whole numbers."""
_NUMBERS = ("integer", "number")
_OTHER = "in another form"
_MISSED = "_missed"
"""The attribute with what the first constructor was not given, while an object is made."""
_OF_FUNCTIONS = {"value_error", "assertion_error", "predicate_failed", "not_operation_failed"}
"""The errors of pydantic that come from a function of the annotation."""
_CONFIG = ConfigDict(strict=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a scenario.

    Attributes:
        name: its name.
        annotation: its annotation; the text of one that cannot be evaluated, such as a type that is
            imported for type checkers only; ``inspect.Parameter.empty`` without one.
        default: its default; ``inspect.Parameter.empty`` without one.
        limits: those that a base class declares.
    """

    name: str
    annotation: Any
    default: Any
    limits: tuple[Any, ...] = ()

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty

    @cached_property
    def schemas(self) -> list[dict[str, Any]]:
        """The JSON schemas of its legal values, one for each type; an empty one for others."""
        return _schemas(self._checked, self.limits)

    @property
    def _checked(self) -> Any:
        """The annotation, or what the default says of it."""
        annotation = self.annotation
        if annotation is inspect.Parameter.empty and type(self.default) in (bool, int, float):
            annotation = bool if type(self.default) is bool else _NUMBER
            annotation = annotation if math.isfinite(self.default) else Any
        return Union[annotation, None] if self.default is None else annotation  # noqa: UP007

    @property
    def number(self) -> dict[str, Any]:
        """The schema of its legal numbers; empty if there are none."""
        return next((s for s in self.schemas if s.get("type") in _NUMBERS), {})

    @property
    def choices(self) -> tuple[Any, ...]:
        """The legal names of a choice."""
        return tuple(name for schema in self.schemas for name in schema.get("enum", ()))

    @property
    def legal(self) -> str:
        """The legal values in words; ``""`` when only the constructor knows them."""
        return _in_words(self.schemas, " without fixed limits")

    def check(self, value: Any) -> Any:
        """Return a legal value: a whole number as int, a number as float.

        Raises:
            UsageError: when it is illegal.
        """
        value = check(self.name, self._checked, value, self.limits)
        if type(value) is int and value > MOST and _OTHER not in self.legal:
            legal = f"{self.name} must be {MOST} or less (got {_shown(value)})."
            raise ParameterError(legal, parameter=self.name)
        return value


def check(name: str, annotation: Any, value: Any, limits: tuple[Any, ...] = ()) -> Any:
    """Return a value that an annotation allows: a whole number as int, a number as float.

    The `name` is for the error; `limits` are more limits of its numbers.

    Raises:
        ParameterError: for any other value.
        UnknownName: for a name that is not one of the legal ones.
    """
    try:
        return _adapter(annotation, limits).validate_python(value)
    except ValidationError as error:
        parameter = name if name.isidentifier() else ""  # several words are no parameter
        schemas = _schemas(annotation, limits)
        if "enum" in schemas[0] and {} not in schemas:
            kind, names = name.replace("_", " "), map(str, schemas[0]["enum"])
            raise UnknownName(kind, value, names, parameter=parameter) from None
        first, legal = error.errors()[0], _in_words(schemas)
        if first["type"] in _OF_FUNCTIONS or not legal:
            problem = f"{name}: {first['msg'].partition(', ')[2] or first['msg']}"
        else:
            problem = f"{name} must be {legal}"
        raise ParameterError(f"{problem} (got {_shown(value)}).", parameter=parameter) from None
    except (TypeError, PydanticUserError, SchemaError) as error:
        problem = f"{name}: {annotation} cannot be checked: {one_line(str(error))}"
        raise ParameterError(problem, parameter=name) from error


def check_int(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number within its limits; see `check`."""
    checked: int = check(name, Annotated[int, Interval(ge=low, le=high)], value)
    return checked


def check_float(name: str, value: Any, low: float, high: float | None = None) -> float:
    """Return a number within its limits; see `check`."""
    checked: float = check(name, Annotated[float, Interval(ge=low, le=high)], value)
    return checked


def check_choice(name: str, value: Any, known: Iterable[S]) -> S:
    """Return one of several names; see `check`."""
    checked: S = check(name, Literal[*known], value)
    return checked


def check_fields(instance: Any) -> None:
    """Check the fields of a new instance of a dataclass against their annotations."""
    for name, field in _declared(type(instance).__init__).items():
        field.check(getattr(instance, name))


def parse_list(name: str, given: Any) -> list[str]:
    """Return several texts, from a sequence or from one text with commas.

    Raises:
        ParameterError: for anything else.
    """
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, Sequence):
        legal = f"{name} must be a list, or a text with commas (got {given!r})."
        raise ParameterError(legal, parameter=name)
    return [str(entry).strip() for entry in given]


def parameters_of(model: type) -> dict[str, Parameter]:
    """The parameters of a model class, the scenario's own first.

    A constructor that passes ``**settings`` on has the parameters of its base class too. A
    constructor that declares such a parameter again keeps its limits. The class attribute
    `defaults` changes defaults.

    Raises:
        ParameterError: for an annotation with a limit that cannot be read.
        UnknownName: for a default of a parameter that does not exist.
    """
    return dict(_parameters_of(model))


def bind(model: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a model with their values, without the services.

    Raises:
        UnknownName: for a parameter that does not exist.
    """
    known = parameters_of(model)
    for name in given:
        if name not in known:
            scenarios = [cls for cls in model.__mro__ if hasattr(cls, "defaults")]
            if any(name in parameters_of(cls) for cls in scenarios):
                raise ParameterError(
                    f"{model.__name__} takes no {name}, which every scenario has: its constructor "
                    "must take **settings and pass them on, as in super().__init__(**settings).",
                    parameter=name,
                )
            kind = f"parameter of {model.__name__}"
            raise UnknownName(kind, name, set(known) - SERVICES, parameter=name)
    return {name: given.get(name, known[name].default) for name in known if name not in SERVICES}


def checking(constructor: F, in_the_end: Callable[[Any], None] | None = None) -> F:
    """Make the constructor of a scenario check its arguments.

    `in_the_end` is called once with the new object, after the constructor of its class.
    """
    signature = inspect.signature(constructor)
    kinds = {parameter.kind: name for name, parameter in signature.parameters.items()}
    others = kinds.get(inspect.Parameter.VAR_KEYWORD)

    @wraps(constructor)
    def checked(self: object, *args: Any, **given: Any) -> None:
        bound = signature.bind(self, *args, **given)
        for name, default in getattr(type(self), "defaults", {}).items():
            if name in signature.parameters:
                bound.arguments.setdefault(name, default)
        owner = next(cls for cls in type(self).__mro__ if vars(cls).get("__init__") is checked)
        for name, parameter in _parameters_of(owner).items():
            if name in bound.arguments:
                bound.arguments[name] = parameter.check(bound.arguments[name])
        try:
            constructor(*bound.args, **bound.kwargs)
        except Exception as error:
            _explain(self, error)
            raise
        if others is None:
            vars(self)[_MISSED] = signature.parameters.keys() - given.keys()
        if in_the_end is not None and owner is next(
            c for c in type(self).__mro__ if "__init__" in vars(c)
        ):
            _check_passed_on(self, bound.arguments.get(others or "", {}))
            in_the_end(self)

    return checked  # type: ignore[return-value]  # the same signature


def _check_passed_on(made: object, settings: Mapping[str, Any]) -> None:
    """Check that a constructor has given its ``**settings`` to that of the base class."""
    missed = vars(made).pop(_MISSED, ())
    if lost := [name for name in settings if name in missed]:
        name = type(made).__name__
        raise UsageError(
            f"{name}.__init__ keeps its settings to itself ({', '.join(lost)}): pass them on, as "
            "in super().__init__(**settings)."
        )


def _explain(made: object, error: Exception) -> None:
    """Raise the error for a constructor that raised: what happened, where, and what to do.

    An error of the package that names no parameter names those that were given.
    """
    name, given = type(made).__name__, _given_in_words(made)
    if isinstance(error, SabmError):
        if isinstance(error, UsageError) and not error.parameter and given not in str(error):
            error.args = (f"{error}{given}",)
        return
    problem = (
        f"{name} cannot be made: {format_user_error(error)}. Correct its constructor, or the "
        f"parameters.{given}"
    )
    if isinstance(error, AttributeError) and error.obj is made and "running" not in vars(made):
        problem = (
            f"{name}.__init__ uses self.{error.name} before super().__init__(**settings), which "
            "must come first."
        )
    if twice := re.search(r"multiple values for keyword argument '(\w+)'", str(error)):
        problem = f"{name} passes on {twice[1]} twice: declare it in {name}.__init__.{given}"
    raise UsageError(problem) from error


def _given_in_words(made: Any) -> str:
    """The parameters of a model that were given, as a sentence."""
    given = {
        name: value
        for name, value in getattr(made, "parameters", {}).items()
        if repr(value) != repr(parameters_of(type(made))[name].default) and name != "rng"
    }
    named = ", ".join(f"{name}={_shown(value)}" for name, value in given.items())
    return f" Given: {named}." if named else ""


def whole_signature(constructor: Callable[..., None], cls: type) -> inspect.Signature:
    """The signature of a constructor with the parameters of the base class instead of ``**…``.

    Mesa's `SolaraViz` and ``help`` read it. The class may not have the constructor yet.
    """
    own = dict(inspect.signature(inspect.unwrap(constructor)).parameters)
    if next(reversed(own.values())).kind is not inspect.Parameter.VAR_KEYWORD:
        return inspect.Signature(list(own.values()))
    own.popitem()
    base: Any = cls.__mro__[1]
    defaults = getattr(cls, "defaults", {})
    passed_on = [
        parameter.replace(
            kind=inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name, parameter.default)
        )
        for name, parameter in inspect.signature(base.__init__).parameters.items()
        if name not in own
    ]
    return inspect.Signature([*own.values(), *passed_on])


@cache
def _parameters_of(model: type) -> Mapping[str, Parameter]:
    parameters: dict[str, Parameter] = {}
    for cls in model.__mro__:
        if "__init__" not in vars(cls):
            continue
        constructor = inspect.unwrap(vars(cls)["__init__"])
        for name, inherited in _declared(constructor).items():
            own = parameters.setdefault(name, inherited)
            if own.annotation is inspect.Parameter.empty:
                parameters[name] = replace(inherited, default=own.default)
            elif own is not inherited:
                limits = (*_limits_in(inherited.annotation), *own.limits)
                parameters[name] = replace(own, limits=limits)
        signature = inspect.signature(constructor).parameters.values()
        if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in signature):
            break
    for name, default in getattr(model, "defaults", {}).items():
        if name not in parameters:
            known = parameters.keys() - SERVICES
            raise UnknownName(f"default of {model.__name__}", name, known)
        parameters[name] = replace(parameters[name], default=default)
    return parameters


@cache
def _declared(constructor: Callable[..., None]) -> dict[str, Parameter]:
    """The parameters in the signature of one constructor, without ``self``."""
    return {
        name: Parameter(name, _evaluated(declared, constructor), declared.default)
        for name, declared in list(inspect.signature(constructor).parameters.items())[1:]
        if declared.kind not in {declared.VAR_KEYWORD, declared.VAR_POSITIONAL}
    }


def _evaluated(parameter: inspect.Parameter, constructor: Callable[..., None]) -> Any:
    """The annotation of a parameter as a type, if it can be evaluated."""
    text = parameter.annotation
    if not isinstance(text, str):
        return text
    alone = SimpleNamespace(__annotations__={"it": text})
    try:
        return get_type_hints(alone, constructor.__globals__, include_extras=True)["it"]
    except Exception as error:
        if "Annotated[" in text or "Literal[" in text:  # a limit must be kept
            raise ParameterError(
                f"The annotation {text} of {parameter.name} cannot be read: {error}.",
                parameter=parameter.name,
            ) from error
        return text


# Annotations and pydantic.


@lru_cache(maxsize=1024)
def _adapter(annotation: Any, limits: tuple[Any, ...] = ()) -> TypeAdapter[Any]:
    return TypeAdapter(_checkable(annotation, limits), config=_CONFIG)


def _checkable(annotation: Any, limits: Sequence[Any] = ()) -> Any:
    """An annotation of which pydantic checks numbers, truth values and names."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated and parts[0] not in (str, Any):
        return _checkable(parts[0], [*limits, *parts[1:]])
    if origin in {Union, UnionType}:
        checked = [_checkable(part, limits) for part in parts]
        if any(get_origin(part) is Annotated for part in checked):
            checked = [_NO_NUMBER if part is Any else part for part in checked]
        return Union[*checked]
    if annotation in _PLAIN:
        return Annotated[annotation, *limits, BeforeValidator(_PLAIN[annotation])]
    if origin is Literal and not any(isinstance(name, bool) for name in parts):
        return Annotated[annotation, _NO_TRUTH_VALUE]
    is_checked = origin in {Literal, Annotated} or annotation in (bool, NoneType)
    return annotation if is_checked else Any


def _limits_in(annotation: Any) -> tuple[Any, ...]:
    """The limits of the numbers of an annotation."""
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return (*_limits_in(parts[0]), *parts[1:]) if parts[0] not in (str, Any) else ()
    return next(filter(None, map(_limits_in, parts)), ())


def _whole(value: Any) -> Any:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return int(value) if is_number and value % 1 == 0 else value


def _number(value: Any) -> Any:
    return value if isinstance(value, int) or not isinstance(value, Real) else float(value)


_PLAIN = {int: _whole, float: _number}
"""Types of numbers → the same number in this type, if it is one; also NumPy's numbers and 3.0."""


def _none_of(kind: type, value: Any) -> Any:
    if isinstance(value, kind):
        raise ValueError  # noqa: TRY004 - pydantic takes only this one
    return value


def _finite(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise PydanticCustomError("number", "not a number")
    return value


_NO_TRUTH_VALUE = BeforeValidator(partial(_none_of, bool))
_NO_NUMBER = Annotated[Any, AfterValidator(partial(_none_of, Real))]
_NUMBER = Annotated[Any, AfterValidator(_finite), WithJsonSchema({"type": "number"})]
"""Of a parameter without an annotation whose default is a number."""


def _schemas(annotation: Any, limits: tuple[Any, ...]) -> list[dict[str, Any]]:
    schema = _adapter(annotation, limits).json_schema()
    parts = [{"enum": [s["const"]]} if "const" in s else s for s in schema.get("anyOf", [schema])]
    return [{"enum": part["enum"]} if "enum" in part else part for part in parts]


def _in_words(schemas: Sequence[Mapping[str, Any]], unlimited: str = "") -> str:
    """Legal values in words; ``""`` when they are unknown."""
    nouns = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}
    words = []
    for schema in schemas:
        *others, last = map(str, schema.get("enum", [nouns.get(schema.get("type", ""), "")]))
        names = f"{', '.join(others)} or {last}" if others else last
        if schema != {"type": "null"}:
            words.append(names + (_range(schema) or unlimited * (schema.get("type") in _NUMBERS)))
    known = list(filter(None, words))
    if known and len(known) < len(words):
        known.append(_OTHER)
    if known and {"type": "null"} in schemas:
        known.append("none")
    return ", or ".join(known)


def _range(schema: Mapping[str, Any]) -> str:
    """The limits of numbers in words, after a space; ``""`` without limits."""
    named = {
        "minimum": "of {} or more", "exclusiveMinimum": "above {}", "maximum": "of {} or less",
        "exclusiveMaximum": "below {}", "multipleOf": "that is a multiple of {}",
    }  # fmt: skip
    form = "g" if schema.get("type") == "number" else ""
    ends = {end: format(schema[end], form) for end in named if end in schema}
    if ends.keys() == {"minimum", "maximum"}:
        return f" from {ends['minimum']} to {ends['maximum']}"
    return "".join(
        f"{' and' if index else ''} {named[end].format(value)}"
        for index, (end, value) in enumerate(ends.items())
    )


def _shown(value: Any) -> str:
    """A short form of a value, for errors."""
    if isinstance(value, float) and math.isinf(value):
        return "a number without end or of more than 308 digits"
    if isinstance(value, int) and abs(value) > MOST:
        return f"{Decimal(value):.3g}"
    return repr(value)[:60]
