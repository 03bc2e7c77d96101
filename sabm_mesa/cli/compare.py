"""``sabm compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from sabm_mesa.cli.app import app
from sabm_mesa.cli.options import AsJson, FigureOptions, ScenarioFile
from sabm_mesa.core.parameters import check_choice
from sabm_mesa.core.parsing import parse_list
from sabm_mesa.errors import ParameterError
from sabm_mesa.models import registry


@app.command(blocks=[FigureOptions])
def compare(
    context: typer.Context,
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER|RECORDING…", help="A sweep, or several folders of runs or recordings."
        ),
    ],
    *,
    measure: Annotated[
        str | None, typer.Option(help="Measure at the end of a run: a column of runs.csv.")
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Compare the decisions with those of people instead: a published data set, such "
            "as nagel-1995, or your own CSV file.",
        ),
    ] = None,
    codebook: Annotated[
        Path | None,
        typer.Option(
            help="TOML file that describes the columns of your CSV file (default: same path, with "
            "the ending .toml)."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME",
            help="Varied parameters to compare (default: all). The others are pooled.",
        ),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="mean|median|share",
            help="Statistic (default: share for a measure that is 0 or 1, else median).",
        ),
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH", help="Smallest and largest possible value of the measure."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files (default: compare, next to the runs).")
    ] = None,
    scenario: ScenarioFile = None,
    as_json: AsJson = False,
) -> None:
    """Test the settings of a sweep or of recordings, or compare decisions with those of people."""
    from sabm_mesa.cli.progress import reporting_lost
    from sabm_mesa.cli.report import deliver_report
    from sabm_mesa.studies import compare as study
    from sabm_mesa.studies import people as of_people

    FigureOptions.of(context).apply()
    first = sources[0] if sources[0].is_dir() else sources[0].parent
    folder = out or first / "compare"
    if people is not None:
        if measure or by or of or bounds or len(sources) > 1:
            raise ParameterError(
                "--people compares all decisions of one recording: leave out --measure, --by, "
                "--of and --bounds, and name one recording."
            )
        path = sources[0] / study.RECORDING if sources[0].is_dir() else sources[0]
        registry.load_given(scenario, path)
        data = of_people.load_people(people, codebook)
        with reporting_lost([path]):
            name = f"people-{Path(data.name).stem}"
            report = of_people.compare(data, of_people.read_runs(path, data))
        deliver_report(report, folder, name, as_json, f"{name}-")
        return
    registry.load_given(scenario)
    if measure is None:
        raise ParameterError(
            "Name the measure to compare (--measure), or data of people (--people)."
        )
    factors = [str(name) for name in parse_list(by)] if by else []
    compared = study.compare(sources, measure, factors, of=_of(of), bounds=_bounds(bounds))
    statistic = f"-{of}" if of else ""
    name = f"{measure}{statistic}-by-{'-'.join(compared.by)}".replace("/", "-")
    deliver_report(study.report_of(compared), folder, name, as_json, f"{name}-")


def _bounds(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"--bounds takes LOW,HIGH, such as 0,1, not {text!r}.") from None
    return low, high


def _of(text: str | None) -> Any:
    from sabm_mesa.analysis.tests import Of

    return None if text is None else check_choice("quantity (--of)", text, get_args(Of))
