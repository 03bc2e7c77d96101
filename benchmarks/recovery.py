"""Are known parameters recovered? ``python -m benchmarks.recovery [NAME …] [--replications N]``.

Data are simulated with known parameters, with the sample size of the publication that a case names,
and the model is fitted to each data set. The tables show, for each parameter, the mean estimate,
its bias, and how often the 95 % interval (profile likelihood) contains the true value. They also
show how often BIC selects each model. This is not a benchmark of speed; docs/how-to/fit.md has the
results.

A value is in the interval if its profile likelihood is close enough to the maximum, which takes one
more fit per parameter. Each replication has its own seed, and is written to a file at once
(``--out``), so that a stopped run continues from there.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sabm_mesa.analysis.behaviour import BehaviouralModel, Decider, Floats, Panel, Row
from sabm_mesa.analysis.estimation import CHI_SQUARE, by_rank, fit
from sabm_mesa.analysis.guessing_behaviour import (
    HierarchySteps,
    NoisyBestReply,
    QuantalPicks,
    guessing_models,
    level_k,
)
from sabm_mesa.analysis.matrix_behaviour import (
    LAST,
    PAYOFFS,
    HierarchyOfPlay,
    NoisyReply,
    QuantalResponse,
    level_k_of_play,
    matrix_models,
)
from sabm_mesa.analysis.repeated_behaviour import (
    EWA,
    FICTITIOUS_PLAY,
    REINFORCEMENT,
    WEIGHTED_FICTITIOUS_PLAY,
    learning_models,
    strategy_mixture,
)
from sabm_mesa.analysis.social_behaviour import (
    UNITS,
    ConditionalCooperator,
    FreeRider,
    InequityAversion,
    UnconditionalCooperator,
    cooperation_mixture,
    cooperation_models,
)
from sabm_mesa.models.bertrand import behaviour as prices
from sabm_mesa.models.bertrand.minds import QLearner
from sabm_mesa.models.bertrand.theory import LinearMarket
from sabm_mesa.models.games.behaviour import fairness, in_order
from sabm_mesa.models.games.rules import load_game

REPLICATIONS = 500
OUT = Path("out/recovery.jsonl")
NOISES = (0.5, 1.0, 2.0)
"""Factors of the noise in the confusion tables."""
ERRORS = ("sigma", "sigma_log", "epsilon", "error", "slip")
"""Parameters that are noise. A larger ``lambda`` is less noise."""
Replies = Callable[[Panel, int, np.random.Generator], Mapping[str, Floats]]


@dataclass(frozen=True)
class Case:
    """A model with known parameters, and the players that it draws.

    Attributes:
        model: the model.
        truth: parameter → its value.
        panel: the players, and what they know; all have the same number of decisions.
        size: the sample size and its source.
        replies: for players who react to one another: returns what they know next, from the panel
            and the number (from 0) of the last decision.
        play: draws all decisions, if minds and not the model draw them.
    """

    model: BehaviouralModel
    truth: Mapping[str, float]
    panel: Panel
    size: str
    replies: Replies | None = None
    play: Callable[[Panel, np.random.Generator], Panel] | None = None

    @property
    def vector(self) -> Floats:
        """The true parameters."""
        return self.model.check(dict(self.truth))

    def draw(self, rng: np.random.Generator) -> Panel:
        """Draw all decisions.

        Args:
            rng: the generator to draw from.
        """
        if self.play is not None:
            return self.play(self.panel, rng)
        if self.replies is None:
            return self.model.simulate(self.vector, self.panel, rng)
        panel = self.panel
        for time in range(int(panel.position.max()) + 1):
            drawn = self.model.draw(self.vector, panel, rng)
            played = np.where(panel.position == time, drawn, panel.decisions)
            told = self.replies(panel.with_decisions(played), time, rng)
            panel = replace(panel, decisions=played, known={**panel.known, **told})
        return panel


def guesses(players: int, whole: bool = True) -> Panel:
    """One pick of each player, in the game of two thirds of the mean."""
    facts = {"reference": 50.0, "p": 2 / 3, "low": 0.0, "high": 100.0, "whole": float(whole)}
    return Panel.of(Row(Decider(0, i, "x"), 0, 0.0, facts) for i in range(players))


def choices(players: int, games: int, options: int = 3) -> Panel:
    """One choice of each player in each of several two-player games, with payoffs from 0 to 100.

    Half of the players have the other role. Each has seen a random earlier choice of someone else.
    """
    rng = np.random.default_rng(1995)
    drawn = rng.integers(0, 101, (games, options, options, 2)).astype(float)
    swapped = drawn.transpose(0, 2, 1, 3)[..., ::-1]
    rows = []
    for i in range(players):
        for t in range(games):
            last = [float(rng.integers(options))] if t else [np.nan]
            facts = {PAYOFFS: (drawn if i % 2 else swapped)[t], LAST: last}
            rows.append(Row(Decider(0, i, "x"), t, 0.0, facts))
    return Panel.of(rows)


def repeated(players: int, games: int, options: int = 3) -> Panel:
    """Repeated choices in one game, against others whose habits change three times."""
    rng = np.random.default_rng(1999)
    own = np.array([[2, 5, 0], [0, 3, 6], [4, 1, 3]], dtype=float)
    game, rows = np.stack([own, 6 - own], axis=-1), []
    for i in range(players):
        habits = rng.dirichlet(np.ones(options), size=4).repeat(games // 4, axis=0)
        others = [float(rng.choice(options, p=habit)) for habit in habits]
        for t, seen in enumerate([np.nan, *others[:-1]]):
            rows.append(Row(Decider(0, i, "x"), t, 0.0, {PAYOFFS: game, LAST: [seen]}))
    return Panel.of(rows)


def sharing(players: int) -> Panel:
    """Five replies to random ultimatums and five gifts of each player."""
    rng = np.random.default_rng(1999)
    ultimatum, dictator = (in_order(load_game(name).form) for name in ("ultimatum", "dictator"))
    replies = [fairness(ultimatum, 1, (float(offer),), []) for offer in range(11)]
    gift, rows = fairness(dictator, 0, (), []), []
    for i in range(players):
        told = [replies[k] for k in rng.integers(11, size=5)] + [gift] * 5
        rows += [Row(Decider(0, i, "x"), t, 0.0, each) for t, each in enumerate(told)]
    return Panel.of(rows)


def dilemmas(players: int, games: int) -> Panel:
    """Prisoner's dilemmas: cooperation is option 0, with payoffs of Dal Bó and Fréchette 2011."""
    own = np.array([[40, 12], [50, 25]], dtype=float)
    facts = {PAYOFFS: np.stack([own, own.T], axis=-1), LAST: [np.nan], "dilemma": 1.0}
    return Panel.of(
        Row(Decider(0, i, "x"), t, 0.0, facts) for i in range(players) for t in range(games)
    )


def last_of_pair(panel: Panel, time: int, rng: np.random.Generator) -> Mapping[str, Floats]:
    """The last choice of the other player of the pair; pairs are fixed."""
    del rng
    chosen = panel.decisions.reshape(len(panel.players), -1)
    last = panel.known[LAST].reshape(chosen.shape).copy()
    if time + 1 < chosen.shape[1]:
        last[:, time + 1] = chosen[np.arange(len(chosen)) ^ 1, time]
    return {LAST: last.reshape(-1, 1)}


def last_of_stranger(panel: Panel, time: int, rng: np.random.Generator) -> Mapping[str, Floats]:
    """The choice of the last partner, who has the other role; pairs are drawn again each time."""
    chosen = panel.decisions.reshape(len(panel.players), -1)
    last = panel.known[LAST].reshape(chosen.shape).copy()
    if time + 1 < chosen.shape[1]:
        met = 2 * rng.permutation(len(chosen) // 2)
        last[::2, time + 1] = chosen[met + 1, time]
        last[met + 1, time + 1] = chosen[::2, time]
    return {LAST: last.reshape(-1, 1)}


def in_two_roles(players: int, games: int) -> Panel:
    """The game of `repeated`, with two roles: players with even and with odd numbers."""
    row = np.array([[2, 5, 0], [0, 3, 6], [4, 1, 3]], dtype=float)
    column = 6 - row.T
    roles = np.stack([row, 6 - row], axis=-1), np.stack([column, 6 - column], axis=-1)
    return Panel.of(
        Row(Decider(0, i, "x"), t, 0.0, {PAYOFFS: roles[i % 2], LAST: [np.nan]})
        for i in range(players)
        for t in range(games)
    )


def public_goods(players: int, games: int) -> Panel:
    """Contributions; before the first game a belief of 10 of 20 units."""
    facts = {"others": 0.5, "steps": float(UNITS)}
    return Panel.of(
        Row(Decider(0, i, "x"), t, 0.0, facts) for i in range(players) for t in range(games)
    )


def given_by_others(panel: Panel, time: int, rng: np.random.Generator) -> Mapping[str, Floats]:
    """The mean gift of the three others in a group; groups of four are drawn each time."""
    given = panel.decisions.reshape(len(panel.players), -1)
    others = panel.known["others"].reshape(given.shape).copy()
    if time + 1 < given.shape[1]:
        groups = rng.permutation(len(given)).reshape(-1, 4)
        own = given[groups, time] / UNITS
        others[groups, time + 1] = (own.sum(axis=1, keepdims=True) - own) / 3
    return {"others": others.reshape(-1)}


Q_DECAY = 0.02
MARKET = LinearMarket(2, cost=2.0, a=14.0, beta=0.00333333333333, d=0.00166666666666)


def duopolies(markets: int, rounds: int) -> Panel:
    """Two firms in each market; first prices at random, from the Bertrand to the cartel price."""
    rng = np.random.default_rng(2020)
    rows = []
    for market in range(markets):
        first = rng.random(2)
        for i in range(2):
            other = prices.money(MARKET, first[1 - i])
            facts = prices.facts(MARKET, prices.money(MARKET, first[i])[0], other)
            rows += [Row(Decider(market, i, "x"), t, 0.0, facts) for t in range(rounds)]
    return Panel.of(rows)


def price_of_rival(panel: Panel, time: int, rng: np.random.Generator) -> Mapping[str, Floats]:
    """The last price of the other firm, and the best reply to it (a line in this market)."""
    del rng
    chosen = panel.decisions.reshape(len(panel.players), -1)
    rivals = panel.known["rivals"].reshape(chosen.shape).copy()
    if time + 1 < chosen.shape[1]:
        rivals[:, time + 1] = chosen[np.arange(len(chosen)) ^ 1, time]
    slope = MARKET.d / (2 * MARKET.beta)
    return {"rivals": rivals.reshape(-1, 1), "reply": slope * rivals.reshape(-1)}


def learnt_prices(panel: Panel, rng: np.random.Generator) -> Panel:
    """Prices of the mind `classical:q_learning`, with a decay that suits few rounds."""
    chosen = panel.decisions.reshape(len(panel.players), -1).copy()
    rivals = panel.known["rivals"].reshape(chosen.shape).copy()
    first = panel.known["first"].reshape(chosen.shape)[:, 0]
    for one in range(0, len(chosen), 2):
        pair = [QLearner(MARKET, Q_DECAY) for _ in range(2)]
        paid = prices.money(MARKET, *first[one : one + 2].tolist())
        before = [each.place(price) for each, price in zip(pair, paid, strict=True)]
        for time in range(chosen.shape[1]):
            states = [(before[0], before[1]), (before[1], before[0])]
            picked = [each.choose(state, rng) for each, state in zip(pair, states, strict=True)]
            profits = MARKET.profits([pair[0].grid[k] for k in picked])
            after = [(picked[0], picked[1]), (picked[1], picked[0])]
            for i, each in enumerate(pair):
                each.learn(states[i], picked[i], profits[i], after[i])
                chosen[one + i, time] = prices.units(MARKET, each.grid[picked[i]])
            before = picked
        rivals[one : one + 2, 1:] = chosen[[one + 1, one], :-1]
    found = replace(panel, decisions=chosen.reshape(-1))
    return replace(found, known={**panel.known, "rivals": rivals.reshape(-1, 1)})


SHARES = {"share_level_0": 0.2, "share_level_1": 0.35, "share_level_2": 0.3, "share_level_3": 0.15}
NO_STRATEGIES = {f"share_{name}": 0.0 for name in ("AD", "AC", "Grim", "TFT", "WSLS", "T2")}
OF_NAGEL = "67 players, one pick each (Nagel 1995, p = 2/3)"
OF_LEARNING = "24 players, 40 games of 3 × 3"
OF_SHARING = "24 players, five replies to ultimatums and five gifts each"
OF_STAHL = "48 players, 12 games of 3 × 3 (as in Stahl and Wilson 1995)"
OF_DILEMMAS = "44 players in pairs, 20 dilemmas (a treatment of Dal Bó and Fréchette 2011)"
OF_GOODS = "24 players in random groups of 4, 10 games (Fischbacher and Gächter 2010)"
OF_PRICES = "two firms, 60 rounds"
OF_LEARNED_PRICES = "four markets of two firms, 300 rounds"


@cache
def cases() -> Mapping[str, Case]:
    """Return name → case."""
    picks, games, again = guesses(67), choices(48, 12), repeated(24, 40)
    together, pairs = in_two_roles(24, 40), dilemmas(44, 20)
    goods, duopoly = public_goods(24, 10), duopolies(1, 60)
    ewa = {"phi": 0.9, "delta": 0.5, "kappa": 0.3, "lambda": 5.0, "n0": 1.0}
    beliefs, reinforced = {"phi": 0.7, "lambda": 6.0}, {"phi": 0.9, "lambda": 1.5}
    fair = {"lambda": 8.0, "alpha": 0.8, "beta": 0.7}
    played = {"AD": 0.5, "AC": 0.1, "TFT": 0.3, "T2": 0.1}
    strategies = NO_STRATEGIES | {f"share_{name}": each for name, each in played.items()}
    line = {"intercept": 0.05, "slope": 0.75, "sigma": 0.15}
    types = {
        "share_conditional": 0.55, "share_free_rider": 0.25, "share_unconditional": 0.2,
        **line, "slip": 0.1, "level": 0.5,
    }  # fmt: skip
    reaction = {"intercept": 0.1, "slope": 0.5, "sigma": 0.15}
    return {
        "guess-level-k": Case(level_k(), {**SHARES, "sigma": 2.0}, picks, OF_NAGEL),
        "guess-level-k-ratio": Case(
            level_k("ratio"), {**SHARES, "sigma_log": 0.1}, picks, OF_NAGEL
        ),
        "guess-hierarchy": Case(HierarchySteps(), {"tau": 1.5, "sigma": 2.0}, picks, OF_NAGEL),
        "guess-noisy-reply": Case(NoisyBestReply(), {"sigma": 10.0}, picks, OF_NAGEL),
        "guess-quantal": Case(QuantalPicks(), {"lambda": 20.0}, picks, OF_NAGEL),
        "game-quantal": Case(QuantalResponse(), {"lambda": 5.0}, games, OF_STAHL),
        "game-level-k": Case(level_k_of_play(), {**SHARES, "epsilon": 0.2}, games, OF_STAHL),
        "game-hierarchy": Case(HierarchyOfPlay(), {"tau": 1.5, "epsilon": 0.2}, games, OF_STAHL),
        "game-noisy-reply": Case(NoisyReply(), {"epsilon": 0.3}, games, OF_STAHL),
        "learn-ewa": Case(EWA, ewa, again, OF_LEARNING),
        "learn-beliefs": Case(WEIGHTED_FICTITIOUS_PLAY, beliefs, again, OF_LEARNING),
        "learn-reinforcement": Case(REINFORCEMENT, reinforced, again, OF_LEARNING),
        "learn-fictitious": Case(FICTITIOUS_PLAY, {"lambda": 6.0}, again, OF_LEARNING),
        "together-ewa": Case(EWA, ewa, together, OF_LEARNING, last_of_stranger),
        "together-beliefs": Case(
            WEIGHTED_FICTITIOUS_PLAY, beliefs, together, OF_LEARNING, last_of_stranger
        ),
        "together-reinforcement": Case(
            REINFORCEMENT, reinforced, together, OF_LEARNING, last_of_stranger
        ),
        "dilemma-strategies": Case(
            strategy_mixture(), {**strategies, "error": 0.08}, pairs, OF_DILEMMAS, last_of_pair
        ),
        "dilemma-reinforcement": Case(
            REINFORCEMENT, reinforced, pairs, OF_DILEMMAS, last_of_pair
        ),
        "dilemma-noisy-reply": Case(
            NoisyReply(), {"epsilon": 0.3}, pairs, OF_DILEMMAS, last_of_pair
        ),
        "goods-types": Case(cooperation_mixture(), types, goods, OF_GOODS, given_by_others),
        "goods-conditional": Case(ConditionalCooperator(), line, goods, OF_GOODS, given_by_others),
        "goods-free-riders": Case(FreeRider(), {"slip": 0.1}, goods, OF_GOODS, given_by_others),
        "goods-unconditional": Case(
            UnconditionalCooperator(), {"level": 0.5, "sigma": 0.15}, goods, OF_GOODS,
            given_by_others,
        ),
        "fairness": Case(InequityAversion(), fair, sharing(24), OF_SHARING),
        "prices-reaction": Case(prices.Reaction(), reaction, duopoly, OF_PRICES, price_of_rival),
        "prices-best-reply": Case(
            prices.StaticBestReply(), {"sigma": 0.15}, duopoly, OF_PRICES, price_of_rival
        ),
        "prices-matching": Case(
            prices.Matching(), {"sigma": 0.15}, duopoly, OF_PRICES, price_of_rival
        ),
        "prices-q-learning": Case(
            prices.LearnsPrices(),
            {"alpha": 0.15, "epsilon": 1.0, "decay": Q_DECAY, "start": 1.0, "ties": 1.0},
            duopolies(4, 300), OF_LEARNED_PRICES, play=learnt_prices,
        ),
    }  # fmt: skip


class Selection(NamedTuple):
    """Models to select from, and the cases in which one of them is true.

    Attributes:
        cases: the names of the cases.
        models: all compared models, in the order of their declaration in the scenario.
    """

    cases: Sequence[str]
    models: Sequence[BehaviouralModel]


LEARNING = (*matrix_models(), *learning_models())
SELECTIONS = {
    "guess": Selection(
        (
            "guess-level-k",
            "guess-level-k-ratio",
            "guess-hierarchy",
            "guess-noisy-reply",
            "guess-quantal",
        ),
        guessing_models(),
    ),
    "game": Selection(
        ("game-quantal", "game-level-k", "game-hierarchy", "game-noisy-reply"), matrix_models()
    ),
    "learn": Selection(
        ("learn-ewa", "learn-beliefs", "learn-reinforcement", "learn-fictitious"), LEARNING
    ),
    "together": Selection(("together-ewa", "together-beliefs", "together-reinforcement"), LEARNING),
    "dilemma": Selection(
        ("dilemma-strategies", "dilemma-reinforcement"),
        (*LEARNING, strategy_mixture()),
    ),
    "goods": Selection(
        ("goods-types", "goods-conditional", "goods-free-riders", "goods-unconditional"),
        cooperation_models(),
    ),
    "prices": Selection(
        ("prices-reaction", "prices-best-reply", "prices-matching"),
        [each for each in prices.BEHAVIOUR.models if each.name != "q_learning"],  # which is slow
    ),
}


def generator(name: str, number: int) -> np.random.Generator:
    """Return the generator of one replication.

    Args:
        name: the case.
        number: the number of the replication.
    """
    return np.random.default_rng([zlib.crc32(name.encode()), number])


def recover(name: str, number: int) -> Mapping[str, Any]:
    """Return one replication of a case: its estimates, and the likelihood of the truth.

    Args:
        name: the case.
        number: the number of the replication.

    Returns:
        ``estimates``; ``below``: twice the loss of log-likelihood with each parameter at its true
        value; and ``true``: the same with all parameters at once. A negative number means that the
        fit missed the maximum.
    """
    case = cases()[name]
    truth, data = case.vector, case.draw(generator(name, number))
    found = fit(case.model, data)
    names = [each.name for each in case.model.parameters]
    below = []
    for each, value in zip(names, truth, strict=True):
        other = fit(case.model, data, fixed={each: value}, start=found.parameters)
        below.append(2 * (found.log_likelihood - other.log_likelihood))
    true = 2 * (found.log_likelihood - float(case.model.log_likelihood(truth, data).sum()))
    return {"estimates": found.parameters.tolist(), "below": below, "true": true}


def noisier(case: Case, noise: float) -> Case:
    """Return the same players with other noise.

    Args:
        case: the players.
        noise: the factor of standard deviations and of shares of errors; ``lambda`` is divided by
            it.
    """
    truth = {
        name: value * noise if name in ERRORS else value / noise if name == "lambda" else value
        for name, value in case.truth.items()
    }
    return replace(case, truth=truth)


def select(selection: str, name: str, number: int, noise: float = 1.0) -> Mapping[str, Any]:
    """Return the selected model when that of a case is true.

    Args:
        selection: a key of `SELECTIONS`.
        name: the case.
        number: the number of the replication.
        noise: see `noisier`.
    """
    data = noisier(cases()[name], noise).draw(generator(name, number))
    ranked = by_rank([fit(model, data) for model in SELECTIONS[selection].models])
    return {"selected": ranked[0].model.name, "bic": {one.model.name: one.bic for one in ranked}}


def table(name: str, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line per parameter.

    Args:
        name: the case.
        found: its replications.
    """
    case = cases()[name]
    estimates = np.array([each["estimates"] for each in found])
    below = np.array([each["below"] for each in found])
    for j, (each, true) in enumerate(zip(case.model.parameters, case.vector, strict=True)):
        mean, held = estimates[:, j].mean(), (below[:, j] <= CHI_SQUARE).mean()
        bias = f"{mean / true - 1:+.1%}" if true else f"{mean:+.3f}"
        yield (
            f"| {case.model.name} | {each.name} | {true:g} | {mean:.3f} | {bias} | {held:.1%} | "
            f"{len(found)} |"
        )
    missed = sum(min(*each["below"], each["true"]) < -1e-3 for each in found)
    if missed:
        yield f"The fit missed the maximum in {missed} of {len(found)} data sets."


def table_of_selection(name: str, found: Sequence[Mapping[str, Any]]) -> str:
    """Return how often each model was selected, the true one first.

    Args:
        name: the true case.
        found: the replications.
    """
    true = cases()[name].model.name
    counts = Counter(each["selected"] for each in found)
    wrong = [f"{other} {n / len(found):.0%}" for other, n in counts.most_common() if other != true]
    said = ", ".join(wrong) or "–"
    return f"| {name} | {true} | {counts[true] / len(found):.0%} | {said} | {len(found)} |"


def nagel() -> list[str]:
    """Return the mixture of levels in the published histogram of Nagel's first period, p = 2/3.

    Only the interval of each pick is known, so its likelihood is that of the interval.
    """
    from sabm_mesa.analysis.estimation import shares_of_types
    from sabm_mesa.models.beauty_contest.theory import first_period_shares

    intervals, shares = first_period_shares()
    counts = np.round(np.array(shares) * 67)
    every = guesses(101).with_decisions(np.arange(101.0))
    lines = []
    for model in (level_k(), level_k("ratio")):
        scale = model.parameters[-1]
        best = (-np.inf, 0.0, np.zeros(4))
        for sigma in np.geomspace(scale.low, scale.high, 400):
            each = np.exp(model.by_type(np.array([0, 0, 0, 0, sigma]), every))
            inside = np.array([each[:, int(np.ceil(a)) : int(b) + 1].sum(1) for a, b in intervals])
            mixed, value = shares_of_types(np.log(np.maximum(inside, 1e-300)), counts)
            best = max(best, (value, float(sigma), mixed), key=lambda one: one[0])
        told = ", ".join(f"level {k} {share:.2f}" for k, share in enumerate(best[2]))
        lines.append(f"{model.name}: {told}; {scale.name} {best[1]:.3g}; {best[0]:.1f}")
    return lines


def replicate(
    path: Path, name: str, replications: int, one: Callable[[int], Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return all replications of one kind; compute those that the file lacks, and add them.

    Args:
        path: the file, one replication a line.
        name: the name of the kind.
        replications: the number of them.
        one: makes a replication from its number.
    """
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    known = {each["number"]: each for each in map(json.loads, lines) if each["name"] == name}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for number in range(replications):
            if number not in known:
                known[number] = {"name": name, "number": number, **one(number)}
                file.write(json.dumps(known[number]) + "\n")
                file.flush()
    return [known[number] for number in range(replications)]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="cases, selections (guess, game, …), or nagel")
    parser.add_argument("--replications", type=int, default=REPLICATIONS)
    parser.add_argument("--out", type=Path, default=OUT, help="file of all replications")
    parser.add_argument(
        "--noise", type=float, nargs="+", default=NOISES, help="factors of the noise in selections"
    )
    given = parser.parse_args()
    for name in given.names or [*cases(), *SELECTIONS, "nagel"]:
        lines: Iterable[str]
        if name == "nagel":
            lines = nagel()
        elif name in SELECTIONS:
            models = ", ".join(model.name for model in SELECTIONS[name].models)
            print(f"Selected by BIC among {models}:", flush=True)
            lines = selected(name, given.out, given.replications, given.noise)
        else:
            print(f"{name}: {cases()[name].size}", flush=True)
            one = partial(recover, name)
            lines = table(name, replicate(given.out, name, given.replications, one))
        for line in lines:
            print(line, flush=True)


def selected(
    selection: str, path: Path, replications: int, noises: Sequence[float] = NOISES
) -> Iterator[str]:
    """Yield the tables of a selection, one for each noise.

    Args:
        selection: a key of `SELECTIONS`.
        path: the file of replications.
        replications: the number of them for each true model.
        noises: see `noisier`.
    """
    for noise in noises:
        yield f"Noise × {noise:g}:"
        key = selection if noise == 1 else f"{selection} × {noise:g}"
        for name in SELECTIONS[selection].cases:
            one = partial(select, selection, name, noise=noise)
            yield table_of_selection(name, replicate(path, f"{key}: {name}", replications, one))


if __name__ == "__main__":
    main()
