"""The errors of the package.

::

    SabmError
    ├── UsageError                 what was asked for cannot be done (exit status 2)
    │   ├── UnknownName            a scenario, condition, variant, persona, … that does not exist
    │   ├── ParameterError         a parameter that does not exist or has an illegal value
    │   │   └── ServerInUse            a run uses the server of a local model with other options
    │   ├── MindSpecError          a mind spec that cannot be read, or counts that do not add up
    │   └── PromptError            prompts that are incomplete or have wrong placeholders
    └── RunError                   the run failed (exit status 1)
        ├── ScenarioError          the scenario's own code is wrong
        ├── LLMError               a language model could not be asked
        │   ├── MissingKey         no API key in the environment
        │   ├── AccessDenied       401 or 403
        │   ├── BadRequest         400, 404 and other refusals that a retry cannot mend
        │   │   └── ContextTooSmall    a question does not fit into the context of a local model
        │   ├── RateLimited        429, still after all retries
        │   └── ServerUnavailable  no connection, timeout or 5xx, still after all retries
        ├── BudgetExceeded         the next ask could pass a cap
        ├── MindError              a mind raised, or a script ran out
        ├── RecordingError         a recording cannot be opened, read or written
        │   └── ReplayMismatch         a run comes out otherwise than it was recorded
        └── OutputError            an output folder cannot be written

Every message is one line: what happened, where, and what to do next. It never contains control
codes or the API key, whatever it quotes.
"""

from __future__ import annotations

import base64
import difflib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

KEY_VARIABLE = "OPENAI_API_KEY"
_key_variables = {KEY_VARIABLE}
HIDDEN = "[key]"
"""The replacement of the API key in texts."""
SHORTEST_SECRET = 8
"""Shorter keys, such as ``none`` or ``EMPTY`` for a local server, are not secret."""


def one_line(text: str) -> str:
    """A text on one line without control codes and invisible characters.

    Line breaks, control codes, zero-width and bidirectional marks, and halves of surrogate pairs
    become spaces, and runs of spaces one space.
    """
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(text.split()) if "  " in text else text.strip()


def key(variable: str = KEY_VARIABLE) -> str:
    """An API key of the environment, or ``""``."""
    return os.environ.get(variable, "").strip()


def hide_variable(variable: str) -> None:
    """From now on, hide a key in all written texts."""
    if variable:
        _key_variables.add(variable)


def without_key(text: str) -> str:
    """A text without the known keys.

    Keys are also found in Base64, hexadecimal, and the escapes of addresses, JSON and HTML; each of
    these forwards and backwards, with spaces and line breaks between its characters.
    """
    squeezed = ""
    for secret in map(key, _key_variables):
        if len(secret) < SHORTEST_SECRET:
            continue
        squeezed = squeezed or _ZEROS.sub(r"\1", "".join(text.split()))
        for form in _forms(secret):
            if form in squeezed:
                text = _pattern(form).sub(HIDDEN, text)
    return text


_ZEROS = re.compile("(&#x?)0+")
"""Leading zeros of a number in HTML."""


@lru_cache(maxsize=32)
def _forms(secret: str) -> tuple[str, ...]:
    """A key in other spellings without spaces, the longest first."""
    spellings = set()
    for spelled in (secret, secret[::-1]):
        data = spelled.encode()
        in_hex = [f"{byte:02x}" for byte in data]
        spellings |= {spelled, quote(spelled, safe="")}
        spellings |= {data.hex(), data.hex().upper(), data.hex(":"), data.hex(":").upper()}
        for before in range(3):  # a text before it moves its bits by a part of a sign
            whole = base64.b64encode(bytes(before) + data).rstrip(b"=")
            uneven = (before + len(data)) % 3 > 0  # then the last sign depends on what follows
            code = whole[-(-before * 8 // 6) : len(whole) - uneven].decode()
            spellings |= {code, code.replace("+", "-").replace("/", "_")}
        for begin, end, numbers in (
            ("%", "", in_hex), ("\\x", "", in_hex), ("\\u00", "", in_hex), ("&#x", ";", in_hex),
            ("&#", ";", [str(byte) for byte in data]),
        ):  # fmt: skip
            for digits in (numbers, [number.upper() for number in numbers]):
                escaped = [f"{begin}{number}{end}" for number in digits]
                spellings.add("".join(escaped))
                pairs = zip(spelled, escaped, strict=False)
                spellings.add("".join(sign if sign.isalnum() else code for sign, code in pairs))
    spellings = {"".join(form.split()) for form in spellings | {form[::-1] for form in spellings}}
    return tuple(sorted(spellings, key=lambda form: (-len(form), form)))


@lru_cache(maxsize=32)
def _pattern(form: str) -> re.Pattern[str]:
    """The pattern of a spelling with any spaces, and any leading zeros of a number in HTML."""
    parts = []
    for index, sign in enumerate(form):
        number = form.endswith(("&#x", "&#"), 0, index + 1) and form[index + 1 :][:1] != "x"
        parts += [re.escape(sign), r"\s*(?:0\s*)*" if number else r"\s*"]
    return re.compile("".join(parts[:-1]))


def error_message(error: BaseException) -> str:
    """Return the message of an exception, or its kind when it has none; without the API key."""
    message = one_line(without_key(str(error)))
    return message or ("stopped" if not isinstance(error, Exception) else type(error).__name__)


def place_of(error: BaseException) -> str:
    """Return the place of an exception in the user's own code: file and line; ``""`` for none."""
    import sysconfig
    import traceback

    libraries = (str(Path(__file__).parent), sysconfig.get_path("stdlib"))
    frames = [
        f"{Path(frame.filename).name}, line {frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_file()
        and not frame.filename.startswith(libraries)
        and "site-packages" not in Path(frame.filename).parts
    ]
    return frames[-1] if frames else ""


def format_user_error(error: BaseException) -> str:
    """Return the kind and message of an exception, and its place in the user's own code."""
    message, place = one_line(without_key(str(error))), place_of(error)
    location = f" ({place})" if place else ""
    return f"{type(error).__name__}{f': {message}' if message else ''}{location}"


def add_place(error: BaseException) -> None:
    """Begin an error on the scenario's own code with the place in that code."""
    if isinstance(error, UsageError | ScenarioError) and (place := place_of(error)):
        error.args = (f"{place}: {error}",)


def failure(where: str, error: Exception) -> RunError:
    """Return the error of a run for an exception in the code of a scenario."""
    kind = ScenarioError if place_of(error) else RunError
    return kind(f"{where}: {format_user_error(error)}")


class SabmError(Exception):
    """Base class of all errors that the package raises on purpose.

    Attributes:
        exit_status: the exit status of the command line for this error.
    """

    exit_status = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(without_key(message)))


class UsageError(SabmError, ValueError):
    """A request of the user that cannot be carried out.

    Args:
        message: the error, and what to do next.
        parameter: the constructor parameter or service that caused it; ``""`` for none or several.

    Attributes:
        parameter: the same; `about` sets it from outside.
    """

    exit_status = 2

    def __init__(self, message: str = "", *, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


@contextmanager
def about(parameter: str) -> Iterator[None]:
    """Name the parameter of each `UsageError` in a block or a decorated function.

    Where such blocks are nested, the outermost name counts.

    Args:
        parameter: the constructor parameter of the scenario, or the service.
    """
    try:
        yield
    except UsageError as error:
        error.parameter = parameter
        raise


class UnknownName(UsageError):
    """An unknown name.

    Args:
        kind: the kind of name, such as ``"scenario"``.
        name: the given name.
        known: the names that exist.
        hint: the next step, if the list of known names does not show it.
        parameter: see `UsageError`.
    """

    def __init__(
        self,
        kind: str,
        name: object,
        known: Iterable[str],
        hint: str = "",
        *,
        parameter: str = "",
    ) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(str(name), names, n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        listed = f" Known: {', '.join(names)}." if names else ""
        super().__init__(
            f"Unknown {kind} {str(name)!r}.{guess}{listed}{' ' + hint if hint else ''}",
            parameter=parameter,
        )
        self.kind, self.name, self.known, self.hint = kind, name, names, hint

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild from the parts, so that the error can be pickled."""
        parts = self.kind, self.name, self.known, self.hint
        return type(self), parts, {"parameter": self.parameter}


class ParameterError(UsageError):
    """A parameter that does not exist or has an illegal value."""


class ServerInUse(ParameterError):
    """A run uses the server of a local model with other options than are named."""


class MindSpecError(UsageError):
    """A mind spec that cannot be read, or counts that do not add up to the population."""


class PromptError(UsageError):
    """Prompts that are incomplete or have unknown or missing placeholders."""


class RunError(SabmError):
    """The run failed; all answers until then are in the recording."""


class ScenarioError(RunError):
    """The scenario's own code is wrong: a run that continues would fail in the same way."""


class LLMError(RunError):
    """A language model could not be asked.

    Attributes:
        billed: whether the provider may have billed the request: it was sent, and got no error
            response.
    """

    def __init__(self, message: str = "", *, billed: bool = False) -> None:
        super().__init__(message)
        self.billed = billed


class MissingKey(LLMError):
    """No API key in the environment for an endpoint that needs one.

    Attributes:
        problem: the missing thing.
        ways: the remedies.
    """

    def __init__(self, problem: str, ways: Iterable[str] = ()) -> None:
        self.problem, self.ways = problem, tuple(ways)
        super().__init__(" ".join([problem, *self.ways]))

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild from the parts, so that the error can be pickled."""
        return type(self), (self.problem, self.ways)


class AccessDenied(LLMError):
    """The endpoint refused the key (401) or its rights (403)."""


class BadRequest(LLMError):
    """The endpoint refused the request (400, 404, …): a retry cannot help."""


class ContextTooSmall(BadRequest):
    """A question does not fit into the context of a local model, now or in a run that continues."""


class RateLimited(LLMError):
    """The endpoint's rate limit still held after all retries.

    Attributes:
        retry_after: seconds the endpoint asked to wait, or None.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServerUnavailable(LLMError):
    """No connection, a timeout or a server error, still after all retries.

    Attributes:
        retry_after: seconds the endpoint asked to wait, or None.
        overloaded: whether fewer simultaneous requests may help.
        reached: whether there was a connection.
    """

    def __init__(
        self,
        message: str,
        retry_after: float | None = None,
        *,
        overloaded: bool = False,
        billed: bool = False,
        reached: bool = True,
    ) -> None:
        super().__init__(message, billed=billed)
        self.retry_after = retry_after
        self.overloaded = overloaded
        self.reached = reached


class BudgetExceeded(RunError):
    """The next ask could pass a cap, so it was not sent."""


class MindError(RunError):
    """A mind raised an exception, or a script ran out of answers."""


class RecordingError(RunError):
    """A recording cannot be opened, read or written."""


class ReplayMismatch(RecordingError):
    """A run differs from its recording; the first difference is named."""


class OutputError(RunError):
    """An output folder cannot be written."""
