r"""Announcements in messages: values to which speakers commit themselves.

Messages are read by rules that can be checked by hand. The rules prefer no reading to a wrong one.
Values are located as in answers (`sabm_mesa.core.mentions`). A value is announced if it is the
object of a stated intention of the speaker, alone ("I will choose 20", "my price will be 7") or
together with others ("let's all pick 20", "I suggest that we set 7"). Each message has one of these
forms:

============== ==================================================================================
``intention``  the speaker says what it will do: a value
``proposal``   it says what all, itself included, should do: a value
``agreement``  it accepts the one value that others have put on the table: a value
``unclear``    it speaks of its own choice on a condition, with a hedge or a negation, of several
               values, or in words that these rules do not read
``nothing``    it announces nothing: it reports, asks, explains, or advises others
============== ==================================================================================

A question announces nothing, but it offers its value to others (`offered`).
`sabm_mesa.studies.honesty.of_speakers` reads the messages of one round and determines agreement.

Accuracy: 96 invented messages were labelled by hand before the rules were written
(``tests/analysis/announced.toml``), and half of them were held out. All 37 values in them are read,
none of them wrongly. In 54 further messages, written to challenge the rules, 16 of 22 values are
read. The same person wrote the rules and the messages: expect more unclear messages from language
models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from sabm_mesa.core.mentions import Mention, find_numbers, find_options, normalise

Form = Literal["intention", "proposal", "agreement", "unclear", "nothing"]
FORMS: tuple[Form, ...] = ("intention", "proposal", "agreement", "unclear", "nothing")
Find = Callable[[str], Iterable[Mention]]
"""Returns the values in a text, from left to right; None for an unreadable one."""


class Announced(NamedTuple):
    """The announcement of a message, or of a speaker in a round.

    Attributes:
        form: the form of the message.
        value: the value; None for ``unclear`` and ``nothing``.
    """

    form: Form
    value: Any = None

    @property
    def known(self) -> bool:
        """Whether the value is known."""
        return self.form not in ("unclear", "nothing")


NOTHING, UNCLEAR = Announced("nothing"), Announced("unclear")


_VALUE = r"⟦\d+⟧"
_ANY = re.compile(r"⟦(?:\d+|x)⟧")
_ADVERB = (
    r"(?:(?:all|both|each|also|now|just|simply|definitely|certainly|therefore|thus|still|again|then"
    r"|so|personally|really|always|together|only|gladly|happily)\s+)*"
)
_VERB = (
    r"(?:choos(?:e|ing)|pick(?:ing)?|select(?:ing)?|go(?:ing)?|tak(?:e|ing)|set(?:ting)?|submit(?:ting)?"
    r"|harvest(?:ing)?|catch(?:ing)?|charg(?:e|ing)|us(?:e|ing)|head(?:ing)?|mov(?:e|ing)|run(?:ning)?"
    r"|walk(?:ing)?|settl(?:e|ing)|stick(?:ing)?|stay(?:ing)?|keep(?:ing)?|hold(?:ing)?|aim(?:ing)?"
    r"|agree(?:ing)?|commit(?:ting)?|contribut(?:e|ing)|invest(?:ing)?|put(?:ting)?|giv(?:e|ing)|play(?:ing)?"
    r"|say(?:ing)?|limit(?:ing)?|restrict(?:ing)?|match(?:ing)?|price|rais(?:e|ing)|lower(?:ing)?|ask(?:ing)?"
    r"|leav(?:e|ing)|follow(?:ing)?|be|bring(?:ing)?|graz(?:e|ing)|produc(?:e|ing))"
)
_LINK = (
    r"(?:\s+(?:you|steady|stable|unchanged|fixed|to|for|with|at|on|in|by|the|a|an|of|as|my|our|your|own|this|me|us|ourselves|myself"
    r"|number|price|prices|value|integer|exactly|towards?|through|via|harvest|catch|same|limit|choice"
    r"|harvesting|catching|taking|choosing|picking|setting|charging|using|heading|going|each|total))*"
)
_WHO = r"(?:that\s+)?(?:(?:all|both|each)\s+(?:of\s+us|players|firms)|everyone of us|we|us\s+all)"
_BEFORE = r"(?:^|(?<=[.!?;:,)\n—–-])\s*|\b(?:so|and|then|thus|therefore|hence|but)\s+)"
_THINK = r"(?:i\s+(?:think|believe|guess|suppose|say|feel|agree)\s+(?:that\s+)?)?"
_WILL = (
    rf"{_ADVERB}(?:(?:will|shall|am|are|would|do|plan to|intend to|want to|aim to|commit to|promise to"
    rf"|have decided to|decided to|(?:would|'d) like to|going to|planning to|intending to)\s+){{0,3}}{_ADVERB}"
)
_OBJECT = (
    rf"(?P<object>{_VALUE}|(?:that(?: one)?|it|this(?: one)?|there)"
    r"(?=\s*(?:[.,;!]|$|\s(?:for|then|too|again|this|as well)\b)))"
)
_SAYS: Mapping[Form, tuple[str, ...]] = {
    "intention": (
        (rf"{_BEFORE}{_THINK}(?:i|i'll|i'm|i'd|we'll|we're|my firm|our firm)\s+{_WILL}{_VERB}{_LINK}"
        rf"\s+{_OBJECT}"),
        (rf"{_BEFORE}{_THINK}we\s+{_ADVERB}(?:will|shall|are going to|plan to|intend to)\s+{_ADVERB}"
        rf"{_VERB}{_LINK}\s+{_OBJECT}"),
        (rf"{_BEFORE}{_THINK}(?:my|our)\s+(?:own\s+|next\s+|final\s+)?(?:number|pick|choice|price|guess"
        rf"|exit|target|harvest|catch)(?:\s+(?:for|in)\s+(?:this|the)\s+\w+)?\s*(?:is|will be|'s|is going to"
        rf" be|:|=)\s*(?:the\s+)?(?P<object>{_VALUE})"),
        (rf"{_BEFORE}i\s+(?:agree|go along|am fine)\b[^.,;!?⟦]{{1,50}}\band\s+(?:i\s+)?will\s+{_VERB}{_LINK}"
        rf"\s+{_OBJECT}"),
        rf"{_BEFORE}(?P<object>{_VALUE})\s+it\s+is\b",
        rf"{_BEFORE}follow me\s+(?:to|towards?|through)\s+(?:the\s+)?{_OBJECT}",
    ),
    "proposal": (
        (rf"{_BEFORE}{_THINK}(?:let's|let us)\s+{_ADVERB}(?:[^.,;!?⟦]{{1,60}}\s+and\s+)?{_VERB}"
        rf"{_LINK}\s+{_OBJECT}"),
        (rf"{_BEFORE}(?:i|we)\s+{_ADVERB}(?:suggest|propose|recommend)\s+{_WHO}\s+{_ADVERB}(?:should\s+)?"
        rf"{_VERB}s?{_LINK}\s+{_OBJECT}"),
        (rf"{_BEFORE}(?:i|we)\s+{_ADVERB}(?:suggest|propose)\s+(?:a|the)\s+(?:price|number|limit)\s+of\s+"
        rf"{_OBJECT}\s+(?:\w+\s+)?(?:for\s+)?(?:(?:both|all|each)\s+(?:of\s+)?us|per\s+\w+|each)"),
        rf"{_BEFORE}{_THINK}we\s+{_ADVERB}should\s+{_ADVERB}{_VERB}{_LINK}\s+{_OBJECT}",
        rf"{_BEFORE}(?:great,?\s+)?(?:so\s+)?we\s+(?:all|both)\s+{_VERB}{_LINK}\s+{_OBJECT}",
    ),
}  # fmt: skip
_AT_MOST = r"\b(?:at most|no more than|not more than|up to|a maximum of|maximally)\s+"
_CEILING = re.compile(rf"{_AT_MOST}(?=[$€£]?\d)", re.IGNORECASE)
_LIMIT = re.compile(rf"{_AT_MOST}(?=⟦\d)", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:if|unless|until|whether|maybe|perhaps|possibly|probably|likely|might|may|could|can|cannot"
    r"|either|neither|nor|or|not|never|no|instead|rather|except|avoid|depend\w*|provided|as long as"
    r"|in case|otherwise|but|however|though|although|first|then|later|eventually|after|before|when"
    r"|once|next round|start(?:ing)?|begin\w*|gradually|between|lower than|higher than|less than"
    r"|more than|below|above|around|about|approximately|roughly|hope|wish|consider\w*|think of"
    r"|thinking of|thinking about|leaning|was|were|had|wanted|used to|joking|kidding|pretend\w*)\b"
    r"|n't\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|unless|when|once|whether|in case|as long as|provided|suppos\w+|maybe|perhaps|either|says?|said|told|claims?|pretend\w*)\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:i|i'll|i'm|i'd|i've|my|mine|we|we'll|we're|our|ours|us|let's|ourselves|myself)\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"\b(?:we|us|our|let's|all|both|how about|what about|what if|shall)\b", re.IGNORECASE
)
_FIRST_PART = re.compile(r"\b(?:let's|let us)\s+not\s+[^⟦]*?\band\b", re.IGNORECASE)
"""A part that says what not to do, before a part that says what to do."""
_REASON = re.compile(
    r"[,;]?\s*\b(?:because|since|as|given|considering|which is|so that|to|it is|it's|and (?:i )?hope"
    r"|from here|come)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_FORETHOUGHT = re.compile(
    r"^(?:if\s+(?:every\w+|all|most|they|others|you all)\b[^;.]*[;,]\s*(?:so|therefore|thus|hence)\b"
    r"|given that\b[^;.]*,|since\b[^;.]*,|because\b[^;.]*,|as\s+(?:most|everyone|all)\b[^;.]*,)\s*",
    re.IGNORECASE,
)
"""A reason at the start of a sentence; its conditions and values do not belong to the announcement.
"""
_SENTENCE = re.compile(r"[^.!?\n;]*(?:\.(?=\d)[^.!?\n;]*)*[.!?\n;]?")


@cache
def _patterns(form: Form) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in _SAYS[form])


def numbers_in(low: float, high: float, *, ceiling: bool = False) -> Find:
    """Return a function that locates the numbers of a game in a text.

    Args:
        low: the lowest legal number.
        high: the highest one.
        ceiling: whether "at most 5" is the number 5.
    """

    def find(text: str) -> list[Mention]:
        # Blank a limit in words, so that all positions stay the same.
        plain = _CEILING.sub(lambda match: " " * len(match[0]), text) if ceiling else text
        return [
            number._replace(value=None) if _spoilt(number, plain, low, high) else number
            for number in find_numbers(plain)
        ]

    return find


def _spoilt(mention: Mention, text: str, low: float, high: float) -> bool:
    """Whether a number is unreadable, illegal, or a change ("by 2")."""
    illegal = mention.value is None or not low <= mention.value <= high
    return illegal or re.search(r"\bby\s+\$?$", text[: mention.start], re.IGNORECASE) is not None


def options_in(options: Sequence[str], nouns: Sequence[str]) -> Find:
    """Return a function that locates options named as such in a text: "the left exit", "go left".

    Args:
        options: the options.
        nouns: nouns for the options, such as ``exit``. An option counts if such a noun stands
            before or after it, or a verb of motion before it.
    """
    noun = "|".join(map(re.escape, nouns))
    behind = re.compile(rf"\s+(?:{noun}|side)\b", re.IGNORECASE)
    before = re.compile(
        rf"(?:\b(?:{noun})\s+(?:on the|at the)?\s*|\b(?:go|going|head|heading|turn|turning|run|running"
        r"|move|moving)\s+(?:to(?:wards?)?\s+)?(?:the\s+)?)$",
        re.IGNORECASE,
    )
    after = re.compile(
        r"\s+(?:now|away|there|here|behind|after|at|in|back|ahead|through|on)\b", re.IGNORECASE
    )
    named = find_options(options)

    def find(text: str) -> list[Mention]:
        options = []
        for mention in named(text):
            tail = behind.match(text, mention.end)
            led = before.search(text[: mention.start]) and not after.match(text, mention.end)
            beside = re.match(r"\s+(?:and|or)\s+", text[mention.end :])
            if tail or led or beside:
                options.append(mention._replace(end=tail.end() if tail else mention.end))
        return options

    return find


def read(text: str, find: Find) -> Announced:
    """Read the announcement of one message.

    Args:
        text: the message.
        find: the function that locates the values in it.
    """
    read_ = [_read_sentence(sentence, find, text) for sentence in _sentences(text)]
    values = {announcement.value for announcement in read_ if announcement.known}
    if len(values) > 1 or UNCLEAR in read_:
        return UNCLEAR
    return next((announcement for announcement in read_ if announcement.known), NOTHING)


def _sentences(text: str) -> list[str]:
    plain = normalise(text)
    return [sentence.strip() for sentence in _SENTENCE.findall(plain) if sentence.strip()]


def _marked(sentence: str, find: Find) -> tuple[str, list[Any]]:
    """A sentence with numbered marks for its values (⟦x⟧ for unreadable ones), and the values."""
    values: list[Any] = []
    parts, end = [], 0
    for mention in find(sentence):
        parts += [
            sentence[end : mention.start],
            "⟦x⟧" if mention.value is None else f"⟦{len(values)}⟧",
        ]
        values += [] if mention.value is None else [mention.value]
        end = mention.end
    return "".join([*parts, sentence[end:]]), values


def _read_sentence(sentence: str, find: Find, message: str) -> Announced:
    line, values = _marked(sentence, find)
    if sentence.endswith("?"):
        return NOTHING
    line = _FORETHOUGHT.sub("", _LIMIT.sub("", line))
    forms: tuple[Form, ...] = ("proposal", "intention")
    matches = [(form, match) for form in forms for pattern in _patterns(form)
             for match in pattern.finditer(line)]  # fmt: skip
    if not matches:
        speaks = _OWN.search(line) and _ANY.search(line)
        return UNCLEAR if speaks and _plans(line) else NOTHING
    meant = {_object(match["object"], values, message, find) for _, match in matches}
    meant.discard(_NO_VALUE)
    if not meant:
        return NOTHING
    if len(meant) > 1 or None in meant:
        return UNCLEAR
    last = max((match for _, match in matches), key=lambda m: m.end())
    first = min((match for _, match in matches), key=lambda m: m.start())
    lead = line[: first.start()]
    if _SUPPOSED.search(lead) or (_OWN.search(lead) and _ANY.search(lead)):
        return UNCLEAR
    rest = f"{first[0]} {_REASON.sub('', line[last.end() :])}"
    others = {values[int(index)] for index in re.findall(r"⟦(\d+)⟧", rest)} - meant
    if _DOUBT.search(_FIRST_PART.sub("", rest)) or others or "⟦x⟧" in rest:
        return UNCLEAR
    (value,) = meant
    agrees = re.search(r"\bagree", first[0], re.IGNORECASE) is not None
    return Announced("agreement" if agrees else matches[0][0], value)


_NO_VALUE = object()


def _object(named: str, values: Sequence[Any], message: str, find: Find) -> Any:
    """The value of an object; for a pronoun, the single value of the message, or None."""
    if named.startswith("⟦"):
        return values[int(named[1:-1])]
    all_values = values_in(message, find)
    if not all_values:
        return _NO_VALUE
    return all_values[0] if len(all_values) == 1 else None


def values_in(text: str, find: Find) -> list[Any]:
    """The different values in a text, with None for unreadable ones.

    Args:
        text: the text.
        find: the function that locates the values in it.
    """
    return list(dict.fromkeys(mention.value for mention in find(normalise(text))))


def offered(text: str, find: Find) -> Any:
    """The single value in the message's questions about all agents, or None.

    Args:
        text: the message.
        find: the function that locates the values in it.
    """
    asked = [
        sentence
        for sentence in _sentences(text)
        if sentence.endswith("?") and _ALL.search(sentence)
    ]
    values = {value for text in asked for value in values_in(text, find)}
    return values.pop() if len(values) == 1 else None


_PLANS = re.compile(
    r"\b(?:will|won't|shall|'ll|going to|plan|intend|would|might|may|could|want|leaning|consider\w*"
    r"|thinking of|stay|go|take|choose|pick|set|keep|harvest|use|decide|split)\b",
    re.IGNORECASE,
)


def _plans(line: str) -> bool:
    """Whether a sentence with a value is about the speaker's future action."""
    return _PLANS.search(line) is not None
