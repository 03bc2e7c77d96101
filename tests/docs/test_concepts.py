"""Statements of the pages of concepts on the program."""

import re
import sys
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sabm_mesa import Choice, Connection, KeynesianBeautyContest, Number
from sabm_mesa.core import engine
from sabm_mesa.core.answers import InvalidAnswer
from sabm_mesa.models.beauty_contest.kbc.agents import Player
from sabm_mesa.models.registry import SCENARIOS
from tests.llm_server import LLMServer

DOCS = Path(__file__).parents[2] / "docs"
INVALID = (DOCS / "invalid-answers.md").read_text("utf-8")
SPECS = {"Number": Number, "Choice": Choice}
ROWS = re.findall(
    r"^\| `((?:Number|Choice)\([^`]*\))` \| (.*?) \| (.*?) \| (.*?) \|$", INVALID, re.MULTILINE
)


def how(spec, text: str) -> str:
    try:
        return "exact" if spec.read(text).read_as == "exact" else "in words"
    except InvalidAnswer:
        return "asked again"


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_table_of_answers_is_true(row: tuple[str, ...]) -> None:
    written, *cells = row
    spec = eval(written, SPECS)
    for cell, expected in zip(cells, ("exact", "in words", "asked again"), strict=True):
        answers = re.findall(r"`([^`]+)`", cell)
        assert answers
        assert {text: how(spec, text) for text in answers} == dict.fromkeys(answers, expected)


@pytest.mark.parametrize("page", ["invalid-answers", "concepts"])
def test_every_scenario_is_in_the_tables(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text("utf-8")
    assert not [name for name in SCENARIOS if f"`{name}`" not in text]


def test_the_critical_path_of_the_example() -> None:
    model = KeynesianBeautyContest(n_players=24, n_rounds=4, rng=1)
    model.run_model()

    text = (DOCS / "concepts.md").read_text("utf-8")

    assert f"has {model.total.asks} asks" in text
    assert f"= {model.critical_path_asks} asks" in text


def test_an_answer_passes_these_functions_in_this_order(tmp_path: Path) -> None:
    text = (DOCS / "concepts.md").read_text("utf-8")
    section = text.partition("## The way of one answer")[2].partition("\n## ")[0]
    names = re.findall(r"^([A-Za-z.]+_?\S*)  ", section, re.MULTILINE)
    steps = {function_of(name).__code__: name for name in names}
    called: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in steps:
            called.setdefault(steps[frame.f_code])

    async def watch(how: Any) -> None:
        sys.setprofile(how)

    with LLMServer(latency=0.0) as server:
        connection = Connection(base_url=server.url)
        model = KeynesianBeautyContest(
            n_players=2, n_rounds=1, minds="llm:stub", rng=1, connection=connection,
            recording=tmp_path / "one.sqlite",
        )  # fmt: skip
        before = sys.getprofile()
        engine.run(watch(note))
        sys.setprofile(note)
        try:
            model.run_model()
        finally:
            sys.setprofile(before)
            engine.run(watch(None))

    assert len(names) <= 25
    assert list(called) == names


def function_of(name: str) -> Any:
    """The function of a dotted name; that of the contest if it overrides the one of the name."""
    *parts, last = name.split(".")
    if parts[0] in ("SmartAgent", "SmartModel"):
        owner: Any = {"SmartAgent": Player, "SmartModel": KeynesianBeautyContest}[parts[0]]
    elif parts[-1][0].isupper():
        owner = getattr(import_module(".".join(["sabm_mesa", *parts[:-1]])), parts[-1])
    else:
        owner = import_module(".".join(["sabm_mesa", *parts]))
    return unwrap(getattr(owner, last))
