"""``sabm fit``."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, RecordingPath, ScenarioFile

if TYPE_CHECKING:
    from sabm_mesa.studies.fit import FitGroup, FitStudy

MODEL_WIDTH = 26
NAME_WIDTH = 20
SURE = 0.9
"""The share of simulated data sets below which a selection is called uncertain."""


@app.command()
def fit(
    path: RecordingPath,
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Behavioural model to fit (default: all that apply). Repeatable."),
    ] = None,
    mind: Annotated[
        str, typer.Option(help="Only agents with this mind, such as llm:MODEL (default: all).")
    ] = "",
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Only the first n rounds.")
    ] = None,
    agents: Annotated[
        bool, typer.Option("--agents", help="Also fit each agent (slow with many agents).")
    ] = False,
    bootstrap: Annotated[
        int, typer.Option(min=0, max=10_000, help="Number of bootstrap samples; 0 for none.")
    ] = 200,
    confusion: Annotated[
        int,
        typer.Option(
            min=0, max=10_000,
            help="Number of data sets to simulate from each model for the confusion matrix; 0 for "
            "none.",
        ),
    ] = 10,
    absolute: Annotated[
        int,
        typer.Option(
            min=0, max=10_000,
            help="Number of data sets to simulate from the selected model for the test of its fit: "
            "39 or more; 0 for none.",
        ),
    ] = 99,
    seed: Annotated[int, typer.Option(min=0, help="Seed of bootstrap and simulations.")] = 0,
    scenario: ScenarioFile = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files (default: fit, next to RECORDING).")
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Fit behavioural models to the decisions of a recording, and select one by BIC."""
    from sabm_mesa.analysis.plot_style import to_png
    from sabm_mesa.models import registry
    from sabm_mesa.recording import export
    from sabm_mesa.studies.fit import (
        FitOptions,
        fit_recording,
        summary,
        table_of_fits,
        table_of_types,
    )
    from sabm_mesa.studies.plots import draw_fingerprint

    registry.load_given(scenario, path)
    options = FitOptions(
        models=model or (), mind=mind, rounds=rounds, agents=agents, bootstrap=bootstrap,
        confusion=confusion, absolute=absolute, seed=seed,
    )  # fmt: skip
    folder = path.parent / "fit" if out is None else out
    study = fit_recording(path, options, lambda what: say(f"Fitting {what} …", err=True))
    content = summary(study)
    frames = {"fit": table_of_fits(study)}
    types = table_of_types(study)
    if len(types):
        frames["types"] = types
    files = export.write_frames(folder, frames, "csv")
    mine = export.readable_json(study.fingerprint.as_json())
    files += [
        export.write_text_file(folder / "fit.json", export.readable_json(content)),
        export.write_text_file(folder / "fingerprint.json", mine),
        export.write_picture(folder / "fingerprint.png", to_png(draw_fingerprint(study))),
    ]
    if as_json:
        say(export.readable_json({**content, "files": [str(file) for file in files]}))
        return
    say("\n".join(_in_words(study, content)))
    say(f"Written to {folder}: {', '.join(file.name for file in files)}")
    minds = f"fitted:{folder / 'fingerprint.json'}"
    command = ["sabm", "run", scenario or study.scenario, "--minds", minds]
    say(f"Play it: {shlex.join(command)}")


def _in_words(study: FitStudy, content: dict[str, Any]) -> list[str]:
    """Return the fits of all agents and of each mind, and the certainty of the selection."""
    lines = []
    for group in study.groups:
        if group.kind != "agent":
            lines += _of_group(group)
    for name, needs in study.left_out.items():
        lines.append(f"{name} does not apply: the runs do not have {', '.join(needs)}")
    if study.unfinished:
        runs = ", ".join(map(str, study.unfinished))
        lines.append(f"Unfinished: run {runs}. Only the finished rounds are used.")
    if (table := content["confusion"]) is not None:
        lines.append("Selected by BIC (columns) when a model (rows) is true, with data like these:")
        numbers = range(1, len(table["models"]) + 1)
        lines.append(f"     {'':<{MODEL_WIDTH}} " + " ".join(f"{n:>5}" for n in numbers))
        lines += [
            f"  {n:>2} {name:<{MODEL_WIDTH}} " + " ".join(f"{share:>5.0%}" for share in shares)
            for n, name, shares in zip(numbers, table["models"], table["selected"], strict=True)
        ]
        found_again = table["selected"][0][0]
        if found_again < SURE:
            lines.append(
                f"  Not certain: if {table['models'][0]} is true, it is selected in only "
                f"{found_again:.0%} of such data sets."
            )
    model = study.pooled.selected.fit.model.name
    for person in study.behaviour.people:
        if person.model == model:
            values = ", ".join(f"{name} {value:g}" for name, value in person.parameters.items())
            lines.append(f"People: {values} ({person.who}; {person.source})")
    return lines


def _verdict(group: FitGroup) -> list[str]:
    """Return the selected model, and the result of the absolute test."""
    from sabm_mesa.analysis.estimation import MISSES

    best, test = group.selected, group.test
    model = best.fit.model
    named = f"{model.name}, {model.title} ({model.source})"
    gained = "" if math.isnan(best.gained) else f"; it gains {best.gained:.0%} over chance"
    lines = []
    if test is not None and test.refused:
        lines.append(
            f"  Verdict: none of these. The best by BIC is {named}{gained}, but decisions drawn "
            f"from it differ from these (p = {test.p:.2g}, {test.data_sets} data sets):"
        )
        lines += [f"    {MISSES[name]}" for name in test.misses]
    else:
        lines.append(f"  Selected by BIC: {named}{gained}")
        if test is not None:
            lines.append(
                f"  These decisions could come from it (p = {test.p:.2g}, {test.data_sets} data "
                "sets)."
            )
    other = group.by_players.fit.model
    if other is not model:
        lines.append(f"  By players instead of decisions, BIC selects {other.name}.")
    return lines


def _of_group(group: FitGroup) -> list[str]:
    from sabm_mesa.analysis.estimation import MENTIONED

    panel = group.panel
    invalid = f" ({panel.invalid:,} invalid left out)" if panel.invalid else ""
    players = f"{len(panel.players):,} player{'' if len(panel.players) == 1 else 's'}"
    head = f"  {'model':<{MODEL_WIDTH}} {'log-lik.':>10} {'gained':>7} {'BIC':>10} "
    lines = [
        f"{group.name}: {len(panel):,} decisions of {players}{invalid}",
        f"{head}{'by players':>10} {'held out':>9}",
    ]
    for fitted in group.fitted:
        held = "–" if math.isnan(fitted.held_out) else f"{fitted.held_out:.3f}"
        gained = "–" if math.isnan(fitted.gained) else f"{fitted.gained:.0%}"
        lines.append(
            f"  {fitted.fit.model.name:<{MODEL_WIDTH}} {fitted.fit.log_likelihood:>10.1f} "
            f"{gained:>7} {fitted.fit.bic:>10.1f} {fitted.fit.bic_of(len(panel.players)):>10.1f} "
            f"{held:>9}"
        )
    best = group.selected
    lines += _verdict(group)
    if best.fit.by_name:
        resampled = "  bootstrap" if best.resampled else ""
        head = (
            f"    {'95 % intervals':<{NAME_WIDTH}} {'':>8}  {'profile likelihood':<20}{resampled}"
        )
        lines.append(head.rstrip())
    for name, value in best.fit.by_name.items():
        low, high = best.intervals[name]
        line = f"    {name:<{NAME_WIDTH}} {value:>8.3f}  {f'[{low:.3f}, {high:.3f}]':<20}"
        if name in best.resampled:
            least, most = best.resampled[name]
            line += f"  [{least:.3f}, {most:.3f}]"
        if name in best.unidentified:
            line += "  not identified"
        elif any(best.open_ends(name)):
            line += "  ends where the search does"
        lines.append(line.rstrip())
    if group.undecided:
        lines.append(
            f"  The data hardly distinguish it from {', '.join(group.undecided)}: BIC differs by "
            f"less than {MENTIONED:g}."
        )
    return lines
