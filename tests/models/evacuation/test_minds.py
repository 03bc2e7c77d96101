"""The classical mind of the evacuation."""

import pytest

from sabm_mesa import EmergencyEvacuation
from sabm_mesa.core.messages import Message
from sabm_mesa.models.evacuation.agents import Glance, Situation
from sabm_mesa.models.evacuation.minds import DistanceAndCrowd
from sabm_mesa.models.evacuation.room import Room


# The classical mind
def situation(**changes) -> Situation:
    """A person in the middle of the published room."""
    given = {
        "glance": Glance([16.0, 16.0, 16.0], [0, 0, 0], 0, 0), "communication": True, "heard": (),
        "choices": (),
        "persona": "none", "condition": "baseline",
    } | changes  # fmt: skip
    return Situation(
        room=Room(), round=0, n_rounds=50, cell=(16, 16), feeling="", evaluation="", **given
    )


def test_the_classical_mind_weighs_distance_and_crowd() -> None:
    costs = DistanceAndCrowd("classical").costs

    assert costs(situation(), (0, 0, 0)) == [16, 16, 16]
    crowds = 4, 0, 2
    assert costs(situation(), crowds) == [18, 16, 17]
    assert costs(situation(), crowds, target="right") == [18, 16, 16]
    afraid, confident = (
        costs(situation(persona=f"{mind}_weak"), crowds) for mind in ("afraid", "confident")
    )
    assert afraid[0] - afraid[1] > confident[0] - confident[1]
    strong, weak = (
        costs(situation(persona=f"afraid_{body}"), crowds) for body in ("strong", "weak")
    )
    assert strong[1] < weak[1]


def test_the_classical_mind_believes_others_by_the_condition() -> None:
    costs = DistanceAndCrowd("classical").costs
    heard = (Message(0, 2, "Take the left exit!"), Message(0, 3, "Avoid the bottom exit."))

    assert costs(situation(), (4, 0, 0), heard) == [17, 16, 16]
    distrust = situation(condition="uncooperative")
    assert costs(distrust, (4, 0, 0), heard)[0] == pytest.approx(17.9)


def test_classical_people_take_a_shortest_way() -> None:
    model = EmergencyEvacuation(
        n_people=1, positions=[(7, 2)], obstacles=[[x, 3] for x in range(4, 9)], width=9,
        height=10, exits={"right": [[7, 8]]}, rng=1,
    )  # fmt: skip
    steps = int(model.room.steps[0, 7, 2])
    model.run_model()

    assert model.round + 1 == steps


def test_talking_changes_what_classical_people_do() -> None:
    silent, talking, cold = (
        EmergencyEvacuation(rng=2, communication=talk, condition=condition)
        for talk, condition in ((False, "baseline"), (True, "baseline"), (True, "uncooperative"))
    )
    for model in (silent, talking, cold):
        model.run_model()
    frame = talking.model_frame()

    assert frame["guiding"].iloc[0] == 1
    assert cold.model_frame()["guiding"].iloc[0] == 0
    assert silent.model_frame()["guiding"].isna().all()
    assert not frame["escaped"].equals(silent.model_frame()["escaped"])
    assert {silent.escaped, talking.escaped, cold.escaped} == {100}
