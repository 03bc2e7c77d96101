"""Legal answers, and outcomes of questions.

An answer spec defines the legal answers and reads an answer; it never guesses a value. A text that
has exactly the requested form is read ``"exact"``; other texts are read by their structure, in the
steps of `sabm_mesa.core.reader`, and `read_as` names the step. Any other text raises
`InvalidAnswer` with a code, which the prompt book turns into the reason in the next request. A mind
sends a `Reply`; a `Decision` is its meaning.

There are three formats: ``"labelled"`` (plain text with the answer on the last line, after
``Answer:``), ``"paper"`` (plain text, as in the published studies) and ``"json"`` (an object with
the field ``answer`` and, where reasoning is asked for, ``reasoning`` before it).

Reasoning is private: it is recorded with the answer, and is never shown to another agent or in a
later prompt. A spec asks for no reasoning, for reasoning of limited length (`words`), or of any
length (`free`); the answer is the last line.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from sabm_mesa.core.objects import find_objects, leaves, no_field_twice
from sabm_mesa.core.reader import (
    LONGEST,
    Mention,
    Step,
    TwoValuesError,
    find_numbers,
    find_options,
    find_value,
    is_refusal,
    parse_number,
    unwrap,
)
from sabm_mesa.errors import ParameterError, one_line

Format = Literal["labelled", "paper", "json"]
FORMATS: tuple[Format, ...] = ("labelled", "paper", "json")
DEFAULT_FORMAT: Format = "labelled"
"""The default answer format; local models have another one."""
LABEL = "Answer: "
"""The text before the value in the format ``"labelled"``."""
_LABELLED = re.compile(r"[\s*_#>-]*answer[\s*_]*:[\s*_]*(?=\S)", re.IGNORECASE)
OptionOrder = Literal["given", "reversed"]
"""Orders in which options are shown."""
BrokenRule = Literal["with_digits", "too_long"]
"""Rules of form that a text may break, by the names of their counts (`sabm_mesa.core.usage`)."""
ReadAs = Literal["exact"] | Step
"""How an answer was read."""

BY_FILTER, BY_LENGTH = "content_filter", "length"
"""Finish reasons of answers that were refused or are incomplete."""
ABSTAINED = "abstained"
"""The finish reason of a reply without an answer: the time was up."""
FAILED = "failed"
"""The finish reason of a reply without an answer: the mind failed, and the reply says why."""

SPACE = re.compile(r"\s+")
DRESS = " \t\"'`*_"
"""Characters that may surround a bare answer without changing it: quotes, emphasis, spaces."""
_FENCE = re.compile(r"\s*```[ \t]*\w*[ \t]*\n(?P<inside>(?:(?!```).)*)```\s*", re.DOTALL)
_CUT = " […]"
SILENCE = "[silence]"
"""The text with which a mind says nothing, where that is legal."""
_SILENT = re.compile(r"(?:answer:)?[\s\[(*_\"'`]*(?:silence)?[\s\])*_\"'`.]*", re.IGNORECASE)
_SAID = {"empty", "out_of_range", "too_small", "too_large", "not_an_integer", "has_numbers"}
"""Reasons for refusing a text that is an answer, but not a legal one."""
CHARS_A_WORD = 8
"""The limit of characters per word, with its space, in the schema of a text: English has 6."""
_NOT_IN_A_LINE = r'"\\\x00-\x1F\x7F'
"""Characters that JSON text does not contain as they are, written as a class of a pattern."""
FREE_WORDS = 100
"""The limit of words of free reasoning in a bounded schema: small models may never end it."""
TOKENS_A_WORD, TOKENS_AROUND = 4, 40
"""The limit of tokens per word (English has 1.3), and the tokens of the form around a text."""
FARTHEST = 1e9
"""Replaces an infinite end of a range when a number is drawn."""
_ENDS = {(True, True): "", (True, False): "_from", (False, True): "_to", (False, False): "_untold"}
"""Finite bounds (lower, upper) → the last part of the name of the entry that states them."""
OUTSIDE = {(True, True): "out_of_range", (True, False): "too_small", (False, True): "too_large"}
"""Finite bounds (lower, upper) → the reason for refusing a number."""


class InvalidAnswer(ValueError):
    """An answer that cannot be read or is not legal.

    Attributes:
        code: an entry of ``[answers.reasons]`` in the prompt file.
        fields: the placeholders of that entry.
    """

    def __init__(self, code: str, **fields: object) -> None:
        super().__init__(code)
        self.code, self.fields = code, fields


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Private reasoning before an answer; created by `words`, or `free`.

    Attributes:
        max_words: the requested maximum number of words; None for any length. Longer reasoning is
            neither cut nor refused.

    Raises:
        ParameterError: when it is below 1.
    """

    max_words: int | None = None

    def __post_init__(self) -> None:
        """Refuse reasoning without a word."""
        if self.max_words is not None and self.max_words < 1:
            raise ParameterError(f"Reasoning needs at least 1 word (got {self.max_words}).")

    @property
    def kind(self) -> str:
        """The entries on how to write the reasoning."""
        return "free" if self.max_words is None else "words"


free = Reasoning()
"""Reasoning of any length, step by step."""


def words(at_most: int) -> Reasoning:
    """Reasoning of a few words, at most this number.

    Raises:
        ParameterError: when it is below 1.
    """
    return Reasoning(at_most)


@dataclass(frozen=True, slots=True)
class AnswerSpec(ABC):
    """Definition of a legal answer; the base class of all specs, including those of scenarios.

    A subclass, a frozen dataclass, has `kind`, `check`, `schema` and `example`; `read_text` and
    `as_text` where its plain text is more than one line with the value; `placeholders` for the
    prompt entries that describe it; and `mentions` for reading by structure. The prompt file of the
    scenario has, under ``[answers]``, ``KIND_paper`` and ``KIND_json`` (the whole form),
    ``KIND_reasoned_paper`` and ``KIND_reasoned_json`` for answers with reasoning, ``KIND_value`` (a
    legal value in a few words) for parts of other specs, and under ``[answers.reasons]`` its codes
    of refusal.

    Attributes:
        reasoning: the private reasoning that comes before the answer: `words`, `free`, or None.
        label: the scenario's word for the answer, such as ``"harvest"``, which may precede it in a
            text (``Harvest: 12``); ``""`` for only the usual words.
        kind: the prefix of the prompt entries that describe it.
        json_type: the types of a value as JSON.

    Raises:
        ParameterError: for any other reasoning.
    """

    reasoning: Reasoning | None = field(default=None, kw_only=True)
    label: str = field(default="", kw_only=True)

    kind: ClassVar[str]
    json_type: ClassVar[type | tuple[type, ...]] = object

    def __post_init__(self) -> None:
        """Refuse an invalid reasoning field, and words of several lines."""
        if not isinstance(self.reasoning, Reasoning | None):
            raise ParameterError(
                f"`reasoning` is None, words(…) or free, not {self.reasoning!r}.",
            )
        check_words("label", self.label)

    @abstractmethod
    def check(self, value: Any) -> Any:
        """Return the legal value in its canonical type.

        Raises:
            InvalidAnswer: when the value is not legal.
        """

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a value.

        Every object requires all its fields and allows no others, as the strict mode of providers
        demands. Every stated limit is in it: bounds of numbers, lengths of lists and texts.
        """

    @abstractmethod
    def example(self, rng: np.random.Generator) -> Any:
        """Return a legal answer, drawn at random."""

    def placeholders(self) -> dict[str, Any]:
        """Return the values for the entries under ``[answers]`` that describe this spec."""
        return {}

    def with_options_reversed(self) -> AnswerSpec:
        """Return the same spec with its options in the opposite order."""
        return self

    def read_text(self, text: str) -> Any:
        """Read a plain text that is a value and nothing else, its lines without spaces around them.

        Raises:
            InvalidAnswer: for anything else.
        """
        if "\n" in text:
            raise InvalidAnswer("one_line")
        return self.check(text.strip(DRESS).removesuffix(".").strip(DRESS))

    def as_text(self, value: Any) -> str:
        """Return the plain text of a legal value, as `read_text` reads it."""
        return str(value)

    def cases(self, rng: np.random.Generator) -> list[Any]:
        """Return legal answers that exercise every part of the spec."""
        return [self.example(rng)]

    def broken_rules(self, value: Any) -> tuple[BrokenRule, ...]:
        """The rules of form that a legal value breaks; it is used nevertheless."""
        del value
        return ()

    def read(
        self,
        text: str,
        answer_format: Format = "paper",
        *,
        question: str = "",
    ) -> Decision:
        """Read a whole answer that was written by a mind.

        The numbers of the `question` are ignored if one other number is left.

        Raises:
            InvalidAnswer: when the text does not give exactly one value, or that is not legal.
        """
        try:
            return self.read_exactly(text, answer_format)
        except InvalidAnswer as problem:
            if problem.code in _SAID:
                raise
            in_words = self._read_in_words(text, answer_format, question)
            if in_words is None:
                raise InvalidAnswer("refused") if is_refusal(text) else problem from None
            return in_words

    def mentions(self, text: str) -> Iterable[Mention]:
        """Find the values in a text of the form that `sabm_mesa.core.reader.normalise` gives it.

        They come from left to right, without overlaps, and need not be legal. A spec without this
        is only read exactly.
        """
        del text
        return ()

    def _read_in_words(self, text: str, answer_format: Format, question: str) -> Decision | None:
        """The one value of a text in another form than requested, or None.

        Raises:
            InvalidAnswer: when there are two values, or the value is not legal.
        """
        objects = [entry for *_, entry in find_objects(text[-LONGEST:], "{")] if "{" in text else []
        given = self._in_objects(objects[-1:] if self.reasoning == free else objects, question)
        if given or (answer_format == "json" and "{" in text):
            return given
        return self._given(text, question)

    def _in_objects(self, objects: list[Any], question: str) -> Decision | None:
        """The value of the field with the name of the answer, otherwise the one legal value."""
        fields = [field for entry in objects for field in leaves(entry)]
        names = {"answer", "finalanswer", re.sub(r"[\W_]", "", self.label).casefold()}
        named = [value for name, value in fields if name in names]
        others = [value for name, value in fields if name != "reasoning"]
        values = []
        for value in named or others:
            try:
                legal = self._from_json(value, question if named else "")
            except InvalidAnswer:
                if named:
                    raise
                continue
            values += [legal] if legal not in values else []
        if len(values) > 1:
            raise InvalidAnswer("several_answers")
        reasons = [value for name, value in fields if name == "reasoning" and value != values]
        reasoning = reasons[0] if reasons and isinstance(reasons[0], str) else ""
        reasoning = SPACE.sub(" ", replace_surrogates(reasoning)).strip()
        return Decision(values[0], reasoning, "labelled") if values else None

    def _from_json(self, value: Any, question: str) -> Any:
        """The legal value of a JSON field, which may be in words."""
        if isinstance(value, list) and list not in _types(self.json_type) and len(value) == 1:
            (value,) = value
        if isinstance(value, str):
            value = replace_surrogates(value)
            if not (str in _types(self.json_type) and self._is_legal(value)):
                return self.read(value, question=question).value
        if isinstance(value, bool) or not isinstance(value, self.json_type):
            raise InvalidAnswer("not_json")
        return self.check(value)

    def _is_legal(self, value: Any) -> bool:
        try:
            self.check(value)
        except InvalidAnswer:
            return False
        return True

    def _given(self, text: str, question: str) -> Decision | None:
        lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
        # Free reasoning gives and takes back many values: the answer is the last line.
        labels = (self.label,) if self.label else ()
        try:
            labelled = find_value(
                text, self.mentions, self._is_legal, question=question, labels=labels,
                last_line=self.reasoning == free,
            )  # fmt: skip
        except TwoValuesError:
            raise InvalidAnswer("several_answers") from None
        if labelled is None:
            return None
        reasoning = SPACE.sub(" ", " ".join(lines[:-1])) if self.reasoning else ""
        return Decision(self.check(labelled.value), reasoning, labelled.step)

    def read_exactly(self, text: str, answer_format: Format) -> Decision:
        """Read a text that has exactly the requested form."""
        text = strip_code_fence(text)
        if not text.strip():
            raise InvalidAnswer("empty")
        if answer_format == "json":
            return self._read_json(text)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        label = _LABELLED.match(lines[-1]) if answer_format == "labelled" else None
        if label and self.has_label:
            before = lines[:-1] if self.reasoning else []
            lines = [*before, lines[-1][label.end() :]]
        return self._read_lines(lines)

    @property
    def has_label(self) -> bool:
        """Whether its value follows a label in the format ``"labelled"``."""
        return True

    def _read_lines(self, lines: list[str]) -> Decision:
        """Read lines with the reasoning, if requested, and the value."""
        if not self.reasoning:
            return Decision(self.read_text("\n".join(lines)))
        value = self.read_text(lines[-1])
        return Decision(value, SPACE.sub(" ", " ".join(lines[:-1])))

    @property
    def most_tokens(self) -> int | None:
        """The maximum number of tokens of an answer; None leaves it to the settings of the mind."""
        return None

    def bounded_schema(self) -> dict[str, Any]:
        """The JSON schema of the value for a server that enforces patterns.

        A spec that refuses texts that `schema` allows may restrict them here.
        """
        return self.schema()

    def answer_schema(self, *, reasoned: bool = True, bounded: bool = False) -> dict[str, Any]:
        """The JSON schema of a whole answer in the ``"json"`` format.

        If it is `bounded`, free reasoning and the value (`bounded_schema`) are, too.
        """
        properties: dict[str, Any] = {}
        if self.reasoning and reasoned:
            most = self.reasoning.max_words or (FREE_WORDS if bounded else None)
            limit = {} if most is None else {"maxLength": most * CHARS_A_WORD}
            properties["reasoning"] = {"type": "string", **limit}
        properties["answer"] = self.bounded_schema() if bounded else self.schema()
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def _read_json(self, text: str) -> Decision:
        try:
            parts = json.loads(text, object_pairs_hook=no_field_twice)
        except (ValueError, RecursionError):
            raise InvalidAnswer("not_json") from None
        if not isinstance(parts, dict) or "answer" not in parts:
            raise InvalidAnswer("not_json")
        reasoning = parts.get("reasoning", "")
        if not isinstance(reasoning, str):
            raise InvalidAnswer("not_json")
        if not isinstance(parts["answer"], self.json_type):
            raise InvalidAnswer("not_json")
        answer = parts["answer"]
        value = self.check(replace_surrogates(answer) if isinstance(answer, str) else answer)
        return Decision(value, SPACE.sub(" ", replace_surrogates(reasoning)).strip())


@dataclass(frozen=True, slots=True)
class Number(AnswerSpec):
    """A number in an interval; the form of the answer states the interval.

    Attributes:
        low: the smallest legal value; ``-math.inf`` without one.
        high: the largest legal value; ``math.inf`` without one.
        integer: whether only integers are legal.
        unit: the unit of the number, such as ``"barrels"`` or ``"tons of fish"``, which is read as
            part of the number; ``""`` for none. Any other single word may follow a number, too.

    Raises:
        ParameterError: when the interval is empty.
    """

    low: float
    high: float
    integer: bool = False
    unit: str = field(default="", kw_only=True)

    kind = "number"

    @property
    def json_type(self) -> tuple[type, ...]:  # type: ignore[override]  # of the class in others
        """Models may send a decimal as a text."""
        return (int, float) if self.integer else (int, float, str)

    def __post_init__(self) -> None:
        """Refuse an empty interval."""
        AnswerSpec.__post_init__(self)
        ends = self.low, self.high
        if not all(isinstance(end, Real) for end in ends) or not self.low <= self.high:
            raise ParameterError(f"Number(low, high) takes two numbers, low <= high (got {ends}).")
        check_words("unit", self.unit)

    def check(self, value: Any) -> int | float:
        """Return an int (``integer``) or a float inside the interval."""
        if type(value) is int and self.integer and self.low <= value <= self.high < math.inf:
            return value
        number = self._number(value)
        if not math.isfinite(number):
            raise InvalidAnswer("not_a_number", found=shorten(str(value)))
        if self.integer and number != math.floor(number):
            raise InvalidAnswer("not_an_integer", found=shorten(str(value)))
        if not self.low <= number <= self.high:
            code = OUTSIDE[math.isfinite(self.low), math.isfinite(self.high)]
            raise InvalidAnswer(code, found=shorten(str(value)), **self._range())
        return int(number) if self.integer else float(number)

    def mentions(self, text: str) -> Iterable[Mention]:
        """Find the numbers in a text, each with its unit where that follows."""
        numbers = find_numbers(text, self._is_legal, percent=self._in_percent)
        if not self.unit:
            return numbers
        unit = re.compile(rf"\s*{re.escape(self.unit)}\b", re.IGNORECASE)
        behind = [unit.match(text, number.end) for number in numbers]
        return [
            number._replace(end=match.end()) if match else number
            for number, match in zip(numbers, behind, strict=True)
        ]

    def placeholders(self) -> dict[str, Any]:
        """The entry that names the kind of number, and its range."""
        kind = "integer" if self.integer else "real"
        ends = _ENDS[math.isfinite(self.low), math.isfinite(self.high)]
        return {"number": f"{kind}{ends}", **self._range()}

    @property
    def _in_percent(self) -> bool:
        return self.unit in {"%", "percent", "per cent"}

    @property
    def finite(self) -> tuple[float, float]:
        """Both bounds; a thousand million replaces an infinite one."""
        return max(self.low, -FARTHEST), min(self.high, FARTHEST)

    def example(self, rng: np.random.Generator) -> int | float:
        """Return a uniform random number between the finite bounds."""
        low, high = self.finite
        if self.integer:
            return int(rng.integers(math.ceil(low), math.floor(high) + 1))
        return float(rng.uniform(low, high))

    def as_text(self, value: Any) -> str:
        """Return all digits of a number, without an exponent."""
        return (
            np.format_float_positional(value, trim="-") if isinstance(value, float) else str(value)
        )

    def cases(self, rng: np.random.Generator) -> list[Any]:
        """Both finite bounds, and a number between them."""
        low, high = self.finite
        ends = (math.ceil(low), math.floor(high)) if self.integer else (float(low), float(high))
        return [*ends, self.example(rng)]

    def _range(self) -> dict[str, str]:
        ends = {"low": self.low, "high": self.high}
        return {name: f"{end:.15g}" for name, end in ends.items() if math.isfinite(end)}

    def _number(self, value: Any) -> float:
        if isinstance(value, bool):
            raise InvalidAnswer("not_a_number", found=str(value))
        if isinstance(value, str):
            number = parse_number(value, self._is_legal, percent=self._in_percent)
            if number is None:
                several = len(re.findall(r"\d+", value)) > 1
                raise InvalidAnswer(
                    "several_numbers" if several else "not_a_number", found=shorten(value)
                )
            return number
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise InvalidAnswer("not_a_number", found=shorten(str(value))) from None

    def schema(self) -> dict[str, Any]:
        """A number with its finite bounds."""
        schema: dict[str, Any] = {"type": "integer" if self.integer else "number"}
        if math.isfinite(self.low):
            schema["minimum"] = math.ceil(self.low) if self.integer else self.low
        if math.isfinite(self.high):
            schema["maximum"] = math.floor(self.high) if self.integer else self.high
        return schema


@dataclass(frozen=True, slots=True)
class Choice(AnswerSpec):
    """One of several options, given as a tuple of texts.

    Case does not matter, nor do spaces, quotes, emphasis and a period around an option.

    Attributes:
        options: the legal answers, which must differ without these, too.

    Raises:
        ParameterError: when there is no option or two are the same.
    """

    options: tuple[str, ...]

    kind = "choice"
    json_type = (str, int)

    def __new__(cls, *given: Any, **_: Any) -> Choice:
        """Refuse options that are no tuple, as in ``Choice("left", "right")``."""
        if len(given) > 1:
            raise ParameterError(
                f"Choice(options) takes one tuple of texts, as in Choice({given!r:.60})."
            )
        return object.__new__(cls)

    def __post_init__(self) -> None:
        """Refuse an empty or ambiguous list of options."""
        AnswerSpec.__post_init__(self)
        given: Any = self.options
        if isinstance(given, str) or not all(isinstance(option, str) for option in given):
            raise ParameterError(
                f"The options of a choice are texts, such as ('left', 'right') (got "
                f"{given!r}): write numbers as texts too."
            )
        object.__setattr__(self, "options", tuple(given))
        bare = {_bare(option) for option in self.options if option.isprintable()}
        if not bare or "" in bare or len(bare) != len(self.options):
            raise ParameterError(
                f"A choice needs different options of one line each (got {self.options})."
            )

    def check(self, value: Any) -> str:
        """Return the option in its spelling in `options`."""
        if isinstance(value, bool):
            raise InvalidAnswer("not_json")
        text = str(value)
        if text in self.options:
            return text
        plain = _bare(text)
        for option in self.options:
            if _bare(option) == plain:
                return option
        raise InvalidAnswer("not_an_option", found=shorten(text))

    def mentions(self, text: str) -> Iterable[Mention]:
        """Find the options in a text."""
        return find_options(self.options)(text)

    def example(self, rng: np.random.Generator) -> str:
        """Return a random option, with equal probabilities."""
        return self.options[int(rng.integers(len(self.options)))]

    def with_options_reversed(self) -> Choice:
        """The choice with its options in the opposite order."""
        return replace(self, options=self.options[::-1])

    def placeholders(self) -> dict[str, Any]:
        """The options, comma-separated."""
        return {"options": ", ".join(self.options)}

    def schema(self) -> dict[str, Any]:
        """One of the options."""
        return {"type": "string", "enum": list(self.options)}

    def cases(self, rng: np.random.Generator) -> list[Any]:
        """Each option."""
        del rng
        return list(self.options)


@dataclass(frozen=True, slots=True)
class Text(AnswerSpec):
    """A text on one line.

    Line breaks and runs of spaces become one space, so that a message cannot pose as another
    line of a prompt. A longer text is cut at `max_words` words and `max_chars` characters and
    marked with ``[…]``; it is not refused, since it was paid for and is readable.

    Attributes:
        max_words: the number of words at which a text is cut.
        max_chars: the number of characters at which a text is cut.
        numbers: whether digits are allowed.
        strict: whether a text with digits where none are allowed is refused. Otherwise it is kept
            unchanged and counted (`with_digits`); a text that is cut is counted as `too_long`.
        optional: whether silence is legal: ``""``, which an empty answer gives, and ``[silence]``.

    Raises:
        ParameterError: when the limits leave no text.
    """

    max_words: int = 60
    max_chars: int = 1000
    numbers: bool = True
    strict: bool = field(default=False, kw_only=True)
    optional: bool = field(default=False, kw_only=True)

    json_type = str

    @property
    def kind(self) -> str:  # type: ignore[override]  # of the class in the other specs
        """The entries on how to write the text."""
        return "text" if self.numbers else "text_without_numbers"

    def __post_init__(self) -> None:
        """Refuse limits that leave no text."""
        AnswerSpec.__post_init__(self)
        limits = self.max_words, self.max_chars
        whole = all(isinstance(limit, Integral) for limit in limits)
        if not whole or self.max_words < 1 or self.max_chars <= len(_CUT):
            raise ParameterError(
                f"Text(max_words, max_chars) takes whole numbers: at least 1 word and "
                f"{len(_CUT) + 1} characters (got {limits})."
            )

    def check(self, value: Any) -> str:
        """Return the text on one line, cut if it is too long."""
        if not isinstance(value, str):
            raise InvalidAnswer("not_text")
        text = one_line(value)
        if self.optional and _SILENT.fullmatch(text):
            return ""
        if not text:
            raise InvalidAnswer("empty")
        if self.strict and self._has_digits(text):
            raise InvalidAnswer("has_numbers")
        if text.count(" ") >= self.max_words:
            text = " ".join(text.split(" ")[: self.max_words]) + _CUT
        if len(text) > self.max_chars:
            text = text[: self.max_chars - len(_CUT)].rstrip() + _CUT
        return self.with_end(text, value)

    def example(self, rng: np.random.Generator) -> str:
        """Return a few words."""
        return "I say" + " so" * int(rng.integers(1, 4))

    def cases(self, rng: np.random.Generator) -> list[Any]:
        """Return a few words, and silence if it is legal."""
        return [self.example(rng), ""] if self.optional else [self.example(rng)]

    def as_text(self, value: Any) -> str:
        """Return the text, or ``[silence]``."""
        return value or SILENCE

    def _has_digits(self, text: str) -> bool:
        return not self.numbers and any(map(str.isdigit, text))

    def broken_rules(self, value: Any) -> tuple[BrokenRule, ...]:
        """Digits where none are allowed, and too many words, so that the text was cut."""
        digits: tuple[BrokenRule, ...] = ("with_digits",) if self._has_digits(value) else ()
        return (*digits, "too_long") if _CUT in value else digits

    def with_end(self, text: str, whole: str) -> str:
        """A cut or filled text; a spec may restore here the last word of the `whole` text."""
        del whole
        return text

    def placeholders(self) -> dict[str, Any]:
        """The number of words, and how silence is written, if it is legal."""
        return {"max_words": self.max_words} | ({"silence": SILENCE} if self.optional else {})

    def schema(self) -> dict[str, Any]:
        """A text of the likely length of its words."""
        most = min(self.max_chars, self.max_words * CHARS_A_WORD)
        return {"type": "string", "minLength": 0 if self.optional else 1, "maxLength": most}

    def bounded_schema(self) -> dict[str, Any]:
        """A text on one line that does not begin with a space, and so is not empty.

        It has no straight quotation marks either: in JSON they stand behind a backslash, and
        llama.cpp takes a pattern for what is written.
        """
        schema = self.schema()
        others = _NOT_IN_A_LINE + ("0-9" if self.strict and not self.numbers else "")
        return {**schema, "pattern": f"^[^ {others}][^{others}]{{0,{schema['maxLength'] - 1}}}$"}

    @property
    def has_label(self) -> bool:
        """A text alone needs none."""
        return self.reasoning is not None

    @property
    def most_tokens(self) -> int | None:
        """The maximum tokens of its words and its reasoning in any language."""
        if self.reasoning == free:
            return None
        before = self.reasoning.max_words or 0 if self.reasoning else 0
        return TOKENS_A_WORD * (self.max_words + before) + TOKENS_AROUND

    def read_text(self, text: str) -> str:
        """Read a text of any number of lines."""
        return self.check(text)

    def read(
        self,
        text: str,
        answer_format: Format = "paper",
        *,
        question: str = "",
    ) -> Decision:
        """Read a text without the words that a model put around it."""
        if self.optional and not text.strip():
            return Decision("")
        parsed = AnswerSpec.read(self, text, answer_format, question=question)
        plain = answer_format == "paper"
        stripped = strip_code_fence(text).strip() if plain else parsed.value
        if plain and self.reasoning:
            stripped = stripped.splitlines()[-1]
        if is_refusal(stripped):
            raise InvalidAnswer("refused")
        inner = unwrap(stripped, self.label)
        if inner == stripped:
            return parsed
        return parsed._replace(value=self.check(inner), read_as="marked")

    def _given(self, text: str, question: str) -> Decision | None:
        del question
        return (
            Decision(self.check(unwrap(text, self.label)), "", "marked") if text.strip() else None
        )


@dataclass
class Reply:
    """Answer of a mind, with its cost.

    Attributes:
        answer: a text to be read strictly, or a value to be checked.
        thoughts: private thoughts that came with it: recorded, and never shown to any agent.
        answer_format: the format in which a text is read: ``"labelled"``, ``"paper"`` or
            ``"json"``.
        prompt_tokens: tokens sent.
        completion_tokens: tokens received, those of thoughts included.
        cached_tokens: tokens sent that the server had in its prompt cache.
        cache_write_tokens: tokens sent that it wrote to that cache, if it charges for that.
        thought_tokens: thought tokens, as far as the server reports them.
        cost_usd: dollars; NaN when the price is not known.
        gateway_cost_usd: dollars by the price table of a gateway, which count for a model without
            a price of its own; NaN when not known.
        latency_s: seconds from sending to the whole answer.
        model: the model the server says it used.
        finish_reason: why the model stopped, as the server says it.
        request: hash of the exact request; for paid minds it is set when they are asked.
        retries: the number of retries of the request.
        asked_model: the requested model.
        response_id: the id that the server gave the response.
        system_fingerprint: the configuration of the server, as far as it reports it.
        provider: the provider that answered, as a gateway reports it; else the endpoint.
        parameters: the parameters of the request ``sent``, and those ``asked`` for where they
            differ, as JSON; ``""`` when nothing was sent.
        stopped: whether the run was stopped while it waited for the answer: the answer is recorded,
            since it is paid for, and then the run stops.
        note: the number of its request (`SentNotes`), or None.
        by: the spec of the mind that answered, if not the one asked; otherwise ``""``.
    """

    answer: object
    answer_format: Format = "paper"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    thought_tokens: int = 0
    thoughts: str = ""
    cost_usd: float = 0.0
    gateway_cost_usd: float = math.nan
    latency_s: float = 0.0
    model: str = ""
    finish_reason: str = ""
    request: str = ""
    retries: int = 0
    asked_model: str = ""
    response_id: str = ""
    system_fingerprint: str = ""
    provider: str = ""
    parameters: str = ""
    stopped: bool = False
    note: int | None = None
    by: str = ""

    @property
    def limit(self) -> int:
        """The highest possible number of its tokens: the limit sent, or its actual number."""
        sent = json.loads(self.parameters or "{}").get("sent", {})
        limits = (sent.get(name) for name in ("max_completion_tokens", "max_tokens"))
        return next((limit for limit in limits if limit), self.completion_tokens)

    @property
    def final(self) -> bool:
        """Whether another attempt is pointless: the time was up, or the mind failed."""
        return self.finish_reason in {ABSTAINED, FAILED}


class Decision(NamedTuple):
    """The meaning of an answer: a validated value, or None.

    Attributes:
        value: the legal value: a number, an option, or a text; None when no usable answer came
            within the allowed attempts.
        reasoning: the private reasoning that came with it, or ``""``.
        read_as: how the last answer was read; None when it was not.
        attempts: the number of attempts (at least 1).
        by: the spec of the mind that decided, if not the one asked; otherwise ``""``.
        reason: why the decision is invalid, or ``""``.
    """

    value: Any
    reasoning: str = ""
    read_as: ReadAs | None = "exact"
    attempts: int = 1
    by: str = ""
    reason: str = ""

    @property
    def valid(self) -> bool:
        """Whether there is a usable value."""
        return not self.reason


def check_words(name: str, given: Any) -> None:
    """Refuse a label or a unit that is not one line of words.

    Raises:
        ParameterError: for anything but a text without line breaks and colons.
    """
    if (
        not isinstance(given, str)
        or given != given.strip()
        or not given.isprintable()
        or ":" in given
    ):
        raise ParameterError(
            f"`{name}` must be one word or a few, such as {name}='harvest', on one line and "
            f"without a colon (got {given!r})."
        )


def strip_code_fence(text: str) -> str:
    """Remove a code fence around a whole answer, which many models write."""
    fence = _FENCE.fullmatch(text) if "```" in text else None
    return fence["inside"] if fence else text


def _types(given: type | tuple[type, ...]) -> tuple[type, ...]:
    return given if isinstance(given, tuple) else (given,)


def replace_surrogates(text: str) -> str:
    """Replace halves of surrogate pairs, which can be neither sent nor recorded, by "?"."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def shorten(text: str, limit: int = 60) -> str:
    """Return a text in quotes, on one line and cut at `limit` characters: for a reason."""
    text = one_line(text)
    return f'"{text if len(text) <= limit else text[:limit] + "…"}"'


def _bare(option: str) -> str:
    return SPACE.sub(" ", option.strip(DRESS + ".")).casefold()
