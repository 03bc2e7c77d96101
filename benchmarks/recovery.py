"""Are known parameters recovered? ``python -m benchmarks.recovery [NAME …] [--replications N]``.

Data of known parameters are drawn, as many as in the publication that a case names; the model is
fitted to them again and again. For each parameter: the mean estimate and its bias, and how often
the 95 % interval (profile likelihood) holds the true value. Then: how often each model is selected
by BIC among those that differ. It measures no speed; docs/how-to/fit.md has the results.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sabm_mesa.analysis.behaviour import BehaviouralModel, Decider, Mixture, Panel, Row
from sabm_mesa.analysis.estimation import fit, profile_interval
from sabm_mesa.analysis.guessing_behaviour import HierarchySteps, NoisyBestReply, level_k
from sabm_mesa.analysis.matrix_behaviour import (
    LAST,
    PAYOFFS,
    HierarchyOfPlay,
    NoisyReply,
    QuantalResponse,
    level_k_of_play,
)
from sabm_mesa.analysis.repeated_behaviour import EWA, REINFORCEMENT, WEIGHTED_FICTITIOUS_PLAY
from sabm_mesa.analysis.social_behaviour import InequityAversion
from sabm_mesa.models.games.behaviour import fairness, in_order
from sabm_mesa.models.games.rules import load_game

REPLICATIONS = 500


@dataclass(frozen=True)
class Case:
    """A model with known parameters, and the players that it draws.

    Attributes:
        model: the model.
        truth: parameter → its value.
        panel: the players, and what they know.
        size: where the size is from.
    """

    model: BehaviouralModel
    truth: Mapping[str, float]
    panel: Panel
    size: str


def guesses(players: int, whole: bool = True) -> Panel:
    """One pick of each player, in the game of two thirds of the mean."""
    facts = {"reference": 50.0, "p": 2 / 3, "low": 0.0, "high": 100.0, "whole": float(whole)}
    return Panel.of(Row(Decider(0, i, "x"), 0, 0.0, facts) for i in range(players))


def choices(players: int, games: int, options: int = 3) -> Panel:
    """One choice of each player in each of several games of two, with payoffs drawn from 0 to 100.

    Half of the players have the other role. Each has seen a random choice of another one before.
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
    """Choices in one game, again and again, against others whose habits change three times."""
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


SHARES = {"share_level_0": 0.2, "share_level_1": 0.35, "share_level_2": 0.3, "share_level_3": 0.15}
OF_NAGEL = "67 players, one pick each (Nagel 1995, p = 2/3)"
OF_LEARNING = "24 players, 40 games of 3 × 3"
OF_SHARING = "24 players, five replies to ultimatums and five gifts each"
OF_STAHL = "48 players, 12 games of 3 × 3 (as in Stahl and Wilson 1995)"


def cases() -> dict[str, Case]:
    """Name → case."""
    picks, games, again = guesses(67), choices(48, 12), repeated(24, 40)
    ewa = {"phi": 0.9, "delta": 0.5, "kappa": 0.3, "lambda": 5.0, "n0": 1.0}
    fair = {"lambda": 8.0, "alpha": 0.8, "beta": 0.7}
    return {
        "guess-level-k": Case(level_k(), {**SHARES, "sigma": 2.0}, picks, OF_NAGEL),
        "guess-level-k-ratio": Case(
            level_k("ratio"), {**SHARES, "sigma_log": 0.1}, picks, OF_NAGEL
        ),
        "guess-hierarchy": Case(HierarchySteps(), {"tau": 1.5, "sigma": 2.0}, picks, OF_NAGEL),
        "guess-noisy-reply": Case(NoisyBestReply(), {"sigma": 10.0}, picks, OF_NAGEL),
        "game-quantal": Case(QuantalResponse(), {"lambda": 5.0}, games, OF_STAHL),
        "game-level-k": Case(level_k_of_play(), {**SHARES, "epsilon": 0.2}, games, OF_STAHL),
        "game-hierarchy": Case(HierarchyOfPlay(), {"tau": 1.5, "epsilon": 0.2}, games, OF_STAHL),
        "game-noisy-reply": Case(NoisyReply(), {"epsilon": 0.3}, games, OF_STAHL),
        "learn-ewa": Case(EWA, ewa, again, OF_LEARNING),
        "learn-beliefs": Case(
            WEIGHTED_FICTITIOUS_PLAY, {"phi": 0.7, "lambda": 6.0}, again, OF_LEARNING
        ),
        "learn-reinforcement": Case(REINFORCEMENT, {"phi": 0.9, "lambda": 1.5}, again, OF_LEARNING),
        "fairness": Case(InequityAversion(), fair, sharing(24), OF_SHARING),
    }


SELECTIONS: Mapping[str, Sequence[str]] = {
    "guess": ("guess-level-k", "guess-hierarchy", "guess-noisy-reply"),
    "game": ("game-quantal", "game-level-k", "game-hierarchy", "game-noisy-reply"),
    "learn": ("learn-ewa", "learn-beliefs", "learn-reinforcement"),
}
"""The cases between which a model is selected."""


def recover(case: Case, replications: int, seed: int = 0) -> list[str]:
    """One line of a table a parameter."""
    rng = np.random.default_rng(seed)
    truth = case.model.check(dict(case.truth))
    names = [each.name for each in case.model.parameters]
    found = np.empty((replications, len(names)))
    held = np.zeros((replications, len(names)))
    for i in range(replications):
        data = case.model.simulate(truth, case.panel, rng)
        fitted = fit(case.model, data)
        found[i] = fitted.parameters
        for j, name in enumerate(names):
            low, high = profile_interval(fitted, data, name)
            held[i, j] = low <= truth[j] <= high
    return [
        f"| {case.model.name} | {name} | {truth[j]:g} | {found[:, j].mean():.3f} | "
        f"{found[:, j].mean() / truth[j] - 1:+.1%} | {held[:, j].mean():.1%} |"
        for j, name in enumerate(names)
    ]


def select(names: Sequence[str], replications: int, seed: int = 0) -> list[str]:
    """How often each model is selected when each is true, as lines of a table."""
    known = cases()
    rng = np.random.default_rng(seed)
    lines = []
    for name in names:
        case = known[name]
        truth = case.model.check(dict(case.truth))
        hits = dict.fromkeys(names, 0)
        for _ in range(replications):
            data = case.model.simulate(truth, case.panel, rng)
            scores = {other: fit(known[other].model, data).bic for other in names}
            hits[min(scores, key=scores.__getitem__)] += 1
        shares = " | ".join(f"{n / replications:.0%}" for n in hits.values())
        lines.append(f"| {case.model.name} | {shares} |")
    return lines


def nagel() -> list[str]:
    """The mixture of levels in the published histogram of Nagel's first period, p = 2/3.

    Of a pick only its interval is known, so that its likelihood is that of the interval.
    """
    from sabm_mesa.analysis.estimation import shares_of_types
    from sabm_mesa.models.beauty_contest.theory import first_period_shares

    intervals, shares = first_period_shares()
    counts = np.round(np.array(shares) * 67)
    every = guesses(101).with_decisions(np.arange(101.0))
    lines = []
    for error in ("normal", "ratio"):
        model: Mixture = level_k(error)  # type: ignore[arg-type]  # a tuple of literals is one of texts
        scale = model.parameters[-1]
        best = (-np.inf, 0.0, np.zeros(4))
        for sigma in np.geomspace(scale.low, scale.high, 400):
            each = np.exp(model.by_type(np.array([0, 0, 0, 0, sigma]), every))
            inside = np.array([each[:, int(np.ceil(a)) : int(b) + 1].sum(1) for a, b in intervals])
            mixed, value = shares_of_types(np.log(np.maximum(inside, 1e-300)), counts)
            best = max(best, (value, float(sigma), mixed), key=lambda one: one[0])
        mixed = ", ".join(f"level {k} {share:.2f}" for k, share in enumerate(best[2]))
        lines.append(f"{model.name}: {mixed}; {scale.name} {best[1]:.3g}; {best[0]:.1f}")
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="cases, selections (guess, game), or nagel")
    parser.add_argument("--replications", type=int, default=REPLICATIONS)
    given = parser.parse_args()
    known = cases()
    for name in given.names or [*known, *SELECTIONS, "nagel"]:
        if name in known:
            print(f"{name}: {known[name].size}", flush=True)
            lines = recover(known[name], given.replications)
        elif name in SELECTIONS:
            print(f"Selected by BIC among {', '.join(SELECTIONS[name])}:", flush=True)
            lines = select(SELECTIONS[name], max(given.replications // 5, 1))
        else:
            lines = nagel()
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
