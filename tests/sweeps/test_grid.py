"""What a sweep runs, and what it refuses."""

from pathlib import Path

import pytest

from sabm_mesa import FixedMind, KeynesianBeautyContest, sweep
from sabm_mesa.errors import MindSpecError, ParameterError, UnknownName
from sabm_mesa.sweeps.grid import grid, shown


def test_every_combination_has_the_same_seeds() -> None:
    planned = grid("kbc", {"n_players": [3, 6], "condition": ["baseline", "cooperative"]}, {}, 2, 5)

    assert planned.model is KeynesianBeautyContest
    assert [(*cell.values.values(), cell.task.seed) for cell in planned.cells] == [
        (3, "baseline", 5), (3, "baseline", 6), (3, "cooperative", 5), (3, "cooperative", 6),
        (6, "baseline", 5), (6, "baseline", 6), (6, "cooperative", 5), (6, "cooperative", 6),
    ]  # fmt: skip
    assert len({cell.name for cell in planned.cells}) == 8


def test_a_run_is_known_by_what_it_is_and_not_by_how_it_was_asked_for() -> None:
    varied = grid("kbc", {"n_players": [3]}, {"n_rounds": 2}, 1, 1)
    fixed = grid(KeynesianBeautyContest, {}, {"n_rounds": 2, "n_players": 3}, 1, 1)
    default = grid("kbc", {"n_players": [3]}, {"n_rounds": 2, "minds": "classical"}, 1, 1)

    assert varied.cells[0].name == fixed.cells[0].name == default.cells[0].name


def test_values_in_tables() -> None:
    minds = {FixedMind(3): 2, "classical": 1}

    assert shown({"a": 1.5, "b": True, "c": None, "d": [1, 2], "minds": minds}) == {
        "a": 1.5, "b": True, "c": None, "d": "[1, 2]", "minds": '{"fixed:3": 2, "classical": 1}',
    }  # fmt: skip


@pytest.mark.parametrize(
    ("vary", "options", "error", "says"),
    [
        ({"n_playrs": [3]}, {}, UnknownName, "Did you mean 'n_players'"),
        ({"n_players": [3, 0]}, {}, ParameterError, "n_players has to be"),
        ({"n_players": []}, {}, ParameterError, "needs a list of values"),
        ({"n_players": "345"}, {}, ParameterError, "needs a list of values"),
        ({"n_players": [3, 3]}, {}, ParameterError, "the value 3 twice"),
        ({"n_players": [3]}, {"parameters": {"n_players": 4}}, ParameterError, "given twice"),
        ({"rng": [1, 2]}, {}, ParameterError, "rng is no parameter that a sweep sets"),
        ({"minds": [{"fixed:1": 2}]}, {}, MindSpecError, "2 are given for 24 agents"),
        ({}, {"runs": 0}, ParameterError, "runs has to be"),
        ({}, {"seed": -1}, ParameterError, "seed has to be"),
        ({}, {"on": "mars"}, UnknownName, "Known: here, processes, ray"),
        ({}, {"workers": 2}, ParameterError, "number of workers"),
        ({}, {"on": "processes", "workers": 0}, ParameterError, "workers has to be"),
        ({}, {"on": "processes", "address": "auto"}, ParameterError, "sweep on ray"),
    ],
)
def test_wrong_use_leaves_no_file(vary, options, error, says, tmp_path: Path) -> None:
    with pytest.raises(error, match=says) as caught:
        sweep("kbc", vary, folder=tmp_path / "out", **options)

    assert caught.value.exit_status == 2
    assert not (tmp_path / "out").exists()


def test_what_only_this_process_knows_is_not_sent_to_others(tmp_path: Path) -> None:
    class Local(KeynesianBeautyContest):
        pass

    with pytest.raises(ParameterError, match="define the scenario in a module"):
        sweep(Local, {}, folder=tmp_path / "out", on="processes")
    assert not (tmp_path / "out").exists()
    assert sweep(Local, {}, folder=tmp_path / "out", parameters={"n_players": 3}).ran == 1
