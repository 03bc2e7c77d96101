"""The path test: answers, routes, runs and drawings."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa import ScriptedMind
from sabm_mesa.analysis.plot_style import to_png
from sabm_mesa.core.answers import InvalidAnswer
from sabm_mesa.errors import ParameterError, UsageError
from sabm_mesa.models.evacuation.plots import routes
from sabm_mesa.models.evacuation.screening import (
    EXITS,
    MOST_CELLS,
    ROUTE,
    SIZE,
    STARTS,
    PathTest,
    figures,
)
from sabm_mesa.models.evacuation.theory import (
    Cell,
    from_words,
    in_words,
    shortest_routes,
    steps,
    walk,
)
from sabm_mesa.runs.rerun import replay

CELLS = ((2, 2), (3, 1), (4, 0), (5, 0))


@pytest.mark.parametrize(
    "text",
    [
        "(2, 2), (3, 1), (4, 0), (5, 0)",
        "(2,2) (3,1) (4,0) (5,0)",
        "[(2, 2), (3, 1), (4, 0), (5, 0)]",
        "(2, 2) -> (3, 1) -> (4, 0) -> (5, 0)",
        "(2, 2) → (3, 1) → (4, 0) → (5, 0)",
        "(2, 2); (3, 1); (4, 0); (5, 0).",
        "(2, 2)\n(3, 1)\n(4, 0)\n(5, 0)",
        "```\n(2, 2), (3, 1), (4, 0), (5, 0)\n```",
        "I go (2, 2), (3, 1), (4, 0), (5, 0) and out.",
    ],
)
def test_lists_that_are_read(text: str) -> None:
    assert ROUTE.read(text).value == CELLS


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("I do not go (2, 2), (3, 1)", "not_cells"),
        ("(2, 2), then (3, 1)", "not_cells"),
        ("2, 2, 3, 1", "not_cells"),
        ("(2.5, 2)", "not_cells"),
        ("(2, 2, 3)", "not_cells"),
        ("(2, 2),, (3, 1)", "not_cells"),
        ("(1" + "0" * 5000 + ", 2)", "not_cells"),
        ("  ", "empty"),
        ("(1, 1) " * (MOST_CELLS + 1), "too_many_cells"),
    ],
)
def test_what_is_no_list_of_cells(text: str, code: str) -> None:
    with pytest.raises(InvalidAnswer) as refused:
        ROUTE.read(text)
    assert refused.value.code == code


def test_lists_in_json() -> None:
    def read(answer: object) -> Any:
        return ROUTE.read(json.dumps({"answer": answer}), "json").value

    assert read([[2, 2], [3, 1], [4, 0], [5, 0]]) == CELLS
    for wrong in ([], [[1]], [[1, 2, 3]], ["12"], [[1, 2.0]], [[1, True]], [1, 2]):
        with pytest.raises(InvalidAnswer):
            read(wrong)
    assert read("(1, 2)") == ((1, 2),)
    schema = ROUTE.answer_schema()["properties"]["answer"]
    assert schema["items"]["minItems"] == schema["items"]["maxItems"] == 2


cells = st.tuples(st.integers(0, 9), st.integers(0, 9))


@given(st.lists(st.tuples(st.integers(-99, 99), st.integers(-99, 99)), min_size=1, max_size=20))
def test_cells_are_read_as_they_are_written(given_cells: list[Cell]) -> None:
    assert from_words(in_words(given_cells)) == tuple(given_cells)
    assert ROUTE.read(in_words(given_cells)).value == tuple(given_cells)


def test_without_obstacles_steps_are_chebyshev_distances() -> None:
    for start, end in product(product(range(10), repeat=2), repeat=2):
        assert steps(10, start, end) == max(abs(a - b) for a, b in zip(start, end, strict=True))


@given(cells, st.lists(cells, min_size=1, max_size=4, unique=True))
def test_a_shortest_route_is_a_walk_to_a_nearest_exit(start: Cell, exits: list[Cell]) -> None:
    nearest = min(steps(10, start, each) for each in exits)
    found = shortest_routes(10, start, exits)
    assert len(found) == sum(steps(10, start, each) == nearest for each in exits)
    for route in found:
        walked = walk(10, start, exits, route)
        assert walked.shortest
        assert walked.illegal is None
        assert walked.moves == nearest


@pytest.mark.parametrize(
    ("route", "exit_", "moves", "illegal", "shortest"),
    [
        (CELLS, (5, 0), 4, None, True),
        (((1, 3), *CELLS), (5, 0), 4, None, True),  # the start itself is no move
        ((*CELLS, (77, 77)), (5, 0), 4, None, True),  # out is out
        (((2, 3), (3, 3), (4, 2), (5, 1), (5, 0)), (5, 0), 5, None, False),
        (((2, 2), (3, 1)), None, 2, None, False),
        (((2, 2), (4, 0), (5, 0)), None, 1, (4, 0), False),
        (((0, 3), (-1, 3)), None, 1, (-1, 3), False),
        (((2, 2), (2, 2)), None, 1, (2, 2), False),  # to stay is no move
        ((), None, 0, None, False),
    ],
)
def test_routes_from_1_3(
    route: tuple[Cell, ...], exit_: Cell | None, moves: int, illegal: Cell | None, shortest: bool
) -> None:
    walked = walk(SIZE, (1, 3), EXITS, route)
    assert (walked.exit, walked.moves, walked.illegal, walked.shortest, walked.nearest) == (
        exit_, moves, illegal, shortest, 4,
    )  # fmt: skip


def test_the_published_room_of_the_path_test() -> None:
    assert [min(steps(SIZE, start, each) for each in EXITS) for start in STARTS] == [4, 6]
    # From (2, 6) two exits are equally near, which is why minds may differ there.
    assert [route[-1] for route in shortest_routes(SIZE, (2, 6), EXITS)] == [(5, 0), (8, 9)]


def test_the_classical_mind_walks_a_shortest_way() -> None:
    model = PathTest(rng=1)
    model.run_model()
    frame = model.agent_frame()

    assert list(frame["start"]) == ["(1, 3)", "(2, 6)"]
    assert list(frame["exit"]) == ["(5, 0)", "(5, 0)"]
    assert list(frame["moves"]) == list(frame["shortest"]) == [4, 6]
    assert frame["is_shortest"].all()
    assert frame["route"][0] == "(2, 2) (3, 1) (4, 0) (5, 0)"
    (row,) = model.model_frame().to_dict("records")
    assert (row["answered"], row["legal"], row["reached"], row["shortest"], row["excess"]) == (
        1, 1, 1, 1, 0,
    )  # fmt: skip


def test_wrong_routes_are_answers_and_no_list_is_none() -> None:
    answers = {
        1: ["I do not know.", "Left!", "Down."],
        2: ["(3, 7), (4, 8), (6, 9), (8, 9)"],
    }
    mind = ScriptedMind(lambda ask: answers[ask.key.agent].pop(0))
    model = PathTest(minds=mind, rng=1)
    model.run_model()
    lost, wrong = model.walkers

    assert (model.total.asks, model.total.invalid) == (2, 1)
    assert answers == {1: [], 2: []}
    assert (lost.answered, lost.route, lost.legal, lost.exit, lost.moves) == (
        False, None, False, None, None,
    )  # fmt: skip
    assert (wrong.answered, wrong.legal, wrong.exit, wrong.is_shortest) == (
        True, False, None, False,
    )  # fmt: skip
    assert wrong.route == "(3, 7) (4, 8) (6, 9) (8, 9)"
    assert (model.answered, model.reached) == (0.5, 0)
    assert pd.isna(model.excess)


def test_what_is_asked() -> None:
    asked: list[list[dict[str, str]]] = []

    def answer(ask: Any) -> str:
        asked.append(ask.messages())
        return "(1, 1) " * 101 if len(ask.rejected) < 1 else "(5, 0)"

    PathTest(minds=ScriptedMind(answer), starts=[(4, 1)], rng=1).run_model()
    first, second = asked

    assert "10 × 10" in first[0]["content"]
    assert "(5, 0), (9, 4), (8, 9)" in first[0]["content"]
    assert "(0, 0) is the corner at the top left" in first[0]["content"]
    assert "You are now at (4, 1)." in first[1]["content"]
    assert "It names 101 cells; 100 are the most." in second[-1]["content"]
    for message in [*first, *second]:
        assert "{" not in message["content"]


def test_a_recording_is_replayed(tmp_path: Any) -> None:
    path = tmp_path / "r.sqlite"
    model = PathTest(
        size=6, exits=[(0, 2)], starts=[(5, 5), (3, 2)], minds=ScriptedMind(lambda _: "(2, 2)"),
        rng=1, recording=path,
    )  # fmt: skip
    model.run_model()

    again = replay(path)
    assert again.agent_frame().equals(model.agent_frame())
    assert again.models[0].plot_options() == {"size": 6, "exits": ((0, 2),)}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"size": 2}, "size must be a whole number from 3 to 100"),
        ({"exits": []}, "exits must name one cell or more"),
        ({"exits": [(1, 1), (1, 1)]}, "exits must name one cell or more, each once"),
        ({"starts": [(1, 10)]}, r"starts: \(1, 10\) is outside the room"),
        ({"starts": [(5, 0)]}, r"starts: \(5, 0\) is an exit"),
        ({"starts": "here"}, "starts must be a list of cells"),
        ({"n_rounds": 2}, "a path test has one round"),
        ({"minds": "classical:other"}, "Unknown classical mind of path-test"),
    ],
)
def test_wrong_parameters(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        PathTest(**wrong)


def test_the_drawing_says_what_became_of_each_route() -> None:
    named = [
        in_words(CELLS), in_words(CELLS), "(2, 3) (4, 3)", "(2, 3) (3, 3)", "(0, 3) (-1, 3)",
        "(1, 2) (1, 1)", None,
    ]  # fmt: skip
    data = pd.DataFrame({"start": ["(1, 3)"] * len(named), "route": named})
    figure = routes(data, "scripted", size=SIZE, exits=EXITS)
    texts = [
        text.get_text()
        for ax in figure.axes
        for key in [ax.get_legend()]
        if key is not None
        for text in key.get_texts()
    ]

    assert texts == [
        "exit",
        "start",
        "a shortest way: 4 moves",
        "to (5, 0) in 4 moves (2 of 7)",
        "1 move, then illegal: (4, 3) (1 of 7)",
        "2 moves, to no exit (1 of 7)",
        "1 move, then illegal: (-1, 3) (1 of 7)",
        "other ways (1 of 7)",
        "no list of cells (1 of 7)",
    ]
    assert to_png(figure).startswith(b"\x89PNG")


def test_each_mind_has_a_drawing() -> None:
    model = PathTest(minds=["classical", "fixed:(5, 0)"], rng=1)
    model.run_model()
    drawn = figures(model.model_frame(), model.agent_frame(), "both", **model.plot_options())
    one = figures(model.model_frame(), model.agent_frame()[:1], "one", **model.plot_options())

    assert list(drawn) == ["routes-1", "routes-2"]
    assert list(one) == ["routes"]
    with pytest.raises(ValueError, match="no rows"):
        routes(model.agent_frame()[:0], size=SIZE, exits=EXITS)
    with pytest.raises(ParameterError):
        PathTest(exits="nowhere")
