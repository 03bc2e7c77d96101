"""A new analysis of published decisions of real models: ``make real-data``.

The script reads ``docs/data/real``, imports each table as a recording, fits the behavioural models
to the decisions of each language model, and writes the figures and tables of ``docs/real-data.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.behaviour import Chance, Decider, Panel, load_behaviour
from sabm_mesa.analysis.estimation import absolute_test, by_rank, fit, profile_interval
from sabm_mesa.analysis.repeated_behaviour import PATTERNS, strategy_mixture
from sabm_mesa.models import registry
from sabm_mesa.recording.decisions import played_runs
from sabm_mesa.recording.importing import import_table, read_table

DATA, PAGE, IMAGES = Path("docs/data/real"), Path("docs/real-data.md"), Path("docs/images")
LEAST = 0.005
DATA_SETS = 39
"""The number of data sets of each absolute test."""
GUESSING = ("level_k", "level_k_ratio", "cognitive_hierarchy", "noisy_best_reply",
            "quantal_response", "uniform")  # fmt: skip
GOODS = ("cooperation_types", "conditional", "adaptive", "unconditional", "free_rider", "selfish",
         "uniform")  # fmt: skip
LEARNING = ("noisy_best_reply", "reinforcement", "weighted_fictitious_play", "level_k", "patterns",
            "uniform")  # fmt: skip
SCRIPTED = {"act_j", "act_f", "act_defect_once", "act_jf", "act_fj"}
PAIRS = {"run": "player1+player2", "decision": "answer1|answer2", "mind": "player1|player2"}
LETTERS = {"J": "first", "F": "second"}
BATTLE = {
    "title": "Battle of the sexes", "source": "Akata et al. 2025", "options": ["first", "second"],
    "payoffs": [[[10, 7], [0, 0]], [[0, 0], [7, 10]]],
}  # fmt: skip
DILEMMA = {
    "title": "Prisoner's dilemma", "source": "Akata et al. 2025", "options": ["first", "second"],
    "payoffs": [[[8, 8], [0, 10]], [[10, 0], [5, 5]]],
}  # fmt: skip


def decisions(file: str, scenario: str, **given: Any) -> tuple[Panel, Sequence[str]]:
    """Return the decisions of a table, with the known facts of each, and the import problems."""
    model = registry.scenario(scenario)
    behaviour = load_behaviour(model.behaviour)
    assert behaviour is not None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "recording.sqlite"
        found = import_table(read_table(DATA / file), model, path, **given)
        rows = [row for run in played_runs(path) for row in behaviour.rows(run)]
    return Panel.of(rows), found.problems


def minds_of(panel: Panel) -> list[str]:
    """Return the language models among the players."""
    return sorted({player.mind for player in panel.players} - SCRIPTED)


def fits_of(
    panel: Panel, scenario: str, names: Iterable[str], rng: np.random.Generator
) -> Mapping[str, Any]:
    """Return the selected model, its absolute test, and its gain over chance."""
    behaviour = load_behaviour(registry.scenario(scenario).behaviour)
    assert behaviour is not None
    models = [behaviour.model(name) for name in names]
    usable = [model for model in models if set(model.needs) <= set(panel.known)]
    ranked = by_rank([fit(model, panel) for model in usable])
    best = ranked[0]
    chance = next(each.model for each in ranked if isinstance(each.model, Chance))
    assert isinstance(chance, Chance)
    test = absolute_test(best, panel, rng, DATA_SETS)
    return {"fit": best, "test": test, "gained": best.gained(chance, panel)}


def short(mind: str) -> str:
    """Return the name of a model without its maker."""
    name = mind.rpartition("/")[2].removeprefix("act_").removeprefix("Meta-")
    return name.replace("-Instruct", "")


def estimates(found: Any, panel: Panel, wanted: Sequence[str]) -> str:
    """Return parameters with their intervals; empty types are left out."""
    parts = []
    for name in wanted:
        value = found.by_name.get(name)
        if value is not None and (value >= LEAST or not name.startswith("share_")):
            low, high = profile_interval(found, panel, name)
            label = name.removeprefix("share_").replace("_", " ")
            parts.append(f"{label} {found.by_name[name]:.2f} [{low:.2f}, {high:.2f}]")
    return "; ".join(parts) or "–"


def table_of(
    panel: Panel, scenario: str, names: Sequence[str], wanted: Sequence[str], minds: Sequence[str]
) -> list[str]:
    """Return one line per language model: the best model, its gain, and its verdict."""
    rng = np.random.default_rng(1)
    lines = [
        "| model | decisions | best model | gained over chance | verdict | estimates |",
        "|---|---|---|---|---|---|",
    ]
    for mind in minds:
        own = panel.of_players(partial(is_mind, mind=mind))
        found = fits_of(own, scenario, names, rng)
        best, test = found["fit"], found["test"]
        verdict = "none of these" if test.refused else "describes it"
        lines.append(
            f"| {short(mind)} | {len(own):,} | `{best.model.name}` | {found['gained']:.0%} | "
            f"{verdict} | {estimates(best, own, wanted)} |"
        )
        print(lines[-1], flush=True)
    return lines


def is_mind(player: Decider, mind: str) -> bool:
    """Return whether a player has a mind."""
    return player.mind == mind


def curves(name: str, title: str, ylabel: str, panel: Panel, high: float) -> None:
    """Draw the mean decision by round, in one small chart for each model."""
    minds = minds_of(panel)
    rows = -(-len(minds) // 4)
    figure = style.new_figure(
        title, "Thick: mean of 5 runs of 10 players; thin: each run", height=1.9 * rows + 0.9
    )
    axes = figure.subplots(rows, 4, sharex=True, sharey=True, squeeze=False).flat
    frame = pd.DataFrame(
        {
            "mind": [panel.players[i].mind for i in panel.player],
            "run": [panel.players[i].run for i in panel.player],
            "round": panel.time - panel.time.min() + 1,
            "value": panel.decisions,
        }
    )
    for ax, mind in zip(axes, minds, strict=False):
        own = frame[frame["mind"] == mind]
        for _, run in own.groupby("run"):
            means = run.groupby("round")["value"].mean()
            ax.plot(means.index, means, color=style.SKY_BLUE, linewidth=0.7)
        means = own.groupby("round")["value"].mean()
        ax.plot(means.index, means, color=style.BLUE, linewidth=2)
        style.plain_axes(ax)
        ax.set_title(short(mind), fontsize=style.NOTE, loc="left")
        ax.set_ylim(0, high)
        ax.set_xticks([1, 10, 20])
    figure.supxlabel("Round", fontsize=style.LABEL)
    figure.supylabel(ylabel, fontsize=style.LABEL)
    (IMAGES / name).write_bytes(style.to_png(figure))


def bars(name: str, title: str, subtitle: str, shares: Mapping[str, Mapping[str, float]]) -> None:
    """Draw the shares of types by model, as stacked bars."""
    kinds = list(next(iter(shares.values())))
    colours = [style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.VERMILLION, style.GREY]
    figure = style.new_figure(title, subtitle, height=1.7 + 0.36 * len(shares))
    ax = figure.subplots()
    left = np.zeros(len(shares))
    for kind, colour in zip(kinds, colours, strict=False):
        widths = np.array([own[kind] for own in shares.values()])
        ax.barh(range(len(shares)), widths, left=left, color=colour, label=kind, height=0.7)
        left += widths
    ax.set_yticks(range(len(shares)), list(shares))
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    style.plain_axes(ax, "share of players")
    figure.legend(
        *ax.get_legend_handles_labels(), loc="outside lower left", ncols=3, frameon=False,
        fontsize=style.NOTE,
    )  # fmt: skip
    (IMAGES / name).write_bytes(style.to_png(figure))


def shares_of(mixture: str, panel: Panel, minds: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the shares of types of a mixture, by language model."""
    behaviour = load_behaviour(registry.scenario("games").behaviour)
    assert behaviour is not None
    model = behaviour.model(mixture)
    found = {}
    for mind in minds:
        own = fit(model, panel.of_players(partial(is_mind, mind=mind))).by_name
        found[short(mind)] = {
            name.removeprefix("share_"): value
            for name, value in own.items() if name.startswith("share_")
        }  # fmt: skip
    return found


def forgiveness() -> list[str]:
    """Return how often each model cooperates after one defection of a cooperator."""
    table = read_table(DATA / "pd.csv.gz")
    table = table[table["player2"] == "act_defect_once"]
    lines = ["| model | cooperates before | after the single defection |", "|---|---|---|"]
    for mind, own in table.groupby("player1"):
        if mind in SCRIPTED:
            continue
        times, others = own["round"].astype(int), own["answer2"] == "F"
        first = times[others].min()
        does = own["answer1"] == "J"
        before, after = does[times <= first], does[times > first]
        lines.append(
            f"| {short(str(mind))} | {before.sum()} of {len(before)} | {after.sum()} of "
            f"{len(after)} |"
        )
    return lines


def gifts() -> list[str]:
    """Compare the gifts of models with the distribution of people's gifts."""
    people = pd.read_csv(DATA / "dictator.csv")
    models = pd.read_csv(DATA / "dictator_models.csv")
    everyone = np.repeat(people["move"].to_numpy(), people["people"])
    low, high = np.quantile(everyone, [0.025, 0.975])
    figure = style.new_figure(
        "Gifts of people and of models in the dictator game",
        "Share that gave at most this amount of 100; people: 10,380 first games (MobLab)",
        height=3.4,
    )  # fmt: skip
    ax = figure.subplots()
    at = np.sort(everyone)
    ax.step(*steps(at), where="post", color=style.BLACK, linewidth=2, label="people")
    lines = [
        ("| players | answers | mean gift | share giving 50 "
         "| percentile of the mean among people "
         "| distance of the distributions (Kolmogorov-Smirnov) |"),
        "|---|---|---|---|---|---|",
        (f"| people | {len(everyone):,} | {everyone.mean():.1f} | {(everyone == 50).mean():.0%} | "
         f"– (95 % give from {low:g} to {high:g}) | – |"),
    ]  # fmt: skip
    colours = iter([style.BLUE, style.ORANGE, style.GREEN])
    for model, own in models.groupby("model"):
        given = np.sort(np.repeat(own["move"].to_numpy(), own["answers"]))
        grid = np.union1d(given, at)
        gap = np.abs(
            np.searchsorted(given, grid, "right") / len(given)
            - np.searchsorted(at, grid, "right") / len(at)
        ).max()
        place = (everyone <= given.mean()).mean()
        lines.append(
            f"| {model} | {len(given):,} | {given.mean():.1f} | {(given == 50).mean():.0%} | "
            f"{100 * place:.0f} | {gap:.2f} |"
        )
        ax.step(*steps(given), where="post", color=next(colours), label=str(model))
    style.plain_axes(ax, "gift", "share of players")
    ax.set_xlim(0, 100)
    ax.set_ylim(0, 1.02)
    ax.legend(frameon=False, fontsize=style.NOTE, loc="lower right")
    (IMAGES / "real-dictator.png").write_bytes(style.to_png(figure))
    return lines


def steps(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the distribution of ordered gifts, from 0 to 100."""
    shares = np.arange(len(ordered) + 1) / len(ordered)
    return np.r_[0, ordered, 100], np.r_[shares, 1]


def first_round(panel: Panel) -> Panel:
    """Return the decisions of the first round."""
    return panel.of_rows(panel.time == panel.time.min())


def main() -> None:
    """Write the figures and tables of the page."""
    tables: dict[str, Sequence[str]] = {"gifts": gifts()}
    by_model = {"run": "model+run", "mind": "model"}
    picks, _ = decisions(
        "guessing_game.csv.gz", "beauty-contest", columns={**by_model, "decision": "choice"},
        parameters={"integer": False},
    )  # fmt: skip
    curves("real-guessing.png", "Repeated 2/3 contest of eight models", "Pick", picks, 100)
    shares = [f"share_level_{k}" for k in range(4)] + ["tau", "sigma"]
    tables["first-picks"] = table_of(
        first_round(picks), "beauty-contest", GUESSING, shares, minds_of(picks)
    )
    tables["picks"] = table_of(picks, "beauty-contest", GUESSING, shares, minds_of(picks))
    dilemma, _ = decisions(
        "pd.csv.gz", "games", columns=PAIRS, values=LETTERS, parameters={"game": DILEMMA}
    )
    minds = minds_of(dilemma)
    strategies = [f"share_{name}" for name in strategy_mixture().types] + ["error"]
    patterns = [f"share_{name}" for name in PATTERNS]
    wanted = ("strategies", *LEARNING)
    tables["dilemma"] = table_of(dilemma, "games", wanted, [*patterns, *strategies], minds)
    tables["forgiveness"] = forgiveness()
    bars("real-dilemma.png", "Strategies in the repeated prisoner's dilemma",
         "Shares of a mixture of strategies, 16 runs a model", shares_of("strategies", dilemma,
         minds))  # fmt: skip
    battle, _ = decisions(
        "bos.csv.gz", "games", columns=PAIRS, values=LETTERS, parameters={"game": BATTLE}
    )
    minds = minds_of(battle)
    tables["battle"] = table_of(battle, "games", LEARNING, [*patterns, "error"], minds)
    bars("real-battle.png", "Patterns in the battle of the sexes",
         "Shares of a mixture of patterns", shares_of("patterns", battle, minds))  # fmt: skip
    goods, problems = decisions(
        "public_goods.csv.gz", "public-goods", columns={**by_model, "decision": "contribution"},
        parameters={"endowment": 20, "multiplier": 2},
    )  # fmt: skip
    tables["problems"] = ["```", *problems, "```"]
    curves("real-goods.png", "Contributions of eight models to a public good",
           "Contribution (of 20)", goods, 20)  # fmt: skip
    names = [f"share_{kind}" for kind in ("conditional", "free_rider", "unconditional")]
    tables["goods"] = table_of(
        goods, "public-goods", GOODS, [*names, "slope", "update", "level"], minds_of(goods)
    )
    games, left_out = decisions(
        "games_2x2.csv.gz", "games",
        columns={**PAIRS, "run": "game_number+player1+player2", "payoff": "points1|points2",
                 "game": "game_number"},
        values={"@choice_option1": "first", "@choice_option2": "second"},
    )  # fmt: skip
    tables["games"] = [
        *table_of(
            games, "games", LEARNING, [*patterns, "phi", "lambda", "epsilon"], minds_of(games)
        ),
        "",
        *left_out,
    ]
    put(tables)


def put(tables: Mapping[str, Sequence[str]]) -> None:
    """Write the tables between their marks in the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in tables.items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        block = begin + "\n" + "\n".join(lines) + "\n\n" + end
        text = re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _, b=block: b, text,
                      count=1, flags=re.DOTALL)  # fmt: skip
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
