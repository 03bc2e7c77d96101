"""Games: runs in which people play, each at a seat, and the games of a server.

A game is played on a thread of its own. `Games` keeps those of one process, and knows which browser
may see which of them. A game that was cut off goes on from its recording (`ContinuedGame`). The
secrets in the links to its seats are in no recording, but in a file beside it, which only its
owner can read, until the game is over.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

from sabm_mesa.core.engine import WIND_UP_S
from sabm_mesa.core.parameters import check_choice, check_float, check_int
from sabm_mesa.errors import MindSpecError, RecordingError, RunError, SabmError
from sabm_mesa.llm import Connection
from sabm_mesa.minds.human import HUMAN, HumanMind, Seat, same
from sabm_mesa.minds.specs import CLASSICAL, Minds, is_by_class, map_minds, named_in
from sabm_mesa.recording import RecordedRun, Recording
from sabm_mesa.recording.export import write_text_file
from sabm_mesa.runs.rerun import resume_models

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.base import SmartModel

MOST_GAMES = 32
"""Games that are kept at once: the oldest that is over, or else was never started, makes room."""
LEFT = "Your part in it is over, and the game goes on."
"""The line for a person whose agent has left the model."""
Status = Literal["open", "playing", "over"]
_log = logging.getLogger(__name__)


class Game:
    """A run with seats for people. It is played on a thread of its own.

    Args:
        scenario: the model class.
        time_limit_s: seconds until an unanswered question is given up; None for no limit.
        parameters: the parameters of the model; ``"human"`` among the minds makes a seat.

    Attributes:
        model: the model.
        seats: agent → its seat, in the order of the ids.
        problem: why the game ended before its time, or ``""``.
        public: the model columns that players see while the game goes on.
        watch: called on the game's thread after each round, and when the game is over.

    Raises:
        UsageError: for parameters that cannot be used, or a game without a seat.
        LLMError: for a language model that cannot be set up.
    """

    def __init__(
        self, scenario: type[SmartModel], *, time_limit_s: float | None = None, **parameters: Any
    ) -> None:
        limit = None if time_limit_s is None else check_float("the time limit", time_limit_s, 0.001)
        people = HumanMind()
        minds = _with_seats(parameters.pop("minds", HUMAN), people)
        self._sit_down(scenario(**parameters, minds=minds), people, limit, {})

    def _sit_down(
        self,
        model: SmartModel,
        people: HumanMind,
        limit: float | None,
        tokens: Mapping[str, str],
    ) -> None:
        self.model = model
        self.seats = {
            agent.unique_id: Seat(agent.unique_id, limit, tokens.get(str(agent.unique_id), ""))
            for agent in model.population
            if agent.mind.spec == HUMAN
        }
        if not self.seats:
            raise MindSpecError("A game needs a seat: put the mind 'human' among the minds.")
        people.seats = self.seats
        self.problem = ""
        self.public: tuple[str, ...] = ()
        self.watch: Callable[[], object] = lambda: None
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
        """Begin to play; a second time changes nothing."""
        with self._lock:
            if self.status != "open":
                return
            self._thread = threading.Thread(target=self._play, name="sabm-game", daemon=True)
            self._thread.start()
        self._tell()

    def stop(self) -> None:
        """End the game, from any thread, whether it was started or not."""
        with self._lock:
            if self.status == "open":
                self._end("The game was ended before it began.")
        self.model.stop()

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until a game that was started is over; whether it is.

        Args:
            timeout_s: seconds to wait at most; None for no limit.
        """
        over = self._over.wait(timeout_s)
        if over and self._thread is not None:
            self._thread.join(timeout_s)
        return over

    def model_data(self) -> pd.DataFrame:
        """The scenario's model columns of the rounds that are over: for all when the game is."""
        return self._frames[0][["round", *self.model.columns()]]

    def so_far(self) -> pd.DataFrame:
        """The data that all players may see during the game: the public columns by round."""
        return self._frames[0][["round", *self.public]]

    def own_data(self, seat: Seat) -> pd.DataFrame:
        """The data that a seat may see of its own agent: its columns in the rounds that are over.

        Args:
            seat: the seat.
        """
        frame = self._frames[1]
        own = frame[frame["agent"] == seat.agent]
        agent = self.model.agent_of_id(seat.agent)
        return own[["round", *self.model.columns_of(type(agent))]]

    def has_left(self, seat: Seat) -> bool:
        """Whether the agent of a seat has left the model, so that nothing is asked there any more.

        Args:
            seat: the seat.
        """
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
                self.watch()
                self._tell()
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
            try:
                self.watch()
            except Exception:  # noqa: BLE001 - the game is over all the same
                _log.exception("A game could not be looked at.")
            self._tell()

    def _tell(self) -> None:
        for seat in self.seats.values():
            seat.touch()

    def _keep_seats(self) -> None:
        """Keep what a restart of the server would lose, before anybody is asked."""
        if (file := self._seats_file()) is None:
            return
        limit = next(iter(self.seats.values())).time_limit_s
        tokens = {str(agent): seat.token for agent, seat in self.seats.items()}
        kept = {"time_limit_s": limit, "public": self.public, "seats": tokens}
        write_text_file(file, json.dumps(kept), 0o600)

    def forget_seats(self) -> None:
        """Remove the file of the seats: from now on the links lead nowhere after a restart."""
        if (file := self._seats_file()) is not None:
            with suppress(OSError):
                file.unlink(missing_ok=True)

    def _seats_file(self) -> Path | None:
        recorder = self.model.replaying or self.model.recorder
        return None if recorder.path is None else _seats_of(recorder.path, recorder.run)


def _seats_of(recording: Path, run: int) -> Path:
    return recording.with_name(f"{recording.name}.{run}.seats.json")


def _read_seats(recording: Path, run: int) -> dict[str, Any]:
    """The file of the seats of a game, as `Game` has kept it; empty when it is gone."""
    file = _seats_of(recording, run)
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        limit, seats = kept["time_limit_s"], kept["seats"]
        fits = limit is None or check_float("the time limit", limit, 0.001)
        fits = fits and all(isinstance(name, str) for name in kept["public"])
        if fits and all(isinstance(token, str) for token in seats.values()):
            return dict(kept)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, SabmError):
        pass
    raise RecordingError(
        f"{file} cannot be read: delete it, and the seats of the game get new links."
    )


class ContinuedGame(Game):
    """A game that was cut off, taken up again from its recording; it has yet to be started.

    Its rounds are played again from what was answered, and nothing of that is asked again. Its
    links, time limit and public columns are as they were.

    Args:
        run: the recorded run.
        connection: how language models are reached.
        time_limit_s: the time limit when the file of its seats is gone; links are new then.

    Raises:
        RecordingError: when the run is no game, is finished or in use, or when its files cannot be
            read.
        UsageError: when this version cannot use the recorded parameters.
    """

    def __init__(
        self, run: RecordedRun, connection: Connection, *, time_limit_s: float | None = None
    ) -> None:
        if HUMAN not in run.minds:
            raise RecordingError(
                f"{run.name} is no game with people: go on with sabm resume {run.path}"
            )
        if run.finished:
            raise RecordingError(
                f"{run.name} is finished: a game that is over is not taken up again."
            )
        kept = _read_seats(run.path, run.run)
        people = HumanMind()
        recording = Recording(run.path)
        try:
            (model,) = resume_models(recording, [run], connection, minds={HUMAN: people})
            limit = kept.get("time_limit_s", time_limit_s)
            self._sit_down(model, people, limit, kept.get("seats", {}))
        except BaseException:
            recording.close()
            raise
        self._recording = recording
        self.public = tuple(name for name in kept.get("public", ()) if name in model.columns())


class Games:
    """The games of one process, by the secrets of the browsers that may see them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._games: dict[Game, list[str]] = {}
        self._ever: WeakSet[Game] = WeakSet()

    def add(self, host: str, game: Game) -> None:
        """Keep a new game.

        Args:
            host: the secret of the browser that may see its links.
            game: the game.

        Raises:
            RunError: when as many games as are kept are still going on.
        """
        old: Game | None = None
        with self._lock:
            if len(self._games) >= MOST_GAMES:
                old = next((g for state in ("over", "open") for g in self._games
                            if g.status == state), None)  # fmt: skip
                if old is None:
                    raise RunError(f"{MOST_GAMES} games are going on: end one of them first.")
                del self._games[old]
            for before in [each for each in self._games if _same_seats(each, game)]:
                del self._games[before]  # it is over: no run has two writers
            self._games[game] = [host]
            self._ever.add(game)
        if old is not None:
            old.stop()

    def of(self, host: str) -> list[Game]:
        """The games of a host, newest first."""
        with self._lock:
            return [game for game, hosts in reversed(self._games.items()) if _among(host, hosts)]

    def of_others(self, host: str) -> list[Game]:
        """The games that are not a host's, newest first."""
        mine = self.of(host)
        with self._lock:
            return [game for game in reversed(self._games) if game not in mine]

    def share(self, host: str, game: Game) -> None:
        """Show a game and its links to another browser of its host.

        Args:
            host: the secret of the browser.
            game: the game; one that was closed is left alone.
        """
        with self._lock:
            if game in self._games:
                self._games[game].append(host)

    def find(self, token: str) -> tuple[Game, Seat] | None:
        """The seat behind a link, with its game.

        Args:
            token: the token in the link.
        """
        with self._lock:
            for game in self._games:
                for seat in game.seats.values():
                    if same(seat.token, token):
                        return game, seat
        return None

    def close(self, game: Game) -> None:
        """End a game and forget it: its links lead nowhere from now on.

        Args:
            game: the game.
        """
        with self._lock:
            self._games.pop(game, None)
        game.stop()
        game.join(WIND_UP_S)
        game.forget_seats()

    def close_all(self) -> None:
        """End all games, and wait until the answers that are paid for are recorded."""
        with self._lock:
            games = list(self._ever)
        for game in games:
            game.stop()
        deadline = time.monotonic() + WIND_UP_S
        for game in games:
            game.join(max(0.0, deadline - time.monotonic()))


def _same_seats(one: Game, other: Game) -> bool:
    return bool({s.token for s in one.seats.values()} & {s.token for s in other.seats.values()})


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
        others: one spec for all others; a mapping spec → number; or, where there are several
            classes of agents, a mapping name of the class → one of these. People in this one, such
            as ``{"Buyer": {"human": 1, "classical": 2}}``, are the seats.
        people: how many people.
        seats_of: the class of the agents at which people sit; the first one when empty.

    Raises:
        UsageError: when there are not so many agents, or for parameters that cannot be used.
    """
    if is_by_class(others) and HUMAN in named_in(others):
        return dict(others)
    if HUMAN in named_in(others):
        raise MindSpecError("The others are no people: give the people seats instead.")
    numbers = agents_by_class(scenario, parameters)
    name = check_choice("class of agents", seats_of or next(iter(numbers)), list(numbers))
    one_class = len(numbers) == 1 and not is_by_class(others)
    if isinstance(others, Mapping) and not is_by_class(others) and not seats_of:
        return {HUMAN: people, **others}
    check_int("the number of people", people, 1, numbers[name])
    by_class = dict.fromkeys(numbers, others) if not is_by_class(others) else dict(others)
    own = by_class.get(name, CLASSICAL)
    if not isinstance(own, Mapping):
        own = {own: numbers[name] - people}
    by_class[name] = {HUMAN: people, **own}
    return dict(by_class[name]) if one_class else by_class


def agents_by_class(scenario: type[SmartModel], parameters: Mapping[str, Any]) -> dict[str, int]:
    """How many agents a game has at first: name of the class → number.

    That is the scenario's business, so one is made to count them.

    Args:
        scenario: the model class.
        parameters: its parameters without the minds.

    Raises:
        UsageError: for parameters that cannot be used.
    """
    trial = scenario(**{**parameters, "minds": "fixed:0", "recording": False})
    counted = Counter(type(agent).__name__ for agent in trial.population)
    return {each.__name__: counted[each.__name__] for each in trial.agent_classes()}


def check_seats(
    scenario: type[SmartModel],
    parameters: Mapping[str, Any],
    others: Any,
    people: int,
) -> None:
    """Check that seats and other minds are as many as there are agents.

    Where minds are given for each class of agents, the scenario checks them.

    Args:
        scenario: the model class.
        parameters: its parameters without the minds.
        others: as for `with_others`.
        people: how many seats there are for people.

    Raises:
        UsageError: when they are not, or for parameters that cannot be used.
    """
    n = sum(agents_by_class(scenario, parameters).values())
    have = f"the scenario has {_count(n, 'agent')}"
    if check_int("the number of seats for people", people, 1) > n:
        raise MindSpecError(
            f"{_count(people, 'seat')} for people are too many, for {have}: take fewer seats, or "
            "more agents."
        )
    if is_by_class(others):
        seats = seats_in(others)
        if seats not in {0, people}:
            raise MindSpecError(
                f"{_count(people, 'seat')} for people, but the minds name {_count(seats, 'person')}"
                ": change one of the two."
            )
        return
    if isinstance(others, Mapping) and people + (named := _sum(others)) != n:
        raise MindSpecError(
            f"{_count(people, 'seat')} for people and {_count(named, 'other mind')} make "
            f"{people + named}, but {have}: change one of the three numbers."
        )


def seats_in(minds: Mapping[str, Any]) -> int:
    """How many seats for people the minds of several classes have.

    Args:
        minds: name of the class → minds.
    """
    return sum(
        own.get(HUMAN, 0) if isinstance(own, Mapping) else named_in(own).count(HUMAN)
        for own in minds.values()
    )


def _sum(counts: Mapping[str, Any]) -> int:
    return sum(n for n in counts.values() if type(n) is int)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _with_seats(minds: Minds, people: HumanMind) -> Minds:
    """The same minds with `people` for the spec ``"human"``."""
    found: Minds = map_minds(minds, lambda spec: people if spec == HUMAN else spec)
    return found


def _among(secret: str, known: Sequence[str]) -> bool:
    return any(same(each, secret) for each in known)
