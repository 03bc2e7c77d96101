"""Games: runs in which people play, each at a seat of their own."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from sabm_mesa.errors import MindSpecError, RunError, SabmError
from sabm_mesa.minds import Minds
from sabm_mesa.minds.human import HUMAN, HumanMind
from sabm_mesa.parameters import real, whole
from sabm_mesa.seats import Seat, same

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.base import SmartModel

MOST_GAMES = 32
"""Games that are kept at once; the oldest that is over makes room for a new one."""
Status = Literal["open", "playing", "over"]


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

    Raises:
        UsageError: for parameters that cannot be used, or a game without a seat.
        LLMError: for a language model that cannot be set up.
    """

    def __init__(
        self, scenario: type[SmartModel], *, time_limit_s: float | None = None, **parameters: Any
    ) -> None:
        limit = None if time_limit_s is None else real("the time limit", time_limit_s, 0.001)
        people = HumanMind()
        minds = _seated(parameters.pop("minds", HUMAN), people)
        self.model = scenario(**parameters, minds=minds)
        self.seats = {
            agent.unique_id: Seat(agent.unique_id, limit)
            for agent in self.model.population
            if agent.mind is people
        }
        if not self.seats:
            raise MindSpecError("A game needs a seat: put the mind 'human' among the minds.")
        people.seats = self.seats
        self.problem = ""
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

    def join(self) -> None:
        """Wait until a game that was started is over."""
        self._over.wait()
        if self._thread is not None:
            self._thread.join()

    def model_data(self) -> pd.DataFrame:
        """What all may see when the game is over: the scenario's model columns by round."""
        return self.model.model_frame()[["round", *self.model.columns()]]

    def own_data(self, seat: Seat) -> pd.DataFrame:
        """What a seat may see of its own agent when the game is over: its columns by round.

        Args:
            seat: the seat.
        """
        frame = self.model.agent_frame()
        own = frame[frame["agent"] == seat.agent]
        return own[["round", *self.model.agent_columns]]

    def _play(self) -> None:
        problem = ""
        try:
            self.model.run_model()
        except SabmError as error:
            problem = str(error)
        finally:
            self._end(problem)

    def _end(self, problem: str) -> None:
        self.problem = problem
        try:
            self.model.close(problem or "stopped")
        except RunError as error:
            self.problem = problem or str(error)
        self._over.set()
        self._tell()

    def _tell(self) -> None:
        for seat in self.seats.values():
            seat.touch()


def with_others(
    scenario: type[SmartModel],
    parameters: Mapping[str, Any],
    others: str | Mapping[str, int],
    people: int = 1,
) -> dict[str, int]:
    """The minds of a game: people at the first agents, others at the rest.

    Args:
        scenario: the model class.
        parameters: its parameters without the minds.
        others: one spec for all others; or a mapping spec → number.
        people: how many people.

    Raises:
        UsageError: when there are not so many agents, or for parameters that cannot be used.
        LLMError: for a language model that cannot be set up.
    """
    if isinstance(others, Mapping):
        return {HUMAN: people, **others}
    # How many agents there are is the scenario's business, so one is made to count them.
    trial = scenario(**{**parameters, "minds": others, "recording": False})
    n = len(trial.population)
    whole("the number of people", people, 1, n)
    return {HUMAN: people, others: n - people}


class Games:
    """The games of one process, by the secrets of those who may see them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._games: dict[Game, str] = {}

    def add(self, host: str, game: Game) -> None:
        """Take in a new game.

        Args:
            host: the secret of the one browser that may see its links.
            game: the game.

        Raises:
            RunError: when as many games as are kept are still going on.
        """
        with self._lock:
            if len(self._games) >= MOST_GAMES:
                over = next((game for game in self._games if game.status == "over"), None)
                if over is None:
                    raise RunError(f"{MOST_GAMES} games are going on: end one of them first.")
                del self._games[over]
            self._games[game] = host

    def of(self, host: str) -> list[Game]:
        """The games of a host, newest first."""
        with self._lock:
            return [
                game for game, its_host in reversed(self._games.items()) if same(its_host, host)
            ]

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


def _seated(minds: Minds, people: HumanMind) -> Minds:
    """The same minds with the people in the place of the spec ``"human"``."""
    if minds == HUMAN:
        return people
    if isinstance(minds, Mapping):
        return {people if spec == HUMAN else spec: count for spec, count in minds.items()}
    if isinstance(minds, Sequence) and not isinstance(minds, str):
        return [people if spec == HUMAN else spec for spec in minds]
    return minds
