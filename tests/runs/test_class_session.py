"""A class at several games: seats by a code, minds at empty seats, pauses, and one recording."""

import pytest

from sabm_mesa import EmergencyEvacuation
from sabm_mesa.core.answers import Format, Reply
from sabm_mesa.llm import Connection
from sabm_mesa.minds.base import Mind
from sabm_mesa.models.commons.model import Pollution
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.game import ClassSession, ContinuedGame, Game, Games
from sabm_mesa.runs.rerun import replay
from tests.core.support import Tiny, rows

ANN, BEN, CARL, DORA, ELLA = "ann", "ben", "carl", "dora", "ella"


def a_class(groups=2, n=2, **settings) -> ClassSession:
    """A class of this many groups, with this many seats in each."""
    given = {"minds": "human", "n": n, "n_rounds": 2, "recording": False, **settings}
    return ClassSession([Game(Tiny, **given, rng=seed) for seed in range(groups)])


def answer(game, holder, text) -> None:
    """Answer the next question of the seat that somebody has."""
    seat = next(each for each in game.seats.values() if each.held_by(holder))
    version = -1
    while seat.question is None:
        version = seat.wait(version)
    assert seat.answer(holder, seat.question.number, text) == ""


def test_seats_are_taken_in_the_order_of_arrival_and_groups_fill_evenly() -> None:
    session = a_class()
    first, second = session.games
    found = [session.join(holder) for holder in (ANN, BEN, CARL, DORA)]

    assert [(game, seat.agent) for game, seat in found] == [
        (first, 1), (second, 1), (first, 2), (second, 2)
    ]  # fmt: skip
    assert session.join(ELLA) is None
    assert session.join(BEN) == found[1], "a browser that comes again has its seat"


def test_nobody_gets_the_seat_of_an_agent_that_has_left() -> None:
    session = a_class(groups=1)
    (game,) = session.games
    game.model.population[0].remove()

    assert session.join(ANN) == (game, game.seats[2])
    assert session.join(BEN) is None


def test_a_lost_device_gets_its_seat_back_by_its_word_alone() -> None:
    session = a_class()
    _, seat = session.join(ANN)
    other = session.games[1].seats[1]

    assert session.come_back(BEN, "wrongword") is None
    assert session.come_back(BEN, other.word) is None, "nobody has sat there yet"
    assert session.come_back(BEN, f" {seat.word.upper()} ") == (session.games[0], seat)
    assert seat.held_by(BEN)
    assert not seat.held_by(ANN)


def test_a_code_leads_to_its_class_and_to_no_other() -> None:
    games, session = Games(), a_class()
    for game in session.games:
        games.add("host", game)

    assert games.session(session.code.lower()) is session
    assert games.session(a_class().code) is None
    assert len({a_class(1, 1).code for _ in range(20)}) == 20


def test_a_mind_plays_for_an_empty_seat_until_somebody_comes_and_a_replay_is_the_same(
    tmp_path,
) -> None:
    path = tmp_path / "game.sqlite"
    game = Game(Tiny, minds="human", n=2, n_rounds=2, rng=1, recording=path, stand_in="fixed:7")
    session = ClassSession([game])
    session.join(ANN)
    game.watch = lambda: session.join(BEN)  # between the rounds
    session.start()
    answer(game, ANN, "1")
    answer(game, ANN, "2")
    answer(game, BEN, "3")
    game.join()

    assert (game.status, game.problem) == ("over", "")
    asked = "SELECT round, agent, mind, raw FROM asks ORDER BY round, agent"
    assert rows(path, asked) == [
        (0, 1, "human", "1"), (0, 2, "fixed:7", "7"), (1, 1, "human", "2"), (1, 2, "human", "3")
    ]  # fmt: skip
    data = Recorded(path).agent_data()
    assert list(data["mind"]) == ["human", "fixed:7", "human", "human"]
    replay(path)


class Scripted(Mind):
    """Answers in the form in which it is asked; its requests are not hashed as a person's."""

    def __init__(self, answer_format: Format | None) -> None:
        self.answer_format = answer_format

    async def answer(self, ask):
        """Answer 7."""
        text = {"json": '{"answer": 7}', "labelled": "Answer: 7", "paper": "7"}
        return Reply(text[ask.attempt_format], answer_format=ask.attempt_format)

    def digest(self, ask):
        """As a language model, which hashes the messages with its own settings."""
        return f"its own: {ask.digest()}"


@pytest.mark.parametrize(
    ("declared", "form"),
    [("json", "json"), ("labelled", "labelled"), ("paper", "paper"), (None, "labelled")],
)
def test_a_stand_in_is_asked_in_the_form_that_its_mind_declares(
    tmp_path, monkeypatch, declared, form
) -> None:
    path = tmp_path / "game.sqlite"
    monkeypatch.setattr(Tiny, "make_mind", lambda *_: Scripted(declared))
    given = {"minds": "human", "n": 2, "rng": 1, "stand_in": "fixed:7", "n_rounds": 3}
    game = Game(Tiny, **given, recording=path)
    ClassSession([game]).join(ANN)
    game.start()
    answer(game, ANN, "1")
    seat, version = game.seats[1], -1
    while seat.question is None or seat.question.number < 1:
        version = seat.wait(version)
    game.stop()
    game.join()

    (run,) = load_runs(path)
    again = ContinuedGame(run, Connection())
    again.seats[1].take(ANN)
    again.start()
    answer(again, ANN, "1")
    answer(again, ANN, "1")
    again.join()

    assert (again.status, again.problem) == ("over", "")
    asked = rows(path, "SELECT DISTINCT agent, mind, form, valid FROM asks ORDER BY agent")
    assert asked == [(1, "human", "paper", 1), (2, "Scripted", form, 1)]
    asks = Recorded(path).asks(messages=True)
    for of_agent in (1, 2):
        wanted = "paper" if of_agent == 1 else form
        for text in asks[asks["agent"] == of_agent]["messages"]:
            assert ("Answer:" in text, "JSON" in text) == (wanted == "labelled", wanted == "json")
    replay(path)


def test_groups_are_runs_of_one_recording_and_all_of_them_go_on(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = a_class(n=1, recording=None)
    for holder in (ANN, BEN):
        session.join(holder)
    session.start()
    (path,) = tmp_path.glob("sabm_recordings/*.sqlite")
    assert len(load_runs(path)) == 2  # a crash from here on loses no group
    for game, holder in zip(session.games, (ANN, BEN), strict=True):
        answer(game, holder, "1")
        answer(game, holder, "2") if holder == ANN else None
    session.games[0].join()
    session.games[1].stop()
    session.games[1].join()
    first, second = load_runs(path)
    assert [run.finished for run in (first, second)] == [True, False]

    again = ContinuedGame(second, Connection())
    taken_up = ClassSession([again], again.code)
    assert taken_up.code == session.code
    assert again.seats[1].word == session.games[1].seats[1].word
    taken_up.join(BEN)
    taken_up.start()
    answer(again, BEN, "5")
    again.join()
    assert [run.finished for run in load_runs(path)] == [True, True]


def test_groups_that_cannot_be_recorded_do_not_begin(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sabm_recordings").write_text("a file where the folder must be")
    session = a_class(n=1, recording=None)
    session.start()
    assert session.status == "over"
    (problem,) = {game.problem for game in session.games}
    assert "sabm_recordings" in problem


def test_a_host_stops_the_clock_gives_time_and_skips_a_sleeper() -> None:
    session = a_class(1, 1, time_limit_s=60)
    (game,) = session.games
    _, seat = session.join(ANN)
    session.start()
    version = -1
    while seat.question is None:
        version = seat.wait(version)
    question = seat.question
    game.pause(paused=True)
    left = question.remaining_s
    assert question.runs_out_in_s is None
    assert "stopped the clock" in seat.answer(ANN, question.number, "1")
    seat.add_time(30)
    assert question.remaining_s == pytest.approx(left + 30)
    game.pause(paused=False)
    assert 80 < question.remaining_s <= 90

    seat.skip()
    answer_of_second_round = answer
    while len(seat.turns) == 0:
        version = seat.wait(version)
    answer_of_second_round(game, ANN, "4")
    game.join()
    assert [turn.answer for turn in seat.turns] == [None, "4"]
    assert game.problem == ""


@pytest.mark.parametrize(
    ("scenario", "sizes"),
    [
        (Pollution, {"minds": {"human": 1, "classical": 2}, "n_agents": 3, "n_rounds": 1}),
        (
            # The third seat is empty, and its mind reads what no prompt tells.
            EmergencyEvacuation,
            {
                "minds": {"human": 2, "classical": 4}, "n_people": 6, "n_rounds": 3, "width": 9,
                "height": 9, "movement": "simultaneous",
            },
        ),
    ],
)  # fmt: skip
def test_questions_that_are_not_for_people_go_to_the_mind_that_stands_in(scenario, sizes) -> None:
    game = Game(scenario, **sizes, rng=1, recording=False, stand_in="classical")
    seat = game.seats[1]
    seat.take(ANN)
    game.start()
    names, version = [], -1
    while game.status != "over":
        if (question := seat.question) is not None:
            names.append(question.ask.name)
            value = question.ask.spec.example(question.ask.rng)
            seat.answer(ANN, question.number, question.ask.spec.as_text(value), "")
        version = seat.wait(version)
    game.join()

    assert game.problem == ""
    assert "act" in names
    assert set(names) <= set(scenario.class_game.people_answer)
    assert game.standing(seat).of == len(game.model.population)
