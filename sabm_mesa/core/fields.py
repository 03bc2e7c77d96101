"""Answers of several parts: `Fields`, `Several` and `OneOf`, which nest.

Plain text has one field per line; fields of a part follow its name and a point::

    buy                      OneOf: its name on a line, then its fields
    good: bread
    amount: 2

    offer.give: 3            Fields(offer=Fields(give=…), to=Several(Choice(…)))
    to: Ann, Bob

    1.good: bread            Several(Fields(…)): numbered from 1
    1.amount: 2

JSON has objects and lists. The choice of `OneOf` is an object with its name as the only key: OpenAI
refuses alternatives whose objects begin with the same key (openai-python, issue 2193).

An answer in words may have a JSON object, the form of a tool call
(``{"name": "buy", "arguments": {…}}``, ``buy(good="bread", amount=2)``), or lines with labels. A
part is never taken from prose and never inferred. With two different values for a part, none is
taken.
"""

from __future__ import annotations

import ast
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sabm_mesa.core.answers import (
    SPACE,
    AnswerSpec,
    Choice,
    Format,
    InvalidAnswer,
    Number,
    ParserStep,
    Reading,
    Reasoning,
    Text,
    free,
    replace_surrogates,
    shorten,
    strip_decoration,
)
from sabm_mesa.core.mentions import Mention, without_fences
from sabm_mesa.core.objects import find_objects, no_field_twice
from sabm_mesa.core.reader import LONGEST, is_refusal, is_set_apart, is_taken_back
from sabm_mesa.errors import ParameterError

NONE = "none"
"""The word for a list without entries."""
BOUNDED_MESSAGES = 2
"""Messages in a talk of all at the same time at most, where a schema holds them."""
MOST_CASES = 200
"""The maximum number of examples of a list of choices."""
Read = Callable[[AnswerSpec, Any, str], Any]
"""Reads the value of one part from its spec, the given value and its name."""
Render = Callable[[str, Mapping[str, object]], str]
"""Renders an entry of ``[answers]``."""


class Values(dict[str, Any]):
    """The values of `Fields` by name: ``trade["amount"]`` or ``trade.amount``."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """The value of a field."""
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self) or "none"
            raise AttributeError(f"There is no field {name!r} here; there are: {known}.") from None


class Chosen(Values):
    """The value of `OneOf`: one entry, the chosen name and its fields.

    Read it with ``match decision.value: case {"buy": {"amount": amount}}: …``, or with `name` and
    `fields`.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The chosen name."""
        return next(iter(self))

    @property
    def fields(self) -> Values:
        """Its fields."""
        fields: Values = self[self.name]
        return fields


_TAKEN = {*dir(Chosen), "reasoning"}


class PartsSpec(AnswerSpec):
    """Definition of an answer of several parts; the base class of the specs in this module."""

    __slots__ = ()
    json_type: ClassVar[type | tuple[type, ...]] = dict
    in_one_line: bool = False
    """Whether its plain text is one line without labels."""

    @property
    def has_label(self) -> bool:
        """Lines have their own labels."""
        return self.in_one_line

    # What each of them has.

    @abstractmethod
    def parts(self) -> Iterable[tuple[str, AnswerSpec]]:
        """The names and specs of its parts."""

    @abstractmethod
    def lines(self, value: Any, path: str) -> Iterator[str]:
        """The lines of a legal value, each with its label after `path`."""

    @abstractmethod
    def take(self, table: _Table, path: str, read: Read) -> Any:
        """Take the value from labelled lines."""

    @abstractmethod
    def from_json(self, given: Any, path: str) -> Any:
        """Take the value from JSON in similar words.

        Raises:
            InvalidAnswer: when a part is missing or not legal.
        """

    @abstractmethod
    def outline(self, render: Render, path: str) -> str:
        """The lines of an answer, with a description of the legal values in each place."""

    @abstractmethod
    def outline_json(self, render: Render) -> str:
        """The JSON of an answer, with a description of the legal values in each place."""

    def labels(self, path: str = "") -> Iterator[tuple[str, AnswerSpec]]:
        """Labels of lines, with the spec of their value; ``#`` stands for any number."""
        for name, spec in self.parts():
            yield from _labels(spec, _join(path, name))

    # Reading.

    def read_text(self, text: str) -> Any:
        """Read labelled lines with only the value."""
        table = _Table(self)
        for line in filter(None, text.split("\n")):
            labelled = _LINE.fullmatch(line) or _LINE.fullmatch(strip_decoration(line))
            path = table.place(labelled["label"]) if labelled else None
            value = labelled["value"] if labelled else ""
            if path is None and not isinstance(self, Fields) and not table.texts:
                path, value = "", line  # the name of an option, or of a list without values
            if path is None:
                raise InvalidAnswer("not_a_field", found=shorten(line))
            if path in table.texts:
                raise InvalidAnswer("field_twice", field=path)
            table.texts[path] = value.strip()
        value = self.take(table, "", _read_exactly)
        table.check_nothing_left()
        return self.check(value)

    def as_text(self, value: Any) -> str:
        """Return the labelled lines of a legal value."""
        return "\n".join(self.lines(value, ""))

    def read(
        self,
        text: str,
        answer_format: Format = "paper",
        reading: ParserStep = "unambiguous",
        *,
        question: str = "",
    ) -> Reading:
        """Read a text that was written by a mind.

        Args:
            text: the whole answer.
            answer_format: ``"paper"`` or ``"json"``.
            reading: see `AnswerSpec.read`.
            question: see `AnswerSpec.read`; used only for a list on one line.

        Raises:
            InvalidAnswer: when the text does not give exactly one value for each part, or one that
                is not legal; it names the part.
        """
        if self.in_one_line:
            return AnswerSpec.read(self, text, answer_format, reading, question=question)
        try:
            return self._read_exactly(text, answer_format)
        except InvalidAnswer as problem:
            if reading == "exact" or not text.strip():
                raise
            if is_refusal(text):
                raise InvalidAnswer("refused") from None
            return _Words(self, text).reading(problem)

    def _read_lines(self, lines: list[str]) -> Reading:
        """With reasoning the answer is the shortest valid group of last lines."""
        if self.in_one_line or not self.reasoning:
            return Reading(self.read_text("\n".join(lines)))
        for n in range(1, len(lines)):
            with suppress(InvalidAnswer):
                value = self.read_text("\n".join(lines[-n:]))
                return Reading(value, SPACE.sub(" ", " ".join(lines[:-n])))
        return Reading(self.read_text("\n".join(lines)))

    # What the parts add up to.

    def broken_rules(self, value: Any) -> int:
        """The sum over its parts."""
        return (
            0
            if self.in_one_line
            else sum(spec.broken_rules(part) for _, spec, part in self.leaves(value))
        )

    def leaves(self, value: Any = None) -> list[tuple[str, AnswerSpec, Any]]:
        """The parts of an answer that have no parts themselves."""
        leaves = []
        for name, spec in self.parts():
            if value is None or name in value:
                inner = spec.leaves(None if value is None else value[name])
                leaves += [
                    (_join(name, path), leaf, leaf_value) for path, leaf, leaf_value in inner
                ]
        return leaves

    def replace_texts(self, value: Any, new: Callable[[Text, str], str]) -> Any:
        """A legal value with other texts in it."""
        parts = dict(self.parts())
        return type(value)({n: parts[n].replace_texts(part, new) for n, part in value.items()})


def _init(spec: PartsSpec, reasoning: Any, parts: Mapping[str, Any], kind: str) -> None:
    object.__setattr__(spec, "reasoning", reasoning)
    object.__setattr__(spec, "label", "")
    AnswerSpec.__post_init__(spec)
    alike: set[str] = set()
    for name, part in parts.items():
        if not name.isidentifier() or name in _TAKEN or _plain(name) in {*alike, NONE}:
            raise ParameterError(
                f"{kind} cannot be called {name!r}: use letters, digits and underscores, and "
                "neither the name of another part nor of a method of dict."
            )
        _check_part(part, name)
        alike.add(_plain(name))


def _check_part(part: Any, name: str) -> None:
    if not isinstance(part, AnswerSpec):
        raise ParameterError(
            f"{name} must be a spec, such as Number(0, 5) or Choice(('a', 'b')), not {part!r}."
        )
    if part.reasoning is not None:
        raise ParameterError(
            f"{name} has its own reasoning: it belongs to the whole answer, as in "
            "Fields(…, reasoning=words(30))."
        )


@dataclass(frozen=True, slots=True, init=False)
class Fields(PartsSpec):
    """Several named values in one answer: ``Fields(good=Choice(…), amount=Number(0, 5))``.

    The value is a dict whose entries are attributes too (`Values`).

    Args:
        reasoning: the private reasoning before the answer: `words`, `free`, or None.
        fields: the name of each field and its spec.

    Raises:
        ParameterError: for a name that cannot be used, or a part that is not a spec.
    """

    fields: tuple[tuple[str, AnswerSpec], ...]

    kind = "fields"

    def __init__(self, *, reasoning: Reasoning | None = None, **fields: AnswerSpec) -> None:
        _init(self, reasoning, fields, "A field")
        object.__setattr__(self, "fields", tuple(fields.items()))

    def parts(self) -> Iterable[tuple[str, AnswerSpec]]:
        """The fields."""
        return self.fields

    def check(self, value: Any) -> Values:
        """Return the legal values of all fields, from a mapping with exactly their names."""
        if not isinstance(value, Mapping):
            raise InvalidAnswer("not_fields", found=shorten(str(value)))
        names = [name for name, _ in self.fields]
        if unknown := [str(name) for name in value if name not in names]:
            raise InvalidAnswer("unknown_field", field=shorten(unknown[0]))
        if missing := [name for name in names if name not in value]:
            raise InvalidAnswer("missing_field", field=missing[0])
        return Values({name: _checked(spec, value[name], name) for name, spec in self.fields})

    def with_options_reversed(self) -> Fields:
        """The same fields in their order, each with its options in the opposite order."""
        parts = {name: spec.with_options_reversed() for name, spec in self.fields}
        return Fields(reasoning=self.reasoning, **parts)

    def schema(self) -> dict[str, Any]:
        """An object with all fields and no others."""
        return _object({name: spec.schema() for name, spec in self.fields})

    def bounded_schema(self) -> dict[str, Any]:
        """The same, with each field by its `bounded_schema`."""
        return _object({name: spec.bounded_schema() for name, spec in self.fields})

    def example(self, rng: np.random.Generator) -> Values:
        """Return an example of each field."""
        return Values({name: spec.example(rng) for name, spec in self.fields})

    def cases(self, rng: np.random.Generator) -> list[Any]:
        """Return answers that together cover each case of each field."""
        parts = {name: spec.cases(rng) for name, spec in self.fields}
        most = max(map(len, parts.values()), default=1)
        return [
            Values({name: cases[i % len(cases)] for name, cases in parts.items()})
            for i in range(most)
        ]

    def lines(self, value: Any, path: str) -> Iterator[str]:
        """The lines of all fields."""
        for name, spec in self.fields:
            yield from _lines(spec, value[name], _join(path, name))

    def take(self, table: _Table, path: str, read: Read) -> Any:
        """Take all fields from labelled lines."""
        return Values(
            {name: _take(spec, table, _join(path, name), read) for name, spec in self.fields}
        )

    def from_json(self, value: Any, path: str) -> Values:
        """Take all fields from an object; others are ignored."""
        if not isinstance(value, Mapping):
            raise _in_field(path, InvalidAnswer("not_fields", found=shorten(json.dumps(value))))
        given = _by_plain_name(value, path)
        values = Values()
        for name, spec in self.fields:
            if _plain(name) not in given:
                raise InvalidAnswer("missing_field", field=_join(path, name))
            values[name] = _from_json(spec, given[_plain(name)], _join(path, name))
        return values

    def outline(self, render: Render, path: str) -> str:
        """One line per field."""
        return "\n".join(_outline(spec, render, _join(path, name)) for name, spec in self.fields)

    def outline_json(self, render: Render) -> str:
        """An object."""
        inner = (f'"{name}": {_outline_json(spec, render)}' for name, spec in self.fields)
        return "{" + ", ".join(inner) + "}"


@dataclass(frozen=True, slots=True, init=False)
class OneOf(PartsSpec):
    """One of several things with their own fields, such as the call of one of several tools.

    ``OneOf(buy=Fields(good=Choice(…), amount=Number(0, 5)), work=Fields())``; the value is a dict
    with one entry, the chosen name and its fields (`Chosen`).

    Args:
        reasoning: the private reasoning before the answer: `words`, `free`, or None.
        options: the name of each option and its `Fields`.

    Raises:
        ParameterError: for a name that cannot be used, or an option that is not `Fields`.
    """

    options: tuple[tuple[str, Fields], ...]

    kind = "one_of"

    def __init__(self, *, reasoning: Reasoning | None = None, **options: Fields) -> None:
        _init(self, reasoning, options, "An option")
        for name, spec in options.items():
            if not isinstance(spec, Fields):
                raise ParameterError(f"{name} must be Fields(…), or Fields() when it has none.")
        if not options:
            raise ParameterError(
                "OneOf needs an option, such as OneOf(buy=Fields(…), stop=Fields())."
            )
        object.__setattr__(self, "options", tuple(options.items()))

    def parts(self) -> Iterable[tuple[str, AnswerSpec]]:
        """The options."""
        return self.options

    @property
    def names(self) -> Choice:
        """The choice between the names of the options."""
        return Choice(tuple(name for name, _ in self.options))

    def check(self, value: Any) -> Chosen:
        """Return the choice, from a mapping with one entry, or a name without fields."""
        if isinstance(value, str):
            value = {self.names.check(value): {}}
        if not isinstance(value, Mapping) or len(value) != 1:
            raise InvalidAnswer("not_one", options=self._names_listed, found=shorten(str(value)))
        ((given, fields),) = value.items()
        name = self.names.check(given)
        return Chosen({name: _checked(dict(self.options)[name], fields, name)})

    def with_options_reversed(self) -> OneOf:
        """The options in the opposite order, with those in their fields."""
        parts = {name: spec.with_options_reversed() for name, spec in reversed(self.options)}
        return OneOf(reasoning=self.reasoning, **parts)

    def schema(self) -> dict[str, Any]:
        """Alternatives: objects with the name as their only key."""
        return {"anyOf": [_object({name: spec.schema()}) for name, spec in self.options]}

    def bounded_schema(self) -> dict[str, Any]:
        """The same, with each option by its `bounded_schema`."""
        return {"anyOf": [_object({name: spec.bounded_schema()}) for name, spec in self.options]}

    def placeholders(self) -> dict[str, Any]:
        """The names, comma-separated."""
        return {"options": self._names_listed}

    def example(self, rng: np.random.Generator) -> Chosen:
        """Return an example of a random option, with equal probabilities."""
        name, spec = self.options[int(rng.integers(len(self.options)))]
        return Chosen({name: spec.example(rng)})

    def cases(self, rng: np.random.Generator) -> list[Any]:
        """Return the cases of each, in turn."""
        by_option = [
            [Chosen({name: case}) for case in spec.cases(rng)] for name, spec in self.options
        ]
        most = max(map(len, by_option))
        return [cases[i] for i in range(most) for cases in by_option if i < len(cases)]

    def lines(self, value: Any, path: str) -> Iterator[str]:
        """The name, and the lines of its fields."""
        name, fields = value.name, value.fields
        yield f"{path}: {name}" if path else name
        yield from dict(self.options)[name].lines(fields, path)

    def labels(self, path: str = "") -> Iterator[tuple[str, AnswerSpec]]:
        """The label of the name, and those of all fields."""
        yield path, self.names
        for _, spec in self.options:
            yield from spec.labels(path)

    def take(self, table: _Table, path: str, read: Read) -> Any:
        """Take the name and its fields from labelled lines."""
        if path not in table.texts:
            raise _in_field(path, InvalidAnswer("no_option", options=self._names_listed))
        name = read(self.names, table.texts.pop(path), path)
        return Chosen({name: dict(self.options)[name].take(table, path, read)})

    def from_json(self, value: Any, path: str) -> Chosen:
        """Take it from its own form, or from that of a tool call."""
        if isinstance(value, str):
            value = {value: {}}
        if not isinstance(value, Mapping):
            raise _in_field(path, InvalidAnswer("no_option", options=self._names_listed))
        given = _by_plain_name(value, path)
        plain = {_plain(name): name for name, _ in self.options}
        keys = [key for key in given if key in plain and given[key] not in (None, False)]
        if len(keys) > 1:
            raise _in_field(path, InvalidAnswer("several_options", options=self._names_listed))
        fields = {_plain(n) for _, s in self.options for n, _ in s.fields}
        if keys and (isinstance(given[keys[0]], Mapping) or keys[0] not in fields):
            name = plain[keys[0]]
            inner = given[keys[0]] if isinstance(given[keys[0]], Mapping) else {}
        else:
            named = {
                plain[_plain(given[key])]
                for key in _NAMES_OF_NAMES
                if isinstance(given.get(key), str) and _plain(given[key]) in plain
            }
            if len(named) != 1:
                code = "several_options" if named else "no_option"
                raise _in_field(path, InvalidAnswer(code, options=self._names_listed))
            (name,) = named
            inner = next((_loaded(given[k]) for k in _NAMES_OF_ARGUMENTS if k in given), value)
        return Chosen({name: dict(self.options)[name].from_json(inner or {}, path)})

    def outline(self, render: Render, path: str) -> str:
        """The lines of each."""
        head = f"{path}: " if path else ""
        lines = (
            "\n".join(filter(None, [head + name, spec.outline(render, path)]))
            for name, spec in self.options
        )
        return f"\n{render('alternative', {})}\n".join(lines)

    def outline_json(self, render: Render) -> str:
        """The object of each."""
        objects = (f'{{"{name}": {spec.outline_json(render)}}}' for name, spec in self.options)
        return " | ".join(objects)

    @property
    def _names_listed(self) -> str:
        return ", ".join(name for name, _ in self.options)


@dataclass(frozen=True, slots=True)
class Several(PartsSpec):
    """A list of values: ``Several(Choice(names), at_most=3)``.

    The value is a tuple, in the order of the answer. For a choice, no option counts twice. Numbers
    and options are on one line, with commas; other values are on numbered lines. ``none`` is an
    empty list.

    Attributes:
        of: the spec of each value.
        at_most: the largest number of values; None: the number of options.
        at_least: the smallest number of values.

    Raises:
        ParameterError: for impossible limits, and for options with a comma.
    """

    of: AnswerSpec
    at_most: int | None = None
    at_least: int = field(default=0, kw_only=True)

    json_type = list

    def __post_init__(self) -> None:
        """Refuse impossible limits."""
        AnswerSpec.__post_init__(self)
        _check_part(self.of, "Several")
        options = self.of.options if isinstance(self.of, Choice) else ()
        if self.at_most is None and options:
            object.__setattr__(self, "at_most", len(options))
        most = self.at_most
        if most is None:
            raise ParameterError("Several needs at_most=… for anything but a Choice.")
        if not 0 <= self.at_least <= most or most < 1 or (options and most > len(options)):
            raise ParameterError(
                f"Several needs 0 <= at_least <= at_most, and no more than there are options (got "
                f"at_least={self.at_least} and at_most={most})."
            )
        if any("," in option or _plain(option) == NONE for option in options):
            raise ParameterError(
                f"Options of Several cannot contain a comma or be {NONE!r}: {options}."
            )

    @property
    def most(self) -> int:
        """The largest number of values."""
        assert self.at_most is not None
        return self.at_most

    @property
    def kind(self) -> str:  # type: ignore[override]  # of the class in the other specs
        """The entries on how to write the list."""
        if isinstance(self.of, Choice):
            return "several_choice"
        return "several" if self.in_one_line else "list"

    @property
    def in_one_line(self) -> bool:  # type: ignore[override]  # of the class in the other specs
        """Whether it is written on one line."""
        return isinstance(self.of, Number | Choice)

    def parts(self) -> Iterable[tuple[str, AnswerSpec]]:
        """Its values, by their number."""
        return [("#", self.of)]

    def check(self, value: Any) -> tuple[Any, ...]:
        """Return the legal values, from a list, a tuple, or a set of options."""
        if isinstance(value, str):
            value = [] if _plain(value) == NONE else [part.strip() for part in value.split(",")]
        if isinstance(value, set | frozenset) and isinstance(self.of, Choice):
            value = [option for option in self.of.options if option in value]
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence | np.ndarray):
            raise InvalidAnswer("not_a_list", found=shorten(str(value)))
        values = tuple(_checked(self.of, item, "") for item in value)
        if isinstance(self.of, Choice):
            values = tuple(dict.fromkeys(values))
        if not self.at_least <= len(values) <= self.most:
            raise InvalidAnswer(
                "wrong_number", found=len(values), at_least=self.at_least, at_most=self.most
            )
        return values

    def with_options_reversed(self) -> Several:
        """The list with the options of its values in the opposite order."""
        return replace(self, of=self.of.with_options_reversed())

    def schema(self) -> dict[str, Any]:
        """A list with the legal number of values."""
        limits = {"minItems": self.at_least, "maxItems": self.most}
        return {"type": "array", "items": self.of.schema(), **limits}

    def bounded_schema(self) -> dict[str, Any]:
        """The same, with values by their `bounded_schema`."""
        return {**self.schema(), "items": self.of.bounded_schema()}

    def placeholders(self) -> dict[str, Any]:
        """The limits, the entry on an empty list if that is legal, and the options of a choice."""
        placeholders: dict[str, Any] = {
            **self._limits,
            "or_none": "" if self.at_least else "or_none",
        }
        return placeholders | (self.of.placeholders() if isinstance(self.of, Choice) else {})

    def example(self, rng: np.random.Generator) -> tuple[Any, ...]:
        """Return a list of any legal length."""
        n = int(rng.integers(self.at_least, self.most + 1))
        if isinstance(self.of, Choice):
            places = rng.permutation(len(self.of.options))[:n].tolist()
            return tuple(self.of.options[i] for i in places)
        return tuple(self.of.example(rng) for _ in range(n))

    def cases(self, rng: np.random.Generator) -> list[Any]:
        """Return the shortest and the longest list, and lists with each case of a value."""
        cases = self.of.cases(rng)[:MOST_CASES]
        n = max(1, self.at_least)
        lists = [tuple((cases * n)[i : i + n]) for i in range(len(cases))]
        longest = tuple((cases * self.most)[: self.most])
        return [*([()] if self.at_least == 0 else []), *lists, longest]

    def leaves(self, value: Any = None) -> list[tuple[str, AnswerSpec, Any]]:
        """The list if it is written on one line; otherwise the parts of its values."""
        if self.in_one_line:
            return [("", self, value)]
        values = [("#", None)] if value is None else [(str(i), v) for i, v in enumerate(value, 1)]
        return [
            (_join(name, path), leaf, leaf_value)
            for name, item in values
            for path, leaf, leaf_value in self.of.leaves(item)
        ]

    def replace_texts(self, value: Any, new: Callable[[Text, str], str]) -> Any:
        """A legal list with other texts in it."""
        return tuple(self.of.replace_texts(item, new) for item in value)

    def read_text(self, text: str) -> Any:
        """Read a list on one line, or numbered lines."""
        if not self.in_one_line:
            return PartsSpec.read_text(self, text)
        if "\n" in text:
            raise InvalidAnswer("one_line")
        text = strip_decoration(text)
        if _plain(text) == NONE:
            return self.check(())
        return self.check([self.of.read_text(part.strip()) for part in text.split(",")])

    def as_text(self, value: Any) -> str:
        """Return the list on one line, or numbered lines."""
        if not self.in_one_line:
            return PartsSpec.as_text(self, value)
        return ", ".join(self.of.as_text(item) for item in value) or NONE

    def mentions(self, text: str) -> list[Mention]:
        """Find the lists in a text."""
        if not self.in_one_line:
            return []
        options = self.of.options if isinstance(self.of, Choice) else ()
        if options and _is_ticked(text, options):
            return [mention._replace(value=None) for mention in self.of.mentions(text)]
        bare = _without_reasons(text, options)
        inner = [*self.of.mentions(bare)]
        inner += [
            Mention(match.start(), match.end(), NONE) for match in _NONE_APPLIES.finditer(bare)
        ]
        runs: list[list[Mention]] = []
        by_line = False
        for mention in sorted(inner, key=lambda part: part.start):
            between = bare[runs[-1][-1].end : mention.start].replace(_REASON, "") if runs else ""
            new_line = bool(options) and "\n" in between and not between.strip(" \n⦃⦄")
            if runs and (
                (new_line and (by_line or len(runs[-1]) == 1))
                or (not by_line and _BETWEEN.fullmatch(between))
            ):
                runs[-1].append(mention)
                by_line = new_line
            else:
                runs.append([mention])
                by_line = False
        lists = [Mention(_start(text, m[0]), _end(bare, m[-1]), self._listed(m)) for m in runs]
        first = [whole for whole in lists if not text[: whole.start].rpartition("\n")[2].strip()]
        beside = any(
            not re.search(r"[.!?;\n]", text[one.end : other.start]) and one.value != other.value
            for one, other in pairwise(lists)
        )
        if options and (beside or len({whole.value for whole in first}) > 1):
            return [whole._replace(value=None) for whole in lists]
        return lists

    def _listed(self, mentions: list[Mention]) -> tuple[Any, ...] | None:
        """The values of a list; None if one is in doubt, or "none" occurs with other values."""
        values = [mention.value for mention in mentions]
        if values == [NONE]:
            return ()
        return None if None in values or NONE in values else tuple(values)

    def lines(self, value: Any, path: str) -> Iterator[str]:
        """The lines of all values, numbered from 1."""
        if not value:
            yield f"{path}: {NONE}" if path else NONE
        for i, item in enumerate(value, 1):
            yield from _lines(self.of, item, _join(path, str(i)))

    def labels(self, path: str = "") -> Iterator[tuple[str, AnswerSpec]]:
        """The label of the whole list, and those of its values."""
        yield path, self
        if not self.in_one_line:
            yield from PartsSpec.labels(self, path)

    def take(self, table: _Table, path: str, read: Read) -> Any:
        """Take the values from numbered lines."""
        if path in table.texts:
            if _plain(strip_decoration(table.texts[path])) != NONE:
                text = shorten(table.texts[path])
                raise _in_field(path, InvalidAnswer("not_a_list", found=text))
            table.texts.pop(path)
            return ()
        values: list[Any] = []
        while table.has(_join(path, str(len(values) + 1))):
            values.append(_take(self.of, table, _join(path, str(len(values) + 1)), read))
        if not values:
            raise InvalidAnswer("missing_field", field=path or "1")
        return tuple(values)

    def from_json(self, given: Any, path: str) -> Any:
        """Take the values from a list, or from a text with a list on one line."""
        if isinstance(given, str) and self.in_one_line:
            return _in(path, lambda: self.read(given).value)
        if not isinstance(given, list):
            raise _in_field(path, InvalidAnswer("not_a_list", found=shorten(str(given))))
        return tuple(_from_json(self.of, item, path) for item in given)

    def outline(self, render: Render, path: str) -> str:
        """The lines of the first value, and the legal number of values."""
        lines = _outline(self.of, render, _join(path, "1"))
        none = f"{path}: {NONE}" if path else NONE
        return render("list_lines", {"lines": lines, "none": none, **self._limits})

    def outline_json(self, render: Render) -> str:
        """A list."""
        value = _outline_json(self.of, render)
        return render("list_json_value", {"value": value, **self._limits})

    @property
    def _limits(self) -> dict[str, int]:
        return {"at_least": self.at_least, "at_most": self.most}


@dataclass(frozen=True, slots=True)
class Talk(Several):
    """All messages of one agent in a talk in which everybody speaks at the same time.

    It is a list of ``Fields(second=Number(…), text=Text(…))``. People see each other's messages as
    they arrive, and the seat notes the second of each; other minds give all messages at once.
    """

    @property
    def text(self) -> Text:
        """The spec of the words of one message."""
        text = dict(self.of.parts())["text"]  # type: ignore[attr-defined]  # of Fields
        assert isinstance(text, Text)
        return text

    def bounded_schema(self) -> dict[str, Any]:
        """Few messages: small models fill what they may, and their context is short."""
        return self.schema() | {"maxItems": min(self.most, BOUNDED_MESSAGES)}


def _start(text: str, first: Mention) -> int:
    """The beginning of a list: the number of its first value belongs to it."""
    number = re.search(r"(?:\A|\n)\s*1[.)]\s+\Z", text[: first.start])
    return number.start() + (text[number.start()] == "\n") if number else first.start


# Parts of any kind.


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def _plain(name: str) -> str:
    """A name in lower case without spaces, emphasis and underscores."""
    return re.sub(r"[\s_\-*`\"'()]+", "", name).rstrip(".").casefold()


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }  # fmt: skip


def _in_field(path: str, problem: InvalidAnswer) -> InvalidAnswer:
    """A problem with the name of its part."""
    if not path:
        return problem
    if problem.code in {"missing_field", "unknown_field", "field_twice"}:
        return InvalidAnswer(problem.code, field=_join(path, str(problem.fields["field"])))
    if problem.code == "in_field":
        inner = problem.fields["reason"]
        return InvalidAnswer(
            "in_field", field=_join(path, str(problem.fields["field"])), reason=inner
        )
    return InvalidAnswer("in_field", field=path, reason=problem)


def _in(path: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except InvalidAnswer as problem:
        raise _in_field(path, problem) from None


def _checked(spec: AnswerSpec, value: Any, name: str) -> Any:
    """The legal value of a part, of the right type."""
    value = value.item() if isinstance(value, np.generic) else value
    wrong = isinstance(value, bool) or value is None
    if wrong or (
        not isinstance(spec, PartsSpec) and not isinstance(value, (spec.json_type, tuple))
    ):
        raise _in_field(name, InvalidAnswer("wrong_kind", found=shorten(str(value))))
    value = replace_surrogates(value) if isinstance(value, str) else value
    return _in(name, lambda: spec.check(value))


def _lines(spec: AnswerSpec, value: Any, path: str) -> Iterator[str]:
    if isinstance(spec, PartsSpec) and not spec.in_one_line:
        yield from spec.lines(value, path)
    else:
        yield f"{path}: {spec.as_text(value)}"


def _labels(spec: AnswerSpec, path: str) -> Iterator[tuple[str, AnswerSpec]]:
    if isinstance(spec, PartsSpec) and not spec.in_one_line:
        yield from spec.labels(path)
    else:
        yield path, spec


def _take(spec: AnswerSpec, table: _Table, path: str, read: Read) -> Any:
    if isinstance(spec, PartsSpec) and not spec.in_one_line:
        return spec.take(table, path, read)
    if path not in table.texts:
        raise InvalidAnswer("missing_field", field=path)
    return read(spec, table.texts.pop(path), path)


def _read_exactly(spec: AnswerSpec, text: str, path: str) -> Any:
    if not text:
        raise _in_field(path, InvalidAnswer("empty"))
    return _in(path, lambda: spec.read_text(text))


def _read_in_words(spec: AnswerSpec, text: str, path: str) -> Any:
    text = text.strip()
    return _in(path, lambda: spec.read(text).value)


def _from_json(spec: AnswerSpec, given: Any, path: str) -> Any:
    if isinstance(spec, PartsSpec):
        return spec.from_json(_loaded(given), path)
    if isinstance(given, list) and len(given) == 1:
        (given,) = given
    if isinstance(given, str) and not isinstance(spec, Text):
        return _in(path, lambda: spec.read(given).value)
    return _checked(spec, given, path)


def _outline(spec: AnswerSpec, render: Render, path: str) -> str:
    if isinstance(spec, PartsSpec) and not spec.in_one_line:
        return spec.outline(render, path)
    return f"{path}: {value_form(spec, render)}"


def _outline_json(spec: AnswerSpec, render: Render) -> str:
    if isinstance(spec, PartsSpec):
        return spec.outline_json(render)
    return f"<{value_form(spec, render)}>"


def value_form(spec: AnswerSpec, render: Render) -> str:
    """A legal value of a spec in a few words."""
    values = spec.placeholders()
    for name in ("number", "or_none"):
        if values.get(name):
            values[name] = render(values[name], values)
    if isinstance(spec, Several) and not isinstance(spec.of, Choice):
        values["value"] = value_form(spec.of, render)
    return render(f"{spec.kind}_value", values)


# In other words.

_BETWEEN = re.compile(
    r"[\"'\]\[⦄]?\s*(?:,\s*and\b|,|;|&|\+|\]\s*\[|\band\b|\n\s*\d[.)]\s)\s*[\"'\[⦃]?",
    re.IGNORECASE,
)
_NONE_APPLIES = re.compile(
    r"(?<![\w-])(?:none of (?:them|the above)|(?:there (?:is|are) )?no applicable \w+"
    r"|(?:none(?: of (?:the|these|those)(?: \w+){0,2}?)?|no \w+) (?:appl(?:y|ies)|fits?)"
    r"|none)(?![\w-])",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:no|not|none|absent|lacks?|without|maybe|perhaps|unless|if)\b|n't|\?", re.IGNORECASE
)
"""Words in a reason that may withdraw an option."""
_REASON = "\0"
"""Replaces each character of a reason."""


def _any_of(options: Iterable[str]) -> str:
    return rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted(options, key=len, reverse=True)))})"


def _is_ticked(text: str, options: Iterable[str]) -> bool:
    """Whether a text states for each option if it applies, as "price: yes" or "price: 0"."""
    ticks = r"\s*[:=]\s*(?:\d|yes\b|no\b|true\b|false\b)"
    return re.search(_any_of(options) + ticks, text, re.IGNORECASE) is not None


def _without_reasons(text: str, options: Sequence[str]) -> str:
    """A text of equal length without the reasons after options, unless they deny an option."""
    if not options:
        return text
    return re.sub(
        rf"({_any_of(options)})(\s*\([^()\n]*\)|\s*[:–—-]\s+\S+(?: +\S+)+(?=\n|\Z)"
        r"|,\s+(?:because|since|as)\s[^;\n]+(?=;|\n|\Z))",
        lambda reason: (
            reason[0] if _DENIES.search(reason[2]) else reason[1] + _REASON * len(reason[2])
        ),
        text,
        flags=re.IGNORECASE,
    )


def _end(text: str, last: Mention) -> int:
    """The end of a list whose last value is followed by a reason."""
    return last.end + len(text[last.end :]) - len(text[last.end :].lstrip(_REASON))


_NAMES_OF_NAMES = (
    "action", "name", "tool", "toolname", "type", "choice", "decision", "kind", "move", "option",
    "function", "answer", "call", "command", "chosen", "selected", "actiontype",
)  # fmt: skip
"""Keys that models use for the name of their choice."""
_NAMES_OF_ARGUMENTS = (
    "arguments", "args", "parameters", "params", "input", "toolinput", "actioninput", "fields",
    "details",
)  # fmt: skip
"""Keys under which models write its fields."""
_WRAPPERS = (
    "answer", "finalanswer", "response", "result", "output", "decision", "action", "choice",
    "toolcall", "toolcalls", "functioncall", "function", "call", "tooluse", *_NAMES_OF_ARGUMENTS,
)  # fmt: skip
"""Keys of an object that may contain the answer."""
_SAID_BEFORE = r"[\s>*+•#|\-–—_`\"'(\[{]*(?:\d+[.)]\s+)?"
_POLITE = re.compile(
    rf"{_SAID_BEFORE}(?:(?:my|the|our|your|final|chosen|selected|proposed|and|own|<\w+>)[\s*_]*)*\Z",
    re.IGNORECASE,
)
"""Words before a label that mean nothing."""
_NOT_GIVEN = {
    "",
    "none",
    "n/a",
    "na",
    "null",
    "-",
    "–",
    "—",
    "nothing",
    "0",
    "{}",
    "[]",
    "notapplicable",
}
_ROW = re.compile(r"\s*\|\s*([^|]+?)\s*\|\s*([^|]*?)\s*\|\s*\Z")
_LINE = re.compile(
    r"(?P<mark>\*{1,3}|_{1,2}|`|)(?P<label>[^:*`]+?)(?:(?P=mark)\s*:|\s*:(?P=mark))(?P<value>.*)"
)
"""A line with a label, which may be emphasised."""
_CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*\(([^()]*)\)")
_DEPTH = 4
_CUT = "\n\0\n"
"""Replaces removed parts of a text."""


def _loaded(value: Any) -> Any:
    """JSON in a text, as some models write the arguments of a tool."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(value, object_pairs_hook=no_field_twice)
        except (ValueError, RecursionError):
            return value
    return value


def _by_plain_name(fields: Mapping[Any, Any], path: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for key, value in fields.items():
        plain = _plain(str(key))
        if plain in given and given[plain] != value:
            raise InvalidAnswer("field_twice", field=_join(path, str(key)))
        given[plain] = value
    return given


class _Table:
    """Labelled lines of one answer.

    Attributes:
        texts: label → the text after it, for those not taken yet.
    """

    def __init__(self, spec: PartsSpec) -> None:
        self.texts: dict[str, str] = {}
        self.specs: dict[str, list[AnswerSpec]] = {}
        for label, part in spec.labels():
            self.specs.setdefault(label, []).append(part)
        self._plain = {_plain(label): label for label in self.specs if label}

    def place(self, label: str) -> str | None:
        """The label in the form of the spec, with its numbers; None for any other word."""
        plain = _plain(re.sub(r"\s*\.\s*", ".", label))
        numbers = iter(re.findall(r"(?<![^.])\d+(?![^.])", plain))
        known = self._plain.get(re.sub(r"(?<![^.])\d+(?![^.])", "#", plain))
        return None if known is None else re.sub("#", lambda _: next(numbers), known)

    def of(self, path: str) -> list[AnswerSpec]:
        """The specs that a path may have."""
        return self.specs.get(re.sub(r"(?<![^.])\d+(?![^.])", "#", path), [])

    def has(self, path: str) -> bool:
        """Whether there is a value at a path or below it."""
        return any(
            known_path == path or known_path.startswith(f"{path}.") for known_path in self.texts
        )

    def check_nothing_left(self) -> None:
        """Refuse fields that do not belong to the choice."""
        for path in self.texts:
            raise InvalidAnswer("unknown_field", field=path)


class _Words:
    """One answer among words."""

    def __init__(self, spec: PartsSpec, text: str) -> None:
        self.spec, self.whole = spec, text
        self.text = text[-LONGEST:] if spec.reasoning == free else text
        self.problem: InvalidAnswer | None = None
        self.candidates: list[Any] = []
        self.reason = ""

    def reading(self, problem: InvalidAnswer) -> Reading:
        """The one value that is given.

        Args:
            problem: why the text was not read exactly.

        Raises:
            InvalidAnswer: when there is none, or there are several.
        """
        if len(self.text) > LONGEST:
            raise problem
        rest = self._without(find_objects(self.text), self.text, self._take_object)
        calls = [(m.start(), m.end(), m.groups()) for m in _CALL.finditer(rest)]
        rest = self._without(calls, rest, self._take_call)
        lines = self._take_lines(rest)
        values: list[Any] = []
        for candidate in self.candidates:
            if candidate not in values:
                values.append(candidate)
        if len(values) > 1:
            raise InvalidAnswer("several_answers")
        if not values:
            raise self.problem or problem
        (value,) = values
        lines.check(value)
        reasoning = SPACE.sub(" ", self.reason).strip() if self.spec.reasoning else ""
        return Reading(value, replace_surrogates(reasoning), "labelled")

    def _without(
        self, places: list[tuple[int, int, Any]], text: str, take: Callable[[Any], bool | None]
    ) -> str:
        """Read the values at some places of a text; return the text without them.

        `take` returns whether a value is the answer, and None if it stays in the text.
        """
        parts, at = [], 0
        for start, stop, candidate in places[-1:] if self.spec.reasoning == free else places:
            taken = take(candidate)
            if taken is not None:
                if taken and is_set_apart(text[:start]):
                    raise InvalidAnswer("several_answers")
                parts += [text[at:start], _CUT if taken else "\n"]
                at = stop
        return "".join([*parts, text[at:]])

    def _take_object(self, given: Any) -> bool:
        """Whether an object is about the answer; its value is kept."""
        relevant, values = False, []
        for entry in _inner(given):
            try:
                value = self.spec.check(self.spec.from_json(entry, ""))
                if value not in values:
                    values.append(value)
                relevant = True
            except InvalidAnswer as problem:
                if problem.code not in {"missing_field", "no_option", "not_fields", "wrong_kind"}:
                    relevant = True
                if relevant or self.problem is None:
                    self.problem = problem
                relevant = relevant or self._names_parts(entry)
        if isinstance(given, Mapping):
            self.reason = next(
                (
                    v
                    for k, v in given.items()
                    if _plain(str(k)) == "reasoning" and isinstance(v, str)
                ),
                self.reason,
            )
        if relevant and not values and self.problem is not None:
            raise self.problem
        self.candidates += values
        return relevant

    def _names_parts(self, entry: Any) -> bool:
        names = {_plain(path.rpartition(".")[2]) for path, _ in self.spec.labels()} - {"", "#"}
        return isinstance(entry, Mapping) and any(_plain(str(key)) in names for key in entry)

    def _take_lines(self, rest: str) -> _Lines:
        lines = _Lines(self.spec, rest, last=self.spec.reasoning == free)
        if self.spec.reasoning and not self.reason:
            self.reason = " ".join(lines.before)
        value: Any = None
        if isinstance(self.spec, Several) and _plain(strip_decoration(rest)) == NONE:
            value = ()
        elif (not self.candidates and lines.any) or lines.named_alone:
            value = lines.take()
        if value is not None:
            self.candidates.append(self.spec.check(value))
        return lines

    def _take_call(self, call: tuple[str, str]) -> bool | None:
        name, fields = _plain(call[0]), self.spec
        if isinstance(self.spec, OneOf):
            options = {_plain(option): (option, spec) for option, spec in self.spec.options}
            if name not in options:
                return None
            chosen, fields = options[name]
        if not isinstance(fields, Fields):
            return None
        given = _arguments(call[1], [option for option, _ in fields.fields])
        if given is None or (fields is self.spec and not given):
            return None
        value: Any = fields.from_json(given, "")
        self.candidates.append(
            self.spec.check(value if fields is self.spec else Chosen({chosen: value}))
        )
        return True


def _inner(entry: Any, depth: int = 0) -> Iterator[Any]:
    """An object, and those in it under a word for the answer."""
    if isinstance(entry, list):
        yield entry
        inner = [item for item in entry if isinstance(item, Mapping)]
    elif isinstance(entry, Mapping):
        plain = {_plain(str(key)): _loaded(value) for key, value in entry.items()}
        if isinstance(plain.get("answer"), dict | list):
            plain = {"answer": plain["answer"]}
        else:
            yield entry
        inner = [plain[key] for key in _WRAPPERS if key in plain]
        if isinstance(plain.get("answer"), str):
            yield plain["answer"]
    else:
        return
    for item in inner if depth < _DEPTH else ():
        yield from _inner(item, depth + 1)


def _arguments(text: str, names: Sequence[str]) -> dict[str, Any] | None:
    """The arguments of a call, by name or all in order; None when it is not a call."""
    try:
        (call,) = (ast.parse(f"f({text})", mode="eval").body,)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(call, ast.Call):
        return None
    if call.args and (call.keywords or len(call.args) != len(names)):
        return None
    pairs = [(name, node) for name, node in zip(names, call.args, strict=False)]
    pairs += [(keyword.arg or "", keyword.value) for keyword in call.keywords]
    arguments: dict[str, Any] = {}
    for name, node in pairs:
        value = _constant(node)
        if value is None or name in arguments:
            return None
        arguments[name] = value
    return arguments


def _constant(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        return None


class _Lines:
    """Lines with labels among others.

    Attributes:
        before: the lines before the first label.
        named_alone: whether only a name without fields is given.
    """

    def __init__(self, spec: PartsSpec, text: str, *, last: bool) -> None:
        self.spec, self.table = spec, _Table(spec)
        self.before: list[str] = []
        self.after: list[str] = []
        self.named_alone = False
        self._twice: str | None = None
        self._loose: list[str] = []
        self._label = self._pattern()
        lines = [line.rstrip() for line in without_fences(text).split("\n")]
        self._scan(self._tail(lines) if last else lines)
        self.any = bool(self.table.texts) or self._twice is not None
        if isinstance(spec, OneOf):
            self._name(spec, "\n".join(self._loose))

    def take(self) -> Any:
        """The value of the labelled lines.

        Raises:
            InvalidAnswer: when there is none, or a part is in doubt.
        """
        if self._twice is not None:
            raise InvalidAnswer("field_twice", field=self._twice)
        if self.before and is_set_apart("\n".join(self.before)):
            raise InvalidAnswer("several_answers")
        value = self.spec.take(self.table, "", _read_in_words)
        for path, text in [*self.table.texts.items()]:
            if _plain(strip_decoration(text)) in _NOT_GIVEN:
                del self.table.texts[path]
        self.table.check_nothing_left()
        texts = any(isinstance(s, Text) for _, s, _ in self.spec.leaves())
        if texts and any(line.strip() for line in self.after):
            raise InvalidAnswer("not_a_field", found=shorten(next(filter(None, self.after))))
        return value

    def check(self, value: Any) -> None:
        """Refuse a value that the lines contradict or withdraw."""
        if self._twice is not None:
            raise InvalidAnswer("field_twice", field=self._twice)
        leaves = {path: leaf_value for path, _, leaf_value in self.spec.leaves(value)}
        if isinstance(self.spec, OneOf) and self.spec.names.options:
            leaves = {path.partition(".")[2]: leaf_value for path, leaf_value in leaves.items()}
            leaves[""] = value.name
        for label, text in self.table.texts.items():
            for spec in self.table.of(label):
                try:
                    read_value = _read_in_words(spec, text, label)
                except InvalidAnswer:
                    continue
                if label in leaves and leaves[label] != read_value:
                    raise InvalidAnswer("field_twice", field=label or "answer")
        after = "\n".join(self.after)
        if is_taken_back(after):
            raise InvalidAnswer("several_answers")

    def _pattern(self) -> re.Pattern[str]:
        """The labels of the spec: each path, and its last name if that is unique."""
        names: dict[str, list[str]] = {}
        for path in self.table.specs:
            if path:
                names.setdefault(path, []).append(path)
        last: dict[str, list[str]] = {}
        for path in names:
            last.setdefault(path.rpartition(".")[2], []).append(path)
        self._short = {
            _plain(name): places[0]
            for name, places in last.items()
            if len(places) == 1 and "#" not in places[0]
        }
        known = {
            *names,
            *(places[0].rpartition(".")[2] for places in last.values() if len(places) == 1),
        }
        if isinstance(self.spec, OneOf):
            known |= {name for name in _NAMES_OF_NAMES if name not in self._short}
        forms = sorted(
            (_label_form(label) for label in known if label != "#"), key=len, reverse=True
        )
        joined = "|".join(forms) or "(?!)"
        return re.compile(
            rf"(?:(?<![\w.])|(?<=\b_))(?P<label>{joined})[\s\"'*_`)]*(?::|=(?!=)|->|→)[*_`]*",
            re.IGNORECASE,
        )

    def _place(self, label: str) -> str:
        path = self.table.place(label)
        if path is None:
            path = self._short.get(_plain(label))
        return "" if path is None else path

    def _scan(self, lines: list[str]) -> None:
        waits: str | None = None
        taken = False
        for line in filter(str.strip, map(self._without_frame, lines)):
            if line == _CUT.strip():
                taken = True
                continue
            marks = self._find_labels(line)
            if not marks:
                if waits is not None:
                    self._add(waits, line)
                    waits = None
                    continue
                self._loose.append(line)
                (self.after if self.table.texts or taken else self.before).append(line)
                continue
            head = line[: marks[0][0]]
            if not _POLITE.match(head) and not self._names(head):
                (self.after if self.table.texts or taken else self.before).append(head)
                self._loose.append(head)
            waits = None
            for (_, start, path), (stop, *_) in zip(
                marks, [*marks[1:], (len(line), 0, "")], strict=True
            ):
                value = line[start:stop]
                if value.strip(" *_`"):
                    self._add(path, value)
                else:
                    waits = path

    def _without_frame(self, line: str) -> str:
        """A row of a table with a label and a value as a line with both."""
        row = _ROW.match(line)
        label = row[1].strip("*_` ") if row else ""
        return f"{label}: {row[2]}" if row and self._label.fullmatch(f"{label}:") else line

    def _find_labels(self, line: str) -> list[tuple[int, int, str]]:
        """The labels in a line: their beginnings, ends and places."""
        marks: list[tuple[int, int, str]] = []
        for match in self._label.finditer(line):
            path = self._place(match["label"])
            if marks and any(isinstance(s, Text) for s in self.table.of(marks[-1][2])):
                break
            marks.append((match.start(), match.end(), path))
        return marks

    def _names(self, head: str) -> bool:
        """Whether the words before a label are the name of an option; then keep it."""
        if not isinstance(self.spec, OneOf):
            return False
        plain = _plain(re.sub(r"[:,;.(\[{|–—-]+\s*\Z", "", re.sub(rf"\A{_SAID_BEFORE}", "", head)))
        for name in self.spec.names.options:
            if _plain(name) == plain:
                self._add("", name)
                return True
        return False

    def _name(self, spec: OneOf, loose: str) -> None:
        """Take the chosen name from the lines without a label."""
        for line in self._loose:
            if self._names(line) and line in self.before:
                self.before.remove(line)
        chosen = None
        if loose.strip():
            try:
                chosen = spec.names.read(loose).value
            except InvalidAnswer:
                chosen = None
        if chosen is not None:
            self._add("", chosen)
        if "" in self.table.texts and len(self.table.texts) == 1:
            try:
                name = _read_in_words(spec.names, self.table.texts[""], "")
            except InvalidAnswer:
                return
            self.named_alone = not dict(spec.options)[name].fields
            self.any = True
        self.any = self.any or bool(self.table.texts)

    def _add(self, path: str, text: str) -> None:
        specs = self.table.of(path)
        text = text.strip()
        if not any(isinstance(spec, Text) for spec in specs):
            text = re.sub(r"[\s,;|]+\Z", "", text)
            if text.count(")") > text.count("("):
                text = text.rstrip(")]} ")
            text = strip_decoration(re.sub(r"\A[|\s]+", "", text))
        elif text.count("**") % 2:
            text = text.strip("*").strip()
        if path in self.table.texts:
            if self._same(specs, self.table.texts[path], text):
                return
            self._twice = path or "answer"
        self.table.texts[path] = text

    def _same(self, specs: list[AnswerSpec], one: str, other: str) -> bool:
        if one == other:
            return True
        for spec in specs:
            try:
                return bool(spec.read(one).value == spec.read(other).value)
            except InvalidAnswer:
                continue
        return False

    def _tail(self, lines: list[str]) -> list[str]:
        """The last lines: consecutive labels at the end, each once."""
        n, seen = len(lines), set[str]()
        while n and "" not in seen:
            line = lines[n - 1]
            places = {path for *_, path in self._find_labels(line)}
            places |= {""} if self._is_name(line) else set()
            if line.strip() and (not places or places & seen):
                break
            seen |= places
            n -= 1
        self.before = [line for line in lines[:n] if line.strip()]
        return lines[n:]

    def _is_name(self, line: str) -> bool:
        """Whether a line is only the name of an option."""
        if not isinstance(self.spec, OneOf):
            return False
        plain = _plain(re.sub(rf"\A{_SAID_BEFORE}|[:.]+\s*\Z", "", line))
        return plain in {_plain(name) for name in self.spec.names.options}


def _label_form(path: str) -> str:
    parts = path.split(".")
    return r"\s*\.\s*".join(
        r"\d+" if part == "#" else re.escape(part).replace("_", r"[\s_-]?") for part in parts
    )
