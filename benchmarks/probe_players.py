"""How often does a probe give each verdict? ``python -m benchmarks.calibration probe``.

Players whose kind is known answer the games of a probe. The table is in docs/how-to/probe.md.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.studies.probe import (
    GAMES,
    INCONSISTENT,
    MEMORIZED,
    PUBLISHED,
    SOLVES,
    UNDETERMINED,
    Probe,
    ProbeQuestion,
    analyse,
    situations,
)

VERDICTS = (SOLVES, MEMORIZED, INCONSISTENT, UNDETERMINED)


@dataclass(frozen=True)
class Player:
    """A player of a known kind.

    Attributes:
        what: its description.
        solves: the share of changed games that it solves.
        recites: the share of changed games in which it recites. It draws its other answers.
        steps: the number of reasoning steps, in the published game and where it solves.
        noise: the noise of guesses, as a share of the range.
        published: whether it knows the published games; if not, it draws those answers, too.
    """

    what: str
    solves: float = 0.0
    recites: float = 0.0
    steps: float = 1.0
    noise: float = 0.08
    published: bool = True

    def answer(self, game: ProbeQuestion, rng: np.random.Generator) -> str:
        """Return its answer to a game.

        Args:
            game: the game.
            rng: draws noise and answers by chance.
        """
        known = game.kind == PUBLISHED
        solves, recites = (self.published, 0.0) if known else (self.solves, self.recites)
        drawn = rng.random()
        if drawn >= solves + recites:
            if game.game == "guess":
                return str(rng.integers(game.low, game.high + 1))
            return str(rng.choice(game.options))
        if game.game == "table":
            recited = "defect" if "defect" in game.options else game.options[-1]
            return game.solution if drawn < solves else recited
        like = game if drawn < solves else ProbeQuestion(PUBLISHED)
        guess = like.guess_of(self.steps) + rng.normal(0, self.noise * game.width)
        return str(round(min(max(guess, game.low), game.high)))


PLAYERS = (
    *(
        player
        for noise in (0.08, 0.16)
        for steps in (1.0, 2.0)
        for player in (
            Player("solves", solves=1, steps=steps, noise=noise),
            Player("recites", recites=1, steps=steps, noise=noise),
        )
    ),
    Player("solves: the equilibrium", solves=1, steps=math.inf, noise=0.02),
    Player("recites the published equilibrium, 0", recites=1, steps=math.inf, noise=0.02),
    Player("knows the published games, answers at random in other games"),
    Player("draws every answer", published=False),
    Player("solves half of the changed games, answers at random in the others", solves=0.5),
)


def verdicts(player: Player, draws: int) -> Counter[str]:
    """Return how often a player gets each verdict, with `GAMES` games.

    Args:
        player: the player.
        draws: the number of probes, each with different games.
    """
    book, found = PromptBook(Probe.prompt_file), Counter[str]()
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        asked = [game for game in situations(GAMES, book, rng) if game.question == "play"]
        answers = [player.answer(game, rng) for game in asked]
        found[analyse(player.what, asked, answers).verdict] += 1
    return found


def probes(draws: int) -> str:
    """Return the verdicts on players of known kinds, in Markdown.

    Args:
        draws: the number of studies; a fiftieth is used, since each verdict needs five intervals.
    """
    few = max(10, draws // 50)
    lines = [
        f"{few} probes per row, with {GAMES} games each.", "",
        f"| player | steps | noise | {' | '.join(VERDICTS)} |", "|---|--:|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    for player in PLAYERS:
        found = verdicts(player, few)
        steps = "any number" if math.isinf(player.steps) else f"{player.steps:g}"
        counts = " | ".join(str(found[verdict]) for verdict in VERDICTS)
        own = f"{steps} | {player.noise:g}" if player.published else "– | –"
        lines.append(f"| {player.what} | {own} | {counts} |")
    return "\n".join(lines)
