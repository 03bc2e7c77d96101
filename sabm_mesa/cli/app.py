"""The `typer` application, and the options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa import __version__
from sabm_mesa.cli import completion

FIRST = """\
Agents that talk, reason and decide, on Mesa. Without a key and without a network, for a start:

  sabm run kbc         play the beauty contest; data and plots are in the folder out
  sabm view            watch the scenarios in a browser, read recordings, play yourself
  sabm describe kbc    rules, parameters, columns and prompts of a scenario
  sabm cost kbc --minds llm:gpt-4o-mini    what a language model would cost
  sabm new my_scenario write a small scenario of your own that works, to start from
  sabm doctor          whether key, server, browser and packages are as they should be

All commands: sabm --help. The documentation is in the folder docs of the source (make docs)."""
"""What to do first."""

app = typer.Typer(
    name="sabm",
    help="Smart agent-based models: agents whose decisions come from a language model, a classical "
    "behavioural rule, or a script. Start with: sabm run kbc",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

ScenarioName = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="Name of the scenario, such as kbc.",
        autocompletion=completion.scenarios,
    ),
]
RecordingPath = Annotated[
    Path, typer.Argument(metavar="RECORDING", help="A recording, such as out/recording.sqlite.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Minds = Annotated[
    str | None,
    typer.Option(
        "--minds",
        help="Who decides: classical, classical:NAME, fixed:VALUE, llm:MODEL, llm:MODEL@URL, "
        "gguf:FILE, py:FILE; several with their numbers: 'llm:a=5,fixed:0=1'. classical by "
        "default.",
        autocompletion=completion.minds,
    ),
]
Condition = Annotated[
    str | None, typer.Option(help="Named setting of the prompts; baseline by default.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter; may be repeated."),
]
Rounds = Annotated[int | None, typer.Option(help="Rounds of a run.")]
Prompts = Annotated[Path | None, typer.Option(help="Your own prompt file (TOML).")]
Prices = Annotated[Path | None, typer.Option(help="Your own price file (TOML).")]
BaseURL = Annotated[
    str | None, typer.Option(help="OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1.")
]
MaxConcurrency = Annotated[
    int | None, typer.Option(min=1, help="Requests under way at once at the most.")
]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds a request may take.")]
BudgetUSD = Annotated[
    float | None, typer.Option(min=0, help="Stop before more dollars than this are spent.")
]
MaxAsks = Annotated[
    int | None, typer.Option(min=0, help="Stop before more requests than this are answered.")
]
MaxTokens = Annotated[
    int | None, typer.Option(min=0, help="Stop before more tokens than this are used in all.")
]

ShareRequests = Annotated[
    bool,
    typer.Option(
        "--share-requests",
        help="Send identical questions of a simultaneous phase as one request for so many answers.",
    ),
]


def say(text: str, *, err: bool = False) -> None:
    """Print a text; nothing but this prints, so that nothing in it can control the terminal.

    Args:
        text: the text; what is not printable in its lines becomes a blank.
        err: whether it goes to standard error.
    """
    lines = (
        "".join(sign if sign.isprintable() else " " for sign in line) for line in text.split("\n")
    )
    typer.echo("\n".join(lines), err=err)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"sabm-mesa {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version
    if context.invoked_subcommand is None:
        say(FIRST)
