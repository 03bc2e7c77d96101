"""The solutions of the course: each runs, and what the exercises say of it is so."""

import importlib.util
import sys
from pathlib import Path

import pytest

from sabm_mesa.testing import check_scenario

pytestmark = pytest.mark.slow

COURSE = Path(__file__).parents[2] / "course"
EXERCISES = sorted((COURSE / "exercises").glob("*.md"))
SOLUTIONS = sorted((COURSE / "solutions").glob("*.py"))


@pytest.fixture
def solution(tmp_path, monkeypatch, capsys):
    """A function that runs a solution as a script would be, in its own folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(number: int, **given):
        (path,) = (each for each in SOLUTIONS if each.name.startswith(f"{number:02}_"))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        found = module.main(**given)
        assert capsys.readouterr().out.strip()
        return found, module, (COURSE / "exercises" / EXERCISES[number - 1]).read_text("utf-8")

    return run


def test_every_exercise_has_its_solution() -> None:
    numbers = [path.name[:2] for path in EXERCISES]
    assert numbers == [f"{n:02}" for n in range(1, len(numbers) + 1)]
    assert [path.name[:2] for path in SOLUTIONS] == numbers
    readme = (COURSE / "README.md").read_text("utf-8")
    for path, solved in zip(EXERCISES, SOLUTIONS, strict=True):
        text = path.read_text("utf-8")
        assert f"(exercises/{path.name})" in readme
        assert f"(../solutions/{solved.name})" in text
        for part in ("**Goal.**", "**Time.**", "## Steps", "## Questions", "Solution:", "Notes:"):
            assert part in text, f"{path.name}: {part}"


def test_1_the_default_minds_lie_within_the_sessions(solution) -> None:
    found, _, _ = solution(1)
    inside = found["mean"].between(found["people, lowest"], found["people, highest"])
    assert inside.all()


def test_2_the_mind_earns_more_than_the_rules(solution) -> None:
    payoffs, _, text = solution(2)
    assert payoffs["Trend"] > 3 * payoffs["classical"]
    assert "earns 0.28 points a round and the others 0.08" in text
    assert [round(payoffs[mind], 2) for mind in ("Trend", "classical")] == [0.28, 0.08]


def test_3_the_wording_matters_and_the_placebo_does_not(solution) -> None:
    table, _, _ = solution(3)
    assert table.loc["agreement", "p (Holm)"] < 0.001
    assert table.loc["placebo", "difference"] == 0


def test_4_the_stag_hunt_conforms(solution) -> None:
    ends, module, text = solution(4)
    assert ends == {"all hunt stag": 24, "nobody does": 6}
    assert "24 of 30 groups end with all hunting stag and 6 with none" in text
    silent = module.StagHunt(minds="fixed:none", n_rounds=1)
    silent.run_model()
    assert silent.model_frame()["n_stag"].to_list() == [0]
    assert set(silent.agent_frame()["payoff"]) == {0.0}
    check_scenario(module.StagHunt)


def test_5_a_replay_asks_nobody(solution) -> None:
    told, _, text = solution(5)
    assert told == {"recorded": 42, "replayed": 0, "forked": 0}
    assert "asked 42 times" in text


def test_6_one_step_further_wins(solution) -> None:
    ranking, _, _ = solution(6, runs=2)
    place = dict(zip(ranking["entrant"], ranking["rank"], strict=True))
    assert place == {
        "06_tournament:Undercut": 1, "classical": 2, "06_tournament:Follower": 3
    }  # fmt: skip
    assert set(ranking["invalid"]) == {0}


def test_7_more_people_need_more_groups(solution) -> None:
    table, _, text = solution(7)
    sys.modules.pop("design")  # plan.py of the study has imported it
    assert table["groups"].is_monotonic_decreasing
    (groups,) = table.loc[table["people"] == 8, "groups"]
    assert f"says {groups} groups for 8 people" in text
