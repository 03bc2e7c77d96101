"""`sabm study`: from a title to the figure and the supplement."""

from __future__ import annotations

from pathlib import Path

import pytest

from sabm_mesa.studies.study_steps import FINISHED, PILOT_SEED, finish, made_with, read_study
from tests.llm_server import LLMServer

from .support import Sabm, one_line

pytestmark = pytest.mark.usefixtures("new_study")


@pytest.fixture
def new_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sabm: Sabm) -> None:
    """The folder of a new study, in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    made = sabm("study", "new", "Personas x models")
    assert (made.status, made.err) == (0, "")
    assert made.out.endswith("\n  sabm study run personas-x-models\n")


def change(**instead: str) -> None:
    """Change settings of the study."""
    path = Path("personas-x-models/study.toml")
    lines = path.read_text("utf-8").splitlines()
    changed = [
        f"{key} = {instead[key]}" if (key := line.partition(" ")[0]) in instead else line
        for line in lines
    ]
    path.write_text("\n".join(changed) + "\n", "utf-8")


def test_a_new_study_has_its_files_and_its_commands() -> None:
    folder = Path("personas-x-models")
    files = sorted(path.name for path in folder.iterdir())
    assert files == ["README.md", "personas-x-models.toml", "study.toml"]
    names = [step.name for step in read_study(folder)]
    assert names == ["pilot", "register", "run", "compare", "bundle"]
    readme = (folder / "README.md").read_text("utf-8")
    commands = [line for line in readme.splitlines() if line.startswith("sabm ")]
    assert len(commands) == 5
    assert f"--seed {PILOT_SEED} " in commands[0]
    assert commands[-1] == "sabm bundle study/personas-x-models/recording.sqlite"


def test_steps_are_listed_without_running_them(sabm: Sabm) -> None:
    listed = sabm("study", "run", "personas-x-models", "--list")
    assert listed.status == 0
    assert listed.out.count("\n") == 5
    assert "(done)" not in listed.out
    assert not Path("personas-x-models/pilot").exists()


def test_a_step_that_may_cost_money_needs_an_answer(sabm: Sabm) -> None:
    change(first='"llm:gpt-4o-mini"')
    with LLMServer() as server:
        asked = sabm("study", "run", "personas-x-models", "--base-url", server.url)
        assert server.requests == []
    assert asked.status == 2
    assert "tokens sent" in asked.out
    assert one_line(asked) == "The step pilot may cost what is printed above: consent with --yes."


def ended(*names: str) -> None:
    """Leave behind what these steps leave, as when they have ended."""
    folder = Path("personas-x-models")
    for step in read_study(folder):
        if step.name in names:
            step.product.parent.mkdir(parents=True, exist_ok=True)
            step.product.touch()
            finish(folder, step.name, made_with(folder)[step.name])


def states() -> list[str]:
    return [step.state for step in read_study(Path("personas-x-models"))]


def test_a_step_is_done_when_it_has_ended_with_these_settings(sabm: Sabm) -> None:
    ended("pilot", "register", "run", "compare", "bundle")
    assert states() == ["done"] * 5
    change(budget_usd="9.0")  # bounds what is paid, and changes no result
    assert states() == ["done"] * 5
    change(measure='"mean"')
    assert states() == ["done", "done", "done", "changed", "done"]
    refused = sabm("study", "run", "personas-x-models")
    assert one_line(refused) == (
        "The files in personas-x-models changed after the step compare: undo the "
        "change, or delete personas-x-models/study/personas-x-models/compare to repeat the step."
    )
    change(pilot_runs="3")  # the number of runs was computed from the pilot
    assert states() == ["changed"] * 5
    change(pilot_runs="12", measure='"variance"')
    assert states() == ["done"] * 5
    experiment = Path("personas-x-models/personas-x-models.toml")
    experiment.write_text(experiment.read_text("utf-8") + "# later\n", "utf-8")
    assert states() == ["changed"] * 5
    assert sabm("study", "run", "personas-x-models", "--list").out.count("(changed)") == 5


def test_the_number_of_runs_may_be_given_after_the_pilot() -> None:
    ended("pilot")
    change(runs="30")
    assert states() == ["done", "", "", "", ""]


def test_what_a_killed_step_left_is_not_done() -> None:
    ended("pilot", "run")
    Path("personas-x-models/study/personas-x-models/compare").mkdir()
    assert states() == ["done", "", "done", "", ""]
    Path("personas-x-models/study/personas-x-models/registration.json").touch()
    assert states() == ["done", "done", "done", "", ""]  # never written twice


def test_a_damaged_list_of_finished_steps_is_one_line(sabm: Sabm) -> None:
    Path("personas-x-models", FINISHED).write_text("{", "utf-8")
    assert one_line(sabm("study", "run", "personas-x-models")) == (
        f"personas-x-models/{FINISHED} is damaged: delete it, and the steps are run again."
    )


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("power", "2", "power: Input should be less than or equal to 0.99."),
        ("runs", '"many"', "runs: Input should be a valid integer"),
        ("claim", "", "is not valid TOML: "),
    ],
)
def test_wrong_settings_are_one_line(sabm: Sabm, key: str, value: str, problem: str) -> None:
    change(**{key: value})
    assert problem in one_line(sabm("study", "run", "personas-x-models"))


def test_other_folders_and_titles_are_refused(sabm: Sabm) -> None:
    assert "is not the folder of a study" in one_line(sabm("study", "run", "."))
    assert "cannot be the title" in one_line(sabm("study", "new", "…"))
    assert "personas-x-models" in one_line(sabm("study", "new", "personas x models"))


@pytest.mark.slow
def test_a_new_study_runs_as_it_is_to_its_supplement_and_only_what_is_left(sabm: Sabm) -> None:
    done = sabm("study", "run", "personas-x-models")
    assert (done.status, done.err) == (0, "")
    home = Path("personas-x-models/study/personas-x-models")
    figure = home / "compare/variance-by-personas-minds.pdf"
    assert figure.read_bytes().startswith(b"%PDF")
    assert (home / "bundle/index.html").is_file()
    assert "As registered" in done.out
    again = sabm("study", "run", "personas-x-models")
    assert again.out.count("(done)") == 5
    Path("personas-x-models", FINISHED).unlink()
    without = sabm("study", "run", "personas-x-models")  # the recordings hold what was paid for
    assert (without.status, without.err) == (0, "")
    assert without.out.count("(done)") == 2  # the registration and the bundle
    assert "68 of them from before" in without.out
