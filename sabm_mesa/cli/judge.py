"""``sabm judge``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sabm_mesa.cli.app import app
from sabm_mesa.cli.options import (
    AsJson,
    FileMindOptions,
    LLMOptions,
    Prompts,
    RecordingPath,
    ScenarioFile,
    parameters_from,
)
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.models import registry

Judges = Annotated[
    str | None,
    typer.Option(
        "--minds",
        help="Language model as a second coder: llm:MODEL, llm:MODEL@URL, gguf:FILE "
        "(default: none).",
    ),
]
JUDGE_SETTINGS = (
    "temperature", "max_tokens", "top_p", "max_attempts", "answer_format", "condition",
    "variant",
)  # fmt: skip
"""Parameters of a judge that can be set; conditions and variants come from a user's prompt file."""
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE",
        help=f"Set a parameter of the language model: {', '.join(JUDGE_SETTINGS)}. "
        "Repeatable.",
    ),
]  # fmt: skip


@app.command(blocks=[LLMOptions, FileMindOptions])
def judge(
    context: typer.Context,
    path: RecordingPath,
    *,
    minds: Judges = None,
    set_: Settings = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the files (default: judge, next to the recording)."),
    ] = None,
    prompts: Prompts = None,
    codes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Codes of a person, to compare with: a column text, and one column of 0 and 1 "
            "per code.",
        ),
    ] = None,
    scenario: ScenarioFile = None,
    as_json: AsJson = False,
) -> None:
    """Code the messages and the private reasoning of a recording."""
    from sabm_mesa.cli.progress import session
    from sabm_mesa.cli.report import deliver_report
    from sabm_mesa.recording.frames import Recorded
    from sabm_mesa.studies import judging

    registry.load_given(scenario, path)
    parameters = parameters_from(set_ or [], {"minds": minds, "prompts": prompts})
    if unknown := set(parameters) - {"minds", "prompts", *JUDGE_SETTINGS}:
        raise UnknownName("parameter of a judge", min(unknown), JUDGE_SETTINGS)
    if parameters.setdefault("minds", "classical") == "classical" and len(parameters) > 1:
        raise ParameterError("--set and --prompts need a language model: name it with --minds.")
    messages = Recorded(path).messages()
    reasoning = judging.reasoning_of(path)
    if messages.empty and reasoning.empty:
        raise ParameterError(f"The runs of {path} have no messages and no recorded reasoning.")
    coders = {"rules": judging.message_coder().coded(messages)} if len(messages) else {}
    if codes is not None:
        coders["person"] = judging.coded_by_hand(codes, messages)
    folder = path.parent / "judge" if out is None else out
    judged: dict[str, dict[str, int]] = {}
    if parameters["minds"] != "classical":
        connection = LLMOptions.of(context).connection()
        FileMindOptions.of(context).apply([parameters["minds"]])
        recording = folder / "judge.sqlite"
        with session("judge", [recording], connection.prices) as progress:
            ask = partial(
                judging.judge, recording=recording, connection=connection, watch=progress.show
            )
            if len(messages):
                coders["judge"], judged["Messages"] = ask(messages, **parameters)
            if len(reasoning):  # a user's prompt file is for the judge of messages
                own = {"prompts", "condition", "variant"}
                settings = {k: v for k, v in parameters.items() if k not in own}
                reasoning, judged["Reasoning"] = ask(
                    reasoning, judging=judging.ReasoningJudging, **settings
                )
    deliver_report(judging.report_of(path, coders, reasoning, judged), folder, "judge", as_json)
