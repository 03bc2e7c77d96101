"""Published games: each data file is a game, played by people, rules and language models.

A game needs no code; to write a scenario of your own, start from ``examples/prisoners_dilemma``.

A round is one game in each group; groups stay (``partner``) or are redrawn (``stranger``). With
``talk``, each player of a group speaks once. Then all choose at once, or move in turn. ``game`` is
a name of the library or a TOML file (``docs/how-to/games.md``). Disguises keep payoffs: ``labels``,
``currency``, ``option_order``, ``scale``. The rules in full are in ``odd.toml``; theory:
`sabm_mesa.models.games.theory`.

Unreadable answers
    A group with an invalid choice has no game in this round: nobody in it earns anything, its
    payoffs are empty, and prompts inform its players. In turns, the game stops there. Without a
    valid text, no message is sent.

Source
    Nash 1951, Annals of Mathematics 54(2), 286-295; each game names its own source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from sabm_mesa.core.answers import Decision
from sabm_mesa.core.scheduler import Phase, action, communication
from sabm_mesa.errors import ParameterError, one_line
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import Score
from sabm_mesa.models.games.agents import PastPlay, Player, game_fact, value_of
from sabm_mesa.models.games.minds import CLASSICAL
from sabm_mesa.models.games.rules import Choices, GameForm, Rules, load_game
from sabm_mesa.models.games.study import Predictions, choice_columns, predictions_of

LONGEST_CURRENCY = 30
"""Maximum number of characters of the name of a currency."""
Continuation = Annotated[float, Ge(0), Lt(1)]
Labels = Literal["letters", "colours", "invented", "names"]
OptionOrder = Literal["given", "reversed", "shuffled"]


def _together(model: FiniteGame) -> bool:
    return model.rules.form.together


def _in_turn(model: FiniteGame) -> bool:
    return not model.rules.form.together


def _talks(model: FiniteGame) -> bool:
    return model.talk


def _by_moves(model: FiniteGame, players: list[Player]) -> list[Player]:
    """The players in the order of the moves; a player has one turn per move."""
    del players
    return [
        group[move.player] for move in model.rules.form.moves for group in model.groups
    ]  # fmt: skip


def _own_group(model: FiniteGame, player: Player) -> Iterable[Player]:
    return model.groups[player.group - 1]


class FiniteGame(SmartModel):
    """A finite game that is defined by data.

    Args:
        game: a game of the library, a TOML file, or what a file holds.
        n_players: players of all groups; None: those of one group.
        n_rounds: times that the game is played at most; None: as its file says.
        continuation: probability that another round follows; 0 for a known end; None: as its file
            says.
        talk: whether players talk before each game; None: as its file says.
        matching: groups that stay, or that are drawn anew every round.
        labels: the names of options in prompts.
        currency: the unit of money in prompts.
        option_order: the order of options in prompts.
        scale: the factor of all amounts of money.
        condition: ``"baseline"``.
        minds: see `SmartModel`; the classical minds need only the payoffs: ``classical`` (best
            reply), ``classical:fictitious_play``, ``classical:logit``, ``classical:tit_for_tat``,
            ``classical:grim``, ``classical:win_stay_lose_shift``, ``classical:level_1``,
            ``classical:level_2``, ``classical:inequity_averse`` and ``classical:altruist``.
        settings: the other parameters of `SmartModel`.

    Attributes:
        rules: the contents of the file.
        form: the game as shown to players: with the labels, order and scale of this run.
        predictions: theoretical predictions for the game, in the currency of the run.
        players: all players in the order of their ids.
        groups: the players of each game of the round, in the order of their roles.
        payoff: mean payoff of the round.
        efficiency: the sum of payoffs, scaled between the smallest and the largest of the game.
        equilibrium: share of the groups in equilibrium.
        absent: groups without a valid game.
        share_OPTION, mean_CHOICE: the columns of the choices, which depend on the game.

    Raises:
        UsageError: for a parameter or a file that cannot be used.
    """

    scenario_name = "games"
    title = "Finite games"
    source = "Nash 1951, Annals of Mathematics 54(2), 286-295; each game names its own"
    prompt_file = Path(__file__).with_name("prompts.toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        communication(
            order="shuffled",
            when=_talks,
            reach=_own_group,
            doc="With `talk`, each player says something to its group (`communicate`); later ones "
            "read it.",
        ),
        action(
            when=_together,
            doc="In a game at the same time each player chooses (`act`); a group with an "
            "unreadable choice has no game in this round.",
        ),
        Phase(
            "move",
            order=_by_moves,
            when=_in_turn,
            reach=_own_group,
            doc="In a game in turns the players move in the order of the rules (`move`) and see "
            "the moves before; an unreadable move ends the game, and it does not count.",
        ),
    )
    model_columns = ("payoff", "efficiency", "equilibrium", "absent")
    agent_columns = ("choice", "payoff", "role", "group")
    changeable = frozenset({"talk", "continuation", "matching", "currency"})
    score = Score("Payoff in a round", "n_players", over="round", pairs=True)
    defaults: ClassVar[dict[str, Any]] = {"temperature": 1.0, "max_tokens": 256}
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = CLASSICAL

    def __init__(
        self,
        game: str | Mapping[str, Any] = "prisoners_dilemma",
        n_players: Annotated[int, Ge(2)] | None = None,
        n_rounds: int | None = None,
        continuation: Continuation | None = None,
        talk: bool | None = None,
        matching: Literal["partner", "stranger"] = "partner",
        labels: Labels = "letters",
        currency: str = "points",
        option_order: OptionOrder = "given",
        scale: Annotated[float, Gt(0), Le(1e6)] = 1.0,
        **settings: Any,
    ) -> None:
        rules = self.rules = load_game(game)
        self.parameters["game"] = kept(game, rules)
        super().__init__(n_rounds=rules.rounds if n_rounds is None else n_rounds, **settings)
        self.continuation = (rules.continuation if continuation is None else continuation) or None
        self.talk = rules.talk if talk is None else talk
        self.matching, self.currency = matching, _currency(currency)
        self.form = self._disguised(labels, option_order, scale)
        self.game_fact = game_fact(self.form)
        self.predictions: Predictions = predictions_of(rules, scale)
        self.groups: list[list[Player]] = []
        self.payoff = self.efficiency = self.equilibrium = math.nan
        self.absent = 0
        vars(self).update(dict.fromkeys(self.predictions.columns, math.nan))
        size = rules.form.n_players
        if n_players is not None and n_players % size:
            raise ParameterError(
                f"n_players must be a multiple of {size}, the players of the game (got "
                f"{n_players}).", parameter="n_players",
            )  # fmt: skip
        self.n_players = n_players or size
        self.players = self.populate(Player, self.n_players)

    @classmethod
    def identity(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as JSON values, with the contents of the game instead of its name."""
        game = given.get("game", "")
        rules = {"game": kept(game, load_game(game))} if game else {}
        return super().identity({**given, **rules})

    def columns(self) -> Mapping[str, str]:
        """The model columns, including the columns of choices."""
        names = (column.name for column in choice_columns(self.rules))
        return {**super().columns(), **{name: name for name in names}}

    def begin_round(self) -> None:
        """Form the groups and clear the choices."""
        if self.matching == "stranger" or not self.groups:
            self.groups = self._draw_groups()
        for player in self.players:
            player.choices, player.choice = {}, None
            player.payoff = math.nan

    def path_of(self, player: Player) -> Choices | None:
        """The moves so far in a player's game; None after an invalid move."""
        return _path(self.groups[player.group - 1], self.form)

    def after_communicate(self, player: Player, text: Decision) -> None:
        """Send a player's message to the group."""
        self.say(player, text.value, to=self.groups[player.group - 1])

    def after_act(self, player: Player, chosen: Decision) -> None:
        """Store a choice; None if it was unreadable."""
        self._take(player, player.role - 1, (), chosen)

    def after_move(self, player: Player, chosen: Decision) -> None:
        """Store a move, unless the game is over."""
        path = self.path_of(player)
        move = None if path is None else self.form.move_after(path)
        if path is not None and move is not None and chosen.attempts:
            self._take(player, move, path, chosen)

    def update(self) -> None:
        """Compute payoffs, extend the memories, measure, and draw whether the run continues."""
        played = [self._settle(group) for group in self.groups]
        paths = [path for path in played if path is not None]
        self.absent = len(played) - len(paths)
        paid = [player.payoff for player in self.players if not math.isnan(player.payoff)]
        self.payoff = float(np.mean(paid)) if paid else math.nan
        self.efficiency = self.predictions.efficiency(self.payoff)
        self.equilibrium = self.predictions.equilibrium_share(paths)
        vars(self).update(self.predictions.shares(paths))
        if self.continuation is not None and self.rng.random() >= self.continuation:
            self.end("no further round was drawn")

    def end_measures(self) -> dict[str, Any]:
        """The means of all columns over the rounds."""
        data = self.model_frame()
        return {name: float(data[name].astype(float).mean()) for name in self.columns()}

    def _disguised(self, labels: str, order: str, scale: float) -> GameForm:
        names = [] if labels == "names" else self.book.render(f"labels_{labels}", {}).split(", ")
        form = self.rules.labelled(names).scaled(scale)
        if order == "given":
            return form
        moves = []
        for move in form.moves:
            n = len(move.options)
            places = range(n)[::-1] if order == "reversed" else self.rng.permutation(n)
            moves.append(replace(move, options=tuple(move.options[i] for i in places)))
        return replace(form, moves=tuple(moves))

    def _draw_groups(self) -> list[list[Player]]:
        """The players of each group; redrawn within each role, unless groups are constant."""
        size = self.rules.form.n_players
        n_groups = len(self.players) // size
        groups: list[list[Player]] = [[] for _ in range(n_groups)]
        for role in range(size):
            fixed = self.matching == "partner" or n_groups == 1
            places = range(n_groups) if fixed else self.rng.permutation(n_groups)
            for group, i in zip(groups, places, strict=True):
                group.append(self.players[int(i) * size + role])
        for number, group in enumerate(groups, 1):
            for player in group:
                player.group = number
        return groups

    def _take(self, player: Player, move: int, path: Choices, chosen: Decision) -> None:
        value = math.nan
        if chosen.value is not None:
            value = value_of(self.form, move, path, chosen.value)
        player.choices[move] = value

    def _settle(self, group: list[Player]) -> Choices | None:
        """Pay a group and extend its memories; return its choices, or None without a game."""
        path = _path(group, self.form)
        payoffs: tuple[float, ...] = ()
        if path is not None:
            payoffs = self.form.payoffs(path)
        for player in group:
            player.choice = self._choice_of(player)
            if payoffs:
                player.payoff = payoffs[player.role - 1]
            player.plays.append(PastPlay(len(player.plays) + 1, path or (), payoffs))
        return path

    def _choice_of(self, player: Player) -> str | float | None:
        """The valid choices of a player by the names in the file, joined for several moves."""
        known = [self.rules.name_of(m, v) for m, v in player.choices.items() if not math.isnan(v)]
        if len(known) == 1:
            return known[0]
        return " ".join(map(str, known)) or None


def kept(game: str | Mapping[str, Any], rules: Rules) -> str | Mapping[str, Any]:
    """The recorded value of the parameter `game`: for a file, its contents."""
    return dict(rules.data) if isinstance(game, str) and game.endswith(".toml") else game


def _path(group: list[Player], form: GameForm) -> Choices | None:
    """The choices of a group so far, in the order of the moves; None if one is invalid."""
    known = {move: value for player in group for move, value in player.choices.items()}
    if any(math.isnan(value) for value in known.values()):
        return None
    path = tuple(known[move] for move in sorted(known))
    return path if not form.together or len(path) in (0, len(group)) else None


def _currency(given: Any) -> str:
    """The name of the currency, on one line."""
    name = one_line(given) if isinstance(given, str) else ""
    if not name or len(name) > LONGEST_CURRENCY:
        raise ParameterError(
            f"currency must be a name of at most {LONGEST_CURRENCY} characters, such as points, "
            f"not {given!r}.", parameter="currency",
        )  # fmt: skip
    return name
