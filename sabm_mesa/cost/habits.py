"""How language models answer: what is assumed of them, and what a recording says instead."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabm_mesa.cost.ranges import ERRORS, MARGIN, Range, around
from sabm_mesa.cost.rehearsal import letters
from sabm_mesa.cost.stand_ins import Length
from sabm_mesa.decisions import AnswerSpec, Choice, Format, Text
from sabm_mesa.llm.budget import TOKENS_PER_MESSAGE
from sabm_mesa.minds import language_model
from sabm_mesa.recording.statistics import Asked, PlayedRun, as_recorded, asked

if TYPE_CHECKING:
    from sabm_mesa.prompts import PromptBook

LETTERS_PER_TOKEN = Range(2.5, 5.0)
"""Bytes of UTF-8 that make a token. English prose has 4 (the rule of thumb that OpenAI gives) to
5, lists of numbers and most other scripts 2.5 to 3; the tokenizers themselves would have to be
downloaded."""
OVERHEAD = Range(0.0, 2.0 * TOKENS_PER_MESSAGE)
"""Tokens around the two messages of a question."""
REASKED = 0.2
"""The share of answers that are unusable at the most, chance aside (our choice: strong models give
few, small ones many)."""
SHORTEST_TEXT = 2
LONG_WORD = 8
"""Letters of a long word with its blank; the mean of English is below 6."""
DRESS = 12
"""Letters around a bare answer: quotes, a period, or a code fence."""
LONGEST_NUMBER = 20
LONGEST_FOUND = 64
"""Letters of a rejected answer that are quoted when it is asked for again."""
TYPICAL_TEXT = 120
"""Letters of a sentence of 20 words."""
TYPICAL_PER_TOKEN = 4.0
"""Letters a token of English prose (the rule of thumb that OpenAI gives)."""
TYPICAL_REASONING = 40
"""Tokens of one or two sentences of private reasoning."""
_CUT_MARK = 6
_NEUTRAL = {
    *("rng", "minds", "prompts", "temperature", "top_p", "max_tokens", "max_attempts"),
    "answer_format",
}
"""Parameters that do not change who is asked what, or hardly."""


@dataclass(frozen=True, slots=True)
class Habit:
    """What a recording says of one question to one model.

    Attributes:
        tokens_per_letter: of the messages, whatever stands around them included.
        said: letters of a text that was said.
        requests: requests for a question.
        resent: tokens sent in all attempts at a question, to those of the first.
        completion: tokens received in all attempts at a question.
        cached: share of the tokens sent that the server had in its cache.
    """

    tokens_per_letter: Range
    said: Range
    requests: Range
    resent: Range
    completion: Range
    cached: Range


class Learned:
    """What the recorded runs of a scenario say.

    Args:
        path: the recording.
        scenario: the name of the scenario.

    Raises:
        RecordingError: when it is no recording, or damaged.
        ParameterError: when it has no run of the scenario, or no answer of a language model.
    """

    def __init__(self, path: str | Path, scenario: str) -> None:
        self.runs, self.asked = asked(path, scenario)
        self.path = Path(path)
        self.models = sorted({language_model(each.mind) for each in self.asked})
        self._habits: dict[tuple[str, str], Habit | None] = {}

    def habit(self, question: str, model: str) -> Habit | None:
        """What is known of a question; from all models when this one was not recorded.

        Args:
            question: the name of the question.
            model: the name of the language model.

        Returns:
            The habit, or None when the question was never asked.
        """
        if (question, model) not in self._habits:
            found = [each for each in self._of(model) if each.name == question]
            self._habits[question, model] = _habit(found) if found else None
        return self._habits[question, model]

    def asks(self, question: str, model: str, parameters: Mapping[str, Any]) -> Range | None:
        """Questions of a kind to one agent in a run.

        Args:
            question: the name of the question.
            model: the name of the language model.
            parameters: those of the runs to come.

        Returns:
            The range over the runs with these parameters, `_NEUTRAL` ones aside; None without any.
        """
        wanted = _comparable(parameters)
        agents = self._agents(model)
        alike = [
            run for run in self.runs
            if run.whole and run.run in agents and _comparable(run.parameters) == wanted
        ]  # fmt: skip
        if not alike:
            return None
        counts: dict[int, int] = defaultdict(int)
        for each in self._of(model):
            counts[each.run] += each.name == question
        found = [(counts[run.run], agents[run.run]) for run in alike]
        rates = [count / n for count, n in found]
        # A count deviates by its root, or less; that there was none does not say that none will be.
        beyond = max(MARGIN * count / n + ERRORS * max(count, 1) ** 0.5 / n for count, n in found)
        return Range(max(0.0, min(rates) - beyond), max(rates) + beyond)

    def comparable(self, parameters: Mapping[str, Any]) -> bool:
        """Whether a whole run has these parameters, `_NEUTRAL` ones aside."""
        wanted = _comparable(parameters)
        return any(run.whole and _comparable(run.parameters) == wanted for run in self.runs)

    def _of(self, model: str) -> list[Asked]:
        same = [each for each in self.asked if language_model(each.mind) == model]
        return same or self.asked

    def _agents(self, model: str) -> dict[int, int]:
        """Run → agents whose questions are those of `_of`."""
        specs = {each.mind for each in self._of(model)}
        found = {run.run: _count(run, specs) for run in self.runs}
        return {run: n for run, n in found.items() if n}


def lengths(learned: Learned | None, limits: Mapping[str, int]) -> tuple[Length, Length]:
    """How long texts are: at the least, and at the most.

    Args:
        learned: what a recording says, or None.
        limits: mind → tokens of an answer at the most.
    """

    def possible(question: str, mind: str, spec: Text) -> Range:
        by_tokens = int(limits[mind] * LETTERS_PER_TOKEN.high)
        by_words = spec.max_words * LONG_WORD + _CUT_MARK
        assumed = Range(SHORTEST_TEXT, min(spec.max_chars, by_words, by_tokens))
        habit = learned.habit(question, language_model(mind)) if learned else None
        return assumed.narrowed(habit.said if habit else None)

    def short(question: str, mind: str, spec: Text) -> int:
        return int(possible(question, mind, spec).low)

    def long(question: str, mind: str, spec: Text) -> int:
        return min(spec.max_chars, int(possible(question, mind, spec).high) + 1)

    return short, long


def answer_tokens(spec: AnswerSpec, answer_format: Format, limit: int) -> Range:
    """Tokens of a legal answer: a text or a reasoning has no end but the limit.

    Args:
        spec: what a legal answer is.
        answer_format: ``"paper"`` or ``"json"``.
        limit: tokens of an answer at the most.
    """
    shortest, longest = 1, LONGEST_NUMBER
    if isinstance(spec, Choice):
        shortest, longest = (f(letters(option) for option in spec.options) for f in (min, max))
    elif isinstance(spec, Text):
        shortest = SHORTEST_TEXT
    if answer_format == "json":
        fields = dict.fromkeys(spec.schema()["properties"], "")
        frame = letters(json.dumps(fields, separators=(",", ":")))
        # A number stands there without the quotes.
        shortest, longest = shortest + frame - 2, longest + frame
    endless = spec.reasoning or isinstance(spec, Text)
    most = limit if endless else (longest + DRESS) / LETTERS_PER_TOKEN.low
    least = max(1.0, shortest / LETTERS_PER_TOKEN.high)
    return Range(min(least, limit), min(most, limit))


def typical_length(_question: str, _mind: str, spec: Text) -> int:
    """Letters of a text when everybody speaks in sentences."""
    return min(spec.max_chars, spec.max_words * LONG_WORD, TYPICAL_TEXT)


def typical_answer(spec: AnswerSpec, answer_format: Format, limit: int) -> float:
    """Tokens of a typical answer.

    Args:
        spec: what a legal answer is.
        answer_format: ``"paper"`` or ``"json"``.
        limit: tokens of an answer at the most.
    """
    shortest = answer_tokens(spec, answer_format, limit).low
    text = typical_length("", "", spec) / TYPICAL_PER_TOKEN if isinstance(spec, Text) else 0.0
    return min(limit, shortest + text + TYPICAL_REASONING * spec.reasoning)


def prompt_tokens(length: Range, spec: AnswerSpec, answer_format: Format) -> Range:
    """Tokens of a question's two messages, and at the most of the JSON schema sent along.

    Args:
        length: letters of the messages.
        spec: what a legal answer is.
        answer_format: ``"paper"`` or ``"json"``.
    """
    schema = letters(json.dumps(spec.schema())) if answer_format == "json" else 0
    low = length.low / LETTERS_PER_TOKEN.high
    high = (length.high + schema) / LETTERS_PER_TOKEN.low
    return Range(low, high) + OVERHEAD


def again_tokens(book: PromptBook, spec: AnswerSpec, answer_format: Format, limit: int) -> float:
    """Tokens that asking again adds to a question at the most: the answer, and what is wrong.

    Args:
        book: the prompts.
        spec: what a legal answer is.
        answer_format: ``"paper"`` or ``"json"``.
        limit: tokens of an answer at the most.
    """
    reason = max((t for e, t in book.entries.items() if e.startswith("reason_")), key=len)
    form = book.form(spec, answer_format)
    said = letters(book.render("again", {"reason": reason, "form": form})) + LONGEST_FOUND
    return limit + said / LETTERS_PER_TOKEN.low + OVERHEAD.high


def unusable_share(n: float) -> float:
    """The share of answers that are unusable at the most: `REASKED`, and what chance adds.

    Args:
        n: the number of answers.
    """
    return min(1.0, REASKED + ERRORS * math.sqrt(REASKED * (1 - REASKED) / n)) if n else 0.0


def _habit(found: Sequence[Asked]) -> Habit:
    by_run: dict[int, list[Asked]] = defaultdict(list)
    for each in found:
        by_run[each.run].append(each)

    def of(measure: Callable[[Asked], float], differ: float = 0.5) -> Range:
        return around([[measure(each) for each in run] for run in by_run.values()], differ)

    return Habit(
        tokens_per_letter=of(lambda each: each.first_tokens / max(1, each.letters), 0.1),
        said=of(lambda each: each.said),
        requests=of(lambda each: each.attempts),
        resent=of(lambda each: each.prompt_tokens / each.first_tokens),
        completion=of(lambda each: each.completion_tokens),
        cached=of(lambda each: each.cached_tokens / each.prompt_tokens),
    )


def _count(run: PlayedRun, specs: set[str]) -> int:
    return sum(n for spec, n in run.minds.items() if spec in specs)


def _comparable(parameters: Mapping[str, Any]) -> dict[str, Any]:
    recorded = as_recorded(parameters)
    return {name: value for name, value in recorded.items() if name not in _NEUTRAL}
