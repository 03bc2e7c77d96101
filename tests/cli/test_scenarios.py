"""Every scenario through the command line: its tables and plots."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from sabm_mesa.models.registry import SCENARIOS
from tests.llm_server import LLMServer
from tests.runs.reruns import process

from .support import Sabm

COMMONS = ("fishery", "pasture", "pollution")
PLOTS = {
    "beauty-contest": {
        "convergence.png", "depth.png", "first_picks.png", "payoffs.png", "picks.png",
    },
    "cocktail-party": {"distances.png", "meetings.png", "network.png", "ratios.png"},
    "kbc": {"depth.png", "first_picks.png", "picks.png", "variance.png"},
    "bertrand": {"collusion.png", "prices.png", "profits.png"},
    "evacuation": {"escapes.png", "exits.png", "inside.png", "snapshots.png"},
    "games": {"choices.png", "payoffs.png", "rounds.png", "table.png"},
    "public-goods": {"contributions.png", "efficiency.png", "shares.png"},
    "sentence-making": {"spread.png", "valid.png"},
    **{
        key: {"stock.png", "harvests.png", "over_usage.png", "gains.png", "survival.png"}
        for key in COMMONS
    },
}  # fmt: skip
FIRST_COLUMNS = {
    "beauty-contest": "mean,target,variance,n_winners",
    "cocktail-party": "conversations,distinct_conversation_ratio,distinct_invitation_ratio",
    "kbc": "mean,target,variance,n_winners",
    "bertrand": "price_1,price_2,demand_1,demand_2,profit_1,profit_2,collusion,spell",
    "evacuation": "escaped,escaped_left,escaped_bottom,escaped_right,inside",
    "games": "payoff,efficiency,equilibrium,absent,share_cooperate,share_defect",
    "public-goods": "contribution,pot",
    "sentence-making": "valid_ratio,variance,conversations",
    **dict.fromkeys(COMMONS, "stock,harvest,over_usage"),
}
AGENT_COLUMNS = {
    "beauty-contest": "choice,won,payoff,level",
    "cocktail-party": "partners,invited,accepted,distances",
    "kbc": "choice,won,payoff,level",
    "bertrand": "price,demand,profit",
    "evacuation": "x,y,target,status",
    "games": "choice,payoff,role,group",
    "public-goods": "contribution,payoff",
    "sentence-making": "partners,written,valid",
    **dict.fromkeys(COMMONS, "wanted,harvest,gain"),
}
TALLY = "asks,invalid,prompt_tokens,completion_tokens,cost_usd"


def test_every_scenario_is_tested_here() -> None:
    assert set(PLOTS) == set(SCENARIOS)


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_classical_run_writes_the_tables_and_plots_of_the_design(
    sabm: Sabm, tmp_path: Path, name: str
) -> None:
    outcome = sabm("run", name, "--seed", 1, "--rounds", 6, "--out", tmp_path)
    assert outcome.status == 0, outcome.err
    pngs = {path.name for path in tmp_path.glob("*.png")}
    assert pngs == PLOTS[name]
    model = pd.read_csv(tmp_path / "model.csv")
    wanted = ["run", "round", *FIRST_COLUMNS[name].split(","), *TALLY.split(",")]
    assert [column for column in model.columns if column in wanted] == wanted
    agents = pd.read_csv(tmp_path / "agents.csv")
    wanted = ["run", "round", "agent", "mind", *AGENT_COLUMNS[name].split(",")]
    assert [column for column in agents.columns if column in wanted] == wanted
    assert list(model["round"]) == list(range(6))


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_answered_and_says_so(tmp_path: Path) -> None:
    with LLMServer(held=True) as server:
        command = [
            "-m", "sabm_mesa", "run", "kbc", "--minds", "llm:stub",
            "--base-url", server.url, "--set", "n_players=5", "--runs", "2", "--out", str(tmp_path),
        ]  # fmt: skip
        environment = {k: v for k, v in os.environ.items() if k != "OPENAI_API_KEY"}
        with process(command, env=environment) as running:
            server.wait_until(lambda seen: seen.in_flight == 10)
            running.send_signal(signal.SIGINT)
            server.release()
            out, err = running.communicate(timeout=300)
    assert running.returncode == 1
    assert out == ""
    lines = [line for line in err.split("\n") if line.strip() and not line.startswith(" ")]
    path = tmp_path / "recording.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        ((answers,),) = connection.execute("SELECT count(*) FROM asks").fetchall()
    assert answers >= 10
    go_on = f"continue with: sabm resume {path}"
    awaited = re.compile(r"Waiting up to 10 s for \d+ answers? that (is|are) paid for\.")
    *before, last = lines
    assert all(awaited.fullmatch(line) for line in before)  # said where the answers came later
    assert last == f"sabm: Stopped. {answers} answers are in {path}; {go_on}"
    assert [path.name for path in tmp_path.iterdir()] == ["recording.sqlite"]
