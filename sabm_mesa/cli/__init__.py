"""The command line: ``sabm``."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import threading
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from sabm_mesa import __version__, registry
from sabm_mesa.cli.values import parameters_from
from sabm_mesa.errors import ParameterError, RunError, SabmError

app = typer.Typer(
    name="sabm",
    help="Smart agent-based models: agents whose decisions come from a language model, a classical "
    "behavioural rule, or a script. Start with: sabm run kbc",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

ScenarioName = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="Name of the scenario, such as kbc.")
]


class Movie(StrEnum):
    """Formats of an animation."""

    GIF = "gif"
    MP4 = "mp4"


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; every expected failure ends in one line on standard error.

    Args:
        arguments: what stands after ``sabm``; those of the process when None.

    Raises:
        SystemExit: always, with the exit status.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = app(args=arguments, standalone_mode=False)
    except TyperException as error:
        status = _fail(error.format_message(), error.exit_code, "--json" in arguments)
    except SabmError as error:
        status = _fail(str(error), error.exit_status, "--json" in arguments)
    sys.exit(status or 0)


def _fail(message: str, status: int, as_json: bool) -> int:
    line = message if message.startswith("Usage:") else f"sabm: {' '.join(message.split())}"
    typer.echo(line, err=True)
    if as_json:
        typer.echo(json.dumps({"error": " ".join(message.split()), "exit_status": status}))
    return status


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sabm-mesa {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


@app.command()
def run(
    name: ScenarioName,
    minds: Annotated[
        str | None,
        typer.Option(
            help="Who decides: classical, classical:NAME, fixed:VALUE, llm:MODEL, llm:MODEL@URL; "
            "several with their numbers: 'llm:a=5,fixed:0=1'. classical by default."
        ),
    ] = None,
    condition: Annotated[
        str | None, typer.Option(help="Named setting of the prompts; baseline by default.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter; may be repeated."),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds of a run.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Number of runs; run i has the seed S + i.")] = 1,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed S of the first run; drawn by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for recording, tables and plots.")] = Path(
        "out"
    ),
    base_url: Annotated[
        str | None,
        typer.Option(help="OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1."),
    ] = None,
    max_concurrency: Annotated[
        int | None, typer.Option(min=1, help="Requests under way at once at the most.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds a request may take.")] = 120.0,
    budget_usd: Annotated[
        float | None, typer.Option(min=0, help="Stop before more dollars than this are spent.")
    ] = None,
    max_asks: Annotated[
        int | None, typer.Option(min=0, help="Stop before more requests than this are answered.")
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Stop before more tokens than this are used in all.",
        ),
    ] = None,
    prices: Annotated[Path | None, typer.Option(help="Your own price file (TOML).")] = None,
    prompts: Annotated[Path | None, typer.Option(help="Your own prompt file (TOML).")] = None,
    animate: Annotated[
        Movie | None, typer.Option(help="Draw the first run as an animation too.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a scenario and write its recording, tables, plots and summary."""
    from sabm_mesa.cli.progress import Progress
    from sabm_mesa.cli.report import report
    from sabm_mesa.llm import Budget, Connection
    from sabm_mesa.recording import Recording, outputs
    from sabm_mesa.runner import check_animation, run_all

    model = registry.scenario(name)
    parameters = parameters_from(
        set_ or [],
        {
            "minds": minds,
            "condition": condition,
            "n_rounds": rounds,
            "prompts": prompts,
            "rng": seed,
        },
    )
    seed = parameters.pop("rng", None)
    budget = Budget(budget_usd, max_asks, max_tokens)
    connection = Connection(
        base_url, max_concurrency, timeout_s=timeout, prices=prices, budget=budget
    )
    if animate is not None:
        check_animation(model)
        check_movie(animate)
    # Wrong use ends here, before there is any file.
    model(**parameters, rng=seed, connection=connection, recording=False)
    with Recording(out / "recording.sqlite") as recording, Progress(name, runs) as progress:
        try:
            done = run_all(
                model, parameters, runs=runs, seed=seed,
                recording=recording, connection=connection, watch=progress.show,
            )  # fmt: skip
        except (RunError, KeyboardInterrupt) as error:
            number = "1 answer is" if progress.asks == 1 else f"{progress.asks:,} answers are"
            answered = f"{number} in {recording.path}."
            raise RunError(f"{str(error) or 'Stopped.'} {answered}") from error
    summary = done.summary()
    movies = {} if animate is None else {f"animation.{animate}": done.animation()}
    files = outputs.write_outputs(
        out, done.model_frame(), done.agent_frame(), summary, done.figures(), movies
    )
    files = [recording.path, *files]
    typer.echo(
        outputs.as_json({**summary, "files": [str(path) for path in files]})
        if as_json
        else report(done, files)
    )


def check_movie(movie: Movie) -> None:
    """Check that a format can be written on this machine.

    Raises:
        ParameterError: when it needs a program that is not installed.
    """
    if movie is Movie.MP4 and shutil.which("ffmpeg") is None:
        raise ParameterError("An MP4 needs the program ffmpeg: install it, or use --animate gif.")


@app.command()
def describe(name: ScenarioName, as_json: AsJson = False) -> None:
    """Describe a scenario: rules, parameters, minds, personas, and prompts with their hashes."""
    from sabm_mesa.describe import as_text
    from sabm_mesa.describe import describe as description_of
    from sabm_mesa.recording import outputs

    description = description_of(registry.scenario(name))
    typer.echo(outputs.as_json(description) if as_json else as_text(description))
