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

from sabm_mesa.core.asks import Key
from sabm_mesa.core.facts import Facts
from sabm_mesa.minds.files import worker
from sabm_mesa.minds.files.worker import LONGEST, MindOfAgent, NoMind, answer_line, error_line, load
from tests.core.support import PICK

MODULE = "module_of_a_mind"


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's modules, path, limits and random numbers are as before after each test."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, MODULE, ModuleType(MODULE))
    monkeypatch.setattr(worker, "_allow_computing", lambda _: None)
    monkeypatch.setattr(worker, "_seed", lambda _: None)


@pytest.fixture
def loaded(tmp_path: Path):
    """A function that loads the mind in a source."""

    def mind(source: str, name: str = "") -> Any:
        return load(source.encode(), str(tmp_path / "mind.py"), name, MODULE)

    return mind


@pytest.fixture
def player(tmp_path: Path):
    """A function that makes the player of the mind in a source."""

    def made(source: str, name: str = "") -> MindOfAgent:
        return MindOfAgent(MODULE, source.encode(), str(tmp_path / "mind.py"), name)

    return made


def replied(player: MindOfAgent, question: bytes | None = None) -> Any:
    with asyncio.Runner() as runner:
        return json.loads(player.reply(question, runner))


# Loading.

PLAIN, CLASS = "def answer(ask): return 5\n", "class Five:\n    def answer(self, ask): return 5\n"


@pytest.mark.parametrize(
    ("source", "wanted", "name"),
    [
        (PLAIN, "", "answer"),
        ("def any_name(ask): return 5", "", "any_name"),
        (CLASS, "", "Five"),
        (PLAIN + CLASS, "Five", "Five"),
        (f"{PLAIN}def other(question): return 5", "other", "other"),
        (f"{PLAIN}def _hidden(ask): return 5", "", "answer"),
        (f"{PLAIN}def two(ask, more): return 5", "", "answer"),
        (f"{PLAIN}def odd(question): return 5", "", "answer"),
        (f"{PLAIN}class Odd:\n    def answer(self): return 5", "", "answer"),
        (f"{PLAIN}class Odd:\n    answer = 5", "", "answer"),
        (f"{PLAIN}from json import dumps as ask", "", "answer"),
        ("def _hidden(ask): return 5", "_hidden", "_hidden"),
    ],
)
def test_the_mind_in_a_file(source: str, wanted: str, name: str, loaded: Any, player: Any) -> None:
    made = player(source, wanted)

    assert loaded(source, wanted).__name__ == name
    assert replied(made, question()) == {"answer": 5}


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
    source: str, wanted: str, says: list[str], player: Any
) -> None:
    with pytest.raises(NoMind) as refused:
        player(source, wanted)

    assert [word for word in says if word not in str(refused.value)] == []
    assert str(refused.value).startswith("line ") == says[0].startswith("line ")


def test_a_mind_finds_the_modules_beside_it_first(loaded: Any, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("")
    (tmp_path / "found_beside.py").write_text("FIVE = 5")
    mind = loaded("import found_beside\ndef answer(ask): return found_beside.FIVE, __file__")
    sys.modules.pop("found_beside")

    assert mind(None) == (5, str(tmp_path / "mind.py"))
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


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (5, "5"), (0.5, "0.5"), (True, "true"), (None, "null"), ("five", '"five"'),
        (np.int64(5), "5"), (np.float32(0.5), "0.5"), (np.bool_(True), "true"),
        (np.str_("a"), '"a"'), ((1, [2, np.int8(3)]), "[1, [2, 3]]"),
        ({"a": (1,), 2: {"b": np.float64(0.5)}}, '{"a": [1], "2": {"b": 0.5}}'),
        ([], "[]"), ({}, "{}"),
    ],
    ids=map(str, count()),
)  # fmt: skip
def test_an_answer_as_json(answer: Any, line: str) -> None:
    assert answer_line(answer) == f'{{"answer": {line}}}'


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({5}, "a set, which is neither"),
        (5j, "a complex"),
        (b"5", "a bytes"),
        ([object()], "a object"),
        ({(1, 2): 3}, "tuple"),
        (float("nan"), "nan|not JSON"),
        ({"a": [np.float64("inf")]}, "inf|not JSON"),
        (10**5000, "4300 digits"),
        (CYCLE, "Circular"),
        ("x" * (LONGEST + 1), "letters \\(100,000 at most\\)"),
        (["x" * 1000] * 100, "letters \\(100,000 at most\\)"),
    ],
    ids=map(str, count()),
)
def test_what_is_no_answer(answer: Any, says: str) -> None:
    with pytest.raises(NoMind, match=says):
        answer_line(answer)


def question() -> bytes:
    given = {
        "name": "act",
        "facts": Facts({"me": 1, "seen": "1=0"}),
        "spec": PICK,
        "key": Key(0, "act", 1, 2),
        "answer_format": "paper",
        "position": 3,
    }
    return pickle.dumps((given, (("101", "too_high"),), np.random.default_rng(7)))


def test_a_question_arrives_with_all_of_its_parts(player: Any) -> None:
    source = """
def answer(ask):
    seen = ask.facts
    return [
        ask.name, seen.me, seen.seen, ask.spec.high, ask.key, ask.position, ask.answer_format,
        ask.rejected, int(ask.rng.integers(10**9)),
    ]
"""
    drawn = int(np.random.default_rng(7).integers(10**9))

    assert replied(player(source), question())["answer"] == [
        "act", 1, "1=0", 100, [0, "act", 1, 2], 3, "paper", [["101", "too_high"]], drawn,
    ]  # fmt: skip


def test_a_question_that_cannot_be_read_is_lost(player: Any) -> None:
    with pytest.raises(NoMind, match="nowhere_to_be_found"):
        replied(player(PLAIN), b"cnowhere_to_be_found\nAsk\n.")


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("def answer(ask): return 5", 5),
        ("async def answer(ask): return 5", 5),
        ("def answer(ask):\n    raise ValueError('no idea')", "line 2: ValueError: no idea"),
        ("async def answer(ask):\n    raise KeyboardInterrupt", "line 2: KeyboardInterrupt"),
        ("import sys\ndef answer(ask): sys.exit()", "line 2: SystemExit"),
    ],
)
def test_an_answer_or_the_reason_for_none(source: str, outcome: Any, player: Any) -> None:
    if isinstance(outcome, int):
        assert replied(player(source), question()) == {"answer": outcome}
    else:
        with pytest.raises(NoMind) as said:
            replied(player(source), question())
        assert str(said.value) == outcome
