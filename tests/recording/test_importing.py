"""Decisions of a table as a recording: they are played by the rules, which also check them."""

from pathlib import Path

import pandas as pd
import pytest

from sabm_mesa.errors import SabmError, UsageError
from sabm_mesa.models import registry
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.importing import import_table, read_map, read_table

GOODS, GAMES = registry.scenario("public-goods"), registry.scenario("games")
MONEY = {"endowment": 20, "multiplier": 2}


def contributions(**change: object) -> pd.DataFrame:
    rows = [
        {"model": model, "run": 1, "round": time, "player": player, "gift": 5 * player + time}
        for model in ("a", "b") for time in (1, 2) for player in (1, 2, 3)
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(**change)


def test_decisions_are_played_by_the_rules_of_the_scenario(tmp_path: Path) -> None:
    import_table(
        contributions(), GOODS, tmp_path / "r.sqlite",
        columns={"run": "model+run", "decision": "gift", "mind": "model"}, parameters=MONEY,
    )  # fmt: skip
    found = Recorded(tmp_path / "r.sqlite")
    agents, model = found.agent_data(), found.model_data()

    assert agents[agents["run"] == 0]["contribution"].tolist() == [6, 11, 16, 7, 12, 17]
    assert set(agents[agents["run"] == 1]["mind"]) == {"b"}
    assert model["contribution"].tolist()[:2] == [11, 12]
    # Round 1: the pot of 33 doubles, each gets 22; the first player keeps 20 - 6.
    assert agents["payoff"].iloc[0] == pytest.approx(14 + 22)
    runs = found.runs()
    assert runs["status"].tolist() == ["finished"] * 2
    assert "a table" in runs["tags"].iloc[0]
    assert found.asks()["request"].isna().all()  # nothing was sent


def test_one_line_for_each_kind_of_problem(tmp_path: Path) -> None:
    table = contributions()
    table.loc[1, "gift"], table.loc[4, "gift"] = 35, 30
    table.loc[7, "gift"] = None
    table = table.drop(index=11)
    found = import_table(
        table, GOODS, tmp_path / "r.sqlite",
        columns={"run": "model+run", "decision": "gift"}, parameters=MONEY,
    )  # fmt: skip

    assert (found.runs, found.decisions) == (2, 8)
    legal, empty, missing = found.problems
    assert legal.startswith("2 decisions are no legal answer, recorded as invalid: line 3: 35")
    assert "line 6: 30" in legal
    assert "range from 0 to 20" in legal
    assert empty == "1 decision is no legal answer, recorded as invalid: line 9: empty"
    assert missing.startswith("1 decision is missing")
    data = Recorded(tmp_path / "r.sqlite").agent_data(0)
    assert data["contribution"].isna().sum() == 2


def test_both_players_of_a_row(tmp_path: Path) -> None:
    rows = [
        {"pair": 1, "round": t, "p1": "x", "p2": "y", "a1": pair[0], "a2": pair[1]}
        for t, pair in enumerate(("NN", "NB", "BN", "BB"), 1)
    ]
    import_table(
        pd.DataFrame(rows), GAMES, tmp_path / "r.sqlite",
        columns={"run": "pair", "decision": "a1|a2", "mind": "p1|p2"},
        values={"N": "cooperate", "B": "defect"}, parameters={"game": "prisoners_dilemma"},
    )  # fmt: skip
    found = Recorded(tmp_path / "r.sqlite")
    agents = found.agent_data()

    first, second = "cooperate", "defect"
    assert agents[agents["agent"] == 1]["choice"].tolist() == [first, first, second, second]
    assert agents[agents["agent"] == 2]["choice"].tolist() == [first, second, first, second]
    assert agents[agents["agent"] == 2]["payoff"].tolist() == [3, 5, 0, 1]
    assert agents["mind"].tolist()[:2] == ["x", "y"]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"decision": "gift"}, r"6 decisions are there twice.*line 8 \(as line 2\)"),
        ({}, "no column 'decision'; it has model, run"),
        ({"decision": "gift|model", "player": "player|run|gift"}, "names 3 columns"),
        ({"decision": "gift", "round": "model"}, "the round must be a number, not 'a'"),
        ({"decision": "gift", "run": "modle"}, "no column 'modle'"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_in_one_line(
    columns: dict[str, str], says: str, tmp_path: Path
) -> None:
    with pytest.raises(SabmError, match=says):
        import_table(contributions(), GOODS, tmp_path / "r.sqlite", columns=columns)
    assert not (tmp_path / "r.sqlite").exists()


def test_a_question_that_no_column_answers_is_named(tmp_path: Path) -> None:
    table = pd.DataFrame({"player": [1, 2], "round": [1, 1], "decision": ["cooperate"] * 2})
    with pytest.raises(SabmError, match="also asks for 'communicate'"):
        import_table(table, GAMES, tmp_path / "r.sqlite", parameters={"talk": True})
    said = table.assign(words=["I cooperate.", "So do I."])
    import_table(
        said, GAMES, tmp_path / "s.sqlite", columns={"communicate": "words"},
        parameters={"talk": True},
    )  # fmt: skip
    found = Recorded(tmp_path / "s.sqlite")
    assert set(found.messages()["text"]) == {"I cooperate.", "So do I."}


def test_tables_and_pairs_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    contributions().to_csv(file, index=False)
    table = read_table(file)
    assert list(table.index) == list(range(2, 14))  # lines of the file

    with pytest.raises(UsageError, match=r"Cannot read .*nowhere.csv as a table"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(UsageError, match="--map takes FIELD=COLUMN"):
        read_map(["decision"])
    with pytest.raises(UsageError, match="--map names run twice"):
        read_map(["run=a", "run=b"])
    with pytest.raises(UsageError, match="has no row"):
        import_table(table.iloc[:0], GOODS, tmp_path / "r.sqlite")


def test_a_condition_is_a_tag_of_its_runs(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"run": [0, 0, 1, 1], "player": [1, 2, 1, 2], "decision": [10, 20, 30, 40],
         "treatment": ["low", "low", "high", "high"]}
    )  # fmt: skip
    path = tmp_path / "people.sqlite"
    columns = {"condition": "treatment"}
    import_table(table, registry.load("beauty-contest"), path, columns=columns)

    assert [run.tags["condition"] for run in load_runs(path)] == ["low", "high"]
    mixed = table.assign(treatment=["low", "high", "high", "high"])
    with pytest.raises(UsageError, match="the run 0 has two conditions, 'low' and 'high'"):
        import_table(mixed, registry.load("beauty-contest"), tmp_path / "no", columns=columns)
    assert not (tmp_path / "no").exists()
