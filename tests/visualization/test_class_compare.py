"""A class beside an earlier one: which are offered, and that the numbers are those of compare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sabm_mesa import PublicGoods, RepeatedBeautyContest, SmartModel
from sabm_mesa.core.languages import translated
from sabm_mesa.errors import RecordingError
from sabm_mesa.runs.game import ClassSession
from sabm_mesa.studies import compare
from sabm_mesa.visualization.pages.class_compare import (
    earlier_classes,
    problem_of,
    recording_of,
    slide_beside,
)
from sabm_mesa.visualization.pages.debrief import BESIDE, slides
from sabm_mesa.visualization.pages.host import open_session
from sabm_mesa.visualization.pages.play_parts import GAMES

pytestmark = pytest.mark.check_once


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for game in GAMES.of("host"):
        GAMES.close(game)


def a_class(
    model: type[SmartModel], groups: int, seed: int = 1, **parameters: object
) -> ClassSession:
    """A class in which a classical mind plays for everybody."""
    given = {"n_players": 4, "n_rounds": 2, "rng": seed, **parameters}
    session = open_session(
        "host", model, given, "classical", 4, time_limit_s=0.01, public=True, groups=groups,
        stand_in="classical",
    )  # fmt: skip
    session.start()
    assert all(game.join(60) for game in session.games)
    return session


def test_a_class_is_compared_with_an_earlier_one_of_its_scenario() -> None:
    earlier = a_class(RepeatedBeautyContest, groups=3)
    a_class(PublicGoods, groups=1)
    RepeatedBeautyContest(n_players=4, n_rounds=2, recording=Path("run.sqlite")).run_model()
    session = a_class(RepeatedBeautyContest, groups=3, seed=7, n_rounds=3)

    (found,) = earlier_classes(session)
    assert (found.path.name, found.groups) == (recording_of(earlier).name, 3)
    assert found.label.endswith(": 3 groups")
    BESIDE[session] = slide = slide_beside(session, found)
    paths = [recording_of(session), found.path]
    compared = compare.compare(paths, "last_mean", [compare.SOURCE])
    here, there = compared.cells["estimate"]
    row = compared.table.iloc[0]
    estimates = f"is {here:.4g} here, and {there:.4g} on {found.when}."
    verdict = f"p = {row['p']:.4g}. {row['verdict'].capitalize()}."
    assert slide.words == [
        f"Mean pick in the last round: the median of the groups {estimates}",
        f"Difference: {row['estimate']:.4g}; {verdict}",  # so few have no interval
        "Groups: 3 here, 3 then.",
        "The classes differ in more than their people: Number of rounds.",
    ]
    assert slide.drawing.count("<circle") == 6
    assert slide in slides(session)
    german = translated(slide, "de")
    assert german.title == "Diese Klasse und eine frühere"
    assert "Zahl der Runden" in german.words[-1]
    assert "hier" in german.drawing


def test_classes_of_one_group_stand_side_by_side_without_a_verdict() -> None:
    a_class(RepeatedBeautyContest, groups=1)
    session = a_class(RepeatedBeautyContest, groups=1, seed=2)
    slide = slide_beside(session, earlier_classes(session)[0])
    assert "nothing can be said of chance" in slide.words[0]
    assert slide.drawing.count("<circle") == 2


def test_a_class_that_did_not_play_to_the_end_is_compared_with_none() -> None:
    a_class(RepeatedBeautyContest, groups=2)
    session = open_session(
        "host", RepeatedBeautyContest, {"n_players": 2, "n_rounds": 2}, "classical", 2,
        time_limit_s=60, public=True,
    )  # fmt: skip
    session.start()
    (game,) = session.games
    game.stop()
    assert game.join(60)
    with pytest.raises(RecordingError) as caught:
        slide_beside(session, earlier_classes(session)[0])
    assert problem_of(caught.value) == (
        "The classes cannot be compared: one of them has no group that has played to the end."
    )
    assert "nicht vergleichen" in translated(problem_of(caught.value), "de")
