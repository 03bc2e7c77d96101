"""The page of the evacuation: the room as it is painted, live and from a recording alike."""

from sabm_mesa import EmergencyEvacuation
from sabm_mesa.models.evacuation.page import charts, scene


def test_nobody_vanishes_those_who_are_out_stand_beside_their_exit():
    model = EmergencyEvacuation(n_people=12, n_rounds=40, width=12, height=12, rng=1)
    start = scene(model, None)
    assert {(each.x, each.y) for each in start.marks} == {(p.y, p.x) for p in model.people}
    model.run_model()
    data = model.agent_frame()
    for round_, people in data.groupby("round"):
        shown = scene(model, people)
        assert [each.id for each in shown.marks] == people["agent"].tolist()
        left, top, wide, high = shown.floor
        out = [
            each.id
            for each in shown.marks
            if not (left <= each.x <= left + wide and top <= each.y <= top + high)
        ]
        assert out == people.loc[people["status"] == "escaped", "agent"].tolist()
        assert len({(each.x, each.y) for each in shown.marks}) == 12
        assert shown.words.startswith(f"{len(out)} out"), round_


def test_the_published_means_of_the_condition_stand_beside_the_published_room_only():
    for given, first in (
        ({"n_people": 5}, None),
        ({}, (4, 9.8)),
        ({"communication": False}, (4, 9.4)),
        ({"condition": "uncooperative"}, (9, 31.2)),
    ):
        model = EmergencyEvacuation(rng=1, **given)
        _, *published = charts(model, model.model_frame(), model.agent_frame())[0].series
        assert len(published) == (first is not None)
        assert all(series.dashed and first in series.points for series in published)
