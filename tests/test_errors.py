"""The tree of errors, their exit statuses and their messages."""

import base64
import pickle
import re
import urllib.parse

import pytest

from sabm_mesa import errors
from sabm_mesa.errors import (
    RateLimited,
    SabmError,
    ServerUnavailable,
    UnknownName,
    UsageError,
    about,
    without_key,
)

TREE = {
    "SabmError": ("Exception", 1),
    "UsageError": ("SabmError", 2),
    "UnknownName": ("UsageError", 2),
    "ParameterError": ("UsageError", 2),
    "MindSpecError": ("UsageError", 2),
    "PromptError": ("UsageError", 2),
    "RunError": ("SabmError", 1),
    "LLMError": ("RunError", 1),
    "MissingKey": ("LLMError", 1),
    "AccessDenied": ("LLMError", 1),
    "BadRequest": ("LLMError", 1),
    "RateLimited": ("LLMError", 1),
    "ServerUnavailable": ("LLMError", 1),
    "BudgetExceeded": ("RunError", 1),
    "MindError": ("RunError", 1),
    "RecordingError": ("RunError", 1),
    "ReplayMismatch": ("RecordingError", 1),
    "OutputError": ("RunError", 1),
}
CLASSES = {
    name: cls
    for name, cls in vars(errors).items()
    if isinstance(cls, type) and issubclass(cls, Exception)
}


def test_the_tree_is_as_it_is_drawn() -> None:
    assert {n: (c.__bases__[0].__name__, c.exit_status) for n, c in CLASSES.items()} == TREE
    assert set(
        re.findall(
            r"\b[A-Z]\w+[a-z](?:Error|Name|Key|Denied|Request|Limited|Unavailable|Exceeded)\b",
            errors.__doc__,
        )
    ) <= set(TREE)
    assert all(name in errors.__doc__ for name in TREE)


def test_wrong_use_is_a_value_error_too() -> None:
    assert {n for n, c in CLASSES.items() if issubclass(c, ValueError)} == {
        n for n, (_, status) in TREE.items() if status == 2
    }


def made(cls):
    if cls is UnknownName:
        return cls("scenario", "kbk", ["kbc", "bertrand"], "Or add one.", parameter="party")
    if issubclass(cls, UsageError):
        return cls("What happened: do this.", parameter="party")
    if cls in (RateLimited, ServerUnavailable):
        return cls("Come back.", retry_after=2.5)
    return cls("What happened: do this.")


@pytest.mark.parametrize("cls", CLASSES.values(), ids=CLASSES)
def test_every_error_crosses_process_borders(cls) -> None:
    error = made(cls)
    back = pickle.loads(pickle.dumps(error))

    assert type(back) is cls
    assert str(back) == str(error)
    assert vars(back) == vars(error)


@pytest.mark.parametrize("cls", CLASSES.values(), ids=CLASSES)
def test_every_message_is_one_line(cls) -> None:
    if cls is UnknownName:
        error = cls("scenario", "a\nb", ["x"])
    else:
        error = cls("It broke:\n  line 1\r\n\tline 2\n")

    assert len(str(error).splitlines()) == 1
    assert "  " not in str(error)


def test_the_outermost_name_of_a_parameter_holds() -> None:
    @about("changes")
    def read(name: str) -> None:
        with about(name):
            raise UnknownName("demand", "quadratic", [])

    with pytest.raises(UnknownName, match=r"^Unknown demand 'quadratic'\.$") as refused:
        read("demand")

    assert refused.value.parameter == "changes"
    assert UsageError("A sentence about nothing.").parameter == ""
    with pytest.raises(RateLimited) as other, about("minds"):
        raise RateLimited("Come back.")
    assert not hasattr(other.value, "parameter")


def test_an_unknown_name_says_what_exists_and_what_may_be_meant() -> None:
    assert str(made(UnknownName)) == (
        "Unknown scenario 'kbk'. Did you mean 'kbc'? Known: bertrand, kbc. Or add one."
    )
    assert str(UnknownName("persona", "x", [])) == "Unknown persona 'x'."
    assert made(UnknownName).known == ["bertrand", "kbc"]


def test_an_error_without_words() -> None:
    assert str(SabmError()) == ""


SECRET = "-".join(["sk", "proj", "Zx9_abc+DEF/4711.qrs"])
SPELLED = {
    "backwards": SECRET[::-1],
    "with blanks": " ".join(SECRET),
    "on lines": "\n".join(SECRET),
    "backwards with blanks": "  ".join(SECRET[::-1]),
    "hexadecimal": SECRET.encode().hex(),
    "hexadecimal of pairs": SECRET.encode().hex(" "),
    "in an address": "".join(f"%{ord(sign):02X}" for sign in SECRET),
    "in an address, as usual": urllib.parse.quote(SECRET, safe=""),
    "in JSON": "".join(f"\\u{ord(sign):04x}" for sign in SECRET),
    "in JSON, in part": SECRET.replace("-", "\\u002d").replace("_", "\\u005f")
    .replace("+", "\\u002b").replace("/", "\\u002f").replace(".", "\\u002e"),
    "in HTML": "".join(f"&#{ord(sign)};" for sign in SECRET),
    **{
        f"Base64 after {before!r} before {after!r}": base64.b64encode(
            f"{before}{SECRET}{after}".encode()
        ).decode()
        for before in ("", "a", "ab", "the key is ") for after in ("", "z", "yz")
    },
    "Base64 of addresses": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "Base64 backwards": base64.b64encode(SECRET[::-1].encode()).decode(),
}  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLED)
def test_a_key_is_hidden_in_other_spellings(spelling, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    said = f"I pick 42 since {SPELLED[spelling]} is it, and 33 is not."
    hidden = without_key(said)

    assert "[key]" in hidden
    assert hidden.startswith("I pick 42 since ")
    assert hidden.endswith("is it, and 33 is not.")
    at_most = 4 if spelling.startswith("Base64") else 0  # signs that also hold bits of others
    assert len(hidden) <= len("I pick 42 since [key] is it, and 33 is not.") + at_most + 20


def test_a_text_without_a_key_stays_as_it_is(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    text = "I pick 42.\n\n  Because – 😀  " * 100
    assert without_key(text) == text
