"""The options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from sabm_mesa.cli.app import say
from sabm_mesa.core.parameters import MOST, SERVICES, check_choice
from sabm_mesa.core.parsing import parse_minds, parse_value
from sabm_mesa.errors import ParameterError
from sabm_mesa.minds.files.sandbox import (
    DEMANDED,
    PASSED,
    SENTENCES,
    environment,
    is_sandboxed,
)
from sabm_mesa.models import registry

if TYPE_CHECKING:
    from sabm_mesa.llm import Connection

LLM_PANEL = "Options of language models"
FILE_PANEL = "Options of minds from files"
FIGURE_PANEL = "Options of figures"
"""The sections of the help that hold these options."""
MOST_RUNS = 1_000_000
"""The maximum number of runs of one command, per combination or condition."""
HOST, PORT = "127.0.0.1", 8765
"""The default address and port of servers of the package."""


def complete_scenarios(incomplete: str) -> list[str]:
    """Return matching scenarios, including those of other packages."""
    return [name for name in registry.names() if name.startswith(incomplete)]


def is_recording(name: str) -> bool:
    """Whether an argument names a recording rather than a scenario."""
    if name in registry.names() or registry.is_file(name):
        return False
    with suppress(OSError):  # no file can have this name
        return "/" in name or name.endswith(".sqlite") or Path(name).is_file()
    return False


ScenarioName = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="Name of a scenario, such as kbc, or your own file: FILE.py or FILE.py:CLASS.",
        autocompletion=complete_scenarios,
    ),
]
RecordingPath = Annotated[
    Path, typer.Argument(metavar="RECORDING", help="A recording, such as out/recording.sqlite.")
]
ScenarioFile = Annotated[
    str | None,
    typer.Option(
        "--scenario",
        metavar="FILE.py",
        help="File of the recorded scenario, if it is your own: FILE.py or FILE.py:CLASS.",
    ),
]
FirstSeed = Annotated[
    int, typer.Option(min=0, help="Seed S of the first run; run i has the seed S + i.")
]
MindsByCondition = Annotated[
    list[str] | None,
    typer.Option(
        "--minds",
        metavar="[CONDITION=]SPEC",
        help="Who decides, in all conditions or in one (default: classical). Repeatable.",
    ),
]
RunsOn = Annotated[
    str,
    typer.Option(
        metavar="here|processes|ray",
        help="Where to run: in this process, in several processes, or on Ray. Caps hold for all "
        "runs together.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Number of processes (default: one per core).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Minds = Annotated[
    list[str] | None,
    typer.Option(
        "--minds",
        help="Who decides (default: classical). A rule: classical, classical:NAME, fixed:VALUE, "
        "fitted:FILE. A language model: llm:MODEL, llm:MODEL@URL, llm:MODEL@NAME, local, "
        "gguf:FILE. Your Python file: py:FILE. A mixture, with the number of agents of each mind: "
        "'llm:a=5,fixed:0=1'. For one class of agents: CLASS/llm:a.",
    ),
]
Condition = Annotated[str | None, typer.Option(help="Name of the condition (default: baseline).")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Set a parameter of the scenario. Repeatable."
    ),
]
Rounds = Annotated[int | None, typer.Option(help="Number of rounds.")]
Prompts = Annotated[Path | None, typer.Option(help="Your own prompt file (TOML).")]
Prices = Annotated[
    Path | None, typer.Option(help="Your own prices (TOML file).", rich_help_panel=LLM_PANEL)
]
BaseURL = Annotated[
    str | None,
    typer.Option(
        help="OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1.",
        rich_help_panel=LLM_PANEL,
    ),
]
EndpointsFile = Annotated[
    Path | None,
    typer.Option(
        "--endpoints",
        help="Your endpoints file (TOML), for minds llm:MODEL@NAME.",
        rich_help_panel=LLM_PANEL,
    ),
]


class Block:
    """Options that several commands share: a dataclass, named in ``@app.command(blocks=…)``."""

    @classmethod
    def of(cls, context: typer.Context) -> Self:
        """Return the options of this block that a command was given."""
        block: Self = context.obj[cls]
        return block


@dataclass(frozen=True)
class SettingOptions(Block):
    """The options of every command that sets the parameters of runs, except the minds."""

    condition: Condition = None
    set_: Settings = None
    rounds: Rounds = None
    prompts: Prompts = None

    def parameters(self, **others: Any) -> dict[str, Any]:
        """The parameters of the run.

        Others that are None are not given.
        """
        given = {"condition": self.condition, "n_rounds": self.rounds, "prompts": self.prompts}
        return parameters_from(self.set_ or [], {**given, **others})


@dataclass(frozen=True)
class RunOptions(SettingOptions):
    """The options of every command that defines runs: their parameters and minds."""

    minds: Minds = None

    def parameters(self, **others: Any) -> dict[str, Any]:
        """The parameters of the run from `SettingOptions`, and its minds."""
        return super().parameters(minds="; ".join(self.minds) if self.minds else None, **others)


@dataclass(frozen=True)
class EndpointOptions(Block):
    """The options of every command that can reach an endpoint."""

    base_url: BaseURL = None
    endpoints: EndpointsFile = None

    def connection(self) -> Connection:
        """Return the connection to language models."""
        from sabm_mesa.llm import Connection, read_endpoints

        return Connection(self.base_url, read_endpoints(self.endpoints) if self.endpoints else {})


@dataclass(frozen=True)
class LLMOptions(EndpointOptions):
    """The options of every command that asks language models: connections and caps."""

    max_concurrency: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of simultaneous requests.", rich_help_panel=LLM_PANEL
        ),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1, help="Seconds until a request fails (default: 120).", rich_help_panel=LLM_PANEL
        ),
    ] = None
    budget_usd: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=MOST,
            help="Maximum cost in dollars. Runs stop before they exceed it.",
            rich_help_panel=LLM_PANEL,
        ),
    ] = None
    max_asks: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Maximum number of answered requests. Runs stop before they exceed it.",
            rich_help_panel=LLM_PANEL,
        ),
    ] = None
    max_total_tokens: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Maximum number of tokens, sent and received. Runs stop before they exceed it.",
            rich_help_panel=LLM_PANEL,
        ),
    ] = None
    prices: Prices = None

    def connection(self, recorded: Mapping[str, Any] | None = None) -> Connection:
        """Return the connection to language models.

        Options that are not given are those of the `recorded` connection.
        """
        from sabm_mesa.llm import Connection

        options = {
            "max_concurrency": self.max_concurrency,
            "timeout_s": self.timeout,
            "max_usd": self.budget_usd, "max_asks": self.max_asks,
            "max_total_tokens": self.max_total_tokens,
        }  # fmt: skip
        given: dict[str, Any] = {
            name: value for name, value in options.items() if value is not None
        }
        if self.prices is not None:
            given["prices"] = None
        connection = Connection.of_recorded({**(recorded or {}), **given})
        given_now = super().connection()
        return replace(
            connection,
            base_url=given_now.base_url,
            endpoints=given_now.endpoints,
            prices=self.prices or connection.prices,
            agreed=None if recorded is None else connection.agreed,
        )


@dataclass(frozen=True)
class FileMindOptions(Block):
    """The options of every command that can run minds from files: their isolation."""

    isolate: Annotated[
        bool | None,
        typer.Option(
            "--isolate/--no-isolate",
            help="Run minds from files only in a sandbox (bubblewrap), or without one. Default: in "
            "a sandbox if bubblewrap works here.",
            rich_help_panel=FILE_PANEL,
        ),
    ] = None
    pass_env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Environment variable that minds from files may read. Repeatable.",
            rich_help_panel=FILE_PANEL,
        ),
    ] = None

    def apply(self, minds: Sequence[Any] = ()) -> None:
        """Set the isolation of minds from files, for this process and its children.

        A line says how the minds from files among the populations run.
        """
        if self.isolate is not None:
            os.environ[DEMANDED] = "1" if self.isolate else "0"
            is_sandboxed()
        if self.pass_env:
            os.environ[PASSED] = " ".join(self.pass_env)
            environment()
        if line := isolation_of(minds):
            say(line, err=True)


@dataclass(frozen=True)
class FigureOptions(Block):
    """The options of every command that draws figures for a paper."""

    figures: Annotated[
        str,
        typer.Option(
            metavar="FORMATS",
            help="Formats of the figures, separated by commas: png, pdf, svg.",
            rich_help_panel=FIGURE_PANEL,
        ),
    ] = "png"
    dpi: Annotated[
        int,
        typer.Option(
            min=50, max=1200, help="Dots per inch of PNG figures.", rich_help_panel=FIGURE_PANEL
        ),
    ] = 160
    title: Annotated[
        bool,
        typer.Option(
            "--title/--no-title",
            help="Draw the title into the figures.",
            rich_help_panel=FIGURE_PANEL,
        ),
    ] = True

    def apply(self) -> None:
        """Set the look of the figures that this command draws."""
        from sabm_mesa.analysis.plot_style import FORMATS, Look, look

        formats = tuple(dict.fromkeys(part.strip() for part in self.figures.split(",")))
        for ending in formats:
            check_choice("format of figures", ending, FORMATS)
        look.set(Look(formats, self.dpi, self.title))


def isolation_of(minds: Sequence[Any]) -> str:
    """Return a line on the isolation of minds from files; ``""`` without such minds."""
    from sabm_mesa.minds.specs import files_of, is_file

    from_files = any(is_file(spec) for mind in minds for spec in files_of(mind))
    return SENTENCES[is_sandboxed()] if from_files else ""


OPTIONS = {
    "minds": "--minds",
    "condition": "--condition",
    "n_rounds": "--rounds",
    "prompts": "--prompts",
    "rng": "--seed",
}
"""Parameters with their own option."""


def parameters_from(settings: list[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a run, from ``--set`` and from other options."""
    parameters = parse_settings(settings)
    if service := sorted(SERVICES & set(parameters)):
        raise ParameterError(f"{service[0]} is not a parameter of the run: see sabm run --help.")
    for name, value in options.items():
        if value is None:
            continue
        if name in parameters:
            raise ParameterError(f"{name} is given twice: with {OPTIONS[name]} and with --set.")
        parameters[name] = value
    if isinstance(minds := parameters.get("minds"), str):
        parameters["minds"] = parse_minds(minds)
    return parameters


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` settings. A value is read as JSON if possible, else as text."""
    parsed: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not equals or not name:
            raise ParameterError(f"--set takes NAME=VALUE, not {setting!r}.")
        if name in parsed:
            raise ParameterError(f"--set {name} is given twice.")
        parsed[name] = parse_value(text)
    return parsed
