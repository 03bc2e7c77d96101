"""The runs of a recording with their decisions, for studies of behaviour."""

from __future__ import annotations

import json
from pathlib import Path

from sabm_mesa.analysis.behaviour import PlayedRun
from sabm_mesa.errors import RecordingError
from sabm_mesa.recording.frames import Recorded


def played_runs(path: str | Path) -> list[PlayedRun]:
    """Read the runs of a recording with their decisions and data.

    The frames have the columns of `Recorded`; the index of each begins at 0. Runs without a
    finished round are left out.

    Returns:
        The runs in the order of their numbers.

    Raises:
        RecordingError: when it cannot be read, or has no run with a round.
    """
    frames = Recorded(path).frames()
    of_run = {
        name: dict(iter(frames[name].groupby("run")))
        for name in ("decisions", "agent_data", "model_data", "messages")
    }
    played = []
    for row in frames["runs"].to_dict("records"):
        number = int(row["run"])
        if number not in of_run["model_data"]:
            continue
        parameters = json.loads(row["parameters"])
        frames_of_run = {
            name: rows.get(number, frames[name].iloc[:0]).reset_index(drop=True)
            for name, rows in of_run.items()
        }
        played.append(
            PlayedRun(
                run=number,
                scenario=row["scenario"],
                seed=row["seed"],
                condition=str(parameters.get("condition", "baseline")),
                parameters=parameters,
                decisions=frames_of_run["decisions"],
                agents=frames_of_run["agent_data"],
                rounds=frames_of_run["model_data"],
                messages=frames_of_run["messages"],
                finished=row["status"] == "finished",
            )
        )
    if not played:
        raise RecordingError(f"There is no run with a round in {path}.")
    return played
