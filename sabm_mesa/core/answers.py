"""Legal answers, and outcomes of questions.

An answer spec says what a legal answer is and reads one; no spec ever guesses a value. Reading goes
up a ladder of two rungs, and says which one it took (`read_as`): ``"exact"``, when the text is what
was asked for and nothing else, and ``"unambiguous"``, when it gives exactly one value in other
words (`sabm_mesa.core.ladder`). Any other text raises `InvalidAnswer` with a code, which the prompt
book turns into the reason that the mind is told when it is asked again. A mind sends a `Reply`; a
`Reading` is what was read from it; a `Decision` is the outcome of the question.

There are two formats: ``"paper"`` (plain text, as in the published studies) and ``"json"`` (an
object with the field ``answer`` and, where reasoning is asked for, ``reasoning`` before it).

Reasoning is private: it is recorded with the answer, and no other agent and no later prompt gets
it. A spec asks for none, for at most so many words (`words`), or for as much as the mind likes
(`free`); the answer is the last line.
"""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from sabm_mesa.core.ladder import (
    Mention,
    find_numbers,
    find_options,
    given_value,
    is_refusal,
    read_object,
    unwrap,
)
from sabm_mesa.errors import ParameterError, one_line

__all__ = [
    "AnswerSpec",
    "Choice",
    "Decision",
    "Format",
    "InvalidAnswer",
    "Number",
    "Reading",
    "Reasoning",
    "Reply",
    "Text",
    "free",
    "words",
]

Format = Literal["paper", "json"]
FORMATS: tuple[Format, ...] = ("paper", "json")
OptionOrder = Literal["given", "reversed"]
"""Orders in which options are shown."""
Rung = Literal["exact", "unambiguous"]
"""Rungs of reading."""

BY_FILTER, BY_LENGTH = "content_filter", "length"
"""Reasons to finish with which a server says that an answer was refused or is not complete."""
ABSTAINED = "abstained"
"""The reason to finish of a reply without an answer: nobody answered in time."""
FAILED = "failed"
"""The reason to finish of a reply without an answer: the mind failed, and the reply says why."""

SPACE = re.compile(r"\s+")
DRESS = " \t\"'`*_"
"""Characters that may surround a bare answer without changing it: quotes, emphasis, blanks."""
_FENCE = re.compile(r"\s*```[ \t]*\w*[ \t]*\n(?P<inside>(?:(?!```).)*)```\s*", re.DOTALL)
_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)"
_NUMBER_ALONE = re.compile(rf"{_NUMBER}\Z")
_NUMBER_ANYWHERE = re.compile(_NUMBER)
_CUT = " […]"
_SAID = {"empty", "out_of_range", "not_possible", "not_an_integer", "has_numbers"}
"""Reasons that say of a text that it is an answer, and not a legal one."""
SHORT = 300
"""Characters of a text at most whose reading is remembered."""
FARTHEST = 1e9
"""Stands for an infinite end of a range when a number is drawn."""


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
    """Private reasoning before an answer; made by `words`, or `free`.

    Attributes:
        max_words: the number of words that is asked for at most; None for any length. Longer
            reasoning is neither cut nor refused.

    Raises:
        ParameterError: when no word is left.
    """

    max_words: int | None = None

    def __post_init__(self) -> None:
        """Refuse reasoning without a word."""
        if self.max_words is not None and self.max_words < 1:
            raise ParameterError(f"Reasoning needs at least 1 word (got {self.max_words}).")

    @property
    def kind(self) -> str:
        """The entries that say how the reasoning is to be written."""
        return "free" if self.max_words is None else "words"


free = Reasoning()
"""Reasoning of any length, step by step."""


def words(at_most: int) -> Reasoning:
    """Reasoning of a few words.

    Args:
        at_most: the number of words that is asked for at most.

    Raises:
        ParameterError: when no word is left.
    """
    return Reasoning(at_most)


@dataclass(frozen=True, slots=True)
class AnswerSpec(ABC):
    """Definition of a legal answer; the base class of all specs, also of a scenario's own.

    A subclass, a frozen dataclass, has `kind`, `check`, `schema` and `example`; `read_text` and
    `as_text` where its plain text is more than one line with the value; `placeholders` for the
    prompt entries that describe it; and `mentions` for the second rung. The prompt file of the
    scenario has, under ``[answers]``, ``KIND_paper`` and ``KIND_json`` (the whole form),
    ``KIND_reasoned_paper`` and ``KIND_reasoned_json`` where reasoning is asked for, ``KIND_value``
    (a legal value in a few words) where it is a part of another spec, and under
    ``[answers.reasons]`` the codes with which it refuses.

    Attributes:
        reasoning: the private reasoning that comes before the answer: `words`, `free`, or None.
        kind: how the prompt entries that describe it begin.
        json_type: the types of a value as JSON.

    Raises:
        ParameterError: for any other reasoning.
    """

    reasoning: Reasoning | None = field(default=None, kw_only=True)

    kind: ClassVar[str]
    json_type: ClassVar[type | tuple[type, ...]] = object

    def __post_init__(self) -> None:
        """Refuse what is no reasoning."""
        if not isinstance(self.reasoning, Reasoning | None):
            raise ParameterError(
                f"`reasoning` is None, words(…) or free, not {self.reasoning!r}.",
            )

    @abstractmethod
    def check(self, value: Any) -> Any:
        """Return the legal value in its canonical type.

        Raises:
            InvalidAnswer: when the value is not legal.
        """

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a value.

        The strict mode of providers holds: every object has all its fields required and no others,
        and numbers of entries and lengths of texts are left to `check`.
        """

    @abstractmethod
    def example(self, rng: np.random.Generator) -> Any:
        """Return a legal answer, drawn at random.

        Args:
            rng: the stream it is drawn from.
        """

    def placeholders(self) -> dict[str, Any]:
        """Return the values for the entries under ``[answers]`` that describe this spec."""
        return {}

    def with_options_reversed(self) -> AnswerSpec:
        """Return the same spec with all options in it in the opposite order."""
        return self

    def read_text(self, text: str) -> Any:
        """Read a plain text that is a value and nothing else: the first rung.

        Args:
            text: the text, each line without blanks around it.

        Returns:
            The legal value.

        Raises:
            InvalidAnswer: when it is anything else.
        """
        if "\n" in text:
            raise InvalidAnswer("one_line")
        return self.check(strip_decoration(text))

    def as_text(self, value: Any) -> str:
        """Return the plain text of a legal value, as `read_text` reads it.

        Args:
            value: the value.
        """
        return str(value)

    def cases(self, rng: np.random.Generator) -> list[Any]:
        """Return legal answers that exercise every part of the spec.

        Args:
            rng: the stream they are drawn from.
        """
        return [self.example(rng)]

    def leaves(self, value: Any = None) -> list[tuple[str, AnswerSpec, Any]]:
        """The parts of an answer that have no parts themselves.

        Args:
            value: a legal value; None: of the spec alone, and all its parts.

        Returns:
            The name of each (``""`` of a spec without fields), its spec, and its value.
        """
        return [("", self, value)]

    def replace_texts(self, value: Any, new: Callable[[Text, str], str]) -> Any:
        """A legal value with other texts in it.

        Args:
            value: the value.
            new: the new text for a spec and its text.
        """
        del new
        return value

    def read(
        self, text: str, answer_format: Format = "paper", reading: Rung = "unambiguous"
    ) -> Reading:
        """Read a text that was written by a mind.

        Args:
            text: the whole answer.
            answer_format: ``"paper"`` or ``"json"``.
            reading: the highest rung that may be taken.

        Raises:
            InvalidAnswer: when the text does not give exactly one value, or that is not legal.
        """
        try:
            return self._read_exactly(text, answer_format)
        except InvalidAnswer as problem:
            if reading == "exact" or problem.code in _SAID:
                raise
            found = self._read_unambiguously(text, answer_format)
            if found is None:
                raise InvalidAnswer("refused") if is_refusal(text) else problem from None
            return found._replace(read_as="unambiguous")

    def mentions(self, text: str) -> Iterable[Mention]:
        """Find the values in a text; a spec without this is read by the first rung alone.

        Args:
            text: the text, in the one form that `sabm_mesa.core.ladder.normalise` gives it.

        Returns:
            The values from left to right, without overlaps; they need not be legal.
        """
        del text
        return ()

    def _read_unambiguously(self, text: str, answer_format: Format) -> Reading | None:
        """The one value that a text gives in other words than were asked for, or None.

        Raises:
            InvalidAnswer: when that value is not legal.
        """
        if answer_format == "json" and "{" in text:
            found = read_object(text)
            if found is None:
                return None
            value, reasoning = found
            if isinstance(value, str) and str not in _types(self.json_type):
                return self._given(value)
            if isinstance(value, list) and list not in _types(self.json_type) and len(value) == 1:
                (value,) = value
            if not isinstance(value, self.json_type) or isinstance(value, bool):
                return None
            value = replace_surrogates(value) if isinstance(value, str) else value
            reasoning = SPACE.sub(" ", replace_surrogates(reasoning)).strip()
            try:
                return Reading(self.check(value), reasoning)
            except InvalidAnswer:
                given = self._given(value) if isinstance(value, str) else None
                if given is None:
                    raise
                return given
        return self._given(text)

    def _given(self, text: str) -> Reading | None:
        # Free reasoning gives and takes back many values: the answer is the last line.
        value = given_value(text, self.mentions, last_line=self.reasoning == free)
        if value is None:
            return None
        lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
        reasoning = SPACE.sub(" ", " ".join(lines[:-1])) if self.reasoning else ""
        return Reading(self.check(value), reasoning)

    def _read_exactly(self, text: str, answer_format: Format) -> Reading:
        text = strip_code_fence(text)
        if not text.strip():
            raise InvalidAnswer("empty")
        if answer_format == "json":
            return self._read_json(text)
        return self._read_lines([line.strip() for line in text.splitlines() if line.strip()])

    def _read_lines(self, lines: list[str]) -> Reading:
        """Read lines that are the reasoning, where it is asked for, and the value."""
        if not self.reasoning:
            return Reading(self.read_text("\n".join(lines)))
        value = self.read_text(lines[-1])
        return Reading(value, SPACE.sub(" ", " ".join(lines[:-1])))

    def answer_schema(self) -> dict[str, Any]:
        """The JSON schema of a whole answer in the ``"json"`` format."""
        properties: dict[str, Any] = {"reasoning": {"type": "string"}} if self.reasoning else {}
        properties["answer"] = self.schema()
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def _read_json(self, text: str) -> Reading:
        try:
            found = json.loads(text, object_pairs_hook=_no_field_twice)
        except (ValueError, RecursionError):
            raise InvalidAnswer("not_json") from None
        wanted = {"answer", "reasoning"} if self.reasoning else {"answer"}
        if not isinstance(found, dict) or not wanted <= set(found):
            raise InvalidAnswer("not_json")
        reasoning = found.get("reasoning", "")
        if not isinstance(reasoning, str):
            raise InvalidAnswer("not_json")
        if not isinstance(found["answer"], self.json_type):
            raise InvalidAnswer("not_json")
        answer = found["answer"]
        value = self.check(replace_surrogates(answer) if isinstance(answer, str) else answer)
        return Reading(value, SPACE.sub(" ", replace_surrogates(reasoning)).strip())


@dataclass(frozen=True, slots=True)
class Number(AnswerSpec):
    """A number in a closed interval.

    Attributes:
        low: the smallest legal value.
        high: the largest legal value.
        integer: whether only integers are legal.
        told: whether the ends are told: in the form of the answer, in its schema, on the page of a
            person, and when an answer is refused.

    Raises:
        ParameterError: when the interval is empty.
    """

    low: float
    high: float
    integer: bool = False
    told: bool = field(default=True, kw_only=True)

    kind = "number"
    json_type = (int, float)

    def __post_init__(self) -> None:
        """Refuse an empty interval."""
        AnswerSpec.__post_init__(self)
        if not self.low <= self.high:
            raise ParameterError(f"A number needs low <= high (got {self.low} and {self.high}).")

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
            if not self.told:
                raise InvalidAnswer("not_possible", found=shorten(str(value)))
            raise InvalidAnswer("out_of_range", found=shorten(str(value)), **self._range())
        return int(number) if self.integer else float(number)

    def mentions(self, text: str) -> Iterable[Mention]:
        """Find the numbers in a text."""
        return find_numbers(text)

    def placeholders(self) -> dict[str, Any]:
        """The entry that names the kind of number, and its range."""
        kind = "integer" if self.integer else "real"
        return {"number": kind if self.told else f"{kind}_untold", **self._range()}

    @property
    def finite(self) -> tuple[float, float]:
        """Both ends; a thousand million stands for an infinite one."""
        return max(self.low, -FARTHEST), min(self.high, FARTHEST)

    def example(self, rng: np.random.Generator) -> int | float:
        """Return a number between the finite ends, each equally likely."""
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
        """Both finite ends, and a number between them."""
        low, high = self.finite
        ends = (math.ceil(low), math.floor(high)) if self.integer else (float(low), float(high))
        return [*ends, self.example(rng)]

    def _range(self) -> dict[str, str]:
        return {"low": f"{self.low:.15g}", "high": f"{self.high:.15g}"}

    def _number(self, value: Any) -> float:
        if isinstance(value, bool):
            raise InvalidAnswer("not_a_number", found=str(value))
        if isinstance(value, str):
            if not _NUMBER_ALONE.match(value):
                several = len(_NUMBER_ANYWHERE.findall(value)) > 1
                raise InvalidAnswer(
                    "several_numbers" if several else "not_a_number", found=shorten(value)
                )
            return float(value)
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise InvalidAnswer("not_a_number", found=shorten(str(value))) from None

    def schema(self) -> dict[str, Any]:
        """A number, with its range where that is told."""
        low, high = (int(self.low), int(self.high)) if self.integer else (self.low, self.high)
        kind = "integer" if self.integer else "number"
        return {"type": kind, **({"minimum": low, "maximum": high} if self.told else {})}


@dataclass(frozen=True, slots=True)
class Choice(AnswerSpec):
    """One of several options.

    Case does not matter, nor do blanks, quotes, emphasis and a period around an option.

    Attributes:
        options: the legal answers, different also without all that.

    Raises:
        ParameterError: when there is no option or two are the same.
    """

    options: tuple[str, ...]

    kind = "choice"
    json_type = str

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

    def read(
        self, text: str, answer_format: Format = "paper", reading: Rung = "unambiguous"
    ) -> Reading:
        """Read a text; most are an option and nothing else.

        Args:
            text: the whole answer.
            answer_format: ``"paper"`` or ``"json"``.
            reading: the highest rung that may be taken.

        Raises:
            InvalidAnswer: when the text does not give exactly one option.
        """
        if answer_format == "paper" and self.reasoning is None and text in self.options:
            return Reading(text)
        return AnswerSpec.read(self, text, answer_format, reading)

    def check(self, value: Any) -> str:
        """Return the option as it stands in `options`."""
        text = str(value)
        if text in self.options:
            return text
        found = _bare(text)
        for option in self.options:
            if _bare(option) == found:
                return option
        raise InvalidAnswer("not_an_option", found=shorten(text))

    def mentions(self, text: str) -> Iterable[Mention]:
        """Find the options in a text."""
        return find_options(self.options)(text)

    def example(self, rng: np.random.Generator) -> str:
        """Return an option, each equally likely."""
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

    Line breaks and runs of blanks become one blank, so that a message cannot pose as another
    line of a prompt. A longer text is cut at `max_words` words and `max_chars` characters and
    marked with ``[…]``: it was paid for, and it can be read.

    Attributes:
        max_words: the number of words after which a text is cut.
        max_chars: the number of characters after which a text is cut.
        numbers: whether digits are allowed; without them a text that holds any is refused.

    Raises:
        ParameterError: when nothing would be left of a text.
    """

    max_words: int = 60
    max_chars: int = 1000
    numbers: bool = True

    json_type = str

    @property
    def kind(self) -> str:  # type: ignore[override]  # of the class in the other specs
        """The entries that say how the text is to be written."""
        return "text" if self.numbers else "text_without_numbers"

    def __post_init__(self) -> None:
        """Refuse limits that leave nothing of a text."""
        AnswerSpec.__post_init__(self)
        if self.max_words < 1 or self.max_chars <= len(_CUT):
            raise ParameterError(
                f"A text needs at least 1 word and {len(_CUT) + 1} characters "
                f"(got {self.max_words} and {self.max_chars})."
            )

    def check(self, value: Any) -> str:
        """Return the text on one line, cut where it is too long."""
        if not isinstance(value, str):
            raise InvalidAnswer("not_text")
        text = one_line(value)
        if not text:
            raise InvalidAnswer("empty")
        if not self.numbers and any(map(str.isdigit, text)):
            raise InvalidAnswer("has_numbers")
        if text.count(" ") >= self.max_words:
            text = " ".join(text.split(" ")[: self.max_words]) + _CUT
        if len(text) > self.max_chars:
            text = text[: self.max_chars - len(_CUT)].rstrip() + _CUT
        return self.with_end(text, value)

    def example(self, rng: np.random.Generator) -> str:
        """Return a few words."""
        return "I say" + " so" * int(rng.integers(1, 4))

    def with_end(self, text: str, whole: str) -> str:
        """Return a text that was cut or filled, with an end that must not be lost.

        Args:
            text: the text after cutting or filling.
            whole: the whole text before.

        Returns:
            `text` as it is; a spec whose texts may end with a word that has a meaning of its own
            puts that word back.
        """
        del whole
        return text

    def placeholders(self) -> dict[str, Any]:
        """The number of words."""
        return {"max_words": self.max_words}

    def schema(self) -> dict[str, Any]:
        """A text."""
        return {"type": "string"}

    def read_text(self, text: str) -> str:
        """Read a text of any number of lines."""
        return self.check(text)

    def replace_texts(self, value: Any, new: Callable[[Text, str], str]) -> Any:
        """The new text."""
        return new(self, value)

    def read(
        self, text: str, answer_format: Format = "paper", reading: Rung = "unambiguous"
    ) -> Reading:
        """Read a text; on the second rung without the words that a model put around it.

        Args:
            text: the whole answer.
            answer_format: ``"paper"`` or ``"json"``.
            reading: the highest rung that may be taken.

        Raises:
            InvalidAnswer: when there is no text, or the model declined to write it.
        """
        if type(self) is Text and len(text) <= SHORT:
            return _read_short(self, text, answer_format, reading)
        return _read_as_text(self, text, answer_format, reading)

    def _given(self, text: str) -> Reading | None:
        return Reading(self.check(unwrap(text))) if text.strip() else None


def _read_as_text(spec: Text, text: str, answer_format: Format, reading: Rung) -> Reading:
    found = AnswerSpec.read(spec, text, answer_format, reading)
    if reading == "exact":
        return found
    plain = answer_format == "paper"
    said = strip_code_fence(text).strip() if plain else found.value
    if plain and spec.reasoning:
        said = said.splitlines()[-1]
    if is_refusal(said):
        raise InvalidAnswer("refused")
    inner = unwrap(said)
    if inner == said:
        return found
    return found._replace(value=spec.check(inner), read_as="unambiguous")


_read_short = lru_cache(maxsize=4096)(_read_as_text)
"""Classical minds say the same few things again and again."""


@dataclass
class Reply:
    """Answer of a mind, with its cost.

    Most answers of minds that are free have nothing but `answer`, and all else by the class.

    Attributes:
        answer: a text to be read strictly, or a value to be checked.
        thoughts: private thoughts that came with it: recorded, and never shown to any agent.
        answer_format: the format in which a text is read: ``"paper"`` or ``"json"``.
        prompt_tokens: tokens sent.
        completion_tokens: tokens received, those of thoughts included.
        cached_tokens: tokens sent that the server had in its prompt cache.
        thought_tokens: tokens of thoughts, as far as the server tells them.
        cost_usd: dollars; NaN when the price is not known.
        latency_s: seconds from sending to the whole answer.
        model: the model the server says it used.
        finish_reason: why the model stopped, as the server says it.
        request: hash of the exact request; for paid minds it is filled in when they are asked.
        retries: how often the request had to be sent again.
        asked_model: the model that was asked for.
        response_id: the id that the server gave the response.
        system_fingerprint: the configuration of the server, as far as it tells.
        provider: the provider that answered, as a gateway tells it; else the endpoint.
        parameters: the parameters of the request ``sent``, and those ``asked`` for where they
            differ, as JSON; ``""`` when nothing was sent.
        stopped: whether the run was stopped while the answer was under way: the answer is
            recorded, since it is paid for, and then the run stops.
        note: the note of its request among the sent ones (`SentNotes`), or None.
        by: the spec of a mind that answered in the place of the one asked; ``""`` for the latter.
    """

    answer: object
    answer_format: Format = "paper"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    thought_tokens: int = 0
    thoughts: str = ""
    cost_usd: float = 0.0
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

    if not TYPE_CHECKING:

        def __init__(self, answer: object, **others: object) -> None:
            self.answer = answer
            if others:
                if unknown := others.keys() - type(self).__dataclass_fields__:
                    raise TypeError(f"Reply has no field {min(unknown)!r}")
                vars(self).update(others)

    @property
    def limit(self) -> int:
        """Tokens that it may have had, its thoughts included: as sent, or as many as it has."""
        sent = json.loads(self.parameters or "{}").get("sent", {})
        limits = (sent.get(name) for name in ("max_completion_tokens", "max_tokens"))
        return next((limit for limit in limits if limit), self.completion_tokens)

    @property
    def final(self) -> bool:
        """Whether asking again is pointless: nobody answered in time, or the mind failed."""
        return self.finish_reason in {ABSTAINED, FAILED}


class Reading(NamedTuple):
    """Content of one usable answer.

    Attributes:
        value: the legal value: a number, an option, or a text.
        reasoning: the private reasoning that came with it, or ``""``.
        read_as: the rung on which it was read.
    """

    value: Any
    reasoning: str = ""
    read_as: Rung = "exact"


NOTHING_READ = Reading(None)
"""Stands for the content of an answer that could not be used."""


class Decision(NamedTuple):
    """The outcome of an ask: a validated value, or an honest None.

    Attributes:
        value: the legal value, or None when no usable answer came within the allowed attempts.
        reasoning: the private reasoning that came with it, or ``""``.
        reason: why the decision is invalid, or ``""``.
        attempts: how often the mind was asked (at least 1).
        by: the spec of a mind that decided in the place of the one asked; ``""`` for the latter.
    """

    value: Any
    reasoning: str = ""
    reason: str = ""
    attempts: int = 1
    by: str = ""

    @property
    def valid(self) -> bool:
        """Whether there is a usable value."""
        return not self.reason


def strip_code_fence(text: str) -> str:
    """Take a code fence from around a whole answer: many models put one there."""
    fence = _FENCE.fullmatch(text) if "```" in text else None
    return fence["inside"] if fence else text


def strip_decoration(text: str) -> str:
    """Take the quotes, emphasis and blanks from around a bare answer."""
    return text.strip(DRESS).removesuffix(".").strip(DRESS)


def _types(given: type | tuple[type, ...]) -> tuple[type, ...]:
    return given if isinstance(given, tuple) else (given,)


def replace_surrogates(text: str) -> str:
    """Put "?" for halves of surrogate pairs, which can be neither sent nor recorded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _no_field_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field stands there twice")
    return found


def shorten(text: str, limit: int = 60) -> str:
    """Return a text in quotes, on one line and cut at `limit` characters: for a reason."""
    text = one_line(text)
    return f'"{text if len(text) <= limit else text[:limit] + "…"}"'


def _bare(option: str) -> str:
    return SPACE.sub(" ", option.strip(DRESS + ".")).casefold()
