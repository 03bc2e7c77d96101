"""Programs that spend money without a command: `batch_run`, and a class game with a model."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mesa

from sabm_mesa import Connection, KeynesianBeautyContest
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.models.registry import scenario
from sabm_mesa.recording.writing import FOLDER
from sabm_mesa.runs.rerun import resume
from tests.chaos.recordings import UNFINISHED, entered_in, rows

MIND = "llm:gpt-4o-mini"  # a model with a price
HOST, PERSON = "host", "person"
Script = Callable[[Path, str, int], None]


def batch_run(place: Path, url: str, seed: int) -> None:
    """Two runs by Mesa's `batch_run`; what was cut off is resumed, and what is missing is run.

    Args:
        place: the folder of the recording.
        url: the address of the model's server.
        seed: of the first run.
    """
    path, seeds = place / "batch.sqlite", [seed, seed + 1]
    if entered_in(path):
        if rows(path, UNFINISHED):
            resume(path)
        begun = [json.loads(recorded) for (recorded,) in rows(path, "SELECT seed FROM runs")]
        seeds = [each for each in seeds if [each] not in begun]
    for each in seeds:
        given: dict[str, Any] = {"n_players": 4, "n_rounds": 2, "minds": MIND, "recording": path}
        given |= {"connection": Connection(url)}
        if "rng" in inspect.signature(mesa.batch_run).parameters:
            mesa.batch_run(KeynesianBeautyContest, given, rng=[each], display_progress=False)
        else:
            given["rng"] = each
            mesa.batch_run(KeynesianBeautyContest, given, display_progress=False)


def class_game(place: Path, url: str, seed: int) -> None:
    """Two groups of a person and a model, which are opened, or taken up where they were cut off.

    Args:
        place: the folder of the server.
        url: the address of the model's server.
        seed: of the first group.
    """
    from sabm_mesa.visualization.web.opening import open_session, take_up

    os.chdir(place)
    os.environ[URL_VARIABLE] = url
    paths = [path for path in FOLDER.glob("*.sqlite") if entered_in(path.absolute())]
    if not paths:
        sizes = {"n_players": 3, "n_rounds": 3, "rng": seed}
        session = open_session(
            HOST, scenario("beauty-contest"), sizes, MIND, 1, time_limit_s=600, public=True,
            groups=2,
        )  # fmt: skip
    elif left := rows(paths[0].absolute(), UNFINISHED):
        session = take_up(HOST, paths[0], left[0][0])
    else:
        return
    for _, seat in session.seats:
        seat.take(PERSON)
    session.start()
    while session.status != "over":
        for game, seat in session.seats:
            if question := seat.question:
                seat.answer(PERSON, question.number, "20", "")
            game.join(0.005)
    if problems := [game.problem for game in session.games if game.problem]:
        raise RuntimeError(problems[0])


SCRIPTS: dict[str, Script] = {"batch_run": batch_run, "class game": class_game}
"""Name → what is called, and called again after it was killed."""
