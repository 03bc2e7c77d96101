"""``sabm judge``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    AsJson,
    FileMindOptions,
    LLMOptions,
    Prompts,
    RecordingPath,
    ScenarioFile,
    isolation_of,
    parameters_from,
    with_options,
)
from sabm_mesa.errors import ParameterError, RunError, UnknownName
from sabm_mesa.models import registry

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.llm import Connection

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


@app.command()
@with_options
def judge(
    path: RecordingPath,
    *,
    minds: Judges = None,
    set_: Settings = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the files (default: judge, next to the recording)."),
    ] = None,
    llm: LLMOptions,
    isolation: FileMindOptions,
    prompts: Prompts = None,
    scenario: ScenarioFile = None,
    as_json: AsJson = False,
) -> None:
    """Code messages of a recording by rules and a language model, and private reasoning."""
    from sabm_mesa.analysis.plot_style import to_png
    from sabm_mesa.cli.report import reporting_lost
    from sabm_mesa.recording import export
    from sabm_mesa.recording.frames import Recorded
    from sabm_mesa.studies.judging import message_measures, reasoning_of
    from sabm_mesa.studies.plots import codes_by_round

    registry.load_given(scenario, path)
    parameters = parameters_from(set_ or [], {"minds": minds, "prompts": prompts})
    if unknown := set(parameters) - {"minds", "prompts", *JUDGE_SETTINGS}:
        raise UnknownName("parameter of a judge", min(unknown), JUDGE_SETTINGS)
    if parameters.setdefault("minds", "classical") == "classical" and len(parameters) > 1:
        raise ParameterError("--set and --prompts need a language model: name it with --minds.")
    messages = Recorded(path).messages()
    thought = reasoning_of(path)
    if messages.empty and thought.empty:
        raise ParameterError(f"The runs of {path} have no messages and no recorded reasoning.")
    folder = path.parent / "judge" if out is None else out
    recorded: list[Path] = []
    connection = None
    if parameters["minds"] != "classical":
        connection = llm.connection()
        isolation.apply()
        if line := isolation_of([parameters["minds"]]):
            say(line, err=True)
        recorded = [folder / "judge.sqlite"]
    with reporting_lost(recorded, None if connection is None else connection.prices):
        coders, frames, more = _messages(messages, folder, connection, parameters)
        content: dict[str, Any] = {"recording": str(path), "messages": len(messages), **more}
        if len(thought):
            reasoning = _reasoning(thought, folder, connection, parameters)
            content["reasoning"], frames["reasoning"] = reasoning
    files = [*recorded, *export.write_frames(folder, frames, "csv")]
    drawn = {name: frame for name, frame in coders.items() if _coded_any(frame)}
    if drawn:
        figure = codes_by_round(drawn, path.name)
        files.append(export.write_picture(folder / "codes.png", to_png(figure)))
    content |= {
        "shares": {name: _shares(frame) for name, frame in coders.items()},
        "agreement": frames["agreement"].to_dict("records") if "agreement" in frames else None,
        **(measured := message_measures(path, messages)),
        "files": [str(file) for file in files],
    }
    if as_json:
        say(export.readable_json(content))
    else:
        say("\n".join(_in_words(content, list(measured), folder, files)))


def _messages(
    messages: pd.DataFrame, folder: Path, connection: Connection | None, parameters: dict[str, Any]
) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame], dict[str, Any]]:
    """Code messages; return them by coder, the tables, and the cost."""
    from sabm_mesa.analysis.messages import CODES
    from sabm_mesa.studies.judging import message_coder

    if messages.empty:
        return {}, {}, {}
    by_rules = message_coder().coded(messages)
    coders = {"rules": by_rules}
    if connection is None:
        return coders, {"messages": by_rules}, {}
    coders["judge"], more = _ask(messages, folder / "judge.sqlite", connection, parameters)
    judged = coders["judge"][list(CODES)].add_prefix("judge_")
    tables = {"messages": by_rules.join(judged), "agreement": _compare(coders)}
    return coders, tables, more


def _reasoning(
    texts: pd.DataFrame, folder: Path, connection: Connection | None, parameters: dict[str, Any]
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Let the language model code private reasoning; return the results, and the coded texts."""
    from sabm_mesa.studies.judging import REASONING_CODES, steps_of

    if connection is None:
        return {"texts": len(texts)}, texts
    # A user's prompt file is for the judge of messages.
    settings = {k: v for k, v in parameters.items() if k not in ("prompts", "condition", "variant")}
    coded, more = _ask(texts, folder / "judge.sqlite", connection, settings, reasoning=True)
    coded["steps"] = steps = steps_of(coded)
    level = coded["level"].clip(upper=3).where(coded["level"] >= 0)  # 3: three or more
    both = steps.notna() & level.notna()
    content = {
        "texts": len(texts),
        "spent": more["spent"],
        "unusable": more["unusable"],
        "shares": {code: float(coded[code].astype("float64").mean()) for code in REASONING_CODES},
        "told": int(steps.notna().sum()),
        "beside_level": int(both.sum()),
        "alike": float((steps[both] == level[both]).mean()) if both.any() else None,
    }
    return content, coded


def _ask(
    messages: pd.DataFrame,
    recording: Path,
    connection: Connection,
    parameters: dict[str, Any],
    *,
    reasoning: bool = False,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Ask the judge of messages, or of reasoning; return its answers and their cost."""
    from sabm_mesa.cli.progress import Progress, answers_are, in_words
    from sabm_mesa.studies.judging import Judging, ReasoningJudging, judge

    with Progress("judge", 1) as progress:
        try:
            judged, runs = judge(
                messages, recording=recording, judging=ReasoningJudging if reasoning else Judging,
                connection=connection, watch=progress.show, **parameters,
            )  # fmt: skip
        except (RunError, KeyboardInterrupt) as error:
            kept = answers_are([recording])
            if kept.startswith("0 ") and isinstance(error, RunError):
                raise
            raise RunError(
                f"{str(error) or 'Stopped.'} {kept} in {recording}; the same command continues "
                "from there."
            ) from error
    total = runs.total()
    return judged, {
        "texts": total.asks,
        "unusable": total.invalid,
        "from_recording": sum(runs.answers_repeated()),
        "spent": in_words(total),
    }


def _compare(coders: dict[str, pd.DataFrame]) -> pd.DataFrame:
    from sabm_mesa.analysis.intervals import agreement_by_code
    from sabm_mesa.analysis.messages import CODES

    agreement = agreement_by_code(coders["rules"], coders["judge"], CODES)
    return agreement.rename(columns={"first": "rules", "second": "judge"})


def _coded_any(coded: pd.DataFrame) -> bool:
    from sabm_mesa.analysis.messages import CODES

    return bool(coded[list(CODES)].notna().to_numpy().any())


def _shares(coded: pd.DataFrame) -> dict[str, float]:
    from sabm_mesa.analysis.messages import CODES, shares

    (row,) = shares(coded.assign(all=True), "all")[list(CODES)].to_numpy().tolist()
    return dict(zip(CODES, row, strict=True))


def _in_words(
    content: dict[str, Any], measured: Sequence[str], folder: Path, files: list[Path]
) -> list[str]:
    from sabm_mesa.studies.judging import measure_label

    n = content["messages"]
    both = content["agreement"][0]["n"] if content["agreement"] else 0
    of_these = f" of the {both:,} that both have coded" if 0 < both < n else ""
    count = f"{n:,} message{'' if n == 1 else 's'}"
    lines = [f"{count}; the share of each code{of_these}:" if n else "Nothing was said."]
    if both:
        lines.append(f"{'':<14} {'rules':>6} {'judge':>6} {'alike':>6}  Cohen's kappa")
        lines += [_row(row) for row in content["agreement"]]
    elif n:
        lines += [f"{code:<14} {share:>6.0%}" for code, share in content["shares"]["rules"].items()]
    if content["agreement"]:
        lines.append(f"The judge read {content['texts']:,} different texts: {content['spent']}")
        if content["from_recording"]:
            lines.append(f"Of that, {content['from_recording']:,} answers came from the recording")
        if content["unusable"]:
            result = "their codes are missing" if both else "the judge gave no usable code"
            lines.append(
                f"Warning: {content['unusable']:,} of {content['texts']:,} texts got no usable "
                f"answer; {result}."
            )
    if "reasoning" in content:
        lines += _of_reasoning(content["reasoning"])
    for name in measured:
        values = [f"run {run}: {'none' if v is None else v}" for run, v in content[name].items()]
        lines.append(f"{measure_label(name)}: {', '.join(values)}")
    lines.append(f"Written to {folder}: {', '.join(file.name for file in files)}")
    return lines


def _of_reasoning(content: dict[str, Any]) -> list[str]:
    """Describe the codes of private reasoning, and its steps compared with the decisions."""
    n = content["texts"]
    decisions = f"{n:,} decision{'' if n == 1 else 's'} with private reasoning"
    if "shares" not in content:
        return [f"{decisions}: --minds llm:MODEL lets a language model code it."]
    steps = f"Steps in the text: stated in {content['told']:,} of {n:,}"
    if content["alike"] is not None:
        of = f"{content['beside_level']:,}"
        steps += f"; in {content['alike']:.0%} of {of} it is the step of the pick"
    lines = [f"{decisions}; the share of each code:"]
    lines += [f"{code:<14} {share:>6.0%}" for code, share in content["shares"].items()]
    lines.append(f"The judge read their reasoning: {content['spent']}")
    if content["unusable"]:
        lines.append(f"Warning: {content['unusable']:,} different texts got no usable answer.")
    return [*lines, steps]


def _row(row: dict[str, Any]) -> str:
    if math.isnan(row["kappa"]):
        kappa = "not defined: both gave the same code to all"
    else:
        kappa = f"{row['kappa']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
    shares = " ".join(f"{row[name]:>6.0%}" for name in ("rules", "judge", "agreed"))
    return f"{row['code']:<14} {shares}  {kappa}"
