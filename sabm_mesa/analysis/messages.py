"""A rule-based coder of messages: the functions of a message, and the numbers in it.

It can be checked by hand: the word lists are in ``words.toml`` and, for the subject of a scenario,
in the file that the scenario declares; the rules are in the docstrings below. It reads the surface
of English sentences: it misses irony and hints, and a rejected number also counts as named.

A message may carry any of these codes, or none:

================= ===============================================================================
``number``        states a number or price of the game: one that was, will be or could be chosen,
                  or an average or target; no count, percentage, change or cost
``proposal``      invites others to do something in the game, alone or with the speaker, also as a
                  question or on a condition; a mere direction where to go is ``guidance``
``agreement``     accepts what another has said or proposed
``disagreement``  rejects or doubts what another has said or proposed
``information``   says something about the situation: the speaker's view, the results of earlier
                  rounds, how the game works; an intention, wish or proposal alone is none
``encouragement`` calms, heartens or praises others
``guidance``      tells others which way to go or not to go
``announcement``  says what the speaker itself will choose, alone or with others, also with a hedge
                  or on a condition
================= ===============================================================================

A message is coded by itself, without the messages before it. Cohen's kappa with 80 invented
messages that were coded by hand (``tests/studies/hand_labelled.toml``), 40 in each half:

================= =========== ========
code              development held out
================= =========== ========
``number``               0.95     1.00
``proposal``             0.92     0.83
``agreement``            1.00     0.63
``disagreement``         0.69     0.30
``information``          0.94     0.63
``encouragement``        1.00     0.73
``guidance``             0.92     0.53
``announcement``         0.76     0.54
================= =========== ========

The word lists were tuned on the first half only. The kappas of the second half were computed when
the lists were finished; one rule was corrected later for another reason (a direction where to go is
no proposal: 0.75 before). The same person wrote the lists and the messages, so these figures are
optimistic, and with 4 to 11 messages per code their intervals are wide. Disagreement is the weakest
code, since it is seldom expressed with specific words.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from sabm_mesa.analysis.intervals import require_columns
from sabm_mesa.core.toml_io import read_toml
from sabm_mesa.errors import ParameterError

CODES = (
    "number", "proposal", "agreement", "disagreement", "information", "encouragement", "guidance",
    "announcement",
)  # fmt: skip
Words = Mapping[str, Mapping[str, Any]]
"""Table → list → its words, as in ``words.toml``."""
_HIGHEST = 100.0
"""The highest number for the code ``number``; the lowest is 0."""
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_NO_CURRENCY = str.maketrans("", "", "$€£")
_NO_PICK = re.compile(r"\d+\s*/\s*\d+|\d{1,3}(?:,\d{3})+")  # fractions, thousands
_SENTENCE = re.compile(r"[^.!?\n;]*(?:\.(?=\d)[^.!?\n;]*)*[.!?\n;]?")
_CLAUSE_END = re.compile(r"[.:](?!\d)|[,!?;\n]")
_TOKEN = re.compile(
    r"(?<![\w#$€£+.-])(?<!\d:)\d+(?:\.\d+)?(?![\w-]|[.:]\d|\s*%)"  # 20, 33.3; not #3, 3rd, 20-30
    r"|(?<![\w-])[a-z]+(?:['-][a-z]+)*(?![\w-])"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PRICE_TOKEN = re.compile(
    r"(?<![\w#.-])[$€£]?(\d+(?:\.\d+)?)(?![\w-]|\.\d|\s*%)"  # 7, $7.50; not #3, 3rd, 6-8, 5 %
    r"|[a-z]+"
)
_ALIKE = str.maketrans("\u2018\u2019\u2013\u2212\u2014\u2026\r", "''--,\n\n")
"""Typographic apostrophes, dashes (a long dash ends a clause) and dots → plain ASCII."""


class Clause(NamedTuple):
    """A part of a sentence.

    Attributes:
        tokens: its words and numbers, in lower case.
        sentence: the number of its sentence in the message.
        asked: whether the sentence is a question.
    """

    tokens: tuple[str, ...]
    sentence: int
    asked: bool


@cache
def word_lists() -> MappingProxyType[str, Any]:
    """The word lists of ``words.toml``, by table."""
    text = files(__package__).joinpath("words.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def read_words(path: str | Path) -> Words:
    """Read the words on the subject of a scenario.

    Args:
        path: a TOML file with lists of words in tables. Tables of ``words.toml`` are for the coder;
            the scenario uses the other tables.

    Raises:
        ParameterError: when it cannot be read, or adds to a list that does not exist.
    """
    words = read_toml(path, "file of words", ParameterError)
    for table, lists in words.items():
        known = word_lists().get(table)
        if not isinstance(lists, dict):
            raise ParameterError(f"{path}: {table} must be a table of lists of words.")
        for name, values in lists.items():
            if not isinstance(values, list) or not all(isinstance(word, str) for word in values):
                raise ParameterError(f"{path}: [{table}] {name} must be a list of words.")
            if known is not None and not isinstance(known.get(name), list):
                there = ", ".join(name for name in known if isinstance(known[name], list))
                raise ParameterError(f"{path}: [{table}] has no list {name!r}; it has {there}.")
    return words


class MessageCoder:
    """Codes messages by rules.

    Args:
        more: words on the subjects of scenarios (see `read_words`), added to the lists of
            ``words.toml``.
    """

    def __init__(self, *more: Words) -> None:
        self._lists = {
            table: {name: _joined(words, table, name, more) for name, words in lists.items()}
            for table, lists in word_lists().items()
        }
        self._rules = {
            "number": states_number,
            "proposal": self._proposes,
            "agreement": assents,
            "disagreement": signals_disagreement,
            "information": self._informs,
            "encouragement": self._encourages,
            "guidance": self._guides,
            "announcement": self._announces,
        }

    def codes(self, text: str) -> frozenset[str]:
        """The codes of a message."""
        return frozenset(code for code in CODES if self._rules[code](text))

    def coded(self, messages: pd.DataFrame) -> pd.DataFrame:
        """Messages with one boolean column per code."""
        require_columns(messages, ["text"])
        codes_of = [self.codes(text) for text in messages["text"]]
        columns = {code: [code in codes for codes in codes_of] for code in CODES}
        return messages.assign(
            **{code: pd.Series(held, messages.index, dtype=bool) for code, held in columns.items()}
        )

    def _proposes(self, text: str) -> bool:
        """Whether a message contains a proposal.

        By a phrase ("let's", "how about"), by a clause in the imperative ("choose 20", "please keep
        your price") that is more than a direction where to go, or by a conditional offer ("if you
        stay at 7, I will too").
        """
        lists = self._lists["proposal"]
        parts = clauses(text)
        if any(self._is_proposed(part) for part in parts):
            return True
        asked = {part.sentence for part in parts if holds(part.tokens, lists["if_others"])}
        return any(
            part.sentence in asked and holds(part.tokens, lists["own_part"])
            for part in parts
            if not part.asked
        )

    def _informs(self, text: str) -> bool:
        """Whether a message informs about the situation.

        By a phrase ("last round"), by a topic with a reporting word ("the average was"), or by a
        place with a word about its state ("the left exit is packed"). Questions, wishes, plans and
        proposals do not count.
        """
        lists = self._lists["information"]
        return any(
            holds(part.tokens, lists["phrases"])
            or (self._names_place(part) and holds(part.tokens, lists["states"]))
            or (holds(part.tokens, lists["topics"]) and holds(part.tokens, lists["reports"]))
            for part in clauses(text)
            if not part.asked and not holds(part.tokens, lists["moods"])
        )

    def _encourages(self, text: str) -> bool:
        """Whether a phrase of the lists calms, heartens or praises."""
        phrases = self._lists["encouragement"]["phrases"]
        return any(holds(part.tokens, phrases) for part in clauses(text))

    def _guides(self, text: str) -> bool:
        """Whether a message tells others which way to go, or not to go.

        By a place with a word of direction or a warning ("take the left exit", "avoid the door"),
        by a verb of motion before a side ("head to the right"), or by a phrase ("follow me"); not
        in a question, and not in a clause about the speaker's action only.
        """
        return any(self._directs(part) for part in clauses(text))

    def _announces(self, text: str) -> bool:
        """Whether a phrase of the lists says what the speaker will choose; not in a question."""
        phrases = self._lists["announcement"]["phrases"]
        return any(holds(part.tokens, phrases) for part in clauses(text) if not part.asked)

    def _is_proposed(self, part: Clause) -> bool:
        lists = self._lists["proposal"]
        line = f" {' '.join(part.tokens)} "
        places = [line.index(f" {phrase} ") for phrase in lists["phrases"] if f" {phrase} " in line]
        if places:
            return not holds(line[: min(places)].split(), lists["off"])
        line = line.lstrip()
        while opener := _first(line, lists["openers"]):
            line = line.removeprefix(opener)
        verb = _first(line, lists["imperatives"])
        followed = _first(line.removeprefix(verb), lists["followers"])
        return bool(verb) and not followed and not part.asked and not self._directs(part)

    def _directs(self, part: Clause) -> bool:
        """Whether a clause tells others which way to go, or not to go."""
        lists = self._lists["guidance"]
        if part.asked or part.tokens[0] in lists["own"]:
            return False
        words = (*lists["directions"], *lists["warnings"])
        return (
            holds(part.tokens, lists["phrases"])
            or self._moves_to_side(part.tokens)
            or (self._names_place(part) and holds(part.tokens, words))
        )

    def _names_place(self, part: Clause) -> bool:
        """Whether a clause names a place of the scenario, such as an exit."""
        lists = self._lists["guidance"]
        sides, places = lists["sides"], lists["places"]
        return any(
            (a in sides and b in places) or (a in places and b in sides)
            for a, b in pairwise(part.tokens)
        ) or any(token in lists["rooms"] for token in part.tokens)

    def _moves_to_side(self, tokens: Sequence[str]) -> bool:
        """Whether a verb of motion precedes a side, with only linking words between them."""
        lists = self._lists["guidance"]
        for i, token in enumerate(tokens):
            if token in lists["motions"]:
                rest = (follower for follower in tokens[i + 1 :] if follower not in lists["links"])
                if next(rest, "") in lists["sides"]:
                    return True
        return False


def states_number(text: str) -> bool:
    """Whether a number from 0 to 100 is stated that does not count something else.

    `stated_numbers` and `stated_prices` leave out numbers outside the game: counts, changes, costs,
    percentages. Only the first reads numbers in words.
    """
    digits = {float(number) for number in _DIGITS.findall(text)}
    prices = stated_prices(text, 0, _HIGHEST)
    named = stated_numbers(text.translate(_NO_CURRENCY))
    return any(number in prices or number not in digits for number in named)


def shares(messages: pd.DataFrame, by: str | Sequence[str] = "round") -> pd.DataFrame:
    """The share of messages that carry each code, by the groups of some columns, in rising order.

    Messages without a usable code from a judge do not count; a share is NaN without a coded one.
    """
    groups = [by] if isinstance(by, str) else list(by)
    require_columns(messages, [*groups, *CODES])
    held = messages[[*groups, *CODES]].astype(dict.fromkeys(CODES, "Float64"))
    grouped = held.groupby(groups, sort=True)
    means = grouped[list(CODES)].mean().astype(float)
    means.insert(0, "messages", grouped.size())
    return means.reset_index()


@lru_cache(maxsize=4096)
def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a message, in order."""
    breaks = word_lists()["agreement"]["breaks"]
    sentences = [sentence for sentence in _SENTENCE.findall(_plain(text)) if sentence.strip()]
    return tuple(
        Clause(tuple(tokens), number, sentence.endswith("?"))
        for number, sentence in enumerate(sentences)
        for whole in _clauses(sentence)
        for tokens in _split_at(whole, breaks)
        if tokens
    )


@lru_cache(maxsize=4096)
def signals_agreement(text: str) -> bool:
    """Return whether a message expresses agreement.

    A phrase of the list counts, unless it is part of a question or follows a negation ("don't
    agree") or a conditional ("if we all agree") within a few words in the same clause.
    """
    return any(_agrees(clause) for clause in clauses(text) if not clause.asked)


def assents(text: str) -> bool:
    """Return whether a message expresses agreement, by a longer list of phrases.

    Results of models depend on the other list; this one does not affect them, so it may grow.
    """
    phrases = word_lists()["assent"]["phrases"]
    return signals_agreement(text) or any(
        _stands_free(clause.tokens, phrases) for clause in clauses(text) if not clause.asked
    )


def signals_disagreement(text: str) -> bool:
    """Return whether a message expresses disagreement or doubt.

    These count: a phrase of the list of disagreement, a phrase of agreement within a few words
    after a negation ("not a good idea"), and a bare "no" in a message without agreement. Questions
    and conditionals do not count.
    """
    lists = word_lists()
    return any(
        _stands_free(clause.tokens, lists["disagreement"]["phrases"])
        or (" ".join(clause.tokens) in lists["disagreement"]["alone"] and not assents(text))
        or (
            _stands_free(clause.tokens, lists["agreement"]["phrases"], also_negated=True)
            and not _agrees(clause)
        )
        for clause in clauses(text)
        if not clause.asked
    )


def holds(tokens: Sequence[str], phrases: Iterable[str]) -> bool:
    """Return whether a clause contains any of the phrases, as whole words."""
    line = f" {' '.join(tokens)} "
    return any(f" {phrase} " in line for phrase in phrases)


@lru_cache(maxsize=4096)
def stated_numbers(text: str) -> tuple[float, ...]:
    """Return the numbers from 0 to 100 that a message names, in order, without repetition.

    Digits count as separate tokens: not inside a word or compound ("3rd", "GPT-4", "20-30"), and
    not as a fraction, a percentage, money, the number of a player or a count of something ("24
    players", "100 credits"). Zero and numbers from ten also count in words. The range itself ("0 to
    100") does not count.
    """
    lists = word_lists()["numbers"]
    plain = _NO_PICK.sub(" , ", _plain(text))
    for phrase in lists["ignored"]:
        plain = re.sub(rf"\b{re.escape(phrase)}\b", " , ", plain)
    values: dict[float, None] = {}
    for clause in _clauses(plain):
        for value, start, end in _numbers(clause, lists):
            labelled = start > 0 and clause[start - 1] in lists["labels"]
            counted = any(_stands_at(unit.split(), clause, end) for unit in lists["units"])
            if 0 <= value <= 100 and not labelled and not counted:
                values[value] = None
    return tuple(values)


@lru_cache(maxsize=4096)
def stated_prices(text: str, low: float, high: float) -> tuple[float, ...]:
    """Return the prices that a message names, in order, without repetition.

    A price is a number in digits within the legal range, with or without a currency sign. The
    number of a round or player, a count ("20 rounds", "10 units"), a change ("by 2", "2 more"),
    a percentage, a range ("6-8") and the cost ("a cost of 2") do not count.
    """
    tokens = list(_PRICE_TOKEN.finditer(_THOUSANDS.sub("", text.lower())))
    prices: dict[float, None] = {}
    for i, token in enumerate(tokens):
        if token[1] is None or not low <= float(token[1]) <= high:
            continue
        before = i - 1
        while before >= 0 and tokens[before][0] in _price_words("links"):
            before -= 1
        labelled = before >= 0 and tokens[before][0] in _price_words("labels")
        counted = i + 1 < len(tokens) and tokens[i + 1][0] in _price_words("units")
        if not labelled and not counted:
            prices[float(token[1])] = None
    return tuple(prices)


def _joined(words: Any, table: str, name: str, more: Iterable[Words]) -> Any:
    """A list of the coder, followed by the words of scenarios, without repetition."""
    if not isinstance(words, list):
        return words
    added = (word for addition in more for word in addition.get(table, {}).get(name, []))
    return list(dict.fromkeys([*words, *added]))


def _first(line: str, phrases: Iterable[str]) -> str:
    """The phrase at the start of a line, with the following space, or ``""``."""
    return next((f"{phrase} " for phrase in phrases if line.startswith(f"{phrase} ")), "")


@cache
def _price_words(name: str) -> frozenset[str]:
    return frozenset(word_lists()["prices"][name])


def _plain(text: str) -> str:
    """Normalise a text: lower case, plain apostrophes and dashes, dots only after sentences."""
    return re.sub(r"\.{2,}", "\n", text.translate(_ALIKE).lower())


def _clauses(text: str) -> list[list[str]]:
    """The tokens of each clause."""
    return [_TOKEN.findall(part) for part in _CLAUSE_END.split(text)]


def _split_at(tokens: list[str], breaks: list[str]) -> list[list[str]]:
    """Split a clause before each word that begins a new one."""
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token in breaks:
            parts.append([])
        parts[-1].append(token)
    return parts


def _stands_at(phrase: Sequence[str], tokens: Sequence[str], start: int) -> bool:
    return list(tokens[start : start + len(phrase)]) == list(phrase)


def _agrees(clause: Clause) -> bool:
    lists = word_lists()["agreement"]
    always = holds(clause.tokens, lists["always"])
    return always or _stands_free(clause.tokens, lists["phrases"])


def _stands_free(
    tokens: Sequence[str], phrases: Iterable[str], *, also_negated: bool = False
) -> bool:
    """Whether a clause contains a phrase without a negation shortly before it."""
    lists = word_lists()["agreement"]
    off = {*lists["conditionals"], *([] if also_negated else lists["negations"])}
    for phrase in phrases:
        if not holds(tokens, [phrase]):
            continue
        for start in range(len(tokens)):
            before = tokens[max(0, start - lists["window"]) : start]
            negated = not also_negated and any(word.endswith("n't") for word in before)
            if _stands_at(phrase.split(), tokens, start) and not negated and not off & {*before}:
                return True
    return False


def _numbers(tokens: list[str], lists: dict[str, Any]) -> list[tuple[float, int, int]]:
    """Each number of a clause, with the indices of its first token and of the next one after."""
    tens, ones, words = lists["tens"], lists["ones"], lists["words"]
    numbers = []
    i = 0
    while i < len(tokens):
        token, width, value = tokens[i], 1, None
        first, _, second = token.partition("-")
        if token[0].isdigit():
            value = float(token)
        elif token in words:
            value = float(words[token])
        elif first in tens and second in ones:
            value = float(tens[first] + ones[second])
        elif token in tens:
            value = float(tens[token])
            if i + 1 < len(tokens) and tokens[i + 1] in ones:
                value, width = value + ones[tokens[i + 1]], 2
        if value is not None:
            numbers.append((value, i, i + width))
        i += width
    return numbers
