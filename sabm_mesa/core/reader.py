r"""Reading an answer in words: the one value that it gives, or none.

A model that is asked for a number writes "I would like to contribute [$12] of the $20." Such a text
is read by its structure, in these steps; `read_as` names the one that found the value:

============ =====================================================================================
``exact``    The text is the value and nothing else (`sabm_mesa.core.answers`).
``marked``   One value is marked: by brackets, a box or a tag; else by bold letters or as code.
``labelled`` A sentence begins with "Answer:" or with the label that the spec declares; else a line
             is the value alone, or follows a short label. Also a field of a JSON object.
``only``     One legal value is in the text, and a sentence decides for it; numbers that the
             question states are set aside where one other is left.
``decided``  Sentences decide for one value: "I will …", "my choice is …", "you could …".
============ =====================================================================================

Nothing is guessed: two different values at one step end the reading, and the model is asked again.
A value that is denied ("not 40"), under a condition ("if they take 40"), asked about, or not a
plain number ("about 40", "20-30") is not a candidate. Examples for a number from 0 to 100, where
the question states 100, and for the options Push and Pull:

======================================================== =========== ===========================
"40"                                                     40          exact
"I would like to contribute [$12] of the $20."           12          marked
"I'd say **40**: 60 would be too much."                  40          marked
"They may take 60.\nFinal answer: 40"                    40          labelled
"Donation: 40 kg"                                        40          labelled
"Quantity: 35\nProfit: 20"                               asked again two labels
"I choose to invest $30 with the Banker."                30          only
"I propose to divide $100: you get $40."                 40          only (100 is set aside)
"The average is 50."                                     asked again nobody decides
"They played Pull last time. I will play Push."          Push        decided
"- $80 for me\n- $20 for the other player"               asked again two values
"I choose 40. Actually, 30."                             asked again taken back
"I will not choose 40." · "If they take 60, I take 40."  asked again denied · a condition
======================================================== =========== ===========================

All words are function words, verbs of decision and denials (`WORDS`). Any word may follow a number
as its unit. The nouns of a scenario are in its specs: `label`, `unit`, options, names of fields.

How it works: the spec finds the values in a text (`sabm_mesa.core.mentions`), each is replaced by a
key (``⟦0⟧``, equal values by the same one, ``⟦x⟧`` for values that are not plain), and the patterns
here work for numbers, options and lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from sabm_mesa.core.mentions import Mention, normalise

VERSION = 2
"""The version of the reader, which is recorded; the first version used lists of words."""
Step = Literal["marked", "labelled", "only", "decided"]
LONGEST = 20_000
"""The maximum length of a text that is read."""


class FoundValue(NamedTuple):
    """The value of a text, and the step that read it."""

    value: Any
    step: Step


class TwoValuesError(ValueError):
    """Two different values are candidates at one step."""


WORDS = {
    "decide": r"choos choic pick select decid decis opt(?:ing|s)?\b propos suggest recommend settl "
    r"go(?:ing|es)?\b tak set(?:s|ting)?\b stick answer guess say",
    "will": "will would shall should",
    "may": "could might may can",
    "not": r"not\b no\b never without avoid instead rather than\b cannot refus against except",
    "if": r"if\b unless whether assum suppos",
    "because": "because since given considering",
    "back": "actually wait instead rather better no",
}
"""The beginnings of the words that decide, deny, give a condition or a reason, or take back."""


_END = r"\b"


def _words(*names: str, end: str = r"\w*") -> str:
    return rf"\b(?:{'|'.join(' '.join(WORDS[name] for name in names).split())}){end}"


_KEY = r"⟦(\d+)⟧"
_ANY_KEY = re.compile(r"⟦(\d+|x)⟧")
_SIGNS = r"[^\w⟦⟧\n]*"
_FILL = r"(?: [a-z']+)"
_UNIT = r"(?:[ /](?!(?:if|or|and|is|are|was|has|for|it|not|of)\b)[a-z]+| it is\b)"
_SO = (
    r"(?:(?:so|thus|therefore|then|just|only|the|a|my|our|your|final|it's|it is|to|with|at|[a-z]+,)"
    r"[ ,:]+)"
)
_NOT = re.compile(_words("not", end=r"\w*\b") + r"|n't\b|\b(?:any|no)thing but\b", re.IGNORECASE)
_MAY = re.compile(rf"\A(?:i|we)\b.*?{_words('may', end=_END)}", re.IGNORECASE)
_IF = re.compile(_words("if"), re.IGNORECASE)
_BECAUSE = re.compile(
    rf"{_words('because', end=_END)}|\bas (?!follows|well|my|an?\b)| \(|[–—]"
    r"|\b(?:they|he|she) \w|\bthat (?!i\b|we\b|you\b|is\b)\w",
    re.IGNORECASE,
)
"""The beginning of a reason for a decision, or of another's action."""
_BACK = re.compile(rf"{_SIGNS}(?:{_words('back', end='')}|i mean|on second)\b", re.IGNORECASE)
_AFTERTHOUGHT = re.compile(rf"{_SIGNS}(?:[a-z]+ ?){{1,4}},{_SIGNS}{_KEY}{_SIGNS}", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z⟦$])|;\s|\n")


def find_value(
    text: str,
    find: Callable[[str], Iterable[Mention]],
    legal: Callable[[Any], bool],
    *,
    question: str = "",
    labels: Collection[str] = (),
    limits: Collection[float] = (),
    last_line: bool = False,
) -> FoundValue | None:
    """Find the one value of a text.

    Args:
        text: the answer.
        find: returns the values in a normalised text, from left to right, without overlaps.
        legal: whether a value is legal.
        question: the question; its numbers are ignored if one other number is left.
        labels: words that the value may follow, in addition to "answer".
        limits: the smallest and the largest legal value; if the question states them, they are also
            ignored within a sentence ("I divide $100: you get $40").
        last_line: whether only the last line is the answer, and all before it is reasoning.

    Returns:
        The value, which may be illegal if no legal one is given; None without any.

    Raises:
        TwoValuesError: when two different values are candidates at one step.
    """
    if len(text) > LONGEST and not last_line:
        return None
    plain = normalise(text[-LONGEST:])
    if last_line:
        plain = next((line for line in reversed(plain.split("\n")) if line.strip()), "")
    shown, values = _with_keys(plain, find)
    ok = {key for key, value in enumerate(values) if legal(value)}
    if (key := _marked(shown, ok)) is not None:
        return FoundValue(values[key], "marked")
    stated = [mention.value for mention in find(normalise(question))] if limits and question else []
    known = {key for key, value in enumerate(values) if value in stated}
    limit = {key for key in known if values[key] in limits}
    decisions = _Decisions(re.sub(r"[⦃⦄]", "", shown), tuple(labels), limit)
    if (key := _labelled(decisions, labels)) is not None:
        return FoundValue(values[key], "labelled")
    if decisions.in_doubt:
        return None
    live, decided = decisions.live & ok, decisions.chosen | decisions.advised
    if len(live) == 1 and decided | decisions.stated == live:
        return FoundValue(values[min(live)], "only")
    rest = live - known
    if len(rest) == 1 and (decided & ok) - limit == rest:
        return FoundValue(values[min(rest)], "only")
    if (key := _one(decided - limit or decided)) is None or (key in known and live - {key}):
        return None
    return FoundValue(values[key], "decided")


def _with_keys(text: str, find: Callable[[str], Iterable[Mention]]) -> tuple[str, list[Any]]:
    """The text with a key for each value, equal ones with the same; and the values."""
    values: list[Any] = []
    parts: list[str] = []
    at = 0
    for mention in find(text):
        if mention.value is not None and mention.value not in values:
            values.append(mention.value)
        key = "x" if mention.value is None else str(values.index(mention.value))
        parts += [text[at : mention.start], f"⟦{key}⟧"]
        at = mention.end
    return "".join([*parts, text[at:]]), values


def _one(keys: set[int]) -> int | None:
    if len(keys) > 1:
        raise TwoValuesError
    return min(keys, default=None)


# Marks.

_MARKED = re.compile(
    rf"(?:[\w' -]{{0,40}}[:=])?{_SIGNS}(?:the )?{_KEY}{_UNIT}{{0,2}}{_SIGNS}", re.IGNORECASE
)
"""The content of a mark: a value, perhaps with a label and a unit."""


def _marked(text: str, ok: set[int]) -> int | None:
    """The one value in brackets, else the one in bold letters; legal values take precedence."""
    for mark in (r"\[([^\[\]\n]*)\]", r"⦃([^⦃⦄]*)⦄"):
        matches = [_MARKED.fullmatch(inner) for inner in re.findall(mark, text)]
        keys = {int(match[1]) for match in matches if match}
        if keys:
            return _one(keys & ok or keys)
    return None


# Labels.

_LINE = re.compile(
    rf"{_SIGNS}(?:\w[\w' -]{{0,30}}?{_SIGNS}[:=])?{_SIGNS}(?:the )?{_KEY}{_UNIT}?[^\w⟦⟧\n?]*",
    re.IGNORECASE,
)
"""A line with only a value, or a value after a short label."""


@lru_cache
def _label(labels: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(["answer", *map(re.escape, labels)])
    return re.compile(
        rf"{_SIGNS}{_SO}{{0,4}}(?:{names})(?: (?!(?:is|i)\b)\w+){{0,4}}{_SIGNS}(?:[:=]|\bis\b)"
        rf"{_SIGNS}{_SO}{{0,2}}{_SIGNS}(?P<value>{_KEY}.*)",
        re.IGNORECASE | re.DOTALL,
    )


def _labelled(decisions: _Decisions, labels: Collection[str]) -> int | None:
    """The one value after a known label; else the one alone on a line, the last or the first."""
    keys: set[int] = set()
    for sentence in decisions.sentences:
        match = _label(tuple(labels)).fullmatch(sentence)
        if match and not _NOT.search(sentence[: match.start("value")]):
            keys |= {int(key) for key in re.findall(_KEY, _BECAUSE.split(match["value"])[0])}
        elif keys and (_BACK.match(sentence) or _AFTERTHOUGHT.fullmatch(sentence)):
            keys |= _candidates(sentence)
    if keys:
        return _one(keys)
    lines = [line for line in decisions.lines if _ANY_KEY.search(line)]
    alone = [_LINE.fullmatch(line) for line in lines]
    if alone and (alone[-1] or (alone[0] and lines[0] == decisions.lines[0])):
        return _one({int(match[1]) for match in alone if match and not _NOT.search(match[0])})
    return None


# Decisions.


class _Decisions:
    """The sentences of a text, and the values that they decide for.

    Attributes:
        lines: the lines with words.
        sentences: the sentences that are no questions.
        chosen: keys of values in the speaker's own decisions: "I will take 40", "my choice is 40".
        advised: keys of values in advice and in other words: "you could take 40", "40 is best".
        stated: keys of values that are perhaps decided for: "my number is 40", "let's take 40".
        live: keys of all values that are not denied.
        in_doubt: whether a decision is for a value that is not plain: "I will take about 40".
    """

    def __init__(self, text: str, labels: tuple[str, ...], limit: set[int]) -> None:
        self.lines = [line for line in text.split("\n") if line.strip()]
        every = [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]
        self.sentences = [
            sentence for sentence in every if not sentence.rstrip(" \"')").endswith("?")
        ]
        self.chosen: set[int] = set()
        self.advised: set[int] = set()
        self.stated: set[int] = set()
        self.live = set().union(*map(_candidates, every)) if every else set()
        self.in_doubt = False
        decided, advised, stated, praised = _patterns(labels)
        for number, sentence in enumerate(self.sentences):
            mine = self._decided(decided, sentence, limit)
            self.in_doubt = self.in_doubt or None in mine
            self.advised |= self._decided(advised, sentence, limit) - {None}
            self.stated |= self._decided(stated, sentence, limit) - {None}
            if not mine and (key := _alone(sentence)) is not None:
                whole = _FRAGMENT.fullmatch(sentence)
                (self.chosen if whole or not number else self.advised).add(key)
            if (match := praised.match(sentence)) and not _NOT.search(match[0]):
                self.advised.add(int(match[1]))
            if _BACK.match(sentence) and self.chosen:
                mine |= _candidates(sentence)
            self.chosen |= mine - {None}

    def _decided(self, pattern: re.Pattern[str], sentence: str, limit: set[int]) -> set[Any]:
        """The keys between a decision and its reason; None for values that are not plain."""
        keys: set[Any] = set()
        for match in pattern.finditer(sentence):
            before, tail = sentence[: match.start()], _BECAUSE.split(sentence[match.end() :])[0]
            clause = re.split(r"[,;:–—]", before)[-1]
            if (
                _NOT.search(match[0])
                or _MAY.match(match[0])
                or _under_condition(before, limit)
                or _IF.search(re.split(r",(?! ?(?:if|unless)\b)", tail)[0])
                or re.search(r"\b(?:they|he|she)\b", clause, re.IGNORECASE)
            ):
                continue
            here = _candidates(tail, whole=True)
            keys |= here - limit or here or ({None} if "⟦x⟧" in tail else set())
        return keys


def _candidates(text: str, *, whole: bool = False) -> set[int]:
    """The keys of the values that are not denied, in their clause or in the whole text."""
    return {
        int(match[1])
        for match in re.finditer(_KEY, text)
        if not _NOT.search(
            text[: match.start()] if whole else re.split(r"[,;:–—]", text[: match.start()])[-1]
        )
    }


def _under_condition(before: str, limit: set[int]) -> bool:
    """Whether a condition precedes a decision, or contains a value."""
    conditions = [match.start() for match in _IF.finditer(before)]
    if not conditions:
        return False
    values = {int(key) for key in re.findall(_KEY, before[conditions[0] :])}
    return "," not in before[conditions[-1] :] or bool(values - limit)


_FRAGMENT = re.compile(rf"{_SIGNS}{_SO}{{0,3}}{_SIGNS}{_KEY}(?: \w+)?{_SIGNS}", re.IGNORECASE)
_LEAD = re.compile(
    rf"{_SIGNS}{_SO}{{0,3}}{_SIGNS}{_KEY}(?:{_SIGNS}\Z|{_UNIT}{{0,2}}{_SIGNS}"
    rf"(?:\Z|[.(–—]|- |{_words('because')}|as\b))",
    re.IGNORECASE,
)
"""A sentence that begins with a value, and continues only with its reason."""


def _alone(sentence: str) -> int | None:
    match = _LEAD.match(sentence)
    if match is None or _NOT.search(match[0]):
        return None
    keys = set(_ANY_KEY.findall(_BECAUSE.split(sentence[match.start(1) - 1 :])[0]))
    return int(match[1]) if len(keys) == 1 else None


@lru_cache
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """The patterns of the speaker's decision, advice, a statement, and praise of a value.

    A label is a noun, and its beginning also a verb: "harvest", "contribution" → "contributing".
    """
    stems = [_words("decide"), *(rf"\b{re.escape(label[:5])}\w*" for label in labels)]
    decide, be = f"(?:{'|'.join(stems)})", "(?:is|are|would be|will be)"
    will, may = _words("will", end=r"\b"), _words("may", "will", end=r"\b")
    noun = rf"{_FILL}{{0,3}}? {decide}{_FILL}{{0,4}}?" if labels else rf"{_FILL}{{1,6}}?"
    decided = (
        rf"\b(?:i|we)(?:'ll|'d)\b|\b(?:i|we)(?:'m|'ve)?{_FILL}{{0,2}}? (?:{will}|{decide})"
        r"|\b(?:i|we)(?:'m| am| are| \w+)(?: \w+)? to\b"
        rf"|\b(?:my|our){_FILL}{{0,2}}? {decide}{_FILL}{{0,8}}? {be}\b"
        r"|\blet me\b|\bhere(?:'s| is)\b[^:⟦]*:"
    )
    advised = (
        rf"\b(?:the|an?|your|this)(?: [a-z]+){{0,3}}? {_words('decide')}{_FILL}{{0,8}}? {be}\b"
        rf"|\b(?:you|one) {may}|(?:{may}|\bis) be\b[^⟦]*\b(?:to|by|be|[a-z]+ing)\b"
        rf"|\bis to\b|\bbest\b[^⟦]* (?:be|to)\b|\A{_SIGNS}(?:{decide}|(?!\w*thing)[a-z]+ing\b)"
        r"|\b(?:i'm|i am|we're|we are) \w+ing\b"
    )
    stated = rf"\b(?:my|our){noun} {be}\b|\blet(?:'s| us)\b"
    praised = (
        rf"{_SIGNS}{_SO}{{0,3}}(?:i \w+ )?{_KEY} (?:is|are|seems?|would be|will be)\b[^⟦.,]*"
        rf"(?:\bmy\b|\bme\b|{decide})"
    )
    return tuple(
        re.compile(pattern, re.IGNORECASE) for pattern in (decided, advised, stated, praised)
    )


def is_taken_back(text: str) -> bool:
    """Whether the words after an answer withdraw it, add a condition or another answer.

    Args:
        text: the words.
    """
    sentences = _SENTENCE.split(text.replace("\u2019", "'"))
    return any(
        _BACK.match(sentence) or _IF.search(sentence) or _OR.search(sentence)
        for sentence in sentences
    )


def is_set_apart(text: str) -> bool:
    """Whether the words before an answer make it another's answer, an example or a condition.

    Args:
        text: all text before the answer.
    """
    text = re.sub(r"<[^>]*>", "", text.replace("\u2019", "'")).strip()
    sentence = _SENTENCE.split(text)[-1].strip()
    if sentence.endswith((".", "!")) or len(re.findall(r"[a-z']+", sentence, re.IGNORECASE)) < 2:
        return False
    other = any(word.search(sentence) for word in (_NOT, _IF, _MAY, _OR))
    return other or not _LEADS.search(sentence)


_OR = re.compile(r"\bor\b", re.IGNORECASE)
_LEADS = re.compile(
    rf"\bhere\b|\b(?:my|our|your|answer)\b|\b(?:i|we)(?:'ll|'d| (?:{_words('will', 'decide')}))",
    re.IGNORECASE,
)
"""Words that lead to the speaker's own answer."""


# Texts.

_REFUSED = re.compile(
    r"\A\s*(?:(?:i'?m )?(?:really |very )?sorry,?(?: but)?|i apologi[sz]e,?(?: but)?"
    r"|unfortunately,?|as an ai(?: language model| assistant| model)?,?)?"
    r"\s*i(?:'m| am)? (?:can(?:'t|not| not)|won'?t|will not|(?:am )?unable to|not able to"
    r"|(?:do not|don't) feel comfortable) (?:assist|help with|help you|comply|fulfil+|continue with"
    r"|provide|participate|engage|answer|respond|do that|with|generate|create|proceed)"
    r"[^\n]{0,160}\Z",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Whether a text is only the sentence with which a model declines to answer.

    Args:
        text: the answer.
    """
    text = text.strip().replace("\u2019", "'")
    return len(text) < 300 and _REFUSED.match(text) is not None


_POLITE = r"\A(?:[^\W\d_]+(?: [^\W\d_]+)?[!.,] ?)?"
_BELOW = re.compile(rf"{_POLITE}[^\n\"\u201c]{{0,100}}:\s*\n+\s*(.+)\Z", re.DOTALL)
_QUOTED_BEHIND = re.compile(
    rf"{_POLITE}[^\n\"\u201c]{{0,100}}:\s*([\"\u201c\u00ab\u201e].+)\Z", re.DOTALL
)
_QUOTED = re.compile(
    r"\A[*_]*(?:\"([^\"]+)\"|\u201c([^\u201d]+)\u201d|\u00ab([^\u00bb]+)\u00bb"
    r"|\u201e([^\u201c\u201d]+)[\u201c\u201d])[*_]*\Z"
)
_TAGGED = re.compile(r"<(\w+)>(.*)</\1>", re.DOTALL)
_COUNTED = re.compile(r"\s+\((?:[a-z ]+: ?\d+|\d+ [a-z]+)\)\s*\Z", re.IGNORECASE)
_GOODBYE = re.compile(r"\n\s*(?:let me know|feel free|would you like)\b[^\n]*\Z", re.IGNORECASE)


def unwrap(text: str, label: str = "") -> str:
    """Remove the words that a model puts around a requested text.

    Args:
        text: the answer.
        label: the word that the spec declares for the text, such as "message".

    Returns:
        The text after a line that ends with a colon, after "Here is …:", "Answer:" or the label,
        between tags, or in quotes, without a count of words and an offer of help; otherwise the
        unchanged answer.
    """
    inner = text.strip()
    if inner.startswith("<") and (tagged := _TAGGED.fullmatch(inner)):
        inner = tagged[2].strip()
    inner = _GOODBYE.sub("", inner).strip()
    if inner.endswith(")"):
        inner = _COUNTED.sub("", inner)
    if ":" in inner:
        for pattern in (_behind(label), _BELOW, _QUOTED_BEHIND):
            if match := pattern.match(inner):
                inner = match[1].strip()
                break
    if quoted := _QUOTED.match(inner):
        inner = next(filter(None, quoted.groups())).strip()
    return inner or text


@lru_cache
def _behind(label: str) -> re.Pattern[str]:
    names = "|".join(["answer", *([re.escape(label)] if label else [])])
    return re.compile(
        rf"{_POLITE}[*_]*(?:here(?:'s|\u2019s| is)\b[^:\n]{{0,60}}"
        rf"|(?:(?:my|the|final) ){{0,2}}(?:{names})(?: is)?)[*_]*:[*_]*\s*(\S.*)\Z",
        re.IGNORECASE | re.DOTALL,
    )
