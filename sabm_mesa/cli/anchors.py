"""``sabm anchors``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, LLMOptions, with_options
from sabm_mesa.errors import ParameterError, RunError


@app.command()
@with_options
def anchors(
    *,
    recordings: Annotated[
        list[Path],
        typer.Argument(
            metavar="REC [REC]...", help="Recordings; new answers are added to the first."
        ),
    ],
    minds: Annotated[
        list[str] | None,
        typer.Option("--minds", metavar="SPEC", help="Language model to ask today. Repeatable."),
    ] = None,
    llm: LLMOptions,
    as_json: AsJson = False,
) -> None:
    """Detect whether a language model changed under its name, with 20 fixed questions.

    The models of --minds are asked at most once a day. The first session of each model is compared
    with its later sessions.
    """
    from sabm_mesa.cli.progress import Progress, stopped_early
    from sabm_mesa.cli.report import reporting_lost
    from sabm_mesa.recording.export import readable_json
    from sabm_mesa.studies import anchors as studies

    if minds:
        named = studies.only_language_models(minds)
        if len(named) < len(set(minds)):
            other = next(mind for mind in minds if mind not in named)
            raise ParameterError(
                f"Anchors are questions to language models, and {other!r} is none."
            )
        connection = llm.connection()
        with (
            reporting_lost(recordings[:1], connection.prices),
            Progress("anchors", len(named)) as progress,
        ):
            try:
                studies.ask(named, recordings[0], connection, watch=progress.show)
            except (RunError, KeyboardInterrupt) as error:
                raise stopped_early(error, "anchors", recordings[:1], progress.asks) from error
    for path in recordings:
        if not path.exists():
            raise ParameterError(f"There is no recording {path}.")
    sessions = sorted(
        (session for path in dict.fromkeys(recordings) for session in studies.sessions(path)),
        key=lambda session: session.day,
    )
    if not sessions:
        raise ParameterError(
            f"{recordings[0]} has no answers to anchors: name the language model (--minds)."
        )
    compared = studies.compare(studies.first_and_later(sessions))
    if as_json:
        say(
            readable_json(
                [
                    {
                        "mind": comparison.other.mind,
                        "first": comparison.one.day, "later": comparison.other.day,
                        "changed": comparison.changed, "p": comparison.p, "same": comparison.same,
                        "within": comparison.within, "between": comparison.between,
                    }
                    for comparison in compared
                ]
            )
        )  # fmt: skip
        return
    lines = [f"{session.mind}: asked on {session.day} ({session.where})" for session in sessions]
    say("\n".join([*lines, *map(str, compared)]))
