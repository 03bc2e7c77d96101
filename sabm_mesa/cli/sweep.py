"""``sabm sweep``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    MOST_RUNS,
    AsJson,
    FigureOptions,
    FileMindOptions,
    LLMOptions,
    RunsOn,
    ScenarioName,
    SettingOptions,
    Workers,
    isolation_of,
)
from sabm_mesa.core.parsing import parse_list, parse_minds
from sabm_mesa.errors import ParameterError
from sabm_mesa.models import registry

if TYPE_CHECKING:
    from sabm_mesa.runs.sweep import Sweep

COMBINATIONS, MEASURES = 20, 6
"""The maximum numbers of printed combinations, and of printed and drawn measures."""


@app.command(blocks=[SettingOptions, LLMOptions, FileMindOptions, FigureOptions])
def sweep(
    context: typer.Context,
    name: ScenarioName,
    *,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B,…",
            help="Vary a parameter. Repeat the option for a grid. For values with commas, use a "
            "JSON list: NAME=[…].",
        ),
    ] = None,
    minds: Annotated[
        list[str] | None,
        typer.Option(
            "--minds", help="Who decides (default: classical). Repeat the option to vary minds."
        ),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, max=MOST_RUNS, help="Runs per combination.")] = 1,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            help="Seed S of the first run. In each combination, run i has the seed S + i.",
        ),
    ] = 1,
    on: RunsOn = "here",
    workers: Workers = None,
    address: Annotated[
        str | None,
        typer.Option(help="Ray cluster: HOST:PORT, or auto (default: start Ray on this machine)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the sweep (default: out/sweep-SCENARIO).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a grid of parameters, minds and seeds; write tables by run, and by run and round.

    If you repeat the command, only missing runs are executed.
    """
    from sabm_mesa.cli.progress import session
    from sabm_mesa.recording import export
    from sabm_mesa.runs.sweep import RECORDING
    from sabm_mesa.runs.sweep import sweep as run_sweep

    setting = SettingOptions.of(context)
    drawing = FigureOptions.of(context)
    drawing.apply()
    model = registry.load(name)
    varied, who = _varied(vary or [], minds or [])
    parameters = setting.parameters(minds=who)
    connection = LLMOptions.of(context).connection()
    folder = out or Path("out", f"sweep-{model.scenario_name}")
    FileMindOptions.of(context).apply()
    populations = varied.get("minds", [parameters.get("minds", "classical")])

    with session(model.scenario_name, [folder / RECORDING], connection.prices) as progress:
        progress.notice = lambda: isolation_of(populations)
        done = run_sweep(
            model, varied, folder=folder, parameters=parameters, runs=runs, seed=seed, on=on,
            workers=workers, address=address, connection=connection, watch=progress.show_runs,
        )  # fmt: skip
    done = replace(done, files=[*done.files, *_figures(done)])
    say(export.readable_json(_summary(done)) if as_json else _said(done))


def _varied(vary: Sequence[str], minds: Sequence[str]) -> tuple[dict[str, list[Any]], str | None]:
    """Return the varied parameters with their values, and the minds if they are not varied."""
    varied: dict[str, list[Any]] = {}
    for text in vary:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not name or not values:
            raise ParameterError(f"--vary takes NAME=A,B,…, not {text!r}.")
        if name == "minds":
            raise ParameterError("To vary the minds, give --minds several times.")
        if name in varied:
            raise ParameterError(f"--vary {name} is given twice.")
        varied[name] = parse_list(values)
    if len(minds) > 1:
        varied["minds"] = [parse_minds(spec) for spec in minds]
    return varied, minds[0] if len(minds) == 1 else None


def _summary(done: Sweep) -> dict[str, Any]:
    return {
        "scenario": done.specs[0].scenario.scenario_name,
        "varied": {name: list(values) for name, values in done.varied.items()},
        "parameters": done.parameters,
        "seeds": done.seeds,
        "runs": len(done.specs),
        "ran": done.ran,
        "invalid": int(done.runs["invalid"].sum()),
        "cost_usd": float(done.runs["cost_usd"].sum(skipna=False)),
        "wall_s": round(done.wall_s, 3),
        "recording": str(done.path),
        "files": [str(path) for path in done.files],
    }


def _measures(done: Sweep) -> list[str]:
    """Return the first end measures that are numbers."""
    from sabm_mesa.analysis.plot_style import is_number

    names = list(map(str, done.runs))
    names = names[names.index("cost_usd") + 1 :]
    return [name for name in names if is_number(done.runs[name])][:MEASURES]


def _figures(done: Sweep) -> list[Path]:
    """Draw measures by the varied parameters."""
    from sabm_mesa.analysis.plot_style import write_figures
    from sabm_mesa.recording import export
    from sabm_mesa.studies.plots import by_parameter

    measures = _measures(done)
    if not done.varied or not measures:
        return []
    model, n = done.specs[0].scenario, len(done.seeds)
    titles = {name: model.page.title_of(name) for name in measures}
    varied = list(map(str, done.runs))[: len(done.varied)]
    subtitle = f"{model.title} · {n} {'runs' if n > 1 else 'run'} a combination"
    drawn = by_parameter(done.runs, varied, titles, subtitle=subtitle)
    return write_figures(done.path.parent, {"measures": drawn}, export.write_file)


def _said(done: Sweep) -> str:
    """Return a few lines: the runs, the means of each combination, the tables."""
    n, seeds = len(done.specs), done.seeds
    varied = ", ".join(f"{name} ({len(values)})" for name, values in done.varied.items())
    kept = n - done.ran
    before = f", {kept} of them from before" if kept else ""
    title = done.specs[0].scenario.title
    head = f"{title}: {n} runs{before}; varied: {varied or 'nothing'}"
    with_seeds = f"seeds {seeds[0]}–{seeds[-1]}" if seeds[1:] else f"seed {seeds[0]}"
    lines = [f"{head}; {with_seeds}; {done.wall_s:.1f} s", *_means(done)]
    if invalid := int(done.runs["invalid"].sum()):
        lines.append(f"Warning: {invalid:,} questions got no usable answer.")
    dollars = float(done.runs["cost_usd"].sum(skipna=False))
    if math.isnan(dollars):
        lines.append("The price of a model is not known: list it in a price file (--prices).")
    elif dollars:
        lines.append(f"Spent on these runs in all: ${dollars:.4f}")
    files = [done.path.name, *(path.name for path in done.files)]
    written = f"Written to {done.path.parent}: {', '.join(files)}"
    return "\n".join([*lines, written])


def _means(done: Sweep) -> list[str]:
    """Return the first measures of each combination, as means over its runs."""
    from sabm_mesa.recording.varied import word_of

    runs, n = done.runs, len(done.seeds)
    measures, lines = _measures(done), []
    for start in range(0, min(len(runs), COMBINATIONS * n), n):
        mean = runs.iloc[start : start + n].mean(numeric_only=True)
        known = [f"{name} {mean[name]:.4g}" for name in measures if not math.isnan(mean[name])]
        values = {name: done.specs[start].parameters[name] for name in done.varied}
        combination = ", ".join(f"{name} {word_of(value)}" for name, value in values.items())
        lines.append(f"  {combination or 'all'}: {', '.join(known)}")
    if len(runs) > COMBINATIONS * n:
        lines.append(f"  … ({len(runs) // n - COMBINATIONS} more in runs.csv)")
    return lines
