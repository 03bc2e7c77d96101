"""Solution 6: two minds in one file, and a tournament of them with classical minds."""

from __future__ import annotations

from typing import Any


class Follower:
    """Expects the others to do what they did: picks p times the last mean."""

    async def answer(self, ask: Any) -> float:
        """Pick a number."""
        game = ask.facts
        return game.p * (game.past[-1]["mean"] if game.past else game.high / 2)


class Undercut:
    """Expects the others to be followers, and goes one step further."""

    async def answer(self, ask: Any) -> float:
        """Pick a number."""
        game = ask.facts
        return game.p**2 * (game.past[-1]["mean"] if game.past else game.high / 2)


def main(runs: int = 10) -> Any:
    """Play with this many seeds, and show the ranking: one row a mind, the best first."""
    # Here and not above: the file is a mind, too, and what it imports is loaded for each player.
    from sabm_mesa.studies import tournament

    minds = [f"{__file__}:{name}" for name in ("Follower", "Undercut")]
    played = tournament.play(
        "beauty-contest",
        [*minds, "classical"],
        folder="out/tournament",
        parameters={"n_players": 6},
        runs=runs,
    )
    columns = ["rank", "entrant", "score", "low", "high", "invalid"]
    print(played.ranking[columns].round(3).to_string(index=False))
    return played.ranking


if __name__ == "__main__":
    main()
