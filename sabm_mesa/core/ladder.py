r"""The second rung of reading: an answer in words that give exactly one value.

The first rung takes an answer that is exactly what was asked for (`sabm_mesa.core.answers`). Here
the answers of chatty models are read: "Answer: 33", "I choose **33**.", "\boxed{33}", "the left
exit". Nothing is guessed. A value counts only where it is *given*: on a line of its own, behind a
label ("Final answer:"), or as the object of a choice in the first person ("I choose …"). The only
value of an answer also counts where its sentence is about the speaker's own choice. Values that are
merely mentioned do not count, and where two different ones are given, or a word takes one
back, there is none.

The values in a text are found by the spec (`Mention`) and replaced by numbered marks, so that the
patterns here hold for numbers, options and lists alike.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

__all__ = [
    "Mention",
    "corrects",
    "find_numbers",
    "find_objects",
    "find_options",
    "given_value",
    "normalise",
    "read_object",
    "sets_apart",
    "takes_back",
    "unwrap",
    "without_fences",
]


class Mention(NamedTuple):
    """A value in a text.

    Attributes:
        start: where it begins.
        end: where it ends.
        value: the value; None for what looks like one and cannot be read, such as a range.
    """

    start: int
    end: int
    value: Any


LONGEST = 20_000
"""Characters of a text that is read here at most."""
_VALUE = r"⟦(\d+)⟧"
_ANY = re.compile(r"⟦(?:\d+|x)⟧")
_UNIT = (
    r"(?:\s*(?:(?:us|u\.s\.)?\s*dollars?|euros?|pounds?|usd|eur|gbp|bucks|points?|tokens?|coins?"
    r"|credits?|units?|tons?|tonnes?|fish|sheep|cows?|animals?|ecus?|francs?)\b"
    r"|\s+(?:exit|door|option|one|side)\b)?(?:\s+(?:of fish|per unit|per ton|a unit|each|in total)\b)?"
)
_PUT = r"[\s\"'“”‘’()\[\]{}.,!;:*_`|✅👉🎯🙂😊👍💡🚪️]*"
_HELLO = (
    r"(?:(?:sure(?: thing)?|okay|ok|certainly|of course|absolutely|alright|all right|well|hmm+|yes"
    r"|great|understood|got it|right|thanks|thank you|hello|hi|very well|definitely|clearly|now"
    r"|finally|ultimately|overall|personally|in (?:conclusion|summary|short|the end)|only|just|both|then|for now|right now"
    r"|all of them|for (?:this|the (?:next|coming|upcoming)) (?:round|period|turn|game)"
    r"|in this (?:round|period|turn|game))\b"
    r"[\s,.!:;—–-]*)*"
)
_NOUN = (
    r"(?:answers?|choices?|number|guess|picks?|decision|price|bid|offer|selection|value|response|option"
    r"|exit|door|action|contribution|harvest|integer|conclusion|move|vote|proposal|output|result"
    r"|route|path|codes?|labels?|categor(?:y|ies)|tags?|classification|speaker|request|catch|quota|reply|recommendation|verdict|preference)"
)
_KIND = (
    r"(?:final|best|chosen|selected|optimal|own|actual|definitive|official|preferred|one-word"
    r"|numeric(?:al)?|integer|single|resulting|next|proposed|secret|strategic|rational|personal"
    r"|applicable|relevant|matching|appropriate|assigned|(?:best|most)[- ]fitting|new)"
)
_OF = (
    r"(?:(?:\s+(?:for|in|of|as|to|is|on)\s+(?:this|the|my|next|round)\b[\w\s]{0,24}?(?:⟦x⟧)?"
    r"|\s+(?:this|next)\s+(?:round|period|turn|time)|\s+(?:that|which)\s+appl(?:y|ies)"
    r"(?:\s+to\s+(?:this|the)\s+\w+)?|\s+(?:assigned|chosen|selected|set|remains\s+\w+))?)"
)
_LABEL = rf"(?:round\s+⟦x⟧\s+)?(?:(?:my|the|our|your)\s+(?:(?:firm|company)'s\s+)?)?(?:{_KIND}\s+){{0,2}}(?:{_NOUN}\s+)?{_NOUN}{_OF}"
_MINE = (
    rf"(?:my\s+(?:{_KIND}\s+){{0,2}}(?:{_NOUN}\s+)?{_NOUN}|my\s+coding|the\s+(?:{_KIND}\s+)*answer"
    rf"|the\s+(?:{_NOUN}\s+)?{_NOUN}\s+(?:that\s+)?i(?:'ve|'m|\s+am|\s+have|'ll|\s+will|'d|\s+would)?"
    r"\s+(?:now\s+)?(?:choos\w+|chosen?|pick\w*|select\w*|set(?:ting)?|settled\s+on|decided\s+on|propose|want"
    r"|charge|charging|submit\w*|assign\w*)(?:\s+(?:for\s+)?this\s+(?:round|time|period))?"
    rf"|(?:the\s+)?(?:(?:only|single)\s+)?(?:applicable|relevant|matching|appropriate|assigned|(?:best|most)[- ]fitting)\s+{_NOUN}"
    rf"|the\s+{_NOUN}\s+(?:that|which)\s+appl(?:y|ies))"
)
_SO = (
    r"(?:(?:so|therefore|thus|hence|accordingly|consequently|and|then|that's why|as such|this way"
    r"|for (?:this|the (?:next|coming|upcoming)) (?:round|period|turn)|in this (?:round|period|turn)"
    r"|this (?:round|period|turn|time)|for (?:that|this) reason|given (?:this|that|all this)|based on (?:this|that|all this)"
    r"|considering (?:this|that|all this)|with (?:this|that) in mind|after (?:some|careful) "
    r"(?:thought|consideration))[\s,]+)*"
)
_ADVERB = (
    r"(?:(?:therefore|thus|hence|now|also|definitely|simply|just|personally|confidently|then|so"
    r"|finally|ultimately|hereby|still|again|strategically)\s+)*"
)
_TO = (
    r"(?:\s+(?:to|for|with|at|on|in|as|be|the|a|an|this|that|number|integer|value|price|amount|exit|door|option|of"
    r"|my|our|own|choice|pick|answer|total|exactly|towards?|through|via|harvest|is|catch|speaker"
    r"|price of|price point|it (?=to|at)|contribution|codes?|labels?|route|path|following|:|=|\"|⟦x⟧ codes?"
    r"|(?:the|a|an|my|our|this|that)\s+(?!below|above|under|over|near|half|twice|double)[a-z-]+\s+"
    r"(?:(?:price|number|value|amount|bid)\s+of|(?:option|one)\s*:|(?:price|option|one)\s*:)))*"
)
_VERB = (
    r"(?:choos(?:e|ing)|pick(?:ing)?|select(?:ing)?|go(?:ing)?(?: back)?|start(?:ing)?|try(?:ing)?|tak(?:e|ing)|say|answer(?:ing)?"
    r"|set(?:ting)?|submit(?:ting)?|contribut(?:e|ing)|harvest(?:ing)?|bid(?:ding)?|offer(?:ing)?"
    r"|propos(?:e|ing)|guess(?:ing)?|settl(?:e|ing)|decid(?:e|ing)|opt(?:ing)?|charg(?:e|ing)"
    r"|enter(?:ing)?|us(?:e|ing)|head(?:ing)?|mov(?:e|ing)|vot(?:e|ing)|giv(?:e|ing)|catch(?:ing)?"
    r"|invest(?:ing)?|put(?:ting)?(?: in)?|walk(?:ing)?|run(?:ning)?|leav(?:e|ing) (?:through|via|by)|follow(?:ing)?"
    r"|match(?:ing)?(?: (?:their|his|her|its|the (?:rival|competitor|opponent|other)(?:'s|'s firm's)?)"
    r" (?:price|bid|offer)| (?:them|it|him|her))?|label(?:ing)?(?: (?:this|the|it)(?: message)?)?"
    r"|hold(?:ing)?(?: steady)?|stay(?:ing)?|remain(?:ing)?|round(?:ing)?(?: (?:up|down))?(?: (?:that|this|it))?"
    r"|prefer|undercut(?:ting)?(?: (?:it|them|him|her))?|keep(?:ing)? my target|ask(?:ing)?|stick(?:ing)?|price|make it|(?:keep(?:ing)?|leav(?:e|ing)|hold(?:ing)?) (?:my|the|our)(?: own)? price|assign(?:ing)?|appl(?:y|ying))"
)
_I = (
    rf"(?:(?:i|we)\s+{_ADVERB}(?:(?:will be|would be|will|would|shall|am|want|choose|decide|have decided|plan|intend"
    rf"|(?:would|'d) like)\s+)?{_ADVERB}(?:(?:going|like)\s+)?(?:to\s+)?"
    rf"|(?:i'll|i'd|i'm|we'll)\s+{_ADVERB}(?:(?:going|like|choosing)\s+to\s+|rather\s+)?|let me\s+"
    r"|let's\s+|i think i(?:'ll| will|'d| would)\s+|i(?:'ve| have) decided to\s+)"
)
_DONE = (
    r"(?:(?:i|we) have|i've|we've) (?:now |already |just )?(?:settled|chosen|decided|picked|selected|set"
    r"|opted|gone|arrived|assigned)"
)
"""A choice that is made."""
_CHANGE = (
    r"(?:lower|rais|reduc|increas|cut|drop|chang|switch|mov|adjust|shift)\w*"
    r"(?:\s+(?:my|the|our)\s+(?:own\s+)?(?:price|target|bid|offer|choice|exit))?"
    r"(?:\s+(?:from|by)\s+(?:the\s+)?⟦(?:\d+|x)⟧)?"
)
"""A change to a value, perhaps from another one."""
_START = r"(?:^|(?<=[.!;:,—–(])\s*)"
_END = r"(?P<tail>[^\n]*)"
_GIVEN = {
    # in a box, between tags, behind a label that says that it is the answer
    "final": (
        (
            rf"{_START}{_HELLO}{_SO}(?:⟪|(?:(?:my|the|our|your)\s+)?(?:final\s+)?(?:answer|final\s+"
            rf"{_NOUN}){_OF}\s*(?::|=|->|→|is|\s[-–—]\s)\s*(?:that\s+)?){_PUT}{_VALUE}{_UNIT}{_END}"
        ),
    ),
    # on a line of its own, behind another label, or in the first person
    "given": (
        rf"^{_PUT}{_HELLO}{_PUT}(?:the\s+)?{_VALUE}{_UNIT}{_END}",
        rf"{_START}{_HELLO}{_SO}{_LABEL}\s*(?::|=|->|→|\s[-–—]\s)\s*{_PUT}(?:the\s+)?{_VALUE}{_UNIT}{_END}",
        (
            rf"{_START}{_HELLO}{_SO}{_MINE}{_OF}\s+(?:is|are|would be|will be|:)\s*:?\s*(?:to\s+\w+\s+)?"
            rf"(?:the\s+|exit\s+)*{_PUT}{_VALUE}{_UNIT}{_END}"
        ),
        rf"{_START}{_HELLO}{_SO}{_I}{_VERB}{_TO}\s*{_PUT}{_VALUE}{_UNIT}{_END}",
        rf"^{_HELLO}(?:{_VERB}){_TO}\s*{_PUT}{_VALUE}{_UNIT}{_END}",
        rf"(?:{_START}{_HELLO}{_SO}{_I}|^{_HELLO}(?!\w+ing\b)){_CHANGE}\s+to\s+(?:the\s+)?{_PUT}{_VALUE}{_UNIT}{_END}",
        rf"{_START}{_HELLO}{_SO}{_DONE}{_TO}\s*{_PUT}{_VALUE}{_UNIT}{_END}",
        (  # "I'll come down a little and charge 7"
            rf"{_START}{_HELLO}{_SO}(?:i|we)(?:'ll|'d|'m)?\s+(?!if\b)[^.!?;:⟦⟧\n]{{2,80}}?\s(?:and|so)"
            rf"\s+(?:i(?:'ll| will)\s+|will\s+|would\s+)?{_VERB}{_TO}\s*{_PUT}{_VALUE}{_UNIT}{_END}"
        ),
        rf"{_START}(?:so|therefore|thus|hence)\s*[,:]?\s*{_PUT}{_VALUE}{_UNIT}(?P<tail>{_PUT})$",
        (  # "Undercutting by ten cents: 6.90"
            rf"{_START}{_HELLO}(?:{_VERB}|(?:my|our)\s+{_NOUN}|i(?:'ll|'d|'m)?|let's"
            rf"|considering|given|weighing|all in all)\b[^.!?;:⟦\n]{{0,60}}"
            rf"(?:⟦x⟧[^.!?;:⟦\n]{{0,20}})?(?<!\bby):\s*{_PUT}{_VALUE}{_UNIT}"
            rf"(?P<tail>{_PUT}(?:it is)?{_PUT})$"
        ),
        (  # "… gives 10.50, so that's what I'll charge"
            rf"{_VALUE}{_UNIT}(?P<tail>\s*[,;–—-]?\s*(?:and |so )*(?:that is|that's|which is|this is)\s+"
            rf"(?:what|the {_NOUN})\s+i(?:'ll|'d| will| would)?\s+{_VERB}{_PUT})$"
        ),
        (  # "6.80 strikes me as the sweet spot", "I think 12 is fair", "price and threat apply"
            rf"{_START}{_HELLO}(?:i\s+(?:think|believe|feel|find|say|guess)\s+(?:that\s+)?)?"
            rf"(?:the\s+(?:codes?|labels?)\s+)?{_PUT}"
            rf"{_VALUE}{_UNIT}(?=\"?\s+(?:is|seems?|feels|sounds|looks|strikes me|(?:(?:all|both)\s+)?appl(?:y|ies)|fits?)\b)"
            rf"(?![^.!?\n]*\b(?:them|him|her|others?|rivals?|competitors?|opponents?)\b){_END}"
        ),
        (  # "This message is a greeting"
            rf"{_START}{_HELLO}(?:(?:this|the)\s+(?:message|statement|text)\s+(?:is|should\s+(?:be|get|have)|gets|contains|includes"
            rf"|expresses|shows|has|mentions)|it\s+is\s+about|this\s+is\s+(?:just|only)|it's\s+an?|(?:it|this)\s+sounds\s+like)(?:\s+(?:about|just|only|both|an?|the\s+codes?"
            rf"|(?:coded|labell?ed)\s+as))*\s+{_PUT}{_VALUE}{_UNIT}{_END}"
        ),
        (
            rf"^(?:so|therefore|thus|hence|=>|→|->|⇒|i(?:'d| would)? (?:say|think|guess|believe|suggest))"
            rf"[\s,:]*(?:the\s+)?{_PUT}{_VALUE}{_UNIT}{_END}"
        ),
        (
            rf"^{_HELLO}(?:(?:i think )?it is|(?:i think )?it's|that's|that is|this is|i am at|i'm at|i'm thinking|put me down for)"
            rf"\s+(?:the\s+)?{_PUT}{_VALUE}{_UNIT}{_END}"
        ),
    ),
}


@cache
def _patterns(tier: str) -> tuple[re.Pattern[str], ...]:
    """The patterns of a tier, compiled at the first text: runs without texts do not wait for it."""
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in _GIVEN[tier])


# Words that may follow a value: nothing, an end, or the reason for it.
_NOTHING = re.compile(rf"{_PUT}", re.IGNORECASE)
_POLITE = re.compile(
    rf"{_PUT}(?:it is|it's|please|thanks|thank you|final(?: answer)?|for me|for now|for this round"
    r"|this round|in this round|this time|as my (?:final )?\w+|as the (?:final )?answer|i think|i guess"
    r"|i'd say|is my (?:final )?(?:answer|choice|number|pick|guess|price|decision|bid|offer)"
    r"|(?:and )?nothing (?:else|more)|again|even|definitely|clearly|plain and simple|fits?|(?:all |both )?appl(?:y|ies)(?: here)?(?: to (?:this|the) (?:message|text|statement))?"
    r"|(?:is|seems|feels|sounds|looks|strikes me)(?: like| as)?(?: a| the)? (?:good|right|best|fine|fair"
    r"|reasonable|optimal|safe|solid|sensible|ideal|great|sweet)(?: (?:choice|number|price|pick|answer|option|exit"
    rf"|value|guess|spot))?(?: for me| here| to me)?|would be my (?:choice|pick|answer|number)|exit|door){_PUT}",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"\s*[,;.(]*\s*(?:[—–-]\s*(?=[a-z⟦])(?!⟦\d))?(?:\(\s*)?(?:because|since|as (?=[a-z])|given"
    r"|based on|considering|due to|(?:this is |that is |i\.e\.,? )?(?:about |roughly )?(?:⟦x⟧[\s-]*(?:thirds?|of|/|×|\*)"
    r"|two[- ]thirds)|which is|reason(?:ing)?\b|explanation\b|my reasoning|rationale"
    r"|i (?:believe|think|expect|chose|assume) (?!⟦))|\s*[—–](?!\s*⟦\d)"
    r"|\s*,\s*(?:just |slightly |well )?(?:below|under|above|over)"
    r" (?:their|his|her|its|the (?:rival|competitor|opponent|other))",
    re.IGNORECASE,
)
"""A reason: other values may stand in it."""
_REMARK = re.compile(
    r"\s*[,;.(—–-]*\s*(?:for\b|so (?:that|i|as)\b|which\b|this\b|that\b|in order|aiming|hoping"
    r"|expecting|anticipating|following|to (?=[a-z])|it\b|where\b|thinking|assum\w+|the\b"
    r"|and (?=[a-z])(?!or\b)|i (?:want|hope|am|feel|do|don't|agree|disagree|accept|decline|refuse|won't)\b)",
    re.IGNORECASE,
)
"""A remark: no other value may stand in it."""
_NO_MORE = re.compile(
    r"\A\s*,?\s*(?:up|down) from\s+(?:my\s+|the\s+)?"
    r"(?:(?:previous|old|current|last)\s+(?:price\s+(?:of\s+)?)?)?⟦(?:\d+|x)⟧(?=\W*\Z|\s*[.,;])",
    re.IGNORECASE,
)
"""An earlier value, right behind the one that is given."""
_ASIDE = re.compile(
    r"\s*\((?:(?=[a-z])|(?=⟦(?:\d+|x)⟧\s+(?!or\b|in\b|next\b|then\b)[a-z]))[^()]*\)", re.IGNORECASE
)
"""A remark in parentheses."""
_SAME = re.compile(r"\b(?:no|not|i\.e|that is|rounded|equals?|so|make|make it)\b|=", re.IGNORECASE)
"""Words of a remark that gives another value, or takes one back."""
_MEASURE = re.compile(
    r"\b(?:costs?|profits?|margins?|revenues?|earn\w*|demand|quantity|rivals?|competitors?|opponents?"
    r"|above|below|than|reflects?|increase|decrease|higher|lower|previous\w*|last)\b[^.!?]*\Z",
    re.IGNORECASE,
)
"""Words that say of which other thing a value is."""
_ALONE = re.compile(rf"{_VALUE}{_UNIT}{_END}", re.IGNORECASE)
_TIME = re.compile(r"(?<!as)\s+(?:for|in)\s+(?:round|period|turn)\s+⟦x⟧", re.IGNORECASE)
_OWN = re.compile(
    rf"\b(?:i|i'll|i'd|i'm|let me|my|me|we'll)\b|^\W*(?:\w+:\s*)?(?:{_VERB}|starting|trying)\b"
    r"|\b(?:applicable|relevant|appl(?:y|ies)|message)\b",
    re.IGNORECASE,
)
"""Words by which a speaker says a choice of one's own."""
_NOT_CHOSEN = re.compile(
    r"\b(?:expect\w*|predict\w*|estimat\w*|believ\w*|assum\w*|know\w*|see|sees|seen|saw|notic\w*|observ\w*"
    r"|think|thought|consider\w*|calculat\w*|comput\w*|remember\w*|hear|heard|told|hop(?:e|ing)|wish\w*"
    r"|want\s+(?:them|him|her|it|you)|fear\w*|doubt\w*|trust\w*|agree\w*|accept\w*|support\w*|reject\w*"
    r"|refus\w*|dislik\w*|hat(?:e|ing)|avoid\w*|exclud\w*|omit\w*|skip\w*|drop(?:ped|ping)? out|ignor\w*"
    r"|rul(?:e|ing) out|leav\w+ out|forget\w*|recall\w*|earn\w*|mak(?:e|es|ing)|gain\w*|los(?:e|es|ing)"
    r"|profit\w*|sav(?:e|es|ing)|get|gets|getting|receiv\w*|need\w*|ha(?:ve|s|d)|i've|own(?:s|ed)|spen[dt]\w*"
    r"|add(?:s|ing)?|subtract\w*|multipl\w*|divid\w*|happy|glad|cost|costs|budget|margin|demand|stock"
    r"|goal|limit|minimum|maximum|target|half|twice|double|most|some(?:one|body)|people|players?|you|your"
    r"|he|she|his|her|their|them|against|instead|nothing|without|found|find|less|more|least|next|by|below"
    r"|above|under|over|from|away|towards?|lean\w*|want|keep\w*|kept|clos\w+|near\w*|share|score|reward|payoff)\b",
    re.IGNORECASE,
)
"""Words of a sentence whose value is somebody else's, a result, or no choice."""
_FOR_OTHERS = re.compile(
    r"\b(?:for|to|of) (?:them|him|her|others|the (?:rival|competitor|opponent|others?))\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:was|were|won|had)\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|unless|until|otherwise|depend\w*|provided|in case|as long as|either|neither|nor"
    r"|alternatively|hypothetical\w*|undecided|unsure|not sure|can't decide|cannot decide|when"
    r"|suppose|supposing|maybe|perhaps|possibly|might|could|for example|e\.g|for instance|torn"
    r"|random\w*|imagine|pretend|whether)\b|~~|\?|≈|±",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:instead|rather|no longer|said|says|was|were|had|chose|picked|previous\w*|last|earlier"
    r"|anything|except|avoid\w*|between|average|mean|not|never|don't|won't|wouldn't|cannot|can't|isn't"
    r"|doesn't|range|they|others|everyone|everybody|opponents?|competitors?|rivals?)\b|\b(?:let's|we|us)\s+(?:\w+\s+)?both\b|n't\b",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"(?:\b(?:and|then)\b|[,;&+])\s*(?:(?!because|since|as|given)\w+\s+)?⟦", re.IGNORECASE
)
_BUT = re.compile(
    r"\b(?:nobody|no one|but|however|though|although|yet|or|otherwise|unless|if|instead|actually|wait|no,|scratch"
    r"|correction|rather|alternatively|except|depending|provided|as long as|in case)\b|\?",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"\b(?:wait|scratch that|on second thought|correction|hold on|let me (?:re\w+|think again)"
    r"|changed? my mind|actually|oops|i mean|or rather|no,)",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    r"\b(?:unless|otherwise|or else|alternatively|instead|depend\w*|undecided|not sure|unsure"
    r"|on (?:the )?condition|as long as|provided|another option|or maybe|or perhaps|should i\b)"
    r"|\bif\b[^.\n]*\b(?:then|i(?:'ll|'d)?|would|rather)\b",
    re.IGNORECASE,
)
_NOT_MEANT = re.compile(
    r"\b(?:for example|e\.g|for instance|example|hypothetical\w*|template|format|would have"
    r"|(?:last|previous|earlier) (?:round|turn|time)|options? (?:are|include)|considering|candidates?)\b",
    re.IGNORECASE,
)


def corrects(text: str) -> bool:
    """Whether words take back what was said before them.

    Args:
        text: the words.
    """
    return _CORRECTS.search(text.replace("’", "'")) is not None


def takes_back(text: str) -> bool:
    """Whether words behind an answer put it under a condition or beside another.

    Args:
        text: the words.
    """
    return _TAKES_BACK.search(text.replace("’", "'")) is not None


def sets_apart(text: str) -> bool:
    """Whether the words before an answer make it an example, a condition, or that of another.

    Args:
        text: all text before it.
    """
    lines = [line.strip() for line in without_fences(text).replace("’", "'").split("\n")]
    last = next((line for line in reversed(lines) if line), "")
    sentence = re.split(r"(?<=[.!])\s", last)[-1]
    if _NOT_MEANT.search(sentence):
        return True
    if sentence.endswith((".", "!")):
        return False
    clause = re.split(r"[,;:—–]", sentence.rstrip(" :,—–*_"))[-1]
    return bool(_CONDITION.search(sentence) or _ELSEWHERE.search(clause))


_FILLER = frozenset(
    [
        "a",
        "an",
        "the",
        "i",
        "i'd",
        "i'll",
        "i'm",
        "me",
        "my",
        "mine",
        "we",
        "us",
        "our",
        "it",
        "it's",
        "is",
        "be",
        "am",
        "will",
        "would",
        "to",
        "towards",
        "toward",
        "for",
        "with",
        "at",
        "on",
        "of",
        "as",
        "this",
        "that's",
        "please",
        "ok",
        "okay",
        "sure",
        "yes",
        "well",
        "just",
        "simply",
        "only",
        "exactly",
        "definitely",
        "go",
        "going",
        "goes",
        "choose",
        "choosing",
        "pick",
        "picking",
        "take",
        "taking",
        "select",
        "selecting",
        "head",
        "heading",
        "answer",
        "choice",
        "number",
        "integer",
        "price",
        "exit",
        "door",
        "option",
        "set",
        "good",
        "best",
        "great",
        "final",
        "my",
        "own",
        "side",
        "way",
        "via",
        "through",
        "unit",
        "units",
        "dollar",
        "dollars",
        "euro",
        "euros",
        "usd",
        "eur",
        "point",
        "points",
        "token",
        "tokens",
        "ton",
        "tons",
        "fish",
        "sheep",
        "coin",
        "coins",
        "credits",
        "per",
        "so",
        "therefore",
        "thus",
        "hence",
        "here",
        "closest",
        "nearest",
        "clear",
        "safest",
        "obvious",
        "there",
    ]
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SHORT = 9
"""Words of a line that is read for its one value at most."""


def given_value(
    text: str, find: Callable[[str], Iterable[Mention]], *, last_line: bool = False
) -> Any:
    """The one value that a text gives.

    Args:
        text: the answer.
        find: finds the values in a text, from left to right and without overlaps.
        last_line: whether only the last line is the answer, and all before it is reasoning.

    Returns:
        The value; None when there is none, when there are several, or when it is in doubt.
    """
    if last_line:
        text = "".join(normalise(text[-LONGEST:]).strip().splitlines()[-1:])
    if len(text) > LONGEST:
        return None
    marked, values = _marked(normalise(text), find)
    if not values:
        return None
    lines = [line.strip() for line in marked.split("\n") if line.strip()]
    final = _given(lines, "final")
    at_the_end = final and final[-1][0] == _last_with_value(lines)
    if _CORRECTS.search(marked) and not at_the_end:
        return None
    found = {k for _, k in [*final, *_given(lines, "given")]}
    if not found and len(values) == 1 and "⟦x⟧" not in _TIME.sub("", marked):
        found = {0 for line in lines if _is_filler(line) or _is_own(_TIME.sub("", line))}
    return values[found.pop()] if len(found) == 1 else None


def _marked(text: str, find: Callable[[str], Iterable[Mention]]) -> tuple[str, list[Any]]:
    """The text with a numbered mark for each value, equal ones with the same; and the values."""
    values: list[Any] = []
    parts: list[str] = []
    at = 0
    for mention in find(text):
        if mention.value is not None and mention.value not in values:
            values.append(mention.value)
        mark = "x" if mention.value is None else str(values.index(mention.value))
        parts += [text[at : mention.start], f"⟦{mark}⟧"]
        at = mention.end
    return "".join([*parts, text[at:]]), values


def _given(lines: list[str], tier: str) -> list[tuple[int, int]]:
    """(number of the line, number of the value) for all values that are given in one way."""
    return [
        (number, int(found[1]))
        for number, line in enumerate(lines)
        for pattern in _patterns(tier)
        for found in pattern.finditer(line)
        if _stands(line[: found.start(1) - 1], found["tail"], int(found[1]))
    ]


def _stands(before: str, tail: str, k: int) -> bool:
    """Whether a value that is given is neither taken back nor one of several."""
    sentence = re.split(r"(?<=[.!])\s", before)[-1]
    clause = re.split(r"[,;:—–]", sentence.rstrip(" :,—–"))[-1]
    tail = tail.replace(f"⟦{k}⟧", "").replace("⟫", " ")
    tail = _NO_MORE.sub("", tail, count=1)
    if _CONDITION.search(sentence) or _ELSEWHERE.search(clause):
        return False
    if (aside := _ASIDE.match(tail)) and not any(
        doubt.search(aside[0]) for doubt in (_BUT, _CONDITION, _SAME)
    ):
        tail = tail[aside.end() :]
    first, *others = re.split(r"(?<=[^\s⟦⟧][.!])\s+|(?<=⟧[.!])\s+|\A[.!]\s+", tail)
    if others and all(map(_explains, others)):
        tail = first or "."
    if _NOTHING.fullmatch(tail) or _POLITE.fullmatch(tail):
        return True
    doubt = _BUT.search(tail)
    if _ANY.search(tail) is None and re.match(r"\s*[.!]", tail):
        return not doubt and not _PAST.search(tail)
    if doubt or _LISTED.search(tail):
        return False
    if _CAUSE.match(tail):
        return True
    remark = _POLITE.match(tail) or _REMARK.match(tail)
    return remark is not None and not any(
        doubt.search(tail) for doubt in (_ANY, _PAST, _FOR_OTHERS)
    )


def _is_own(line: str) -> bool:
    """Whether a line says the one value of an answer of its speaker, in whichever words."""
    for found in _ALONE.finditer(line):
        before = line[: found.start(1) - 1]
        sentence = re.split(r"(?<=[.!])\s", before)[-1]
        if (
            _OWN.search(sentence)
            and not _NOT_CHOSEN.search(sentence)
            and not _BUT.search(before)
            and _stands(before, found["tail"], 0)
        ):
            return True
    return False


def _explains(sentence: str) -> bool:
    """Whether a sentence behind a value says what follows from it, or what it compares with."""
    values = list(_ANY.finditer(sentence))
    return (
        bool(values)
        and not _BUT.search(sentence)
        and not _CORRECTS.search(sentence)
        and all(
            _MEASURE.search(sentence[max(0, each.start() - 40) : each.start()]) for each in values
        )
    )


def _last_with_value(lines: list[str]) -> int:
    return max(i for i, line in enumerate(lines) if _ANY.search(line))


def _is_filler(line: str) -> bool:
    """Whether a short line says nothing but its one value."""
    words = _WORD.findall(_ANY.sub(" ", line).casefold())
    marks = len(_ANY.findall(line))
    signs = _WORD.sub("", _ANY.sub("", line)).replace("'", "")
    plain = _NOTHING.fullmatch(signs) is not None
    return marks > 0 and plain and len(words) <= _SHORT and set(words) <= _FILLER


# One form for what is written in many.

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.MULTILINE)
_BOXED = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_STYLED = re.compile(r"\\(?:text|textbf|mathrm|mathbf|textrm|mathit|operatorname)\s*\{([^{}]*)\}")
_TAGGED = re.compile(
    r"<(answer|final|final_answer|choice|number|price|result|decision|output|response)>"
    r"([^<]*)</\1>",
    re.IGNORECASE,
)
_STRONG = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3}|`)(?=\S)([^\n]*?\S)\1(?![\w*])")
_MATH = re.compile(r"\$(?=\S)([^$\n]{1,60}?)(?<=\S)\$(?!\d)")
_BULLET = re.compile(r"^[ \t]*(?:[•▪◦‣]+[ \t]*|>+[ \t]+|[-*+][ \t]+(?![\d.]))+", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+", re.MULTILINE)
_EMOJI = re.compile(
    "[\U0001f300-\U0001f44d\U0001f450-\U0001f6aa\U0001f6ac-\U0001faff\u2600-\u26ff\ufe0f]+"
)
"""Pictures, but for those that say no."""
_STEP = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]+(?=[A-Za-z]+[^\n]*[:=])", re.MULTILINE)
"""The number of a step whose line gives something."""
_NARROW = re.compile(r"(?<=\d)[\u00a0\u202f\u2009](?=\d{3}(?!\d))")
_TABLE = str.maketrans(
    {"−": "-", "–": "–", "‑": "-", "’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"',
     "»": '"', "⟦": "(", "⟧": ")", "⟪": "(", "⟫": ")", "\u200b": "", "\ufeff": ""}
)  # fmt: skip


def normalise(text: str) -> str:
    """Bring markdown, LaTeX, tags, quotes and blanks into one form.

    Args:
        text: the answer.
    """
    text = _EMOJI.sub(" ", _NARROW.sub("", text.translate(_TABLE)))
    text = "".join(_plain(sign) for sign in text)
    text = without_fences(text)
    text = text.replace("{,}", ",").replace("\\$", "$").replace("\\%", "%").replace("\\,", "")
    text = _STYLED.sub(r"\1", text)
    text = _BOXED.sub("\n⟪\\1⟫\n", text)
    text = re.sub(r"\\[()\[\]]|\$\$", " ", text).replace("(s)", "s")
    text = _MATH.sub(r"\1", text)
    text = _TAGGED.sub("\n⟪\\2⟫\n", text)
    for _ in range(2):
        text = _STRONG.sub(r"\2", text)
    text = _STEP.sub("", _HEADING.sub("", _BULLET.sub("", text)))
    text = re.sub(r"(?<!\w)'([^'\n]{1,60})'(?!\w)", r'"\1"', text)
    return re.sub(r"[^\S\n]+", " ", text)


def without_fences(text: str) -> str:
    """A text without the lines that open and close code.

    Args:
        text: the text.
    """
    return _FENCE.sub("", text)


def _plain(sign: str) -> str:
    """A sign in its plain form where that is one sign too, as of digits of full width."""
    if sign.isascii():
        return sign
    plain = unicodedata.normalize("NFKC", sign)
    return plain if len(plain) == 1 else sign


# Numbers.

_CURRENCY = r"(?:(?:US|CA|AU|NZ|HK|[ACS])?\$|[€£¥₹]|\b(?:USD|EUR|GBP|CHF|JPY)\b)"
_DIGITS = (
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:'\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?"
    r"|\d{1,3}(?:\.\d{3})+,\d+|\d+,\d+|\d*\.\d+|\d+)"
)
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w)\]⟫]\s)(?<![\w)\]⟫])[-+](?=[$€£¥₹.\d]))?(?:{_CURRENCY}\s*)?(?P<minus>-(?=[.\d]))?"
    rf"(?P<digits>{_DIGITS})(?:\s*{_CURRENCY})?(?P<scale>\s*(?:k\b|million\b|thousand\b))?",
    re.IGNORECASE,
)
_SMALL = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS = {
    word: 10 * (number + 2)
    for number, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    )
}
_SPELT_WORD = "|".join([*_SMALL, *_TENS, "hundred", "thousand"])
_SPELT = re.compile(
    rf"\b(?:minus\s+)?(?:an?\s+(?=hundred|thousand))?(?:{_SPELT_WORD})"
    rf"(?:(?:[\s-]+|\s+and\s+)(?:{_SPELT_WORD}))*\b",
    re.IGNORECASE,
)
_PART = rf"\d+|(?:{_SPELT_WORD})(?:[\s-]+(?:{_SPELT_WORD}))*"
_AMOUNT = re.compile(
    rf"(?<![\w.,-])(?P<whole>{_PART})\s+(?:dollars?|euros?|pounds?|bucks)\s+(?:and\s+)?"
    rf"(?P<cents>{_PART})\s+(?:cents?|pence)\b",
    re.IGNORECASE,
)
"""An amount of money in two parts, as in "seven dollars and fifty cents"."""
_SPOILT_BEFORE = re.compile(
    r"(?:[\w^/×÷*\\+<>≤≥≈~±#%-]|\d[.,:]|(?:[\d)⟫]|\A|\n) *[-–—] *|[/×÷*^+<>≤≥≈~±] *"
    r"|(?<![a-z])(?:minus|negative|times|plus|half of|level|k|no|player|round|agent|firm|step|page|option"
    r"|about|around|roughly|approximately|approx\.?|circa|nearly|almost|over|under|above|below"
    r"|than|least|most|up to|between|from|near|close to|something like) +(?:the +|[$€£] *)?)\Z",
    re.IGNORECASE,
)
_SPOILT_AFTER = re.compile(
    r"(?:[\w^/×÷*\\+%°…~]|\.\.|[.,:]\d| *[-–—] *[$€£]?\d|-\w| *(?:[/×÷*^+<>≤≥≈%]|%)"
    r"|'s\b|'\d| *(?:percent|per cent|pct|cents?|pence|p\b|dozen|hundred|thousand|million|billion"
    r"|thirds?|quarters?|halves|half|and a|point|to +[$€£]?\d|ish\b|or so\b|or (?:less|more|lower|higher|below|above|thereabouts)"
    r"|at most|at least|minutes?|seconds?|years?|rounds?|players?|times|people|steps?|options?|other)\b| \d)",
    re.IGNORECASE,
)


def find_numbers(text: str) -> list[Mention]:
    """Find the numbers in a text, also in words.

    What is part of something else, such as a range, a fraction, a percentage, an ordinal or an
    approximate number, has no value.

    Args:
        text: the text in its one form.
    """
    amounts = [mention for mention in map(_amount, _AMOUNT.finditer(text)) if mention is not None]
    for amount in amounts:
        text = f"{text[: amount.start]}{'x' * (amount.end - amount.start)}{text[amount.end :]}"
    found = [_digits(text, each) for each in _NUMBER.finditer(text)]
    taken = [(each.start, each.end) for each in found]
    for each in _SPELT.finditer(text):
        if not any(start < each.end() and each.start() < end for start, end in taken):
            mention = _spelt(text, each)
            found += [mention] if mention else []
    return sorted([*found, *amounts])


def _amount(found: re.Match[str]) -> Mention | None:
    """An amount of money in two parts; None for one whose parts are no numbers."""
    whole, cents = (
        float(part) if part.isdecimal() else _spelt_value(re.split(r"[\s-]+", part.casefold()))
        for part in (found["whole"], found["cents"])
    )
    if whole is None or cents is None or cents >= 100:
        return None
    value = whole + cents / 100
    return Mention(found.start(), found.end(), int(value) if value.is_integer() else value)


def _digits(text: str, found: re.Match[str]) -> Mention:
    before, after = text[max(0, found.start() - 24) : found.start()], text[found.end() :]
    line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
    item = not line.strip() and re.match(r"[.)][ \t]+\S", after) and len(found["digits"]) < 3
    value = _value_of(found["digits"])
    spoilt = _SPOILT_BEFORE.search(before) or _SPOILT_AFTER.match(after)
    if value is None or spoilt or (item and value <= 20):
        return Mention(found.start(), found.end(), None)
    scale = (found["scale"] or "").strip().casefold()
    value *= {"k": 1e3, "thousand": 1e3, "million": 1e6}.get(scale, 1)
    if "-" in (found["sign"], found["minus"]):
        value = -value
    return Mention(found.start(), found.end(), int(value) if value.is_integer() else value)


def _value_of(digits: str) -> float | None:
    """The number, with commas and points as in English where both readings are possible."""
    if re.fullmatch(r"\d{1,3}([,'])\d{3}(?:\1\d{3})*(?:\.\d+)?", digits):
        return float(re.sub("[,']", "", digits))
    if (
        re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", digits)
        and digits.count(".") + ("," in digits) > 1
    ):
        return float(digits.replace(".", "").replace(",", "."))
    if re.fullmatch(r"\d+,(?:\d\d?|0+)", digits):
        return float(digits.replace(",", "."))
    return float(digits) if "," not in digits else None


def _spelt(text: str, found: re.Match[str]) -> Mention | None:
    words = re.split(r"[\s-]+", found[0].casefold())
    before, after = text[max(0, found.start() - 24) : found.start()], text[found.end() :]
    alone = not before.rpartition("\n")[2].strip(" \"'(⟪") and not after.partition("\n")[0].strip(
        " .!\"')⟫"
    )
    if words == ["one"] and not alone:  # as in "the left one"
        return None
    value = _spelt_value([word for word in words if word not in {"a", "an", "and", "minus"}])
    if value is None or _SPOILT_BEFORE.search(before) or _SPOILT_AFTER.match(after):
        return Mention(found.start(), found.end(), None)
    return Mention(found.start(), found.end(), -value if words[0] == "minus" else value)


def _spelt_value(words: list[str]) -> float | None:
    total, part, last = 0, 0, 10**9
    for number, word in enumerate(words):
        if word == "thousand":
            total, part, last = total + (part or 1) * 1000, 0, 1000
        elif word == "hundred":
            if part > 9:
                return None
            part, last = (part or 1) * 100, 100
        else:
            value = _TENS.get(word, _SMALL.get(word, 0))
            fits = last == 100 or last >= 1000 or (last in _TENS.values() and 0 < value < 10)
            if number and not fits:
                return None
            part, last = part + value, value
    return float(total + part)


# Options.


_SAID_BESIDE = re.compile(
    r"(?<![^\n])(?:right|well|okay|ok)[,.!:]\s+(?!because|since|as\b)\w|right\s+(?:now|away)\b"
    r"|no\s+(?!because|since|as\b|please|thanks|thank|i\b|it\b|for\b)\w",
    re.IGNORECASE,
)
"""Words that are options and are said without choosing them: "Right, let's see", "no idea"."""


def find_options(options: Iterable[str]) -> Callable[[str], list[Mention]]:
    """Find any of several options in a text, whatever their case.

    Of options that overlap the longest counts. One of a single letter is found as a capital.

    Args:
        options: the options.
    """
    by_form = {
        re.sub(r"\s+", " ", option.strip(" .\"'*_`")).casefold(): option for option in options
    }
    forms = sorted(by_form, key=len, reverse=True)
    several = "|".join(re.escape(form) for form in forms if len(form) > 1) or r"(?!)"
    single = "|".join(re.escape(form.upper()) for form in forms if len(form) == 1) or r"(?!)"
    pattern = re.compile(rf"(?<![\w-])(?:(?i:{several})|(?:{single}))(?![\w]|-\w|'\w)")

    def find(text: str) -> list[Mention]:
        return [
            Mention(
                each.start(),
                each.end(),
                None if _SAID_BESIDE.match(text, each.start()) else by_form[each[0].casefold()],
            )
            for each in pattern.finditer(text)
        ]

    return find


# Texts and objects.

_BEFORE_TEXT = re.compile(
    r"\A\s*(?:(?:sure|certainly|of course|okay|ok|absolutely|alright|great|got it|understood)\b[^:\n]{0,40}?)?"
    r"(?:here(?:'s| is| are)|this is|below is|(?:my|the)\b)?[^:\n\"]{0,50}?\b(?:message|answer|response|reply"
    r"|statement|sentence|text|announcement)\b[^:\n\"]{0,40}:\s*",
    re.IGNORECASE,
)
_AFTER_TEXT = re.compile(
    r"\n\s*(?:\(?\s*(?:word count|words?:|\d+ words?|total words?)[^\n]*|let me know\b[^\n]*|feel free\b[^\n]*"
    r"|would you like\b[^\n]*|(?:this|the) (?:message|sentence|statement|text)\b[^\n]*|note:[^\n]*|---+)\s*\Z",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"\A(?:\*\*|__)([^*_\n]{1,60}?:?)(?:\*\*|__)(:?)")
_COUNTED = re.compile(r"\s*\((?:word count: ?\d+|\d+ words?)\)\s*\Z", re.IGNORECASE)
_QUOTED = re.compile(
    r"\A\s*(?:\*\*|__|[*_])?\s*(?:\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|„([^“”]+)[“”])\s*(?:\*\*|__|[*_])?\s*\Z",
    re.DOTALL,
)
_REFUSED = re.compile(
    r"\A\s*(?:i'?m (?:really |very )?sorry,?(?: but)?|sorry,?(?: but)?|i apologi[sz]e,?(?: but)?|unfortunately,?|as an ai"
    r"(?: language model| assistant| model)?,?)?\s*i(?:'m| am)? (?:can(?:'t|not| not)|won'?t|will not|am unable to"
    r"|unable to|not able to|do not feel comfortable|don't feel comfortable) (?:assist|help with|help you|comply|fulfil+|continue with|provide|"
    r"participate|engage|answer|respond|do that|with|generate|create|proceed)[^\n]{0,160}\Z",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Whether a text is nothing but the sentence with which a model declines to answer.

    Args:
        text: the answer.
    """
    text = text.strip().replace("’", "'")
    return len(text) < 300 and _REFUSED.match(text) is not None


def unwrap(text: str) -> str:
    """Take the words that a model puts around a text that it was asked for.

    Args:
        text: the answer.

    Returns:
        The text within a frame ("Sure! Here is my message:"), quotes, or counts of words; the
        answer as it is without any.
    """
    inner = text.strip()
    # Most texts have none of this, and a look for one sign is faster than a pattern.
    tagged = inner.startswith("<") and re.fullmatch(r"<(\w+)>(.*)</\1>", inner, re.DOTALL)
    if tagged and tagged[1].casefold() in {
        "message",
        "answer",
        "text",
        "response",
        "output",
        "reply",
    }:
        inner = tagged[2].strip()
    plain = inner.replace("’", "'")
    if plain.startswith(("**", "__")):
        plain = _EMPHASIS.sub(r"\1\2", plain, count=1)
    framed = ":" in plain and _BEFORE_TEXT.match(plain)
    if framed and plain[framed.end() :].strip():
        inner = inner[len(inner) - len(plain[framed.end() :]) :].strip()
    while "\n" in inner and (after := _AFTER_TEXT.search(inner)):
        inner = inner[: after.start()].rstrip()
    if ")" in inner:
        inner = _COUNTED.sub("", inner)
    quoted = _QUOTED.match(inner)
    if quoted:
        inner = next(filter(None, quoted.groups())).strip()
    return inner or text


_ANSWER = "answer"
_OTHER_NAMES = frozenset(
    [
        "finalanswer",
        "youranswer",
        "myanswer",
        "choice",
        "decision",
        "value",
        "number",
        "price",
        "pick",
        "guess",
        "response",
        "message",
        "text",
        "output",
        "result",
        "selection",
        "option",
        "exit",
        "action",
        "contribution",
        "harvest",
        "move",
        "vote",
        "bid",
        "offer",
        "codes",
        "code",
        "route",
        "path",
        "cells",
        "labels",
        "statement",
        "sentence",
        "reply",
    ]
)
_REASONS = frozenset(
    ["reasoning", "reason", "explanation", "rationale", "thought", "thoughts", "thinking"]
)
_CLOSED = re.compile(
    r"[\"']answer[\"']\s*:\s*(\"(?:[^\"\\\n]|\\.)*\"|-?\d+(?:\.\d+)?(?=\s*[,\n])|\[[^\[\]{}]*\])\s*,?\s*\Z",
    re.IGNORECASE,
)


def read_object(text: str) -> tuple[Any, str] | None:
    """Read the one object in a text that holds an answer, leniently.

    A sentence before or after it, a fence, single quotes, a comma too much, a missing last brace,
    and another name of the field are passed over.

    Args:
        text: the answer.

    Returns:
        The answer and the reasoning beside it; None when there is no object, or two that differ.
    """
    if len(text) > LONGEST:
        return None
    found: list[tuple[Any, str]] = []
    for each in _objects(text):
        found += [pair for pair in _answers(each) if pair not in found]
    if not found and (cut := _CLOSED.search(text)) and text.count("{") == 1:
        found = [(_literal(cut[1]), "")]
    different = {json.dumps(value, sort_keys=True, default=str) for value, _ in found}
    return found[-1] if len(different) == 1 else None


def _objects(text: str) -> list[Any]:
    """The outermost objects in a text that can be read."""
    return [value for _, _, value in find_objects(text, "{")]


def find_objects(text: str, opening: str = "{[") -> list[tuple[int, int, Any]]:
    """Find the outermost objects and lists of JSON in a text, leniently.

    Args:
        text: the text.
        opening: the signs with which they begin.

    Returns:
        Where each begins and ends, and its value.
    """
    found, at = [], 0
    start = _next(text, opening, at)
    while start >= 0:
        end = _end_of_object(text, start, opening)
        value = _literal(text[start:end]) if end else None
        if isinstance(value, dict | list):
            found.append((start, end, value))
        at = end if end and value is not None else start + 1 if opening != "{" else end or start + 1
        start = _next(text, opening, at)
    return found


def _next(text: str, signs: str, at: int) -> int:
    return min((n for sign in signs if (n := text.find(sign, at)) >= 0), default=-1)


def _end_of_object(text: str, start: int, opening: str = "{") -> int:
    """The place behind the braces that open there and are closed again; 0 when they are not."""
    depth, quote, escaped = 0, "", False
    signs = "{}" if opening == "{" else "{}[]"
    for at in range(start, len(text)):
        sign = text[at]
        if escaped:
            escaped = False
        elif quote:
            escaped = sign == "\\"
            quote = "" if sign == quote else quote
        elif sign == '"' or (sign == "'" and text[at - 1] in "{[:, \n" and depth):
            quote = sign
        elif sign in signs:
            depth += 1 if sign in "{[" else -1
            if not depth:
                return at + 1
    return 0


class _TwiceError(ValueError):
    """A field stands in an object twice, with different values."""


def _literal(text: str) -> Any:
    """The value of JSON, or of what models write for it; None when it is neither."""
    mended = re.sub(r",(\s*[}\]])", r"\1", text.strip())
    mended = re.sub(r"(?m)(?<![:\"'])//[^\n\"]*$", "", mended)
    for attempt in (text, mended, re.sub(r"([{,]\s*)([A-Za-z_]\w*)(\s*:)", r'\1"\2"\3', mended)):
        try:
            return json.loads(attempt, object_pairs_hook=_no_field_twice)
        except _TwiceError:
            return None
        except (ValueError, RecursionError):
            continue
    python = re.sub(
        r"\b(true|false|null)\b",
        lambda m: {"true": "True", "false": "False", "null": "None"}[m[1]],
        mended,
    )
    try:
        value = ast.literal_eval(python)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None
    return value if python.count("'answer'") < 2 else None


def _no_field_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found and found[name] != value:
            raise _TwiceError
        found[name] = value
    return found


def _answers(value: Any, depth: int = 0) -> list[tuple[Any, str]]:
    """The answers in an object: fields of that name at any depth, or the one with a like name."""
    if depth > 4:
        return []
    if isinstance(value, list):
        return [pair for each in value for pair in _answers(each, depth + 1)]
    if not isinstance(value, dict):
        return []
    names = {re.sub(r"[\s_-]", "", str(name)).casefold(): name for name in value}
    beside = [value[names[name]] for name in names if name in _REASONS]
    reason = next((each for each in beside if isinstance(each, str)), "")
    if _ANSWER in names and (plain := _plain_answer(value[names[_ANSWER]])) is not None:
        return [(plain, reason)]
    inner = [pair for each in value.values() for pair in _answers(each, depth + 1)]
    if inner or depth:
        return inner
    like = [names[name] for name in names if name in _OTHER_NAMES]
    if len(like) == 1 and (plain := _plain_answer(value[like[0]])) is not None:
        return [(plain, reason)]
    return []


def _plain_answer(value: Any) -> Any:
    """A value, or a list of values; the one value of an object with a single field."""
    if isinstance(value, dict):
        return _plain_answer(next(iter(value.values()))) if len(value) == 1 else None
    return value
