"""The mixed study from protocol to figure, with stand-ins, and with people at seats."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from sabm_mesa import KeynesianBeautyContest, RepeatedBeautyContest
from sabm_mesa.runs.game import Game

pytestmark = pytest.mark.slow

STUDY = Path(__file__).parents[2] / "examples" / "mixed_study"
PARTS = ("design", "plan", "run", "analyse")


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The modules of the study, as its scripts import them."""
    monkeypatch.syspath_prepend(str(STUDY))
    for name in PARTS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    modules = {name: __import__(name) for name in PARTS}
    for name in PARTS:
        monkeypatch.delitem(sys.modules, name)
    return modules


def called(study: dict[str, ModuleType], name: str, monkeypatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
    study[name].main()


def test_from_runs_to_a_figure(study, tmp_path, monkeypatch, capsys) -> None:
    called(study, "run", monkeypatch, "--groups", 4, "--out", tmp_path)
    assert "8 groups, 8 of them played now" in capsys.readouterr().out
    called(study, "run", monkeypatch, "--groups", 4, "--out", tmp_path)
    said = capsys.readouterr().out
    assert "8 groups, 0 of them played now" in said
    assert "these are no people" in said

    called(study, "analyse", monkeypatch, tmp_path / "recording.sqlite", "--out", tmp_path)

    told = capsys.readouterr().out
    assert told.strip() == (tmp_path / "result.md").read_text("utf-8").strip()
    assert "These are stand-ins: no person has played." in told
    assert "| people only | 4 | 0 |" in told
    assert "| mixed | 4 | 0 |" in told
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    # By hand: the outcome of a group is the mean of its people's picks in the last round.
    found, _ = study["analyse"].groups([tmp_path / "recording.sqlite"])
    minds = study["design"].populations(study["design"].PEOPLE, study["design"].MODELS)
    model = RepeatedBeautyContest(**study["design"].GAME, minds=minds["mixed"], rng=2)
    model.run_model()
    picks = model.agent_frame()
    last = picks[(picks["mind"] == study["design"].PEOPLE) & (picks["round"] == 3)]["choice"]
    assert last.size == 8
    mixed = found[found["condition"] == "mixed"]["outcome"].to_list()
    assert mixed[1] == last.mean()


def test_people_are_analysed_as_people(study, tmp_path) -> None:
    path = tmp_path / "class.sqlite"
    game = Game(
        RepeatedBeautyContest,
        **study["design"].GAME,
        minds={"human": 8, "classical:level_2": 8},
        rng=1,
        recording=path,
    )

    def person(number: int) -> None:
        seat = game.seats[number]
        seat.take(f"browser {number}")
        version = -1
        while game.status != "over":
            if (question := seat.question) is not None:
                pick = str(40 - 10 * question.ask.facts.round)
                assert seat.answer(f"browser {number}", question.number, pick, "so") == ""
            version = seat.wait(version)

    with ThreadPoolExecutor(8) as people:
        seated = [people.submit(person, number) for number in game.seats]
        game.start()
        for each in seated:
            each.result(timeout=100)
    game.join()

    found, picks = study["analyse"].groups([path])

    (row,) = found.to_dict("records")
    assert (row["people"], row["condition"], row["excluded"]) == ("human", "mixed", "")
    assert row["outcome"] == 10
    assert picks["pick"].to_list() == [40, 30, 20, 10]
    text = study["analyse"].table(found)
    assert "no person has played" not in text
    assert "One condition has no group yet" in text


def test_groups_are_left_out_by_the_protocol(study, tmp_path) -> None:
    design, path = study["design"], tmp_path / "some.sqlite"
    people = {design.PEOPLE: 16}
    games = [
        (people, {}),
        (people, {"p": 0.5}),
        ({design.PEOPLE: 5, design.MODELS: 11}, {}),
        ({design.PEOPLE: 8, design.MODELS: 8}, {"n_rounds": 3}),
    ]
    for minds, other in games:
        model = RepeatedBeautyContest(
            **{**design.GAME, **other}, minds=minds, rng=1, recording=path
        )
        model.run_model()
    KeynesianBeautyContest(n_players=16, n_rounds=1, rng=1, recording=path).run_model()

    found, _ = study["analyse"].groups([path])

    assert found["excluded"].to_list() == [
        "",
        "another game: p",
        "5 people",
        "another game: n_rounds",
        "the scenario is kbc",
    ]
    text = study["analyse"].table(found)
    assert "| people only | 1 | 2 |" in text
    assert "another game: p" in text


def test_groups_with_many_missing_answers_are_left_out(study, tmp_path) -> None:
    design, path = study["design"], tmp_path / "silent.sqlite"

    class Silent:
        spec, paid, instant = design.PEOPLE, False, True

        def __init__(self, every: int) -> None:
            self.every = every

        async def answer(self, ask: object) -> object:
            return 20 if ask.key.agent % self.every else "no idea"

    for every in (5, 4):  # 3 of 16 are 19 %, 4 of 16 are 25 %
        model = RepeatedBeautyContest(**design.GAME, minds=Silent(every), rng=1, recording=path)
        model.run_model()

    found, _ = study["analyse"].groups([path])

    assert found["excluded"].to_list() == ["", "25% of the people's decisions are invalid"]


def test_nothing_to_analyse_is_one_clear_line(study, tmp_path) -> None:
    path = tmp_path / "other.sqlite"
    RepeatedBeautyContest(n_players=4, n_rounds=1, rng=1, recording=path).run_model()

    with pytest.raises(SystemExit, match=r"No group can be used; .*another game: n_players"):
        study["analyse"].groups([path])


def test_the_plan_and_the_protocol_say_the_same(study) -> None:
    design = study["design"]
    table = study["plan"].plan(steps=(2,), pilot=12)
    assert table.to_dict("records") == [
        {"steps": 2, "people only": pytest.approx(9.8, abs=0.1),
         "mixed": pytest.approx(6.9, abs=0.1), "groups": 26}
    ]  # fmt: skip

    protocol = (STUDY / "protocol.md").read_text("utf-8")

    assert f"**{design.GROUPS} groups in each condition**" in protocol
    people = design.GROUPS * 16, design.GROUPS * design.N_PEOPLE
    assert "({} and {} people)".format(*people) in protocol
    assert f"plays {study['plan'].PILOT} simulated groups" in protocol
    assert f"α = {design.ALPHA}" in protocol
    assert f"power of {design.POWER}" in protocol
    assert f"{100 * design.MOST_INVALID:.0f} % of the people's decisions" in protocol
    rows = re.findall(
        r"^\| (\d) \| 9.4 \| [\d.]+ \| (?:more than )?(\d+) \|$", protocol, re.MULTILINE
    )
    assert [int(steps) for steps, _ in rows] == list(study["plan"].STEPS)
    assert int(dict(rows)["2"]) <= design.GROUPS
