"""The `typer` application: its name, its help and the one way to print."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.core import TyperGroup

from sabm_mesa import __version__

FIRST = """\
Agents that talk, reason and decide, on Mesa. Without a key and without a network, for a start:

  sabm run kbc         play the beauty contest; data and plots are in the folder out
  sabm view            watch the scenarios in a browser, read recordings, play yourself
  sabm describe kbc    rules, parameters, columns and prompts of a scenario
  sabm cost kbc --minds llm:gpt-4o-mini    what a language model would cost
  sabm new my_scenario write a small scenario of your own that works, to start from
  sabm doctor          whether key, server, browser and packages are as they should be

All commands: sabm --help. The documentation is in the folder docs of the source (make docs)."""
"""The first steps of a new user."""


class _ByName(TyperGroup):
    """The commands in the order of their names; else they stand as they were imported."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The names of the commands."""
        return sorted(super().list_commands(ctx))


app = typer.Typer(
    cls=_ByName,
    name="sabm",
    help="Smart agent-based models: agents whose decisions come from a language model, a classical "
    "behavioural rule, or a script. Start with: sabm run kbc",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def say(text: str, *, err: bool = False) -> None:
    """Print a text; nothing but this prints, so that nothing in it can control the terminal.

    Args:
        text: the text; unprintable characters in its lines become blanks.
        err: whether it goes to standard error.
    """
    typer.echo("\n".join(map(_printable, text.split("\n"))), err=err)


def _printable(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() else " " for sign in line)


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
