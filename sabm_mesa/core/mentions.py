"""Values in a text: numbers in any notation, options, and normalised marks and signs.

A `Mention` is the position of a value in a text. A number that refers to something known ("of the
20", "your 7") is not a mention. A number that is not plain ("about 40", "20-30", "half of 40", "40
%", "40 or less") is a mention without a value, since a sentence may decide for it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Mention(NamedTuple):
    """A value in a text.

    Attributes:
        start: where it begins.
        end: where it ends.
        value: the value; None for an unreadable value, such as a range.
    """

    start: int
    end: int
    value: Any


# One form for what is written in many.

_SIGNS = str.maketrans(
    {"\u2212": "-", "\u2011": "-", "\u2019": "'", "\u2018": "'", "⟦": "(", "⟧": ")", "⦃": "(",
     "⦄": ")", "\u200b": "", "\ufeff": ""} | dict.fromkeys("\u201c\u201d\u201e«»", '"')
)  # fmt: skip
_MARKUP = [
    (r"(?m)^[ \t]*(?:```|~~~)[^\n`]*$", ""),  # fences
    (r"(?<=\d)[\u00a0\u202f\u2009](?=\d{3}(?!\d))", ""),  # narrow spaces in numbers
    (r"\\(?:text|math|operatorname)\w*\s*\{([^{}]*)\}", r"\1"),
    (r"\\[fF]?(?:frame)?(?:boxed|box)\s*\{([^{}]*)\}", r"[\1]"),
    (r"<(\w+)>\s*([^<]*?)\s*</\1>", r"[\2]"),
    (r"\\[()\[\]]|\$\$|\\,", " "),
    (r"\{,\}", ","),
    (r"\\([$%])", r"\1"),
    (r"\$(?=\S)([^$\n]{1,60}?)(?<=\S)\$(?!\d)", r"\1"),  # mathematics
    (r"(?<![\w*])(\*{1,3}|_{1,3}|`)(?=\S)([^\n]*?\S)\1(?![\w*])", r"⦃\2⦄"),
    (r"(?m)^[ \t]*(?:[•▪◦‣>*+#-]+[ \t]+|\d{1,2}[.)][ \t]+(?=[\w$]))+", ""),  # lists, headings
    (r"(?<!\w)'([^'\n]{1,60})'(?!\w)", r'"\1"'),
    (r"[^\S\n]+", " "),
]
_MARKUP_COMPILED = [(re.compile(pattern), plain) for pattern, plain in _MARKUP]


def normalise(text: str) -> str:
    """Normalise markdown, LaTeX, tags, quotes and spaces.

    Args:
        text: the answer.

    Returns:
        The text with boxed and tagged parts in square brackets, and bold, italic and code parts
        between ``⦃`` and ``⦄``.
    """
    text = "".join(map(_in_plain, text.translate(_SIGNS)))
    for pattern, plain in _MARKUP_COMPILED:
        text = pattern.sub(plain, text)
    return text


_FENCE = re.compile(_MARKUP[0][0])


def without_fences(text: str) -> str:
    """A text without the lines that open and close code.

    Args:
        text: the text.
    """
    return _FENCE.sub("", text)


def _in_plain(sign: str) -> str:
    """A character in its plain form, if that is one character, as for full-width digits."""
    if sign.isascii():
        return sign
    plain = unicodedata.normalize("NFKC", sign)
    return plain if len(plain) == 1 else sign


# Numbers.

_ONES = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen",
)
_TENS = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")
_SPELT = {word: n for n, word in enumerate(_ONES)} | {
    word: 10 * n for n, word in enumerate(_TENS, 2)
}
_NUMERAL = "|".join(_SPELT)
_MONEY = r"[$€£¥₹]"
_NUMBER = re.compile(
    rf"(?<![\w.,/^])(?:(?P<sign>[-+](?=[$€£¥₹.\d]))?(?:[A-Z]{{1,2}}(?=\$)|[A-Z]{{3}} )?"
    rf"(?:{_MONEY} ?)?(?P<minus>-)?"
    r"(?P<digits>\d{1,3}(?:[,']\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?|\.\d+)"
    rf"(?: ?{_MONEY})?(?P<thousands>k\b)?(?![\d%]|[.,]\d|\w)"
    rf"|(?P<words>(?i:(?:an?|{_NUMERAL}) hundred(?: and (?:{_NUMERAL}))?"
    rf"|(?:{_NUMERAL})(?:[ -](?:{_NUMERAL}))?))(?!\w|-\w))"
)
_KNOWN = re.compile(
    r"(?<!\ball )(?<!\ball of )\b(?:the|my|your|our|their|his|its|this)(?: other| remaining)? "
    rf"{_MONEY}?\Z"
    rf"|\bout of {_MONEY}?\Z|\d\)? of {_MONEY}?\Z",
    re.IGNORECASE,
)
"""Words before a number that refers to something known."""
_SPOILT_BEFORE = re.compile(
    r"(?:[/×÷*^+<>≤≥≈~±] *|[\d)%] *[-=+–—] *|[-+*/×÷)%][^=\n]*= *"
    r"|\b(?:half of|thirds of|about|around|(?!exactly|simply|only|finally)\w+ly|almost|by|up to"
    r"|at most|at least|close to|like|from|between|between \S+(?: \w+)? and) (?:the )?"
    rf"|\b(?:below|under|above|over|than|(?:any|no)thing but)(?: [a-z]+){{0,4}} ){_MONEY}?\Z",
    re.IGNORECASE,
)
_SPOILT_AFTER = re.compile(
    rf" *[×÷*^+<>≤≥≈%]| ?/ ?\d| \d| *[-–—] *{_MONEY}?\d|-\w| per ?cent\b"
    r"| or (?:so|less|more|lower|higher|below|above)\b"
    r"|(?: (?!once\b)\w+)? (?:more|less|lower|higher|below|above|under|over)\b|'s\b|\.\.|…",
    re.IGNORECASE,
)
_NEAR = 60
"""The number of characters before a number that are checked."""


def find_numbers(text: str) -> list[Mention]:
    """Find the numbers in a text, also in words.

    Args:
        text: the normalised text.
    """
    mentions = []
    for match in _NUMBER.finditer(text):
        before, after = text[max(0, match.start() - _NEAR) : match.start()], text[match.end() :]
        value = _spelt(match["words"]) if match["words"] else _digits(match)
        one = match["words"] and match["words"].lower() == "one"  # as in "the left one"
        if value is None or _KNOWN.search(before) or (one and re.search(r"\w", before + after[:9])):
            continue
        spoilt = _SPOILT_BEFORE.search(before) or _SPOILT_AFTER.match(after)
        mentions.append(Mention(match.start(), match.end(), None if spoilt else value))
    return mentions


def _digits(match: re.Match[str]) -> float:
    """A number in digits; a comma before one or two of them is a decimal point."""
    digits = match["digits"]
    digits = digits.replace(",", ".") if re.fullmatch(r"\d+,\d\d?", digits) else digits
    value = float(re.sub("[,']", "", digits)) * (1000 if match["thousands"] else 1)
    value = -value if "-" in (match["sign"], match["minus"]) else value
    return int(value) if value.is_integer() else value


def _spelt(text: str) -> int | None:
    """A number in words up to 999; None for words that are not one number."""
    total = 0
    for word in re.split(r"[ -]", text.lower()):
        if word == "hundred":
            total = max(total, 1) * 100
        elif word in _TENS:
            if total % 100:
                return None
            total += _SPELT[word]
        elif word in _ONES:
            if total % 10 or 0 < total < 20 or (total % 100 and _SPELT[word] > 9):
                return None
            total += _SPELT[word]
    return total


# Options.


def find_options(options: Iterable[str]) -> Callable[[str], list[Mention]]:
    """Find any of several options in a text, whatever their case.

    The longest of overlapping options counts. One of a single letter is found as a capital.

    Args:
        options: the options.
    """
    forms = {re.sub(r"\s+", " ", option.strip(" .\"'*_`")).casefold(): option for option in options}
    ordered = sorted(forms, key=len, reverse=True)
    several = "|".join(re.escape(form) for form in ordered if len(form) > 1) or r"(?!)"
    single = "|".join(re.escape(form.upper()) for form in ordered if len(form) == 1) or r"(?!)"
    pattern = re.compile(rf"(?<![\w-])(?:(?i:{several})|(?:{single}))(?![\w]|-\w|'\w)")

    def find(text: str) -> list[Mention]:
        return [
            Mention(match.start(), match.end(), forms[match[0].casefold()])
            for match in pattern.finditer(text)
        ]

    return find
