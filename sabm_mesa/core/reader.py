r"""Reading an answer in words: the one value that it gives, or none.

A model that is asked for a number writes "I would like to contribute [$12] of the $20." Such a text
is read by its structure, in these steps; `read_as` names the one that found the value:

============ =====================================================================================
``exact``    The text is the value and nothing else (`sabm_mesa.core.answers`).
``marked``   One value is marked: by brackets, a box or a tag; else by bold letters or as code.
``labelled`` A line begins with "Answer:" or with the label that the spec declares; else the first
             or the last line is the value alone, or follows a short label.
``only``     The text gives one legal value that the question did not state.
============ =====================================================================================

Nothing is guessed. Two different values at one step end the reading, and the question is asked
again. So does a number that is not understood as a whole, and a value that is denied, under a
condition or in a question. Examples for a number from 0 to 100 and for the options Push and Pull:

======================================================== =========== ===========================
"40" · "12 500" · "minus 5" · "1.5 million"              as written  exact
"I would like to contribute [$12] of the $20."           12          marked
"I'd say **40**: 60 would be too much."                  40          marked
"They may take 60.\nFinal answer: 40"                    40          labelled
"Quantity: 35\nProfit: 20"                               asked again two labels
"I choose to invest $30 with the Banker."                30          only
"I propose to divide $100: you get $40."                 40          only (100 is in the question)
"They played Pull last time. I will play Push."          asked again two values
"I will not choose 40." · "If they wait, I take 40."     asked again denied · a condition
"about 40" · "20-30" · "40²" · "3 x 12" · "40 or less"   asked again no plain number
======================================================== =========== ===========================

A number may have groups of digits (12 500, 12'500, 12,500), a sign (-, −, – or minus, negative), a
factor (k, hundred, thousand, million, billion), a power of ten (3e4, 3 x 10^4), a simple fraction
(3/4, ½, two and a half), a currency and a unit. Number words count where they are the whole value.
A number such as 1.250 with two meanings has the legal one; with two legal ones it has none.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

Step = Literal["marked", "labelled", "only"]
LONGEST = 20_000
"""The maximum length of a text that is read."""


class Mention(NamedTuple):
    """A value in a text, and its place; None for a number that is not plain, such as a range."""

    start: int
    end: int
    value: Any


class FoundValue(NamedTuple):
    """The value of a text, and the step that read it."""

    value: Any
    step: Step


class TwoValuesError(ValueError):
    """Two different values are candidates at one step."""


# One form for what is written in many.

_SIGNS = str.maketrans(
    {"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2019": "'", "\u2018": "'", "\u200b": "",
     "\ufeff": "", "⟦": "(", "⟧": ")", "⦃": "(", "⦄": ")"}
    | dict.fromkeys("\u201c\u201d\u201e«»", '"')
)  # fmt: skip
_MARKUP = [
    (re.compile(pattern), plain)
    for pattern, plain in [
        (r"(?m)^[ \t]*(?:```|~~~)[^\n`]*$", ""),  # fences
        (r"\\(?:text|math|operatorname)\w*\s*\{([^{}]*)\}", r"\1"),
        (r"\\[fF]?(?:frame)?(?:boxed|box)\s*\{([^{}]*)\}", r"[\1]"),
        (r"<(\w+)>\s*([^<]*?)\s*</\1>", r"[\2]"),
        (r"\\[()\[\]]|\$\$|\\,", " "),
        (r"\{,\}", ","),
        (r"\\([$%])", r"\1"),
        (r"\$(?=\S)([^$\n]{1,60}?)(?<=\S)\$(?!\d)", r"\1"),  # mathematics
        (r"(?<![\w*])(\*{1,3}|_{1,3}|`)(?=\S)([^\n]*?\S)\1(?![\w*])", r"⦃\2⦄"),
        (  # lists, headings; before a number, "- " may be its sign
            r"(?m)^[ \t]*(?:[•▪◦‣>*#]+[ \t]+|-+[ \t]+(?![$€£¥₹.\d])|\d{1,2}[.)][ \t]+(?=[\w$]))+",
            "",
        ),
        (r"(?<!\w)'([^'\n]{1,60})'(?!\w)", r'"\1"'),
        (r"[^\S\n]+", " "),
    ]
]


def normalise(text: str) -> str:
    """Normalise markdown, LaTeX, tags, quotes and spaces.

    Boxed and tagged parts are then in square brackets, and bold, italic and code parts between
    ``⦃`` and ``⦄``.
    """
    text = "".join(map(_in_plain, text.translate(_SIGNS)))
    for pattern, plain in _MARKUP:
        text = pattern.sub(plain, text)
    return text


def _in_plain(sign: str) -> str:
    """A character in its plain form, as for full-width digits; raised digits stay as they are."""
    if sign.isascii() or unicodedata.decomposition(sign).startswith(("<super>", "<sub>")):
        return sign
    plain = unicodedata.normalize("NFKC", sign)
    return plain if len(plain) == 1 else sign


# Numbers.

_ONES: list[str] = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
)
_TENS: list[str] = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")


def _spell(n: int) -> str:
    """A number below 1000 in words."""
    if n < 20:
        return _ONES[n]
    tens, hundreds = _TENS[n // 10 % 10 - 2] if n < 100 else "", n // 100
    first, rest = (f"{_ONES[hundreds]} hundred", n % 100) if hundreds else (tens, n % 10)
    return f"{first} {_spell(rest)}" if rest else first


_SPELT = {_spell(n): n for n in range(1000)}
_SMALL = "|".join([*_ONES, *_TENS])
_FACTORS = {"k": 1e3, "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_MONEY = r"(?:(?-i:[A-Z]{1,2}(?=\$)|[A-Z]{3}\ (?=[\d$])))?[$€£¥₹]?"
_SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_VULGAR = "¼½¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_NUMBER = re.compile(
    rf"""
    (?<![\w.,/^$€£¥₹])
    (?P<sign>(?:minus|negative)\ |[-+\u2013](?=[$€£¥₹.\d{_VULGAR}]))?
    {_MONEY}(?:(?<=[$€£¥₹])\ )?(?P<inner>-)?
    (?:(?P<digits>
        [1-9]\d{{0,2}}(?:[ ]\d{{3}})+(?:[.,]\d+)?(?!\d)
      | [1-9]\d{{0,2}}(?:'\d{{3}})+(?:[.,]\d+)?
      | [1-9]\d{{0,2}}(?:,\d{{3}}){{2,}}(?:\.\d+)? | [1-9]\d{{0,2}},\d{{3}}\.\d+
      | [1-9]\d{{0,2}}(?:\.\d{{3}}){{2,}}(?:,\d+)? | [1-9]\d{{0,2}}\.\d{{3}},\d+
      | \d+[.,]\d+ | \.\d+ | \d+(?=[ ][1-9]/[2-9](?![\d/])) | \d+(?!/[2-9](?![\d/]))
      )
      (?P<more>[ ]?[{_VULGAR}]|[ ][1-9]/[2-9](?![\d/])|[ ]and[ ]a[ ]half\b)?
    | (?P<part>[{_VULGAR}]|[1-9]/[2-9](?![\d/])))
    (?:[ ]?[$€£¥₹])?
    (?:(?P<exponent>[eE][+-]?\d+|[ ]?[x×*·][ ]?10(?:\^|\*\*)?[ ]?[+-]?(?:[{_SUPER}]+|(?<=[\^*])\d+)
      |(?:\^|\*\*)\d+|[{_SUPER}]+)
    | [ ]?(?P<factor>(?i:k|hundred|thousand|million|billion))\b
    )?
    (?P<percent>[ ]?%|[ ]per[ ]?cent\b)?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:[/×÷*^+<>≤≥≈~±#] ?|[\d)%] ?[-=+–—] ?|[-+–—] ?|\d ?\.\.+ ?"
    r"|\d[:,.]? ?x? ?"
    r"|\d (?:to|and|or|through|until) "
    r"|\b(?:(?:half|thirds?|quarters?|fifths?|tenths?|percent|per cent|\d) of|times|twice|double"
    r"|triple|about|around|roughly|approximately|approx\.?|nearly|almost|circa|ca\.|by|up to"
    r"|at most|at least|close to|like|from|between|between \S+(?: \w+)? and|below|under|above|over"
    r"|more than|less than"
    r"|fewer than|(?:any|no)thing but|or|to be|square root) (?:the |an? )?)\Z",
    re.IGNORECASE,
)
"""Words and signs before a number that make it no plain number."""
_AFTER = re.compile(
    rf" ?(?:[×÷*^+<>≤≥≈=]|\.\.|…)| ?/ ?\w| ?[-–—] ?{_MONEY}\d|[-–—]\w| ?[{_SUPER}{_VULGAR}]"
    rf"| {_MONEY}[\d.]*\d|[.,:]\d|\w| ?% ?\w*| (?:to|or|and|through|until|plus|minus|times|x"
    rf"|over|divided by) {_MONEY}(?:\d|(?:{_SMALL})\b)"
    r"| (?:and (?:an?|one|two|three|four) )?(?:dozen|score|grand|trillion|lakh|crore|m|bn|half"
    r"|halves|thirds?|quarters?|fifths?|tenths?|hundredths?|fold|times|squared|cubed|percent"
    r"|per cent|to the power)\b"
    r"| or (?:so|less|more|fewer|lower|higher|below|above)\b|-?ish\b"
    r"|(?: (?!once\b)\w+)? (?:more|less|fewer|lower|higher|below|above|under|over)\b|'s\b",
    re.IGNORECASE,
)
"""Words and signs after a number that make it no plain number."""
_KNOWN = re.compile(
    rf"\b(?:the|my|your|our|their|his|its|this)"
    rf"(?: other| remaining| new| initial| total| full| whole| maximum)? {_MONEY}\Z"
    rf"|(?:\bout of|\d\)? of) {_MONEY}\Z",
    re.IGNORECASE,
)
"""Words before a number that refers to something known, as in "12 of the 20"."""
_NEAR = 60
"""The number of characters before a number that are checked."""


def find_numbers(
    text: str, legal: Callable[[float], bool] = lambda _: True, *, percent: bool = False
) -> list[Mention]:
    """Find the numbers in a normalised text; one that is not plain has the value None.

    Whether a number is `legal` decides between two meanings of "1.250".
    """
    mentions = []
    for match in _NUMBER.finditer(text):
        before, after = text[max(0, match.start() - _NEAR) : match.start()], text[match.end() :]
        if _KNOWN.search(before) or re.match(r"(?:st|nd|rd|th)\b", after):
            continue
        ratio = re.match(r" ?/ ?\d", after) or re.search(r"\d ?/ ?\Z", before)
        if ratio or (match["percent"] and not percent):
            continue  # "50/50", "3 of 10": another quantity
        plain = not (_BEFORE.search(before) or _AFTER.match(after))
        value = _value_of(match, legal, percent=percent) if plain else None
        mentions.append(Mention(match.start(), match.end(), value))
    return mentions


def parse_number(
    text: str, legal: Callable[[float], bool] = lambda _: True, *, percent: bool = False
) -> float | None:
    """The number that a whole text is, in digits or in words; None for anything else."""
    text = normalise(text).strip()
    if match := _NUMBER.fullmatch(text):
        return _value_of(match, legal, percent=percent)
    return _in_words(text)


def _value_of(
    match: re.Match[str], legal: Callable[[float], bool], *, percent: bool
) -> float | None:
    """The value of a number in digits; None when it is not understood or has two legal meanings."""
    if (match["percent"] and not percent) or (match["inner"] and match["sign"]):
        return None
    negative = (match["sign"] or match["inner"] or "+").strip().lower() != "+"
    meanings = []
    for digits in _meanings(match["digits"] or "0"):
        value = digits + _fraction(match["more"] or match["part"] or "")
        value *= _FACTORS[match["factor"].lower()] if match["factor"] else 1
        scaled = _scaled(value, match["exponent"] or "")
        if scaled is None:
            return None
        meanings.append(-scaled if negative else scaled)
    sensible = [value for value in meanings if legal(value)] if len(meanings) > 1 else []
    if len(sensible) > 1:
        return None
    value = (sensible or meanings)[0]
    return int(value) if value.is_integer() else value


def _meanings(digits: str) -> list[float]:
    """The number of some digits; 1.250 may be a decimal or 1,250."""
    if re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", digits):
        thousands = float(re.sub("[.,]", "", digits))
        return [float(digits), thousands] if "." in digits else [thousands]
    signs = re.findall("[., ']", digits)
    is_last_decimal = signs and (len(set(signs)) > 1 or (len(signs) == 1 and signs[0] in ".,"))
    whole, point, decimals = digits.rpartition(signs[-1]) if is_last_decimal else (digits, "", "")
    return [float(re.sub("[., ']", "", whole) + ("." if point else "") + decimals)]


def _fraction(text: str) -> float:
    text = text.strip() or "0"
    if "/" in text:
        above, below = map(int, text.split("/"))
        return above / below
    return 0.5 if text.endswith("half") else unicodedata.numeric(text)


def _scaled(value: float, exponent: str) -> float | None:
    """A number times a power of ten; None for powers of other numbers, and too large ones."""
    if not exponent:
        return value
    digits = exponent.translate({ord(sign): str(n) for n, sign in enumerate(_SUPER)})
    alone = exponent[0] in _SUPER or exponent.startswith(("^", "**"))
    if exponent[0] in " x×*·" and not alone:
        digits = digits.partition("10")[2]
    power = re.search(r"(?<!\d)[+-]?\d{1,3}\Z", digits)
    if power is None or (alone and value != 10):
        return None
    try:
        return 10.0 ** int(power[0]) if alone else value * 10.0 ** int(power[0])
    except OverflowError:
        return None


def _in_words(text: str) -> float | None:
    """The number that a text in words is; None for any other text."""
    words, negative = re.subn("^(?:minus|negative) ", "", text.lower())
    words, half = re.subn(" and a half$", "", words)
    words = re.sub(r"\ban? (?=hundred|thousand|million|billion)", "one ", words)
    words = re.sub(r"-| and (?!and\b)", " ", words)
    total, largest = 0.0, math.inf
    parts = re.split(r" ?\b(k|thousand|million|billion)\b ?", words)
    for small, factor in zip(parts[::2], [*parts[1::2], ""], strict=True):
        n, size = _SPELT.get(small), _FACTORS.get(factor, 1)
        if not small and not factor and total:  # nothing follows the last factor
            continue
        if n is None or (not n and (factor or total)) or size >= largest:
            return None
        total, largest = total + n * size, size
    return (-1 if negative else 1) * (total + half / 2)


# Options.


def find_options(options: Iterable[str]) -> Callable[[str], list[Mention]]:
    """Find any of several options in a text, whatever their case.

    The longest of overlapping options counts. One of a single letter is found as a capital, in
    brackets, after the word "option", and alone after a colon. "A" and "I" are often words: a small
    letter may not follow them.
    """
    forms = {re.sub(r"\s+", " ", option.strip(" .\"'*_`")).casefold(): option for option in options}
    ordered = sorted(forms, key=len, reverse=True)
    several = "|".join(re.escape(form) for form in ordered if len(form) > 1) or r"(?!)"
    letters = "|".join(re.escape(form) for form in ordered if len(form) == 1) or r"(?!)"
    a_word = r"(?<=[AI])(?= (?!(?:is|in|because|since|as|for|this|again|over)\b)[a-z])"
    pattern = re.compile(
        rf"(?<![\w-])(?:(?i:option )?(?P<one>(?i:{several})|(?:{letters.upper()})(?!{a_word}))"
        rf"|(?<=[(\[])(?P<two>(?i:{letters}))(?=[)\]])|(?i:option )[(\[]?(?P<three>(?i:{letters}))"
        rf"|(?<=: )(?P<four>(?i:{letters}))(?=[).]?\s*$))(?![\w]|-\w|'\w)",
        re.MULTILINE,
    )

    def find(text: str) -> list[Mention]:
        return [
            Mention(match.start(), match.end(), forms[match[match.lastgroup or 0].casefold()])
            for match in pattern.finditer(text)
        ]

    return find


# Steps.

_KEY = r"⟦(\d+|x)⟧"
_SIGN = r"[^\w⟦⟧\n]*"
_UNIT = r"(?:[ /](?!(?:if|or|and|is|are|was|has|for|it|not|of|to)\b)[a-z]+)"
_SO = (
    r"(?:(?:so|thus|therefore|then|just|only|exactly|the|a|my|our|your|final|it's|it is|i'?ll?)"
    r"[ ,:]+)"
)
_MARKED = re.compile(
    rf"(?:[\w' -]{{0,40}}[:=])?{_SIGN}(?:the )?{_KEY}{_UNIT}{{0,2}}{_SIGN}", re.IGNORECASE
)
"""The content of a mark: a value, perhaps with a label and a unit."""
_LINE = re.compile(
    rf"{_SIGN}(?:\w[\w' -]{{0,30}}?{_SIGN}[:=])?{_SIGN}(?:the )?{_KEY}{_UNIT}?[^\w⟦⟧\n?]*",
    re.IGNORECASE,
)
"""A line with only a value, or a value after a short label."""
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z⟦$])|;\s|\n")
_DENIED = re.compile(
    r"\b(?:not|no|never|without|avoid\w*|instead|rather|cannot|refus\w*|against|except)\b|n't\b"
    r"|\b(?:any|no)thing but\b",
    re.IGNORECASE,
)
_DECIDE = (
    r"(?:choos|choice|accept|amount|consider|start|switch|return\b|continu|try|pick|select|decid|decision|opt\b|propos|suggest|recommend|settl|go\b|going|tak"
    r"|set\b|stick|answer|guess|play(?:ing)?\b)"
)
_BECAUSE = re.compile(r"\b(?:since|because|given|although|while)\b", re.IGNORECASE)
_ABOUT_OTHERS = re.compile(
    r"\b(?:if(?! i\b)|unless|whether|suppos\w*|or|they|he|she|everyone|average|was|(?<!i )were"
    r"|maybe|perhaps|probably|below|above|away)\b|\b(?:i|we)(?: \w+)? (?:could|might|may)\b",
    re.IGNORECASE,
)
"""Words before a value that set a condition, or speak of somebody else."""
_CONDITION = re.compile(
    r"\b(?:if|unless|or)\b|\A(?: \w+)? (?:is|was|has|won) (?!my|the best|it\b|what i\b)",
    re.IGNORECASE,
)
"""Words after a value that set a condition, or judge the value."""
_REASON = re.compile(r"[,;:.(–—]|\b(?:because|since|as|to|which|so|and|in order)\b", re.IGNORECASE)


def find_value(
    text: str,
    find: Callable[[str], Iterable[Mention]],
    legal: Callable[[Any], bool],
    *,
    question: str = "",
    labels: Collection[str] = (),
    last_line: bool = False,
) -> FoundValue | None:
    """Find the one value of a text.

    Args:
        find: returns the values in a normalised text, from left to right, without overlaps.
        legal: whether a value is legal.
        question: the question; numbers that it states are set aside at the last step.
        labels: words that the value may follow, in addition to "answer".
        last_line: whether only the last line is the answer, and all before it is reasoning.

    Returns:
        The value, legal if any is; None without any, and if it is no plain value.

    Raises:
        TwoValuesError: when two different values are candidates at one step.
    """
    if len(text) > LONGEST and not last_line:
        return None
    plain = normalise(text[-LONGEST:])
    if last_line:
        plain = next((line for line in reversed(plain.split("\n")) if line.strip()), "")
    shown, values = _with_keys(plain, find)
    ok = {str(key) for key, value in enumerate(values) if legal(value)}
    unmarked = re.sub("[⦃⦄]", "", shown)
    if keys := _marked(shown, ok):
        return _found(values, keys, "marked")
    if keys := _labelled(unmarked, tuple(labels)):
        return _found(values, keys, "labelled")
    stated = {mention.value for mention in find(normalise(question))} if question else set()
    known = {key for key in ok if isinstance(values[int(key)], float | int)} & {
        str(key) for key, value in enumerate(values) if value in stated
    }
    everywhere = set(re.findall(_KEY, shown))
    rest = everywhere - known or everywhere
    found = _found(values, rest, "only") if rest else None
    return found if found and _is_given(unmarked, min(rest), tuple(labels)) else None


def _found(values: list[Any], keys: set[str], step: Step) -> FoundValue | None:
    """The value of the only key; None if a candidate is no plain value, such as a range."""
    if len(keys - {"x"}) > 1:
        raise TwoValuesError
    return None if "x" in keys else FoundValue(values[int(min(keys))], step)


@lru_cache
def _gives(labels: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern of the words before a value that the speaker gives: "I would invest"."""
    stems = "|".join([_DECIDE, *(re.escape(label[:5]) for label in labels)])
    return re.compile(
        r"\b(?:i|we|you|one)(?:'ll|'d)\b|\blet(?: me|'s| us)\b|\bhere(?:'s| is) my\b"
        rf"|\b(?:i|we|you|one)(?:'m|'ve)?(?: [a-z]+){{0,3}}? (?:will|would|shall|should|to|say"
        rf"|think|(?:{stems})\w*)\b"
        rf"|\b(?:my|our|the|a)(?: [a-z]+){{0,3}}? (?:{stems})\w*\b.*(?:\b(?:is|be|of)\b|:)"
        rf"|\b(?:{stems})\w*ing\b|\bto(?: \w+)? (?:{stems})"
        r"|\b(?:my|our)(?: [a-z]+){0,3}? (?:will|would) be\b"
        r"|\b(?:best|strategy|choice) .*\b(?:is|be|to)\b",
        re.IGNORECASE,
    )


_ALONE = re.compile(
    rf"{_SIGN}(?:(?:so|ok(?:ay)?|sure|hmm|it's|it is|going with){_SIGN})*{_KEY}{_UNIT}{{0,2}}"
    rf"{_SIGN}"
    r"(?:\Z|[.(–—]|- |\b(?:because|since|as|is (?:my|the best)|it is|please|final)\b)",
    re.IGNORECASE,
)
"""A sentence that begins with a value, and goes on only with its reason."""


def _is_given(text: str, key: str, labels: tuple[str, ...]) -> bool:
    """Whether the speaker gives a value: in no sentence denied, in one under no condition."""
    given, gives = False, _gives(labels)
    for sentence in _SENTENCE.split(text):
        for match in re.finditer(f"⟦{key}⟧", sentence):
            before, after = sentence[: match.start()], sentence[match.end() :]
            clause = re.split(r"[,;:–—]", before)[-1]
            if _DENIED.search(clause):
                return False
            given = given or not (
                _ABOUT_OTHERS.search(before)
                or _BECAUSE.search(clause)
                or _CONDITION.search(_REASON.split(after)[0])
                or sentence.rstrip().endswith("?")
                or not (gives.search(before) or _ALONE.match(sentence))
            )
    return given


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


def _marked(text: str, ok: set[str]) -> set[str]:
    """The values in brackets, else those in bold letters; legal values take precedence."""
    for mark in (r"\[([^\[\]\n]*)\]", r"⦃([^⦃⦄]*)⦄"):
        matches = [_MARKED.fullmatch(inner) for inner in re.findall(mark, text)]
        keys = {match[1] for match in matches if match}
        if keys:
            return keys & ok or keys
    return set()


_BACK = re.compile(
    r"[^\w⟦]*(?:actually|no|wait|or|rather|instead|on second|i mean)\b", re.IGNORECASE
)
"""The beginning of a sentence that takes an answer back."""


@lru_cache
def _label(labels: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(["answer", *map(re.escape, labels)])
    return re.compile(
        rf"{_SIGN}{_SO}{{0,4}}(?:{names})(?: (?!(?:is|i)\b)\w+){{0,4}}{_SIGN}(?:[:=]|\bis\b)"
        rf"{_SIGN}{_SO}{{0,2}}{_SIGN}(?P<value>{_KEY}[^⟦]*)(?P<rest>.*)",
        re.IGNORECASE | re.DOTALL,
    )


def _labelled(text: str, labels: tuple[str, ...]) -> set[str]:
    """The values after a known label; else the one alone on the last or the first line."""
    keys: set[str] = set()
    for sentence in _SENTENCE.split(text):
        if match := _label(labels).fullmatch(sentence):
            value, rest = match["value"], match["rest"]
            another = rest and not re.search(r"\w", value.partition("⟧")[2])
            spoilt = another or _DENIED.search(value) or _CONDITION.search(value)
            keys.add("x" if spoilt else re.findall(_KEY, value)[0])
        elif keys and _BACK.match(sentence):
            keys.add("x")
    if keys:
        return keys
    lines = [line for line in text.split("\n") if line.strip()]
    ends = [match for line in lines[:1] + lines[-1:] if (match := _LINE.fullmatch(line))]
    alone = [match for line in lines if (match := _LINE.fullmatch(line))]
    return {match[1] for match in alone} if ends else set()


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
    """Whether a text is only the sentence with which a model declines to answer."""
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
    """The text after a line that ends with a colon, "Here is …:", "Answer:" or the label.

    It is taken from between tags or quotes, without a count of words and an offer of help. Without
    any of these the answer is unchanged.
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
