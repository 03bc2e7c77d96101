"""The tree of errors, their exit statuses and their messages."""

import base64
import pickle
import re
import urllib.parse

import pytest

from sabm_mesa import errors
from sabm_mesa.errors import (
    RateLimited,
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
    "ServerInUse": ("ParameterError", 2),
    "MindSpecError": ("UsageError", 2),
    "PromptError": ("UsageError", 2),
    "RunError": ("SabmError", 1),
    "ScenarioError": ("RunError", 1),
    "LLMError": ("RunError", 1),
    "MissingKey": ("LLMError", 1),
    "AccessDenied": ("LLMError", 1),
    "BadRequest": ("LLMError", 1),
    "ContextTooSmall": ("BadRequest", 1),
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


SECRET = "-".join(["sk", "proj", "Zx9_abc+DEF/4711.qrs"])
LONG = SECRET + "".join(f"{number}xY" for number in range(10, 44))
assert len(LONG) == 164


def on_lines(text: str, columns: int = 76) -> str:
    return "\n".join(text[at : at + columns] for at in range(0, len(text), columns))


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def in_address(text: str) -> str:
    return "".join(f"%{ord(sign):02X}" for sign in text)


SPELLED = {
    "backwards": lambda secret: secret[::-1],
    "with blanks": " ".join,
    "on lines": "\n".join,
    "backwards with blanks": lambda secret: "  ".join(secret[::-1]),
    "hexadecimal": lambda secret: secret.encode().hex(),
    "hexadecimal of pairs": lambda secret: secret.encode().hex(" "),
    "hexadecimal on lines": lambda secret: on_lines(secret.encode().hex()),
    "in an address": in_address,
    "in an address, as usual": lambda secret: urllib.parse.quote(secret, safe=""),
    "in an address, backwards": lambda secret: in_address(secret[::-1]),
    "in an address, read backwards": lambda secret: in_address(secret)[::-1],
    "in JSON": lambda secret: "".join(f"\\u{ord(sign):04x}" for sign in secret),
    "in JSON, in part": lambda secret: re.sub(
        "[-_+/.]", lambda sign: f"\\u{ord(sign[0]):04x}", secret
    ),
    "in HTML": lambda secret: "".join(f"&#{ord(sign)};" for sign in secret),
    "in HTML with zeros": lambda secret: "".join(f"&#x{ord(sign):04x};" for sign in secret),
    "in HTML with zeros, on lines": lambda secret: on_lines(
        "".join(f"&#{ord(sign):05d};" for sign in secret)
    ),
    **{
        f"Base64 after {before!r} before {after!r}": (
            lambda secret, before=before, after=after: in_base64(f"{before}{secret}{after}")
        )
        for before in ("", "a", "ab", "the key is ") for after in ("", "z", "yz")
    },
    "Base64 of addresses": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "Base64 backwards": lambda secret: in_base64(secret[::-1]),
    "Base64 read backwards": lambda secret: in_base64(secret)[::-1],
    "Base64 on lines": lambda secret: on_lines(in_base64(secret)),
    "Base64 with blanks": lambda secret: " ".join(in_base64(secret)),
}  # fmt: skip


@pytest.mark.parametrize("secret", [SECRET, LONG], ids=["short", "long"])
@pytest.mark.parametrize("spelling", SPELLED)
def test_a_key_is_hidden_in_other_spellings(spelling, secret, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    hidden = without_key(f"I pick 42 since {SPELLED[spelling](secret)} is it, and 33 is not.")

    assert "[key]" in hidden
    assert hidden.startswith("I pick 42 since ")
    assert hidden.endswith("is it, and 33 is not.")
    at_most = 4 if spelling.startswith("Base64") else 0  # signs that also hold bits of others
    assert len(hidden) <= len("I pick 42 since [key] is it, and 33 is not.") + at_most + 20


def test_a_text_without_a_key_stays_as_it_is(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    text = "I pick 42.\n\n  Because – 😀  " * 100
    assert without_key(text) == text
