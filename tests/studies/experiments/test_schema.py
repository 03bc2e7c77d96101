"""Reading experiments: those of the package, and wrong entries."""

import re
from pathlib import Path

import pytest

from sabm_mesa.errors import ParameterError, UnknownName, UsageError
from sabm_mesa.studies.experiments.running import plan
from sabm_mesa.studies.experiments.schema import (
    COSTS,
    SCALES,
    experiment_names,
    load_experiment,
)
from tests.studies.experiments.support import FORK, SMALL, experiment_of


@pytest.mark.parametrize("name", experiment_names())
def test_every_experiment_can_be_planned(name: str) -> None:
    found = load_experiment(name)
    assert found.cost in COSTS
    for scale in SCALES:
        planned = plan(found, scale)
        assert len(planned.cells) == len(found.conditions) * found.scales[scale].runs
    for said in [*found.claims, *found.figures]:
        assert said.source


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "Small"', "", "title is missing"),
        ('title = "Small"', "title = 3", "title: Input should be a valid string (got 3)"),
        ('title = "Small"', 'titel = "Small"', "titel is no entry of this table"),
        ('scenario = "kbc"', 'scenario = "chess"', "chess"),
        ('columns = "variance"', 'column = "variance"', "measures 1"),
        ("rounds = [-1, -1]", "rounds = [-1]", "must be a list of 2"),
        ('measure = "last"', 'measure = "lost"', "'lost'"),
        ('kind = "below"', 'kind = "beneath"', "'beneath'"),
        ('condition = "baseline"', 'condition = "basement"', "'basement'"),
        ("[scales.paper]\nruns = 3", "", "the scale 'paper' is missing"),
        ('name = "cooperative"', 'name = "baseline"', "each with its own name"),
        ('fork_of = "baseline"', 'fork_of = "turned"', "'turned'"),
        ("at = { quick = 1, paper = 2 }", "at = { quick = 1 }", "quick and paper"),
        ('cost = "small"', 'cost = "small', "x.toml is not valid TOML"),
        ("[[claims]]", "[claims]", "claims: must be a list of tables"),
    ],
)
def test_a_wrong_entry_is_one_line_that_names_it(old: str, new: str, said: str) -> None:
    assert old in SMALL + FORK
    with pytest.raises(UsageError, match=r"xperiment|chess") as caught:
        experiment_of("x", (SMALL + FORK).replace(old, new, 1))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


TABLE = """
[[published]]
source = "page 3"
measures = ["last", "first"]
numbers = { baseline = [12, nan], cooperative = [3, 4], people = [5, 6] }

[[published]]
source = "page 4"
label = "students"
column = "variance"
rounds = [0, 5]
numbers = { baseline = [9, 8] }
"""


def test_published_numbers_are_a_table_of_condition_and_measure_or_round() -> None:
    first = '[[measures]]\nname = "first"\nlabel = "First"\ncolumns = "variance"\n'
    figures = experiment_of("x", SMALL + first + TABLE).figures
    assert [(each.condition, each.measure, each.numbers) for each in figures[:5]] == [
        ("baseline", "last", (12,)), ("cooperative", "last", (3,)), ("cooperative", "first", (4,)),
        ("", "last", (5,)), ("", "first", (6,)),
    ]  # fmt: skip
    assert [each.label for each in figures[1::2]] == [
        "published (Told to cooperate)", "", "students",
    ]  # fmt: skip
    assert (figures[5].column, figures[5].rounds, figures[5].numbers) == (
        "variance",
        (0, 5),
        (9, 8),
    )
    with pytest.raises(ParameterError, match="published 1: Unknown measure 'first'"):
        experiment_of("x", SMALL + TABLE)
    for old, new, said in (
        ("[9, 8]", "9", "published 2: baseline has 1 numbers for 2 rounds."),
        ("baseline = [12", "base = [12", "published 1: Unknown condition 'base'"),
        ('column = "variance"', "", "published 2: it needs measures, or a column and its rounds."),
    ):
        with pytest.raises(ParameterError, match=re.escape(said)):
            experiment_of("x", SMALL + first + TABLE.replace(old, new))


def test_one_file_is_an_experiment_for_each_of_its_scenarios() -> None:
    three = [load_experiment(f"govsim-{name}") for name in ("fishery", "pasture", "pollution")]
    assert [each.scenario for each in three] == ["fishery", "pasture", "pollution"]
    assert three[0].conditions == three[1].conditions == three[2].conditions


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Cannot read"):
        load_experiment(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="UTF-8"):
        load_experiment(tmp_path / "bytes.toml")
    with pytest.raises(UnknownName, match="kbc-figure-4a"):
        load_experiment("kbc-figure-4")
