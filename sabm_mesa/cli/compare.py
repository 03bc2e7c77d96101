"""``sabm compare``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, FigureOptions, ScenarioFile, with_options
from sabm_mesa.core.parameters import check_choice
from sabm_mesa.core.parsing import parse_list
from sabm_mesa.errors import ParameterError
from sabm_mesa.models import registry

SHOWN = 15
"""The maximum number of printed comparisons."""


@app.command()
@with_options
def compare(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER|RECORDING…", help="A sweep, or several folders of runs or recordings."
        ),
    ],
    *,
    measure: Annotated[
        str, typer.Option(help="Measure at the end of a run: a column of runs.csv.")
    ],
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
    drawing: FigureOptions,
    as_json: AsJson = False,
) -> None:
    """Compare the settings of a sweep or of recordings: pairs, main effects, interaction."""
    from sabm_mesa.analysis.plot_style import write_figures
    from sabm_mesa.recording import export
    from sabm_mesa.studies import compare as study

    drawing.apply()
    registry.load_given(scenario)
    factors = [str(name) for name in parse_list(by)] if by else []
    comparison = study.compare(
        sources,
        measure,
        factors,
        of=_of(of),
        bounds=_bounds(bounds),
    )
    first = sources[0] if sources[0].is_dir() else sources[0].parent
    folder = out or first / "compare"
    statistic = f"-{of}" if of else ""
    name = f"{measure}{statistic}-by-{'-'.join(comparison.by)}".replace("/", "-")
    tables = {f"{name}": comparison.table, f"{name}-settings": comparison.cells}
    files = export.write_frames(folder, tables, "csv")
    figures = write_figures(folder, {name: study.picture(comparison)}, export.write_picture)
    text = study.as_markdown(comparison, figures[0].name)
    files += [*figures, export.write_text_file(folder / f"{name}.md", text)]
    if as_json:
        content: dict[str, Any] = {
            "measure": measure, "of": comparison.of, "by": list(comparison.by),
            "settings": comparison.cells.to_dict("records"),
            "comparisons": comparison.table.to_dict("records"), "notes": list(comparison.notes),
            "files": [str(path) for path in files],
        }  # fmt: skip
        say(export.readable_json(content))
        return
    lines = [f"The {comparison.of} of {measure} by {', '.join(comparison.by)}; one number per run"]
    lines += [_setting(row) for row in comparison.cells.to_dict("records")]
    n = len(comparison.table)
    lines += [_line(row, n) for row in comparison.table.head(SHOWN).to_dict("records")]
    if (more := len(comparison.table) - SHOWN) > 0:
        lines.append(f"  … ({more} more in {name}.csv)")
    lines += [f"Note: {note}" for note in comparison.notes]
    lines += [f"Note: {why}." for why in dict.fromkeys(comparison.table["why"]) if why]
    lines.append(f"Written to {folder}: {', '.join(path.name for path in files)}")
    say("\n".join(lines))


def _setting(row: dict[Any, Any]) -> str:
    interval = _interval(row["low"], row["high"])
    return f"  {row['setting']}: {row['estimate']:.4g}{interval}, n {row['n']}"


def _line(row: dict[Any, Any], n: int) -> str:
    interval = _interval(row["low"], row["high"])
    corrected = f"p {row['p_holm']:.2g}"
    if n > 1:
        corrected += f" by Holm for {n} comparisons (alone {row['p']:.2g})"
    return (
        f"  {row['comparison']}: {row['of']} against {row['than']}: {row['estimate']:.4g}"
        f"{interval}, {corrected}, "
        f"{row['effect_name']} {row['effect']:.2g}: {row['verdict']}"
    )


def _interval(low: float, high: float) -> str:
    return " (no interval)" if math.isnan(low) else f" [{low:.4g}, {high:.4g}]"


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
