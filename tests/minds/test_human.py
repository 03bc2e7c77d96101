"""People at seats: what a seat takes and refuses, and games in which people play."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sabm_mesa import KeynesianBeautyContest, Number, ScriptedMind, Text
from sabm_mesa.core import engine
from sabm_mesa.core.answers import ABSTAINED, words
from sabm_mesa.core.structured import as_spec
from sabm_mesa.errors import MindSpecError, ParameterError, RecordingError, RunError, UnknownName
from sabm_mesa.llm import Connection
from sabm_mesa.minds.human import LONGEST, HumanMind, Seat, inputs_of, text_from
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.game import MOST_GAMES, ContinuedGame, Game, Games, with_others
from tests.core.support import Tiny, question, rows, tiny
from tests.testing.trading import Buy, Day, Order

ME = "the secret of my browser"
OVER = "This question is over: no answer is taken any more."


class Asked:
    """A seat to which one question is put, on the engine's loop."""

    def __init__(self, spec=None, time_limit_s=None, reasoning=None):
        self.seat = Seat(7, time_limit_s)
        self.seat.take(ME)
        ask = question(spec or Number(0, 100, integer=True, reasoning=reasoning))
        self._pool = ThreadPoolExecutor(1)
        self.reply = self._pool.submit(engine.run, self.seat.ask(ask))
        version = 0
        while self.seat.question is None and not self.seat.turns:
            version = self.seat.wait(version)

    def answer(self, text, reasoning="", holder=ME):
        return self.seat.answer(holder, 0, text, reasoning)

    def outcome(self):
        with self._pool:
            return self.reply.result(timeout=100)


def play(game, *scripts, holder=ME):
    """Play every seat from a script of its own, each on a thread, until the game is over."""

    def person(seat, script):
        seat.take(holder)
        version, answers = -1, iter(script)
        while game.status != "over":
            waiting = seat.question
            if waiting is not None and (answer := next(answers)) is not None:
                assert seat.answer(holder, waiting.number, *answer) == ""
            version = seat.wait(version)

    seats = game.seats.values()
    with ThreadPoolExecutor(len(game.seats)) as people:
        playing = [people.submit(person, *each) for each in zip(seats, scripts, strict=True)]
        game.start()
        for each in playing:
            each.result(timeout=100)
    game.join()


# A seat.


def test_an_answer_is_handed_to_the_engine() -> None:
    asked = Asked(reasoning=words(30))

    assert asked.answer("50", "Half \n of it") == ""
    reply = asked.outcome()
    assert reply.answer == "Half of it\n50"
    assert (reply.finish_reason, reply.cost_usd, reply.prompt_tokens) == ("", 0, 0)
    assert reply.latency_s >= 0
    assert [turn.answer for turn in asked.seat.turns] == ["Half of it\n50"]
    assert asked.seat.question is None


def test_a_person_answers_one_question_after_another() -> None:
    """Also when the agent asks them together."""
    mind, seat = HumanMind(), Seat(7)
    mind.seats[7] = seat
    seat.take(ME)

    async def both() -> list[str]:
        asks = [question(Number(0, 9)), question(Number(0, 9))]
        replies = await asyncio.gather(*(mind.answer(ask) for ask in asks))
        return [str(reply.answer) for reply in replies]

    with ThreadPoolExecutor(1) as pool:
        replies = pool.submit(engine.run, both())
        for number in range(2):
            version = 0
            while seat.question is None or seat.question.number != number:
                version = seat.wait(version)
            assert seat.answer(ME, number, str(number)) == ""
        assert replies.result(timeout=100) == ["0", "1"]


@pytest.mark.parametrize(
    ("spec", "text", "reason"),
    [
        (Number(0, 100, integer=True), "101", '"101" is outside the range from 0 to 100.'),
        (Number(0, 100, integer=True), "1.5", '"1.5" is not an integer.'),
        (Number(0, 100, integer=True), "about fifty", '"about fifty" is not a number.'),
        (Number(0, 100, integer=True, reasoning=words(30)), " ", "It was empty."),
        (Text(numbers=False, strict=True), "7 of us", "It holds digits."),
    ],
)
def test_an_illegal_answer_is_refused_at_once_and_the_question_goes_on(spec, text, reason) -> None:
    asked = Asked(spec)
    legal = "words" if isinstance(spec, Text) else "5"

    assert asked.answer(text) == reason
    assert not asked.reply.done()
    assert asked.answer(legal) == ""
    assert asked.outcome().answer == legal


def test_a_person_may_stay_silent_where_that_is_legal() -> None:
    asked = Asked(Text(optional=True))

    assert [str(field.label) for field in inputs_of(Text(optional=True))] == [
        "Your words (may stay empty)"
    ]
    assert asked.answer(" ") == ""
    assert asked.outcome().answer == ""


def test_half_a_surrogate_pair_is_no_trouble() -> None:
    asked = Asked(Text())

    assert asked.answer("a \ud83d b") == ""
    assert asked.outcome().answer == "a ? b"


def test_nobody_answers_twice_or_another_question() -> None:
    asked = Asked()

    assert asked.seat.answer(ME, 1, "5") == OVER
    assert asked.answer("5") == ""
    assert asked.answer("6") == OVER
    assert asked.outcome().answer == "5"
    assert asked.answer("7") == OVER


def test_the_first_holder_keeps_the_seat() -> None:
    asked = Asked()

    assert asked.seat.take(ME)
    assert not asked.seat.take("another browser")
    assert asked.answer("5", holder="another browser") == "This seat is not yours any more."
    asked.seat.free()
    assert not asked.seat.taken
    assert asked.answer("5") == "This seat is not yours any more."
    assert asked.seat.take("another browser")
    assert not asked.seat.take(ME)
    assert asked.answer("5", holder="another browser") == ""
    asked.outcome()


def test_the_next_person_at_a_seat_sees_no_answer_of_the_one_before() -> None:
    asked = Asked()
    asked.answer("5")
    asked.outcome()
    seat = asked.seat

    seat.free()
    assert seat.take(ME)
    assert [turn.answer for turn in seat.turns] == ["5"]
    seat.free()
    assert seat.take("another browser")
    assert seat.turns == ()


@pytest.mark.parametrize(
    ("typed", "answer"), [("1e2", "100"), ("-.5E1", "-5"), ("5e-1", "0.5"), ("1e", "1e")]
)
def test_a_number_with_an_exponent_is_one_number(typed, answer) -> None:
    assert text_from(Number(-100, 100), {"": typed}) == answer


def test_an_answer_that_was_taken_outlasts_a_stop() -> None:
    seat = Seat(7)
    seat.take(ME)

    async def stopped_at_once():
        waiting = asyncio.ensure_future(seat.ask(question()))
        await asyncio.sleep(0)
        assert seat.answer(ME, 0, "5") == ""
        waiting.cancel()
        return await waiting

    reply = asyncio.run(stopped_at_once())
    assert (reply.answer, reply.stopped) == ("5", True)


def test_an_answer_has_an_end() -> None:
    asked = Asked(Text())

    assert asked.answer("word " * LONGEST) == "It is too long: 10000 characters are taken at most."
    assert asked.answer("word") == ""
    asked.outcome()


def test_an_empty_seat_abstains() -> None:
    asked = Asked(time_limit_s=0.02)
    reply = asked.outcome()

    assert reply.final
    assert (reply.answer, reply.finish_reason, reply.latency_s) == ("", ABSTAINED, 0.02)
    assert [turn.answer for turn in asked.seat.turns] == [None]
    assert asked.answer("5") == OVER


def test_the_host_gives_time_and_stops_the_clock() -> None:
    asked = Asked(time_limit_s=100.0)
    seat, question = asked.seat, asked.seat.question
    seat.add_time(50)
    assert 100 < question.remaining_s <= 150
    version = seat.version
    seat.pause(paused=False)
    assert seat.version == version
    seat.pause(paused=True)
    assert (seat.paused, seat.version > version) == (True, True)
    left, version = question.remaining_s, seat.version
    assert 100 < left <= 150
    assert question.runs_out_in_s is None
    seat.pause(paused=True)
    assert (question.remaining_s, seat.version) == (left, version)
    seat.add_time(30)
    assert question.remaining_s == left + 30
    assert asked.answer("5") != ""
    seat.pause(paused=False)
    assert left < question.remaining_s <= left + 30
    assert asked.answer("5") == ""
    assert asked.outcome().answer == "5"
    version = seat.version
    seat.add_time(30)  # nothing is asked any more
    assert seat.version == version


def test_a_question_that_comes_while_the_clock_is_stopped_keeps_its_time() -> None:
    seat = Seat(7, 100.0)
    seat.take(ME)
    seat.pause(paused=True)
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(engine.run, seat.ask(question(Number(0, 100, integer=True))))
        version = 0
        while (asked := seat.question) is None:
            version = seat.wait(version)
        assert 99 < asked.remaining_s <= 100
        assert asked.runs_out_in_s is None
        seat.pause(paused=False)
        assert asked.held_s is None
        assert seat.answer(ME, 0, "5") == ""
        assert reply.result(timeout=100).answer == "5"


def test_a_seat_is_handed_over_with_its_answers() -> None:
    asked = Asked()
    asked.answer("5")
    asked.outcome()
    seat, version = asked.seat, asked.seat.version
    seat.hand_over("my phone")

    assert (seat.held_by("my phone"), seat.held_by(ME)) == (True, False)
    assert [turn.answer for turn in seat.turns] == ["5"]
    assert seat.version > version
    seat.free()
    seat.take("my phone")
    assert [turn.answer for turn in seat.turns] == ["5"]


def test_minds_that_stand_in_for_people_are_closed_with_them() -> None:
    closed = []

    class StandIn(ScriptedMind):
        def close(self) -> None:
            closed.append(self)

    people = HumanMind()
    people.stand_ins = {1: StandIn({"act": [1]}), 2: StandIn({"act": [1]})}
    people.close()

    assert closed == [*people.stand_ins.values()]


def test_pages_on_a_loop_wait_for_the_next_change() -> None:
    seat = Seat(7)

    async def changes() -> None:
        async with asyncio.timeout(60):
            await seat.changed_from(seat.version - 1, 1e6)  # it has changed already
            await seat.changed_from(seat.version, 0.001)  # nothing changes
            pages = [asyncio.create_task(seat.changed_from(seat.version, 1e6)) for _ in range(2)]
            await asyncio.sleep(0)
            assert not any(page.done() for page in pages)
            seat.touch()
            await asyncio.gather(*pages)

    asyncio.run(changes())
    seat.touch()  # of those who waited on a loop that has ended nobody is told


def test_tokens_cannot_be_guessed() -> None:
    tokens = {Seat(1).token for _ in range(100)}

    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 22


# Games.


def test_a_person_plays_among_classical_players_to_the_end(tmp_path) -> None:
    path = tmp_path / "game.sqlite"
    game = Game(
        KeynesianBeautyContest, minds={"human": 1, "classical": 3}, n_players=4, n_rounds=2,
        rng=1, recording=path,
    )  # fmt: skip
    play(game, [("50", "Why not?"), ("Let us all take 0.",), ("0",)])

    assert (game.status, game.problem) == ("over", "")
    seat = game.seats[1]
    assert list(game.own_data(seat)["choice"]) == [50, 0]
    assert "choice" not in game.model_data()
    assert list(game.model_data()["round"]) == [0, 1]
    recorded = rows(
        path,
        "SELECT round, phase, mind, raw, value, reasoning, messages IS NOT NULL "
        "FROM asks WHERE agent = 1 ORDER BY round, phase DESC",
    )
    assert recorded == [
        (0, "act", "human", "Why not?\n50", "50", "Why not?", 1),
        (1, "communicate", "human", "Let us all take 0.", '"Let us all take 0."', "", 1),
        (1, "act", "human", "0", "0", "", 1),
    ]
    assert rows(path, "SELECT status FROM runs") == [("finished",)]


def test_the_same_answers_make_the_same_run() -> None:
    answers = ["30", "I say 12.", "20"]
    with_person = Game(
        KeynesianBeautyContest, minds={"human": 1, "classical": 4}, n_players=5, n_rounds=2,
        rng=3, recording=False,
    )  # fmt: skip
    play(with_person, [(answer,) for answer in answers])
    scripted = KeynesianBeautyContest(
        minds={ScriptedMind(answers): 1, "classical": 4}, n_players=5, n_rounds=2, rng=3
    )
    scripted.run_model()

    columns = ["round", "agent", "choice", "payoff"]
    ours, theirs = with_person.model.agent_frame()[columns], scripted.agent_frame()[columns]
    assert ours.equals(theirs)


def test_an_abstention_is_recorded_as_invalid_and_not_asked_again(tmp_path) -> None:
    path = tmp_path / "game.sqlite"
    game = Game(Tiny, minds=["human", "fixed:4"], n=2, rng=1, recording=path, time_limit_s=0.02)
    play(game, [None])

    assert game.model.log == [(1, None), (2, 4)]
    assert game.model.total.invalid == 1
    assert rows(path, "SELECT mind, valid, reason, finish_reason FROM asks WHERE agent = 1") == [
        ("human", 0, "No answer came within 0.02 seconds.", "abstained")
    ]


def test_people_write_plain_text_whatever_the_others_write() -> None:
    game = Game(Tiny, minds="human", n=1, rng=1, recording=False, answer_format="json")
    play(game, [("5",)])

    assert game.model.log == [(1, 5)]
    assert "JSON" not in game.seats[1].turns[0].ask.question[1]


def test_a_game_can_be_ended_while_somebody_thinks(tmp_path) -> None:
    game = Game(Tiny, minds="human", n=1, rng=1, recording=tmp_path / "game.sqlite")
    seat = game.seats[1]
    game.start()
    game.start()
    version = -1
    while seat.question is None:
        version = seat.wait(version)
    assert game.status == "playing"
    game.stop()
    game.join()

    assert (game.status, game.problem) == ("over", "The run was stopped.")
    assert seat.question is None
    assert seat.turns == ()
    assert rows(game.model.recording_path, "SELECT status FROM runs") == [("failed",)]
    assert not any(thread.name == "sabm-game" for thread in threading.enumerate())


def test_a_game_can_be_ended_before_it_begins() -> None:
    game = Game(Tiny, minds="human", n=1, rng=1, recording=False)
    game.stop()
    game.stop()
    game.start()

    assert (game.status, game.problem) == ("over", "The game was ended before it began.")
    assert not len(game.model_data())


def test_a_game_that_fails_says_why() -> None:
    script = ScriptedMind([], spec="short")
    game = Game(Tiny, minds={"human": 1, script: 1}, n=2, rng=1, recording=False, time_limit_s=9)
    game.start()
    game.join()

    assert game.problem.startswith("The script of 'short' has run out")


def cut_off(path):
    """A game of two rounds whose second seat has yet to answer in the last; and its seats."""
    game = Game(Tiny, minds="human", n=2, n_rounds=2, rng=1, recording=path, time_limit_s=99)
    game.public = ("sum",)
    first, second = game.seats.values()
    game.start()
    for seat, text in ((first, "1"), (second, "10"), (first, "2")):
        answer(seat, text)
    kept = seats_file(path)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert json.loads(kept.read_text())["seats"] == {"1": first.token, "2": second.token}
    game.stop()
    game.join()
    return game


def answer(seat, text):
    """Answer the next question of a seat."""
    seat.take(ME)
    version, n_turns = -1, len(seat.turns)
    while seat.question is None:
        version = seat.wait(version)
    assert seat.answer(ME, seat.question.number, text) == ""
    while len(seat.turns) == n_turns:
        version = seat.wait(version)


def seats_file(path):
    return path.with_name(f"{path.name}.0.seats.json")


def test_a_game_that_was_cut_off_is_taken_up_again(tmp_path) -> None:
    path = tmp_path / "game.sqlite"
    before = cut_off(path)
    tokens = [seat.token for seat in before.seats.values()]
    assert not any(token.encode() in path.read_bytes() for token in tokens)

    (run,) = load_runs(path)
    game = ContinuedGame(run, Connection())
    first, second = game.seats.values()
    assert [seat.token for seat in (first, second)] == tokens
    assert (game.status, game.public, first.time_limit_s) == ("open", ("sum",), 99)
    with pytest.raises(RecordingError, match="is in use"):
        ContinuedGame(run, Connection())
    game.start()
    answer(second, "20")
    game.join()

    assert (game.status, game.problem) == ("over", "")
    assert [turn.answer for turn in first.turns] == ["1", "2"]  # nothing is asked again
    assert list(game.model_data()["sum"]) == [11, 22]
    assert rows(path, "SELECT agent, raw FROM asks ORDER BY round, agent") == [
        (1, "1"), (2, "10"), (1, "2"), (2, "20")
    ]  # fmt: skip
    assert [each.name for each in tmp_path.iterdir()] == ["game.sqlite"]
    with pytest.raises(RecordingError, match="a finished game cannot be continued"):
        ContinuedGame(load_runs(path)[0], Connection())


def test_a_game_whose_links_are_lost_gets_new_ones(tmp_path) -> None:
    path = tmp_path / "game.sqlite"
    before = cut_off(path)
    (run,) = load_runs(path)
    for wrong in ("", "{", "[]", '{"time_limit_s": 0, "public": [], "seats": {}}',
                  '{"time_limit_s": 9, "public": [], "seats": {"1": 5}}'):  # fmt: skip
        seats_file(path).write_text(wrong)
        with pytest.raises(RecordingError, match=r"seats\.json cannot be read: delete it"):
            ContinuedGame(run, Connection())
    seats_file(path).unlink()

    game = ContinuedGame(run, Connection(), time_limit_s=5)

    assert [seat.time_limit_s for seat in game.seats.values()] == [5, 5]
    assert not {s.token for s in game.seats.values()} & {s.token for s in before.seats.values()}
    games = Games()
    games.add("host", game)
    games.close(game)  # it was never started, and can be taken up again
    again = ContinuedGame(run, Connection(), time_limit_s=5)
    again.stop()


def test_a_closed_game_leaves_no_links_behind(tmp_path) -> None:
    path = tmp_path / "game.sqlite"
    before, games = cut_off(path), Games()
    games.add("host", before)
    (run,) = load_runs(path)
    again = ContinuedGame(run, Connection())
    games.add("host", again)
    assert games.of("host") == [again]  # not two with the same links
    games.close(again)
    assert not seats_file(path).exists()


def test_a_game_of_somebody_else_names_no_server_that_is_asked(tmp_path, monkeypatch) -> None:
    path, other = tmp_path / "game.sqlite", "http://192.0.2.9/v1"
    monkeypatch.setenv("OPENAI_API_KEY", "never-sent")
    minds = {"human": 1, f"llm:a@{other}": 1}
    model = Game(Tiny, minds=minds, n=2, rng=1, recording=path).model
    model.begin()
    model.close()
    (run,) = load_runs(path)
    with pytest.raises(ParameterError, match="nothing is sent there"):
        ContinuedGame(run, Connection.of_recorded(run.connection))


def test_a_run_without_people_is_no_game(tmp_path) -> None:
    model = tiny(n=2, n_rounds=2, minds="fixed:1", recording=tmp_path / "r.sqlite")
    model.step()
    model.close()
    with pytest.raises(
        RecordingError, match=("is not a game with people: continue with sabm resume")
    ):
        ContinuedGame(load_runs(tmp_path / "r.sqlite")[0], Connection())


def test_what_is_no_game() -> None:
    with pytest.raises(MindSpecError, match="A game needs a seat"):
        Game(Tiny, minds="fixed:1", n=2)
    with pytest.raises(ParameterError, match="the time limit must be a number"):
        Game(Tiny, minds="human", time_limit_s=0)
    with pytest.raises(UnknownName, match="Unknown parameter"):
        Game(Tiny, minds="human", n_cells=2)


def test_without_a_game_there_is_no_seat() -> None:
    with pytest.raises(MindSpecError) as refused:
        tiny(n=2, minds={"human": 1, "fixed:1": 1})

    assert str(refused.value) == (
        "The mind 'human' needs a person at a seat: use sabm play, or a game in the viewer."
    )


def test_the_minds_of_a_game() -> None:
    assert with_others(Tiny, {"n": 5}, "fixed:1") == {"human": 1, "fixed:1": 4}
    assert with_others(Tiny, {"n": 3}, "fixed:1", people=3) == {"human": 3, "fixed:1": 0}
    assert with_others(Tiny, {"n": 4}, {"fixed:1": 2}, people=2) == {"human": 2, "fixed:1": 2}
    with pytest.raises(MindSpecError, match="make 4, but the scenario has 9 agents"):
        with_others(Tiny, {"n": 9}, {"fixed:1": 2}, people=2)
    with pytest.raises(ParameterError, match="the number of seats for people must be a whole"):
        with_others(Tiny, {"n": 2}, "fixed:1", people=3)


# The games of a process.


def a_game():
    return Game(Tiny, minds="human", n=2, rng=1, recording=False)


def test_a_token_leads_to_its_seat_until_the_game_is_closed() -> None:
    games, game, other = Games(), a_game(), a_game()
    games.add("host", game)
    games.add("other host", other)
    token = game.seats[2].token

    assert games.find(token) == (game, game.seats[2])
    assert games.find(token[:-1]) is None
    assert games.find("") is None
    assert games.find("\ud800") is None
    assert games.of("host") == [game]
    assert games.of("a player") == []
    games.close(game)
    assert games.find(token) is None
    assert game.status == "over"


def test_a_game_may_have_several_hosts_and_each_host_several_games() -> None:
    games, (one, two, three) = Games(), (a_game() for _ in range(3))
    for host, game in (("ann", one), ("bob", two), ("ann", three)):
        games.add(host, game)
    assert (games.of("ann"), games.of_others("ann")) == ([three, one], [two])
    assert games.of_others("nobody") == [three, two, one]

    games.share("bob", one)
    games.share("bob", a_game())  # it is not kept here
    assert games.of("bob") == [two, one]
    assert games.of("ann") == [three, one]
    games.close_all()


def test_a_game_that_is_over_makes_room() -> None:
    games = Games()
    kept = [a_game() for _ in range(MOST_GAMES)]
    for game in kept:
        games.add("host", game)
        game.start()
    with pytest.raises(RunError, match="32 games are going on: end one of them first"):
        games.add("host", a_game())
    kept[3].stop()
    kept[3].join()
    games.add("host", new := a_game())

    assert kept[3] not in games.of("host")
    assert games.of("host")[0] is new
    assert len(games.of("host")) == MOST_GAMES
    games.close_all()
    assert {game.status for game in games.of("host")} == {"over"}


def test_a_form_has_an_input_for_each_field_of_a_pydantic_model() -> None:
    spec = as_spec(Day)
    inputs = inputs_of(spec)
    given = {
        "act.action": "buy", "act.order.good": "milk", "act.order.amount": "2",
        "invited": "Ann, Carl", "note": "a\nb",
    }  # fmt: skip

    assert [(each.path, each.kind) for each in inputs] == [
        ("act.action", "choice"), ("act.order.good", "choice"), ("act.order.amount", "number"),
        ("invited", "several"), ("note", "text"), ("wishes", "list"),
    ]  # fmt: skip
    asked = [each.path for each in inputs if each.is_asked({"act.action": "work"})]
    assert asked == ["act.action", "invited", "note", "wishes"]
    day = spec.read(text_from(spec, given)).value
    assert day == Day(
        act=Buy(action="buy", order=Order(good="milk", amount=2)), invited=["Ann", "Carl"],
        note="a b", wishes=[],
    )  # fmt: skip
    assert spec.read(text_from(spec, {**given, "act.action": "work"})).value.act.action == "work"
    assert json.loads(json.dumps([each.as_dict() for each in inputs]))[2]["high"] == 5


def test_two_people_play_and_see_their_own_only() -> None:
    game = Game(Tiny, minds="human", n=2, n_rounds=2, rng=1, recording=False)
    play(game, [("1",), ("2",)], [("10",), ("20",)])

    assert [turn.answer for turn in game.seats[1].turns] == ["1", "2"]
    assert [turn.answer for turn in game.seats[2].turns] == ["10", "20"]
    assert list(game.own_data(game.seats[2])["value"]) == [10, 20]
    assert list(game.model_data()["sum"]) == [11, 22]
