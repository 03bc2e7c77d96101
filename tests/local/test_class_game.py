"""A class game whose empty seats the default local model plays."""

from pathlib import Path

import pytest

from sabm_mesa import KeynesianBeautyContest, replay
from sabm_mesa.runs.game import ClassSession, Game
from tests.core.support import rows
from tests.local.conftest import TINY

pytestmark = pytest.mark.slow


def test_the_model_plays_for_a_seat_where_nobody_came(tmp_path: Path) -> None:
    path = tmp_path / "game.sqlite"
    given = TINY | {"n_players": 3, "condition": "baseline", "max_attempts": 1}
    game = Game(KeynesianBeautyContest, minds="human", stand_in="local", recording=path, **given)
    session = ClassSession([game])
    _, seat = session.join("ann")
    session.start()
    version = -1
    while seat.question is None:
        version = seat.wait(version)
    assert seat.answer("ann", seat.question.number, "20") == ""
    game.join()

    assert (game.status, game.problem) == ("over", "")
    asked = rows(path, "SELECT agent, mind, form, valid FROM asks ORDER BY agent")
    assert asked == [(1, "human", "paper", 1), (2, "local", "json", 1), (3, "local", "json", 1)]
    replay(path)
