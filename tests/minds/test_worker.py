"""The process of a mind from a file, in this one: loading, questions, answers."""

import asyncio
import json
import pickle
import sys
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sabm_mesa.core.asks import Ask
from sabm_mesa.minds.files.worker import (
    BITS,
    DEEPEST,
    LONGEST,
    MODULE,
    AskMessage,
    LoadedMind,
    NoMind,
    _answer,
    _ask,
    _plain,
    error_line,
    load,
    plain_answer,
)
from tests.core.support import PICK, Seen


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that loads the mind in a source; Python's modules and path are as before."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, MODULE, ModuleType(MODULE))

    def mind(source: str, name: str = "") -> LoadedMind:
        return load(source.encode(), str(tmp_path / "mind.py"), name)

    return mind


# Loading.

PLAIN, CLASS = "def answer(ask): return 5\n", "class Five:\n    def answer(self, ask): return 5\n"


@pytest.mark.parametrize(
    ("source", "wanted", "name", "paid"),
    [
        (PLAIN, "", "answer", False),
        ("def any_name(ask): return 5", "", "any_name", False),
        (CLASS, "", "Five", False),
        (f"{CLASS}    paid = True\n", "", "Five", True),
        (f"{CLASS}    paid = 0\n", "", "Five", False),
        (f"{PLAIN}answer.paid = True", "", "answer", True),
        (PLAIN + CLASS, "Five", "Five", False),
        (f"{PLAIN}def other(question): return 5", "other", "other", False),
        (f"{PLAIN}def _hidden(ask): return 5", "", "answer", False),
        (f"{PLAIN}def two(ask, more): return 5", "", "answer", False),
        (f"{PLAIN}def odd(question): return 5", "", "answer", False),
        (f"{PLAIN}class Odd:\n    def answer(self): return 5", "", "answer", False),
        (f"{PLAIN}class Odd:\n    answer = 5", "", "answer", False),
        (f"{PLAIN}from json import dumps as ask", "", "answer", False),
        ("def _hidden(ask): return 5", "_hidden", "_hidden", False),
    ],
)
def test_the_mind_in_a_file(source: str, wanted: str, name: str, paid: bool, loaded: Any) -> None:
    mind = loaded(source, wanted)

    assert (mind.name, mind.paid, mind.answer(None)) == (name, paid, 5)


@pytest.mark.parametrize(
    ("source", "wanted", "says"),
    [
        ("x = 1\ndef answer(ask)\n", "", ["line 2: SyntaxError: "]),
        ("x = 1\n\ny = 1 / 0\n", "", ["line 3: ZeroDivisionError: "]),
        ("import sys\nsys.exit(3)", "", ["line 2: SystemExit: 3"]),
        ("x = 1", "", ["neither", "answer(self, ask)", "answer(ask)"]),
        ("def a(ask): pass\nclass B:\n    def answer(self, ask): pass", "", ["(a, B)", ":NAME"]),
        ("def a(ask): pass\ndef b(ask): pass", "c", ["no c", "(minds in it: a, b)"]),
        ("x = 1", "c", ["no c", "(minds in it: none)"]),
        ("def a(x, y): pass", "a", ["a is neither"]),
        ("class A:\n    def answer(self): pass", "A", ["A is neither"]),
        ("a = 5", "a", ["a is neither"]),
        ("class A:\n    def __init__(self): 1 / 0\n    def answer(self, ask): pass", "",
         ["A(): line 2: ZeroDivisionError: "]),
        ("class A:\n    def __init__(self, x): 1\n    def answer(self, ask): pass", "",
         ["A(): TypeError: "]),
    ],
)  # fmt: skip
def test_a_file_without_a_mind_says_why(
    source: str, wanted: str, says: list[str], loaded: Any
) -> None:
    with pytest.raises(NoMind) as refused:
        loaded(source, wanted)

    assert [word for word in says if word not in str(refused.value)] == []
    assert str(refused.value).startswith("line ") == says[0].startswith("line ")


def test_an_error_of_another_file_has_no_line_of_this_one(loaded: Any, tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("x =\n")
    with pytest.raises(NoMind) as refused:
        loaded("import beside_it")

    assert str(refused.value).startswith("SyntaxError: ")


def test_a_mind_finds_the_modules_beside_it_first(loaded: Any, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("")
    (tmp_path / "found_beside.py").write_text("FIVE = 5")
    mind = loaded("import found_beside\ndef answer(ask): return found_beside.FIVE, __file__")
    sys.modules.pop("found_beside")

    assert mind.answer(None) == (5, str(tmp_path / "mind.py"))
    assert sys.path[0] == str(tmp_path)


def test_an_error_in_one_line_with_its_last_line_in_the_file() -> None:
    def raised(source: str, path: str = "mind.py") -> str:
        try:
            exec(compile(source, "mind.py", "exec"), {})
        except BaseException as error:  # noqa: BLE001 - any
            return error_line(error, path)
        raise AssertionError

    twice = "def f():\n    raise ValueError('no idea')\n\nf()\n"
    assert raised(twice) == "line 2: ValueError: no idea"
    assert raised(twice, "other.py") == "ValueError: no idea"
    assert raised("raise KeyError") == "line 1: KeyError"
    unsayable = "class X(Exception):\n    def __str__(self): return 1\nraise X"
    assert raised(unsayable) == "line 3: X"


# Answers.


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else 5


def tree(depth: int) -> Any:
    return {"a": tree(depth - 1)} if depth else 5


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        (5, 5), (0.5, 0.5), (True, True), (None, None), ("five", "five"),
        (np.int64(5), 5), (np.float32(0.5), 0.5), (np.bool_(True), True), (np.str_("a"), "a"),
        ((1, [2, np.int8(3)]), [1, [2, 3]]),
        ({"a": (1,), np.int64(2): {"b": np.float64(0.5)}}, {"a": [1], 2: {"b": 0.5}}),
        (float("inf"), float("inf")),
        (2**BITS - 1, 2**BITS - 1), (1 - 2**BITS, 1 - 2**BITS),
        ("x" * LONGEST, "x" * LONGEST),
        (nested(DEEPEST), nested(DEEPEST)),
        (tree(DEEPEST), tree(DEEPEST)),
        ([], []), ({}, {}),
    ],
    ids=map(str, count()),
)  # fmt: skip
def test_a_plain_answer(answer: Any, plain: Any) -> None:
    given = plain_answer(answer)

    assert given == plain
    assert type(given) is type(plain)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({5}, "a set"),
        (5j, "a complex"),
        (b"5", "a bytes"),
        (type("Odd", (int,), {})(5), "a Odd"),
        ([object()], "a object"),
        ({(1, 2): 3}, "a tuple"),
        (nested(DEEPEST + 1), "a list"),
        (tree(DEEPEST + 1), "a dict"),
        (float("nan"), "NaN"),
        ({"a": [np.float64("nan")]}, "NaN"),
        (2**BITS, "too large"),
        (-(2**BITS), "too large"),
        ("x" * (LONGEST + 1), "100,001 letters"),
    ],
    ids=map(str, count()),
)
def test_what_is_no_answer(answer: Any, says: str) -> None:
    with pytest.raises(NoMind, match=says):
        plain_answer(answer)


def test_a_whole_answer_is_as_long_as_a_text_may_be() -> None:
    fits = ["x" * (LONGEST - 4)]
    assert len(json.dumps(fits)) == LONGEST
    assert _plain(fits) == {"answer": fits}
    assert _plain("x" * LONGEST) == {"answer": "x" * LONGEST}
    for large in (["x" * (LONGEST - 3)], {"a": "x" * LONGEST}):
        with pytest.raises(NoMind, match="100,000 letters"):
            _plain(large)


def message(**changed: Any) -> AskMessage:
    given = {
        "name": "act", "observation": Seen(me=1, seen="1=0"), "spec": PICK, "key": (0, 1, 2),
        "answer_format": "paper", "position": 3, "rejected": (("101", "too_high"),),
        "extractions": (4,), "rng": np.random.default_rng(7),
    }  # fmt: skip
    return AskMessage(**{**given, **changed})


def test_a_question_arrives_with_all_of_its_parts() -> None:
    ask = _ask(pickle.dumps(message()), None)

    assert isinstance(ask, Ask)
    assert (ask.name, ask.observation, ask.spec) == ("act", Seen(me=1, seen="1=0"), PICK)
    assert (ask.key, ask.position, ask.answer_format) == ((0, 1, 2), 3, "paper")
    assert (ask.rejected, ask.extractions) == ((("101", "too_high"),), (4,))
    assert ask.rng.integers(10**9) == np.random.default_rng(7).integers(10**9)


def test_a_question_that_cannot_be_read_is_lost() -> None:
    with pytest.raises(NoMind, match="nowhere_to_be_found"):
        _ask(b"cnowhere_to_be_found\nAsk\n.", None)


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("def answer(ask): return ask + 1", 5),
        ("async def answer(ask): return ask + 1", 5),
        ("def answer(ask):\n    raise ValueError('no idea')", "line 2: ValueError: no idea"),
        ("async def answer(ask):\n    raise KeyboardInterrupt", "line 2: KeyboardInterrupt"),
        ("import sys\ndef answer(ask): sys.exit()", "line 2: SystemExit"),
    ],
)
def test_an_answer_or_the_reason_for_none(
    source: str, outcome: Any, loaded: Any, tmp_path: Path
) -> None:
    mind = loaded(source)
    with asyncio.Runner() as runner:
        if isinstance(outcome, int):
            assert _answer(mind, 4, runner, str(tmp_path / "mind.py")) == outcome
        else:
            with pytest.raises(NoMind) as said:
                _answer(mind, 4, runner, str(tmp_path / "mind.py"))
            assert str(said.value) == outcome
