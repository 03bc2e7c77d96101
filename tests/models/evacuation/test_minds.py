"""The classical minds of the evacuation."""

from collections import Counter

import numpy as np
import pytest

from sabm_mesa import EmergencyEvacuation
from sabm_mesa.core.facts import Facts
from sabm_mesa.core.messages import Message
from sabm_mesa.models.evacuation.agents import LETTERS
from sabm_mesa.models.evacuation.minds import FloorField, NearestCell
from sabm_mesa.models.evacuation.room import Room


# The classical mind
def situation(persona="none") -> Facts:
    """A person in the middle of the published room."""
    room = Room()
    exits = {name: {"cells": cells} for name, cells in room.exit_cells.items()}
    return Facts({"exits": exits, "steps": room.steps[:, 16, 16].tolist(), "persona": persona})


def test_an_exit_costs_the_time_of_the_way_and_of_the_queue() -> None:
    """The left and the bottom exit have three cells, the right one has one."""
    times = FloorField("classical").times

    assert times(situation(), (0, 0, 0)) == [16, 16, 16]
    assert times(situation(), (6, 0, 6)) == [18, 16, 22]
    assert times(situation(persona="afraid_weak"), (6, 0, 6)) == pytest.approx(
        [16 / 0.63 + 2, 16 / 0.63, 16 / 0.63 + 6]
    )


def test_people_who_name_an_exit_count_there_and_not_where_they_are_seen() -> None:
    """Of 4 people in view 2 name an exit; the other 2 count in the crowds that are seen.

    Whether talk makes an exit seem longer or shorter depends on what is said.
    """
    times = FloorField("classical").times
    heard = tuple(
        Message(0, number, text)
        for number, text in enumerate(
            ("Take the left exit!", "I look after myself.", "Go left or to the bottom.")
        )
    )

    assert times(situation(), (3, 3, 2), heard, in_view=4) == pytest.approx(
        [16 + (1.5 + 1.5) / 3, 16 + (1.5 + 0.5) / 3, 16 + 1]
    )


def crossing(before=None, trace=None, persona="none", blocked=()) -> Facts:
    """A person beside the middle of the left side of an empty room of 7 × 7, and its options."""
    field = Room(7, 7, {"left": [[3, 0]]}).field[0]
    trace = np.zeros((7, 7)) if trace is None else trace
    options = [(x, y) for x in (2, 3, 4) for y in (1, 2, 3) if (x, y) not in blocked]
    return Facts(
        {
            "cell": (3, 2),
            "before": before,
            "options": dict(zip(LETTERS, options, strict=False)),
            "field": [field[cell] for cell in options],
            "trace": [trace[cell] for cell in options],
            "persona": persona,
        }
    )


def shares(mind, seen, n=4000):
    """The share of each option among many steps."""
    rng = np.random.default_rng(1)
    found = Counter(seen.options[mind.step(seen, rng)] for _ in range(n))
    return {cell: found[cell] / n for cell in seen.options.values()}


def test_steps_follow_the_static_field() -> None:
    """The three cells on the left are one step nearer, those on the right one farther."""
    seen = crossing()
    mind = FloorField("classical", k_s=1.0, k_d=0.0)
    cells = seen.options.values()
    weights = {cell: np.exp(-away) for cell, away in zip(cells, seen.field, strict=True)}

    for cell, share in shares(mind, seen).items():
        assert share == pytest.approx(weights[cell] / sum(weights.values()), abs=0.02)
    assert (weights[3, 1] / weights[3, 2], weights[3, 1] / weights[3, 3]) == pytest.approx(
        (np.exp(1), np.exp(2)), rel=0.1
    )


def test_people_follow_the_trace_of_others_and_not_their_own() -> None:
    trace = np.zeros((7, 7))
    trace[4, 3] = np.log(8)
    blocked = {(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3), (4, 1)} - {(3, 2)}
    plain = crossing(blocked=blocked)
    mind = FloorField("classical", k_s=0.0)

    def to_the_trace(**given):
        return shares(mind, crossing(blocked=blocked, trace=trace, **given))[4, 3]

    assert shares(mind, plain)[4, 3] == pytest.approx(1 / 3, abs=0.03)
    assert to_the_trace() == pytest.approx(8 / 10, abs=0.03)
    assert to_the_trace(persona="afraid_strong") == pytest.approx(8 / 10, abs=0.03)
    assert to_the_trace(persona="confident_strong") == pytest.approx(1 / 3, abs=0.03)
    own = 8 * np.exp(-0.9 * 0.7)
    assert to_the_trace(before=(4, 3)) == pytest.approx(own / (own + 2), abs=0.03)


def test_weak_people_walk_in_63_of_100_rounds() -> None:
    seen = crossing(persona="confident_weak")

    assert shares(NearestCell("c"), seen)[seen.cell] == pytest.approx(0.37, abs=0.03)


def test_without_chance_and_trace_people_take_a_shortest_way() -> None:
    model = EmergencyEvacuation(
        n_people=1, positions=[(7, 2)], obstacles=[[x, 3] for x in range(4, 9)], width=9,
        height=10, exits={"right": [[7, 8]]}, personas="none", minds="classical:nearest_cell",
        rng=1,
    )  # fmt: skip
    steps = int(model.room.steps[0, 7, 2])
    model.run_model()

    assert model.round + 1 == steps


@pytest.mark.slow
def test_talk_may_make_exits_be_used_more_evenly_or_less() -> None:
    """Neither is built in: each comes in some of these runs."""
    differences = []
    for seed in range(12):
        silent, talking = (
            EmergencyEvacuation(rng=seed, communication=talk) for talk in (False, True)
        )
        silent.run_model()
        talking.run_model()
        differences.append(talking.evenness - silent.evenness)

    assert min(differences) < 0 < max(differences)


def test_talking_changes_what_classical_people_do() -> None:
    silent, talking, cold = (
        EmergencyEvacuation(rng=2, communication=talk, condition=condition)
        for talk, condition in ((False, "baseline"), (True, "baseline"), (True, "uncooperative"))
    )
    for model in (silent, talking, cold):
        model.run_model()
    frame = talking.model_frame()

    assert not frame["escaped"].equals(silent.model_frame()["escaped"])
    assert min(silent.escaped, talking.escaped, cold.escaped) >= 95
