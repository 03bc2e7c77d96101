"""How human runs are: people beside people, the average person, and what cannot be judged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sabm_mesa.studies.people import (
    DIFFERENT,
    NOT_DETECTED,
    NOT_JUDGED,
    SAME,
    Codebook,
    PeopleData,
    Played,
    compare,
    published_people,
)
from sabm_mesa.studies.report import Report

EFFECTS = [
    {"says": "They fall", "round": 3, "than_round": 1, "direction": "less"},
    {"says": "They begin below 60", "value": 60, "direction": "less"},
]


def groups(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Sessions of eight persons over three periods: levels of sessions and of persons, a fall."""
    places = np.indices((n, 8, 3)).reshape(3, -1)
    session, person, period = places
    values = 45.0 - 8 * period
    values += rng.normal(0, 3, n)[session]
    values += rng.normal(0, 10, (n, 8))[session, person]
    values += rng.normal(0, 6, values.size)
    return pd.DataFrame(
        {
            "session": session.astype(str),
            "person": [f"{s}/{p}" for s, p in zip(session, person, strict=True)],
            "round": period + 1, "value": np.clip(np.round(values), 0, 100), "treatment": "",
        }
    )  # fmt: skip


def data(rows: pd.DataFrame) -> PeopleData:
    book = Codebook.model_validate(
        {
            "who": "students", "source": "made up", "scenarios": ["kbc"], "decision": "choice",
            "low": 0, "high": 100, "effects": EFFECTS,
            "columns": {"decision": "x", "session": "s", "person": "p", "round": "r"},
        }
    )  # fmt: skip
    return PeopleData("class.csv", book, rows)


def runs(rows: pd.DataFrame) -> Played:
    decisions = pd.DataFrame(
        {
            "run": rows["session"].astype(int), "round": rows["round"] - 1,
            "agent": [int(each.split("/")[1]) for each in rows["person"]],
            "value": rows["value"], "treatment": "",
        }
    )  # fmt: skip
    return Played("kbc", decisions)


def rows_of(report: Report, name: str) -> list[dict[str, object]]:
    (table,) = (table for table in report.tables if table.name == name)
    return [{str(k): v for k, v in row.items()} for row in table.frame.to_dict("records")]


def verdicts(report: Report, name: str) -> list[object]:
    return [row["verdict"] for row in rows_of(report, name)]


def the_average(rows: pd.DataFrame) -> pd.DataFrame:
    """Everybody decides what people decide on average in the period."""
    return rows.assign(value=rows.groupby("round")["value"].transform("mean"))


@pytest.mark.slow
def test_people_pass_beside_people_and_the_average_person_fails() -> None:
    """12 seeds: halves of 16 sessions differ in at most 5 % of seeds, up to chance."""
    told = 0
    for seed in range(12):
        rows = groups(np.random.default_rng([8, seed]), 16)
        first = rows["session"].astype(int) < 8
        people, half = data(rows[~first]), rows[first]
        found = compare(people, runs(half))
        assert verdicts(found, "effects") == [SAME, SAME]
        told += found.facts["same_distribution"] == DIFFERENT
        average = compare(people, runs(the_average(half)))
        assert average.facts["same_distribution"] == DIFFERENT
        assert average.facts["same_inference"] == SAME  # what the mean alone can show, it shows
    assert told <= 3  # 12 tests at 5 %: more in 0.2 % of cases


def test_the_average_person_has_no_variance() -> None:
    rows = groups(np.random.default_rng(1), 8)
    found = compare(data(rows), runs(the_average(rows)))
    assert [row["variances"] for row in rows_of(found, "distributions")] == [0, 0, 0]


def test_one_conclusion_is_the_same_only_in_one_direction() -> None:
    rows = groups(np.random.default_rng(2), 8)
    rising = rows.assign(value=rows["value"] + 20 * (rows["round"] - 1))
    first = rows_of(compare(data(rows), runs(rising)), "effects")[0]
    assert first["verdict"] == DIFFERENT
    assert first["why"] == "people: found, runs: the opposite"


def test_nothing_found_by_tests_that_can_find_nothing_is_not_judged() -> None:
    rows = groups(np.random.default_rng(3), 12)
    session = rows["session"].astype(int)
    level = rows.assign(value=rows["value"].where(rows["round"] == 1, 45.0))
    level.loc[level["round"] == 3, "value"] = level.loc[level["round"] == 1, "value"].to_numpy()

    def first(people: pd.DataFrame, of_runs: pd.DataFrame) -> tuple[object, object]:
        row = rows_of(compare(data(people), runs(of_runs)), "effects")[0]
        return row["verdict"], row["why"]

    whole, few = level[session >= 4], level[session < 4]
    said = "4 {} are too few: the test cannot come below p = 0.062."
    assert first(whole, few) == (NOT_JUDGED, said.format("runs"))
    assert first(few, whole) == (NOT_JUDGED, said.format("sessions of people"))
    assert first(whole, whole)[0] == SAME


def test_published_summaries_are_judged_as_far_as_they_go() -> None:
    """Nagel's 67 students: bins of the first period, means of four sessions."""
    people = published_people()["nagel-1995"]
    picks = people.of("", 1)[0][:64]
    decisions = pd.DataFrame(
        {"run": np.arange(64) // 8, "round": 0, "agent": np.arange(64) % 8, "value": picks}
    ).assign(treatment="")
    found = compare(people, Played("kbc", decisions))
    assert found.facts["same_distribution"] == NOT_DETECTED
    assert found.facts["same_inference"] == NOT_JUDGED
    why = [row["why"] for row in rows_of(found, "effects")]
    assert "the runs have no decision in period 4 (their round 3)." in why
    talked = compare(people, Played("kbc", decisions, talked=True))
    assert talked.facts["same_distribution"] == NOT_JUDGED
    mean_only = compare(published_people()["grosskopf-nagel-2008"], Played("kbc", decisions))
    assert mean_only.facts["same_inference"] == NOT_JUDGED
    (row,) = rows_of(mean_only, "distributions")
    assert (row["people"], row["runs"]) == (29.31, picks.mean())
    assert row["verdict"] == NOT_JUDGED
    assert "neither decisions nor their distribution" in str(row["why"])
