"""The tree of errors, their exit statuses and their messages."""

import pickle
import re

import pytest

from sabm_mesa import errors
from sabm_mesa.errors import (
    RateLimited,
    SabmError,
    ServerUnavailable,
    UnknownName,
    UsageError,
    about,
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
