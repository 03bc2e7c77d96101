"""``sabm humans``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, RecordingPath, ScenarioFile
from sabm_mesa.models import registry


@app.command()
def humans(
    path: RecordingPath,
    *,
    against: Annotated[
        str,
        typer.Option(
            metavar="DATA",
            help="Published data set, such as nagel-1995, or your own CSV file.",
        ),
    ],
    codebook: Annotated[
        Path | None,
        typer.Option(
            help="TOML file that describes the columns of your CSV file (default: same path, with "
            "the ending .toml)."
        ),
    ] = None,
    run: Annotated[
        list[int] | None,
        typer.Option("--run", help="Only this run (default: all finished runs). Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of permutations and resamples.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the files (default: humans, next to the recording)."),
    ] = None,
    scenario: ScenarioFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare decisions of a recording with those of people: inference, effect, distribution."""
    from sabm_mesa.analysis.plot_style import to_png
    from sabm_mesa.cli.report import reporting_lost
    from sabm_mesa.recording import export
    from sabm_mesa.studies import humans as study
    from sabm_mesa.studies.people import load_people

    registry.load_given(scenario, path)
    people = load_people(against, codebook)
    with reporting_lost([path]):
        comparison = study.compare(people, study.read_runs(path, people, run), seed=seed)
    folder = path.parent / "humans" if out is None else out
    figure = study.picture(comparison)
    files = export.write_frames(folder, {"humans": comparison.frame()}, "csv")
    content, votes = study.said(comparison), study.votes_in_words(path)
    content |= {"votes": votes} if votes else {}
    files.append(export.write_text_file(folder / "humans.json", export.readable_json(content)))
    pictures = [] if figure is None else ["humans.png"]
    if figure is not None:
        files.append(export.write_picture(folder / pictures[0], to_png(figure)))
    text = study.as_markdown(comparison, pictures)
    files.append(export.write_text_file(folder / "humans.md", text))
    if as_json:
        say(export.readable_json({**content, "files": [str(file) for file in files]}))
    else:
        say("\n".join([*study.lines_of(comparison), *([votes] if votes else [])]))
        say(f"Written to {folder}: {', '.join(file.name for file in files)}")
