"""``sabm study``: the folder of a study, and its steps in order."""

from __future__ import annotations

import sys
from contextvars import copy_context
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import BaseURL, EndpointsFile, Prices
from sabm_mesa.errors import ParameterError

if TYPE_CHECKING:
    from sabm_mesa.studies.study_steps import Step

study = typer.Typer(
    name="study",
    help="Create the folder of a study (new), and run its steps in order (run).",
    rich_markup_mode=None,
    no_args_is_help=True,
)
app.add_typer(study)


@study.command()
def new(
    title: Annotated[
        str, typer.Argument(metavar="TITLE", help='Title, such as "personas x models".')
    ],
    into: Annotated[Path, typer.Option(help="Parent folder of the new folder.")] = Path(),
) -> None:
    """Create the folder of a study: its experiment, its settings and a README to edit."""
    from sabm_mesa.studies.study_steps import SETTINGS, new_study

    folder = new_study(title, into)
    say(
        f"{folder} holds a working study: change {folder.name}.toml and {SETTINGS}. Then\n  sabm "
        f"study run {quote(str(folder))}"
    )


@study.command()
def run(
    folder: Annotated[Path, typer.Argument(help="Folder of the study.")] = Path(),
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask for consent before steps that may cost money.")
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List the steps as commands; run nothing.")
    ] = False,
    base_url: BaseURL = None,
    endpoints: EndpointsFile = None,
    prices: Prices = None,
) -> None:
    """Run the remaining steps of a study: pilot, register, run, compare, bundle.

    Before a step with language models, it prints the expected cost and asks for your consent.
    """
    from sabm_mesa.studies.study_steps import command_of, finish, made_with, read_study

    steps, made = read_study(folder), made_with(folder)
    reach = ["--base-url", base_url] if base_url else []
    reach += ["--endpoints", str(endpoints)] if endpoints else []
    reach += ["--prices", str(prices)] if prices else []
    for number, step in enumerate(steps, 1):
        state = f" ({step.state})" if step.state else ""
        say(f"Step {number} of {len(steps)}, {step.name}{state}: {command_of(step.arguments)}")
        if step.state == "done" or list_:
            continue
        if step.state:
            raise ParameterError(_changed(folder, step))
        if step.asks:
            _command(*step.arguments, *reach, "--cost")
            if not yes and _asks_models(step):
                _agree(step)
        _command(*step.arguments, *(reach if step.arguments[0] in _REACHING else ()))
        finish(folder, step.name, made[step.name])
    if not list_:
        say(f"The study in {folder} is complete. For the paper: {steps[-2].product}")


_REACHING = ("reproduce", "register")
"""Commands that take the addresses of language models."""


def _changed(folder: Path, step: Step) -> str:
    return (
        f"The files in {folder} changed after the step {step.name}: undo the change, or delete "
        f"{step.output} to repeat the step."
    )


def _asks_models(step: Step) -> bool:
    from sabm_mesa.minds.specs import language_model

    specs = [
        word.partition("=")[2]
        for option, word in zip(step.arguments, step.arguments[1:], strict=False)
        if option == "--minds"
    ]
    return any(map(language_model, specs))


def _agree(step: Step) -> None:
    if not sys.stdin.isatty():
        raise ParameterError(
            f"The step {step.name} may cost what is printed above: consent with --yes."
        )
    if not typer.confirm(f"Run the step {step.name}?"):
        raise typer.Exit(0)


def _command(*arguments: str) -> None:
    """Run another command with its arguments, and pass on its errors."""
    from sabm_mesa.cli import command_line

    command = command_line(arguments[0])
    status = copy_context().run(command, args=list(arguments), standalone_mode=False)
    if status:
        raise typer.Exit(status)
