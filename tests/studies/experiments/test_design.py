"""Reading experiments: those of the package, and wrong entries."""

from pathlib import Path

import pytest

from sabm_mesa.errors import ParameterError, UnknownName, UsageError
from sabm_mesa.studies.experiments.design import (
    COSTS,
    SCALES,
    experiment_names,
    load_experiment,
    parse_experiment,
)
from sabm_mesa.studies.experiments.plan import plan
from tests.studies.experiments.support import FORK, SMALL


@pytest.mark.parametrize("name", experiment_names())
def test_every_experiment_can_be_planned(name: str) -> None:
    found = load_experiment(name)
    assert found.cost in COSTS
    for scale in SCALES:
        planned = plan(found, scale)
        assert len(planned.cells) == len(found.conditions) * found.scales[scale].runs
    for said in [*found.claims, *found.published]:
        assert said.source


def test_an_experiment_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(SMALL + FORK, "utf-8")
    found = load_experiment(path)
    assert found.name == "mine"
    assert [each.name for each in found.conditions] == ["baseline", "cooperative", "turned"]
    assert found.measure("last").columns == ("variance",)
    assert found.condition("turned").at == {"quick": 1, "paper": 2}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "Small"', "", "the entry 'title' is missing"),
        ('title = "Small"', "title = 3", "title: must be of type str"),
        ('title = "Small"', 'titel = "Small"', "'titel'"),
        ('scenario = "kbc"', 'scenario = "chess"', "chess"),
        ('columns = "variance"', 'column = "variance"', "measures 1"),
        ("rounds = [-1, -1]", "rounds = [-1]", "a list of 2"),
        ('measure = "last"', 'measure = "lost"', "'lost'"),
        ('kind = "below"', 'kind = "beneath"', "'beneath'"),
        ('condition = "baseline"', 'condition = "basement"', "'basement'"),
        ("[scales.paper]\nruns = 3", "", "the scale 'paper' is missing"),
        ('name = "cooperative"', 'name = "baseline"', "each with its own name"),
        ('fork_of = "baseline"', 'fork_of = "turned"', "'turned'"),
        ("at = { quick = 1, paper = 2 }", "at = { quick = 1 }", "quick and paper"),
        ('cost = "small"', 'cost = "small', "Experiment x:"),
        ("[[claims]]", "[claims]", "claims must be a list"),
    ],
)
def test_a_wrong_entry_is_one_line_that_names_it(old: str, new: str, said: str) -> None:
    assert old in SMALL + FORK
    with pytest.raises(UsageError, match=r"Experiment x|chess") as caught:
        parse_experiment("x", (SMALL + FORK).replace(old, new, 1))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Cannot read"):
        load_experiment(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="UTF-8"):
        load_experiment(tmp_path / "bytes.toml")
    with pytest.raises(UnknownName, match="kbc-figure-4a"):
        load_experiment("kbc-figure-4")
