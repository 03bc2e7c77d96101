"""The rounds of the evacuation: whole runs by hand, and invariants of all runs."""

import math
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa import EmergencyEvacuation, ScriptedMind
from sabm_mesa.describe import describe
from sabm_mesa.errors import ParameterError
from sabm_mesa.models.evacuation.agents import LETTERS
from tests.models.evacuation.support import LEFT, letter_of, tiny, walkers
from tests.models.support import Late


def paths(model) -> dict[int, list]:
    """The cells of each person by round; None once it is out."""
    frame = model.agent_frame()
    cells = {}
    for number, rows in frame.groupby("agent"):
        pairs = zip(rows["x"], rows["y"], strict=True)
        cells[number] = [None if pd.isna(x) else (int(x), int(y)) for x, y in pairs]
    return cells


def test_two_people_leave_one_behind_the_other() -> None:
    ways = {1: [(2, 2), (2, 1), (2, 0)], 2: [(2, 1), (2, 0)]}
    model = tiny(walkers(ways), [(2, 3), (2, 2)])
    model.run_model()

    assert paths(model) == {1: [(2, 2), (2, 1), (2, 0)], 2: [(2, 1), (2, 0), None]}
    frame = model.model_frame()
    assert frame["escaped"].tolist() == [0, 1, 2]
    assert frame["escaped_left"].tolist() == [0, 1, 2]
    assert frame["inside"].tolist() == [2, 1, 0]
    assert frame["dead"].tolist() == [0, 0, 0]
    assert frame["mean_distance"].tolist()[:2] == [1.5, 1]
    assert math.isnan(frame["mean_distance"].iloc[2])
    assert frame["congestion_left"].tolist() == [2, 1, 0]
    assert not model.running
    agents = model.agent_frame()
    assert agents["status"].tolist() == ["inside"] * 3 + ["escaped"] * 3
    assert agents["exit"].dropna().tolist() == ["left"] * 3
    assert not any(cell for cell, _ in model.grid.coord_iter())


def test_the_one_nearest_to_its_exit_steps_first() -> None:
    # Both want the cell in front of the exit; the nearer one gets it, whatever its number is.
    asked = []

    def answer(ask):
        if ask.name == "act":
            asked.append((ask.key.round, ask.key.agent, (2, 1) in ask.facts.options.values()))
            options = ask.facts.options.values()
            wanted = (2, 1) if (2, 1) in options else ask.facts.cell
            return letter_of(ask.facts, wanted)
        return "left" if ask.name == "choose" else "Well."

    model = tiny(answer, [(3, 2), (1, 1)])
    model.step()

    assert asked == [(0, 2, True), (0, 1, False)]
    assert paths(model) == {1: [(3, 2)], 2: [(2, 1)]}


def test_people_step_exit_by_exit() -> None:
    exits = {"right": [[2, 4]], "left": [[2, 0]]}
    targets = {1: "left", 2: "right", 3: "right", 4: "left"}
    order = []

    def answer(ask):
        if ask.name == "act":
            order.append(ask.key.agent)
            return letter_of(ask.facts, ask.facts.cell)
        return targets[ask.key.agent] if ask.name == "choose" else "Well."

    model = tiny(answer, [(2, 1), (1, 1), (2, 3), (3, 3)], exits=exits)
    model.step()

    assert order == [3, 2, 1, 4]


def test_a_tie_goes_to_the_smaller_number() -> None:
    order = []

    def answer(ask):
        if ask.name == "act":
            order.append(ask.key.agent)
            return letter_of(ask.facts, ask.facts.cell)
        return "left" if ask.name == "choose" else "Well."

    tiny(answer, [(3, 2), (1, 2)]).step()

    assert order == [1, 2]


def test_friction_keeps_all_out_of_a_cell_that_several_want() -> None:
    """With friction 0.5 about half of the conflicts let nobody in; others walk freely."""
    ways = {1: [(2, 1)], 2: [(2, 1)], 3: [(1, 2)]}
    blocked = {0.0: 0, 0.5: 0, 1.0: 0}
    for friction in blocked:
        for seed in range(16):
            model = EmergencyEvacuation(
                n_people=3, positions=[(1, 1), (3, 1), (2, 3)], minds=ScriptedMind(walkers(ways)),
                width=5, height=5, exits=LEFT, communication=False, movement="simultaneous",
                friction=friction, rng=seed,
            )  # fmt: skip
            model.step()
            found = paths(model)
            assert found[3] == [(1, 2)]
            blocked[friction] += found[1] != [(2, 1)] and found[2] != [(2, 1)]

    assert (blocked[0.0], blocked[1.0]) == (0, 16)
    assert 2 < blocked[0.5] < 14


def test_the_trace_of_a_step_spreads_and_vanishes() -> None:
    """Of 1 in the cell that was left 0.7 stay; a tenth of that goes to the free cells around."""
    model = tiny(walkers({1: [(2, 2)]}), [(2, 1)])
    model.step()
    free = 4  # (1, 1), (3, 1), (2, 2), and the exit (2, 0)
    after = np.zeros((5, 5))
    after[2, 1] = 0.7 * 0.9
    for cell in ((1, 1), (3, 1), (2, 2), (2, 0)):
        after[cell] = 0.7 * 0.1 / free

    assert model.trace.field == pytest.approx(after)
    model.step()
    assert model.trace.field.sum() == pytest.approx(0.7**2)


def test_simultaneous_steps_see_one_grid() -> None:
    # The one behind cannot follow in the same round, since the cell was not free.
    offered = {}

    def answer(ask):
        if ask.name == "act":
            offered[ask.key.agent] = set(ask.facts.options.values())
        return walkers({1: [(2, 1)]})(ask)

    model = tiny(answer, [(2, 2), (2, 3)], movement="simultaneous")
    model.step()

    assert (2, 2) not in offered[2]
    assert paths(model) == {1: [(2, 1)], 2: [(2, 3)]}


def test_who_is_inside_at_the_end_is_dead_and_still_counted_inside() -> None:
    model = tiny(walkers({1: [(2, 0)]}), [(2, 1), (3, 3)], n_rounds=3)
    model.run_model()
    frame = model.model_frame()

    assert frame["escaped"].tolist() == [1, 1, 1]
    assert frame["inside"].tolist() == [1, 1, 1]
    assert frame["dead"].tolist() == [0, 0, 1]
    assert [person.status for person in model.people] == ["escaped", "dead"]
    ends = model.end_measures()
    assert math.isnan(ends.pop("evenness"))
    assert ends == {
        "escaped": 1,
        "escaped_left": 1,
        "dead": 1,
        "rounds_to_clear": None,
        "escaped_by_persona": {model.people[0].persona: 1, model.people[1].persona: 0},
    }


def test_the_end_measures_tell_when_the_room_was_empty() -> None:
    ways = {1: [(2, 1), (2, 0)], 2: [(2, 3), (2, 4)]}
    targets = {1: "left", 2: "right"}

    def answer(ask):
        return walkers(ways, targets[ask.key.agent])(ask)

    model = tiny(answer, [(2, 2), (1, 3)], exits={**LEFT, "right": [[2, 4]]}, personas="calm")
    model.run_model()

    assert model.end_measures() == {
        "escaped": 2, "escaped_left": 1, "escaped_right": 1, "dead": 0, "evenness": 1.0,
        "rounds_to_clear": 2, "escaped_by_persona": {"calm": 2},
    }  # fmt: skip


def test_an_escape_in_the_last_round_counts() -> None:
    model = tiny(walkers({1: [(2, 0)]}), [(2, 1)], n_rounds=1)
    model.run_model()

    assert (model.escaped, model.inside, model.dead) == (1, 0, 0)


def test_a_person_who_is_walled_in_stays_and_dies() -> None:
    walled = EmergencyEvacuation(
        n_people=1, positions=[(2, 2)], obstacles=[[1, 1], [1, 2], [1, 3], [2, 1], [2, 3], [3, 1],
        [3, 2], [3, 3]], width=7, height=7, n_rounds=4, rng=1,
    )  # fmt: skip
    walled.run_model()

    assert paths(walled) == {1: [(2, 2)] * 4}
    assert walled.people[0].status == "dead"
    assert walled.total.invalid == 0


def test_without_a_readable_exit_a_person_stays_without_a_target() -> None:
    asked = []

    def answer(ask):
        asked.append((ask.key.round, ask.name))
        return "the chimney" if ask.name == "choose" else "Well."

    model = tiny(answer, [(2, 2)], n_rounds=1)
    model.run_model()

    assert asked == [(0, "panic"), (0, "evaluate"), (0, "choose"), (0, "choose"), (0, "choose")]
    assert model.people[0].target is None
    assert paths(model) == {1: [(2, 2)]}
    assert model.model_frame()["invalid"].tolist() == [1]
    assert model.people[0].choices == []


def test_an_unreadable_exit_keeps_the_target() -> None:
    def answer(ask):
        if ask.name == "choose":
            return "left" if ask.key.round == 0 else "?"
        return walkers({})(ask)

    model = tiny(answer, [(2, 2)], n_rounds=30)
    model.run_model()

    assert model.total.invalid > 0
    assert model.people[0].target == "left"
    assert set(model.people[0].choices) == {"left"}
    assert model.model_frame()["changed"].sum() == 0


def test_a_step_that_was_not_offered_is_asked_again_and_then_refused() -> None:
    def answer(ask):
        return "Z" if ask.name == "act" else walkers({})(ask)

    model = tiny(answer, [(2, 2)], n_rounds=1)
    model.run_model()

    assert paths(model) == {1: [(2, 2)]}
    assert (model.total.invalid, model.total.reasks) == (1, 2)


def test_unreadable_sentences_are_left_out() -> None:
    seen = []

    def answer(ask):
        if ask.name in {"communicate", "panic", "evaluate"}:
            return ""
        if ask.name == "choose":
            seen.append((ask.facts.said, ask.facts.own_feeling, ask.question[1]))
        return walkers({})(ask)

    model = tiny(answer, [(2, 2), (2, 3)], communication=True, n_rounds=1)
    model.run_model()

    assert [each[:2] for each in seen] == [((), "")] * 2
    assert all("How you feel" not in question for *_, question in seen)
    assert model.total.invalid == 6


def test_who_is_hemmed_in_is_not_asked() -> None:
    asked = []

    def answer(ask):
        asked.append((ask.name, ask.key.agent))
        return walkers({})(ask)

    everywhere = [(x, y) for x in (1, 2, 3) for y in (1, 2, 3)]
    tiny(answer, everywhere).step()

    # Only those beside the exit have a free cell: the exit itself.
    assert [number for name, number in asked if name == "act"] == [4, 1, 7]


# Invariants
def noise(seed: int):
    """Answers that depend on all that is seen, some of them of no use."""

    def answer(ask):
        draw = Random(f"{seed} {ask.key} {ask.facts} {len(ask.rejected)}")
        if draw.random() < 0.1:
            return "gibberish 1 2 3"
        if ask.name in {"act", "choose"}:
            return draw.choice(ask.spec.options)
        return f"Words {''.join(draw.choices(LETTERS, k=9))}."

    return answer


@st.composite
def worlds(draw):
    """Parameters of small evacuations."""
    height, width = draw(st.integers(5, 11)), draw(st.integers(5, 11))
    cells = [(x, y) for x in range(1, height - 1) for y in range(1, width - 1)]
    obstacles = draw(st.lists(st.sampled_from(cells), unique=True, max_size=len(cells) // 3))
    gaps = [(x, 0) for x in range(1, height - 1)] + [(height - 1, y) for y in range(1, width - 1)]
    chosen = draw(st.lists(st.sampled_from(gaps), unique=True, min_size=2, max_size=4))
    return {
        "width": width,
        "height": height,
        "obstacles": obstacles,
        "exits": {"one": chosen[:1], "two": chosen[1:]},
        "n_people": draw(st.integers(1, len(cells) - len(obstacles))),
        "communication": draw(st.booleans()),
        "movement": draw(st.sampled_from(["sequential", "simultaneous"])),
        "variant": draw(st.sampled_from(["default", "no_diagonals"])),
        "rng": draw(st.integers(0, 10_000)),
        "n_rounds": 6,
    }


@given(worlds(), st.sampled_from(["noise", "classical"]))
def test_nobody_breaks_the_laws_of_the_room(world, kind) -> None:
    mind = "classical" if kind == "classical" else ScriptedMind(noise(world["rng"]))
    model = EmergencyEvacuation(**world, minds=mind)
    walls = model.room.solid
    before = {person: person.pos for person in model.people}
    escaped = 0
    while model.running:
        model.step()
        inside = [person for person in model.people if person.pos is not None]
        cells = [person.pos for person in inside]
        assert len(set(cells)) == len(cells)
        assert not any(walls[cell] or cell in model.room.exit_at for cell in cells)
        assert model.escaped + model.inside == len(model.people)
        on_grid = {person for cell, _ in model.grid.coord_iter() for person in cell}
        assert (model.inside, set(inside)) == (len(inside), on_grid)
        assert all(model.grid[cell] == [person] for person, cell in zip(inside, cells, strict=True))
        assert model.escaped == model.escaped_one + model.escaped_two >= escaped
        escaped = model.escaped
        for person, cell in before.items():
            now = (person.x, person.y)
            away = (abs(now[0] - cell[0]), abs(now[1] - cell[1]))
            assert max(away) <= 1
            assert model.room.diagonals or sum(away) <= 1
            assert (person.status == "escaped") == (now in model.room.exit_at)
        before = {person: person.pos for person in inside}
    frame = model.agent_frame().dropna(subset=["x"])
    assert not frame.duplicated(["round", "x", "y"]).any()


@given(worlds())
def test_asking_within_reach_is_asking_one_by_one(world) -> None:
    models = []
    strict, late = (ScriptedMind(noise(world["rng"])) for _ in range(2))
    for mind in (strict, Late(late, world["rng"])):
        model = EmergencyEvacuation(**world, minds=mind)
        said = []
        while model.running:
            model.step()
            said.append(list(model.said))
        models.append((model, said))
    (strict, strict_said), (late, late_said) = models

    pd.testing.assert_frame_equal(strict.agent_frame(), late.agent_frame())
    pd.testing.assert_frame_equal(strict.model_frame(), late.model_frame())
    assert strict_said == late_said
    assert late.critical_path_asks <= strict.critical_path_asks


# Bad input
@pytest.mark.parametrize(
    ("wrong", "error", "reason"),
    [
        ({"n_people": 10, "width": 5, "height": 5}, ParameterError, "10 people do not fit into 9"),
        ({"friction": 0.5}, ParameterError, "needs movement = simultaneous"),
        ({"exits": {"hole": [[5, 5]]}}, ParameterError, "not on the wall"),
        ({"n_people": 2, "positions": [[1, 1]]}, ParameterError, "2 different cells"),
        ({"n_people": 2, "positions": [[1, 1], [1, 1]]}, ParameterError, "2 different cells"),
        ({"n_people": 1, "positions": [[0, 0]]}, ParameterError, "not a free cell inside"),
        ({"n_people": 1, "positions": [[15, 0]]}, ParameterError, "not a free cell inside"),
        ({"n_people": 1, "positions": "1,1"}, ParameterError, "list of cells"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(wrong, error, reason) -> None:
    with pytest.raises(error, match=reason):
        EmergencyEvacuation(**wrong)


# Other exits, other tools


def test_the_class_knows_the_columns_of_the_published_exits() -> None:
    model = EmergencyEvacuation(n_people=1, rng=1)
    other = EmergencyEvacuation(n_people=1, exits={"north": [[0, 4]]}, rng=1)

    assert EmergencyEvacuation.model_columns == model.columns()
    assert set(model.columns()) <= set(describe(EmergencyEvacuation)["model_columns"])
    assert "escaped_bottom" in EmergencyEvacuation.model_columns
    assert "escaped_north" in other.columns()
    assert "escaped_bottom" not in other.columns()


def test_exits_have_names_of_any_script() -> None:
    exits = {"Süd": [[8, 4]], "выход_слева": [[4, 0]]}
    model = EmergencyEvacuation(n_people=9, width=9, height=9, exits=exits, rng=1)
    model.run_model()
    frame = model.model_frame()

    assert model.escaped == 9
    assert model.total.invalid == 0
    assert frame["escaped_Süd"].iloc[-1] + frame["escaped_выход_слева"].iloc[-1] == 9
