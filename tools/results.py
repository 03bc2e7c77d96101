"""Play the runs of `docs/results.md` with a language model on this machine: `make results`.

A run whose folder in `docs/data/results` holds a recording is not played again. Each folder keeps
the recording, `summary.json` and `model.csv`; the tables of the page are written from them.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.llm.prices import PriceTable

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "data" / "results"
PAGE = ROOT / "docs" / "results.md"
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
"""The marks around the tables in the page."""
MODEL = "local:qwen2.5-coder-1.5b-instruct-q4_k_m"
HOSTED = ("gpt-4o-mini", "gpt-4o", "claude-haiku-4-5", "gemini-2.5-flash-lite")
KEPT_FILES = ("summary.json", "model.csv")


@dataclass(frozen=True)
class Run:
    """One run of the page.

    Attributes:
        name: its folder.
        title: its scenario and condition in words.
        size: its size in words.
        command: the arguments of `sabm run`, without minds, seed and folder.
        published: what its source reports, with the place.
        columns: column of the model data → its heading in the table of rounds.
    """

    name: str
    title: str
    size: str
    command: str
    published: str
    columns: dict[str, str]


KBC = {"mean": "mean", "target": "target", "variance": "variance"}
PRICES = {"price_1": "price 1", "price_2": "price 2", "collusion_index": "collusion index"}
RUNS = [
    Run("kbc-baseline", "Beauty contest with talk", "12 players, 4 rounds",
        "kbc --set n_players=12",
        "with GPT-4, the variance falls with talk (Wu et al. 2024, section 4.2, figure 4)", KBC),
    Run("kbc-uncooperative", "Beauty contest, instructed not to cooperate", "12 players, 4 rounds",
        "kbc --condition uncooperative --set n_players=12",
        "with GPT-4, the picks differ more than without the instruction (figure 4a)", KBC),
    Run("kbc-cooperative", "Beauty contest, instructed to cooperate", "12 players, 4 rounds",
        "kbc --condition cooperative --set n_players=12",
        "with GPT-4, the variance is 0 from the first discussion on (figure 4a)", KBC),
    Run("bertrand-talk", "Bertrand competition with talk", "2 firms, 10 rounds",
        "bertrand --rounds 10 --set plan_every=5",
        "with GPT-4, the price ends near 8, the cartel's price, after hundreds of rounds (Wu et "
        "al. 2024, section 5.2, figure 6b)", PRICES),
    Run("bertrand-silent", "Bertrand competition without talk", "2 firms, 10 rounds",
        "bertrand --rounds 10 --set plan_every=5 --set communication=false",
        "with GPT-4, the price ends at about 7, after hundreds of rounds (figure 6a)", PRICES),
    Run("evacuation", "Evacuation", "8 people, room of 13 × 13 cells",
        "evacuation --set n_people=8 --set width=13 --set height=13",
        "with GPT-4, all 100 people escape within 50 rounds, on average 9.8 of them in the first 5 "
        "(Wu et al. 2024, table 2)",
        {"escaped": "escaped", "inside": "inside"}),
    Run("beauty-contest", "Repeated beauty contest", "10 players, 5 rounds", "beauty-contest",
        "the picks of Claude, GPT-3.5 and GPT-4 fall from period to period (Lu 2024, section 3)",
        {"mean": "mean", "target": "target"}),
    Run("fishery", "Fishery", "4 people, 3 months", "fishery --set n_agents=4 --rounds 3",
        "the lake survives 12 months in all runs with GPT-4o, and in none with GPT-3.5 (Piatti et "
        "al. 2024, tables 1 and 4)",
        {"stock": "stock", "harvest": "harvest"}),
    Run("public-goods", "Public goods", "2 players, 10 rounds", "public-goods",
        "with Claude 2.1, the mean contribution is 72.5 (Lai et al. 2024, section 4.1)",
        {"contribution": "mean contribution"}),
    Run("cocktail-party", "Cocktail party", "6 guests, 3 rounds",
        "cocktail-party --set n_agents=6 --rounds 3 --set max_turns=6",
        "with Claude 2.1, guests talk with fewer and fewer different partners (Lai et al. 2024, "
        "section 2)",
        {"distinct_conversation_ratio": "share of different partners"}),
    Run("sentence-making", "Joint sentences", "6 guests, 1 set of words",
        "sentence-making --set n_agents=6 --rounds 1",
        "with Claude 2.1, the share of valid sentences is 0.947 after talks, and 0.823 without "
        "(Lai et al. 2024, section 3)", {}),
    Run("games-pd", "Prisoner's dilemma", "2 players, 10 rounds",
        "games --set game=prisoners_dilemma", "in theory both defect",
        {"share_cooperate": "share that cooperates"}),
    Run("games-bos", "Battle of the sexes", "2 players, 10 rounds",
        "games --set game=battle_of_the_sexes", "in theory both choose the same place",
        {"equilibrium": "share in equilibrium"}),
    Run("games-stag-hunt", "Stag hunt", "2 players, 10 rounds",
        "games --set game=stag_hunt", "in theory both hunt the stag, or both the hare",
        {"share_stag": "share that hunts the stag"}),
]  # fmt: skip


def play(run: Run, minds: str) -> None:
    """Play a run, and keep its recording and its tables."""
    folder = ROOT / "out" / "results" / run.name
    command = ["run", *run.command.split(), "--minds", minds, "--seed", "1", "--out", str(folder)]
    print("sabm", *command, flush=True)
    subprocess.run([sys.executable, "-m", "sabm_mesa", *command], check=True)
    keep(folder, KEPT / run.name)


def keep(folder: Path, kept: Path) -> None:
    """Copy what the page needs of a folder of results, the recording as one small file."""
    kept.mkdir(parents=True, exist_ok=True)
    for name in KEPT_FILES:
        shutil.copy(folder / name, kept / name)
    (kept / "recording.sqlite").unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "recording.sqlite")) as recording:
        recording.execute("VACUUM INTO ?", (str(kept / "recording.sqlite"),))


def tables() -> Iterator[str]:
    """The tables of the page: all runs, then the rounds of each."""
    runs = [(run, json.loads((KEPT / run.name / "summary.json").read_text("utf-8")))
            for run in RUNS if (KEPT / run.name / "summary.json").exists()]  # fmt: skip
    yield f"| run | size | questions | unusable | seconds | tokens | {' | '.join(HOSTED)} |"
    yield "|---|---|--:|--:|--:|--:|" + "--:|" * len(HOSTED)
    for run, of in runs:
        tokens = of["prompt_tokens"] + of["completion_tokens"]
        dollars = " | ".join(f"{_dollars(of, model):.4f}" for model in HOSTED)
        yield (
            f"| {run.title} | {run.size} | {of['asks']} | {of['invalid']} | {of['wall_s']:.0f} | "
            f"{tokens:,} | {dollars} |"
        )
    for run, _ in runs:
        yield from ("", f"**{run.title}** (`sabm run {run.command}`). Compare: {run.published}.")
        if run.columns:
            yield ""
            yield from _rounds(KEPT / run.name / "model.csv", run.columns)


def _dollars(of: dict[str, Any], model: str) -> float:
    """The price of the same tokens with a hosted model, without a cache."""
    price = PriceTable().of(model)
    assert price is not None, model
    return price.cost(of["prompt_tokens"], 0, of["completion_tokens"])


def _rounds(path: Path, columns: dict[str, str]) -> Iterator[str]:
    """A line for each measure, and a column for each round, or for some of many and the last."""
    data = pd.read_csv(path)
    data = data.iloc[sorted({*range(0, len(data), -(-len(data) // 12)), len(data) - 1})]
    yield f"| round | {' | '.join(map(str, data['round']))} |"
    yield "|---|" + "--:|" * len(data)
    for column, heading in columns.items():
        numbers = (
            "" if pd.isna(value) else f"{round(float(value), 6):.4g}" for value in data[column]
        )
        yield f"| {heading} | {' | '.join(numbers)} |"


def publish() -> None:
    """Write the tables into the page."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    text = "\n".join(tables())
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", "utf-8")


def main(minds: str = MODEL) -> None:
    """Play what is missing, and write the page."""
    for run in RUNS:
        if not (KEPT / run.name / "recording.sqlite").exists():
            play(run, minds)
    publish()


if __name__ == "__main__":
    main(*sys.argv[1:])
