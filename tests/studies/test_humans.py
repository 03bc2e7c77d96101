"""How human runs are: people beside people, the average person, and what cannot be judged."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from sabm_mesa.studies.humans import (
    DIFFERENT,
    DISTRIBUTION,
    EFFECT,
    INFERENCE,
    NOT_DETECTED,
    NOT_JUDGED,
    PERSONS,
    SAME,
    SPREAD,
    Comparison,
    Played,
    as_markdown,
    compare,
    lines_of,
    picture,
)
from sabm_mesa.studies.people import Codebook, PeopleData, published_people

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
    return Played("kbc", decisions, frozenset(), [])


def verdicts(comparison: Comparison, level: str) -> list[str]:
    return [row.verdict for row in comparison.rows if row.level == level]


def the_average(rows: pd.DataFrame) -> pd.DataFrame:
    """Everybody decides what people decide on average in the period."""
    return rows.assign(value=rows.groupby("round")["value"].transform("mean"))


@pytest.mark.slow
def test_people_pass_beside_people_and_the_average_person_fails() -> None:
    """12 seeds: halves of 16 sessions differ in at most 5 % of seeds, up to chance."""
    told, ratios_off, shares = 0, 0, []
    for seed in range(12):
        rows = groups(np.random.default_rng([8, seed]), 16)
        first = rows["session"].astype(int) < 8
        people, half = data(rows[~first]), rows[first]
        found = compare(people, runs(half), seed=seed)
        assert verdicts(found, INFERENCE) == [SAME, SAME]
        told += found.verdicts[DISTRIBUTION] == DIFFERENT
        ratios_off += DIFFERENT in verdicts(found, EFFECT)[:1]
        persons = next(row for row in found.rows if row.level == PERSONS)
        shares.append((persons.people, persons.runs))
        average = compare(people, runs(the_average(half)), seed=seed)
        assert average.verdicts[DISTRIBUTION] == DIFFERENT
        assert average.verdicts[INFERENCE] == SAME  # what the mean alone can show, it shows
    assert told <= 3  # 12 tests at 5 %: more in 0.2 % of cases
    assert ratios_off <= 4
    assert np.mean(shares, axis=0) == pytest.approx([100 / 136] * 2, abs=0.06)


def test_the_average_person_has_no_variance_and_no_persons() -> None:
    rows = groups(np.random.default_rng(1), 8)
    found = compare(data(rows), runs(the_average(rows)))
    by_level = {row.level: row for row in found.rows}
    assert by_level[SPREAD].value == 0
    assert by_level[PERSONS].value == 0
    assert math.isnan(by_level[PERSONS].runs)
    assert "share of the variance between persons: 63% of people, none of" in "\n".join(
        lines_of(found)
    )


def test_one_conclusion_is_the_same_only_in_one_direction() -> None:
    rows = groups(np.random.default_rng(2), 8)
    rising = rows.assign(value=rows["value"] + 20 * (rows["round"] - 1))
    found = compare(data(rows), runs(rising))
    first = next(row for row in found.rows if row.level == INFERENCE)
    assert (first.verdict, first.why) == (DIFFERENT, "people: found, runs: the opposite")
    effect = next(row for row in found.rows if row.level == EFFECT)
    assert effect.high < 0
    assert effect.why == "opposite to people's"


def test_runs_that_are_too_few_to_find_anything_are_not_judged() -> None:
    rows = groups(np.random.default_rng(3), 11)
    few = rows["session"].astype(int) < 3
    found = compare(data(rows[~few]), runs(rows[few]))

    first = next(row for row in found.rows if row.level == INFERENCE)
    assert first.verdict == NOT_JUDGED
    assert first.why == "3 runs are too few: the test cannot come below p = 0.12."


@pytest.mark.slow
def test_nothing_found_by_tests_that_can_find_nothing_is_no_same_inference() -> None:
    rows = groups(np.random.default_rng(3), 12)
    session = rows["session"].astype(int)
    level = rows.assign(value=rows["value"].where(rows["round"] == 1, 45.0))
    level.loc[level["round"] == 3, "value"] = level.loc[level["round"] == 1, "value"].to_numpy()

    def first(people: pd.DataFrame, of_runs: pd.DataFrame) -> tuple[str, str]:
        row = compare(data(people), runs(of_runs)).rows[0]
        return row.verdict, row.why

    whole, few = level[session >= 4], level[session < 4]
    said = "4 {} are too few: the test cannot come below p = 0.062."
    assert first(whole, few) == (NOT_JUDGED, said.format("runs"))
    assert first(few, whole) == (NOT_JUDGED, said.format("sessions of people"))
    assert first(whole, whole)[0] == SAME


def test_published_summaries_are_judged_as_far_as_they_go() -> None:
    """Nagel's 67 students: bins of the first period, means of four sessions."""
    people = published_people()["nagel-1995"]
    middles, counts = people.counted() or (np.empty(0), np.empty(0))
    picks = np.repeat(middles, counts.astype(int))[:64]
    decisions = pd.DataFrame(
        {"run": np.arange(64) // 8, "round": 0, "agent": np.arange(64) % 8, "value": picks}
    ).assign(treatment="")
    found = compare(people, Played("kbc", decisions, frozenset(), []))
    assert found.verdicts[DISTRIBUTION] == NOT_DETECTED
    assert found.verdicts[INFERENCE] == NOT_JUDGED
    why = [row.why for row in found.rows if row.verdict == NOT_JUDGED]
    assert "the runs have no decision in period 4 (their round 3)." in why
    talked = compare(people, Played("kbc", decisions, frozenset({0}), []))
    assert talked.verdicts[DISTRIBUTION] == NOT_JUDGED
    mean_only = compare(published_people()["grosskopf-nagel-2008"], found.played)
    assert mean_only.verdicts[INFERENCE] == mean_only.verdicts[DISTRIBUTION] == NOT_JUDGED
    assert "neither decisions nor their distribution" in "\n".join(lines_of(mean_only))


def test_every_form_says_the_same() -> None:
    rows = groups(np.random.default_rng(4), 8)
    found = compare(data(rows), runs(rows))
    text = as_markdown(found, ["humans.png"])
    assert "| same distribution | **no difference detected** |" in text
    assert "p = <" not in "\n".join(lines_of(found))
    people = data(rows)
    book = people.book.model_copy(update={"who": "<b>me</b> | *you*"})
    other = compare(PeopleData("class.csv", book, rows), runs(rows))
    assert "People: \\<b\\>me\\</b\\> \\| \\*you\\*" in as_markdown(other)
    assert "3 Same distribution: no difference detected" in lines_of(found)
    figure = picture(found)
    assert figure is not None
    assert [ax.get_title(loc="left").split(":")[0] for ax in figure.axes] == [
        "Period 1", "Period 2", "Period 3",
    ]  # fmt: skip
