"""Strategies of the Axelrod library as minds of two-player games with two options.

Source: Knight et al. 2016, "An Open Framework for the Reproducible Study of the Iterated Prisoner's
Dilemma".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sabm_mesa.core.answers import Choice
from sabm_mesa.errors import MindError
from sabm_mesa.models.games.agents import PlayerView, answer_spec
from sabm_mesa.models.games.minds import Conditional, nice_choice


class AxelrodMind(Conditional):
    """A player who decides by a strategy of the Axelrod library.

    Cooperation is the nice choice (see `Conditional`), defection the other one. Before each
    decision, the strategy is replayed through the player's past games with the actual choices, so
    it depends only on the past and the seed. Games without choices are skipped, and changing
    opponents count as one opponent. Needs ``pip install axelrod``.

    Args:
        strategy: the player of the library, such as ``axelrod.TitForTat()``; it is not modified.
        spec: the name of the mind in the data; ``""``: the name of the strategy.
    """

    def __init__(self, strategy: Any, spec: str = "") -> None:
        super().__init__(spec or f"axelrod:{strategy.name}")
        self._strategy = strategy
        self._seeds: dict[int, int] = {}

    def choose(self, view: PlayerView, move: int, rng: np.random.Generator) -> float:
        """The option that the strategy chooses.

        Raises:
            MindError: in a game of more players or options, or in turns.
        """
        form = view.form
        if not form.together or form.n_players != 2 or not all(_has_two(view, k) for k in (0, 1)):
            raise MindError(
                f"{self.spec} plays only games of two players with two options each, who choose at "
                "the same time."
            )
        options = form.options(move, view.path)
        nice = nice_choice(view, move, ())
        self._seeds.setdefault(view.agent, int(rng.integers(2**32)))
        return options[nice if self.is_nice(view) else 1 - nice].value

    def is_nice(self, view: PlayerView) -> bool:
        """Whether the strategy cooperates after the past of the player."""
        from axelrod import Action, MockPlayer

        me, other = self._strategy.clone(), MockPlayer()
        me.set_seed(self._seeds.get(view.agent, 0))
        known = view.continuation is None
        me.set_match_attributes(length=view.n_rounds if known else math.inf)
        for play in view.plays:
            if not play.path:
                continue
            mine, their = (
                Action.C if play.path[player] == _nice_value(view, player) else Action.D
                for player in (view.player, 1 - view.player)
            )
            me.strategy(other)
            me.update_history(mine, their)
            other.update_history(their, mine)
        return bool(me.strategy(other) == Action.C)


def _has_two(view: PlayerView, move: int) -> bool:
    spec = answer_spec(view.form, move, ())
    return isinstance(spec, Choice) and len(spec.options) == 2


def _nice_value(view: PlayerView, player: int) -> float:
    return view.form.options(player)[nice_choice(view, player, ())].value
