"""A game in the terminal."""

import io
import socket
from threading import Thread

import pytest

from sabm_mesa.cli.seat import HOLDER, converse, play, serve
from sabm_mesa.errors import RunError
from sabm_mesa.runs.game import Game
from tests.core.support import Tiny
from tests.llm_server import LLMServer
from tests.visualization.test_seat_interface import Program


class Terminal:
    """A terminal in which somebody types these lines, and then goes away."""

    def __init__(self, *lines, leave=EOFError):
        self.shown: list[str] = []
        self._lines, self._leave = list(lines), leave

    def say(self, text):
        self.shown.append(text)

    def listen(self, prompt):
        self.shown.append(prompt)
        if not self._lines:
            raise self._leave
        return self._lines.pop(0)

    @property
    def screen(self):
        return "\n".join(self.shown)


def game(terminal, **given):
    parameters = {"n_players": 3, "n_rounds": 2, "rng": 1, **given.pop("parameters", {})}
    return play(
        "kbc", {"recording": False, **parameters}, say=terminal.say, listen=terminal.listen, **given
    )


def test_a_game_is_played_to_the_end() -> None:
    terminal = Terminal("Half.", "50", "Let us take 0.", "", "0")
    played = game(terminal)

    assert played.status == "over"
    assert list(played.own_data(played.seats[1])["choice"]) == [50, 0]
    assert "Keynesian beauty contest. You play agent 1 of 3." in terminal.screen
    assert terminal.screen.count("You are Player #1.") == 1
    assert "Integer from 0 to 100: " in terminal.screen
    assert "You: Let us take 0." in terminal.screen
    assert "The game is over." in terminal.screen
    assert "variance" in terminal.screen


def test_an_illegal_answer_is_asked_for_again_with_the_reason() -> None:
    terminal = Terminal("", "101", "", "many", "", "9")
    game(terminal, parameters={"n_rounds": 1})

    assert '"101" is outside the range from 0 to 100.' in terminal.screen
    assert '"many" is not a number.' in terminal.screen


def test_an_option_is_chosen() -> None:
    terminal = Terminal("x", "none", "still", "left is near", "left", leave=KeyboardInterrupt)
    with pytest.raises(RunError):
        play(
            "evacuation", {"n_people": 3, "n_rounds": 3, "rng": 1, "recording": False},
            say=terminal.say, listen=terminal.listen,
        )  # fmt: skip

    assert " / " in terminal.screen


@pytest.mark.parametrize("leave", [EOFError, KeyboardInterrupt])
def test_leaving_ends_the_game_in_one_line(leave, tmp_path) -> None:
    terminal = Terminal("", "50", leave=leave)
    path = tmp_path / "game.sqlite"
    with pytest.raises(RunError) as left:
        game(terminal, parameters={"recording": path})

    assert str(left.value) == (f"You left the game in round 1. The answers are in {path}.")


def test_leaving_reports_the_answers_that_are_lost(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("sabm_mesa.llm.client.GRACE_S", 0.1)
    with LLMServer(brain=lambda _messages, _body: "33") as server:
        server.hold()

        def leave(_prompt):
            server.wait_until(lambda server: server.in_flight == 2)
            raise EOFError

        parameters = {"n_players": 3, "n_rounds": 1, "recording": tmp_path / "r.sqlite"}
        with pytest.raises(RunError, match="You left the game"):
            play(
                "kbc", parameters, others=f"llm:gpt-4o-mini@{server.url}", say=str, listen=leave
            )  # fmt: skip
    assert "Requests whose answers were lost: 2, at most $" in capsys.readouterr().err


def test_time_runs_out_while_somebody_thinks() -> None:
    played = Game(Tiny, minds="human", n=1, rng=1, recording=False, time_limit_s=0.05)
    seat = played.seats[1]
    terminal = Terminal()

    def thinks_too_long(prompt):
        terminal.shown.append(prompt)
        while not seat.turns:
            seat.wait(seat.version)
        return "50"

    seat.take(HOLDER)
    played.start()
    converse(played, seat, terminal.say, thinks_too_long)

    assert "This question is over: no answer is taken any more." in terminal.screen
    assert "Time is up: you abstained." in terminal.screen
    assert played.model.log == [(1, None)]


def test_an_answer_of_several_parts_is_asked_for_part_by_part() -> None:
    typed = [
        "buy",
        "milk",
        "9",
        "1",
        "Ann, Dan",
        "Ann, Bob",
        "Hello",
        "",
        "stop",
        "",
        "",
        "Bye.",
        "",
    ]
    terminal = Terminal(*typed)
    given = {"recording": False, "n_traders": 2, "rng": 1}
    played = play("tests/testing/trading.py", given, say=terminal.say, listen=terminal.listen)

    own = played.own_data(played.seats[1])
    assert own[["coins", "owned", "note"]].to_dict("records") == [
        {"coins": 1, "owned": 1, "note": "Hello"},
        {"coins": 1, "owned": 1, "note": "Bye."},
    ]
    assert "Act: order: good: bread / milk / wood: " in terminal.screen
    assert '"Dan" is not one of the possible answers.' in terminal.screen
    assert '"9" is outside the range from 0 to 5.' in terminal.screen
    assert "It was empty." in terminal.screen


def test_programs_take_seats_by_the_addresses_that_are_printed() -> None:
    shown, players = [], []

    def plays(address: str) -> None:
        program = Program(address)
        while (state := program.get())["status"] != "over":
            program.post(state["question"]["number"], 10)

    def say(text: str) -> None:
        shown.append(text)
        if text.startswith("agent "):
            players.append(Thread(target=plays, args=(text.partition(": ")[2],)))
            players[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    parameters = {"n_players": 3, "n_rounds": 1, "rng": 1, "recording": False}
    played = serve("beauty-contest", parameters, 2, "127.0.0.1", port, others="fixed:40", say=say)
    for player in players:
        player.join(30)

    assert [line.partition(":")[0] for line in shown] == ["agent 1", "agent 2", "The game is over."]
    assert list(played.model.agent_frame()["choice"]) == [10, 10, 40]


def test_the_command_asks_in_the_terminal(sabm, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("My reasons\n30\n"))
    shown = sabm("play", "beauty-contest", "--set", "n_rounds=1", "--minds", "fixed:60").out

    assert "You play agent 1 of" in shown
    assert "Number from 0 to 100" in shown
    assert "The game is over." in shown
