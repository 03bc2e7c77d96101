"""``sabm probe``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app
from sabm_mesa.cli.options import (
    AsJson,
    FileMindOptions,
    FirstSeed,
    LLMOptions,
)
from sabm_mesa.core.parsing import parse_minds
from sabm_mesa.errors import MindSpecError


@app.command(blocks=[LLMOptions, FileMindOptions])
def probe(
    context: typer.Context,
    *,
    minds: Annotated[
        list[str],
        typer.Option(
            "--minds",
            metavar="SPEC",
            help="Mind to probe: llm:MODEL, llm:MODEL@URL, gguf:FILE, classical, "
            "classical:memorizer, py:FILE. Repeatable.",
        ),
    ],
    games: Annotated[int, typer.Option(min=20, max=1000, help="Number of games per mind.")] = 30,
    seed: FirstSeed = 1,
    out: Annotated[Path, typer.Option(help="Folder for the recording and the report.")] = Path(
        "out/probe"
    ),
    cost: Annotated[bool, typer.Option("--cost", help="Only estimate the cost.")] = False,
    as_json: AsJson = False,
) -> None:
    """Test whether minds have memorized published games or solve games by their rules.

    Recorded answers to earlier questions are reused.
    """
    from sabm_mesa.cli.cost import say_costs
    from sabm_mesa.cli.progress import session
    from sabm_mesa.cli.report import deliver_report
    from sabm_mesa.runs.cost import estimate
    from sabm_mesa.studies import probe as studies

    llm = LLMOptions.of(context)
    minds = list(dict.fromkeys(minds))
    if several := [text for text in minds if not isinstance(parse_minds(text), str)]:
        raise MindSpecError(
            f"A probe tests one mind, not {several[0]!r}: give one --minds per mind."
        )
    connection = llm.connection()
    if cost:
        costs = [
            estimate(
                studies.Probe,
                {"minds": mind, "games": games, "rng": seed, "connection": connection},
                prices=llm.prices,
            )
            for mind in minds
        ]
        say_costs(costs, as_json=as_json)
        return
    FileMindOptions.of(context).apply(minds)
    path = out / "recording.sqlite"
    with session("probe", [path], connection.prices, runs=len(minds)) as progress:
        findings = studies.probe(
            minds, path, games=games, seed=seed, connection=connection, watch=progress.show
        )
    deliver_report(studies.report_of(findings), out, "probe", as_json)
