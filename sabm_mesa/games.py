"""The games of a server, and who may see them."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from weakref import WeakSet

from sabm_mesa.engine import WIND_UP_S
from sabm_mesa.errors import RunError
from sabm_mesa.game import Game
from sabm_mesa.seats import Seat, same

MOST_GAMES = 32
"""Games that are kept at once; the oldest that is over, or else was never started, makes room."""


class Games:
    """The games of one process, by the secrets of those who may see them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._games: dict[Game, list[str]] = {}
        self._ever: WeakSet[Game] = WeakSet()

    def add(self, host: str, game: Game) -> None:
        """Take in a new game.

        Args:
            host: the secret of the one browser that may see its links.
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
        """Let another browser of its host see a game and its links.

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

    def close_all(self) -> None:
        """End all games, and wait until what was answered and is paid for is recorded."""
        with self._lock:
            games = list(self._ever)
        for game in games:
            game.stop()
        deadline = time.monotonic() + WIND_UP_S
        for game in games:
            game.join(max(0.0, deadline - time.monotonic()))


def _among(secret: str, known: Sequence[str]) -> bool:
    return any(same(each, secret) for each in known)
