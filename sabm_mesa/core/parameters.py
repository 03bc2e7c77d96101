"""The parameters of a scenario: declared by its constructor, checked, and kept with the run.

The signature of the constructor declares them. A limit is part of the annotation and nowhere else:
`checking` checks arguments against it, and the viewer's controls and the descriptions show it::

    n_players: Annotated[int, Ge(2)] = 24
    discount: Annotated[float, Ge(0), Lt(1)] = 0.9
    matching: Literal["partner", "stranger"] = "partner"
    window: Annotated[int, Ge(1)] | None = None

A plain ``int``, ``float`` or ``bool`` is checked too; the constructor checks values of other types,
and rules on several parameters.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, wraps
from numbers import Real
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import BaseMetadata, Ge, Gt, Interval, Le, Lt

from sabm_mesa.errors import ParameterError, UnknownName

S = TypeVar("S", bound=str)
V = TypeVar("V")
F = TypeVar("F", bound=Callable[..., None])

SERVICES = frozenset({"connection", "recording"})
"""Constructor arguments that are not parameters of the run: they do not change its outcome."""
MOST = 1_000_000_000
"""The default maximum of whole numbers."""
_NOUNS = {"int": "a whole number", "float": "a number", "bool": "true or false"}


@dataclass(frozen=True, slots=True)
class Limits:
    """The legal values of a parameter.

    Attributes:
        kind: ``"int"``, ``"float"``, ``"bool"`` or ``"choice"``; ``""`` for other types, which are
            not checked here.
        low: the smallest legal number, or None.
        high: the largest legal number, or None.
        above: whether numbers must be above `low`.
        below: whether numbers must be below `high`.
        choices: the legal names of a choice.
        optional: whether None is legal.
        partly: whether there are legal values of other types, which are not checked here.
    """

    kind: Literal["int", "float", "bool", "choice", ""] = ""
    low: float | None = None
    high: float | None = None
    above: bool = False
    below: bool = False
    choices: tuple[Any, ...] = ()
    optional: bool = False
    partly: bool = False

    @property
    def is_number(self) -> bool:
        """Whether numbers are legal."""
        return self.kind in {"int", "float"}

    def __str__(self) -> str:
        """The legal values in words; ``""`` when they are unknown here."""
        if self.kind == "choice":
            *others, last = map(str, self.choices)
            text = f"{', '.join(others)} or {last}" if others else last
        else:
            text = f"{_NOUNS.get(self.kind, '')}{self._range()}"
        if self.is_number and self.low is self.high is None:
            text += " without fixed limits"
        if text and self.partly:
            text += ", or in another form"
        return f"{text}, or none" if text and self.optional else text

    def check(self, name: str, value: Any) -> Any:
        """Return a legal value: a whole number as int, a number as float.

        Args:
            name: the name of the parameter or value, for the error.
            value: the given value.

        Raises:
            ParameterError: when it is illegal.
            UnknownName: when it is not one of the legal names.
        """
        if (value is None and self.optional) or (self.partly and not self._is_limited(value)):
            return value
        match self.kind:
            case "int":
                return self._whole(name, value)
            case "float":
                return self._number(name, value)
            case "bool" if not isinstance(value, bool):
                raise _illegal(name, f"{_NOUNS['bool']}, not {value!r}.")
            case "choice" if value not in self.choices:
                raise UnknownName(
                    name.replace("_", " "),
                    value,
                    map(str, self.choices),
                    parameter=_parameter(name),
                )
        return value

    def narrowed(self, other: Limits) -> Limits:
        """These limits, with those of the same parameter of a base class.

        Args:
            other: the limits in the base class.
        """
        if self == Limits():
            return other
        if not (self.is_number and other.is_number):
            return self
        floor, ceiling = _tighter(self, other, "low", max), _tighter(self, other, "high", min)
        return replace(
            self, low=floor.low, above=floor.above, high=ceiling.high, below=ceiling.below
        )

    def _whole(self, name: str, value: Any) -> int:
        legal = f"{_NOUNS['int']}{self._range()}"
        if isinstance(value, bool) or (not isinstance(value, int) and not _is_whole(value)):
            raise _illegal(name, f"{legal}, not {_shown(value)}.")
        if not self._is_within(value):
            raise _illegal(name, f"{legal} (got {_shown(value)}).")
        return int(value)

    def _number(self, name: str, value: Any) -> float:
        legal = f"{_NOUNS['float']}{self._range()}"
        try:
            number = math.nan if isinstance(value, bool | str) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise _illegal(name, f"{legal}, not {_shown(value)}.")
        if not self._is_within(number):
            raise _illegal(name, f"{legal} (got {value}).")
        return number

    def _is_within(self, number: float) -> bool:
        low, high = self.low, self.high
        too_low = low is not None and (number < low or (self.above and number == low))
        too_high = high is not None and (number > high or (self.below and number == high))
        return not (too_low or too_high)

    def _is_limited(self, value: Any) -> bool:
        """Whether the limits apply to a value, if values of other types are legal, too."""
        has_limits = self.low is not None or self.high is not None
        return has_limits and isinstance(value, Real) and not isinstance(value, bool)

    def _range(self) -> str:
        """The limits of numbers in words, after a space; ``""`` without limits."""
        spec = "g" if self.kind == "float" else ""
        low = "" if self.low is None else format(self.low, spec)
        high = "" if self.high is None else format(self.high, spec)
        if low and high and not (self.above or self.below):
            return f" from {low} to {high}"
        ends = []
        if low:
            ends.append(f"above {low}" if self.above else f"of {low} or more")
        if high:
            ends.append(f"below {high}" if self.below else f"of {high} or less")
        return " " + " and ".join(ends) if ends else ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a scenario.

    Attributes:
        name: its name.
        annotation: its annotation; the text of one that cannot be evaluated, such as a type that is
            imported for type checkers only; ``inspect.Parameter.empty`` without one.
        default: its default; ``inspect.Parameter.empty`` without one.
        limits: its legal values.
    """

    name: str
    annotation: Any
    default: Any
    limits: Limits

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty

    def check(self, value: Any) -> Any:
        """Return a legal value, as `Limits.check`; whole numbers are at most `MOST`.

        Args:
            value: the given value.

        Raises:
            UsageError: when it is illegal.
        """
        checked, limits = self.limits.check(self.name, value), self.limits
        if limits.kind == "int" and not limits.partly and limits.high is None:
            replace(limits, high=MOST).check(self.name, checked)
        return checked


def parameters_of(model: type) -> dict[str, Parameter]:
    """The parameters of a model class, the scenario's own first.

    A constructor that passes ``**settings`` on has the parameters of its base class too. A
    constructor that declares such a parameter again keeps its limits. The class attribute
    `defaults` changes defaults.

    Args:
        model: the model class.

    Raises:
        ParameterError: for a limit that cannot be used.
        UnknownName: for a default of a parameter that does not exist.
    """
    return dict(_parameters_of(model))


def checking(
    constructor: F,
    in_the_end: Callable[[Any], None] | None = None,
) -> F:
    """Make the constructor of a class check its arguments against the limits of its parameters.

    `SmartModel` applies it to the constructor of each scenario.

    Args:
        constructor: the constructor.
        in_the_end: called once with the new object, after the constructor of its class.
    """
    signature = inspect.signature(constructor)

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
        except OverflowError as error:
            raise ParameterError(
                f"{type(self).__name__}: a number is too large ({error})."
            ) from error
        if in_the_end is not None and owner is next(
            c for c in type(self).__mro__ if "__init__" in vars(c)
        ):
            in_the_end(self)

    return checked  # type: ignore[return-value]  # the same signature


def whole_signature(constructor: Callable[..., None], cls: type) -> inspect.Signature:
    """The signature of a constructor with the parameters of the base class instead of ``**…``.

    Mesa's `SolaraViz` and ``help`` read it.

    Args:
        constructor: the constructor of the class.
        cls: the class, which may not have the constructor yet.
    """
    parameters = list(inspect.signature(inspect.unwrap(constructor)).parameters.values())
    if parameters[-1].kind is not inspect.Parameter.VAR_KEYWORD:
        return inspect.Signature(parameters)
    names = {parameter.name for parameter in parameters}
    base = inspect.signature(getattr(cls.__mro__[1], "__init__")).parameters.values()  # noqa: B009 - for mypy
    defaults = getattr(cls, "defaults", {})
    more = [
        parameter.replace(
            kind=inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(parameter.name, parameter.default),
        )
        for parameter in base
        if parameter.name not in names
    ]
    return inspect.Signature([*parameters[:-1], *more])


def check_values(model: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of parameters, checked as by the constructor of a model class.

    Args:
        model: the model class.
        given: some of its parameters with new values.

    Raises:
        UsageError: for an illegal value.
    """
    known = parameters_of(model)
    return {name: known[name].check(value) for name, value in given.items()}


def check_at_most(model: type, name: str, value: V, high: float) -> V:
    """Check a parameter whose largest legal value depends on other parameters, and return it.

    Args:
        model: the model class, which declares the other limits.
        name: the parameter.
        value: the given value.
        high: the largest legal value.

    Raises:
        ParameterError: for an illegal value.
    """
    declared = parameters_of(model)[name].limits
    checked: V = declared.narrowed(Limits(declared.kind, high=high)).check(name, value)
    return checked


def check_fields(instance: Any) -> None:
    """Check the fields of a dataclass against the limits that their annotations declare.

    Args:
        instance: the new instance.

    Raises:
        UsageError: for an illegal value.
    """
    for name, field in _declared(type(instance).__init__).items():
        field.limits.check(name, getattr(instance, name))


def limits_of(annotation: Any) -> Limits:
    """The limits that an annotation declares.

    Args:
        annotation: a type, such as ``Annotated[int, Ge(2)] | None``.

    Raises:
        ParameterError: for a limit that is not a limit of numbers.
    """
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _limited(limits_of(parts[0]), parts[1:])
    if origin is Literal:
        return Limits("choice", choices=parts)
    if origin in {Union, UnionType}:
        members = [limits_of(part) for part in parts if part is not NoneType]
        known = [member for member in members if member.kind]
        if {limits.kind for limits in known} == {"int", "float"}:
            known = [limits for limits in known if limits.kind == "float"]
        single = known[0] if len(known) == 1 else Limits()
        return replace(
            single,
            optional=single.optional or NoneType in parts,
            partly=single.partly or not all(member.kind for member in members),
        )
    plain: dict[Any, Limits] = {int: Limits("int"), float: Limits("float"), bool: Limits("bool")}
    return plain.get(annotation, Limits()) if isinstance(annotation, type) else Limits()


def bind(model: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a model with their values; the services are left out.

    Args:
        model: the model class.
        given: the values that differ from the defaults.

    Raises:
        UnknownName: for a parameter that does not exist.
    """
    known = parameters_of(model)
    for name in given:
        if name not in known:
            raise UnknownName(
                f"parameter of {model.__name__}", name, set(known) - SERVICES, parameter=name
            )
    return {name: given.get(name, known[name].default) for name in known if name not in SERVICES}


def check_int(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return a whole number within its limits.

    Args:
        name: the name of the parameter or value, for the error.
        value: the given value.
        low: the smallest legal value.
        high: the largest legal value, or None.

    Raises:
        ParameterError: for anything else.
    """
    checked: int = Limits("int", low, high).check(name, value)
    return checked


def check_float(name: str, value: Any, low: float, high: float | None = None) -> float:
    """Return a number within its limits.

    Args:
        name: the name of the parameter or value, for the error.
        value: the given value.
        low: the smallest legal value.
        high: the largest legal value, or None.

    Raises:
        ParameterError: for anything else.
    """
    checked: float = Limits("float", low, high).check(name, value)
    return checked


def check_choice(name: str, value: Any, known: Iterable[S]) -> S:
    """Return a value that is one of several names.

    Args:
        name: the name of the parameter or value, for the error.
        value: the given value.
        known: the legal names.

    Raises:
        UnknownName: for any other name.
    """
    checked: S = Limits("choice", choices=tuple(known)).check(name, value)
    return checked


def parse_list(name: str, given: Any) -> list[str]:
    """Return several texts, from a sequence or from one text with commas.

    Args:
        name: the name of the parameter or value, for the error.
        given: the given value.

    Raises:
        ParameterError: for anything else.
    """
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, Sequence):
        raise _illegal(name, f"a list, or a text with commas, not {given!r}.")
    return [str(entry).strip() for entry in given]


@cache
def _parameters_of(model: type) -> Mapping[str, Parameter]:
    parameters: dict[str, Parameter] = {}
    for cls in model.__mro__:
        if "__init__" not in vars(cls):
            continue
        constructor = inspect.unwrap(vars(cls)["__init__"])
        for name, parameter in _declared(constructor).items():
            if name in parameters:
                limits = parameters[name].limits.narrowed(parameter.limits)
                parameters[name] = replace(parameters[name], limits=limits)
            else:
                parameters[name] = parameter
        if all(
            parameter.kind is not parameter.VAR_KEYWORD for parameter in _signature(constructor)
        ):
            break
    for name, default in getattr(model, "defaults", {}).items():
        if name not in parameters:
            known = parameters.keys() - SERVICES
            raise UnknownName(f"default of {model.__name__}", name, known)
        parameters[name] = replace(parameters[name], default=default)
    return parameters


def _signature(constructor: Callable[..., None]) -> Iterable[inspect.Parameter]:
    """The arguments of a constructor, without ``self``."""
    return list(inspect.signature(constructor).parameters.values())[1:]


@cache
def _declared(constructor: Callable[..., None]) -> dict[str, Parameter]:
    """The parameters in the signature of one constructor."""
    parameters = {}
    for parameter in _signature(constructor):
        if parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}:
            annotation = _evaluated(parameter, constructor)
            try:
                limits = limits_of(annotation)
            except ParameterError as error:
                raise ParameterError(
                    f"{parameter.name}: {error}", parameter=parameter.name
                ) from None
            if parameter.default is None:
                limits = replace(limits, optional=True)
            parameters[parameter.name] = Parameter(
                parameter.name, annotation, parameter.default, limits
            )
    return parameters


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


def _limited(limits: Limits, metadata: Iterable[Any]) -> Limits:
    """Limits combined with those in the metadata of an annotation."""
    parts: list[Any] = []
    for constraint in metadata:
        parts += constraint if isinstance(constraint, Interval) else [constraint]
    for part in parts:
        if not isinstance(part, BaseMetadata):
            continue  # a note for somebody else
        one_sided = isinstance(part, Ge | Gt | Le | Lt)
        end: Any = getattr(part, type(part).__name__.lower()) if one_sided else None
        if not (limits.is_number and isinstance(end, int | float) and math.isfinite(end)):
            raise ParameterError(
                f"{part} is not a limit of a number: use Ge, Gt, Le, Lt or Interval with a number."
            )
        if isinstance(part, Ge | Gt):
            new = Limits(limits.kind, low=end, above=isinstance(part, Gt))
        else:
            new = Limits(limits.kind, high=end, below=isinstance(part, Lt))
        limits = limits.narrowed(new)
    return limits


def _tighter(
    one: Limits, other: Limits, end: Literal["low", "high"], tightest: Callable[..., float]
) -> Limits:
    """Whichever of two has the tighter lower, or upper, limit."""
    mine, its = getattr(one, end), getattr(other, end)
    if mine is None or its is None:
        return one if its is None else other
    if mine == its:
        return one if (one.above if end == "low" else one.below) else other
    return one if tightest(mine, its) == mine else other


def _illegal(name: str, legal: str) -> ParameterError:
    return ParameterError(f"{name} must be {legal}", parameter=_parameter(name))


def _parameter(name: str) -> str:
    """The parameter of that name; a name in several words is not a parameter."""
    return name if name.isidentifier() else ""


def _shown(value: Any) -> str:
    """A short form of a value, for errors."""
    if isinstance(value, float) and math.isinf(value):
        return "a number without end or of more than 308 digits"
    if isinstance(value, int) and abs(value) > MOST:
        return f"{Decimal(value):.3g}"
    return repr(value)[:60]


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") or (isinstance(value, float) and value.is_integer())
