"""``sabm run``."""

from __future__ import annotations

import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    MOST_RUNS,
    AsJson,
    FigureOptions,
    FileMindOptions,
    LLMOptions,
    RunOptions,
    ScenarioName,
    isolation_of,
    with_options,
)
from sabm_mesa.errors import ParameterError
from sabm_mesa.models import registry


class Movie(StrEnum):
    """Formats of an animation."""

    GIF = "gif"
    MP4 = "mp4"


@app.command()
@with_options
def run(
    name: ScenarioName,
    *,
    setting: RunOptions,
    runs: Annotated[
        int, typer.Option(min=1, max=MOST_RUNS, help="Number of runs; run i has the seed S + i.")
    ] = 1,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed S of the first run (default: random).")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for recording, tables and plots.")] = Path(
        "out"
    ),
    llm: LLMOptions,
    isolation: FileMindOptions,
    drawing: FigureOptions,
    animate: Annotated[
        Movie | None, typer.Option(help="Also write an animation of the first run.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario and write its recording, tables, plots and summary."""
    from sabm_mesa.cli.progress import Progress, guarded
    from sabm_mesa.cli.report import deliver, reporting_lost
    from sabm_mesa.minds.specs import check_fixed
    from sabm_mesa.recording import Recording
    from sabm_mesa.runs.cost import with_context
    from sabm_mesa.runs.run import check_animation, run_all

    model = registry.load(name)
    parameters = setting.parameters(rng=seed)
    seed = parameters.pop("rng", None)
    connection = llm.connection()
    isolation.apply()
    drawing.apply()
    if animate is not None:
        check_animation(model)
        check_movie(animate)
    # Usage errors are raised here, before any file exists.
    connection = with_context(connection, model, parameters)
    first = model(**parameters, rng=seed, connection=connection, recording=False)
    if not hasattr(model, "plain_class"):  # the author's model is made once a run
        check_fixed(model, parameters)
    if line := isolation_of([parameters.get("minds", "classical")]):
        say(line, err=True)
    with (
        reporting_lost([out / "recording.sqlite"], connection.prices),
        Recording(out / "recording.sqlite") as recording,
        Progress(model.scenario_name, runs) as progress,
    ):
        done = guarded(
            lambda: run_all(
                model, parameters, runs=runs, first=first,
                recording=recording, connection=connection, watch=progress.show,
            ),
            progress,
            recording.path,
        )  # fmt: skip
    movies = {} if animate is None else {f"animation.{animate}": done.animation()}
    deliver(done, out, recording.path, as_json=as_json, movies=movies)


def check_movie(movie: Movie) -> None:
    """Check that a format can be written on this machine.

    Raises:
        ParameterError: when it needs a program that is not installed.
    """
    if movie is Movie.MP4 and shutil.which("ffmpeg") is None:
        raise ParameterError("An MP4 needs the program ffmpeg: install it, or use --animate gif.")
