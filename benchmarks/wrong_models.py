"""Are players detected that no model describes? ``python -m benchmarks.wrong_models [NAME …]``.

Players of a known kind decide: by chance, by a model of the scenario, or by a rule that is in none
of its models (undercutting with resets, favourite numbers). All models of the scenario are fitted,
BIC selects one, and it is tested absolutely. The table shows the frequency of each verdict. A true
model must be refused in at most `sabm_mesa.analysis.estimation.LEVEL` of the data sets; a rule in
no model should be refused as often as possible. For known parameters, the table has the mean
estimate and the share of 95 % intervals (profile likelihood) that contain them.

Each replication has its own seed, and is written to a file at once (``--out``), so that a stopped
run continues from there.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.recovery import (
    MARKET,
    Q_DECAY,
    cases,
    dilemmas,
    duopolies,
    generator,
    given_by_others,
    guesses,
    last_of_pair,
    public_goods,
    replicate,
)
from sabm_mesa.analysis.behaviour import BehaviouralModel, Decider, Panel, Row
from sabm_mesa.analysis.estimation import (
    CHI_SQUARE,
    DATA_SETS,
    absolute_test,
    by_rank,
    fit,
)
from sabm_mesa.analysis.guessing_behaviour import guessing_models
from sabm_mesa.analysis.matrix_behaviour import matrix_models
from sabm_mesa.analysis.repeated_behaviour import pattern_mixture, strategy_mixture
from sabm_mesa.analysis.social_behaviour import UNITS, cooperation_models
from sabm_mesa.models.bertrand import behaviour as prices
from sabm_mesa.models.bertrand.minds import QLearner
from sabm_mesa.models.games.behaviour import BEHAVIOUR as GAMES

REPLICATIONS = 100
OUT = Path("out/wrong_models.jsonl")
NONE = "none of these"
FAVOURITES = np.array([7, 13, 23, 33, 42, 50, 66, 69, 77, 99], dtype=np.float64)
AMOUNTS = np.array([0, 5, 10, 15, 20], dtype=np.float64)
SLOPE, UPDATE = 0.9, 0.4
RATE = 0.15


@dataclass(frozen=True)
class Players:
    """Players of a known kind.

    Attributes:
        what: their kind and number, in a few words.
        models: returns the models to fit.
        draw: draws their decisions.
        expected: the right verdicts.
        known: a model, and the known values of its parameters.
    """

    what: str
    models: Callable[[], Sequence[BehaviouralModel]]
    draw: Callable[[np.random.Generator], Panel]
    expected: frozenset[str]
    known: tuple[str, Mapping[str, float]] = field(default=("", {}))


def by_chance(models: Callable[[], Sequence[BehaviouralModel]], panel: Panel) -> Any:
    """Players who decide by chance, in the situations of a panel."""
    uniform = next(each for each in models() if each.name == "uniform")
    return partial(uniform.simulate, np.zeros(0), panel)


def of_case(name: str) -> Any:
    """Players who follow a model of the scenario."""
    return cases()[name].draw


def several_picks(players: int, rounds: int) -> Panel:
    """Picks in several rounds, in which the reference falls as in the laboratory."""
    return Panel.of(
        Row(
            Decider(0, i, "x"), t, 0.0,
            {"reference": 50 * 0.85**t, "p": 2 / 3, "low": 0.0, "high": 100.0, "whole": 1.0},
        )
        for i in range(players) for t in range(rounds)
    )  # fmt: skip


def favourites(panel: Panel, numbers: np.ndarray, rng: np.random.Generator) -> Panel:
    """Each player has two favourite numbers, and picks one in three quarters of the rounds."""
    own = rng.choice(numbers, size=(len(panel.players), 2))
    drawn = own[panel.player, rng.integers(2, size=len(panel))]
    high = panel.known["high"] if "high" in panel.known else panel.known["steps"]
    other = np.floor(rng.random(len(panel)) * (high + 1))
    return panel.with_decisions(np.where(rng.random(len(panel)) < 0.75, drawn, other))


def undercutting(panel: Panel, rng: np.random.Generator) -> Panel:
    """Two firms undercut the rival's last price by a tenth, and reset near the cartel price.

    They reset when the price is below a tenth, which leads to cycles (Edgeworth 1925; Maskin and
    Tirole 1988, Econometrica 56(3), 571-599).
    """
    chosen = panel.decisions.reshape(len(panel.players), -1).copy()
    rivals = panel.known["rivals"].reshape(chosen.shape).copy()
    for time in range(chosen.shape[1]):
        cut = rivals[:, time] - 0.1 + rng.normal(0, 0.02, len(chosen))
        reset = cut < 0.1
        chosen[:, time] = np.where(reset, 0.9 + rng.normal(0, 0.05, len(chosen)), cut)
        if time + 1 < chosen.shape[1]:
            rivals[:, time + 1] = chosen[np.arange(len(chosen)) ^ 1, time]
    found = replace(panel, decisions=chosen.reshape(-1))
    slope = MARKET.d / (2 * MARKET.beta)
    told = {"rivals": rivals.reshape(-1, 1), "reply": slope * rivals.reshape(-1)}
    return replace(found, known={**panel.known, **told})


def adaptive(panel: Panel, rng: np.random.Generator) -> Panel:
    """Conditional cooperators whose beliefs adapt, in groups of four that are drawn each time.

    First beliefs vary as much as those of people. Each player forms a belief about the mean gift of
    the others, and moves it by `UPDATE` of the distance to what it sees.
    """
    n = len(panel.players)
    belief = np.clip(rng.normal(0.5, 0.25, n), 0, 1)
    for time in range(int(panel.position.max()) + 1):
        gift = np.clip(SLOPE * belief + rng.normal(0, 0.1, n), 0, 1)
        decisions = panel.decisions.reshape(n, -1).copy()
        decisions[:, time] = np.rint(UNITS * gift)
        panel = panel.with_decisions(decisions.reshape(-1))
        told = given_by_others(panel, time, rng)
        panel = replace(panel, known={**panel.known, **told})
        if time + 1 < decisions.shape[1]:
            seen = told["others"].reshape(n, -1)[:, time + 1]
            belief = belief + UPDATE * (seen - belief)
    return panel


def q_learners(panel: Panel, rng: np.random.Generator) -> Panel:
    """Q-learners whose first values are 0, with the learning rate `RATE`."""
    chosen = panel.decisions.reshape(len(panel.players), -1).copy()
    rivals = panel.known["rivals"].reshape(chosen.shape).copy()
    first = panel.known["first"].reshape(chosen.shape)[:, 0]
    for one in range(0, len(chosen), 2):
        pair = [QLearner(MARKET, Q_DECAY, start=0.0) for _ in range(2)]
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


def by_pattern(name: str, panel: Panel, rng: np.random.Generator) -> Panel:
    """Pairs of players with one pattern or strategy, with 5 % errors."""
    found = next(
        mixture.types[name]
        for mixture in (pattern_mixture(), strategy_mixture())
        if name in mixture.types
    )
    for time in range(int(panel.position.max()) + 1):
        drawn = found.draw(np.array([0.05]), panel, rng)
        now = panel.position == time
        panel = panel.with_decisions(np.where(now, drawn, panel.decisions))
        panel = replace(panel, known={**panel.known, **last_of_pair(panel, time, rng)})
    return panel


def dilemma_models() -> list[BehaviouralModel]:
    """The models of a repeated dilemma, without the slow ones (fairness and EWA)."""
    known = dilemmas(2, 2).known.keys()
    usable = [each for each in GAMES.models if set(each.needs) <= {*known, "two_by_two", "own"}]
    return [each for each in usable if each.name not in {"ewa", "cognitive_hierarchy"}]


def repeated_dilemmas(players: int, games: int) -> Panel:
    """Repeated dilemmas, with the facts that the models of patterns and chance need."""
    panel = dilemmas(players, games)
    n = len(panel)
    told = {"two_by_two": np.ones(n), "own": np.zeros((n, 2))}
    return replace(panel, known={**panel.known, **told})


def goods_models() -> tuple[BehaviouralModel, ...]:
    """The models of public goods, without those of fairness."""
    return cooperation_models()


def price_models() -> list[BehaviouralModel]:
    """The models of prices, without Q-learning, which is slow."""
    return [each for each in prices.BEHAVIOUR.models if each.name != "q_learning"]


def all_price_models() -> Sequence[BehaviouralModel]:
    """The models of prices."""
    return prices.BEHAVIOUR.models


@cache
def kinds() -> Mapping[str, Players]:
    """Return name → players."""
    picks, goods = several_picks(24, 10), public_goods(24, 10)
    pairs, duopoly = repeated_dilemmas(20, 10), duopolies(2, 60)
    chance, none = frozenset({"uniform"}), frozenset({NONE})
    twelve = cases()["game-quantal"].panel
    levels = frozenset({"level_k", "level_k_ratio"})
    return {
        "guess-chance": Players(
            "67 random players, one choice", guessing_models,
            by_chance(guessing_models, guesses(67)), chance,
        ),
        "guess-favourites": Players(
            "24 players with favourite numbers, 10 rounds", guessing_models,
            partial(favourites, picks, FAVOURITES), none,
        ),
        "guess-levels": Players(
            "67 level-k players, one choice", guessing_models, of_case("guess-level-k"), levels
        ),
        "game-chance": Players(
            "48 random players, 12 games of 3 × 3", matrix_models_and_chance,
            by_chance(matrix_models_and_chance, with_options(twelve)), chance,
        ),
        "dilemma-chance": Players(
            "20 random players, 10 games of a dilemma", dilemma_models,
            by_chance(dilemma_models, pairs), chance,
        ),
        "dilemma-grim": Players(
            "20 grim players in pairs, 10 games, 5 % errors", dilemma_models,
            partial(by_pattern, "Grim", pairs), frozenset({"strategies"}),
        ),
        "dilemma-alternates": Players(
            "20 players that alternate, 10 games, 5 % errors", dilemma_models,
            partial(by_pattern, "alternates", pairs), frozenset({"patterns"}),
        ),
        "goods-chance": Players(
            "24 random players, 10 games", goods_models,
            by_chance(goods_models, goods), chance,
        ),
        "goods-favourites": Players(
            "24 players with favourite amounts, 10 games", goods_models,
            partial(favourites, goods, AMOUNTS), none,
        ),
        "goods-adaptive": Players(
            "24 conditional cooperators with adaptive beliefs, 10 games", goods_models,
            partial(adaptive, goods), frozenset({"adaptive", "cooperation_types_adaptive"}),
            ("adaptive", {"slope": SLOPE, "update": UPDATE}),
        ),
        "goods-conditional": Players(
            "24 conditional cooperators, 10 games", goods_models,
            of_case("goods-conditional"),
            frozenset({"conditional", "hump_shaped", "adaptive"}),
        ),
        "prices-chance": Players(
            "four random firms, 60 rounds", price_models,
            by_chance(price_models, duopoly), chance,
        ),
        "prices-undercutting": Players(
            "four firms that undercut and reset, 60 rounds", price_models,
            partial(undercutting, duopoly), none,
        ),
        "prices-reaction": Players(
            "two firms with a reaction function, 60 rounds", price_models,
            of_case("prices-reaction"), frozenset({"reaction"}),
        ),
        "prices-q-at-zero": Players(
            "eight Q-learners with first values of 0, 300 rounds", all_price_models,
            partial(q_learners, duopolies(4, 300)), frozenset({"q_learning"}),
            ("q_learning", {"alpha": RATE, "start": 0.0}),
        ),
    }  # fmt: skip


def matrix_models_and_chance() -> list[BehaviouralModel]:
    """The models of single games, and chance."""
    return [*matrix_models(), next(each for each in GAMES.models if each.name == "uniform")]


def with_options(panel: Panel) -> Panel:
    """Return the same panel with the fact that the model of chance needs."""
    own = np.zeros((len(panel), panel.known["payoffs"].shape[1]))
    return replace(panel, known={**panel.known, "own": own})


def judged(name: str, number: int) -> Mapping[str, Any]:
    """Return one replication: the verdict, and the estimates of known parameters.

    Args:
        name: the kind of players.
        number: the number of the replication.

    Returns:
        ``selected``; ``verdict``; ``gained`` over chance; ``p`` and ``misses`` of the absolute
        test; and for known parameters, ``estimates`` and ``below`` (twice the loss of
        log-likelihood at the true value).
    """
    kind, rng = kinds()[name], generator(name, number)
    panel, models = kind.draw(rng), kind.models()
    fits = by_rank([fit(model, panel) for model in models])
    test = absolute_test(fits[0], panel, rng, DATA_SETS)
    chance = next(each.model for each in fits if each.model.name == "uniform")
    found: dict[str, Any] = {
        "selected": fits[0].model.name,
        "verdict": NONE if test.refused else fits[0].model.name,
        "gained": fits[0].gained(chance, panel),  # type: ignore[arg-type]
        "p": test.p,
        "misses": list(test.misses),
    }
    model, truth = kind.known
    if truth:
        own = next(each for each in fits if each.model.name == model)
        below = {}
        for parameter, value in truth.items():
            fixed = fit(own.model, panel, fixed={parameter: value}, start=own.parameters)
            below[parameter] = 2 * (own.log_likelihood - fixed.log_likelihood)
        found["estimates"] = {parameter: own.by_name[parameter] for parameter in truth}
        found["below"] = below
    return found


def table(name: str, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line of verdicts, and one for each known parameter.

    Args:
        name: the kind of players.
        found: its replications.
    """
    kind, n = kinds()[name], len(found)
    counts = Counter(each["verdict"] for each in found)
    right = sum(counts[verdict] for verdict in kind.expected)
    others = [f"{v} {c / n:.0%}" for v, c in counts.most_common() if v not in kind.expected]
    gained = float(np.mean([each["gained"] for each in found]))
    yield (
        f"| {kind.what} | {' or '.join(sorted(kind.expected))} | {right / n:.0%} | "
        f"{', '.join(others) or '–'} | {abs(round(gained, 2)):.0%} | {n} |"
    )
    model, truth = kind.known
    for parameter, value in truth.items():
        values = [each["estimates"][parameter] for each in found]
        held = np.mean([each["below"][parameter] <= CHI_SQUARE for each in found])
        yield (
            f"| … {model}, {parameter} | {value:g} | mean estimate {np.mean(values):.2f} | "
            f"intervals contain it in {held:.0%} | | {n} |"
        )


HEAD = (
    (
        "| players | right verdict | how often it is right | otherwise | gained over chance "
        "| data sets |"
    ),
    "|---|---|---|---|---|---|",
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="kinds of players (default: all)")
    parser.add_argument("--replications", type=int, default=REPLICATIONS)
    parser.add_argument("--out", type=Path, default=OUT, help="file of all replications")
    given = parser.parse_args()
    print(*HEAD, sep="\n", flush=True)
    for name in given.names or kinds():
        one = partial(judged, name)
        for line in table(name, replicate(given.out, name, given.replications, one)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
