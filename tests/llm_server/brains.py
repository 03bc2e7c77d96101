"""Brains: what the server answers. Any callable `(messages, body)` will do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .faults import Fault
from .stub import stub
from .wire import prompt_text

# No digit, no one-letter word and no common option name: nothing in here parses as an answer.
NONSENSE = (
    "Purple kettles hum beneath nostalgic umbrellas whenever Tuesday forgets itself.",
    "Marmalade negotiates quietly with seven-legged furniture about velvet thunder.",
    "Honestly, penguins iron their melodies before breakfast becomes transparent.",
    "Whispering staircases prefer cinnamon over geography during elastic weather.",
)


class ScriptExhaustedError(LookupError):
    """A scripted brain was asked once more than it has answers."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One choice of an answer, where the text alone does not say enough.

    Attributes:
        content: The answer's text, or None.
        finish_reason: As the API reports it: `stop`, `length`, `content_filter`.
        refusal: The text of a refusal, beside `content=None`.
        latency: Seconds to wait instead of the server's own latency.
        completion_tokens: Reported instead of an estimate from the text.
        message: More fields of the message, such as `reasoning`.
        thought_tokens: Tokens of thoughts, in addition to those of the text.
    """

    content: str | None
    finish_reason: str = "stop"
    refusal: str | None = None
    latency: float | None = None
    completion_tokens: int | None = None
    message: Mapping[str, Any] = field(default_factory=dict)
    thought_tokens: int = 0


Answer = str | Reply | Fault
#: Returns an answer; may be `async`.
Brain = Callable[[list[dict[str, Any]], dict[str, Any]], Answer | Awaitable[Answer]]


def nonsense(messages: list[dict[str, Any]], _body: dict[str, Any]) -> str:
    """Answer with prose that no answer format can read, the same for the same request."""
    digest = hashlib.sha256(prompt_text(messages).encode("utf-8", "surrogatepass")).digest()
    return NONSENSE[digest[0] % len(NONSENSE)]


def script(answers: Sequence[Answer], name: str = "the script") -> Brain:
    """A brain that gives these answers in the order of the requests.

    Args:
        answers: Texts, replies, or faults to commit in place of an answer.
        name: Its name in the error when it runs out.

    Returns:
        A brain that raises ScriptExhaustedError (the client sees a 500) after the last answer.
    """
    rest = iter(answers)

    def brain(_messages: list[dict[str, Any]], _body: dict[str, Any]) -> Answer:
        try:
            return next(rest)
        except StopIteration:
            raise ScriptExhaustedError(f"{name} has run out after {len(answers)} answers") from None

    return brain


def load_brain(spec: str) -> Brain:
    """The brain of a command line: `stub`, `nonsense`, or `script:FILE`.

    Args:
        spec: The file of a script is a JSON list of texts, of objects with the fields of Reply,
            and of objects like `{"fault": "429:retry-after=1"}`.

    Raises:
        ValueError: The spec names no brain, or the script is not JSON.
        TypeError: The script is not a list of answers.
        OSError: The script cannot be read.
    """
    if spec == "stub":
        return stub
    if spec == "nonsense":
        return nonsense
    kind, _, path = spec.partition(":")
    if kind != "script" or not path:
        raise ValueError(f"unknown brain {spec!r}: use stub, nonsense or script:FILE")
    entries = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        raise TypeError(f"{path} must hold a JSON list of answers")
    return script([_entry(entry) for entry in entries], name=path)


def _entry(entry: Any) -> Answer:
    if isinstance(entry, dict):
        return Fault.parse(entry["fault"]) if "fault" in entry else Reply(**entry)
    if isinstance(entry, str):
        return entry
    raise TypeError(f"a script's answers are texts or objects, not {entry!r}")
