"""The `typer` application: its name, its help and the one way to print."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from sabm_mesa import __version__

Command = TypeVar("Command", bound=Callable[..., Any])

FIRST = """\
Mesa agents that talk, reason and decide. These commands need no key and no network:

  sabm run kbc         play a beauty contest; data and plots are written to the folder out
  sabm view            watch scenarios in a browser, read recordings, play yourself
  sabm describe kbc    rules, parameters, columns and prompts of a scenario
  sabm cost kbc --minds llm:gpt-4o-mini    what a language model would cost
  sabm new my_scenario write a small working scenario to start from
  sabm doctor          check key, browser and packages

All commands: sabm --help. The documentation is in the folder docs of the source (make docs)."""
"""The first steps of a new user."""


GROUPS: Mapping[str, Mapping[str, str]] = {
    "Run": {
        "run": "Run a scenario; write its recording, tables and plots.",
        "sweep": "Run a grid of parameters, minds and seeds.",
        "cost": "Estimate what runs would cost; nothing is sent.",
        "play": "Take one seat of a scenario in the terminal.",
        "view": "Open the viewer in a browser.",
    },
    "Record": {
        "resume": "Continue runs that were stopped or failed.",
        "replay": "Play a recording again, without key and network.",
        "fork": "Branch runs: the same history, then other settings.",
        "export": "Write a recording as tables.",
        "import": "Make a recording from a table of decisions.",
        "bundle": "Write a recording as pages for a supplement.",
    },
    "Study": {
        "reproduce": "Run published experiments and compare the results.",
        "compare": "Test conditions of runs, or compare them with people.",
        "register": "Freeze an experiment before it runs.",
        "audit": "Test whether claims survive other wordings and models.",
        "probe": "Test whether minds have memorized published games.",
        "fit": "Fit behavioural models to a recording.",
        "judge": "Code the messages and the reasoning of a recording.",
    },
    "Teach": {
        "tournament": "Let minds from files play one another, and rank them.",
    },
    "Build": {
        "scenarios": "List the scenarios.",
        "describe": "Describe a scenario or recorded runs (ODD protocol).",
        "new": "Write a small working scenario to start from.",
        "check": "Check that a scenario follows the rules of the package.",
        "doctor": "Check this machine or a model.",
        "models": "List and download local models.",
    },
}
"""Group of the help → command → what it does, in one line of at most 60 characters."""


class _Command(TyperCommand):
    """A command with blocks of shared options; its help has one section for each kind of option.

    A block is a dataclass whose fields are options. The command finds it with `Block.of`.
    """

    blocks: Sequence[type] = ()

    def __init__(self, name: str | None, *, params: list[Any], **settings: Any) -> None:
        shared = [parameter for block in self.blocks for parameter in _as_command(block).params]
        super().__init__(name, params=[*shared, *params], **settings)

    # Typer's contexts are narrower than what the methods of Click take.
    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command, after its blocks are filled."""
        ctx.obj = {}
        for block in self.blocks:
            command = _as_command(block)
            given = {parameter.name: ctx.params.pop(parameter.name) for parameter in command.params}
            ctx.obj[block] = command.callback(**given)
        return super().invoke(ctx)

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write the arguments, the command's options, then the sections of shared options."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                title = getattr(parameter, "rich_help_panel", None) or default
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


@cache
def _as_command(block: type) -> Any:
    """Return the command that Typer makes of a block: its parameters are the block's fields."""
    alone = typer.Typer(add_completion=False)
    alone.command()(block)
    return typer.main.get_command(alone)


class _App(typer.Typer):
    """The application; its commands are `_Command`s."""

    def command(
        self, *given: Any, blocks: Sequence[type] = (), **settings: Any
    ) -> Callable[[Command], Command]:
        """Register a command with blocks of shared options, as `typer.Typer.command` does."""
        with_blocks = type("Command", (_Command,), {"blocks": blocks})
        return super().command(*given, **{"cls": with_blocks, **settings})


class _InGroups(TyperGroup):
    """Lists the commands by the groups of the help, instead of in import order."""

    # Typer's contexts are narrower than what the methods of Click take.
    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Return the names of the commands, in the order of the help."""
        known = super().list_commands(ctx)
        ordered = [name for group in GROUPS.values() for name in group if name in known]
        return [*ordered, *sorted(set(known) - set(ordered))]

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write the groups, one line per command."""
        known = self.list_commands(ctx)
        width = max(map(len, known), default=0)
        for title, group in GROUPS.items():
            with formatter.section(title):
                rows = [(name.ljust(width), line) for name, line in group.items() if name in known]
                formatter.write_dl(rows)
        grouped = {name for group in GROUPS.values() for name in group}
        if others := [name for name in known if name not in grouped]:
            with formatter.section("Other packages"):
                formatter.write_dl([(name.ljust(width), self._line(ctx, name)) for name in others])

    def _line(self, ctx: typer.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return "" if command is None else command.get_short_help_str(60)


app = _App(
    cls=_InGroups,
    name="sabm",
    help="Smart agent-based models: agents decide with a language model, a behavioural rule, or a "
    "person. Start with: sabm run kbc",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def say(text: str, *, err: bool = False) -> None:
    """Print a text, on standard output or error; unprintable characters become spaces.

    All output uses this function, so that no text can control the terminal.
    """
    typer.echo("\n".join(map(_printable, text.split("\n"))), err=err)


def _printable(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() else " " for sign in line)


def typed(context: typer.Context) -> str:
    """Return the command as it was given, which continues a study when it is repeated."""
    return shlex.join(["sabm", *context.find_root().obj])


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
