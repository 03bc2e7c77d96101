"""Quoting what a mind said in the prompts of others, so that it is a message and nothing else.

A text on one line can still try to be more: the line of another speaker ("… Player #3: I choose
0"), a role or a mark of the chat ("System: …", ``<|im_start|>``, ``[INST]``), or a part of the
prompt's form (a code fence, a heading, a list). What makes it look so is replaced by what reads
alike: the colon of a label becomes a dash, the brackets of a mark become round ones. A text that
holds nothing of the kind stays exactly as it is.

Labels are what the lines of the prompt entries write before a colon, whatever stands in their
placeholders. They are found without regard to case, blanks, ``#``, emphasis, accents, invisible
signs, and letters and colons of other scripts that look alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

from sabm_mesa.errors import one_line

ROLES = (
    "system", "assistant", "user", "human", "developer", "tool", "function", "instruction",
    "instructions", "prompt",
)  # fmt: skip
"""What chats call those who speak in them."""
_LONGEST_LABEL = 10
"""Words of a label at the most; more of them before a colon are a sentence."""
_REMEMBERED = 8192
"""Quotations that are kept: in every round each message enters the prompts of many."""

_ALIKE = (
    ("\u2236\u02d0\u02f8\ua789\u05c3\u0589\u1803\u1809\u0703\u0704\u205a", ":" * 11),
    ("\u3010\u3014\u27e6\u3011\u3015\u27e7", "[[[]]]"),
    # Cyrillic and Greek letters; small ones stand for those whose capitals are alike, too.
    ("\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442", "abekmhopct"),
    ("\u0443\u0445\u0455\u0456\u0458\u04bb\u04cf\u0501\u051b\u051d", "yxsijhldqw"),
    ("\u03b1\u03b2\u03b5\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1", "abehikmnop"),
    ("\u03c4\u03c5\u03c7\u0131\u0251\u0261", "tyxiag"),
)
_LOOK_ALIKE = {
    sign: latin for signs, latins in _ALIKE for sign, latin in zip(signs, latins, strict=True)
}
_INVISIBLE = frozenset("\u115f\u1160\u3164\uffa0\u2800")
"""Letters and symbols that show nothing; other invisible signs are not printable or marks."""

_BETWEEN = r"[\W_]*"
"""What may stand between the words of a label."""
_BEFORE = r"(?:[\s#]+|(?=\d))"
"""What may stand before the place of a placeholder."""
_PLACE = r"[^\s:]+(?:\s[^\s:]+){0,2}"
"""What a placeholder may stand for: up to three words."""
_COLON = r"[\s\"'*_`~)\]}>\u2019\u201d\u00bb]*?(?P<colon>\s*:[:\s]*)"
"""The colon of a label, and what may stand before it."""
_MARK = "|".join((*ROLES, "inst", "sys", "tools", "available_tools", "tool_calls", "tool_results"))
_TAG = r"[/|!?]*\s*[a-z][\w|:.\-]*(?:\s+[\w\-]+\s*=[^<>]*)?\s*[/|?]*\s*"
_MARKS = (
    # what is found, and by its group what is put in its place
    re.compile(rf"(?P<open><+)\s*{_TAG}(?P<close>>+)"),
    re.compile(rf"(?P<open>\[)\s*/?\s*(?:{_MARK})\s*(?P<close>\])"),
    re.compile(r"(?P<open><+)(?=\||/\D)"),
    re.compile(r"(?<=\|)(?P<close>>+)"),
    re.compile(r"(?P<fence>`{3,}|~{3,})"),
    re.compile(r"(?P<hash>#{2,})"),
    re.compile(r"\A(?P<nothing>(?:[-*+\u2022>#]\s+)+)(?=\S)"),
)
_INSTEAD = {
    "colon": " - ", "open": "(", "close": ")", "fence": "'''", "hash": "#", "nothing": "",
}  # fmt: skip


def labels_of(entries: Mapping[str, str]) -> str:
    """What finds the labels of prompt entries in a folded text, as a regular expression.

    Args:
        entries: entry → template. Those named ``classical_…`` are messages of classical minds.
    """
    roles = {*ROLES, *(f"{role}{_BETWEEN}(?:prompt|message)" for role in ROLES)}
    templates = [text for name, text in entries.items() if not name.startswith("classical_")]
    labels = roles.union(*map(_labels, templates))
    return "|".join(sorted(labels, key=lambda label: (-len(label), label)))


@lru_cache(maxsize=_REMEMBERED)
def quoted(text: str, labels: str, names: tuple[str, ...] = ()) -> str:
    """A text on one line that holds no label and no mark.

    Args:
        text: what was said.
        labels: what `labels_of` gave.
        names: names of speakers, each of them a label too.
    """
    own = _pattern(labels, names)
    text = one_line(text)
    while (changed := _replaced(text, own)) != text:
        text = changed  # what was taken away may have kept apart what is a label together
    return text


def _replaced(text: str, labels: re.Pattern[str]) -> str:
    seen, places = _folded(text)
    for pattern in (labels, *_MARKS):
        all_found = list(pattern.finditer(seen))
        for found in reversed(all_found):
            for name in sorted(found.groupdict(), key=found.start, reverse=True):
                start, end = found.span(name)
                after = places[end - 1] + 1
                text = text[: places[start]] + _INSTEAD[name] + text[after:]
        if all_found:
            text = one_line(text)
            seen, places = _folded(text)
    return text


@lru_cache(maxsize=64)
def _pattern(labels: str, names: tuple[str, ...]) -> re.Pattern[str]:
    named = [rf"{words}(?:\s[^\s:]+)?" for words in map(_words, names) if words]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join([*named, labels])}){_COLON}")


def _labels(template: str) -> Iterable[str]:
    """The labels of an entry: what stands before the first colon of each of its lines."""
    for line in template.splitlines():
        label, colon, after = line.partition(":")
        if not colon or (after and not after[0].isspace()):
            continue
        parts = [_words(part) for part in re.split(r"\{\w*\}", label)]
        if not any(parts):
            # Nothing but a placeholder stands before what is said: any word may be a speaker.
            if len(parts) > 1 and "{text}" in after:
                yield r"[^\s:]+"
        elif len(re.findall(r"\w+", label)) <= _LONGEST_LABEL:
            first = next(i for i, part in enumerate(parts) if part)
            places = (
                rf"{_BEFORE}{_PLACE}" + (part and rf"\s{part}") for part in parts[first + 1 :]
            )
            yield parts[first] + "".join(places)


def _words(text: str) -> str:
    """The words of a text as a pattern, whatever stands between them."""
    return _BETWEEN.join(map(re.escape, re.findall(r"\w+", _folded(text)[0])))


def _folded(text: str) -> tuple[str, range | list[int]]:
    """A text as a reader sees it, in small Latin letters, and for each sign its place in `text`."""
    if text.isascii():
        return text.lower(), range(len(text))
    signs, places = [], []
    for place, sign in enumerate(text):
        for part in unicodedata.normalize("NFKD", sign).casefold():
            if part not in _INVISIBLE and not unicodedata.category(part).startswith("M"):
                signs.append(_LOOK_ALIKE.get(part, part))
                places.append(place)
    return "".join(signs), places
