"""Votes on the machine in a class: unseen machines, the votes of people, and links of lessons."""

import json

import pytest

from sabm_mesa import EmergencyEvacuation, RepeatedBeautyContest
from sabm_mesa.errors import UsageError
from sabm_mesa.models.registry import SCENARIOS
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.game import ClassSession
from sabm_mesa.runs.rerun import replay
from sabm_mesa.visualization.web.debrief import slides
from sabm_mesa.visualization.web.games import GAMES
from sabm_mesa.visualization.web.opening import open_session, take_up
from sabm_mesa.visualization.web.play import state_of
from sabm_mesa.visualization.web.settings import read_link

ANN, BEN = "ann", "ben"


@pytest.fixture
def session(tmp_path):
    given = {"n_players": 3, "n_rounds": 1, "rng": 1, "recording": tmp_path / "game.sqlite"}
    made = open_session(
        "host", RepeatedBeautyContest, given, "fixed:50", 2, time_limit_s=300, public=True,
        voting=True, machines=1,
    )  # fmt: skip
    yield made
    for game in made.games:
        GAMES.close(game)


def play_it(session: ClassSession) -> None:
    (game,) = session.games
    for holder in (ANN, BEN):
        session.join(holder)
    session.start()
    for seat in game.seats.values():
        while seat.question is None:
            seat.wait(seat.version)
        holder = ANN if seat.held_by(ANN) else BEN
        assert seat.answer(holder, 0, "20") == ""
    game.join()


def test_a_class_votes_who_was_the_machine_and_the_recording_holds_it(session) -> None:
    (game,) = session.games
    ann, ben = game.seats.values()
    machine = next(a.unique_id for a in game.model.population if a.unique_id not in game.seats)
    assert game.vote(ann, machine) == "There is no vote now."
    play_it(session)
    assert game.machines() == [machine]

    state = state_of(game, ann, ANN)
    assert state["debrief"] is None
    assert "fixed:" not in json.dumps(state)
    options = {each["agent"]: each["did"] for each in state["vote"]["options"]}
    assert options == {machine: "50", ben.agent: "20"}
    assert game.vote(ann, ann.agent) == "Choose one of the others, or nobody."
    assert game.vote(ann, machine) == ""
    assert game.vote(ann, 0) == "You have voted already."
    assert game.vote(ben, ann.agent) == ""
    told = state_of(game, ann, ANN)
    assert told["vote"] is None
    assert told["debrief"] is not None
    assert "Your vote was right." in told["lines"]
    assert f"Machines in your group: Player {machine} (always 50)." in told["lines"]
    assert "Your vote was wrong." in state_of(game, ben, BEN)["lines"]
    count, machine_slide, *_ = slides(session)
    assert (count.title, count.words) == ("Who was the machine?", ["2 of 2 have voted."])
    assert "sabm-machine" not in count.drawing
    assert f"<span>Player {machine}</span>" in machine_slide.drawing
    assert "sabm-machine" in machine_slide.drawing
    assert machine_slide.words == ["1 of 2 votes were right (50%); by chance 33% would be."]

    path = game.model.recording_path
    (run,) = load_runs(path)
    votes = {str(ann.agent): machine, str(ben.agent): ann.agent}
    assert run.measures["machine_votes"] == {"votes": votes, "machines": [machine]}
    replay(path)


def test_decisions_of_a_stand_in_are_not_those_of_the_person_who_comes_late() -> None:
    given = {"n_players": 2, "n_rounds": 3, "rng": 1, "recording": False}
    session = open_session(
        "host", RepeatedBeautyContest, given, "classical", 2, time_limit_s=300, public=True,
        stand_in="fixed:50",
    )  # fmt: skip
    (game,) = session.games
    session.join(ANN)
    session.start()
    ann, ben = game.seats.values()
    while ann.question is None:
        ann.wait(ann.version)
    ann.answer(ANN, 0, "20")
    while ann.question is None or ann.question.number < 1:
        ann.wait(ann.version)
    session.join(BEN)
    assert state_of(game, ann, ANN)["told"]["lines"]
    assert state_of(game, ben, BEN)["told"] is None
    while not game.join(0.01):
        for seat, holder in ((ann, ANN), (ben, BEN)):
            if question := seat.question:
                seat.answer(holder, question.number, "20")
    first, last = state_of(game, ben, BEN)["debrief"]["charts"]
    assert first["words"] == "Round 1: you without an answer, the mean of 1 person 20."
    assert last["words"] == "Round 3: you 20, the mean of 2 people 20."
    earned = slides(session)[2]
    assert "always 50" not in earned.words[0]
    GAMES.close(game)


def test_after_the_machine_the_wall_shows_what_it_thought(tmp_path) -> None:
    mind = tmp_path / "mind.py"
    mind.write_text(
        "from sabm_mesa import ClassicalMind\n"
        "class Thinker(ClassicalMind):\n"
        "    async def answer(self, ask):\n"
        '        return \'{"reasoning": "People start at 33.", "answer": 22}\'\n'
    )
    given = {"n_players": 2, "n_rounds": 1, "rng": 1, "recording": tmp_path / "game.sqlite"}
    session = open_session(
        "host", RepeatedBeautyContest, given, f"py:{mind}", 1, time_limit_s=300, public=True,
        voting=True, machines=1, groups=2,
    )  # fmt: skip
    session.join(ANN)
    session.join(BEN)
    session.start()
    for (game, seat), holder in zip(session.seats, (ANN, BEN), strict=True):
        while seat.question is None:
            seat.wait(seat.version)
        assert seat.answer(holder, 0, "20") == ""
        game.join()

    thought = slides(session)[2]
    assert thought.title == "What the machine thought in private"
    for group, game in enumerate(session.games, 1):
        (machine,) = game.machines()
        words = f"Player {machine}, Group {group}, round 1: “People start at 33.”"
        assert words in str(thought.drawing)
        GAMES.close(game)


def test_machines_sit_at_seats_that_nobody_can_guess() -> None:
    found = set()
    for _ in range(30):
        session = open_session(
            "host", RepeatedBeautyContest, {"n_players": 3, "n_rounds": 1, "recording": False},
            "fixed:50", 2, time_limit_s=300, public=True, machines=1,
        )  # fmt: skip
        game = session.games[0]
        found |= {agent.unique_id for agent in game.model.population} - set(game.seats)
        GAMES.close(game)
        if len(found) == 3:
            break
    assert found == {1, 2, 3}


@pytest.mark.parametrize(
    ("others", "more", "n"),
    [
        ("local", {"machines": 1, "groups": 5}, 1),
        ("local:smollm2", {"groups": 3}, 2),
        ({"local": 1, "classical": 1}, {"groups": 5}, 1),
        ("classical", {"stand_in": "local", "groups": 3}, 2),
        ({"local": 1, "classical": 1}, {"stand_in": "local", "groups": 2}, 3),
    ],
)
def test_a_local_model_plays_at_most_four_seats_in_all(others, more, n) -> None:
    size = 2 + more.get("machines", 2)
    given = {"n_players": size, "n_rounds": 1, "recording": False}
    with pytest.raises(UsageError, match=rf"at most 4 seats in all.*got {n} in each of"):
        open_session(
            "host", RepeatedBeautyContest, given, others, 2, time_limit_s=300, public=True, **more
        )


def test_an_empty_seat_is_a_machine_on_the_wall_and_in_the_recording(tmp_path) -> None:
    given = {"n_players": 2, "n_rounds": 1, "rng": 1, "recording": tmp_path / "game.sqlite"}
    session = open_session(
        "host", RepeatedBeautyContest, given, "fixed:50", 2, time_limit_s=300, public=True,
        voting=True, stand_in="fixed:50",
    )  # fmt: skip
    (game,) = session.games
    ann, empty = game.seats.values()
    session.join(ANN)
    session.start()
    while ann.question is None:
        ann.wait(ann.version)
    assert ann.answer(ANN, 0, "20") == ""
    game.join()

    assert game.vote(ann, empty.agent) == ""

    assert slides(session)[1].words[0].startswith("1 of 1 vote")
    (run,) = load_runs(game.model.recording_path)
    votes = {str(ann.agent): empty.agent}
    assert run.measures["machine_votes"] == {"votes": votes, "machines": [empty.agent]}
    GAMES.close(game)


def test_a_link_of_a_lesson_fills_the_form_in_and_what_is_wrong_is_named() -> None:
    link = "?game=bertrand&people=2&groups=8&rounds=4&seconds=45&results=on&vote=on"
    found = read_link(link, SCENARIOS)
    assert (found.game, found.problem) == ("bertrand", "")
    assert found.values == {
        "people": 2, "groups": 8, "rounds": 4, "seconds": 45.0, "results": True, "vote": True,
    }  # fmt: skip
    assert read_link("game=games&game=x", SCENARIOS).choices == {}

    for mind in ("local", "llm:gpt-4o-mini@lab", "fixed:50"):
        assert read_link(f"game=kbc&machines=1&mind={mind}", SCENARIOS).values["mind"] == mind
    for mind in ("py:mind.py", "gguf:m.gguf", "fitted:f.json", "llm:m@http://x.y", "local=4", ""):
        assert "mind" not in read_link(f"game=kbc&mind={mind}", SCENARIOS).values

    bad = "game=kbc&people=0&groups=21&seconds=nan&talk=x&minds=llm:x&rank=1&<b>=1"
    found = read_link(bad, SCENARIOS)
    assert (found.game, found.values, found.choices) == ("kbc", {}, {})
    for name in ("people", "groups", "seconds", "talk", "minds", "rank", "…"):
        assert name in found.problem
    assert "<b>" not in found.problem
    assert "no game" in read_link("game=chess", SCENARIOS).problem
    for nothing in (None, "", "?"):
        assert read_link(nothing, SCENARIOS).problem == ""


def test_where_no_decision_is_compared_a_vote_is_by_scores() -> None:
    sizes = {"n_people": 3, "n_rounds": 1, "width": 9, "height": 9, "recording": False, "rng": 1}
    session = open_session(
        "host", EmergencyEvacuation, sizes, "classical", 2, time_limit_s=0.01, public=True,
        voting=True, machines=1, stand_in="classical",
    )  # fmt: skip
    session.join(ANN)
    session.start()
    (game,) = session.games
    assert game.join(30)
    ann = next(seat for seat in game.seats.values() if seat.held_by(ANN))
    ballot = state_of(game, ann, ANN)["vote"]
    assert [each["did"] for each in ballot["options"]] == ["did not get out"] * 2
    GAMES.close(game)


def test_all_groups_of_a_class_that_was_cut_off_are_taken_up(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    sizes = {"n_players": 2, "n_rounds": 2, "rng": 1}
    session = open_session(
        "cut off", RepeatedBeautyContest, sizes, "classical", 1, time_limit_s=600, public=True,
        groups=2, voting=True,
    )  # fmt: skip
    for _, seat in session.seats:
        seat.take("person")
    session.start()
    for game in session.games:
        game.stop()
        game.join()
    path = session.games[0].model.recording_path

    again = take_up("cut off", path, 1)

    assert [game.model.entropy for game in again.games] == [(1,), (2,)]
    assert all(game.voting for game in again.games)
    for game in again.games:
        game.stop()
