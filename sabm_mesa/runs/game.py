"""Games: runs in which people play, each at a seat, and the games of a server.

A game is played on its own thread. A `ClassSession` is one game or several parallel games of a
class, which people join with one code. `Games` keeps the games of one process, and knows which
browser may see which of them. An interrupted game continues from its recording (`ContinuedGame`).
The secrets in the links to its seats are not in the recording. Until the game is over they are in a
file beside it, which only its owner can read.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakSet

from pydantic import BaseModel, Field

from sabm_mesa.core.engine import WIND_UP_S
from sabm_mesa.core.parameters import check_choice, check_float, check_int
from sabm_mesa.core.phrases import Phrase
from sabm_mesa.errors import MindSpecError, RecordingError, RunError, SabmError
from sabm_mesa.llm import Connection
from sabm_mesa.minds.human import HUMAN, HumanMind, Seat, same
from sabm_mesa.minds.specs import (
    CLASSICAL,
    is_by_class,
    language_model,
    map_minds,
    named_in,
)
from sabm_mesa.recording import RecordedRun, Recording
from sabm_mesa.recording.export import write_file
from sabm_mesa.recording.votes import NOBODY, Votes, write_votes
from sabm_mesa.recording.writing import new_path
from sabm_mesa.runs.rerun import resume_models

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.base import SmartModel

MOST_GAMES = 32
"""The maximum number of games in memory: the oldest finished one, or else the oldest that was never
started, is dropped."""
LEFT = Phrase("seat.left")
"""The line for a person whose agent has left the model."""
ENDED_BEFORE = "The game was ended before it began."
"""The problem of a game that was ended before it began."""
CODE_SIGNS, CODE_LENGTH = "ABCDEFGHJKLMNPQRSTUVWXYZ", 6
"""Letters of a code: none looks like a digit."""
Status = Literal["open", "playing", "over"]
_log = logging.getLogger(__name__)


class Game:
    """A run with seats for people. It is played on its own thread.

    Args:
        scenario: the model class.
        time_limit_s: seconds until an unanswered question counts as an abstention; None for no
            limit.
        stand_in: the spec of the mind that plays for empty seats, and answers the questions that
            the scenario does not ask people; with ``""`` an empty seat abstains.
        parameters: the parameters of the model; ``"human"`` among the minds makes a seat.

    Attributes:
        model: the model.
        seats: agent → its seat, in the order of the ids.
        problem: why the game ended early, or ``""``.
        public: the model columns that players see during the game.
        results: whether players see the results of each round, even if no column is public.
        ranked: whether players see their rank.
        session: the class that plays it.
        reference: the agent data of the same game with classical minds in all seats; None before
            its end, and if there is no comparison.
        paused: whether the host has stopped the clocks.
        voting: whether people guess at the end who was a machine.
        votes: agent at a seat → the agent that its person guesses to be a machine, 0 for nobody.
        watch: called on the game's thread after each round, when players have its results, and at
            the end.

    Raises:
        UsageError: for parameters that cannot be used, or a game without a seat.
        LLMError: for a language model that cannot be set up.
    """

    def __init__(
        self,
        scenario: type[SmartModel],
        *,
        time_limit_s: float | None = None,
        stand_in: str = "",
        **parameters: Any,
    ) -> None:
        limit = None if time_limit_s is None else check_float("the time limit", time_limit_s, 0.001)
        people = HumanMind()
        minds = parameters.pop("minds", HUMAN)
        minds = map_minds(minds, lambda spec: people if spec == HUMAN else spec)
        self._sit_down(scenario(**parameters, minds=minds), people, limit, stand_in)

    def _sit_down(
        self,
        model: SmartModel,
        people: HumanMind,
        limit: float | None,
        stand_in: str,
        tokens: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        self.model, self.stand_in = model, stand_in
        persons = [agent for agent in model.population if agent.mind.spec == HUMAN]
        self.seats = {
            agent.unique_id: Seat(agent.unique_id, limit, tokens.get(agent.unique_id, ""))
            for agent in persons
        }
        if not self.seats:
            raise MindSpecError("A game needs a seat: put the mind 'human' among the minds.")
        people.seats = self.seats
        if stand_in:
            people.stand_ins = {a.unique_id: model.make_mind(a, stand_in) for a in persons}
            read = (name for mind in people.stand_ins.values() for name in mind.informed)
            people.default_format = model.answer_format
            people.informed = tuple(dict.fromkeys(read))
            people.for_people = model.class_game.people_answer
        self.problem = ""
        self.public: tuple[str, ...] = ()
        self.results = self.ranked = self.paused = self.voting = False
        self.votes: dict[int, int] = {}
        self.session: ClassSession | None = None
        self.reference: pd.DataFrame | None = None
        self.watch: Callable[[], object] = lambda: None
        self._going_on = threading.Event()
        self._going_on.set()
        self._standings: tuple[object, dict[int, ScoreSoFar]] = None, {}
        self._recording: Recording | None = None
        self._frames = self.model.model_frame(), self.model.agent_frame()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    @property
    def status(self) -> Status:
        """``"open"`` until it is started, ``"playing"``, or ``"over"``."""
        if self._over.is_set():
            return "over"
        return "open" if self._thread is None else "playing"

    def start(self) -> None:
        """Start to play; a second call changes nothing."""
        with self._lock:
            if self.status != "open":
                return
            self._thread = threading.Thread(target=self._play, name="sabm-game", daemon=True)
            self._thread.start()
        self._tell()

    def stop(self, why: str = ENDED_BEFORE) -> None:
        """End the game, from any thread; `why` is the problem of one that was not started."""
        with self._lock:
            if self.status == "open":
                self._end(why)
        self.model.stop()
        self._going_on.set()

    def pause(self, *, paused: bool) -> None:
        """Stop all clocks, so that no answer is taken and no round begins, or restart them."""
        self.paused = paused
        if paused:
            self._going_on.clear()
        else:
            self._going_on.set()
        for seat in self.seats.values():
            seat.pause(paused=paused)

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until a started game is over, for at most `timeout_s`; return whether it is."""
        over = self._over.wait(timeout_s)
        if over and self._thread is not None:
            self._thread.join(timeout_s)
        return over

    def model_data(self) -> pd.DataFrame:
        """The scenario's model columns of the finished rounds, for all when the game is over."""
        return self._frames[0][["round", *self.model.columns()]]

    @property
    def shows_results(self) -> bool:
        """Whether players see the results of each round."""
        return self.results or bool(self.public)

    def so_far(self) -> pd.DataFrame:
        """The data that all players may see during the game: the public columns by round."""
        return self._frames[0][["round", *self.public]]

    def agent_data(self) -> pd.DataFrame:
        """The agent data of the finished rounds, for all when the game is over."""
        return self._frames[1]

    def own_data(self, seat: Seat) -> pd.DataFrame:
        """The data that a seat may see of its own agent: its columns in the finished rounds."""
        frame = self._frames[1]
        rows = frame[frame["agent"] == seat.agent]
        agent = self.model.agent_of_id(seat.agent)
        return rows[["round", *self.model.columns_of(type(agent))]]

    def standing(self, seat: Seat) -> ScoreSoFar | None:
        """The score of a seat so far, and its rank; None without a score or a round."""
        score, frame = self.model.score, self._frames[1]
        if score is None or frame.empty:
            return None
        if self._standings[0] is not frame:
            table = score.of_agents(self.model.decided_rounds(frame))
            ranks = table["score"].rank(method="min", ascending=score.lower_is_better)
            scored = zip(table["agent"], table["score"], ranks, strict=True)
            standings = {
                int(a): ScoreSoFar(score.label, float(s), int(r), len(ranks)) for a, s, r in scored
            }
            self._standings = frame, standings
        return self._standings[1].get(seat.agent)

    def machines(self) -> list[int]:
        """The agents for which no person has ever decided."""
        return [
            agent.unique_id
            for agent in self.model.population
            if (seat := self.seats.get(agent.unique_id)) is None or not seat.was_taken
        ]

    @property
    def plays_language_model(self) -> bool:
        """Whether a language model decides for an agent, which takes time."""
        specs = [agent.mind.spec for agent in self.model.population]
        return any(language_model(spec) for spec in (*specs, self.stand_in))

    def vote(self, seat: Seat, suspect: int) -> str:
        """Record a person's guess after the game: the agent that was a machine; 0 for nobody.

        Returns:
            Why it was refused; ``""`` when it was accepted.

        Raises:
            RecordingError: when it cannot be written.
        """
        others = {agent.unique_id for agent in self.model.population} - {seat.agent}
        if not self.voting or self.status != "over":
            return Phrase("seat.no_vote")
        if suspect not in {NOBODY, *others}:
            return Phrase("seat.vote_for_another")
        with self._lock:
            if seat.agent in self.votes:
                return Phrase("seat.voted")
            self.votes[seat.agent] = suspect
            recorder = self.model.recorder
            if recorder.path is not None:
                write_votes(recorder.path, recorder.run, Votes(self.votes, self.machines()))
        if self.session is not None:
            for _, taken in self.session.seats:
                taken.touch()
        self.watch()
        return ""

    def has_left(self, seat: Seat) -> bool:
        """Whether the agent of a seat has left the model and is no longer asked."""
        return self.model.agent_of_id(seat.agent) not in self.model.agents

    def _play(self) -> None:
        problem = ""
        try:
            self.model.begin()
            self._keep_seats()
            while self.model.running:
                self.model.step()
                # Between two rounds nothing changes the model: the frames for others are kept.
                self._frames = self.model.model_frame(), self.model.agent_frame()
                if self.model.running:
                    self._tell()
                    self.watch()
                    self._going_on.wait()
        except SabmError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the host is told
            _log.exception("A game failed.")
            problem = f"{type(error).__name__}: {error}"
        finally:
            self._end(problem)

    def _end(self, problem: str) -> None:
        self.problem = problem
        try:
            self.model.close(problem or "stopped")
            if self._recording is not None:
                self._recording.close()
            if not problem:
                self.forget_seats()
        except Exception as error:  # noqa: BLE001 - whatever it is, the host is told
            _log.exception("A game could not be closed.")
            self.problem = problem or str(error)
        finally:
            self._over.set()
            self._tell()
            self._play_reference()
            if self.session is not None:
                self.session.game_over()
            try:
                self.watch()
            except Exception:  # noqa: BLE001 - the game is over all the same
                _log.exception("A game could not be looked at.")

    def _play_reference(self) -> None:
        """Play the same rounds with only classical minds, if the class is compared with them.

        It costs nothing, and players already know that the game is over.
        """
        model, rounds = self.model, len(self._frames[0])
        if model.class_game.debrief is None or not rounds:
            return
        try:
            given = {**model.parameters, "minds": CLASSICAL, "recording": False}
            twin = type(model)(**given)
            while twin.running and twin.round + 1 < rounds:
                twin.step()
            self.reference = twin.agent_frame()
            twin.close()
            self._tell()
        except SabmError:
            _log.debug("A game has no classical twin.", exc_info=True)

    def _tell(self) -> None:
        for seat in self.seats.values():
            seat.touch()

    def _keep_seats(self) -> None:
        """Save the links and settings, which a restart would lose, before anybody is asked."""
        if (file := self._seats_file()) is None:
            return
        seats = self.seats.values()
        kept = _SeatsFile(
            time_limit_s=next(iter(seats)).time_limit_s,
            stand_in=self.stand_in,
            public=self.public,
            ranked=self.ranked,
            results=self.results,
            voting=self.voting,
            code="" if self.session is None else self.session.code,
            seats={seat.agent: seat.token for seat in seats},
            words={seat.agent: seat.word for seat in seats},
        )
        write_file(file, kept.model_dump_json(), 0o600)

    def forget_seats(self) -> None:
        """Remove the seat file: after a restart of the server the links are invalid."""
        if (file := self._seats_file()) is not None:
            with suppress(OSError):
                file.unlink(missing_ok=True)

    def _seats_file(self) -> Path | None:
        recorder = self.model.replaying or self.model.recorder
        return None if recorder.path is None else _SeatsFile.of(recorder.path, recorder.run)


class _SeatsFile(BaseModel):
    """The links to the seats of a game, and its settings."""

    time_limit_s: float | None = Field(default=None, ge=0.001)
    stand_in: str = ""
    public: tuple[str, ...] = ()
    ranked: bool = False
    results: bool = False
    voting: bool = False
    code: str = ""
    seats: dict[int, str] = {}
    words: dict[int, str] = {}

    @staticmethod
    def of(recording: Path, run: int) -> Path:
        return recording.with_name(f"{recording.name}.{run}.seats.json")

    @classmethod
    def read(cls, recording: Path, run: int) -> _SeatsFile | None:
        """The content of the file; None when it is missing."""
        file = cls.of(recording, run)
        try:
            return cls.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise RecordingError(
                f"{file} cannot be read: delete it, and the seats of the game get new links."
            ) from None


class ContinuedGame(Game):
    """An interrupted game, continued from its recording; it is not started yet.

    Its rounds are repeated from the recorded answers, and no recorded question is asked again. Its
    links, time limit and public columns are as they were.

    Args:
        run: the recorded run.
        connection: how language models are reached.
        time_limit_s: the time limit when its seat file is missing; then its links are new.
        recording: its recording, when it is open for several games; None: it is opened for this
            game.
        check: called with the spec of the mind for empty seats, before it is created.

    Raises:
        RecordingError: when the run is not a game, is finished or in use, or when its files cannot
            be read.
        UsageError: when this version cannot use the recorded parameters.
    """

    def __init__(
        self,
        run: RecordedRun,
        connection: Connection,
        *,
        time_limit_s: float | None = None,
        recording: Recording | None = None,
        check: Callable[[str], object] = lambda _: None,
    ) -> None:
        if HUMAN not in run.minds:
            raise RecordingError(
                f"{run.name} is not a game with people: continue with sabm resume {run.path}"
            )
        if run.finished:
            raise RecordingError(f"{run.name} is finished: a finished game cannot be continued.")
        kept = _SeatsFile.read(run.path, run.run) or _SeatsFile(time_limit_s=time_limit_s)
        if kept.stand_in:
            check(kept.stand_in)
        people = HumanMind()
        opened = recording or Recording(run.path)
        try:
            (model,) = resume_models(opened, [run], connection, minds={HUMAN: people})
            self._sit_down(model, people, kept.time_limit_s, kept.stand_in, kept.seats)
        except BaseException:
            if recording is None:
                opened.close()
            raise
        self._recording = None if recording else opened
        self.code, self.voting = kept.code, kept.voting
        self.ranked, self.results = kept.ranked, kept.results
        for agent, seat in self.seats.items():
            seat.word = kept.words.get(agent, seat.word)
        self.public = tuple(name for name in kept.public if name in model.columns())


class ScoreSoFar(NamedTuple):
    """The score of an agent so far.

    Attributes:
        label: its name with its unit.
        value: the score.
        rank: its place among all agents of the game, from 1.
        of: their number.
    """

    label: str
    value: float
    rank: int
    of: int


class ClassSession:
    """One game, or several parallel games of the same scenario, of a class with one code.

    People take seats in the order in which they come, in the game with the fewest people first.
    All games are in one recording, one run each.

    Args:
        games: the games, before they are started.
        code: the code; a new one, of six letters, when empty.
        recording: the recording of continued games.

    """

    def __init__(
        self, games: Sequence[Game], code: str = "", recording: Recording | None = None
    ) -> None:
        self.games = tuple(games)
        signs = (secrets.choice(CODE_SIGNS) for _ in range(CODE_LENGTH))
        self.code = code or "".join(signs)
        self._lock = threading.Lock()
        self._recording = recording
        for game in self.games:
            game.session = self

    @property
    def seats(self) -> list[tuple[Game, Seat]]:
        """All seats, with their games."""
        return [(game, seat) for game in self.games for seat in game.seats.values()]

    @property
    def status(self) -> Status:
        """``"open"`` until a game is started, ``"over"`` when all are, or ``"playing"``."""
        states = {game.status for game in self.games}
        return states.pop() if len(states) == 1 else "playing"

    def start(self) -> None:
        """Begin to play all games."""
        first = self.games[0].model
        wanted = first.recording is None and len(self.games) > 1
        if wanted and self.status == "open" and self._recording is None:
            try:
                self._recording = Recording(new_path(first.scenario_name))
                self._enter_all(self._recording)
            except SabmError as error:
                for game in self.games:
                    game.stop(str(error))
                return
        for game in self.games:
            game.start()

    def _enter_all(self, recording: Recording) -> None:
        """Enter all games in one step, so that a crash leaves no group missing."""
        with recording.together():
            for game in self.games:
                game.model.recording = recording
                game.model.begin()

    def join(self, holder: str) -> tuple[Game, Seat] | None:
        """Take the next free seat, or find the seat that the holder already has.

        Returns:
            The game and the seat; None when no seat is free.
        """
        with self._lock:
            for game, seat in self.seats:
                if seat.held_by(holder):
                    return game, seat
            going_on = (game for game in self.games if game.status != "over")
            for game in sorted(going_on, key=lambda g: sum(s.taken for s in g.seats.values())):
                free = (s for s in game.seats.values() if not s.taken and not game.has_left(s))
                for seat in free:
                    if seat.take(holder):
                        return game, seat
        return None

    def come_back(self, holder: str, word: str) -> tuple[Game, Seat] | None:
        """Give a person on another device the seat back, by its word.

        Returns:
            The game and the seat; None when no taken seat has the word.
        """
        with self._lock:
            for game, seat in self.seats:
                if seat.was_taken and same(seat.word, word.strip().casefold()):
                    seat.hand_over(holder)
                    return game, seat
        return None

    def game_over(self) -> None:
        """When all games are over, close their common recording, and notify all seats."""
        with self._lock:
            if self.status != "over":
                return
            recording, self._recording = self._recording, None
        if recording is not None:
            recording.close()
        for _, seat in self.seats:  # people compare themselves with those of other groups
            seat.touch()


class Games:
    """The games of one process, by the secrets of the browsers that may see them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._games: dict[Game, list[str]] = {}
        self._ever: WeakSet[Game] = WeakSet()

    def add(self, host: str, game: Game) -> None:
        """Keep a new game; the browser with the secret `host` may see its links.

        Raises:
            RunError: when the maximum number of games is still running.
        """
        old: Game | None = None
        with self._lock:
            if len(self._games) >= MOST_GAMES:
                old = next((g for state in ("over", "open") for g in self._games
                            if g.status == state), None)  # fmt: skip
                if old is None:
                    raise RunError(f"{MOST_GAMES} games are going on: end one of them first.")
                del self._games[old]
            tokens = {seat.token for seat in game.seats.values()}
            for before in list(self._games):
                if tokens & {seat.token for seat in before.seats.values()}:
                    del self._games[before]  # it is over: no run has two writers
            self._games[game] = [host]
            self._ever.add(game)
        if old is not None:
            old.stop()

    def of(self, host: str) -> list[Game]:
        """The games of a host, newest first."""
        with self._lock:
            return [
                game
                for game, hosts in reversed(self._games.items())
                if any(same(known, host) for known in hosts)
            ]

    def of_others(self, host: str) -> list[Game]:
        """The games of other hosts, newest first."""
        mine = self.of(host)
        with self._lock:
            return [game for game in reversed(self._games) if game not in mine]

    def share(self, host: str, game: Game) -> None:
        """Show a game and its links to another browser of its host; ignore a closed game."""
        with self._lock:
            if game in self._games:
                self._games[game].append(host)

    def find(self, token: str) -> tuple[Game, Seat] | None:
        """The seat behind a link, with its game."""
        with self._lock:
            for game in self._games:
                for seat in game.seats.values():
                    if same(seat.token, token):
                        return game, seat
        return None

    def session(self, code: str) -> ClassSession | None:
        """The class behind a code, in capital or small letters."""
        with self._lock:
            sessions = {game.session for game in self._games}
        given = code.strip().upper()
        return next(
            (session for session in sessions if session and same(session.code, given)), None
        )

    def close(self, game: Game) -> None:
        """End a game and forget it: its links become invalid."""
        with self._lock:
            self._games.pop(game, None)
        game.stop()
        game.join(WIND_UP_S)
        game.forget_seats()

    def close_all(self) -> None:
        """End all games, and wait until paid answers are recorded."""
        with self._lock:
            games = list(self._ever)
        for game in games:
            game.stop()
        deadline = time.monotonic() + WIND_UP_S
        for game in games:
            game.join(max(0.0, deadline - time.monotonic()))


def with_others(
    scenario: type[SmartModel],
    parameters: Mapping[str, Any],
    others: Any,
    people: int = 1,
    seats_of: str = "",
) -> dict[str, Any]:
    """The minds of a game: people at the first agents, others at the rest.

    Args:
        scenario: the model class.
        parameters: its parameters without the minds.
        others: one spec for all others; a mapping spec → number; or, with several classes of
            agents, a mapping name of the class → one of these. ``human`` in such a mapping, as in
            ``{"Buyer": {"human": 1, "classical": 2}}``, gives the seats.
        seats_of: the class of the agents with seats for people; the first one when empty.

    Raises:
        UsageError: when seats and other minds do not add up to the number of agents, or for
            parameters that cannot be used.
    """
    if is_by_class(others) and HUMAN in named_in(others):
        return dict(others)
    if HUMAN in named_in(others):
        raise MindSpecError("The other minds cannot be people: give the people seats instead.")
    numbers = agents_by_class(scenario, parameters)
    name = check_choice("class of agents", seats_of or next(iter(numbers)), list(numbers))
    one_class = len(numbers) == 1 and not is_by_class(others)
    if isinstance(others, Mapping) and not is_by_class(others) and not seats_of:
        given, n = people + sum(others.values()), sum(numbers.values())
        if given != n:
            raise MindSpecError(
                f"Seats for people and other minds make {given}, but the scenario has {n} agents: "
                "change one of the three numbers."
            )
        return {HUMAN: people, **others}
    check_int("the number of seats for people", people, 1, numbers[name])
    by_class = dict.fromkeys(numbers, others) if not is_by_class(others) else dict(others)
    minds_of_class = by_class.get(name, CLASSICAL)
    if not isinstance(minds_of_class, Mapping):
        minds_of_class = {minds_of_class: numbers[name] - people}
    by_class[name] = {HUMAN: people, **minds_of_class}
    return dict(by_class[name]) if one_class else by_class


def agents_by_class(scenario: type[SmartModel], parameters: Mapping[str, Any]) -> dict[str, int]:
    """How many agents a game has at first: name of the class → number.

    The scenario determines it, so a model is created to count them.

    Raises:
        UsageError: for parameters that cannot be used.
    """
    trial = scenario(**{**parameters, "minds": "fixed:0", "recording": False})
    counted = Counter(type(agent).__name__ for agent in trial.population)
    return {
        agent_class.__name__: counted[agent_class.__name__] for agent_class in trial.agent_classes()
    }
