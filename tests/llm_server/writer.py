"""The `writer` brain: a sentence of the words that are asked for, and else what `stub` says."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from .stub import stub
from .wire import message_text, prompt_text

#: "uses all of these words, with the sentence alone: ocean, enigma."
ALL_OF = re.compile(r"uses all of these words(?:, with the sentence alone)?: (?P<words>[^.\n]+)\.")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def writer(messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
    """Write a sentence that is hardly ever the same for two requests.

    Args:
        messages: The request's messages.
        body: The whole request; with a `response_format` the answer is a JSON object.
    """
    ask = next((message_text(m) for m in reversed(messages) if m.get("role") == "user"), "")
    found = ALL_OF.search(ask)
    if found is None:
        return stub(messages, body)
    digest = hashlib.sha256(prompt_text(messages).encode("utf-8", "surrogatepass")).digest()
    days = " and ".join(DAYS[byte % len(DAYS)] for byte in digest[:6])
    sentence = f"On {days} we spoke of {found['words']}, as they stood in the book."
    return json.dumps({"answer": sentence}) if body.get("response_format") else sentence
